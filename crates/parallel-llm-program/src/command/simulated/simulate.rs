//! `simulate`: the simulated OpenRouter, for users' own tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_simulator::{HttpVersions, Simulator, SimulatorConfig};

use crate::command::context::CommandContext;
use crate::exit;
use parallel_llm_settings::signals::Signals;

/// Run the simulated OpenRouter of the tests and the demo
///
/// It prints the variables that point a client at it, and runs until Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Simulate {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Same seed, same answers and latencies
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The speed of its time: 1 is real time, 0 without waiting
    #[arg(long, default_value_t = 1.0)]
    time_scale: f64,
    /// Serve https, with a certificate made at start
    #[arg(long)]
    tls: bool,
    /// Write the certificate that a client has to trust to FILE
    #[arg(long, value_name = "FILE", requires = "tls")]
    certificate: Option<PathBuf>,
    /// The versions of HTTP to speak
    #[arg(long, value_enum, default_value = "both")]
    http: Versions,
}

/// The versions of HTTP of the flag.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Versions {
    /// HTTP/1.1
    #[value(name = "1")]
    One,
    /// HTTP/2, without TLS with prior knowledge
    #[value(name = "2")]
    Two,
    /// Whichever the client chooses
    Both,
}

impl From<Versions> for HttpVersions {
    fn from(versions: Versions) -> Self {
        match versions {
            Versions::One => Self::Only1,
            Versions::Two => Self::Only2,
            Versions::Both => Self::Both,
        }
    }
}

/// Runs the simulator until a signal.
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    simulate: &Simulate,
) -> Result<u8, Failure> {
    if !(0.0..=1_000.0).contains(&simulate.time_scale) {
        return Err(Failure::new(Code::Usage, "`--time-scale` lies between 0 and 1000"));
    }
    let mut config = SimulatorConfig::demo();
    config.seed = simulate.seed;
    config.time_scale = simulate.time_scale;
    config.tls = simulate.tls;
    config.http = simulate.http.into();
    config.address = SocketAddr::from((Ipv4Addr::LOCALHOST, simulate.port));
    let simulator = Simulator::start(config).await.map_err(|error| {
        Failure::new(Code::Usage, format!("port {} cannot be used: {error}", simulate.port))
            .with_next(Next::NameWith("--port 0".into()))
    })?;
    let mut variables =
        format!("OPENROUTER_BASE_URL={}\nOPENROUTER_API_KEY={}", simulator.base_url(), simulator.api_key());
    if let (Some(file), Some(pem)) = (&simulate.certificate, simulator.certificate_pem()) {
        write(file, pem)?;
        // The variable that rustls, OpenSSL and curl read; it replaces the system's certificates.
        variables.push_str(&format!("\nSSL_CERT_FILE={}", file.display()));
    }
    context.console.data(&variables);
    context.console.say("the simulator is running; Ctrl-C stops it");
    Signals::new().next().await;
    simulator.shutdown().await;
    Ok(exit::ANSWER)
}

fn write(file: &Path, pem: &str) -> Result<(), Failure> {
    std::fs::write(file, pem).map_err(|error| {
        let message = format!("the certificate cannot be written to `{}`: {error}", file.display());
        Failure::new(Code::OutputUnwritable, message).with_next(Next::NameWith("--certificate".into()))
    })
}
