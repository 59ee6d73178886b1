//! The pages of the real program as a browser without a script uses them: forms, and what comes back.

use std::fmt::Write as _;
use std::net::SocketAddr;

use parallel_llm_testkit::Sandbox;

use super::client::{Reply, Wire};
use super::program::{PANEL, sandbox_with, serve};

/// What a browser accepts when a person sends a form.
pub(super) const PAGE: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A form of the page, field by field.
#[derive(Clone, Default)]
pub(super) struct Form(String);

impl Form {
    /// The form that asks a question of two models.
    fn asking(question: &str) -> Self {
        let form = Self::default().field("question", question).field("panel", "-own");
        PANEL[..2].iter().fold(form, |form, model| form.field("model", model).field("persona", ""))
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.0, "--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        self
    }

    fn file(mut self, name: &str, text: &str) -> Self {
        let _ = write!(
            self.0,
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n"
        );
        self
    }

    /// With the token and the attachments that a page brought, except those of these names.
    fn with_kept(self, page: &str, without: &[&str]) -> Self {
        let form = self.field("kept", &value_of(page, "kept"));
        let boxes = page.split("name=\"keep\" value=\"").skip(1).map(|rest| {
            let (number, rest) = rest.split_once('"').expect("it is on the page");
            (
                number,
                rest.split_once("<bdi>")
                    .expect("it is on the page")
                    .1
                    .split_once("</bdi>")
                    .expect("it is on the page")
                    .0,
            )
        });
        let ticked = boxes.filter(|(_, name)| !without.contains(name));
        ticked.fold(form, |form, (number, _)| form.field("keep", number))
    }
}

/// The value of a hidden field.
pub(super) fn value_of(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no field `{name}`: {page}"));
    rest.split_once('"').expect("it is on the page").0.to_owned()
}

pub(super) fn get(address: SocketAddr, path: &str, headers: &str) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n"));
    wire.reply().expect("an answer")
}

/// Sends a form with the token of the page, as it is for everyone or for this cookie.
fn send(address: SocketAddr, path: &str, form: &Form) -> Reply {
    let token = value_of(&get(address, "/ask", PAGE).text(), "form_token");
    send_as(address, path, &form.clone().field("form_token", &token), "")
}

pub(super) fn send_as(address: SocketAddr, path: &str, form: &Form, headers: &str) -> Reply {
    let headers = format!("{headers}Content-Type: multipart/form-data; boundary=b\r\n");
    post(address, path, &headers, &format!("{}--b--\r\n", form.0))
}

fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Reply {
    let mut wire = Wire::to(address);
    let length = body.len();
    wire.write(format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\n{PAGE}{headers}Content-Length: {length}\r\n\r\n{body}"
    ));
    wire.reply().expect("an answer")
}

/// The plan of the run to which a reply leads.
fn plan(address: SocketAddr, reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text());
    get(address, &format!("{}/plan.json", reply.header("location").expect("it is on the page")), "").text()
}

fn nothing_was_asked(sandbox: &Sandbox) {
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn the_files_whose_price_was_shown_are_sent_with_the_question() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let form = Form::asking("What do they say?");
    let files = form.clone().file("a.txt", "the first words").file("b.txt", "the second words");
    let priced = send(address, "/ask/quote", &files);
    let page = priced.text();
    assert_eq!(priced.status, 200, "{page}");
    assert!(page.contains("<bdi>a.txt</bdi>") && page.contains("15 bytes, about"), "{page}");
    nothing_was_asked(&sandbox);
    // The price again, without choosing them again, and one file more.
    let more = form.clone().with_kept(&page, &[]).file("c.txt", "the third words");
    let page = send(address, "/ask/quote", &more).text();
    let asked = send(address, "/ask", &form.clone().with_kept(&page, &["b.txt"]));
    let plan = plan(address, &asked);
    assert!(plan.contains("the first words") && plan.contains("the third words"), "{plan}");
    assert!(!plan.contains("the second words"), "its box was not ticked: {plan}");
}

#[test]
fn nothing_is_asked_without_files_that_are_not_kept_any_more() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let form = Form::asking("What do they say?");
    let stale = form.clone().field("kept", "0123456789abcdef0123456789abcdef").field("keep", "0");
    for path in ["/ask", "/ask/quote"] {
        let refused = send(address, path, &stale);
        let page = refused.text();
        assert_eq!(refused.status, 422, "{page}");
        assert!(page.contains("does not have the attachments of this question any more"), "{page}");
        assert!(page.contains("Choose the attachments again"), "{page}");
        // The form still misses them: pressing the button once more does not ask without them either.
        let again = send(address, path, &form.clone().with_kept(&page, &[]));
        assert_eq!(again.status, 422, "{}", again.text());
    }
    nothing_was_asked(&sandbox);
    let chosen = send(address, "/ask", &stale.clone().file("a.txt", "chosen again"));
    assert!(plan(address, &chosen).contains("chosen again"));
    let without = send(address, "/ask", &stale.field("without_files", "yes").field("fresh", "yes"));
    assert_eq!(without.status, 303, "{}", without.text());
}

