//! The terminal, as far as the program uses it: where data goes, where words go, and what they may look like.
//!
//! What always holds: stdout carries the answer or the data asked for and nothing else; everything else goes to
//! stderr; colour never carries meaning alone; a reader who closed the pipe ends nothing.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};

use crate::settings::Environment;

/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;

/// The program's standard streams.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    coloured: bool,
    columns: usize,
    quiet: bool,
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

impl Console {
    /// The streams this process has.
    pub fn new(environment: &Environment, quiet: bool) -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal() && !environment.is_dumb_terminal();
        let columns = columns_of_terminal();
        Self {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            coloured: stderr_is_terminal && !environment.no_color(),
            columns: columns.or(environment.columns()).unwrap_or(COLUMNS),
            quiet,
        }
    }

    /// Whether lines on stderr may be drawn again.
    pub const fn is_live(&self) -> bool {
        self.stderr_is_terminal && !self.quiet
    }

    /// Whether nothing but data is wanted.
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How wide stderr is.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Gives data: exact bytes to a file or pipe, harmless text to a terminal.
    pub fn data(&self, text: &str) {
        let text = if self.stdout_is_terminal { super::safe::for_terminal(text) } else { text.to_owned() };
        let mut stdout = std::io::stdout().lock();
        // A reader that went away has what it wanted.
        let _ = stdout.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = stdout.write_all(b"\n");
        }
        let _ = stdout.flush();
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
