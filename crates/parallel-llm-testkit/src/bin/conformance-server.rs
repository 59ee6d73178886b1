//! The fixtures of the protocol's conformance suite, behind the product's own listener and transport.
//!
//! `conformance-server --http ADDRESS` prints its address and serves until it is killed.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_mcp_door::streamable;
use parallel_llm_testkit::conformance::Fixtures;
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a test machine can watch sockets");
    match runtime.block_on(serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[expect(
                clippy::print_stderr,
                reason = "a program of the tests, started by a person or the xtask"
            )]
            {
                eprintln!("error: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Failure> {
    let nobody = |_| async { Err(Failure::new(Code::TokenRefused, "there are no tokens here")) }.boxed();
    let listener = parallel_llm_http::bind(parallel_llm_http::Config::new(
        address()?,
        parallel_llm_http::Access::Open(Arc::new(nobody)),
    ))
    .await?;
    #[expect(clippy::print_stdout, reason = "who started it reads here where it listens")]
    {
        println!("http://{}{}", listener.address(), streamable::PATH);
    }
    let (fixtures, end) = (Fixtures::new(), CancellationToken::new());
    let doors = vec![streamable::door(move || fixtures.clone(), end.clone())];
    listener.serve(doors, end, Duration::ZERO).await;
    Ok(())
}

/// Where to listen.
fn address() -> Result<SocketAddr, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = || Failure::new(Code::Usage, "`conformance-server` takes `--http ADDRESS`");
    match words.as_slice() {
        [flag, address] if flag == "--http" => address.parse().map_err(|_| usage()),
        _ => Err(usage()),
    }
}
