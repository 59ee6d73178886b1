//! Folders and patterns attached on the command line, and a folder on the page: what is taken, what is left out, and what is
//! refused.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use parallel_llm_testkit::Sandbox;

use crate::ask::ONE;
use crate::http::program;

/// A sandbox with the sources of a program in `work`, where the program is run.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.write("src/deep/er/a.rs", "// a ``` b");
    sandbox.write("src/deep/empty.py", "");
    sandbox.write("src/data.bin", b"\0\x01\x02");
    sandbox.write("src/.hidden/x.rs", "hidden");
    sandbox.write("src/generated/x.rs", "ignored");
    sandbox.write("src/.gitignore", "generated/\n");
    sandbox
}

/// The prompt that was sent last.
fn prompt(sandbox: &Sandbox) -> String {
    let chats = sandbox.chats();
    let content = &chats.last().expect("a model was asked").body["messages"][0]["content"];
    content.as_str().expect("a text").to_owned()
}

#[test]
fn a_folder_is_attached_file_by_file_under_relative_names() {
    let sandbox = sandbox();
    let output = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src/"]).run();
    assert_eq!(output.code, Some(0), "{}", output.transcript());
    let said = output.stderr.lines().next().expect("what is attached is said");
    assert_eq!(
        said,
        "attached: 2 files, 23 bytes, about 24 tokens for each model; left out: 1 binary file, 1 empty file"
    );
    let expected =
        "Review\n\nsrc/deep/er/a.rs:\n````\n// a ``` b\n````\n\nsrc/main.rs:\n```\nfn main() {}\n```";
    assert_eq!(prompt(&sandbox), expected);
    // After `@` a folder is attached as well, by its full path under its own name.
    let whole = format!("@{}", sandbox.home().join("src").display());
    sandbox.call(["ask", "-q", "-m", ONE, "Review", &whole]).run();
    assert_eq!(prompt(&sandbox), expected);
}

