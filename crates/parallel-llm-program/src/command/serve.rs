//! `serve`: the server that MCP clients start or connect to.

use std::net::SocketAddr;

/// Serve MCP on stdin and stdout, or over HTTP
#[derive(Debug, Default, clap::Args)]
pub struct Serve {
    /// `stdio`, which may be left out; other servers name their transport here
    #[arg(hide = true, value_name = "TRANSPORT", value_parser = transport, conflicts_with = "http")]
    transport: Option<()>,
    /// Serve over HTTP at this address instead, for example `127.0.0.1:8930`
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Admit everybody who reaches the address, without a token; on this machine only
    #[arg(long, requires = "http")]
    pub no_auth: bool,
    /// Speak https, with the certificate in this file (PEM)
    #[arg(long, value_name = "FILE", requires = "http")]
    tls_cert: Option<String>,
    /// The file with the certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "http")]
    tls_key: Option<String>,
    /// A proxy in front of this server speaks https; `http_hosts` names its host names
    #[arg(long, requires = "http")]
    behind_proxy: bool,
    /// Also work on batches, with so many of their questions at once; questions of callers come first
    #[arg(long, value_name = "N", requires = "http", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub batch: Option<u64>,
}

/// Accepts the name of the transport that is served without `--http`. Any other is refused with what there is.
fn transport(text: &str) -> Result<(), String> {
    if text == "stdio" {
        return Ok(());
    }
    Err("there are `stdio`, and HTTP with `--http ADDRESS`".to_owned())
}

/// Parses the address to listen at.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "an IP address with a port, such as 127.0.0.1:8930".to_owned())
}

impl Serve {
    /// The settings that the flags override, by name.
    pub(super) fn overrides(&self) -> Vec<(&'static str, String)> {
        let values = [
            ("tls_cert", self.tls_cert.clone()),
            ("tls_key", self.tls_key.clone()),
            ("behind_proxy", self.behind_proxy.then(|| "on".to_owned())),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
