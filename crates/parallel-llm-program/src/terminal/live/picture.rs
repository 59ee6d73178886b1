//! The picture of a run: a row for each call, and below them the text that is being written or read.
//!
//! Invariant: it fits the terminal, rows keep their order, and what does not fit is summed up or marked.

use std::borrow::Cow;

use anstyle::Style;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::text::safe;
use parallel_llm_engine::{CallerSlot, Message, Role, SeatNumber, SeatStatus};
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;
use unicode_width::UnicodeWidthStr;

use super::super::columns;
use super::super::console::{Size, Tone};
use super::super::line::{Line, Span};
use super::super::markdown;
use super::super::seat::{SeatLine, failure};
use super::super::vocabulary;
use super::keys::Key;
use super::notes::Notes;
use super::{Asked, FirstTextMs, Steering, is_gathering};
use parallel_llm_service::report::counted::counted;

/// The widest the column of names gets.
const NAME_MAX: usize = 36;
/// The narrowest it gets.
const NAME_MIN: usize = 12;
/// The width of a row's number and glyph, and of its status.
const MARKS_WIDTH: usize = 5;
const WORD_WIDTH: usize = 10;
/// The width of the figures: the time to the first text, tokens and cost.
const FIRST_TOKENS_COST: usize = TOKENS_COST + 13;
const TOKENS_COST: usize = TOKENS + 10;
const TOKENS: usize = 11;
/// From this height on there are empty lines.
const ROOMY_ROWS: usize = 16;
/// The least height of the text below the calls.
const TEXT_ROWS_MIN: usize = 3;
/// The most bytes of a letter.
const LETTER_BYTES_MAX: usize = 4;
/// An estimate of the bytes per token.
const BYTES_PER_TOKEN: usize = 4;
/// A spinner's frames, one each tenth of a second.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_ASCII: [char; 4] = ['|', '/', '-', '\\'];

const DIM: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();
/// Of so many rows, one may be taken from the seats for a call that works on their answers.
const KEPT_SHARE: usize = 3;
/// What stands between two keys.
const BETWEEN_KEYS: &str = " · ";
/// What a title begins with.
const TITLE: &str = "── ";
/// What all keys do.
const KEYS: [(&str, &str); 8] = [
    ("1-9", "read the answer of a seat; 0 or esc goes back"),
    ("tab, right", "read the next seat; left the one before"),
    ("up, down", "scroll what is read; also j, k, space and the page keys"),
    ("enter", "decide now with the answers so far; asks once more"),
    ("s", "wait no longer for the seat that is read; asks once more"),
    ("q", "save the answers so far and stop the run; asks once more"),
    ("ctrl-z", "suspend the program; `fg` goes on"),
    ("?", "show or hide this list"),
];
/// The space before a reason.
const GAP: &str = "  ";

/// Which answer the user is reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The seat, from 0.
    pub(super) seat: usize,
    /// The first line shown.
    top: usize,
}

impl Reading {
    /// What the user reads after this key.
    pub(super) fn after(reading: Option<Self>, key: Key, run: &Run, size: Size) -> Option<Self> {
        let seats = run.seats.len();
        let page = isize::try_from(size.rows / 2).unwrap_or(1);
        let at = |seat: usize| Some(Self { seat, top: 0 });
        match (key, reading) {
            (Key::Read(number), Some(reading)) if reading.seat + 1 == number => None,
            (Key::Read(number), _) => at(number.checked_sub(1)?.min(seats - 1)),
            (Key::Next, None) => at(0),
            (Key::Next, Some(reading)) => at((reading.seat + 1) % seats),
            (Key::Previous, None) => at(seats - 1),
            (Key::Previous, Some(reading)) => at((reading.seat + seats - 1) % seats),
            (Key::Up(lines), Some(reading)) => Some(reading.up(lines)),
            (Key::PagesUp(pages), Some(reading)) => Some(reading.up(pages * page)),
            (Key::Up(_) | Key::PagesUp(_), None) | (Key::Back, _) => None,
            (_, reading) => reading,
        }
    }