#[test]
fn a_pattern_is_expanded_by_the_program() {
    let sandbox = sandbox();
    let ask = |pattern: &str| {
        let output = sandbox.call(["ask", "-q", "-m", ONE, "Review", "-a", pattern]).run();
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        let prompt = prompt(&sandbox);
        prompt.lines().filter_map(|line| line.strip_suffix(':')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ask("src/**/*.rs"), ["src/deep/er/a.rs", "src/main.rs"]);
    assert_eq!(ask("src/*.rs"), ["src/main.rs"]);
    assert_eq!(ask("**/{main,a}.rs"), ["src/deep/er/a.rs", "src/main.rs"]);
    sandbox.write("a[1].txt", "x");
    assert_eq!(ask("a[1].txt"), ["a[1].txt"], "a file that is there is no pattern");
    let none = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src/*.py"]).run().transcript();
    insta::assert_snapshot!(none, @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: no file to attach was found for the pattern `src/*.py`
      next: name other files; those that are hidden or named in a `.gitignore` are left out
    ");
    let open = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src/["]).run().transcript();
    insta::assert_snapshot!(open, @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: `src/[` is no pattern: unclosed character class; missing ']'
      next: name other files; those that are hidden or named in a `.gitignore` are left out
    ");
}

#[cfg(unix)]
#[test]
fn a_gitignore_that_is_a_pipe_hangs_nothing() {
    let sandbox = sandbox();
    let pipe = |folder: &str| {
        let path = sandbox.home().join(folder).join(".gitignore");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        path
    };
    let below = pipe("src/deep");
    let output = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src/"]).run();
    assert_eq!(output.code, Some(0), "{}", output.transcript());
    let said = output.stderr.lines().next().expect("what is attached is said");
    insta::assert_snapshot!(said, @"attached: 1 file, 13 bytes, about 11 tokens for each model; left out: 1 binary file, 1 folder with an unreadable `.gitignore`");
    std::fs::remove_file(below).expect("the pipe is there");
    let above = pipe(".");
    let refused = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src/*.rs"]).run().transcript();
    assert!(refused.contains("which says what to leave out, cannot be read: it is a link"), "{refused}");
    std::fs::remove_file(above).expect("the pipe is there");
}

#[test]
fn what_nobody_may_send_is_refused_in_a_folder_too() {
    let sandbox = sandbox();
    sandbox.write("src/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let refused = sandbox.call(["ask", "-m", ONE, "Review", "-a", "src"]).run().transcript();
    insta::assert_snapshot!(refused, @"
    exit 2
    --- stdout
    --- stderr
    error[secret_found]: the attachment `src/id_rsa` is not sent: by its name it holds a private key
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ");
    sandbox.write("empty/.keep", "");
    let nothing = sandbox.call(["ask", "-m", ONE, "Review", "-a", "empty"]).run().transcript();
    insta::assert_snapshot!(nothing, @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: no file to attach was found for the folder `empty`
      next: name other files; those that are hidden or named in a `.gitignore` are left out
    ");
    for number in 0..=400 {
        sandbox.write(&format!("many/{number}"), "x");
    }
    let many = sandbox.call(["ask", "-m", ONE, "Review", "-a", "many"]).run().transcript();
    insta::assert_snapshot!(many, @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: more than 400 texts are attached
      next: attach at most 400 files to one question
    ");
    assert_eq!(sandbox.chats(), []);
}

#[test]
fn attachments_are_counted_before_anything_is_asked() {
    let sandbox = sandbox();
    let dry_run = |flags: &[&str]| sandbox.call(["ask", "--dry-run", "-m", ONE, "Review"]).args(flags).run();
    insta::assert_snapshot!(dry_run(&["-a", "src"]).transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The question would go to:
      1 openai/gpt-6.1-sol
    Strategy: one answer, as it is.
    It would send:
      the text of the question, 6 bytes
      the attachment `src/deep/er/a.rs`, 10 bytes
      the attachment `src/main.rs`, 13 bytes
    Attached: 2 files, 23 bytes, about 24 tokens for each model; left out: 1 binary file, 1 empty file.
    Cost: about $0.015 with 1500 tokens for each reply, at most $0.16 if no call fails. The budget is $3.00.
    --- stderr
    ");
    let counted = &dry_run(&["-a", "src", "--json"]).json()["attachments"];
    insta::assert_snapshot!(counted.to_string(), @r#"{"bytes":23,"files":2,"skipped":{"binary":1,"empty":1,"folders":0,"links":0,"unreadable":0},"tokens":24}"#);
    assert_eq!(sandbox.chats(), []);
}

#[test]
fn stdin_is_attached_by_its_kind() {
    let sandbox = sandbox();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let parts = || sandbox.chats().last().expect("a model was asked").body["messages"][0]["content"].clone();
    for arguments in [&["What is it?"][..], &["What is it?", "-"], &["What is it?", "-a", "-"]] {
        let output = sandbox.call(["ask", "-q", "-m", ONE]).args(arguments).stdin(&png[..]).run();
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        assert_eq!(parts()[1]["type"], "image_url", "{arguments:?}");
    }
    sandbox.call(["ask", "-q", "-m", ONE, "What is it?", "-a", "-"]).stdin("a text").run();
    assert_eq!(prompt(&sandbox), "What is it?\n\nstdin:\n```\na text\n```");
}

/// The reply to a request of a browser.
pub(crate) fn browse(address: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("the page is served");
    let length = body.len();
    let head = format!(
        "{head}\r\nHost: {address}\r\nAccept: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it reads");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("it answers");
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn the_page_takes_a_folder_and_counts_it_with_the_price() {
    let sandbox = sandbox();
    let (running, address) = program::serve(&sandbox, &["--no-auth"], &[]);
    let page = browse(address, "GET /ask HTTP/1.1", b"");
    let token = page.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.expect("the form has a token");
    assert!(page.contains("webkitdirectory"), "{page}");
    let quote = |files: &[(&str, &str, &str)]| {
        let fields = [("form_token", token), ("question", "Review"), ("panel", "quick")];
        let mut form = String::new();
        for (name, value) in fields {
            form += &format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        }
        for (field, name, content) in files {
            form += &format!(
                "--b\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\r\n{content}\r\n"
            );
        }
        form += "--b--\r\n";
        let head = format!(
            "POST /ask/quote HTTP/1.1\r\nOrigin: http://{address}\r\nContent-Type: multipart/form-data; boundary=b"
        );
        browse(address, &head, form.as_bytes())
    };
    let attached = |page: &str| {
        let line =
            page.lines().find(|line| line.contains("<p>Attached: ")).unwrap_or_else(|| panic!("{page}"));
        line.trim().to_owned()
    };
    let folder = [
        ("folder", "src/main.rs", "fn main() {}"),
        ("folder", "src/deep/a.rs", "// a"),
        ("folder", "src/.env", "KEY=1"),
        ("folder", "src/data.bin", "a\0b"),
        ("file", "notes.md", "notes"),
    ];
    insta::assert_snapshot!(attached(&quote(&folder)), @"<p>Attached: 3 files, 21 bytes, about 28 tokens for each model; left out: 1 binary file.</p>");
    let ignoring = [&folder[..], &[("folder", "src/.gitignore", "deep/\n")]].concat();
    insta::assert_snapshot!(attached(&quote(&ignoring)), @"<p>Attached: 2 files, 17 bytes, about 19 tokens for each model; left out: 1 binary file.</p>");
    let secret = quote(&[("folder", "src/id_rsa", "x")]);
    assert!(secret.contains("by its name it holds a private key"), "{secret}");
    running.signal("TERM");
    running.wait();
    assert_eq!(sandbox.chats(), []);
}
