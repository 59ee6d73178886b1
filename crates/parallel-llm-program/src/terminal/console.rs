//! The console: data on stdout, messages on stderr, and their look.
//!
//! What always holds: stdout carries only the answer or the requested data, everything else goes to stderr; colour
//! never carries meaning alone; nothing here waits for a reader; a reader that closes the pipe ends nothing, and any
//! other failure to write data is remembered.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::called;
use crate::terminal::vocabulary::{self, COMMAND_LINE};
use anstyle::{AnsiColor, Color, Style};
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure};

use super::columns;
use super::markdown;
use super::table::{self, Column};
use super::writer::{Keep, Stream, Writer};
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::ErrorReport;
use parallel_llm_settings::settings::Environment;
use parallel_llm_settings::signals::{Signal, Signals};

/// The assumed width of a terminal that does not report it.
const COLUMNS: usize = 80;
/// Rows where nobody says how many there are.
const ROWS: usize = 24;
/// Longer lines of prose are hard to read.
const PROSE_COLUMNS_MAX: usize = 100;
/// A blank at which no line ends.
const UNBROKEN_BLANK: char = '\u{a0}';
/// What stands before a message from its second line on.
const INDENT: &str = "  ";
/// What a tab is shown as.
const TAB: &str = "    ";

/// The program's standard streams.
#[derive(Clone, Debug)]
pub struct Console {
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// Whether stderr has a width: also a terminal that cannot draw again has one.
    stderr_has_width: bool,
    coloured: bool,
    is_answer_coloured: bool,
    /// The width the environment gives.
    columns: Option<usize>,
    /// Whether UTF-8 can be shown; `None` if unknown.
    is_utf8: Option<bool>,
    /// Whether to show only ASCII.
    is_plain: bool,
    quiet: bool,
    /// The user's home folder, if there is one.
    home: Option<PathBuf>,
    /// Shared by all clones.
    writer: Writer,
}

/// The meaning of a word, which determines its look.
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

impl Tone {
    /// The style of text in this tone.
    pub const fn style(self) -> Style {
        let colour = match self {
            Self::Good => AnsiColor::Green,
            Self::Busy => AnsiColor::Cyan,
            Self::Warning => AnsiColor::Yellow,
            Self::Bad => AnsiColor::Red,
            Self::Dim => return Style::new().dimmed(),
            Self::Strong => return Style::new().bold(),
        };
        Style::new().fg_color(Some(Color::Ansi(colour)))
    }
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// The terminal's size now, if there is a terminal that reports one.
#[cfg(unix)]
fn size_of_terminal() -> Option<Size> {
    use rustix::termios::tcgetwinsize;
    let size = tcgetwinsize(std::io::stderr()).or_else(|_| tcgetwinsize(std::io::stdout())).ok()?;
    let size = Size { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) };
    (size.columns > 0 && size.rows > 0).then_some(size)
}

/// The terminal's size: only Unix reports it.
#[cfg(not(unix))]
const fn size_of_terminal() -> Option<Size> {
    None
}

impl Console {
    /// The standard streams of this process.
    pub fn new(environment: &Environment) -> Self {
        let stdout_is_terminal = std::io::stdout().is_terminal();
        let stderr_is_terminal = std::io::stderr().is_terminal() && !environment.is_dumb_terminal();
        let may_colour = !environment.no_color() && !environment.is_dumb_terminal();
        Self {
            stdout_is_terminal,
            stderr_is_terminal,
            stderr_has_width: std::io::stderr().is_terminal(),
            coloured: stderr_is_terminal && may_colour,
            is_answer_coloured: stdout_is_terminal && may_colour,
            columns: environment.columns(),
            is_utf8: environment.is_utf8(),
            is_plain: environment.is_utf8() == Some(false) || environment.is_dumb_terminal(),
            quiet: false,
            home: environment.folders().map(|folders| folders.home.clone()),
            writer: Writer::new(),
        }
    }

    /// The same streams, without messages if `quiet`.
    #[must_use]
    pub fn quieter(&self, quiet: bool) -> Self {
        Self { quiet, ..self.clone() }
    }

    /// Whether lines on stderr may be drawn again.
    pub const fn is_live(&self) -> bool {
        self.stderr_is_terminal && !self.quiet
    }

    /// Whether a person reads both messages and data.
    pub const fn is_interactive(&self) -> bool {
        self.is_live() && self.stdout_is_terminal
    }

    /// Whether only data is printed.
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether colours are shown.
    pub const fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// Whether UTF-8 can be shown; `None` if unknown.
    pub const fn is_utf8(&self) -> Option<bool> {
        self.is_utf8
    }

