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
use super::super::console::Size;
use super::super::line::{Line, Span};
use super::super::markdown;
use super::super::seat::{SeatLine, failure};
use super::super::vocabulary;
use super::keys::Key;
use super::notes::Notes;
use super::{FirstTextMs, Steering};

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
            (Key::Hurry | Key::Skip | Key::Leave, reading) => reading,
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
        if let Some(text) = text {
            let left = size.rows.saturating_sub(lines.len() + foot.len() + gap().len());
            lines.extend(text.lines(left, width));
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
        let widest = names.iter().take(rows).map(|name| name.width()).max().unwrap_or(0);
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

    fn glyph(&self, view: &SeatView, ascii: char) -> char {
        let is_busy = match view.status {
            SeatStatus::Streaming => true,
            SeatStatus::Waiting => view.attempts > 0 && view.retry_at_ms.is_none(),
            _ => false,
        };
        let tenths = usize::try_from(self.now_ms / 100).unwrap_or(0);
        match (is_busy, self.is_ascii, view.status) {
            (true, true, _) => SPINNER_ASCII[tenths % SPINNER_ASCII.len()],
            (true, false, _) => SPINNER[tenths % SPINNER.len()],
            (false, false, SeatStatus::Answered) => '✓',
            (false, false, SeatStatus::Failed | SeatStatus::Refused) => '✗',
            (false, false, SeatStatus::Waiting) if view.retry_at_ms.is_none() => '·',
            _ => ascii,
        }
    }

    /// The text to show: the answer the user reads, or else the newest text written from all answers.
    fn text(&self, width: usize) -> Option<Text> {
        let (view, top) = match self.reading {
            Some(reading) => (self.run.seats.get(reading.seat)?, Some(reading.top)),
            None => (self.run.called().filter(|view| view.text().is_some()).last()?, None),
        };
        let number = match view.slot {
            CallerSlot::Seat(number) => format!("{number} "),
            CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => String::new(),
        };
        let text = safe::for_terminal(&written(view));
        let lines = markdown::lines(&text, width);
        let lines = lines.into_iter().flat_map(|line| line.split(width)).collect();
        Some(Text { title: format!("{number}{}", self.name(view)), lines, top })
    }

    /// The progress of the run, and what the keys do.
    fn foot(&self, width: usize) -> Vec<Line> {
        let cost = Cost::of(self.run).described_if_known();
        let cost = cost.map(|cost| format!(" · {cost}")).unwrap_or_default();
        let (answered, seats) = (self.run.answered(), self.run.seats.len());
        let hurried =
            if self.steering.is_hurried && self.is_gathering() { " · not waiting for more" } else { "" };
        let progress = format!("{answered} of {seats} answered{cost}{hurried}");
        let mut lines = vec![Line::of(fitted(&progress, width), PLAIN)];
        if self.has_keys {
            let mut keys = self.keys();
            // The way out is named at any width.
            while keys.len() > 1 && keys.join(BETWEEN_KEYS).width() > width {
                keys.remove(keys.len() - 2);
            }
            lines.push(Line::of(fitted(&keys.join(BETWEEN_KEYS), width), DIM));
        }
        lines
    }

    /// What the keys do now, the most useful first, and the way out last.
    fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if let Some(reading) = self.reading {
            let is_open = self.run.seats.get(reading.seat).is_some_and(|seat| !seat.status.is_final());
            keys.extend(["up/down scroll", "tab next", "esc back"].map(str::to_owned));
            keys.extend((is_open && self.is_gathering()).then(|| "s skip this seat".to_owned()));
        } else {
            keys.push(match self.run.seats.len() {
                1 => "1 read the answer".to_owned(),
                seats => format!("1-{} read an answer", seats.min(9)),
            });
            let may_hurry = self.is_gathering() && self.run.answered() > 0 && !self.steering.is_hurried;
            keys.extend(may_hurry.then(|| "enter decide now".to_owned()));
        }
        keys.push("q save and leave".to_owned());
        keys
    }

    /// Whether the run still waits for seats, and nothing has been asked to make one text of the answers.
    fn is_gathering(&self) -> bool {
        let has_open = self.run.seats.iter().any(|seat| !seat.status.is_final());
        has_open && self.run.called().next().is_none()
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
            (0, _) => format!(" · {last_top} more lines below"),
            (top, last_top) if top == last_top => format!(" · {top} lines above"),
            (top, last_top) => format!(" · {top} lines above, {} below", last_top - top),
        };
        let room = width.saturating_sub(TITLE.width() + hidden.width() + 1);
        let title = format!("{TITLE}{}{hidden} ", fitted(&self.title, room));
        let rule = "─".repeat(width.saturating_sub(title.width()));
        let title = Line { spans: vec![Span::new(title, DIM), Span::new(rule, DIM)] };
        std::iter::once(title).chain(self.lines.into_iter().skip(top).take(rows)).collect()
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
