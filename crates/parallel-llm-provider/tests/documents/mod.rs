//! Documents that anybody may read.

use parallel_llm_engine::Code;
use parallel_llm_provider::Documents;

use crate::upstream::{Act, Upstream, say};

async fn told(upstream: &Upstream) -> String {
    match Documents::new(1_000, Vec::new()).read(&format!("{}/keys", upstream.url)).await {
        Ok(document) => String::from_utf8(document).unwrap(),
        Err(failure) => {
            failure.message.replace(&upstream.url["http://".len()..upstream.url.len() - 7], "HOST")
        }
    }
}

fn reply(head: &str, body: &str) -> Vec<Act> {
    vec![say(format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()))]
}

#[tokio::test]
async fn a_document_is_read_whole_without_any_key() {
    let upstream = Upstream::start(reply("200 OK", "{\"keys\":[]}")).await;
    assert_eq!(told(&upstream).await, "{\"keys\":[]}");
    let asked = upstream.asked().remove(0).to_lowercase();
    assert!(
        asked.starts_with("get /api/v1/keys http/1.1\r\n") && !asked.contains("authorization"),
        "{asked}"
    );
}

#[tokio::test]
async fn nobody_is_followed_and_nothing_endless_is_read() {
    let elsewhere = Upstream::start(reply("200 OK", "stolen")).await;
    let moved = format!("302 Found\r\nLocation: {}/keys", elsewhere.url);
    let upstream = Upstream::start(reply(&moved, "")).await;
    assert_eq!(told(&upstream).await, "`HOST` answered 302 Found and gave no document");
    assert!(elsewhere.asked().is_empty());
    let long = Upstream::start(reply("200 OK", &"a".repeat(300_000))).await;
    assert_eq!(told(&long).await, "the document of `HOST` is longer than 262144 bytes");
}

#[tokio::test]
async fn addresses_that_nobody_should_trust_are_refused() {
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
