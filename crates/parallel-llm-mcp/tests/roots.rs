//! Paths that the model of an MCP client attaches: only files of the folders that the user has allowed are read, however the
//! path is written.

use std::process::Command;

use parallel_llm_testkit::Sandbox;
use serde_json::{Value, json};

use crate::ask::ONE;
use crate::http::program;
use crate::mcp::client::{Client, structured};

/// A sandbox with an allowed folder `open/` beside one that is not, and what an attacker would put into them.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    sandbox.write("open/notes.md", "notes");
    sandbox.write("open/src/main.rs", "fn main() {}");
    sandbox.write("open/.env", "KEY=1");
    sandbox.write("open/.git/config", "x");
    sandbox.write("open/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    sandbox.write("open/data.bin", b"\xff\0");
    sandbox.write("closed/secret.txt", "CANARY");
    sandbox.write("open-too/secret.txt", "CANARY");
    let home = sandbox.home();
    let links = [
        (home.join("closed"), "open/link"),
        (home.join("closed/secret.txt"), "open/link.txt"),
        ("/proc/self".into(), "open/self"),
    ];
    for (target, link) in links {
        std::os::unix::fs::symlink(target, home.join(link)).expect("a link can be made");
    }
    assert!(Command::new("mkfifo").arg(home.join("open/pipe")).status().is_ok_and(|status| status.success()));
    sandbox
}

/// A client whose user allows these folders.
fn client(sandbox: &Sandbox, roots: &str) -> Client {
    Client::new(sandbox, &[("PARALLEL_LLM_ATTACH_ROOTS", roots)])
}

/// The result of a call with this attachment.
fn attach(client: &mut Client, attachment: &str) -> Value {
    let arguments = json!({"prompt": "Why?", "models": [ONE], "attachments": [attachment], "fresh": true});
    structured(&client.call("process_prompt", arguments)).clone()
}

