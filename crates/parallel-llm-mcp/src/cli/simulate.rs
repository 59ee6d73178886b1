//! `simulate`: the pretend OpenRouter, for users' own tests.

use std::net::{Ipv4Addr, SocketAddr};

use parallel_llm_engine::{Code, Failure};
use parallel_llm_simulator::{Simulator, SimulatorConfig};

use super::Desk;
use crate::exit;
use crate::shutdown::Signals;

/// Run the pretend OpenRouter that tests and the demo use
///
/// It prints the two variables that point a client at it, and runs until Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Simulate {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Same seed, same answers and latencies
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How fast its time passes: 1 real, 0 without waiting
    #[arg(long, default_value_t = 1.0)]
    time_scale: f64,
}

/// Runs it until a signal comes.
pub(super) async fn run(desk: &Desk<'_>, simulate: &Simulate) -> Result<u8, Failure> {
    if !(0.0..=1_000.0).contains(&simulate.time_scale) {
        return Err(Failure::new(Code::Usage, "`--time-scale` lies between 0 and 1000"));
    }
    let mut config = SimulatorConfig::demo();
    config.seed = simulate.seed;
    config.time_scale = simulate.time_scale;
    config.address = SocketAddr::from((Ipv4Addr::LOCALHOST, simulate.port));
    let simulator = Simulator::start(config).await.map_err(|error| {
        Failure::new(Code::Usage, format!("port {} cannot be used: {error}", simulate.port))
            .with_next("choose another with `--port`, or 0 for a free one")
    })?;
    desk.console.data(&format!(
        "OPENROUTER_BASE_URL={}\nOPENROUTER_API_KEY={}",
        simulator.base_url(),
        simulator.api_key()
    ));
    desk.console.say("the simulator is running; Ctrl-C stops it");
    Signals::new().next().await;
    simulator.shutdown().await;
    Ok(exit::ANSWER)
}
