//! The files of `deploy/`: their variables are settings, and replicas that start as they say serve one history.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use parallel_llm_testkit::simulator::Script;
use parallel_llm_testkit::{Running, Sandbox};
use serde_json::{Value, json};

use crate::http::client::{Reply, Wire};
use crate::http::program::{serve, structured};
use crate::http::sessions::modern_with;
use crate::replicas::{SETTING, fresh};

const ONE: &str = "openai/gpt-6.1-sol";
const HOST: &str = "llm.example.com";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

/// The options after `serve` in a line such as `[serve, --http, "0.0.0.0:8930", --behind-proxy]`.
fn options(path: &str, line_begins: &str) -> Vec<String> {
    let text = text(path);
    let line = text.lines().map(str::trim).find(|line| line.starts_with(line_begins));
    let line = line.unwrap_or_else(|| panic!("{path} has no line `{line_begins}`"));
    let words = line[line_begins.len()..].trim().trim_matches(['[', ']']).split(',');
    let words: Vec<_> = words.map(|word| word.trim().trim_matches('"').to_owned()).collect();
    assert_eq!(words[..2], ["serve", "--http"], "{path}");
    words[2..].to_vec()
}

#[test]
fn every_variable_is_a_setting() {
    let known = text("docs/configuration.md");
    let files = ["parallel-llm-mcp.service", "Dockerfile", "compose.yaml", "kubernetes/replicas.yaml"];
    let mut found = 0;
    for file in files.map(|file| format!("deploy/{file}")) {
        let text = text(&file);
        let is_name = |one: char| one.is_ascii_uppercase() || one == '_';
        let names = text.match_indices("PARALLEL_LLM_").map(|(at, _)| {
            let rest = &text[at..];
            &rest[..rest.find(|one| !is_name(one)).unwrap_or(rest.len())]
        });
        for name in names {
            found += 1;
            assert!(known.contains(&format!("`{name}`")), "{file}: {name} is no setting");
        }
    }
    assert!(found >= 6, "only {found} variables are read");
}

/// A server that the files start, but at a free port of loopback.
fn replica<'a>(sandbox: &'a Sandbox, url: &str) -> (Running<'a>, SocketAddr) {
    let started = options("deploy/Dockerfile", "CMD ");
    assert_eq!(started, options("deploy/kubernetes/replicas.yaml", "args:"));
    assert_eq!(started[0], "0.0.0.0:8930");
    let flags: Vec<&str> = started[1..].iter().map(String::as_str).collect();
    serve(sandbox, &flags, &[(SETTING, url), ("http_hosts", HOST), ("files", "off")])
}

/// What the proxy passes on.
fn through_proxy(address: SocketAddr, request: &str) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(request.replacen(&format!("Host: {address}"), &format!("Host: {HOST}"), 1));
    wire.reply().expect("an answer")
}

#[test]
fn any_of_three_replicas_takes_any_request() {
    let Some(url) = fresh() else { return };
    let program = env!("CARGO_BIN_EXE_parallel-llm-mcp");
    let sandboxes: [Sandbox; 3] =
        std::array::from_fn(|_| Sandbox::new(program).scripted(ONE, Script::answering("A canary sings.")));
    let made = sandboxes[0].call(["keys", "create", "laptop"]).settings([(SETTING, url.as_str())]).run();
    let key = format!("Authorization: Bearer {}\r\n", made.text().trim());
    let replicas = sandboxes.each_ref().map(|sandbox| replica(sandbox, &url));
    let call = |number: usize, tool: &str, arguments: Value| {
        let address = replicas[number].1;
        through_proxy(address, &modern_with(&key, address, tool, &arguments)).json()
    };

    let question = json!({"prompt": "Which bird sings?", "models": [ONE], "idempotency_key": "k1"});
    let asked = call(0, "process_prompt", question.clone());
    let id = structured(&asked)["run_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    let read = call(1, "get_run", json!({"run_id": id}));
    assert_eq!(structured(&read)["answer"], structured(&asked)["answer"], "{read}");
    let again = call(2, "process_prompt", question);
    assert_eq!(structured(&again)["run_id"], id.as_str(), "{again}");
    let chats = sandboxes.each_ref().map(|sandbox| sandbox.chats().len());
    assert_eq!(chats, [1, 0, 0], "one key is one run on all replicas");

    // A cluster would ask by the address of the pod if its file did not name the host.
    assert_eq!(text("deploy/kubernetes/replicas.yaml").matches(HOST).count(), 2);
    for (running, address) in replicas {
        for path in ["/healthz", "/readyz"] {
            let mut wire = Wire::to(address);
            wire.write(format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n"));
            assert_eq!(wire.reply().expect("an answer").status, 200, "{path}");
        }
        running.signal("TERM");
        assert_eq!(running.wait().code, Some(0));
    }
}
