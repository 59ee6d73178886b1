//! Public documents, such as the public keys of a token issuer.
//!
//! Invariants: they are read over https, or over http from this machine; no key is sent, no redirect is followed, and
//! time and size are limited.

use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use url::Url;

use crate::connection::endpoint;
use crate::connection::http::{self, Http};

/// The longest document. The keys of an issuer take a few kilobytes.
const BYTES_MAX: usize = 256 * 1024;
/// The timeout for a document. Somebody is waiting for the result.
const WAIT: Duration = Duration::from_secs(10);

/// Reads documents.
#[derive(Debug)]
pub struct Documents {
    http: Http,
}

impl Documents {
    /// Uses this connection timeout and trusts these certificates (DER) besides the system's.
    pub fn new(connect_timeout_ms: u64, certificates: Vec<Vec<u8>>) -> Self {
        Self { http: Http::new(connect_timeout_ms, certificates, true) }
    }

    /// The bytes of a document.
    pub async fn read(&self, address: &str) -> Result<Vec<u8>, Failure> {
        let url = endpoint::parse("the address of the document", address)?;
        let late = || {
            let message =
                format!("`{}` gave no document within {} s", endpoint::authority(&url), WAIT.as_secs());
            Failure::new(Code::Timeout, message).with_next(Advice::CheckNetworkAndAddress)
        };
        tokio::time::timeout(WAIT, self.get(&url)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn get(&self, url: &Url) -> Result<Vec<u8>, Failure> {
        let host = endpoint::authority(url);
        let broken = |error: reqwest::Error| {
            let message = format!("the document cannot be read from `{host}`: {}", error.without_url());
            Failure::new(Code::Connection, message)
        };
        let mut response = self.http.client(url)?.client.get(url.clone()).send().await.map_err(broken)?;
        let status = response.status();
        if !status.is_success() {
            let message = format!("`{host}` answered {status} and gave no document");
            return Err(Failure::new(Code::Upstream, message).with_status(status.as_u16()));
        }
        let mut body = Vec::new();
        if http::read(&mut response, BYTES_MAX, &mut body).await.map_err(broken)? {
            return Ok(body);
        }
        Err(Failure::new(
            Code::Protocol,
            format!("the document of `{host}` is longer than {BYTES_MAX} bytes"),
        ))
    }
}