#[test]
fn a_refused_secret_file_is_sent_by_a_box_in_sight_and_the_others_need_not_be_chosen_again() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let form = Form::asking("Is it right?");
    let secret = format!("STRIPE_KEY=sk_live_{}\n", "4eC39HqLyjWDarjtT1zdp7dc");
    let files = form.clone().file("notes.txt", "harmless words").file(".env", &secret);
    let refused = send(address, "/ask", &files);
    let page = refused.text();
    assert_eq!(refused.status, 422, "{page}");
    nothing_was_asked(&sandbox);
    // Named, reached by a link, focused, and in no fold.
    let at = page.find("id=\"with-secrets\"").expect("the box");
    assert!(page.contains("href=\"#with-secrets\""), "{page}");
    assert_eq!(page[..at].matches("<details").count(), page[..at].matches("</details>").count(), "{page}");
    let without = send(address, "/ask", &form.clone().with_kept(&page, &[".env"]));
    let sent = plan(address, &without);
    assert!(sent.contains("harmless words") && !sent.contains("STRIPE"), "{sent}");
    let insisting = form.with_kept(&page, &[]).field("with_secrets", "yes");
    let sent = plan(address, &send(address, "/ask", &insisting));
    assert!(sent.contains("harmless words") && sent.contains("STRIPE"), "{sent}");
}

#[test]
fn the_address_of_a_form_leads_to_its_page() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let reply = get(address, "/ask/quote", PAGE);
    assert_eq!((reply.status, reply.header("location")), (303, Some("/ask")));
}

/// A token of this name.
fn token(sandbox: &Sandbox, name: &str) -> String {
    let made = sandbox.call(["keys", "create", name]).run();
    made.text().split_whitespace().last().expect("a token").to_owned()
}

/// Signs in with a token, and returns the secret of the cookie.
fn signed_in(address: SocketAddr, token: &str) -> String {
    secret(&post(address, "/sign-in", FORM, &format!("token={token}&to=%2Fask")))
}

/// The secret of the cookie that a reply sets.
fn secret(reply: &Reply) -> String {
    let set = reply.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {}", reply.text()));
    set.split(['=', ';']).nth(1).expect("a cookie").to_owned()
}

/// The cookie as a browser sends it to this server.
fn cookie(address: SocketAddr, secret: &str) -> String {
    format!("Cookie: parallel-llm-{}={secret}\r\n", address.port())
}

#[test]
fn a_question_whose_session_is_lost_comes_back_after_sign_in_and_is_not_asked_before() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let token = token(&sandbox, "anna");
    let question = format!("What is <b>\"kept\"</b>?\r\n{}", "And this line. ".repeat(6_000));
    let typed = Form::asking(&question).field("budget", "2.50").field("effort", "high").field("fresh", "yes");
    let sent = typed.clone().field("form_token", "of an earlier session").file("a.txt", &"x".repeat(500_000));
    let page_of = |form: &Form, path: &str| {
        let reply = send_as(address, path, form, "");
        assert_eq!(reply.status, 401, "{}", reply.text());
        assert!(reply.header("content-type").unwrap().starts_with("text/html"), "{reply:?}");
        reply.text()
    };
    let page = page_of(&sent, "/ask/quote");
    assert!(page.contains("The attachments have to be chosen again"), "{page}");
    let page_again = page_of(&sent, "/ask");
    assert!(page_again.contains("You are signed out"), "{page_again}");
    // The page brings every field back.
    let (_, form) = page_again.split_once("action=\"/ask/sign-in\"").unwrap();
    let (form, _) = form.split_once("</form>").unwrap();
    let unescape = |text: &str| {
        let quotes = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"");
        quotes.replace("&#39;", "'").replace("&#38;", "&")
    };
    let back = form.split("<input type=\"hidden\" name=\"").skip(1).fold(Form::default(), |back, field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        back.field(name, &unescape(rest.split_once("\">").unwrap().0))
    });
    assert!(page_of(&back, "/ask/sign-in").contains("this browser is not signed in yet"));
    let wrong = send_as(address, "/ask/sign-in", &back.clone().field("credential", "plm_wrong"), "");
    assert_eq!(wrong.status, 401, "{}", wrong.text());
    let filled = send_as(address, "/ask/sign-in", &back.clone().field("credential", &token), "");
    let page = filled.text();
    assert_eq!(filled.status, 200, "{page}");
    let cookie = cookie(address, &secret(&filled));
    assert!(unescape(&page).contains(&question.replace("\r\n", "\n")), "{page}");
    for part in ["value=\"2.50\"", "<option selected>high</option>", "Choose the attachments again"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains(&format!("value=\"{}\"", PANEL[1])), "{page}");
    nothing_was_asked(&sandbox);
    // Whoever has signed in in another tab needs no token.
    let elsewhere = send_as(address, "/ask/sign-in", &back, &cookie);
    assert!(elsewhere.text().contains("Nothing was asked yet"), "{}", elsewhere.text());
    let asked =
        typed.field("form_token", &value_of(&page, "form_token")).file("a.txt", "chosen again, and sent");
    let asked = send_as(address, "/ask", &asked, &cookie);
    assert_eq!(asked.status, 303, "{}", asked.text());
}