    const fn up(self, lines: isize) -> Self {
        Self { top: self.top.saturating_add_signed(-lines), ..self }
    }
}

/// The input of a picture.
pub(super) struct Picture<'r> {
    pub(super) run: &'r Run,
    pub(super) now_ms: u64,
    pub(super) first_text_ms: &'r FirstTextMs,
    pub(super) reading: Option<Reading>,
    pub(super) steering: &'r Steering,
    pub(super) has_keys: bool,
    pub(super) is_ascii: bool,
}

/// The text below the calls.
struct Text {
    title: String,
    lines: Vec<Line>,
    /// The first line shown; `None` for the newest lines.
    top: Option<usize>,
}

impl Picture<'_> {
    /// The lines of the picture, from the top.
    pub(super) fn lines(&self, size: Size) -> Vec<Line> {
        // The last column stays free: some terminals wrap after it.
        let width = size.columns.saturating_sub(1);
        let gap = usize::from(size.rows >= ROOMY_ROWS);
        let gap = || (0..gap).map(|_| Line::default());
        let text = self.text(width);
        let foot = self.foot(width);
        let fixed = 1 + foot.len() + 3 * gap().len();
        let room = size.rows.saturating_sub(fixed);
        let for_text = if text.is_some() { (room / 2).max(TEXT_ROWS_MIN).min(room) } else { 0 };
        let mut lines = vec![self.head(width)];
        lines.extend(gap());
        lines.extend(self.calls(Size { columns: width, rows: room - for_text }));
        lines.extend(gap());
        let left = size.rows.saturating_sub(lines.len() + foot.len() + gap().len());
        let below = match text {
            Some(text) => text.lines(left, width),
            // Texts being written take only what is left: no call gives a row for them.
            None => self.writing(Size { columns: width, rows: left }),
        };
        if !below.is_empty() {
            lines.extend(below);
            lines.extend(gap());
        }
        lines.extend(foot);
        lines.truncate(size.rows);
        lines
    }

    /// The question and the elapsed time.
    fn head(&self, width: usize) -> Line {
        let asked = self.run.plan.messages.iter().rfind(|message| message.role == Role::User);
        let question = asked.into_iter().flat_map(Message::texts).collect::<Vec<_>>().join(" ");
        let time = seconds(self.now_ms);
        let question = fitted(&question, width.saturating_sub(time.width() + 2));
        let gap = " ".repeat(width.saturating_sub(question.width() + time.width()));
        Line { spans: vec![Span::new(question, PLAIN.bold()), Span::new(gap + &time, DIM)] }
    }

    /// A row for each call, the seats first, and the reasons that have no room there or that several share. A row
    /// sums up the calls that do not fit.
    fn calls(&self, room: Size) -> Vec<Line> {
        let Size { columns: width, rows } = room;
        let views: Vec<&SeatView> = self.run.seats.iter().chain(self.run.called()).collect();
        let names: Vec<String> = views.iter().map(|view| self.name(view)).collect();
        // Calls that come later are counted from the start, so that the columns stay where they are.
        let later = self.run.synthesizers.iter().take(1).chain(&self.run.steps);
        let seats = self.run.seats.iter().take(rows);
        let widest = seats.chain(later).map(|view| self.name(view).width()).max().unwrap_or(0);
        let beside = MARKS_WIDTH + WORD_WIDTH + figures_width(width);
        let name_width = widest.min(NAME_MAX).min(width.saturating_sub(beside)).max(NAME_MIN);
        let fits = |view: &SeatView, reason: &str| {
            let figures = if view.text().is_some() { figures_width(width) } else { 0 };
            MARKS_WIDTH + name_width + WORD_WIDTH + figures + GAP.len() + reason.width() <= width
        };
        let notes = Notes::of(self.run, &views, room, fits);
        let rows = rows - notes.lines.len();
        // What is being made of the answers stays in sight, however many seats there are.
        let kept = (views.len() - self.run.seats.len()).min(rows / KEPT_SHARE);
        let shown = if views.len() <= rows { views.len() } else { rows.saturating_sub(1 + kept) };
        let row = |(view, name): (&&SeatView, &String)| {
            let name = Line::of(fitted(name, name_width), self.name_style(view)).padded(name_width);
            self.call(view, name, notes.have(view.slot), width)
        };
        let mut lines: Vec<Line> = views.iter().zip(&names).take(shown).map(row).collect();
        if rows > 0 && views.len() > shown {
            let summed_up = &views[shown..views.len() - kept];
            let more = fitted(&more(summed_up), width.saturating_sub(MARKS_WIDTH));
            lines.push(Line::of(" ".repeat(MARKS_WIDTH) + &more, DIM));
            lines.extend(views.iter().zip(&names).skip(views.len() - kept).map(row));
        }
        if !notes.lines.is_empty() && lines.len() < rows {
            lines.push(Line::default());
        }
        lines.extend(notes.lines);
        lines
    }

    fn name(&self, view: &SeatView) -> String {
        let task = self.run.task(view.slot).map(|task| format!("{task}: ")).unwrap_or_default();
        safe::for_terminal(&format!("{task}{}", view.who()))
    }

    fn name_style(&self, view: &SeatView) -> Style {
        let seat = |number: SeatNumber| self.reading.is_some_and(|reading| reading.seat == number.index());
        match view.slot {
            CallerSlot::Seat(number) if seat(number) => PLAIN.bold(),
            _ => PLAIN,
        }
    }

    /// The row of a call. With `is_noted`, its reason is not part of it.
    fn call(&self, view: &SeatView, name: Line, is_noted: bool, width: usize) -> Line {
        let mut described = SeatLine::of(view, self.now_ms);
        if self.is_skipped(view) {
            described.word = "skipping";
        }
        let style = described.tone.style();
        let number = match view.slot {
            CallerSlot::Seat(number) => number.to_string(),
            CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => String::new(),
        };
        let mut line = Line {
            spans: vec![
                Span::new(format!("{number:>2} "), DIM),
                Span::new(format!("{} ", self.glyph(view, described.glyph)), style),
            ],
        };
        line.spans.extend(name.spans);
        line.spans.push(Span::new(format!(" {:<9}", described.word), style));
        if view.text().is_some() || described.reason.is_none() {
            line.spans.push(Span::new(self.figures(view, width), DIM));
        }
        let room = width.saturating_sub(line.width() + GAP.len());
        let reason = described.reason.filter(|_| !is_noted).into_iter().chain(described.retry);
        let reason = reason.collect::<Vec<_>>().join(", ");
        if !reason.is_empty() && room >= NAME_MIN {
            line.spans.push(Span::new(format!("{GAP}{}", fitted(&reason, room)), style));
        }
        line
    }

    fn is_skipped(&self, view: &SeatView) -> bool {
        let is_skipped = |seat: &SeatNumber| view.slot == CallerSlot::Seat(*seat);
        !view.status.is_final() && self.steering.skipped.iter().any(is_skipped)
    }

    /// The time to the first text, tokens and cost, if there is room for them.
    fn figures(&self, view: &SeatView, width: usize) -> String {
        let first = view.answer.as_ref().and_then(|answer| answer.first_token_ms).or_else(|| {
            Some(self.first_text_ms.get(&view.slot)?.saturating_sub(view.sent_ms.unwrap_or_default()))
        });
        let counted = view.answer.as_ref().and_then(|answer| answer.usage.output_tokens);
        let about = Some(view.partial.len() / BYTES_PER_TOKEN).filter(|tokens| *tokens > 0);
        let tokens = match (counted, about) {
            (Some(tokens), _) => format!("{tokens} tok"),
            (None, Some(tokens)) => format!("~{tokens} tok"),
            (None, None) => String::new(),
        };
        let cost = Cost::of_seat(view);
        let cost = if cost.known.is_some() && view.attempts > 0 { cost.short() } else { String::new() };
        let first = first.map(|ms| format!("first {}", seconds(ms))).unwrap_or_default();
        match figures_width(width) {
            FIRST_TOKENS_COST => format!(" {first:>12} {tokens:>10} {cost:>9}"),
            TOKENS_COST => format!(" {tokens:>10} {cost:>9}"),
            TOKENS => format!(" {tokens:>10}"),
            _ => String::new(),
        }
    }

    fn glyph(&self, view: &SeatView, mark: char) -> char {
        let is_busy = match view.status {
            SeatStatus::Streaming => true,
            SeatStatus::Waiting => view.attempts > 0 && view.retry_at_ms.is_none(),
            _ => false,
        };
        let tenths = usize::try_from(self.now_ms / 100).unwrap_or(0);
        match (is_busy, self.is_ascii) {
            (true, true) => SPINNER_ASCII[tenths % SPINNER_ASCII.len()],
            (true, false) => SPINNER[tenths % SPINNER.len()],
            (false, _) => mark,
        }
    }

    /// The text to show: what the keys do, the answer the user reads, or else the newest text written from all answers.
    fn text(&self, width: usize) -> Option<Text> {
        if self.steering.shows_help {
            let lines =
                KEYS.iter().map(|(key, does)| Line::of(fitted(&format!("{key:<10} {does}"), width), PLAIN));
            return Some(Text { title: "keys".to_owned(), lines: lines.collect(), top: Some(0) });
        }
        let (view, top) = match self.reading {
            Some(reading) => (self.run.seats.get(reading.seat)?, Some(reading.top)),
            None => (self.run.called().filter(|view| view.text().is_some()).last()?, None),
        };
        Some(self.text_of(view, &written(view), top, width))
    }

    /// The ends of the texts that seats are writing, in equal shares of the room. Those that do not fit are left out.
    fn writing(&self, room: Size) -> Vec<Line> {
        let is_writing =
            |view: &&SeatView| view.status == SeatStatus::Streaming && !view.partial.trim().is_empty();
        let views: Vec<&SeatView> =
            self.run.seats.iter().filter(is_writing).take(room.rows / TEXT_ROWS_MIN).collect();
        let share = room.rows.checked_div(views.len()).unwrap_or_default();
        let text = |view: &&SeatView| {
            let end = end_of(&view.partial, share * room.columns * LETTER_BYTES_MAX);
            self.text_of(view, end, None, room.columns).lines(share, room.columns)
        };
        views.iter().flat_map(text).collect()
    }

    /// The text of a call with its title.
    fn text_of(&self, view: &SeatView, text: &str, top: Option<usize>, width: usize) -> Text {
        let number = match view.slot {
            CallerSlot::Seat(number) => format!("{number} "),
            CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => String::new(),
        };
        let lines = markdown::lines(&safe::for_terminal(text), width);
        let lines = lines.into_iter().flat_map(|line| line.split(width)).collect();
        Text { title: format!("{number}{}", self.name(view)), lines, top }
    }

    /// The progress of the run, and what the keys do or ask.
    fn foot(&self, width: usize) -> Vec<Line> {
        let cost = Cost::of(self.run).described_if_known();
        let cost = cost.map(|cost| format!(" · {cost}")).unwrap_or_default();
        let (answered, seats) = (self.run.answered(), self.run.seats.len());
        let hurried =
            if self.steering.is_hurried && is_gathering(self.run) { " · not waiting for more" } else { "" };
        let progress = format!("{answered} of {seats} answered{cost}{hurried}");
        let mut lines = vec![Line::of(fitted(&progress, width), PLAIN)];
        if let Some(asked) = self.steering.asked {
            lines.push(Line::of(fitted(&self.question(asked), width), Tone::Warning.style()));
        } else if self.has_keys {
            let mut keys = self.keys();
            // The way out is named at any width, and where to find the others.
            while keys.len() > 2 && keys.join(BETWEEN_KEYS).width() > width {
                keys.remove(keys.len() - 3);
            }
            lines.push(Line::of(fitted(&keys.join(BETWEEN_KEYS), width), DIM));
        }
        lines
    }

    /// What a key asks before it does it.
    fn question(&self, asked: Asked) -> String {
        let (answered, seats) = (self.run.answered(), self.run.seats.len());
        match asked {
            Asked::Hurry if answered == 0 => "enter once more: decide with the first answer".to_owned(),
            Asked::Hurry => format!("enter once more: decide now with {answered} of {seats} answers"),
            Asked::Skip(seat) => format!("s once more: wait no longer for seat {seat}"),
            Asked::Choose => "read the seat to skip first: press its number, then s".to_owned(),
            Asked::Leave => format!("q once more: save {answered} of {seats} answers and stop the run"),
        }
    }

    /// What the keys do now, the most useful first, and the way out last.
    fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        let may_hurry = is_gathering(self.run) && self.run.answered() > 0 && !self.steering.is_hurried;
        if self.reading.is_some() {
            keys.extend(["up/down scroll", "tab next", "esc back"].map(str::to_owned));
        } else {
            keys.push(match self.run.seats.len() {
                1 => "1 read".to_owned(),
                seats => format!("1-{} read", seats.min(9)),
            });
        }
        keys.extend(may_hurry.then(|| "enter decide now".to_owned()));
        keys.extend(is_gathering(self.run).then(|| "s skip a seat".to_owned()));
        keys.extend(["? keys", "q save and leave"].map(str::to_owned));
        keys
    }
}

