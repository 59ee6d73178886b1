//! `--open`: the page of a run in the browser, served on this machine only and for as long as the command lasts.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_engine::{Failure, RunId};
use parallel_llm_http::{Access, Config, Listener, Sessions};
use parallel_llm_service::{BrowserSessions, Shutdown};
use parallel_llm_settings::private_files;
use parallel_llm_settings::signals::Signals;
use tokio::task::JoinSet;

use crate::command::context::CommandContext;
use parallel_llm_app::doors;

/// The longest wait at the end for what the page still asks: it is closed with the command.
const DRAIN: Duration = Duration::from_millis(500);

/// A page that is bound and not shown yet.
pub(in crate::command) struct BoundPage {
    listener: Listener,
    sessions: Sessions,
}

/// A page in the browser.
pub(in crate::command) struct OpenedPage {
    shutdown: Shutdown,
    serving: JoinSet<()>,
    _forwarding: Option<Forwarding>,
}

/// A private file that leads a browser to the link. The link itself would stand in the list of processes, where every user
/// of the machine could read it first.
struct Forwarding {
    path: PathBuf,
}

impl Forwarding {
    fn write(folder: &Path, port: u16, link: &str) -> io::Result<Self> {
        // Free ports differ, so no other process has a file of this name.
        let path = folder.join(format!("open-{port}.html"));
        let _ = fs::remove_file(&path);
        let mut file = private_files::file_options().open(&path)?;
        let forwarding = Self { path };
        // Nothing in the link needs escaping: an address, hexadecimal digits and a run's id.
        let link = link.replace('&', "&amp;");
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={link}\">\
             <title>Opening the run</title><a href=\"{link}\">Open the run</a>"
        )?;
        Ok(forwarding)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl BoundPage {
    /// Binds a free port of this machine. Nothing is asked before this has worked.
    pub(in crate::command) async fn bind(context: &CommandContext<'_>) -> Result<Self, Failure> {
        let sessions = Sessions::new(BrowserSessions::in_memory())?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let access = Access::Tokens(doors::check_of(context.service));
        let config = Config { sessions: Some(sessions.clone()), ..Config::new(address, access) };
        Ok(Self { listener: parallel_llm_http::bind(config).await?, sessions })
    }

    /// Serves the page and opens it in the browser, and prints its link, because not every browser opens.
    pub(in crate::command) fn show(self, context: &CommandContext<'_>, run: RunId) -> OpenedPage {
        let Self { listener, sessions } = self;
        let code = sessions.link_code();
        let link = format!("http://{}/sign-in?code={code}&to=%2Fruns%2F{run}", listener.address());
        let listener_port = listener.address().port();
        let shutdown = Shutdown::new(DRAIN);
        let door = doors::page(&context.service.clone().without_checks(), &shutdown, &sessions);
        let mut serving = JoinSet::new();
        serving.spawn(listener.serve(vec![door], shutdown.stop.clone(), DRAIN));
        let forwarding = Forwarding::write(&context.service.settings.data_dir, listener_port, &link);
        let is_open = forwarding.as_ref().is_ok_and(|file| open::that_detached(&file.path).is_ok());
        let how = if is_open { "opens in your browser; if it does not, open" } else { "is at" };
        context.console.say(&format!("the page of the run {how} {link} (works once; Ctrl-C ends the page)"));
        OpenedPage { shutdown, serving, _forwarding: forwarding.ok() }
    }
}

impl OpenedPage {
    /// Serves until a signal.
    pub(in crate::command) async fn until_signal(mut self) {
        let mut signals = Signals::new();
        signals.next().await;
        self.shutdown.stop.cancel();
        self.shutdown.end.cancel();
        while self.serving.join_next().await.is_some() {}
    }
}