#[test]
fn a_form_from_an_earlier_session_comes_back_filled_in() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let token = token(&sandbox, "anna");
    let first = cookie(address, &signed_in(address, &token));
    let stale = value_of(&get(address, "/ask", &format!("{PAGE}{first}")).text(), "form_token");
    let second = cookie(address, &signed_in(address, &token));
    let form = Form::asking("Typed before.").field("form_token", &stale).file("a.txt", "words");
    let reply = send_as(address, "/ask", &form, &second);
    let page = reply.text();
    assert_eq!(reply.status, 403, "{page}");
    assert!(page.contains(">Typed before.</textarea>") && page.contains("<bdi>a.txt</bdi>"), "{page}");
    nothing_was_asked(&sandbox);
}

#[test]
fn a_restart_of_the_server_signs_nobody_out_and_its_forms_stay_good() {
    let sandbox = sandbox_with(None);
    let (running, before) = serve(&sandbox, &[], &[]);
    let token = token(&sandbox, "anna");
    let (kept, ended) = (signed_in(before, &token), signed_in(before, &token));
    let page = get(before, "/ask", &format!("{PAGE}{}", cookie(before, &kept))).text();
    let form_token = value_of(&page, "form_token");
    let leaving = get(before, "/ask", &format!("{PAGE}{}", cookie(before, &ended))).text();
    let headers = format!("{}{FORM}", cookie(before, &ended));
    let body = format!("form_token={}", value_of(&leaving, "form_token"));
    let signed_out = post(before, "/sign-out", &headers, &body);
    assert_eq!((signed_out.status, signed_out.header("location")), (303, Some("/sign-in")));
    running.signal("TERM");
    running.wait();
    // What is kept lets nobody in: neither the cookie nor the token is in the database.
    for name in ["runs.db", "runs.db-wal"] {
        let Ok(bytes) = std::fs::read(sandbox.data_dir().join(name)) else { continue };
        for word in [&kept, &token] {
            assert!(!bytes.windows(word.len()).any(|part| part == word.as_bytes()), "{name}");
        }
    }
    let (_running, after) = serve(&sandbox, &[], &[]);
    let status = |secret: &str| get(after, "/ask", &format!("{PAGE}{}", cookie(after, secret))).status;
    assert_eq!((status(&kept), status(&ended)), (200, 303), "signed out stays signed out");
    let form = Form::asking("Asked after the restart?").field("form_token", &form_token);
    let asked = send_as(after, "/ask", &form, &cookie(after, &kept));
    assert_eq!(asked.status, 303, "{}", asked.text());
    assert!(asked.header("location").unwrap().starts_with("/runs/"), "{asked:?}");
}

#[test]
fn what_cannot_be_looked_for_is_a_sentence_above_the_list_of_all_runs() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let asked = send(address, "/ask", &Form::asking("What is listed?"));
    assert_eq!(asked.status, 303, "{}", asked.text());
    for query in ["q=%3F%3F%3F", "status=done", "day=today", "before=x"] {
        let reply = get(address, &format!("/runs?{query}"), PAGE);
        let page = reply.text();
        assert_eq!(reply.status, 200, "{query}: {page}");
        assert!(page.contains("Nothing was looked for: "), "{query}: {page}");
        assert!(page.contains("What is listed?"), "{query}: {page}");
        assert_eq!(get(address, &format!("/runs.json?{query}"), "").status, 400, "{query}");
    }
    let page = get(address, "/runs?q=%3F%3F%3F", PAGE).text();
    assert!(page.contains("value=\"???\""), "the words stay in their field: {page}");
}
