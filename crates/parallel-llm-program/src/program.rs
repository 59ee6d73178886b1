//! The program from its arguments to its exit code. The caller passes the function that makes its parts.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(unix)]
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use crate::command::{self, Command, CommandContext, Serve, Work};
use crate::exit;
use crate::server;
use crate::staging;
use crate::terminal::console::Console;
use crate::watchdog;
use parallel_llm_service::Services;
use parallel_llm_service::telemetry;
use parallel_llm_settings::settings::{Environment, Settings};
use parallel_llm_settings::signals;

/// The fewest open files that one question needs: the runtime and the standard streams have ten, the database with its log,
/// locks and readers eight, and a call and a file of its answer the rest.
#[cfg(unix)]
const OPEN_FILES_MIN: u64 = 24;

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
    if let Command::Reference(reference) = &command {
        return command::refer(console, reference);
    }
    check_open_files()?;
    let broken =
        |error: std::io::Error| Failure::new(Code::Internal, format!("the runtime cannot start: {error}"));
    let here = std::env::current_dir().unwrap_or_default();
    let settings = match &command {
        command if command.is_of_demo() => Settings::of_demo(environment, &here, &command.overrides())?,
        // It says itself what cannot be read, and checks the rest.
        Command::Work(Work::Doctor(_)) => Settings::load_readable(environment, &here)?,
        command => Settings::load(environment, &here, &command.overrides())?,
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
        signals::survive_file_size_limit();
        // Boxed: the commands together hold kilobytes.
        let code =
            Box::pin(dispatch(wire, &settings, console.clone(), command)).await.unwrap_or_else(|error| {
                console.fail(&error, wants_json);
                exit::of(error.code)
            });
        // A command that was stopped by a signal waits for no reader; otherwise a signal ends the wait.
        let stopped = exit::is_of_signal(code);
        console.written(stopped).await.map_or(code, exit::of_signal)
    });
    // A thread that still reads stdin cannot be waited for.
    runtime.shutdown_background();
    Ok(code)
}

/// Fails if so few files may be open at once that a run could not be stored. Checked first, since the runtime needs some
/// itself, and says less clearly what it lacks.
#[cfg(unix)]
fn check_open_files() -> Result<(), Failure> {
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(limit) if limit < OPEN_FILES_MIN => {
            let message =
                format!("only {limit} files may be open at once, and this program needs {OPEN_FILES_MIN}");
            Err(Failure::new(Code::Storage, message).with_next(Advice::AllowOpenFiles).with_retryable(false))
        }
        _ => Ok(()),
    }
}

/// Other systems have no such limit.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there is a limit")]
const fn check_open_files() -> Result<(), Failure> {
    Ok(())
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
            None => server::serve_pipes(wire, settings).await,
            Some(address) => Box::pin(server::serve_http(wire, settings, &console, address, &serve)).await,
        },
        Command::Demo(demo) => {
            demo.refuse_question()?;
            let (simulator, service) = staging::stage_demo(settings).await?;
            let done =
                command::run_demo(&CommandContext { service: &service, console }, &demo, &simulator).await;
            service.close(drain).await;
            done
        }
        Command::Reference(reference) => command::refer(&console, &reference),
        Command::Work(work) => {
            // The models of a run of the demo are simulated anew for what continues it.
            let (_simulator, service) = if work.continues_demo() {
                let (simulator, service) = staging::stage_models(settings).await?;
                (Some(simulator), service)
            } else {
                (None, wire(settings))
            };
            let done = command::run(&CommandContext { service: &service, console }, work).await;
            // A stopped command has waited for its run already.
            let stopped = done.as_ref().is_ok_and(|code| exit::is_of_signal(*code));
            service.close(if stopped { Duration::ZERO } else { drain }).await;
            done
        }
    }
}