#[test]
fn no_path_leads_out_of_the_allowed_folders() {
    let sandbox = sandbox();
    let home = sandbox.home().to_str().expect("a path of the test").to_owned();
    let mut client = client(&sandbox, &format!("{home}/open"));
    let outside = "is in none of the folders";
    let dots = "has `..` or `.` in it";
    let special = "it is a link, a folder, a pipe or a device";
    let hidden = "hidden files and folders are left out";
    let no_uri = "links are not read, and paths begin with `/`";
    for (path, why) in [
        ("/etc/passwd", outside),
        ("file:///etc/passwd", outside),
        ("FILE:///etc/passwd", outside),
        ("/proc/self/environ", outside),
        ("/dev/zero", outside),
        ("HOME/closed/secret.txt", outside),
        ("HOME/open-too/secret.txt", outside),
        ("HOME/OPEN/notes.md", outside),
        ("HOME", outside),
        ("/", outside),
        ("//etc/passwd", outside),
        ("HOME/open/../closed/secret.txt", dots),
        ("HOME/open/src/../../closed/secret.txt", dots),
        ("file://HOME/open/%2e%2e/closed/secret.txt", outside),
        ("file://HOME/open%2f..%2fclosed/secret.txt", dots),
        ("file://HOME/open/..%2fclosed/secret.txt", dots),
        ("file://example.org/HOME/open/notes.md", "it is no `file://` URI of this machine"),
        ("file://HOME/open/notes.md?x", "a `?` or `#` in a URI is written"),
        ("file://HOME/open/notes.md%00.png", "its path has a zero byte in it"),
        ("HOME/open/link.txt", special),
        ("HOME/open/link", special),
        ("HOME/open/link/secret.txt", "cannot be read"),
        ("HOME/open/link/*.txt", "cannot be read"),
        ("HOME/open/self/environ", "cannot be read"),
        ("HOME/open/pipe", special),
        ("HOME/open/.env", hidden),
        ("HOME/open/.git/config", hidden),
        ("HOME/open/.*", hidden),
        ("HOME/open/id_rsa", "is not sent: by its name it holds a private key"),
        ("HOME/open/data.bin", "seems to be binary data"),
        ("HOME/open/none.md", "No such file or directory"),
        ("HOME/open/*.none", "no file to attach was found"),
        ("HOME/open/**/secret.txt", "no file to attach was found"),
        ("HOME/open/[", "is no pattern"),
        ("open/notes.md", no_uri),
        ("../closed/secret.txt", no_uri),
        ("~/open/notes.md", no_uri),
        ("https://example.org/a.png", no_uri),
        ("", no_uri),
    ] {
        let error = attach(&mut client, &path.replace("HOME", &home));
        let code = if path.ends_with("id_rsa") { "secret_found" } else { "attachment_invalid" };
        assert_eq!(error["code"], code, "{path}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(why)), "{path}: {error}");
        assert!(!error["next"].as_str().unwrap_or_default().is_empty(), "{path}: {error}");
    }
    let long = format!("{home}/open/{}", "a/".repeat(3_000));
    assert_eq!(attach(&mut client, &long)["code"], "attachment_invalid");
    assert_eq!(sandbox.chats(), [], "nothing is sent");
}

#[test]
fn files_folders_and_patterns_of_an_allowed_folder_are_attached() {
    let sandbox = sandbox();
    let home = sandbox.home().to_str().expect("a path of the test").to_owned();
    std::fs::remove_file(sandbox.home().join("open/id_rsa")).unwrap();
    let mut client = client(&sandbox, &format!("{home}/none:{home}/open"));
    let mut sent = |path: &str| {
        let result = attach(&mut client, &path.replace("HOME", &home));
        assert_eq!(result["status"], "complete", "{path}: {result}");
        let chats = sandbox.chats();
        let content = chats.last().expect("a model was asked").body["messages"][0]["content"].clone();
        let content = content.as_str().expect("a text").to_owned();
        assert!(!content.contains("CANARY"), "{path}: {content}");
        content.lines().filter_map(|line| line.strip_suffix(':')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sent("HOME/open/notes.md"), ["notes.md"]);
    assert_eq!(sent("file://HOME/open/notes.md"), ["notes.md"]);
    assert_eq!(sent("file://HOME/open/n%6ftes.md"), ["notes.md"]);
    assert_eq!(sent("HOME/open"), ["open/notes.md", "open/src/main.rs"]);
    assert_eq!(sent("HOME/open/src"), ["src/main.rs"]);
    assert_eq!(sent("HOME/open/**/*.rs"), ["open/src/main.rs"]);
    // The model cannot see what a folder had besides.
    sandbox.write("open/logo.bin", b"\0\x01");
    let result = attach(&mut client, &format!("{home}/open"));
    insta::assert_snapshot!(result["warnings"], @r#"[{"code":"attachment_invalid","message":"attached: 2 files, 17 bytes, about 23 tokens for each model; left out: 2 binary files, 4 links"}]"#);
}

#[test]
fn without_an_allowed_folder_no_path_is_read() {
    let sandbox = sandbox();
    let path = sandbox.home().join("open/notes.md");
    let path = path.to_str().expect("a path of the test");
    let mut none = Client::new(&sandbox, &[]);
    let refused = attach(&mut none, path).to_string().replace(sandbox.home().to_str().unwrap(), "<home>");
    insta::assert_snapshot!(refused, @r#"{"code":"attachment_invalid","message":"attachment 1 (`<home>/open/notes.md`) is not read: the user has allowed no folder to attach files from","next":"put the text into the prompt, or ask the user to set `attach_roots`","retryable":false}"#);
    for roots in ["/", "/proc", "/dev/shm"] {
        let error = attach(&mut client(&sandbox, roots), &format!("{roots}/notes.md").replace("//", "/"));
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("`attach_roots` may not be"), "{roots}: {error}");
    }
    // A stranger's project cannot allow a folder.
    sandbox.write(".parallel-llm.toml", "attach_roots = ['.']\n");
    let output = sandbox.call(["ask", "-m", ONE, "Why?"]).run();
    assert!(output.stderr.contains("a project file may not set `attach_roots`"), "{}", output.stderr);
    assert_eq!(sandbox.chats(), [], "nothing is sent");
}

#[test]
fn over_http_no_path_is_read_whatever_is_allowed() {
    let sandbox = sandbox();
    let home = sandbox.home().to_str().expect("a path of the test").to_owned();
    let (running, address) = program::serve(&sandbox, &["--no-auth"], &[("attach_roots", home.as_str())]);
    let path = format!("{home}/open/notes.md");
    let question = json!({"prompt": "Why?", "models": [ONE], "attachments": [path]});
    let reply = program::call(address, "process_prompt", &question);
    let message = program::structured(&reply)["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("paths and links are not read"), "{reply}");
    running.signal("TERM");
    running.wait();
    assert_eq!(sandbox.chats(), [], "nothing is sent");
}