    /// Whether data for people goes to a terminal.
    pub const fn is_page_on_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// The terminal's size now.
    pub fn size(&self) -> Size {
        let unknown = || Size { columns: self.columns.unwrap_or(COLUMNS), rows: ROWS };
        size_of_terminal().unwrap_or_else(unknown)
    }

    /// The terminal's width now.
    pub fn columns(&self) -> usize {
        self.size().columns
    }

    /// Whether only ASCII is to be shown.
    pub const fn is_ascii(&self) -> bool {
        self.is_plain
    }

    /// A path for people: below the home folder it begins with `~`.
    pub fn path(&self, path: &Path) -> String {
        let below_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        match below_home {
            Some(below) => Path::new("~").join(below).display().to_string(),
            None => path.display().to_string(),
        }
    }

    /// Prints data: exact bytes to a file or pipe, sanitized text to a terminal. Loops that print much wait for
    /// [`Console::room`].
    pub fn data(&self, text: &str) {
        let text = if self.stdout_is_terminal { safe::for_terminal(text) } else { text.to_owned() };
        self.put(Stream::Out, text, Keep::Always);
    }

    /// Prints an answer: exact bytes to a file or pipe; to a terminal, sanitized and with its Markdown laid out.
    pub fn answer(&self, text: &str) {
        if !self.stdout_is_terminal {
            return self.data(text);
        }
        let text = safe::for_terminal(text).replace('\t', TAB);
        let lines = markdown::lines(&text, self.columns().min(PROSE_COLUMNS_MAX));
        let rendered: Vec<String> = lines.iter().map(|line| line.render(self.is_answer_coloured)).collect();
        self.put(Stream::Out, self.shown(&rendered.join("\n")).into_owned(), Keep::Always);
    }

    /// Prints data for people, such as lines in columns: on a terminal, a line that is too long goes on below the last
    /// column, and no word is broken.
    pub fn page(&self, text: &str) {
        let text = self.shown(text);
        if !self.stdout_is_terminal {
            return self.data(&text);
        }
        let columns = self.columns();
        let wrapped = text.split('\n').map(|line| self.wrapped_line(line, &columns::below(line, columns)));
        self.data(&wrapped.collect::<Vec<_>>().join("\n"));
    }

    /// The width of a page of prose: that of every terminal, or less on a narrower one.
    pub fn page_columns(&self) -> usize {
        if self.stdout_is_terminal { self.columns().min(COLUMNS) } else { COLUMNS }
    }

    /// Prints lines of words as data for people: wrapped on a terminal, with `indent` from the second line on.
    pub fn prose(&self, lines: &[String], indent: &str) {
        let wrapped = lines.iter().map(|line| self.wrapped(&safe::for_terminal(line), Stream::Out, indent));
        self.data(&wrapped.collect::<Vec<_>>().join("\n"));
    }

    /// Prints a table. On a terminal it is as wide as that at most, and a note says which columns there is no room for.
    pub fn table(&self, columns: &[Column], rows: &[Vec<String>]) {
        let width = self.stdout_is_terminal.then(|| self.columns());
        let table = table::fitted(columns, rows, width);
        self.page(&table.lines.join("\n"));
        if !table.dropped.is_empty() {
            let dropped = table.dropped.join(", ");
            self.say(&format!("no room for {dropped}: a wider terminal, a pipe or `--json` shows all"));
        }
    }

    /// Prints a page of help on stdout or stderr, with colours if they are shown.
    pub fn help(&self, page: &clap::builder::StyledStr, is_on_stderr: bool) {
        let is_terminal = if is_on_stderr { self.stderr_is_terminal } else { self.stdout_is_terminal };
        let text = if is_terminal && self.coloured { page.ansi().to_string() } else { page.to_string() };
        self.put(
            if is_on_stderr { Stream::Err } else { Stream::Out },
            self.shown(&text).into_owned(),
            Keep::Always,
        );
    }

    /// Waits until more data may be printed, as fast as it is read.
    pub async fn room(&self) {
        self.writer.room().await;
    }

    /// Waits until everything is written, or returns the signal that ended the wait. If the program was `stopped` by a
    /// signal already, it waits only a moment.
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

    /// Waits until messages are written, as far as somebody reads them.
    pub async fn flushed(&self) {
        self.writer.flushed().await;
    }

    /// Waits until everything is written, without a runtime to receive signals, which then end the program.
    pub fn wait(&self) {
        self.writer.wait();
    }

