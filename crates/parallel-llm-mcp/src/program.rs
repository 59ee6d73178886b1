//! The program from its arguments to its exit code. The caller passes the function that makes its parts.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{self, Advice};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Check, Config, Door, Resource, TlsFiles};
use tokio::time::Instant;

use crate::app;
use crate::command::{self, Command, CommandContext, Serve};
use crate::doors;
use crate::exit;
use crate::terminal::console::Console;
use crate::terminal::vocabulary;
use crate::watchdog;
use parallel_llm_service::telemetry;
use parallel_llm_service::{Services, Shutdown, TokenState};
use parallel_llm_settings::private_files;
use parallel_llm_settings::settings::{Environment, Settings};
use parallel_llm_settings::signals::Signals;

/// The longest wait at a server's start to learn whether there are tokens, which takes milliseconds.
const TOKENS_CHECK_MAX: Duration = Duration::from_secs(2);

/// Parses the arguments, makes the program with `wire`, runs the command, and returns the exit code.
pub fn run(wire: impl Fn(&Settings) -> Services) -> ExitCode {
    let environment = Environment::read();
    let console = Console::new(&environment);
    let code = perform(&environment, &wire, &console);
    console.wait();
    // Lost output overrides the command's own exit code.
    let code = console.lost().map_or(code, |lost| {
        console.fail(&lost, false);
        exit::of(lost.code)
    });
    console.wait();
    ExitCode::from(code)
}

fn perform(environment: &Environment, wire: &dyn Fn(&Settings) -> Services, console: &Console) -> u8 {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let arguments = match command::parse(console, &arguments) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let command = match arguments.command {
        Some(command) => command,
        // An MCP client starts the program without a command and uses pipes.
        None if !std::io::stdin().is_terminal() => Command::Serve(Serve::default()),
        None => {
            console.data(&command::help());
            return exit::ANSWER;
        }
    };
    let console = console.quieter(command.is_quiet());
    let wants_json = command.wants_json();
    start(environment, wire, &console, command).unwrap_or_else(|error| {
        console.fail(&error, wants_json);
        exit::of(error.code)
    })
}

/// Runs the command on a runtime of one thread: the work is waiting, apart from tasks on blocking threads.
fn start(
    environment: &Environment,
    wire: &dyn Fn(&Settings) -> Services,
    console: &Console,
    command: Command,
) -> Result<u8, Failure> {
    let broken =
        |error: std::io::Error| Failure::new(Code::Internal, format!("the runtime cannot start: {error}"));
    let here = std::env::current_dir().unwrap_or_default();
    let settings = if command.is_of_demo() {
        Settings::of_demo(environment, &here)?
    } else {
        Settings::load(environment, &here, &command.overrides())?
    };
    // A command shows its run itself; a server has only its log.
    let level = match command {
        Command::Serve(_) => settings.log_level.as_str(),
        _ => settings.log_level_if_chosen().unwrap_or("error"),
    };
    let _log = telemetry::start(level, settings.log_file.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let _watchdog = watchdog::start(runtime.handle()).map_err(broken)?;
    let wants_json = command.wants_json();
    let code = runtime.block_on(async {
        let code = dispatch(wire, &settings, console.clone(), command).await.unwrap_or_else(|error| {
            console.fail(&error, wants_json);
            exit::of(error.code)
        });
        // A command that was stopped by a signal waits for no reader; otherwise a signal ends the wait.
        let stopped = matches!(code, exit::INTERRUPTED | exit::TERMINATED | exit::HUNG_UP);
        console.written(stopped).await.map_or(code, exit::of_signal)
    });
    // A thread that still reads stdin cannot be waited for.
    runtime.shutdown_background();
    Ok(code)
}

async fn dispatch(
    wire: &dyn Fn(&Settings) -> Services,
    settings: &Settings,
    console: Console,
    command: Command,
) -> Result<u8, Failure> {
    let drain = Duration::from_millis(settings.drain_ms);
    match command {
        Command::Serve(serve) => match serve.http {
            None => {
                log_unwritable(settings);
                let service = wire(settings);
                log_missing_key(&service);
                Ok(parallel_llm_mcp_door::stdio::run(service).await.map_or(exit::ANSWER, exit::of_signal))
            }
            Some(address) => {
                let service = wire(settings).without_checks();
                let check = check_of(&service);
                let access = if serve.no_auth { Access::Open(check) } else { Access::Tokens(check) };
                serve_http(&service, listening(settings, address, access)?, drain).await
            }
        },
        Command::Demo(demo) => {
            let (simulator, service) = app::stage_demo(settings).await?;
            let done =
                command::run_demo(&CommandContext { service: &service, console }, &demo, &simulator).await;
            service.close(drain).await;
            done
        }
        Command::Work(work) => {
            let service = wire(settings);
            let done = command::run(&CommandContext { service: &service, console }, work).await;
            // A stopped command has waited for its run already.
            let stopped = matches!(done, Ok(exit::INTERRUPTED | exit::TERMINATED | exit::HUNG_UP));
            service.close(if stopped { Duration::ZERO } else { drain }).await;
            done
        }
    }
}

/// The server's configuration from the settings.
fn listening(settings: &Settings, address: SocketAddr, access: Access) -> Result<Config, Failure> {
    let tls = match (&settings.tls_cert, &settings.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
        }
        (None, None) => None,
        _ => {
            let failure = Failure::new(Code::SettingsInvalid, "of `tls_cert` and `tls_key` only one is set");
            return Err(failure.with_next(Advice::SetBoth));
        }
    };
    let (hosts, origins) = (settings.http_hosts.clone(), settings.http_origins.clone());
    let resource = settings.issuer.as_ref().map(|issuer| Resource::new(&issuer.audience, &issuer.address));
    let resource = resource.transpose()?;
    let behind_proxy = settings.behind_proxy;
    Ok(Config { hosts, origins, tls, behind_proxy, resource, ..Config::new(address, access) })
}

