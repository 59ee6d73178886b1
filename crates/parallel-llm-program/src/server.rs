//! The servers: MCP on pipes, and every door that speaks HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use parallel_llm_app::doors::{self, check_of, listening, sign_in_page};
use parallel_llm_engine::value::next::{self, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Config, Door, Listener, Sessions};
use parallel_llm_mcp_door::stdio::Ended;
use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::called;
use crate::command::Serve;
use crate::exit;
use crate::terminal::console::Console;
use crate::terminal::vocabulary;
use parallel_llm_service::{Services, Shutdown, TokenState, WorkScope};
use parallel_llm_settings::private_files;
use parallel_llm_settings::settings::{MetricsReach, Settings};
use parallel_llm_settings::signals::Signals;

/// The longest wait at a server's start to learn whether there are tokens, which takes milliseconds.
const TOKENS_CHECK_MAX: Duration = Duration::from_secs(2);
/// How long a server leaves batches alone after a failure that does not pass by itself.
const WORK_PAUSE: Duration = Duration::from_secs(30);

/// Serves MCP on stdin and stdout until stdin ends or a signal comes, and returns the exit code. Fails if stdin was a question
/// for the models instead.
pub(crate) async fn serve_pipes(
    wire: &dyn Fn(&Settings) -> Services,
    settings: &Settings,
) -> Result<u8, Failure> {
    log_unwritable(settings);
    let service = wire(settings);
    log_missing_key(&service);
    service.begin_export();
    match parallel_llm_mcp_door::stdio::run(service).await {
        Ended::Served => Ok(exit::ANSWER),
        Ended::Signal(signal) => Ok(exit::of_signal(signal)),
        Ended::NoClient => {
            let message =
                "without a question this is an MCP server, and what came on stdin is no message of MCP";
            let asking = Next::Type(format!("{} ask -", called::name()).into());
            Err(Failure::new(Code::Usage, message).with_next(asking))
        }
    }
}

/// Serves every door over HTTP at this address. Unless everybody is admitted, every request needs a token.
pub(crate) async fn serve_http(
    wire: &dyn Fn(&Settings) -> Services,
    settings: &Settings,
    console: &Console,
    address: SocketAddr,
    serve: &Serve,
) -> Result<u8, Failure> {
    let no_auth = serve.no_auth;
    let service = wire(settings).without_checks();
    let check = check_of(&service);
    let access = if no_auth { Access::Open(check) } else { Access::Tokens(check) };
    let sessions = if no_auth { None } else { Some(Sessions::new(service.sessions.clone())?) };
    let is_counted = settings.telemetry.metrics != MetricsReach::Off || settings.telemetry.endpoint.is_some();
    let meter = is_counted.then(|| service.meter().clone());
    let config = Config { sessions, meter, ..listening(settings, address, access)? };
    serve_until_signal(&service, config, console, serve.batch).await
}

/// Serves over HTTP until a signal, and up to `drain` longer for requests in flight; a second signal ends it at once,
/// which the exit code shows. Works on batches besides, on so many of their questions at once, if that is wanted.
async fn serve_until_signal(
    service: &Services,
    config: Config,
    console: &Console,
    batch: Option<u64>,
) -> Result<u8, Failure> {
    let drain = Duration::from_millis(service.settings.drain_ms);
    let sessions = config.sessions.clone();
    let mut signals = Signals::new();
    let wants_tokens = matches!(config.access, Access::Tokens(_));
    let listener = parallel_llm_http::bind(config).await?;
    log_unwritable(&service.settings);
    if wants_tokens {
        log_tokenless(service).await;
    }
    log_missing_key(service);
    log_recursion(service, &listener);
    service.begin_export();
    let shutdown = Shutdown::new(drain);
    let doors = doors::over_http(service, &shutdown, sessions.as_ref());
    for Door { name, path, .. } in &doors {
        // Those that run the server know where to look for the rest.
        let Some(path) = path else { continue };
        let addresses = listener.urls().into_iter().map(|url| url + path);
        tracing::info!("{name} is served at {}", addresses.collect::<Vec<_>>().join(" and "));
    }
    let page = doors.iter().find_map(|door| Some(sign_in_page(&listener.urls(), door.sign_in?)));
    let links = async {
        match (&sessions, page) {
            (Some(sessions), Some(page)) => print_links(console, sessions, &page).await,
            _ => std::future::pending().await,
        }
    };
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
        let lost = stop.run_until_cancelled(service.ask.continue_lost_runs());
        let work = work_on_batches(service, batch, stop);
        let serve = listener.serve(doors, stop.clone(), drain);
        let (close_by, (), _, ()) = tokio::join!(close_by, serve, lost, work);
        service.close(close_by.saturating_duration_since(Instant::now())).await;
    };
    let code = tokio::select! {
        () = served => exit::ANSWER,
        signal = second_signal => exit::of_signal(signal),
        never = links => match never {},
    };
    end.cancel();
    Ok(code)
}

/// Works on batches until the server stops, and up to `drain` longer.
async fn work_on_batches(service: &Services, concurrency: Option<u64>, stop: &CancellationToken) {
    let Some(concurrency) = concurrency.and_then(|count| usize::try_from(count).ok()) else { return };
    let drain = Duration::from_millis(service.settings.drain_ms);
    let work = async {
        loop {
            let worker = service.batches.worker(WorkScope::All, concurrency, stop.clone()).await;
            match async { worker?.run().await }.await {
                Ok(()) => return,
                // The server has other work to do, and the database may be usable again.
                Err(failure) => tracing::error!("no work on batches for a while: {}", failure.message),
            }
            if stop.run_until_cancelled(sleep(WORK_PAUSE)).await.is_none() {
                return;
            }
        }
    };
    let overtime = async {
        stop.cancelled().await;
        sleep(drain).await;
    };
    tokio::select! {
        () = work => {}
        () = overtime => {}
    }
}

/// Prints the link with which the owner signs in, and the next one as soon as it was used. The log gets no link,
/// because a log file is read by more people and kept for longer.
async fn print_links(console: &Console, sessions: &Sessions, page: &str) -> Infallible {
    let mut codes = sessions.link_codes();
    loop {
        let link = format!("{page}?code={}", codes.borrow_and_update().expose_secret());
        console.say(&format!("sign in once with {link}"));
        codes.changed().await.expect("the sessions hold the sender");
    }
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

/// Warns in the log of providers that are this server itself; it starts anyway, and refuses questions to them.
fn log_recursion(service: &Services, listener: &Listener) {
    for provider in service.listens_at(listener.address(), &listener.urls()) {
        tracing::warn!(
            "the base URL of the provider `{provider}` is this server itself: questions to it are refused; give it the address of another server"
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
        Ok(_) => tracing::warn!("no token is in force, so programs are answered 401: {advice}"),
        Err(failure) => tracing::warn!(
            "tokens cannot be looked up, so those who bring one are answered 503: {failure}; {}",
            vocabulary::describe(failure.next_steps())
        ),
    }
}