    /// Why some data could not be written, if any.
    pub fn lost(&self) -> Option<Failure> {
        self.writer.lost().map(|error| {
            Failure::new(Code::OutputUnwritable, format!("stdout cannot be written: {error}"))
                .with_next([Next::Do(Advice::FreeOutput), Next::Use(Operation::ShowRun)])
        })
    }

    /// Prints a message on stderr.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            let text = called::spelled(text.to_owned());
            self.put(Stream::Err, self.wrapped(&text, Stream::Err, INDENT), Keep::IfRoom);
        }
    }

    /// Prints a line of JSON for programs on stderr; dropped if nobody reads. On a terminal it steers nothing.
    pub fn raw(&self, json: &str) {
        let line = if self.stderr_has_width { safe::escaped_json(json) } else { json.to_owned() };
        self.put(Stream::Err, line, Keep::IfRoom);
    }

    /// Prints an error on stderr, even if only data is printed.
    pub fn insist(&self, text: &str) {
        self.put(Stream::Err, self.wrapped(text, Stream::Err, INDENT), Keep::Always);
    }

    /// Prints a failure and its next step, as data, too, if requested.
    pub fn fail(&self, failure: &Failure, as_json: bool) {
        if as_json {
            self.data(&ErrorReport::line(failure, &COMMAND_LINE));
        }
        let word = self.tone(Tone::Bad, &format!("error[{}]", failure.code));
        self.insist(&format!("{word}: {}", safe::for_terminal(&failure.message)));
        self.insist(&format!("  next: {}", safe::for_terminal(&vocabulary::describe(failure.next_steps()))));
    }

    /// Writes on stderr without adding line ends: a question answered on the same line, or a final picture.
    pub fn write(&self, text: &str) {
        self.writer.put(Stream::Err, self.shown(text).into_owned().into_bytes(), Keep::Always);
    }

    /// Ends the line of a question whose reply was ended by Ctrl-D, which ends no line.
    pub fn end_reply(&self, reply: &str) {
        if !reply.ends_with('\n') {
            self.write("\n");
        }
    }

    /// Draws on stderr without adding line ends; `false` if it was dropped because the picture before is not read yet.
    pub fn draw(&self, text: &str) -> bool {
        self.writer.put(Stream::Err, self.shown(text).into_owned().into_bytes(), Keep::IfIdle)
    }

    fn put(&self, stream: Stream, mut text: String, keep: Keep) {
        if stream == Stream::Err || !text.ends_with('\n') {
            text.push('\n');
        }
        self.writer.put(stream, text.into_bytes(), keep);
    }

    /// Lines of words, wrapped if they go to a terminal, with `further` before the second line on. Commands stay whole,
    /// and so do words longer than a line, such as paths: someone may want to copy them.
    fn wrapped(&self, text: &str, stream: Stream, further: &str) -> String {
        let text = self.shown(text);
        let is_terminal = match stream {
            Stream::Out => self.stdout_is_terminal,
            Stream::Err => self.stderr_has_width,
        };
        if !is_terminal {
            return text.into_owned();
        }
        text.split('\n').map(|line| self.wrapped_line(line, further)).collect::<Vec<_>>().join("\n")
    }

    /// A line, whose further lines are indented by `further` more than itself.
    fn wrapped_line(&self, line: &str, further: &str) -> String {
        let (indent, text) = line.split_at(line.len() - line.trim_start_matches(' ').len());
        let further = format!("{indent}{further}");
        let options = textwrap::Options::new(self.columns())
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false)
            .initial_indent(indent)
            .subsequent_indent(&further);
        let mut is_command = false;
        let unbroken = |letter| match letter {
            '`' => {
                is_command = !is_command;
                letter
            }
            ' ' if is_command => UNBROKEN_BLANK,
            letter => letter,
        };
        textwrap::fill(&text.chars().map(unbroken).collect::<String>(), options).replace(UNBROKEN_BLANK, " ")
    }

    /// The beginning of a text as one line of so many characters, and so short that an indented line fits a terminal.
    pub fn excerpt(&self, text: &str, chars_max: usize, indent: usize) -> String {
        let excerpt = safe::excerpt(text, chars_max);
        if self.stderr_has_width {
            columns::shortened(&excerpt, self.columns().saturating_sub(indent))
        } else {
            excerpt
        }
    }

    /// The text as this terminal can show it.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_plain { columns::plain(text) } else { text.into() }
    }

    /// A word in its tone, if colours are shown.
    pub fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.coloured {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }
}
