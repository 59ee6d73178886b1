//! Browsers at a door of pages: sessions, the sign-in page, forms, and links on pages of other sites.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Config, Door, SessionId, Sessions, failure};
use parallel_llm_mcp_door::streamable;
use parallel_llm_service::{BrowserSessions, Principal};

use super::client::{Reply, Server, Wire};
use super::{ANNA, BERT, check, local, open, tokens};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
const PARTS: &str = "Content-Type: multipart/form-data; boundary=b\r\n";
const JSON: &str = "Content-Type: application/json\r\n";
/// What a browser accepts when a person opens a page.
const PAGE: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

/// A server with pages and one other door.
struct Site {
    server: Server,
    sessions: Sessions,
}

/// What a route learns about its caller.
async fn who(
    principal: Option<Extension<Principal>>,
    session: Option<Extension<SessionId>>,
    headers: HeaderMap,
    body: Bytes,
) -> String {
    let name = principal.map(|Extension(principal)| principal.name().unwrap_or("the owner").to_owned());
    let name = name.unwrap_or_else(|| "a stranger".to_owned());
    let session = if session.is_some() { " in a session" } else { "" };
    let proofs = [header::AUTHORIZATION, header::COOKIE];
    let leaked = if proofs.iter().any(|proof| headers.contains_key(proof)) { ", leaked" } else { "" };
    format!("{name}{session}{leaked}, {} bytes", body.len())
}

