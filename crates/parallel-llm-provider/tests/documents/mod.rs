//! Public documents, which are read without a key.

use parallel_llm_engine::Code;
use parallel_llm_provider::Documents;

use crate::upstream::{Act, Upstream, send};

async fn read(upstream: &Upstream) -> String {
    match Documents::new(1_000, Vec::new()).read(&format!("{}/keys", upstream.url)).await {
        Ok(document) => String::from_utf8(document).unwrap(),
        Err(failure) => {
            failure.message.replace(&upstream.url["http://".len()..upstream.url.len() - 7], "HOST")
        }
    }
}

fn reply(head: &str, body: &str) -> Vec<Act> {
    vec![send(format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ))]
}

#[tokio::test]
async fn a_document_is_read_whole_without_any_key() {
    let upstream = Upstream::start(reply("200 OK", "{\"keys\":[]}")).await;
    assert_eq!(read(&upstream).await, "{\"keys\":[]}");
    let request = upstream.requests().remove(0).to_lowercase();
    assert!(
        request.starts_with("get /api/v1/keys http/1.1\r\n") && !request.contains("authorization"),
        "{request}"
    );
}

#[tokio::test]
async fn a_document_follows_no_redirect_and_has_a_size_limit() {
    let elsewhere = Upstream::start(reply("200 OK", "stolen")).await;
    let moved = format!("302 Found\r\nLocation: {}/keys", elsewhere.url);
    let upstream = Upstream::start(reply(&moved, "")).await;
    assert_eq!(read(&upstream).await, "`HOST` answered 302 Found and gave no document");
    assert!(elsewhere.requests().is_empty());
    let long = Upstream::start(reply("200 OK", &"a".repeat(300_000))).await;
    assert_eq!(read(&long).await, "the document of `HOST` is longer than 262144 bytes");
}

#[tokio::test]
async fn untrustworthy_addresses_are_refused() {
    let documents = Documents::new(1_000, Vec::new());
    for (address, expected) in [
        ("http://id.example/keys", Code::InsecureUrl),
        ("file:///etc/passwd", Code::SettingsInvalid),
        ("https://user:word@id.example/keys", Code::SettingsInvalid),
        ("keys", Code::SettingsInvalid),
    ] {
        assert_eq!(documents.read(address).await.unwrap_err().code, expected, "{address}");
    }
}
