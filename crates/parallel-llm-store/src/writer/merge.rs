//! What a process held that had lost a run, as events of that run: each request by its attempt, and its outcome.
//!
//! Pure code. Invariants: a request that the record knows is not added again, the first end of a request counts, and a request
//! that certainly never left is left out.

use std::collections::{BTreeMap, BTreeSet};

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Event, PicoUsd, Recorded};

/// What the record knows of requests.
#[derive(Debug, Default)]
struct KnownRequests {
    sent: BTreeSet<Attempt>,
    ended: BTreeSet<Attempt>,
    newest: BTreeMap<CallerSlot, u32>,
}

impl KnownRequests {
    fn note(&mut self, event: &Event) {
        if let Event::Merged { held, .. } = event {
            return self.note(held);
        }
        let Some(attempt) = event.attempt() else { return };
        match event {
            Event::Sent { .. } => {
                self.sent.insert(attempt);
                let newest = self.newest.entry(attempt.slot).or_default();
                *newest = attempt.number.max(*newest);
            }
            _ if ends(event) => drop(self.ended.insert(attempt)),
            _ => {}
        }
    }
}

/// Whether the event ends a request.
const fn ends(event: &Event) -> bool {
    matches!(
        event,
        Event::Answered { .. } | Event::Cut { .. } | Event::Failed { .. } | Event::Cancelled { .. }
    )
}

/// The events to add to a run with the `stored` ones. `held` are those of one lost epoch that are not stored, in order.
pub(super) fn merged(stored: &[Recorded], epoch: u64, held: &[Recorded]) -> Vec<Recorded> {
    let is_merged = |recorded: &Recorded| {
        let seq = recorded.seq;
        let is_it = |event: &Event| matches!(event, Event::Merged { epoch: of, held_seq, .. } if (*of, *held_seq) == (epoch, seq));
        stored.iter().any(|recorded| is_it(&recorded.event))
    };
    let held: Vec<Recorded> = held.iter().filter(|recorded| !is_merged(recorded)).cloned().collect();
    let held = held.as_slice();
    let mut requests = KnownRequests::default();
    for recorded in stored {
        requests.note(&recorded.event);
    }
    let unsent = unsent(&requests, held);
    let mut numbers = numbers_given(stored, epoch);
    let mut merged = Vec::new();
    let mut add = |known: &mut KnownRequests, recorded: &Recorded, event: Event| {
        known.note(&event);
        let number = |event: &Event| event.attempt().map(|attempt| attempt.number);
        let held_number = number(&recorded.event).filter(|held| number(&event) != Some(*held));
        let event = Event::Merged { epoch, held_seq: recorded.seq, held_number, held: Box::new(event) };
        merged.push(Recorded { event, ..recorded.clone() });
    };
    for recorded in held {
        let Some(attempt) = recorded.event.attempt().filter(|attempt| attempt.number > 0) else { continue };
        if unsent.contains(&attempt) {
            continue;
        }
        let is_sent = matches!(recorded.event, Event::Sent { .. });
        if is_sent && requests.sent.contains(&attempt) {
            // The process that went on has sent another request under the same number.
            let newest = requests.newest.get(&attempt.slot).copied().unwrap_or_default();
            numbers.insert(attempt, Attempt { number: newest + 1, ..attempt });
        }
        let attempt = numbers.get(&attempt).copied().unwrap_or(attempt);
        if ends(&recorded.event) && requests.ended.contains(&attempt) {
            continue;
        }
        if !is_sent && !requests.sent.contains(&attempt) {
            add(&mut requests, recorded, Event::Sent { attempt, prompt: None, worst_case: None });
        }
        add(&mut requests, recorded, renumbered(recorded.event.clone(), attempt));
    }
    let text = |event: &Event| decided_text(event).map(str::to_owned);
    let known: BTreeSet<String> = stored.iter().filter_map(|recorded| text(&recorded.event)).collect();
    let outcome = held.iter().rev().find(|recorded| text(&recorded.event).is_some());
    let outcome = outcome.filter(|recorded| text(&recorded.event).is_some_and(|text| !known.contains(&text)));
    if let Some(recorded) = outcome {
        add(&mut requests, recorded, recorded.event.clone());
    }
    merged
}

/// The numbers that earlier merges of this epoch have given to requests, by those that they had: an end may come later than
/// its request.
fn numbers_given(stored: &[Recorded], epoch: u64) -> BTreeMap<Attempt, Attempt> {
    let given = |event: &Event| match event {
        Event::Merged { epoch: of, held_number: Some(number), held, .. } if *of == epoch => {
            let to = held.attempt()?;
            Some((Attempt { number: *number, ..to }, to))
        }
        _ => None,
    };
    stored.iter().filter_map(|recorded| given(&recorded.event)).collect()
}

/// The text that the event decides, by its hash.
fn decided_text(event: &Event) -> Option<&str> {
    match event {
        Event::Decided { outcome } => outcome.text_hash.as_deref(),
        Event::Merged { held, .. } => decided_text(held),
        _ => None,
    }
}

/// The requests of `held` that certainly never left, and that the record does not know under this number. The first end tells:
/// a later one under the same number is that of a retry that did not leave.
fn unsent(requests: &KnownRequests, held: &[Recorded]) -> BTreeSet<Attempt> {
    let never_left = |event: &Event| match event {
        Event::Failed { failure, .. } => failure.unsent,
        // One that had left before it was cancelled has no known cost.
        Event::Cancelled { answer: None, cost, .. } => *cost == Some(PicoUsd::ZERO),
        _ => false,
    };
    let mut first_ends: BTreeMap<Attempt, &Event> = BTreeMap::new();
    let mut own = BTreeSet::new();
    for event in held.iter().map(|recorded| &recorded.event) {
        let Some(attempt) = event.attempt() else { continue };
        if matches!(event, Event::Sent { .. }) {
            own.insert(attempt);
        } else if ends(event) {
            first_ends.entry(attempt).or_insert(event);
        }
    }
    let is_unsent = |(attempt, end): &(Attempt, &Event)| {
        never_left(end) && (own.contains(attempt) || !requests.sent.contains(attempt))
    };
    first_ends.into_iter().filter(is_unsent).map(|(attempt, _)| attempt).collect()
}

