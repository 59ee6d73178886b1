//! The rows that one append writes, besides the row of its run.

use std::collections::BTreeMap;

use parallel_llm_engine::Run;
use parallel_llm_engine::run::event::Attempt;

use super::compressed::TextBody;
use super::event_batch::EventBatch;
use super::event_row::EventRow;
use super::new_run::keeps_texts;
use super::seat_fact::{SeatFact, facts};

/// The rows of one append.
#[derive(Debug)]
pub(crate) struct AppendRows<'a> {
    pub(crate) run_id: String,
    pub(crate) events: Vec<EventRow>,
    /// Texts by hash; `None` if the run stores none.
    pub(crate) texts: Option<&'a BTreeMap<String, TextBody>>,
    /// The run's seat facts, which replace earlier ones.
    pub(crate) seats: Vec<SeatFact>,
    pub(crate) asked_by: Option<&'a str>,
    /// Requests whose partial texts are no longer needed.
    pub(crate) ended: Vec<Attempt>,
    /// Whether no partial text of the run is needed any more.
    pub(crate) is_closed: bool,
}

impl<'a> AppendRows<'a> {
    /// The rows for these events, written now. `run` already includes them; `decided_at_ms` is when its newest answer
    /// was settled.
    pub(crate) fn of(run: &'a Run, batch: &'a EventBatch, decided_at_ms: Option<i64>, now_ms: i64) -> Self {
        let run_id = run.plan.run_id.to_string();
        let rows = batch.events.iter().zip(&batch.bodies);
        let events = rows.map(|(recorded, body)| EventRow::of(&run_id, recorded, body, now_ms)).collect();
        let is_settled = batch.decides() || batch.closes() || batch.merges();
        let seats = decided_at_ms.filter(|_| is_settled).map(|decided_at_ms| facts(run, decided_at_ms));
        Self {
            run_id,
            events,
            texts: keeps_texts(&run.plan).then_some(&batch.texts),
            seats: seats.unwrap_or_default(),
            asked_by: run.plan.asked_by.as_deref(),
            ended: batch.ended().collect(),
            is_closed: batch.closes(),
        }
    }
}
