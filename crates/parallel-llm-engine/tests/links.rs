//! Links in foreign text: found however they are written, and gone for good once removed.

use std::collections::BTreeSet;

use parallel_llm_engine::text::links::{defused, links, mentioned};
use proptest::prelude::*;

fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = links(text).into_iter().map(|link| link.host).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn links_are_found_however_they_are_written() {
    check("See https://Example.ORG/a?b=c#d, and <http://two.example>.", &["example.org", "two.example"]);
    check(
        "![i](https://evil.example/p.png?q=1) [t](//evil.example/x \"t\")",
        &["evil.example", "evil.example"],
    );
    check("<img src='http://evil.example:8080/x'><a href=//evil.example>", &["evil.example", "evil.example"]);
    check(
        "[ref]: //evil.example/x\nwww.evil.example/y ftp://evil.example",
        &["evil.example", "www.evil.example", "evil.example"],
    );
    check(
        "https://good.example@evil.example/ https://good.example:443@evil.example",
        &["evil.example", "evil.example"],
    );
    check("http://[2001:DB8::1]:80/x http://127.0.0.1:3000", &["2001:db8::1", "127.0.0.1"]);
    check("https://bücher.example/ https://ПРИМЕР.example/", &["bücher.example", "пример.example"]);
    check("ht\u{200b}tps://ev\u{ad}il.example/", &["evil.example"]);
    check("https://ｅｖｉｌ．example/ https://evil。example/", &["evil.example", "evil.example"]);
    check("https://%65vil.ex%61mple/", &["evil.example"]);
    check(
        "https&#58;//evil&period;example/x https&colon;&sol;&sol;evil.example",
        &["evil.example", "evil.example"],
    );
    check(
        r"[x](https\://evil.example) https:\\evil.example\x https:/evil.example https:evil.example",
        &["evil.example", "evil.example", "evil.example", "evil.example"],
    );
    check("data:text/html;base64,PGI+ java&Tab;script:alert(1) data:,x", &["data:", "javascript:", "data:"]);
    check("custom+scheme://evil.example/x", &["evil.example"]);
}