/// The pages: the body of a post to `/sign-in` is a code, or a token behind `token=`.
fn pages(sessions: &Sessions) -> Door {
    let sign_in = {
        let sessions = sessions.clone();
        move |body: String| async move {
            let set = match body.strip_prefix("token=") {
                Some(token) => sessions.sign_in(token.to_owned()).await,
                None => sessions.redeem(&body).await,
            };
            match set {
                Ok(begun) => [(header::SET_COOKIE, begun.set_cookie)].into_response(),
                Err(refused) => failure::response(&refused),
            }
        }
    };
    let sign_out = {
        let sessions = sessions.clone();
        move |Extension(session): Extension<SessionId>| async move {
            [(header::SET_COOKIE, sessions.sign_out(&session).await.expect("they have a server"))]
        }
    };
    let routes = Router::new()
        .route("/", any(who))
        .route("/runs/{id}", get(who).post(who))
        .route("/sign-in", get(who).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/assets/{file}", any(who));
    Door {
        path: Some("/"),
        open_paths: vec!["/assets/"],
        sign_in: Some("/sign-in"),
        forms: true,
        ..Door::from(routes)
    }
}

impl Site {
    fn start(access: Access) -> Self {
        Self::with(access, |_| ())
    }

    fn with(access: Access, change: impl FnOnce(&mut Config)) -> Self {
        let sessions = Sessions::new(BrowserSessions::in_memory()).expect("the system gives random bytes");
        let mut config = local(access);
        config.sessions = Some(sessions.clone());
        change(&mut config);
        let pages = pages(&sessions);
        let other = Door { path: Some("/mcp"), ..Door::from(Router::new().route("/mcp", any(who))) };
        Self { server: Server::start_all(config, |_| vec![pages, other]), sessions }
    }

    fn get(&self, path: &str, headers: &str) -> Reply {
        self.server.send(self.server.head(&format!("GET {path}"), headers))
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> Reply {
        let headers = format!("{headers}Content-Length: {}\r\n", body.len());
        self.server.send(self.server.head(&format!("POST {path}"), &headers) + body)
    }

    /// Signs in and returns the cookie as a browser sends it.
    fn sign_in(&self, body: &str) -> String {
        let reply = self.post("/sign-in", FORM, body);
        assert_eq!(reply.status, 200, "{reply:?}");
        let set = reply.header("set-cookie").and_then(|set| set.split_once(';')).expect("a cookie");
        format!("Cookie: {}\r\n", set.0)
    }

    fn owner(&self) -> String {
        self.sign_in(&self.sessions.link_code())
    }

    fn port(&self) -> u16 {
        self.server.address.port()
    }
}

fn seen(reply: &Reply) -> (u16, String) {
    (reply.status, reply.text())
}

fn ok(text: &str) -> (u16, String) {
    (200, format!("{text}, 0 bytes"))
}

#[test]
fn a_link_signs_the_owner_in_once_and_a_token_its_holder() {
    let site = Site::start(tokens());
    let code = site.sessions.link_code();
    let reply = site.post("/sign-in", FORM, &code);
    let set = reply.header("set-cookie").unwrap();
    let (pair, attributes) = set.split_once("; ").unwrap();
    let (name, secret) = pair.split_once('=').unwrap();
    assert_eq!((name, secret.len()), (format!("parallel-llm-{}", site.port()).as_str(), 64));
    assert_eq!(attributes, "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict");
    let owner = format!("Cookie: theme=dark; {pair}\r\n");
    assert_eq!(seen(&site.get("/runs/1", &owner)), ok("the owner in a session"));

    let again = site.post("/sign-in", FORM, &code);
    assert_eq!((again.status, again.code().as_str()), (401, "token_refused"));
    assert!(again.header("set-cookie").is_none());
    assert!(again.text().contains("open the newest sign-in link"), "{}", again.text());

    let anna = site.sign_in("token=anna");
    assert_eq!(seen(&site.get("/", &anna)), ok("anna in a session"));
    assert_eq!(seen(&site.get("/sign-in", &anna)), ok("anna in a session"), "open paths know it, too");
    assert_eq!(site.post("/sign-in", FORM, "token=stranger").status, 401);

    let out = site.post("/sign-out", &format!("{anna}{FORM}"), "");
    let removal = out.header("set-cookie").unwrap();
    assert!(removal.contains("=; Path=/; Max-Age=0; HttpOnly"), "{removal}");
    assert_eq!(site.get("/", &anna).status, 401);
    assert_eq!(site.get("/", &owner).status, 200);
}

#[test]
fn a_wrong_code_is_refused_and_too_many_have_to_wait() {
    let site = Site::start(tokens());
    let wrong = || site.post("/sign-in", FORM, "wrong");
    for _ in 0..60 {
        assert_eq!(wrong().status, 401);
    }
    // A slot comes back each second, so this is repeated until one is refused.
    let refused = std::iter::repeat_with(wrong).take(60).find(|reply| reply.status != 401).unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert!(refused.header("retry-after").is_some());
}

#[test]
fn behind_https_the_cookie_belongs_to_the_host_alone() {
    let site = Site::with(tokens(), |config| {
        config.behind_proxy = true;
        config.hosts = vec!["llm.example.com".to_owned()];
    });
    let reply = site.post("/sign-in", FORM, &site.sessions.link_code());
    let set = reply.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-parallel-llm="), "{set}");
    assert!(set.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure"), "{set}");
    let cookie = format!("Cookie: {}\r\n", set.split(';').next().unwrap());
    assert_eq!(seen(&site.get("/", &cookie)), ok("the owner in a session"));
    let plain = cookie.replace("__Host-parallel-llm", &format!("parallel-llm-{}", site.port()));
    assert_eq!(site.get("/", &plain).status, 401);
}

#[test]
fn only_one_whole_cookie_of_this_port_is_a_session() {
    let site = Site::start(tokens());
    let cookie = site.owner();
    let name = format!("parallel-llm-{}", site.port());
    let secret = cookie.trim().split_once('=').unwrap().1.to_owned();
    let other = site.owner().trim().split_once('=').unwrap().1.to_owned();
    for refused in [
        format!("Cookie: parallel-llm-1={secret}\r\n"),
        format!("Cookie: __Host-parallel-llm={secret}\r\n"),
        format!("Cookie: {name}={secret}; {name}={other}\r\n"),
        format!("Cookie: {name}={secret}\r\nCookie: {name}={secret}\r\n"),
        format!("Cookie: {name}={}\r\n", &secret[1..]),
        format!("Cookie: {name}={}\r\n", secret.to_uppercase()),
        format!("Cookie: {name}=\r\n"),
        format!("Cookie: {name}=anna\r\n"),
        format!("Authorization: Session {secret}\r\n"),
        format!("Authorization: Bearer {secret}\r\n"),
    ] {
        let reply = site.get("/", &refused);
        assert_eq!((reply.status, reply.code().as_str()), (401, "token_refused"), "{refused}");
    }
    assert_eq!(site.get(&format!("/?{name}={secret}"), "").status, 401);
    assert_eq!(seen(&site.get("/", &cookie)), ok("the owner in a session"), "none of these ended it");
}

#[test]
fn a_token_counts_instead_of_a_session() {
    let site = Site::start(tokens());
    let cookie = site.owner();
    assert_eq!(seen(&site.get("/", &format!("{cookie}{BERT}"))), ok("bert"));
    let wrong = format!("{cookie}{PAGE}Authorization: Bearer stranger\r\n");
    let refused = site.get("/", &wrong);
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"));
    assert!(refused.header("set-cookie").is_none(), "the session goes on");
    assert_eq!(site.get("/", &cookie).status, 200);
}

/// A page of another site can make a browser send its cookies, so they must not open what has no defence against that.
#[test]
fn a_session_opens_no_other_door() {
    let site = Site::start(tokens());
    let cookie = site.owner();
    for path in ["/mcp", "/mcp/", "/mcp/x", "/mcp?a=b"] {
        let refused = site.get(path, &format!("{cookie}{PAGE}"));
        assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"), "{path}");
        assert_eq!(site.post(path, &format!("{cookie}{JSON}"), "{}").status, 401, "{path}");
    }
    assert_eq!(seen(&site.get("/mcp", &format!("{cookie}{ANNA}"))), ok("anna"));
    assert_eq!(site.get("/nowhere", &cookie).status, 404);
}

#[test]
fn a_session_ends_with_its_token() {
    let revoked = Arc::new(AtomicBool::new(false));
    let (checked, is_revoked) = (check(), Arc::clone(&revoked));
    let site = Site::start(Access::Tokens(Arc::new(move |token| {
        if is_revoked.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Failure::new(Code::TokenRefused, "the token was revoked")) });
        }
        checked(token)
    })));
    let (anna, owner) = (site.sign_in("token=anna"), site.owner());
    assert_eq!(site.get("/", &anna).status, 200);
    revoked.store(true, Ordering::SeqCst);
    let removal = |reply: &Reply| reply.header("set-cookie").is_some_and(|set| set.contains("Max-Age=0"));
    let page = site.get("/", &format!("{anna}{PAGE}"));
    assert_eq!((page.status, page.header("location")), (303, Some("/sign-in?to=%2F")));
    assert!(removal(&page), "{page:?}");
    revoked.store(false, Ordering::SeqCst);
    let later = site.get("/", &anna);
    assert_eq!((later.status, removal(&later)), (401, true), "it does not come back");
    assert_eq!(site.get("/", &owner).status, 200);
}

