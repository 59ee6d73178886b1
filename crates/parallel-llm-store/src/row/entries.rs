//! What a run's row says of its events: the engine's own fold, cut down to columns, so that the list and the run
//! cannot disagree. And what of a run is stored at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Event, Message, Recorded, Reopening, Run, RunId, RunPlan};

use crate::row::compressed::Packed;

/// How much of a question the list shows, in characters: a line of a wide terminal, and some to spare.
const EXCERPT_CHARS_MAX: usize = 200;

/// A new run's row, before anything has happened in it.
#[derive(Debug)]
pub(crate) struct NewRun {
    pub(crate) plan: Arc<RunPlan>,
    /// The plan as it is stored: without any text of a prompt where only metadata is kept.
    pub(crate) plan_json: Arc<str>,
    pub(crate) plan_packed: Packed,
    pub(crate) question_excerpt: Option<String>,
}

impl NewRun {
    pub(crate) fn of(plan: Arc<RunPlan>) -> Self {
        let question_excerpt = keeps_texts(&plan).then(|| excerpt(&plan));
        let stored = if keeps_texts(&plan) {
            serde_json::to_string(&*plan)
        } else {
            serde_json::to_string(&plan.without_texts())
        };
        let plan_json = Arc::from(stored.expect("a plan is plain data with string keys"));
        Self { plan, plan_packed: Packed::of(&plan_json), plan_json, question_excerpt }
    }
}

/// Whether the run's prompt and answers are stored, and not only what is said about them.
pub(crate) fn keeps_texts(plan: &RunPlan) -> bool {
    plan.store == StoreMode::Full
}

/// The word for how much is stored.
pub(crate) const fn mode_word(mode: StoreMode) -> &'static str {
    match mode {
        StoreMode::Full => "full",
        StoreMode::Metadata => "metadata",
        StoreMode::None => "none",
    }
}

/// Events on their way to the disk, written out by whoever appends them, so that the writer only writes.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) events: Vec<Recorded>,
    /// The JSON of each event.
    pub(crate) bodies: Vec<String>,
    /// The texts they carry, by their hash.
    pub(crate) texts: BTreeMap<String, Packed>,
}

impl Entries {
    pub(crate) fn of(events: Vec<Recorded>) -> Self {
        let body = |recorded: &Recorded| serde_json::to_string(&recorded.event);
        let bodies =
            events.iter().map(|recorded| body(recorded).expect("an event is plain data with string keys"));
        let texts = events.iter().filter_map(|recorded| text_of(&recorded.event));
        let packed = texts.map(|(hash, text)| (hash.to_owned(), Packed::of(text)));
        Self { bodies: bodies.collect(), texts: packed.collect(), events }
    }

    /// Whether the run's answer is settled by these.
    pub(crate) fn decide(&self) -> bool {
        self.events.iter().any(|recorded| matches!(recorded.event, Event::Decided { .. }))
    }

    /// Whether these follow others.
    pub(crate) fn go_on(&self) -> bool {
        self.events.first().is_some_and(|first| first.seq > 1)
    }

    /// The further part of the run that begins with these, if one does.
    pub(crate) fn reopening(&self) -> Option<&Reopening> {
        self.events.iter().find_map(|recorded| match &recorded.event {
            Event::Reopened { reopening, .. } => Some(reopening),
            _ => None,
        })
    }

    /// Whether the run is closed by these.
    pub(crate) fn close(&self) -> bool {
        self.events.iter().any(|recorded| matches!(recorded.event, Event::Closed { .. }))
    }

    /// Whether these follow the event of this number without a gap.
    pub(crate) fn follow(&self, seq: u64) -> bool {
        !self.events.is_empty()
            && self.events.iter().zip(seq + 1..).all(|(recorded, next)| recorded.seq == next)
    }
}

/// The text an event carries, and its hash, where it carries one.
pub(crate) fn text_of(event: &Event) -> Option<(&str, &Arc<str>)> {
    if let Event::Decided { outcome } = event {
        return outcome.text_hash.as_deref().zip(outcome.text.as_ref());
    }
    // An answer read from a store that kept no texts has a hash, and a text that is not the one it names.
    let whole = event.answer().filter(|answer| answer.text.len() as u64 == answer.text_bytes)?;
    Some((&whole.text_hash, &whole.text))
}

/// The hash of the text the event carries, stored or not.
pub(crate) fn hash_of(event: &Event) -> Option<&str> {
    match event {
        Event::Decided { outcome } => outcome.text_hash.as_deref(),
        event => event.answer().map(|answer| &*answer.text_hash),
    }
}

/// Whether the event is the last one of the request it is about.
pub(crate) const fn ends_attempt(event: &Event) -> bool {
    matches!(
        event,
        Event::Answered { .. } | Event::Cut { .. } | Event::Failed { .. } | Event::Cancelled { .. }
    )
}

/// The columns that follow from a run's events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Projection {
    pub(crate) run_id: RunId,
    pub(crate) last_seq: u64,
    pub(crate) status: &'static str,
    pub(crate) strategy: &'static str,
    pub(crate) seats: usize,
    pub(crate) answered: usize,
    pub(crate) cost_pico_usd: i64,
    pub(crate) cost_is_estimate: bool,
}

impl Projection {
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            run_id: run.plan.run_id,
            last_seq: run.seq,
            status: run.status.as_str(),
            strategy: run.plan.strategy.name(),
            seats: run.seats.len(),
            answered: run.answered(),
            cost_pico_usd: run.cost().0,
            cost_is_estimate: run.cost_is_estimate(),
        }
    }
}

/// The beginning of the question on one line.
fn excerpt(plan: &RunPlan) -> String {
    let question = plan.messages.last().into_iter().flat_map(Message::texts);
    let mut line = String::new();
    for word in question.flat_map(str::split_whitespace) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(EXCERPT_CHARS_MAX) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}
