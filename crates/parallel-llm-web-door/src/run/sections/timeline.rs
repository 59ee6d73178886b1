//! Where the time went: for each call, waiting, connecting, thinking, writing and retrying, on one axis; and the calls that the
//! answer waited for.

use std::collections::BTreeSet;

use askama::Template;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::run::event::EventPhase;
use parallel_llm_engine::{Answer, CallerSlot, Event, Run};

use super::costs::label;
use crate::respond::rendered;
use crate::run::view::shown::Shown;
use crate::text::figures;

/// The steps that an axis may have, in milliseconds.
const TICKS_MS: [u64; 12] =
    [50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000];
/// The most lines of an axis.
const TICKS_MAX: u64 = 10;

#[derive(Template)]
#[template(path = "run/timeline.html")]
struct Timeline {
    sentence: Option<String>,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
    end: String,
    legend: Vec<Entry>,
}

struct Tick {
    at: String,
}

/// One call on the axis.
struct Row {
    label: String,
    is_critical: bool,
    description: String,
    segments: Vec<Bar>,
    cells: Vec<String>,
    total: String,
}

/// A segment as it is drawn, in percent of the axis.
struct Bar {
    class: &'static str,
    x: String,
    width: String,
    title: String,
}

struct Entry {
    class: &'static str,
    name: &'static str,
}

/// What a call does in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Waiting,
    Connecting,
    Starting,
    Thinking,
    Writing,
    Failing,
    Retrying,
}

/// A span of one call, in milliseconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    doing: Doing,
    from_ms: u64,
    to_ms: u64,
}

impl Doing {
    const fn class(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Connecting => "connecting",
            Self::Starting => "starting",
            Self::Thinking => "thinking",
            Self::Writing => "writing",
            Self::Failing => "failing",
            Self::Retrying => "retrying",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting to be asked",
            Self::Connecting => "Connecting",
            Self::Starting => "To the first token",
            Self::Thinking => "Thinking",
            Self::Writing => "Writing",
            Self::Failing => "A try that failed",
            Self::Retrying => "Waiting to try again",
        }
    }
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let run = shown.run;
    let calls: Vec<(&SeatView, Vec<Span>)> =
        run.seats.iter().chain(run.called()).map(|view| (view, spans(shown, view))).collect();
    let last = calls.iter().flat_map(|(_, spans)| spans).map(|span| span.to_ms).max().unwrap_or_default();
    let end_ms = last.max(1);
    let kinds: BTreeSet<Doing> = calls.iter().flat_map(|(_, spans)| spans).map(|span| span.doing).collect();
    let path = CriticalPath::of(run);
    let rows = calls.iter().map(|(view, spans)| {
        row(label(run, view), spans, &kinds, end_ms, path.as_ref().is_some_and(|path| path.has(view)))
    });
    let rows: Vec<Row> = rows.collect();
    rendered(&Timeline {
        sentence: path.map(|path| path.sentence(run)),
        ticks: ticks(end_ms),
        end: figures::duration(end_ms),
        rows,
        legend: kinds.into_iter().map(|doing| Entry { class: doing.class(), name: doing.name() }).collect(),
    })
}

fn row(label: String, spans: &[Span], kinds: &BTreeSet<Doing>, end_ms: u64, is_critical: bool) -> Row {
    let percent = |ms: u64| format!("{:.2}", ms as f64 * 100.0 / end_ms as f64);
    let sum = |doing: Doing| -> u64 {
        spans.iter().filter(|span| span.doing == doing).map(|span| span.to_ms - span.from_ms).sum()
    };
    let named = |doing: Doing| format!("{} {}", doing.name().to_lowercase(), figures::duration(sum(doing)));
    let described: Vec<String> = kinds.iter().copied().filter(|doing| sum(*doing) > 0).map(named).collect();
    let bar = |span: &Span| Bar {
        class: span.doing.class(),
        x: percent(span.from_ms),
        width: percent(span.to_ms - span.from_ms),
        title: format!("{}: {}", span.doing.name(), figures::duration(span.to_ms - span.from_ms)),
    };
    let cell = |doing: &Doing| match sum(*doing) {
        0 => "–".to_owned(),
        ms => figures::duration(ms),
    };
    Row {
        is_critical,
        description: format!(
            "{label}: {}",
            if described.is_empty() { "not asked".to_owned() } else { described.join(", ") }
        ),
        label,
        segments: spans.iter().map(bar).collect(),
        cells: kinds.iter().map(cell).collect(),
        total: figures::duration(spans.iter().map(|span| span.to_ms - span.from_ms).sum()),
    }
}