/// Finds the principal of a token.
fn check_of(service: &Services) -> Check {
    let service = service.clone();
    Arc::new(move |secret| {
        let service = service.clone();
        Box::pin(async move { service.access.check_token(&secret).await })
    })
}

/// Warns in the log if the data folder is not writable; the server starts anyway, and refuses calls that need it.
fn log_unwritable(settings: &Settings) {
    let folder = &settings.data_dir;
    if let Err(error) = private_files::check_writable(folder) {
        tracing::warn!(
            "the data folder `{}` cannot be written ({error}): nothing is remembered, so every question is refused whose `store` is not `none`; correct its permissions, or choose another with `PARALLEL_LLM_DATA_DIR`",
            folder.display()
        );
    }
}

/// Warns in the log if no provider has a key; the server starts anyway.
fn log_missing_key(service: &Services) {
    if let Some(advice) = service.settings.panel_key_advice() {
        tracing::warn!(
            "no provider of the panel has a key: tools are listed, and calls that cost money answer with what to set ({})",
            next::render(&advice, &next::PLAIN)
        );
    }
}

/// Warns in the log if there are no tokens; one made later is accepted from the next request on.
async fn log_tokenless(service: &Services) {
    let advice = "make a token with `parallel-llm-mcp keys create NAME`";
    // A busy database must not delay the start.
    let Ok(tokens) = tokio::time::timeout(TOKENS_CHECK_MAX, service.access.list_tokens()).await else {
        return;
    };
    match tokens {
        Ok(tokens) if tokens.iter().any(|token| token.state == TokenState::Active) => {}
        Ok(_) if service.settings.issuer.is_some() => {}
        Ok(_) => tracing::warn!("no token is in force, so every request is answered 401: {advice}"),
        Err(failure) => tracing::warn!(
            "tokens cannot be looked up, so those who bring one are answered 503: {failure}; {}",
            vocabulary::describe(failure.next_steps())
        ),
    }
}

/// Serves over HTTP until a signal, and up to `drain` longer for requests in flight; a second signal ends it at once,
/// which the exit code shows.
async fn serve_http(service: &Services, config: Config, drain: Duration) -> Result<u8, Failure> {
    let mut signals = Signals::new();
    let wants_tokens = matches!(config.access, Access::Tokens(_));
    let listener = parallel_llm_http::bind(config).await?;
    log_unwritable(&service.settings);
    if wants_tokens {
        log_tokenless(service).await;
    }
    log_missing_key(service);
    let shutdown = Shutdown::new(drain);
    let doors = doors::over_http(service, &shutdown);
    for Door { name, path, .. } in &doors {
        let addresses = listener.urls().into_iter().map(|url| url + path.unwrap_or_default());
        tracing::info!("{name} is served at {}", addresses.collect::<Vec<_>>().join(" and "));
    }
    let Shutdown { stop, end, .. } = &shutdown;
    let second_signal = async {
        let signal = signals.next().await;
        tracing::info!("{signal:?}: stopping; a second signal stops at once");
        stop.cancel();
        signals.next().await
    };
    let close_by = async {
        stop.cancelled().await;
        Instant::now() + drain
    };
    let served = async {
        let (close_by, ()) = tokio::join!(close_by, listener.serve(doors, stop.clone(), drain));
        service.close(close_by.saturating_duration_since(Instant::now())).await;
    };
    let code = tokio::select! {
        () = served => exit::ANSWER,
        signal = second_signal => exit::of_signal(signal),
    };
    end.cancel();
    Ok(code)
}