#[test]
fn a_name_without_a_scheme_is_a_link_too() {
    check("Log in at secure-bank.com, or at evil.io/login.", &["secure-bank.com", "evil.io"]);
    check("Update at cdn.evil.xyz. Then stop.", &["cdn.evil.xyz"]);
    for text in [
        "write to me@mail.com",
        "ASP.NET and java.net",
        "logger.info(x), socket.io, node.js, main.rs, README.md",
        "com.acme.app",
        "src/evil.com",
        "e.g. 3.14 and v1.2.3",
        "foo.com_bar",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_bare_name_of_any_common_ending_is_a_link() {
    for (text, host) in [
        ("Download it from evil-site.io today.", "evil-site.io"),
        ("Log in at secure-login.app.", "secure-login.app"),
        ("Die Seite heißt meine-bank.de und hilft.", "meine-bank.de"),
        ("The wallet is at **coin-vault.ai**.", "coin-vault.ai"),
        ("Visit free-prizes.online, please", "free-prizes.online"),
        ("[evil-site.io](evil-site.io/x)", "evil-site.io"),
        ("Get it at pay.evil-site.co.uk.", "pay.evil-site.co.uk"),
        ("Ask support.evil-bank.dev!", "support.evil-bank.dev"),
        ("It is on GoodTools.ai (paid).", "goodtools.ai"),
        ("`curl install.tool.sh/x | sh`", "install.tool.sh"),
        ("see evil.io:8080 now", "evil.io"),
        ("- evil-shop.store\n- other", "evil-shop.store"),
        ("Open evil-site.io?ref=1 first", "evil-site.io"),
        ("_evil-site.com_ and more", "evil-site.com"),
        ("Auf evil-seite.ch/pfad", "evil-seite.ch"),
        ("Le site mon-site.fr est bon", "mon-site.fr"),
    ] {
        assert!(links(text).iter().any(|link| link.host == host), "{text}: {:?}", links(text));
    }
}

#[test]
fn names_of_files_and_code_are_no_hosts() {
    for text in [
        "main.rs, setup.py, index.html, README.md, run.sh, Main.java, a.pl, lib.so, app.ts, x.cc, report.me",
        "foo.bar(), list.push(x), self.me, this.app, app.dev, req.info, user.email, os.path, fmt.Println",
        "import react.dom, java.io, java.util, System.IO, std.io, tokio.io, fs.io, config.dev",
        "v1.2.3, 3.14, e.g. this, i.e. that, a.k.a. me, U.S. law, p.m. or a.m., Ph.D., vs.it",
        "socket.io, Node.js, next.js, Vue.js, ASP.NET, D3.js, draw.io, three.js, spaCy.io",
        "com.acme.app, org.example.dev, io.netty.all",
        "The end.It was late.Me too.So on.Is it.In time.At night.",
        "rect.bottom-rect.top, b-a.io.read, my-button.click, deploy-prod.sh, com.my-company.app, first.last@mail.dev",
        "The CEO.De facto, A.De, C.Ai, i.co, x.de = 1, anna.de@mail.io is (b.co) _x.de_",
        "settings.dev.json, docker-compose.dev.yml, app.module.ts, data.store.get(1)",
        "window.top, document.link, console.info, self.store.x, event.click, obj.live = 1",
        "the file .env, .me, a..io, ..dev, 10.io",
        "x.us = 3; y.it += 1; if a.app == b.app { c.top }",
    ] {
        check(text, &[]);
    }
}

#[test]
fn prose_and_code_without_links_are_left_alone() {
    for text in [
        "The data: we saw and/or read. Note: this. 12:30 // a.remark",
        "let x: Vec<u8> = a::b(c); // see docs.rs",
        "std::env::args() ratio 3:4, http: the protocol, www stands for web",
        "C:\\Users\\me and a//b",
    ] {
        check(text, &[]);
    }
}

#[test]
fn a_host_is_found_in_text_and_in_links() {
    let names = ["docs.rs", "a.b.example", "mail.example", "b.example", "nowhere.example"];
    let wanted: BTreeSet<String> = names.map(str::to_owned).into();
    let text = "Go to docs.rs, or to https://a.b.example:80/x (mail me@mail.example).";
    let known: Vec<String> = mentioned(text, &wanted).into_iter().collect();
    assert_eq!(known, ["a.b.example", "docs.rs", "mail.example"]);
}

#[test]
fn links_at_page_boundaries_are_found() {
    let link = "https://evil.example/a/b?c=d";
    let wanted = BTreeSet::from(["evil.example".to_owned()]);
    // Around the ends of pages, and around what two pages share.
    for edge in [56 * 1024, 64 * 1024, 112 * 1024] {
        for filler in ["x", "\u{6d77}", " "] {
            let (before, behind) = (filler.repeat((edge - 20) / filler.len()), filler.repeat(100));
            for shift in 0..40 {
                let text = format!("{before}{} {link} {behind}", "-".repeat(shift));
                let found = links(&text);
                let spans: Vec<&str> = found.iter().map(|link| &text[link.span.clone()]).collect();
                assert_eq!(spans, [link], "{edge} {filler} {shift}");
            }
            assert_eq!(mentioned(&format!("{before} {link} {behind}"), &wanted), wanted);
        }
    }
}

#[test]
fn a_removed_link_is_named_and_nothing_else_changes() {
    let text = "See [docs](https://good.example/a) and ![p](https://evil.example/p?q=secret).";
    let evil = BTreeSet::from(["evil.example".to_owned()]);
    insta::assert_snapshot!(defused(text, &evil), @"See [docs](https://good.example/a) and ![p]([link to evil[.]example left out]).");
}

/// Text made of pieces of addresses and of characters that hide them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "https",
        "http",
        ":",
        "//",
        "/",
        "\\",
        "www.",
        "evil.example",
        "good.example",
        "@",
        "&#58;",
        "&sol;",
        "&colon;",
        "\u{200b}",
        "%65",
        "%2e",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "\"",
        " ",
        "\n",
        "data",
        ",",
        ";",
        "javascript",
        "ｅ",
        "。",
        "İ",
        "ß",
        "::1",
        "]:",
        "!",
        "=",
        ".",
        "&",
        "#",
        "x",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_and_removed_links_stay_removed(text in prop_oneof![any::<String>(), pieces()]) {
        let found = links(&text);
        for link in &found {
            prop_assert!(text.get(link.span.clone()).is_some(), "a link begins and ends at whole characters");
        }
        prop_assert!(found.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start), "links do not overlap");
        let all: BTreeSet<String> = found.into_iter().map(|link| link.host).collect();
        let once = defused(&text, &all);
        prop_assert!(links(&once).iter().all(|link| !all.contains(&link.host)), "{:?}", once);
        prop_assert_eq!(defused(&once, &all), once);
    }

    #[test]
    fn a_host_is_found_whatever_surrounds_it(before in "[a-z .,(\\[<]{0,12}", after in "[a-z .,)\\]>]{0,12}") {
        let text = format!("{before} https://evil.example/{after}");
        prop_assert!(links(&text).iter().any(|link| link.host == "evil.example"), "{}", text);
    }
}
