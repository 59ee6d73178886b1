//! The terminal, as far as the program uses it: where data goes, where words go, and what they may look like.
//!
//! What always holds: stdout carries the answer or the data asked for and nothing else; everything else goes to
//! stderr; colour never carries meaning alone; a reader who closed the pipe ends nothing, and that data
//! could not be given for any other reason is not forgotten.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use anstyle::{AnsiColor, Style};
use parallel_llm_engine::{Code, Failure};

use crate::settings::Environment;

/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;

/// The program's standard streams.
#[derive(Clone, Debug)]
pub struct Console {
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    coloured: bool,
    columns: usize,
    /// Whether text in UTF-8 can be shown; `None` where nobody says.
    is_utf8: Option<bool>,
    quiet: bool,
    /// Why data could not be given, the first time; one for all clones.
    lost: Arc<OnceLock<Failure>>,
}

/// What a word stands for; its look follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Under way.
    Busy,
    /// Worth a look.
    Warning,
    /// Not as it should be.
    Bad,
    /// Beside the point.
    Dim,
    /// The point.
    Strong,
}

/// How wide the terminal on stderr is, where there is one that tells.
#[cfg(unix)]
fn columns_of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// How wide the terminal on stderr is: only Unix tells.
#[cfg(not(unix))]
const fn columns_of_terminal() -> Option<usize> {
    None
}

/// Writes to stdout past the library's own handle, which takes a stdout that cannot be written for one that can.
#[cfg(unix)]
fn write_out(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes to stdout.
#[cfg(not(unix))]
fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

impl Console {
    /// The streams this process has.
    pub fn new(environment: &Environment) -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal() && !environment.is_dumb_terminal();
        let columns = columns_of_terminal();
        Self {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            coloured: stderr_is_terminal && !environment.no_color(),
            columns: columns.or(environment.columns()).unwrap_or(COLUMNS),
            is_utf8: environment.is_utf8(),
            quiet: false,
            lost: Arc::default(),
        }
    }

    /// The same streams, where nothing but data may be wanted.
    #[must_use]
    pub fn quieter(&self, quiet: bool) -> Self {
        Self { quiet, ..self.clone() }
    }

    /// Whether lines on stderr may be drawn again.
    pub const fn is_live(&self) -> bool {
        self.stderr_is_terminal && !self.quiet
    }

    /// Whether nothing but data is wanted.
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether colours are shown.
    pub const fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// Whether text in UTF-8 can be shown; `None` where nobody says.
    pub const fn is_utf8(&self) -> Option<bool> {
        self.is_utf8
    }

    /// How wide stderr is.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Gives data: exact bytes to a file or pipe, harmless text to a terminal.
    pub fn data(&self, text: &str) {
        let mut text =
            if self.stdout_is_terminal { super::safe::for_terminal(text) } else { text.to_owned() };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.given(write_out(text.as_bytes()));
    }

    /// Takes note of how giving data went. A reader that went away has what it wanted.
    pub fn given(&self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            let failure = Failure::new(Code::OutputUnwritable, format!("stdout cannot be written: {error}"))
                .with_next(
                    "give it a place that can be written; what a run came to is kept: see `runs show @`",
                );
            self.lost.get_or_init(|| failure);
        }
    }

    /// Why data could not be given, where some could not.
    pub fn lost(&self) -> Option<&Failure> {
        self.lost.get()
    }

    /// Says something beside the data.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.insist(text);
        }
    }

    /// Says something even where nothing but data is wanted: an error.
    pub fn insist(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(stderr, "{text}");
    }

    /// Draws on stderr, line ends as given.
    pub fn draw(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes());
        let _ = stderr.flush();
    }

    /// A word in its tone, where colours are wanted.
    pub fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.coloured {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Good => Style::new().fg_color(Some(AnsiColor::Green.into())),
            Tone::Busy => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
            Tone::Warning => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
            Tone::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())),
            Tone::Dim => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }
}
