//! Attached files, on the command line and over MCP: what reaches the model, what is refused before anything is sent,
//! and where their bytes never appear.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;

use crate::mcp::client::{Client, structured};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use parallel_llm_testkit::{Call, Sandbox};
use serde_json::{Value, json};

/// A model that takes images.
const VISION_MODEL: &str = "openai/gpt-6.1-sol";
/// A model that takes only text.
const TEXT_MODEL: &str = "z-ai/glm-5.3";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A file with this signature, followed by every byte value.
fn file(signature: &[u8]) -> Vec<u8> {
    let every_byte = (0..=u8::MAX).collect::<Vec<u8>>();
    [signature, &every_byte].concat()
}

fn png() -> Vec<u8> {
    file(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
}

fn pdf() -> Vec<u8> {
    file(b"%PDF-1.7\n")
}

/// The parts of the last message sent: a text, or the name and media type of a file with its bytes.
fn sent_parts(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    let chats = sandbox.chats();
    let body = &chats.last().expect("a model was asked").body;
    let content =
        &body["messages"].as_array().and_then(|all| all.last()).expect("a call has messages")["content"];
    let read = |part: &Value| {
        let text =
            |pointer: &str| part.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (head, uri) = match text("/type").as_str() {
            "text" => return (text("/text"), Vec::new()),
            "image_url" => ("image".to_owned(), text("/image_url/url")),
            _ => (text("/file/filename"), text("/file/file_data")),
        };
        let (media_type, base64) = uri.split_once(";base64,").expect("a file is sent as a data URI");
        (format!("{head} {media_type}"), STANDARD.decode(base64).expect("it is Base64"))
    };
    content.as_array().unwrap_or_else(|| panic!("no parts: {content}")).iter().map(read).collect()
}

/// The transcript of a refused call. Nothing was sent.
fn refusal(sandbox: &Sandbox, call: Call<'_>) -> String {
    let transcript = call.run().transcript();
    assert_eq!(sandbox.chats(), [], "nothing is sent");
    transcript
}

/// The transcript of `ask` with this file attached.
fn check(name: &str, content: &[u8]) -> String {
    let sandbox = sandbox();
    sandbox.write(name, content);
    refusal(&sandbox, sandbox.call(["ask", "-m", VISION_MODEL, "--attach", name, "What is it?"]))
}

#[test]
fn an_image_and_a_document_reach_the_model_byte_for_byte() {
    let sandbox = sandbox();
    sandbox.write("plans/house.jpeg", png());
    sandbox.write("contract.pdf", pdf());
    let call = sandbox.call([
        "ask",
        "-q",
        "-m",
        VISION_MODEL,
        "Do they",
        "@contract.pdf",
        "agree?",
        "-a",
        "plans/house.jpeg",
    ]);
    let output = call.run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let expected = [
        ("Do they agree?".to_owned(), Vec::new()),
        ("contract.pdf data:application/pdf".to_owned(), pdf()),
        // The media type comes from the bytes, not from the name.
        ("image data:image/png".to_owned(), png()),
    ];
    assert_eq!(sent_parts(&sandbox), expected);
    let files = sandbox.files();
    let prompt = files.iter().find(|(path, _)| path.ends_with("prompt.md")).expect("the run has files");
    insta::assert_snapshot!(String::from_utf8_lossy(&prompt.1), @"
    Do they agree?

    [attached: contract.pdf, application/pdf, 265 bytes]

    [attached: house.jpeg, image/png, 272 bytes]
    ");
}

#[test]
fn every_seat_gets_the_files_and_the_synthesizer_only_their_names() {
    let sandbox = sandbox();
    sandbox.write("house.png", png());
    let models = ["-m", VISION_MODEL, "-m", "x-ai/grok-4.7", "--synthesizer", "google/gemini-4-argon"];
    let output = sandbox.call(["ask", "-q", "What is it?", "-a", "house.png"]).args(models).run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let base64 = STANDARD.encode(png());
    let received = |model: &str| {
        let chat = sandbox.chats().into_iter().find(|chat| chat.model.as_deref() == Some(model));
        let body = chat.expect("the model was asked").body.to_string();
        (body.contains(&base64), body.contains("[an attached image: house.png]"))
    };
    assert_eq!(
        [VISION_MODEL, "x-ai/grok-4.7", "google/gemini-4-argon"].map(received),
        [(true, false), (true, false), (false, true)]
    );
}

#[test]
fn a_text_file_is_appended_to_the_prompt_under_its_name() {
    let sandbox = sandbox();
    sandbox.write("down.sql", "DROP TABLE a; -- ```\n");
    sandbox.write("note", "größer");
    let output =
        sandbox.call(["ask", "-q", "-m", VISION_MODEL, "Safe?", "-a", "down.sql", "-a", "note"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(sandbox.chats()[0].body["messages"][0]["content"].as_str().unwrap(), @r"
    Safe?

    down.sql:
    ````
    DROP TABLE a; -- ```
    ````

    note:
    ```
    größer
    ```
    ");
}

#[test]
fn a_file_that_is_named_twice_is_sent_once() {
    let sandbox = sandbox();
    sandbox.write("main.rs", "fn main() {}");
    sandbox.write("src/a.rs", "struct A;");
    let sent = |arguments: &[&str]| {
        let output = sandbox.call(["ask", "-q", "-m", VISION_MODEL, "Why?"]).args(arguments).run();
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let chats = sandbox.chats();
        chats.last().unwrap().body["messages"][0]["content"].as_str().unwrap_or_default().to_owned()
    };
    for arguments in [
        &["-a", "main.rs", "-a", "./main.rs"][..],
        &["-a", "main.rs", "@main.rs"],
        &["@main.rs", "@./main.rs"],
        &["@main.rs", "-a", "*.rs"],
    ] {
        assert_eq!(sent(arguments).matches("fn main() {}").count(), 1, "{arguments:?}");
    }
    for arguments in
        [&["-a", "src", "-a", "src/a.rs"][..], &["-a", "src/a.rs", "@src"], &["@src/a.rs", "-a", "src"]]
    {
        assert_eq!(sent(arguments).matches("struct A;").count(), 1, "{arguments:?}");
    }
}

#[test]
fn text_in_utf_16_is_refused_however_it_comes() {
    let sandbox = sandbox();
    sandbox.write("u16.txt", b"h\0i\0");
    sandbox.write("bom.txt", b"\xff\xfeh\0i\0");
    let ask = |arguments: &[&str]| sandbox.call(["ask", "-m", VISION_MODEL]).args(arguments);
    let refusals = [
        refusal(&sandbox, ask(&["explain", "@u16.txt"])),
        refusal(&sandbox, ask(&["explain", "@bom.txt"])),
        refusal(&sandbox, ask(&["explain", "-a", "u16.txt"])),
        refusal(&sandbox, ask(&["explain"]).stdin(*b"h\0i\0")),
        refusal(&sandbox, ask(&["explain"]).stdin(*b"hello, world\0")),
    ];
    insta::assert_snapshot!(refusals.concat(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: `u16.txt` seems to be text in UTF-16, not UTF-8
      next: type `iconv -f utf-16le -t utf-8 OLD > NEW`
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: `bom.txt` seems to be text in UTF-16, not UTF-8
      next: type `iconv -f utf-16 -t utf-8 OLD > NEW`
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `u16.txt` seems to be text in UTF-16, not UTF-8, which is not taken
      next: type `iconv -f utf-16le -t utf-8 OLD > NEW`
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: stdin seems to be text in UTF-16, not UTF-8
      next: type `iconv -f utf-16le -t utf-8 OLD > NEW`
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: stdin seems to be binary data of an unknown kind
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    "#);
}

#[test]
fn a_file_of_an_unsupported_type_is_refused_by_its_content() {
    insta::assert_snapshot!(check("picture.png", b"\xff\x00\xff\x00"), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `picture.png` seems to be binary data of an unknown kind, which is not taken
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
    insta::assert_snapshot!(check("report.pdf", b"PK\x03\x04\x14\x00\xff\xff"), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `report.pdf` seems to be a ZIP archive, as office documents are, which is not taken
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
    insta::assert_snapshot!(check("empty.txt", b""), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `empty.txt` seems to be an empty file, which is not taken
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let sandbox = sandbox();
    let ask =
        |name: &str| refusal(&sandbox, sandbox.call(["ask", "-m", VISION_MODEL, "What is it?", "-a", name]));
    let made = Command::new("mkfifo").arg(sandbox.home().join("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    insta::assert_snapshot!(ask("pipe"), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `pipe` is a pipe or a device, not a file
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
    insta::assert_snapshot!(ask("/dev/zero"), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `/dev/zero` is a pipe or a device, not a file
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
    insta::assert_snapshot!(ask("-"), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: the attachment `stdin` seems to be an empty file, which is not taken
      next: attach text, PNG, JPEG, GIF, WebP or PDF
    ");
}

#[test]
fn too_many_or_too_large_files_are_refused_unread() {
    let sandbox = sandbox();
    sandbox.write("small.png", png());
    let large = File::create(sandbox.home().join("large.png")).unwrap();
    // A sparse file takes no room on the disk, but would take minutes to read.
    large.set_len(1 << 40).unwrap();
    let call = sandbox.call(["ask", "-m", VISION_MODEL, "What is it?", "-a", "small.png", "-a", "large.png"]);
    insta::assert_snapshot!(refusal(&sandbox, call), @r"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: with the attachment `large.png` the files have more than 10485760 bytes in all
      next: attach less, or raise the setting `attachment_bytes_max`
    ");
    sandbox.write("same.png", png());
    let small = sandbox.call(["ask", "-m", VISION_MODEL, "What is it?", "@same.png", "-a", "small.png"]);
    insta::assert_snapshot!(refusal(&sandbox, small.settings([("attachment_bytes_max", "527")])), @r"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: with the attachment `small.png` the files have more than 527 bytes in all
      next: attach less, or raise the setting `attachment_bytes_max`
    ");
    let many: Vec<String> = (1..=21).map(|number| format!("--attach={number}.png")).collect();
    for flag in &many {
        sandbox.write(&flag["--attach=".len()..], png());
    }
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = sandbox.call(["ask", "-m", VISION_MODEL, "What is it?"]).args(many);
    insta::assert_snapshot!(refusal(&sandbox, many), @r"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: more than 20 files are attached
      next: attach at most 20 files to one question
    ");
}

#[test]
fn images_for_a_text_model_are_refused() {
    let sandbox = sandbox();
    sandbox.write("house.png", png());
    let call = sandbox.call(["ask", "-m", VISION_MODEL, "-m", TEXT_MODEL, "What is it?", "-a", "house.png"]);
    insta::assert_snapshot!(refusal(&sandbox, call), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_unsupported]: the model `z-ai/glm-5.3` takes no images such as `house.png`
      next: ask a model that takes such files: find one with `parallel-llm-mcp models --attachments`, leave the file out, or choose one of: ~openai/gpt-sol-latest, ~anthropic/claude-opus-latest, ~anthropic/claude-sonnet-latest
    ");
}

/// Two kilobytes may hold a book, and its readers pay for the book.
#[test]
fn a_compressed_document_is_priced_by_its_text() {
    let sandbox = sandbox();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    write!(packed, "BT ({}) Tj ET", "All work and no play. ".repeat(30_000)).expect("a vector takes it");
    let packed = packed.finish().expect("a vector takes it");
    let mut document = b"%PDF-1.7\n1 0 obj\n<< /Type /Page /Contents 2 0 R >>\nendobj\n".to_vec();
    document.extend(b"2 0 obj\n<< /Filter /FlateDecode >>\nstream\n");
    document.extend(packed);
    document.extend(b"\nendstream\nendobj\n%%EOF\n");
    sandbox.write("book.pdf", document);
    let call =
        sandbox.call(["ask", "-m", VISION_MODEL, "--budget", "0.50", "Who wrote it?", "-a", "book.pdf"]);
    insta::assert_snapshot!(refusal(&sandbox, call), @"
    exit 5
    --- stdout
    --- stderr
    attached: 1 file, 1782 bytes, about 222000 tokens for each model
    error[budget]: the run may cost up to $0.72; the budget is $0.50
      next: allow it with `--budget 0.72`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
}

#[test]
fn documents_for_a_provider_that_takes_none_are_refused() {
    let sandbox = sandbox();
    sandbox.write("paper.pdf", b"%PDF-1.4\n%%EOF\n");
    let base_url = sandbox.simulator().base_url_of("mistral").expect("the simulator speaks it");
    let call = sandbox.call([
        "ask",
        "-m",
        VISION_MODEL,
        "-m",
        "mistral:mistral-large-4-0",
        "What is it?",
        "-a",
        "paper.pdf",
    ]);
    let call = call.env("MISTRAL_BASE_URL", &base_url).env("MISTRAL_API_KEY", sandbox.simulator().api_key());
    insta::assert_snapshot!(refusal(&sandbox, call), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_unsupported]: mistral takes no documents such as `paper.pdf`
      next: ask a model that takes such files: find one with `parallel-llm-mcp models --attachments`, or leave the file out
    ");
}

#[test]
fn the_effort_is_sent_and_an_unknown_one_is_refused() {
    let sandbox = sandbox();
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask", "-m", VISION_MODEL, "--effort", "huge", "Why?"])), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--effort` is one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, not `huge`
      next: write it like `high`
    ");
    let output = sandbox.call(["ask", "-q", "-m", VISION_MODEL, "--effort", "high", "Why?"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let mut client = Client::new(&sandbox, &[]);
    client.call("process_prompt", json!({"prompt": "Why?", "models": [VISION_MODEL], "effort": "low"}));
    let efforts: Vec<Value> =
        sandbox.chats().iter().map(|chat| chat.body["reasoning"]["effort"].clone()).collect();
    assert_eq!(efforts, ["high", "low"]);
}

#[test]
fn the_bytes_of_a_file_appear_in_no_output_and_no_file() {
    let sandbox = sandbox();
    sandbox.write("house.png", png());
    let canary = STANDARD.encode(png());
    let call = sandbox.call(["ask", "--jsonl", "-m", VISION_MODEL, "What is it?", "-a", "house.png"]);
    let asked = call.settings([("log_level", "trace"), ("log_file", "log")]).run();
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let shows = [&["--json"][..], &["--events"], &["--seat", "1"], &[]];
    let shown = shows.map(|flags| sandbox.call(["runs", "show", "@"]).args(flags).run());
    for output in shown.iter().chain([&asked]) {
        assert!(output.code == Some(0) && !output.text().contains(&canary), "{}", output.text());
        assert!(!output.stderr.contains(&canary), "{}", output.stderr);
    }
    assert!(sandbox.chats().iter().any(|chat| chat.body.to_string().contains(&canary)), "it was sent");
    // The database holds the file compressed, so these bytes are not found there either.
    sandbox.assert_nowhere(canary.as_bytes());
}

#[test]
fn without_stored_texts_no_attachment_is_stored() {
    for store in ["metadata", "none"] {
        let sandbox = sandbox();
        sandbox.write("house.png", png());
        let call = sandbox.call([
            "ask",
            "-q",
            "-m",
            VISION_MODEL,
            "What is it?",
            "-a",
            "house.png",
            "--store",
            store,
        ]);
        assert_eq!(call.run().code, Some(0));
        std::fs::remove_file(sandbox.home().join("house.png")).unwrap();
        sandbox.assert_nowhere(STANDARD.encode(png()).as_bytes());
        sandbox.assert_nowhere(&png());
        sandbox.assert_nowhere(b"house.png");
    }
}

#[test]
fn a_client_attaches_data_uris_and_reads_them_back_by_name() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let uris = [
        format!("data:application/pdf;name=contract.pdf;base64,{}", STANDARD.encode(pdf())),
        format!("data:image/png;base64,{}", STANDARD.encode(png())),
    ];
    let result = client.call(
        "process_prompt",
        json!({"prompt": "Do they agree?", "models": [VISION_MODEL], "attachments": uris}),
    );
    assert_eq!(structured(&result)["status"], "complete", "{result}");
    let expected = [
        ("Do they agree?".to_owned(), Vec::new()),
        ("contract.pdf data:application/pdf".to_owned(), pdf()),
        ("image data:image/png".to_owned(), png()),
    ];
    assert_eq!(sent_parts(&sandbox), expected);

    let run_id = &structured(&result)["run_id"];
    let prompt = client.call("get_run", json!({"run_id": run_id, "part": "prompt"}));
    insta::assert_snapshot!(structured(&prompt)["text"].as_str().unwrap(), @"
    Do they agree?

    [attached: contract.pdf, application/pdf, 265 bytes]

    [attached: attachment-2.png, image/png, 272 bytes]
    ");
    let plan = client.call("get_run", json!({"run_id": run_id, "part": "plan"}));
    let plan: Value = serde_json::from_str(structured(&plan)["text"].as_str().unwrap()).unwrap();
    let expected = json!([{"role": "user", "parts": [
        {"type": "text", "text": "Do they agree?"},
        {"type": "file", "name": "contract.pdf", "media_type": "application/pdf", "bytes": 265},
        {"type": "file", "name": "attachment-2.png", "media_type": "image/png", "bytes": 272},
    ]}]);
    assert_eq!(plan["messages"], expected);
}

#[test]
fn a_client_learns_which_attachment_is_refused_and_why() {
    let sandbox = sandbox();
    let secret = sandbox.write("secret.png", png()).display().to_string();
    let mut client = Client::new(&sandbox, &[]);
    let good = format!("data:image/png;base64,{}", STANDARD.encode(png()));
    let large = format!("data:image/png;base64,{}", STANDARD.encode(vec![0; 11 << 20]));
    for (uri, code, why) in [
        (json!(secret), "attachment_invalid", "attachment 2 (`"),
        (
            json!(format!("file://{secret}")),
            "attachment_invalid",
            "the user has allowed no folder to attach files from",
        ),
        (json!("data:image/png;base64,%89PNG"), "attachment_invalid", "the Base64 of attachment 2 is broken"),
        (
            json!("data:image/png;base64,/wD/AA=="),
            "attachment_invalid",
            "attachment 2 seems to be binary data",
        ),
        (
            json!(format!(
                "data:text/plain;base64,{}",
                STANDARD.encode("OPENAI_API_KEY=sk-proj-0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P")
            )),
            "secret_found",
            "attachment 2 is not sent",
        ),
        (
            json!(large),
            "attachment_invalid",
            "with attachment 2 the files have more than 10485760 bytes in all",
        ),
        (json!({"path": secret}), "usage", "the argument `attachments` is a list of strings"),
    ] {
        let result = client.call(
            "process_prompt",
            json!({"prompt": "What is it?", "models": [VISION_MODEL], "attachments": [good, uri]}),
        );
        let error = structured(&result);
        assert_eq!((&result["isError"], &error["code"]), (&json!(true), &json!(code)), "{why}: {error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{why}: {error}");
        assert!(result.to_string().len() < 2_000, "{why}: {} bytes", result.to_string().len());
    }
    let unsupported = json!({"prompt": "What is it?", "models": [TEXT_MODEL], "attachments": [good]});
    assert_eq!(structured(&client.call("process_prompt", unsupported))["code"], "attachment_unsupported");
    assert_eq!(sandbox.chats(), [], "nothing is sent");
}

/// A text is a text at every door, and no name of a file gets out of its place.
#[test]
fn a_text_may_be_given_as_a_data_uri() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let uri = format!("data:text/markdown;name=```~notes.md;base64,{}", STANDARD.encode("# Plan\n"));
    let given = json!({"prompt": "What is it?", "models": [VISION_MODEL], "attachments": [uri]});
    let result = client.call("process_prompt", given);
    assert_eq!(structured(&result)["status"], "complete", "{result}");
    let prompt = sandbox.chats()[0].body["messages"][0]["content"].clone();
    assert_eq!(prompt, "What is it?\n\n'''~notes.md:\n```\n# Plan\n```");
}
