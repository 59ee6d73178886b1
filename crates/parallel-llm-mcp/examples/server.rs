//! Serves a panel over HTTP inside of another program, until Ctrl-C: `OPENROUTER_API_KEY=... cargo run --features examples
//! --example server`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use parallel_llm_mcp::server::{Http, Transport};
use parallel_llm_mcp::{CancellationToken, Error, Panel, PanelBuilder, Server};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run` with a panel of their own")]
async fn main() -> Result<(), Error> {
    let stop = CancellationToken::new();
    let ctrl_c = async {
        // If it cannot be heard, the server runs until it is killed.
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
        std::future::pending().await
    };
    tokio::select! {
        served = run(Panel::builder().from_environment(), &stop, |url| println!("MCP at {url}/mcp")) => served,
        never = ctrl_c => never,
    }
}

/// Serves at a free port of this machine until `stop`.
pub(crate) async fn run(
    builder: PanelBuilder,
    stop: &CancellationToken,
    announce: impl FnOnce(&str),
) -> Result<(), Error> {
    let panel = builder.in_memory().build()?;
    // Without `open`, every request needs a token of `Panel::make_token`, which needs a folder.
    let http = Http::at(([127, 0, 0, 1], 0)).open();
    let server = Server::new(&panel).bind(Transport::Http(http)).await?;
    announce(&server.urls()[0]);
    server.run_until(stop.cancelled()).await?;
    panel.close().await;
    Ok(())
}
