//! A collector of telemetry: takes what it is sent and has nothing to say.
//!
//! Invariants: it is reached over https, or over http on this machine; the user's headers go to no other host; no redirect is
//! followed, and time and size are limited.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use secrecy::SecretString;
use url::Url;

use crate::connection::endpoint;
use crate::connection::http::{self as pooled, Http};
use crate::providers::scrubber::Scrubber;

/// How long a collector may take. It stands nearby; what it does not take in time is sent again later or dropped.
const WAIT: Duration = Duration::from_secs(10);
/// The most bytes read of its answer, which says how much it refused and is not used.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A collector at an address.
#[derive(Debug)]
pub struct Collector {
    http: Http,
    base: Url,
    headers: HeaderMap,
    scrubber: Scrubber,
}

impl Collector {
    /// The collector at this address, to which these headers are sent. Their values are treated as secrets. The
    /// certificates (DER) are trusted besides the system's. `system_proxy` is as for
    /// [`ProviderConfig`](crate::ProviderConfig).
    pub fn new(
        address: &str,
        mut headers: HeaderMap,
        connect_timeout_ms: u64,
        certificates: Vec<Vec<u8>>,
        system_proxy: bool,
    ) -> Result<Self, Failure> {
        let base = endpoint::parse("the address of the collector", address.trim())?;
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        let secrets = headers.values().filter_map(|value| value.to_str().ok()).map(SecretString::from);
        let scrubber = Scrubber::new(secrets);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let http = Http::new(connect_timeout_ms, certificates, system_proxy);
        Ok(Self { http, base, headers, scrubber })
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> String {
        endpoint::authority(&self.base)
    }

    /// Posts JSON to a path below the address. A failure is retryable if the same bytes may be taken later.
    pub async fn post(&self, path: &str, body: Vec<u8>) -> Result<(), Failure> {
        let late = || {
            let message = format!("`{}` gave no answer within {} s", self.authority(), WAIT.as_secs());
            Failure::new(Code::Timeout, message).with_next(Advice::CheckNetworkAndAddress)
        };
        let posted = tokio::time::timeout(WAIT, self.send(path, body)).await;
        posted.unwrap_or_else(|_| Err(late())).map_err(|failure| self.scrubber.clean(failure))
    }

    async fn send(&self, path: &str, body: Vec<u8>) -> Result<(), Failure> {
        let host = self.authority();
        let broken = |error: reqwest::Error| {
            let message = format!("`{host}` cannot be reached: {}", error.without_url());
            Failure::new(Code::Connection, message).with_next(Advice::CheckNetworkAndAddress)
        };
        let mut url = self.base.clone();
        let segments = url.path_segments_mut();
        segments.expect("http and https addresses have a path").pop_if_empty().extend(path.split('/'));
        let request = self.http.client(&url)?.client.post(url).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        // Read to its end, so that the connection can be used again; what it says makes no difference.
        let _ = pooled::read(&mut response, ANSWER_BYTES_MAX, &mut Vec::new()).await;
        if status.is_success() {
            return Ok(());
        }
        // As OTLP says: everything else is refused for good.
        let may_help = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        let failure = Failure::new(Code::Upstream, format!("`{host}` answered {status}"));
        Err(failure.with_status(status.as_u16()).with_retryable(may_help))
    }
}