impl Text {
    /// The title and as many lines as fit; the title says how many do not.
    fn lines(self, rows: usize, width: usize) -> Vec<Line> {
        let rows = rows.saturating_sub(1);
        let count = self.lines.len();
        let last_top = count.saturating_sub(rows);
        let top = self.top.unwrap_or(last_top).min(last_top);
        let hidden = match (top, last_top) {
            (_, 0) => String::new(),
            (0, _) => format!(" · {} below", counted(last_top, "more line")),
            (top, last_top) if top == last_top => format!(" · {} above", counted(top, "line")),
            (top, last_top) => format!(" · {} above, {} below", counted(top, "line"), last_top - top),
        };
        let room = width.saturating_sub(TITLE.width() + hidden.width() + 1);
        let title = format!("{TITLE}{}{hidden} ", fitted(&self.title, room));
        let rule = "─".repeat(width.saturating_sub(title.width()));
        let title = Line { spans: vec![Span::new(title, DIM), Span::new(rule, DIM)] };
        std::iter::once(title).chain(self.lines.into_iter().skip(top).take(rows)).collect()
    }
}

/// The last lines of a text, of so many bytes at most.
fn end_of(text: &str, bytes_max: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    let end = &text[from..];
    match end.find('\n') {
        Some(at) if from > 0 => &end[at + 1..],
        _ => end,
    }
}

/// The text of a call, or why there is none.
fn written(view: &SeatView) -> Cow<'_, str> {
    match (view.text(), failure(view)) {
        (Some(text), _) => text.into(),
        (None, Some(failure)) => {
            let next = vocabulary::describe(failure.next_steps());
            format!("No answer: {}\n\nNext: {next}", failure.message).into()
        }
        (None, None) if view.status.is_final() => "(no answer)".into(),
        (None, None) => "(nothing yet)".into(),
    }
}

/// The width of the figures in a picture of this width.
const fn figures_width(width: usize) -> usize {
    match width {
        0..44 => 0,
        44..60 => TOKENS,
        60..76 => TOKENS_COST,
        _ => FIRST_TOKENS_COST,
    }
}

/// A summary of the calls that are not shown.
fn more(views: &[&SeatView]) -> String {
    let mut words: Vec<(&'static str, usize)> = Vec::new();
    for view in views {
        let word = SeatLine::of(view, 0).word;
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    let words: Vec<String> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("+ {} more: {}", views.len(), words.join(", "))
}

/// The text as one line, cut with an ellipsis if it does not fit.
fn fitted(text: &str, width: usize) -> String {
    columns::shortened(&safe::excerpt(text, text.len()), width)
}
