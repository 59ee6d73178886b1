//! Servers of a panel: over HTTP with safe defaults, on pipes, and transports by name.

use std::net::SocketAddr;
use std::time::Duration;

use parallel_llm_mcp::server::{Http, Transport};
use parallel_llm_mcp::{CancellationToken, Error, Server};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::upstream::Upstream;

/// A free port of this machine.
fn here() -> Http {
    Http::at(([127, 0, 0, 1], 0))
}

/// The status of an answer to `tools/list`, sent with this token, and the answer.
async fn listed(url: &str, token: Option<&str>) -> (u16, String) {
    posted(url, token, ("tools/list", ""), "{}").await
}

/// The status of an answer to a request of this method, for the tool of this name if it has one, and the answer.
async fn posted(url: &str, token: Option<&str>, (method, tool): (&str, &str), params: &str) -> (u16, String) {
    let address: SocketAddr = url.trim_start_matches("http://").parse().expect("a URL has an address");
    let mut wire = TcpStream::connect(address).await.expect("the server listens");
    let mut params: serde_json::Value = serde_json::from_str(params).expect("the parameters are JSON");
    params["_meta"] = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let tool = if tool.is_empty() { String::new() } else { format!("Mcp-Name: {tool}\r\n") };
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         {tool}{token}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    wire.write_all(request.as_bytes()).await.expect("the request is taken");
    let mut answer = String::new();
    wire.read_to_string(&mut answer).await.expect("the answer is text");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.expect("an answer has a status");
    (status, answer)
}

#[tokio::test]
async fn a_server_runs_until_its_future_is_dropped() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().build().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let server = Server::new(&panel);
    let mut running = Box::pin(server.run(Transport::Http(Http::at(free).open())));
    let client = async {
        while TcpStream::connect(free).await.is_err() {
            tokio::task::yield_now().await;
        }
        let (status, answer) = posted(&url, None, ("server/discover", ""), "{}").await;
        assert!(status == 200 && answer.contains("serverInfo"), "{answer}");
        let call = r#"{"name":"process_prompt","arguments":{"prompt":"Why is the sky blue?"}}"#;
        let (status, answer) = posted(&url, None, ("tools/call", "process_prompt"), call).await;
        assert!(status == 200 && answer.contains("run_id"), "{answer}");
    };
    tokio::select! {
        ended = &mut running => panic!("{ended:?}"),
        () = client => {}
    }
    drop(running);
    assert!(TcpStream::connect(free).await.is_err(), "nobody listens");
    assert_eq!(panel.ask("Why?").await.unwrap().status, "complete");
    panel.close().await;
    upstream.connections(0).await;
}

#[tokio::test]
async fn an_open_server_serves_until_it_is_told_to_stop_and_the_panel_stays() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().build().unwrap();
    let server = Server::new(&panel).bind(Transport::Http(here().open())).await.unwrap();
    let (url, stop) = (server.urls()[0].clone(), CancellationToken::new());
    assert!(server.sign_in_link().is_none());
    let client = async {
        let (status, answer) = listed(&url, None).await;
        assert!(status == 200 && answer.contains("process_prompt"), "{answer}");
        stop.cancel();
    };
    let (served, ()) = tokio::join!(server.run_until(stop.cancelled()), client);
    served.unwrap();
    assert!(TcpStream::connect(url.trim_start_matches("http://")).await.is_err());
    assert_eq!(panel.ask("Why?").await.unwrap().status, "complete");
}

#[tokio::test]
async fn a_server_wants_a_token_unless_it_is_open() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let panel = upstream.panel().folder(folder.path()).build().unwrap();
    let token = panel.make_token("ci").await.unwrap();
    let server = Server::new(&panel).bind(Transport::Http(here())).await.unwrap();
    let link = server.sign_in_link().unwrap();
    assert!(link.expose_secret().contains("?code="));
    let url = server.urls()[0].clone();
    let client = async {
        assert_eq!(listed(&url, None).await.0, 401);
        assert_eq!(listed(&url, Some(token.expose_secret())).await.0, 200);
    };
    let stop = CancellationToken::new();
    let (served, ()) = tokio::join!(server.run_until(stop.cancelled()), async {
        client.await;
        stop.cancel();
    });
    served.unwrap();
    panel.close().await;
}

#[tokio::test]
async fn a_server_that_would_not_be_safe_is_refused() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().build().unwrap();
    let refused = async |http| {
        let error = Server::new(&panel).bind(Transport::Http(http)).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        format!("{error}: {cause}")
    };
    insta::assert_snapshot!(refused(here()).await, @"the server did not begin: tokens are kept in a folder, and this panel has none");
    insta::assert_snapshot!(refused(Http::at(([0, 0, 0, 0], 0)).open()).await, @"the server did not begin: `0.0.0.0:0` can be reached from other machines, so it cannot be open to everyone");
}

#[test]
fn a_transport_is_known_by_name_or_the_error_names_what_there_is() {
    assert!(matches!("stdio".parse(), Ok(Transport::Stdio)));
    assert!(matches!("http".parse(), Ok(Transport::Http(_))));
    assert!(matches!("http://127.0.0.1:0".parse(), Ok(Transport::Http(_))));
    for unknown in ["sse", "", "HTTP", "streamable-http", "https://127.0.0.1:1", "http://name:1"] {
        let error = unknown.parse::<Transport>().unwrap_err();
        assert!(matches!(&error, Error::Transport(name) if name == unknown), "{error:?}");
        let expected = format!("there is no transport `{unknown}`; there are `stdio` and `http`");
        assert_eq!(error.to_string(), expected);
    }
}

/// Serves pipes in a process of its own, which [`pipes_end_with_stdin`] starts.
#[test]
#[ignore = "another test starts it in a process of its own"]
fn a_server_on_pipes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let panel = parallel_llm_mcp::Panel::builder().key("sk-or-x").setting("attach_roots", "/tmp");
        let panel = panel.build().unwrap();
        Server::new(&panel).run(Transport::Stdio).await.unwrap();
    });
}

#[test]
fn pipes_end_with_stdin() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "server::a_server_on_pipes", "--nocapture"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    writeln!(stdin, "{initialize}").unwrap();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
    let call = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"process_prompt","arguments":{"prompt":"Why?","attachments":["/etc/passwd"]}}}"#;
    writeln!(stdin, "{call}").unwrap();
    drop(stdin);
    let done = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && stdout.contains(r#""id":7"#), "{stdout}");
    // Files are read from the folders of `attach_roots`, as by the program, and from no others.
    assert!(stdout.contains("is in none of the folders"), "{stdout}");
}

#[tokio::test]
async fn a_server_that_ends_leaves_no_connection_of_its_clients() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().build().unwrap();
    let server = Server::new(&panel).bind(Transport::Http(here().open())).await.unwrap();
    let url = server.urls()[0].clone();
    let mut idle = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    server.run_until(tokio::time::sleep(Duration::from_millis(50))).await.unwrap();
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(2), idle.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "an idle connection is closed with the server");
}
