//! Documents that anybody may read, such as the public keys of whoever issues tokens.
//!
//! What always holds: they are read over https, or over http from this machine; no key goes along, no redirect is
//! followed, and what is waited for and read is bounded.

use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use url::Url;

use crate::endpoint;
use crate::http::{self, Http};

/// The longest document. The keys of an issuer are some kilobytes.
const BYTES_MAX: usize = 256 * 1024;
/// How long one is waited for: somebody waits for what depends on it.
const WAIT: Duration = Duration::from_secs(10);

/// Reads documents.
#[derive(Debug)]
pub struct Documents {
    http: Http,
}

impl Documents {
    /// Reads over connections made within this time, and trusts these certificates (DER) besides the system's.
    pub fn new(connect_timeout_ms: u64, certificates: Vec<Vec<u8>>) -> Self {
        Self { http: Http::new(connect_timeout_ms, certificates) }
    }

    /// The bytes of one.
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
        let mut response = self.http.client(url)?.get(url.clone()).send().await.map_err(broken)?;
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
