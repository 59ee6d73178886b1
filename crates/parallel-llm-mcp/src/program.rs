//! The program from its arguments to its exit code. How its parts are put together it is told.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use tokio_util::sync::CancellationToken;

use crate::cli::{self, Command, Desk, Serve};
use crate::output::console::Console;
use crate::output::failure;
use crate::service::Service;
use crate::settings::{Environment, Settings};
use crate::shutdown::Signals;
use crate::{app, exit, http, mcp, telemetry, watchdog};

/// Reads the arguments, puts the program together with `wire`, does the command, returns the exit code.
pub fn run(wire: impl Fn(&Settings) -> Service) -> ExitCode {
    let environment = Environment::read();
    let console = Console::new(&environment);
    let code = perform(&environment, &wire, &console);
    // Whatever the command came to, whoever wanted its data has not got them.
    ExitCode::from(console.lost().map_or(code, |lost| {
        failure::tell(&console, lost, false);
        exit::of(lost.code)
    }))
}

fn perform(environment: &Environment, wire: &dyn Fn(&Settings) -> Service, console: &Console) -> u8 {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let arguments = match cli::parse(console, &arguments) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let command = match arguments.command {
        Some(command) => command,
        // An MCP client starts the program without a command and talks over pipes.
        None if !std::io::stdin().is_terminal() => Command::Serve(Serve::default()),
        None => {
            console.data(&cli::help());
            return exit::ANSWER;
        }
    };
    let console = console.quieter(command.is_quiet());
    let wants_json = command.wants_json();
    start(environment, wire, &console, command).unwrap_or_else(|error| {
        failure::tell(&console, &error, wants_json);
        exit::of(error.code)
    })
}

/// Does the command on a runtime of its own. One thread: the work is waiting, and the parts that are not run
/// beside it.
fn start(
    environment: &Environment,
    wire: &dyn Fn(&Settings) -> Service,
    console: &Console,
    command: Command,
) -> Result<u8, Failure> {
    let broken =
        |error: std::io::Error| Failure::new(Code::Internal, format!("the runtime cannot start: {error}"));
    let here = std::env::current_dir().unwrap_or_default();
    let settings = Settings::load(environment, &here, &command.overrides())?;
    // A command shows its run itself; a server has only its log.
    let level = match command {
        Command::Serve(_) => settings.log_level.as_str(),
        _ => settings.log_level_if_chosen().unwrap_or("error"),
    };
    let _log = telemetry::start(level, settings.log_file.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let _watchdog = watchdog::start(runtime.handle()).map_err(broken)?;
    let done = runtime.block_on(dispatch(wire, &settings, console.clone(), command));
    // What still reads stdin cannot be waited for.
    runtime.shutdown_background();
    done
}

async fn dispatch(
    wire: &dyn Fn(&Settings) -> Service,
    settings: &Settings,
    console: Console,
    command: Command,
) -> Result<u8, Failure> {
    let drain = Duration::from_millis(settings.drain_ms);
    match command {
        Command::Serve(Serve { http: None }) => {
            mcp::stdio::run(wire(settings)).await;
            Ok(exit::ANSWER)
        }
        Command::Serve(Serve { http: Some(address) }) => serve_http(&wire(settings), address, drain).await,
        Command::Demo(demo) => {
            let (simulator, service) = app::stage_demo(settings).await?;
            let done = cli::run_demo(&Desk { service: &service, console }, &demo, &simulator).await;
            service.close(drain).await;
            done
        }
        Command::Work(work) => {
            let service = wire(settings);
            let done = cli::run(&Desk { service: &service, console }, work).await;
            // Whoever has stopped the command has waited for its run already.
            let stopped = matches!(done, Ok(exit::INTERRUPTED | exit::TERMINATED | exit::HUNG_UP));
            service.close(if stopped { Duration::ZERO } else { drain }).await;
            done
        }
    }
}

/// Serves over HTTP until a signal comes, and `drain` longer for what is under way; a second signal ends it at once.
async fn serve_http(service: &Service, address: SocketAddr, drain: Duration) -> Result<u8, Failure> {
    let mut signals = Signals::new();
    let listener = http::bind(address).await?;
    tracing::info!("MCP is served at http://{}{}", listener.address(), mcp::streamable::PATH);
    let (stop, end) = (CancellationToken::new(), CancellationToken::new());
    let routes = mcp::routes(service, stop.clone(), end.clone());
    let told_twice = async {
        let signal = signals.next().await;
        tracing::info!("{signal:?}: stopping; a second signal stops at once");
        stop.cancel();
        signals.next().await;
    };
    tokio::select! {
        () = listener.serve(routes, stop.clone(), drain) => service.close(drain).await,
        () = told_twice => {}
    }
    end.cancel();
    Ok(exit::ANSWER)
}