fn ticks(end_ms: u64) -> Vec<Tick> {
    let step = TICKS_MS.into_iter().find(|step| end_ms / step <= TICKS_MAX).unwrap_or(end_ms);
    let at = |ms: u64| Tick { at: format!("{:.2}", ms as f64 * 100.0 / end_ms as f64) };
    (0..=end_ms / step).map(|number| at(number * step)).collect()
}

/// The spans of a call, from its events; from its own times if the events are not stored.
fn spans(shown: Shown<'_>, view: &SeatView) -> Vec<Span> {
    let mut spans = Spans { all: Vec::new(), free_since: 0, sent: None };
    if !matches!(view.slot, CallerSlot::Seat(_)) {
        // It has nothing to wait for until it is asked.
        spans.free_since = view.sent_ms.unwrap_or_default();
    }
    for recorded in shown.events {
        let is_own =
            recorded.event.attempt().is_some_and(|attempt| attempt.slot == view.slot && attempt.number > 0);
        if is_own {
            spans.add(&recorded.event, recorded.elapsed_ms);
        }
    }
    if spans.all.is_empty() && spans.sent.is_none() {
        spans.add_view(view);
    }
    if !view.status.is_final() && shown.is_live() {
        spans.add_open(view, shown.age_ms);
    }
    spans.all
}

/// The spans of one call so far.
struct Spans {
    all: Vec<Span>,
    /// Since when it waits, while no request is under way.
    free_since: u64,
    /// When the request under way was sent.
    sent: Option<u64>,
}

impl Spans {
    fn push(&mut self, doing: Doing, from_ms: u64, to_ms: u64) {
        if to_ms > from_ms {
            self.all.push(Span { doing, from_ms, to_ms });
        }
    }

    fn add(&mut self, event: &Event, at_ms: u64) {
        match event.phase() {
            EventPhase::Leaves => {
                let is_again = event.attempt().is_some_and(|attempt| attempt.number > 1);
                let doing = if is_again { Doing::Retrying } else { Doing::Waiting };
                self.push(doing, self.free_since, at_ms);
                self.sent = Some(at_ms);
            }
            EventPhase::Ends if matches!(event, Event::Failed { .. }) => {
                if let Some(sent) = self.sent.take() {
                    self.push(Doing::Failing, sent, at_ms);
                }
                self.free_since = at_ms;
            }
            EventPhase::Ends => self.answered(event.answer(), at_ms),
            _ => {}
        }
    }

    fn answered(&mut self, answer: Option<&Answer>, at_ms: u64) {
        self.free_since = at_ms;
        let Some(sent) = self.sent.take() else { return };
        let known = |ms: fn(&Answer) -> Option<u64>| answer.and_then(ms).map(|ms| (sent + ms).min(at_ms));
        let first = known(|answer| answer.first_token_ms).unwrap_or(at_ms);
        // Older runs have neither time: nothing is said of connecting, and all from the first token on is writing.
        let connected = known(|answer| answer.connected_ms).unwrap_or(sent);
        let text = known(|answer| answer.first_text_ms).unwrap_or(first);
        self.push(Doing::Connecting, sent, connected);
        self.push(Doing::Starting, connected, first);
        self.push(Doing::Thinking, first, text);
        self.push(Doing::Writing, text, at_ms);
    }

