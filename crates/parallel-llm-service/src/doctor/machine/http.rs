//! The HTTP door: whether its default address is free, and which program uses it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::doctor::finding::{Finding, Health};

/// The address that the help of `serve` suggests.
const SUGGESTED: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8930);
/// The longest wait for the listener to identify itself. It runs on this machine.
const ANSWER_MAX: Duration = Duration::from_millis(800);
/// The bytes read of an answer: its head and the start of its body.
const ANSWER_BYTES_MAX: usize = 8 * 1024;
/// A text that every answer of this program contains.
const OURS: &str = "parallel-llm-mcp";

pub(crate) async fn examine() -> Vec<Finding> {
    vec![address(SUGGESTED).await]
}

/// Whether the address is free.
async fn address(address: SocketAddr) -> Finding {
    // Bound only for a moment: dropping the listener frees the address.
    let Err(error) = TcpListener::bind(address) else {
        return Finding::ok(format!("{address} is free for `serve --http {address}`"));
    };
    if error.kind() != std::io::ErrorKind::AddrInUse {
        let found = format!("nothing can listen on {address}: {error}");
        return Finding::warning(found, "serve at another address: `serve --http ADDRESS`");
    }
    if is_ours(address).await {
        return Finding::ok(format!("a server of this program listens on {address}"));
    }
    let next = "serve at another port: `serve --http ADDRESS`, or end that program";
    Finding::of(Health::Ok, format!("another program listens on {address}"), Some(next.into()))
}

/// Whether the listener names this program, in an answer or in a refusal.
async fn is_ours(address: SocketAddr) -> bool {
    let asked = tokio::time::timeout(ANSWER_MAX, ask(address)).await;
    asked.is_ok_and(|answer| answer.is_ok_and(|answer| answer.contains(OURS)))
}

/// Requests the metadata that MCP servers publish without a session; returns the start of the answer.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    const BODY: &str = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"doctor","version":"1"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: server/discover\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        BODY.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(BODY.as_bytes()).await?;
    let mut answer = Vec::new();
    // Bytes received before the connection broke count as well.
    let _ = stream.take(ANSWER_BYTES_MAX as u64).read_to_end(&mut answer).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn described(at: SocketAddr) -> String {
        let finding = address(at).await;
        format!("{} {}", finding.state.word(), finding.found.replace(&at.to_string(), "ADDRESS"))
    }

    /// A listener that sends this response to every client.
    async fn answering(answer: &'static str) -> (SocketAddr, tokio::task::JoinSet<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = vec![0; ANSWER_BYTES_MAX];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        (address, serving)
    }

    #[tokio::test]
    async fn the_listener_at_the_address_is_reported() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(described(free).await, "ok ADDRESS is free for `serve --http ADDRESS`");
        let refusal =
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer realm=\"parallel-llm-mcp\"\r\n\r\n";
        let (ours, _serving) = answering(refusal).await;
        assert_eq!(described(ours).await, "ok a server of this program listens on ADDRESS");
        let (theirs, _serving) = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(described(theirs).await, "ok another program listens on ADDRESS");
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(described(silent.local_addr().unwrap()).await, "ok another program listens on ADDRESS");
    }
}