#[test]
fn a_session_that_cannot_be_checked_waits_and_says_nothing_of_the_reason() {
    let broken = Arc::new(AtomicBool::new(false));
    let (checked, is_broken) = (check(), Arc::clone(&broken));
    let site = Site::start(Access::Tokens(Arc::new(move |token| {
        if is_broken.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Failure::new(Code::Storage, "/home/owner/runs.db is locked")) });
        }
        checked(token)
    })));
    let anna = site.sign_in("token=anna");
    broken.store(true, Ordering::SeqCst);
    let (page, form) = (site.get("/", &format!("{anna}{PAGE}")), site.post("/sign-in", FORM, "token=anna"));
    for reply in [page, form] {
        assert_eq!((reply.status, reply.header("set-cookie")), (503, None), "{reply:?}");
        assert!(!reply.text().contains("runs.db"), "{reply:?}");
    }
    assert_eq!(seen(&site.get("/assets/a", &anna)), ok("a stranger"));
    broken.store(false, Ordering::SeqCst);
    assert_eq!(site.get("/", &anna).status, 200);
}

#[test]
fn the_rate_of_a_token_holds_in_its_session_and_files_of_a_page_do_not_count() {
    let site = Site::start(tokens());
    let hasty = site.sign_in("token=hasty");
    for _ in 0..5 {
        assert_eq!(seen(&site.get("/assets/page.css", &hasty)), ok("hasty in a session"));
    }
    assert_eq!([(); 3].map(|()| site.get("/", &hasty).status), [200; 3]);
    let refused = site.get("/", &format!("{hasty}{PAGE}"));
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
}