    /// One try, from the times of the call itself.
    fn add_view(&mut self, view: &SeatView) {
        let Some(sent) = view.sent_ms else { return };
        self.push(Doing::Waiting, self.free_since, sent);
        self.sent = Some(sent);
        if let Some(elapsed) = view.elapsed_ms {
            self.answered(view.answer.as_ref(), sent + elapsed);
        }
    }

    /// What it does now.
    fn add_open(&mut self, view: &SeatView, now_ms: u64) {
        match self.sent {
            Some(sent) if view.partial.is_empty() => self.push(Doing::Starting, sent, now_ms),
            // When its text began is known at its end.
            Some(sent) => self.push(Doing::Writing, sent, now_ms),
            None if view.attempts > 0 => self.push(Doing::Retrying, self.free_since, now_ms),
            None => self.push(Doing::Waiting, self.free_since, now_ms),
        }
    }
}

/// The calls that the answer waited for.
struct CriticalPath<'a> {
    /// The considered seat that ended last before the text was made.
    seat: &'a SeatView,
    /// The call that wrote the text.
    writer: Option<&'a SeatView>,
}

impl<'a> CriticalPath<'a> {
    fn of(run: &'a Run) -> Option<Self> {
        let outcome = run.outcome.as_ref().filter(|_| run.is_decided())?;
        let ended = |view: &SeatView| Some(view.sent_ms? + view.elapsed_ms?);
        let writer = run.synthesizers.iter().rfind(|view| view.answer.is_some() && view.sent_ms.is_some());
        let until = writer.and_then(|view| view.sent_ms).or(run.decided_ms)?;
        let considered = outcome.considered.iter().filter_map(|seat| run.seat(*seat));
        let in_time = considered.filter(|view| ended(view).is_some_and(|end| end <= until));
        let seat = in_time.max_by_key(|view| ended(view))?;
        Some(Self { seat, writer })
    }

    fn has(&self, view: &SeatView) -> bool {
        view.slot == self.seat.slot || self.writer.is_some_and(|writer| writer.slot == view.slot)
    }

    fn sentence(&self, run: &Run) -> String {
        let ended = self.seat.sent_ms.unwrap_or_default() + self.seat.elapsed_ms.unwrap_or_default();
        let decided = figures::duration(run.decided_ms.unwrap_or(ended));
        let seat = label(run, self.seat);
        let writing = self.writer.and_then(|writer| writer.elapsed_ms).map(figures::duration);
        match writing {
            Some(writing) => format!(
                "The answer came after {decided}: the last answer it waited for was that of {seat}, after {}; then fusing took {writing}.",
                figures::duration(ended)
            ),
            None => {
                format!("The answer came after {decided}; the last answer it waited for was that of {seat}.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans of an answer that was asked for after 100 ms and ended at 1,000 ms.
    fn spans_of(answer: &Answer) -> Vec<(&'static str, u64, u64)> {
        let mut spans = Spans { all: Vec::new(), free_since: 0, sent: Some(100) };
        spans.answered(Some(answer), 1_000);
        spans.all.iter().map(|span| (span.doing.class(), span.from_ms, span.to_ms)).collect()
    }

    #[test]
    fn an_answer_is_connecting_starting_thinking_and_writing() {
        let times = Answer {
            connected_ms: Some(50),
            first_token_ms: Some(200),
            first_text_ms: Some(600),
            ..Answer::new("words")
        };
        assert_eq!(
            spans_of(&times),
            [
                ("connecting", 100, 150),
                ("starting", 150, 300),
                ("thinking", 300, 700),
                ("writing", 700, 1_000)
            ]
        );
        let without_reasoning = Answer { first_text_ms: times.first_token_ms, ..times.clone() };
        assert_eq!(
            spans_of(&without_reasoning),
            [("connecting", 100, 150), ("starting", 150, 300), ("writing", 300, 1_000)]
        );
        let older = Answer { connected_ms: None, first_text_ms: None, ..times };
        assert_eq!(spans_of(&older), [("starting", 100, 300), ("writing", 300, 1_000)]);
        assert_eq!(spans_of(&Answer::new("words")), [("starting", 100, 1_000)]);
    }
}