/// The event under another number. Nobody tries again after it.
fn renumbered(mut event: Event, to: Attempt) -> Event {
    match &mut event {
        Event::Failed { attempt, retry, .. } => (*attempt, *retry) = (to, Retry::Never),
        Event::Sent { attempt, .. }
        | Event::Accepted { attempt, .. }
        | Event::Answered { attempt, .. }
        | Event::Cut { attempt, .. }
        | Event::Cancelled { attempt, .. }
        | Event::Reconciled { attempt, .. } => *attempt = to,
        Event::Started { .. }
        | Event::Skipped { .. }
        | Event::Reopened { .. }
        | Event::StageDecided { .. }
        | Event::Decided { .. }
        | Event::Closed { .. }
        | Event::Merged { .. } => {}
    }
    event
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::{Answer, Code, Failure, Outcome, OutcomeKind, SeatNumber};

    use super::*;

    fn attempt(number: u32) -> Attempt {
        Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number }
    }

    fn sent(number: u32) -> Event {
        Event::Sent { attempt: attempt(number), prompt: None, worst_case: None }
    }

    fn answered(number: u32, text: &str) -> Event {
        Event::Answered { attempt: attempt(number), answer: Answer::new(text) }
    }

    fn never_left(number: u32) -> Event {
        let failure = Failure::new(Code::Storage, "the lease is over").never_sent();
        let (retry, cost) = (Retry::After { ms: 5 }, Some(PicoUsd::ZERO));
        Event::Failed { attempt: attempt(number), failure, retry, cost, elapsed_ms: 0 }
    }

    fn recorded(events: impl IntoIterator<Item = Event>) -> Vec<Recorded> {
        let numbered = events.into_iter().zip(1..);
        numbered.map(|(event, seq)| Recorded { seq, elapsed_ms: 0, event }).collect()
    }

    fn held(stored: &[Event], held: &[Event]) -> Vec<Event> {
        let merged = merged(&recorded(stored.to_vec()), 1, &recorded(held.to_vec())).into_iter();
        let held = merged.map(|recorded| match recorded.event {
            Event::Merged { held, .. } => *held,
            other => other,
        });
        held.collect()
    }

    #[test]
    fn an_answer_joins_the_request_that_the_record_knows() {
        assert_eq!(held(&[sent(1)], &[answered(1, "late")]), [answered(1, "late")]);
        assert_eq!(
            held(&[sent(1), answered(1, "first")], &[answered(1, "late")]),
            [],
            "the first end counts"
        );
    }

    #[test]
    fn a_request_under_a_taken_number_gets_the_next_one() {
        let stored = [sent(1), answered(1, "theirs")];
        assert_eq!(held(&stored, &[sent(1), answered(1, "ours")]), [sent(2), answered(2, "ours")]);
        assert_eq!(
            held(&[], &[answered(1, "ours")]),
            [sent(1), answered(1, "ours")],
            "its own event is gone"
        );
    }

    #[test]
    fn a_request_that_never_left_is_left_out() {
        assert_eq!(held(&[], &[sent(1), never_left(1)]), []);
        let known = held(&[sent(1)], &[never_left(1)]);
        assert!(
            matches!(&known[..], [Event::Failed { retry: Retry::Never, .. }]),
            "nobody tries again: {known:?}"
        );
        assert_eq!(held(&[], &[sent(1)]), [sent(1)], "it may have left");
        let stored = [sent(1), answered(1, "theirs")];
        assert_eq!(held(&stored, &[sent(1), never_left(1)]), [], "another one has its number");
    }

    #[test]
    fn a_retry_that_did_not_leave_takes_no_request_with_it() {
        let failure = Failure::new(Code::Upstream, "502");
        let paid = Some(PicoUsd::from_usd(1));
        let failed =
            Event::Failed { attempt: attempt(1), failure, retry: Retry::Never, cost: paid, elapsed_ms: 5 };
        let events = [sent(1), failed.clone(), never_left(1)];
        assert_eq!(held(&[], &events), [sent(1), failed]);
    }

    #[test]
    fn an_end_that_comes_after_its_request_was_merged_finds_it() {
        let mut stored = recorded([sent(1), answered(1, "theirs")]);
        stored.extend(merged(&stored, 1, &recorded([sent(1)])));
        let late = Recorded { seq: 2, elapsed_ms: 0, event: answered(1, "ours") };
        let added = merged(&stored, 1, &[late]);
        let Event::Merged { held, .. } = &added[0].event else { panic!("{added:?}") };
        assert_eq!((&**held, added.len()), (&answered(2, "ours"), 1));
    }

    #[test]
    fn the_newest_text_comes_last_and_the_rest_of_a_run_is_not_repeated() {
        let decided = |text: &str| {
            let outcome = Outcome::new(OutcomeKind::Fused, "").with_joint_text(text.into());
            Event::Decided { outcome: Box::new(outcome) }
        };
        let closed = Event::Closed { cost: PicoUsd::ZERO };
        let events = [decided("first"), decided("second"), closed, answered(1, "late")];
        assert_eq!(held(&[sent(1)], &events), [answered(1, "late"), decided("second")]);
    }
}
