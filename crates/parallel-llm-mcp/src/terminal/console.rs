//! The terminal, as far as the program uses it: where data goes, where words go, and what they may look like.
//!
//! What always holds: stdout carries the answer or the data asked for and nothing else; everything else goes to
//! stderr; colour never carries meaning alone; nothing here waits for a reader; a reader who closed the pipe ends
//! nothing, and that data could not be given for any other reason is not forgotten.

use std::borrow::Cow;
use std::io::IsTerminal;

use crate::terminal::vocabulary::{self, COMMAND_LINE};
use anstyle::{AnsiColor, Style};
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure};

use super::columns;
use super::writer::{Keep, Stream, Writer};
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::ErrorReport;
use parallel_llm_settings::settings::Environment;
use parallel_llm_settings::signals::{Signal, Signals};

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
    /// Whether only ASCII is to be shown.
    is_plain: bool,
    quiet: bool,
    /// One for all clones.
    writer: Writer,
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
    pub fn new(environment: &Environment) -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal() && !environment.is_dumb_terminal();
        let columns = columns_of_terminal();
        Self {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            coloured: stderr_is_terminal && !environment.no_color(),
            columns: columns.or(environment.columns()).unwrap_or(COLUMNS),
            is_utf8: environment.is_utf8(),
            is_plain: environment.is_utf8() == Some(false) || environment.is_dumb_terminal(),
            quiet: false,
            writer: Writer::default(),
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

    /// Whether a person reads both what is said and the data, as they come.
    pub const fn is_interactive(&self) -> bool {
        self.is_live() && self.stdout_is_terminal
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

    /// Gives data: exact bytes to a file or pipe, harmless text to a terminal. Whoever gives much of it in a loop waits
    /// for [`Console::room`].
    pub fn data(&self, text: &str) {
        let text = if self.stdout_is_terminal { safe::for_terminal(text) } else { text.to_owned() };
        self.put(Stream::Out, text, Keep::Always);
    }

    /// Gives data that people read, such as a table.
    pub fn page(&self, text: &str) {
        self.data(&self.shown(text));
    }

    /// Gives a page of help, or says it where it was not asked for: with its colours where they are shown.
    pub fn help(&self, page: &clap::builder::StyledStr, is_said: bool) {
        let is_terminal = if is_said { self.stderr_is_terminal } else { self.stdout_is_terminal };
        let text = if is_terminal && self.coloured { page.ansi().to_string() } else { page.to_string() };
        self.put(
            if is_said { Stream::Err } else { Stream::Out },
            self.shown(&text).into_owned(),
            Keep::Always,
        );
    }

    /// Waits until more data may be given: as fast as it is read.
    pub async fn room(&self) {
        self.writer.room().await;
    }

    /// Waits until everything is written, or a signal ends the waiting, which is returned. Where the program was
    /// `stopped` by one already, it waits for a moment only.
    pub async fn written(&self, stopped: bool) -> Option<Signal> {
        if stopped {
            self.writer.written_soon().await;
        }
        if self.writer.is_written() {
            return None;
        }
        let mut signals = Signals::new();
        tokio::select! {
            () = self.writer.written() => None,
            signal = signals.next() => {
                self.writer.give_up();
                Some(signal)
            }
        }
    }

    /// Waits until everything is written, where no runtime listens for signals, so that they end the program.
    pub fn wait(&self) {
        self.writer.wait();
    }

    /// Why data could not be given, where some could not.
    pub fn lost(&self) -> Option<Failure> {
        self.writer.lost().map(|error| {
            Failure::new(Code::OutputUnwritable, format!("stdout cannot be written: {error}"))
                .with_next([Next::Do(Advice::FreeOutput), Next::Use(Operation::ShowRun)])
        })
    }

    /// Says something beside the data.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.put(Stream::Err, self.shown(text).into_owned(), Keep::IfRoom);
        }
    }

    /// Says something even where nothing but data is wanted: an error.
    pub fn insist(&self, text: &str) {
        self.put(Stream::Err, self.shown(text).into_owned(), Keep::Always);
    }

    /// Tells a failure and its next step; as data, too, where that is wanted.
    pub fn fail(&self, failure: &Failure, as_json: bool) {
        if as_json {
            self.data(&ErrorReport::line(failure, &COMMAND_LINE));
        }
        let word = self.tone(Tone::Bad, &format!("error[{}]", failure.code));
        self.insist(&format!("{word}: {}", safe::for_terminal(&failure.message)));
        self.insist(&format!("  next: {}", safe::for_terminal(&vocabulary::describe(failure.next_steps()))));
    }

    /// Writes on stderr, line ends as given: a question that is answered on the same line, or a picture that stays.
    pub fn write(&self, text: &str) {
        self.writer.put(Stream::Err, self.shown(text).into_owned().into_bytes(), Keep::Always);
    }

    /// Draws on stderr, line ends as given; `false` where it was left out, because what was drawn before is not read yet.
    pub fn draw(&self, text: &str) -> bool {
        self.writer.put(Stream::Err, self.shown(text).into_owned().into_bytes(), Keep::IfIdle)
    }

    fn put(&self, stream: Stream, mut text: String, keep: Keep) {
        if stream == Stream::Err || !text.ends_with('\n') {
            text.push('\n');
        }
        self.writer.put(stream, text.into_bytes(), keep);
    }

    /// As it can be shown here.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_plain { columns::plain(text) } else { text.into() }
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