#[test]
fn a_browser_without_a_session_is_sent_to_the_sign_in_page() {
    let site = Site::start(tokens());
    let location = |path: &str, headers: &str| {
        let reply = site.get(path, headers);
        (reply.status, reply.header("location").map(str::to_owned))
    };
    let to = |text: &str| (303, Some(format!("/sign-in?to={text}")));
    assert_eq!(location("/", PAGE), to("%2F"));
    assert_eq!(location("/runs/a?q=b&c=%22%20", PAGE), to("%2Fruns%2Fa%3Fq%3Db%26c%3D%2522%2520"));
    assert_eq!(location("//evil.example", PAGE), to("%2F%2Fevil.example"));
    assert_eq!(location(&format!("/{}", "a".repeat(3_000)), PAGE), (303, Some("/sign-in".to_owned())));
    for headers in ["", "Accept: */*\r\n", "Accept: application/json\r\n", "Accept: text/event-stream\r\n"] {
        assert_eq!(location("/runs/a", headers), (401, None), "{headers}");
    }
    let form = site.post("/runs/a", &format!("{PAGE}{FORM}"), "a=b");
    assert_eq!((form.status, form.header("location")), (303, Some("/sign-in?to=%2Fruns%2Fa")));
    for reply in [site.post("/", FORM, "a=b"), site.get("/mcp", PAGE)] {
        assert_eq!((reply.status, reply.code().as_str()), (401, "token_refused"));
        assert!(reply.header("www-authenticate").is_some());
    }
    // The open paths are served, even with a proof that is worth nothing.
    for proof in ["", "Authorization: Bearer stranger\r\n", "Cookie: a=b\r\n"] {
        assert_eq!(seen(&site.get("/sign-in", &format!("{PAGE}{proof}"))), ok("a stranger"), "{proof}");
        assert_eq!(seen(&site.get("/assets/page.css", proof)), ok("a stranger"), "{proof}");
    }
    assert_eq!(seen(&site.get("/assets/page.css", ANNA)), ok("anna"));
}

#[test]
fn without_required_tokens_everyone_is_the_owner_and_sessions_do_not_count() {
    let site = Site::start(open());
    let cookie = site.owner();
    for headers in ["", cookie.as_str(), PAGE] {
        assert_eq!(seen(&site.get("/", headers)), ok("the owner"), "{headers}");
    }
    assert_eq!(seen(&site.get("/", &format!("{cookie}{ANNA}"))), ok("anna"));
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(site.get("/", link).status, 403, "a stranger would act for the owner");
}

/// Whoever posts a form from a page of another site must get nothing done, whatever the browser sends along.
#[test]
fn forms_come_from_pages_of_this_server_only() {
    let site = Site::with(tokens(), |config| config.origins = vec!["https://friend.example".to_owned()]);
    let cookie = site.owner();
    let own = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", site.server.address);
    for kind in [FORM, PARTS, JSON] {
        let posted = site.post("/runs/1", &format!("{cookie}{own}{kind}"), "{}");
        assert_eq!(seen(&posted), (200, "the owner in a session, 2 bytes".to_owned()), "{kind}");
        for foreign in [
            "Origin: null\r\n".to_owned(),
            "Origin: null\r\nSec-Fetch-Site: same-origin\r\n".to_owned(),
            "Origin: https://evil.example\r\n".to_owned(),
            format!("Origin: http://127.0.0.1:{}\r\n", site.port().wrapping_add(1)),
            "Sec-Fetch-Site: cross-site\r\n".to_owned(),
            "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
                .to_owned(),
        ] {
            let refused = site.post("/runs/1", &format!("{cookie}{foreign}{kind}"), "{}");
            assert_eq!((refused.status, refused.code().as_str()), (403, "host_refused"), "{foreign}{kind}");
        }
        // A listed page may ask with a token of its own, not with somebody's session.
        let friend = "Origin: https://friend.example\r\nSec-Fetch-Site: cross-site\r\n";
        assert_eq!(site.post("/runs/1", &format!("{cookie}{friend}{kind}"), "{}").status, 401, "{kind}");
        let posted = site.post("/runs/1", &format!("{ANNA}{friend}{kind}"), "{}");
        assert_eq!(seen(&posted), (200, "anna, 2 bytes".to_owned()));
    }
}

#[test]
fn a_door_without_forms_takes_json_only() {
    let site = Site::start(tokens());
    for kind in [FORM, PARTS] {
        let refused = site.post("/mcp", &format!("{ANNA}{kind}"), "a=b");
        assert_eq!((refused.status, refused.code().as_str()), (415, "usage"), "{kind}");
        assert_eq!(site.post("/", &format!("{ANNA}{kind}"), "a=b").text(), "anna, 3 bytes");
    }
    let plain = site.post("/", &format!("{ANNA}Content-Type: text/plain\r\n"), "a=b");
    assert_eq!((plain.status, plain.code().as_str()), (415, "usage"));
    assert!(plain.text().contains("neither JSON in UTF-8 nor a form"), "{}", plain.text());
}

