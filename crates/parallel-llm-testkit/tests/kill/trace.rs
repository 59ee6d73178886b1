//! What the journal contains about a run: the state of each slot.

use std::collections::BTreeSet;
use std::path::Path;

use parallel_llm_engine::request::panel::SeatNumber;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Answer, CallerSlot, Event, Outcome, PicoUsd, Recorded, RunId, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store, StoreConfig};
use rusqlite::{Connection, OpenFlags};

/// One run from the database.
pub(crate) struct Trace {
    pub(crate) run_id: RunId,
    pub(crate) status: RunStatus,
    /// Its known cost.
    pub(crate) cost: PicoUsd,
    pub(crate) events: Vec<Recorded>,
}

/// The state of a slot after a kill, by its newest event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SlotState {
    /// No request was sent.
    Unsent,
    /// A request was sent, or was about to be, and nothing was received.
    Unanswered,
    /// It failed and is retried.
    Retrying,
    /// It gave a whole answer.
    Answered(Answer),
    /// Its answer stopped early.
    Cut(Answer),
    /// It failed, or was cancelled.
    Failed,
}

impl Trace {
    /// Opens the database of a process that has ended, checks it, and reads the only run.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        path.is_file().then(|| runtime.block_on(read(path))).flatten()
    }

    pub(crate) fn state(&self, slot: CallerSlot) -> SlotState {
        let mut state = SlotState::Unsent;
        for event in self.of(slot) {
            state = match event {
                Event::Sent { .. } => SlotState::Unanswered,
                Event::Answered { answer, .. } => SlotState::Answered(answer.clone()),
                Event::Cut { answer, .. } => SlotState::Cut(answer.clone()),
                Event::Failed { retry: Retry::Never, .. } | Event::Cancelled { .. } => SlotState::Failed,
                Event::Failed { .. } => SlotState::Retrying,
                _ => state,
            };
        }
        state
    }

    /// Requests of a slot that the journal knows.
    pub(crate) fn sent(&self, slot: CallerSlot) -> usize {
        self.of(slot).filter(|event| matches!(event, Event::Sent { .. })).count()
    }

    /// Requests of a slot with any response.
    pub(crate) fn answered(&self, slot: CallerSlot) -> usize {
        let shown_json = self.of(slot).filter(|event| match event {
            Event::Accepted { .. } | Event::Answered { .. } | Event::Cut { .. } => true,
            Event::Failed { retry, .. } => *retry != Retry::Never,
            _ => false,
        });
        shown_json.filter_map(Event::attempt).map(|attempt| attempt.number).collect::<BTreeSet<_>>().len()
    }

    /// The run's answer, once settled.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.events.iter().find_map(|recorded| match &recorded.event {
            Event::Decided { outcome } => Some(&**outcome),
            _ => None,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.events.last(), Some(Recorded { event: Event::Closed { .. }, .. }))
    }

    fn of(&self, slot: CallerSlot) -> impl Iterator<Item = &Event> {
        let events = self.events.iter().map(|recorded| &recorded.event);
        events.filter(move |event| event.attempt().is_some_and(|attempt| attempt.slot == slot))
    }
}

/// The n-th seat of the panel.
pub(crate) fn seat(index: usize) -> CallerSlot {
    CallerSlot::Seat(SeatNumber(index as u8 + 1))
}

/// The n-th synthesizer of the chain.
pub(crate) fn synthesizer(index: usize) -> CallerSlot {
    CallerSlot::Synthesizer(SeatNumber(index as u8 + 1))
}

async fn read(path: &Path) -> Option<Trace> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, read_only).expect("the database opens");
    let check = connection.query_row("PRAGMA integrity_check", (), |row| row.get(0));
    let sound: String = check.expect("the check runs");
    assert_eq!(sound, "ok", "the database is sound");
    let store = Store::open(StoreConfig::new(path)).await.unwrap();
    let runs = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert!(runs.len() <= 1, "one question became {} runs", runs.len());
    let trace = match runs.first() {
        None => None,
        Some(run) => {
            let stored =
                store.load(RunScope::All, run.run_id).await.unwrap().expect("a run that is listed is there");
            let gapless = stored.events.iter().zip(1..).all(|(recorded, seq)| recorded.seq == seq);
            assert!(gapless && !stored.events.is_empty(), "a run is its events, without a gap");
            Some(Trace { run_id: run.run_id, status: run.status, cost: run.cost, events: stored.events })
        }
    };
    store.close().await;
    trace
}