#[test]
fn a_form_is_bounded_in_bytes_and_fields_and_that_of_a_stranger_is_short() {
    let site = Site::with(tokens(), |config| config.limits.body_bytes_max = 200_000);
    let status = |headers: &str, body: &str| site.post("/sign-in", headers, body).status;
    let anna = format!("{ANNA}{FORM}");
    assert_eq!(site.post("/", &anna, &"a".repeat(200_000)).status, 200);
    assert_eq!(site.post("/", &anna, &"a".repeat(200_001)).status, 413);
    assert_eq!(site.post("/", &anna, &["a"; 1_000].join("&")).status, 200);
    assert_eq!(site.post("/", &anna, &["a"; 1_001].join("&")).status, 413);
    assert_eq!(site.post("/", &format!("{ANNA}{PARTS}"), &"&".repeat(5_000)).status, 200);
    assert_eq!((status(FORM, &"a".repeat(65_536)), status(FORM, &"a".repeat(65_537))), (401, 413));
    let pieces = format!("10001\r\n{}\r\n0\r\n\r\n", "a".repeat(65_537));
    let head = site.server.head("POST /sign-in", &format!("{FORM}Transfer-Encoding: chunked\r\n"));
    assert_eq!(site.server.send(head + &pieces).status, 413);
}

#[test]
fn strangers_take_at_most_half_of_the_request_slots() {
    let mut config = local(tokens());
    (config.limits.requests_max, config.sessions) =
        (4, Some(Sessions::new(BrowserSessions::in_memory()).unwrap()));
    let endless = Door { path: Some("/"), open_paths: vec!["/endless"], ..Door::from(super::endless()) };
    let server = Server::start(config, |_| endless);
    let _held = [super::hold(&server, ""), super::hold(&server, "")];
    let refused = server.send(server.head("GET /endless", ""));
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    let _other = super::hold(&server, ANNA);
}

/// A link in a mail or on another site leads to the sign-in page; the browser's session does not follow it.
#[test]
fn a_link_on_a_foreign_page_leads_to_the_sign_in_page() {
    let site = Site::start(tokens());
    let cookie = site.owner();
    let link = |from: &str| {
        format!("{PAGE}Sec-Fetch-Site: {from}\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n")
    };
    for from in ["cross-site", "same-site"] {
        for proof in [cookie.as_str(), ANNA, ""] {
            let reply = site.get("/runs/a", &format!("{}{proof}", link(from)));
            assert_eq!((reply.status, reply.header("location")), (303, Some("/sign-in?to=%2Fruns%2Fa")));
            assert!(reply.header("set-cookie").is_none(), "the session goes on");
        }
        assert_eq!(seen(&site.get("/sign-in", &format!("{}{cookie}", link(from)))), ok("a stranger"));
        assert_eq!(site.get("/mcp", &format!("{}{ANNA}", link(from))).status, 403, "no page is there");
    }
    for own in ["none", "same-origin"] {
        let reply = site.get("/runs/a", &format!("{}{cookie}", link(own)));
        assert_eq!(seen(&reply), ok("the owner in a session"), "{own}");
    }
    // Nothing else from another site: no frame, no picture, no script, no form.
    let whole = link("cross-site");
    for other in [
        whole.replace("Dest: document", "Dest: iframe"),
        whole.replace("Dest: document", "Dest: image"),
        whole.replace("Mode: navigate", "Mode: no-cors"),
        whole.replace("Mode: navigate", "Mode: cors"),
        whole.clone() + "Sec-Fetch-Dest: iframe\r\n",
        whole.clone() + "Origin: https://evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n".to_owned(),
    ] {
        assert_eq!(site.get("/runs/a", &other).status, 403, "{other}");
    }
    assert_eq!(site.post("/runs/a", &format!("{whole}{FORM}"), "").status, 403);
}

#[test]
fn head_is_served_where_get_is() {
    let site = Site::start(tokens());
    let cookie = site.owner();
    let status = |path: &str, headers: &str| {
        let mut wire = Wire::to(site.server.address);
        wire.write(site.server.head(&format!("HEAD {path}"), headers));
        wire.reply_head().map(|reply| reply.status)
    };
    assert_eq!(status("/runs/a", &cookie), Some(200));
    assert_eq!((status("/sign-out", &cookie), status("/nowhere", &cookie)), (Some(405), Some(404)));
    assert_eq!((status("/runs/a", ""), status("/runs/a", PAGE)), (Some(401), Some(401)));

    let server = Server::start(local(tokens()), |end| {
        streamable::door(|| -> super::NoHandler { unreachable!("no test calls it") }, end)
    });
    let mut wire = Wire::to(server.address);
    wire.write(server.head("HEAD /mcp", ANNA));
    let refused = wire.reply_head().unwrap();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, POST, DELETE")));
}
