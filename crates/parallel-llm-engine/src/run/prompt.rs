//! The prompts of a run, made again. Those that show answers are stored as what they were made of, because their texts are
//! stored as answers already.
//!
//! Invariant: a prompt that is made again is equal to the one that was sent, letter by letter, or there is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agreement::{AnswerText, value_of};
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::prompt::reply;
use crate::prompt::{self, Candidate, Exhibits, Task};
use crate::request::Message;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::event::{Attempt, Event, Recorded};
use crate::run::outcome::Reading;
use crate::run::prompt_record::{PromptRecord, ShownAnswer, hash};
use crate::text::short_answer::Form;

/// The prompt of a request, as it was sent. `None` if there was no such request, if a text of the prompt is not stored (any
/// more), or if another version of the program sent it in other words.
pub fn of(plan: &RunPlan, events: &[Recorded], wanted: Attempt) -> Option<Arc<[Message]>> {
    let sent = events.iter().find_map(|recorded| match &recorded.event {
        Event::Sent { attempt, prompt, .. } if *attempt == wanted => Some(prompt.as_deref()),
        _ => None,
    });
    let reader = plan.seat_at(wanted.slot)?;
    match (sent?, wanted.slot) {
        _ if plan.messages.is_empty() => None,
        (Some(record), slot) => again(record, plan, slot, reader, events),
        (None, CallerSlot::Seat(_)) => Some(reader.sent(&plan.messages)),
        (None, CallerSlot::Synthesizer(_) | CallerSlot::Step(_)) => None,
    }
}

/// The messages that were made of these texts.
fn again(
    record: &PromptRecord,
    plan: &RunPlan,
    slot: CallerSlot,
    reader: &Seat,
    events: &[Recorded],
) -> Option<Arc<[Message]>> {
    let task = Task::ALL.iter().copied().find(|task| task.name() == record.task)?;
    let shown = record.answers.iter().enumerate();
    let mut candidates: Vec<Candidate> =
        shown.map(|(index, one)| candidate(one, index, events)).collect::<Option<_>>()?;
    let objections = objections(&record.reviews, events)?;
    for one in &mut candidates {
        one.objections = objections.get(&one.seat).cloned().unwrap_or_default();
    }
    if task == Task::Equivalence {
        candidates = short_answers(plan, slot, candidates, events)?;
    }
    let analysis = match &record.analysis {
        Some(reading) => analysis(reading, events)?,
        None => String::new(),
    };
    let exhibits = Exhibits { candidates: &candidates, analysis: &analysis };
    let messages = task.messages_to(reader, &plan.messages, exhibits, &record.code);
    (hash(&messages) == record.hash).then_some(messages)
}

/// An answer as it was shown.
fn candidate(answer: &ShownAnswer, index: usize, events: &[Recorded]) -> Option<Candidate> {
    let text = text(events, &answer.text_hash)?;
    let shown = match answer.bytes {
        Some(bytes) => prompt::cut(text.get(..bytes)?),
        None => text.to_owned(),
    };
    Some(Candidate {
        label: prompt::label(index),
        seat: answer.seat,
        text: shown,
        shown_bytes: answer.bytes,
        answer_hash: answer.text_hash.clone(),
        stops_early: answer.stops_early,
        peer_rank: answer.peer_rank,
        objections: Vec::new(),
    })
}

/// The short answers in place of the answers that give them.
fn short_answers(
    plan: &RunPlan,
    slot: CallerSlot,
    candidates: Vec<Candidate>,
    events: &[Recorded],
) -> Option<Vec<Candidate>> {
    let (form, extractor) = (Form::of(&plan.question()), plan.options_of(slot).extractor());
    let short = |candidate: Candidate| {
        let mut answers = events.iter().filter_map(|recorded| recorded.event.answer());
        let answer = answers.find(|answer| answer.text_hash == candidate.answer_hash)?;
        let text = value_of(extractor, form.as_ref(), AnswerText::from(answer))?.to_string();
        Some(Candidate { text, ..candidate })
    };
    candidates.into_iter().map(short).collect()
}

/// The objections in the replies of reviewers, by seat.
fn objections(reviews: &[Reading], events: &[Recorded]) -> Option<BTreeMap<SeatNumber, Vec<String>>> {
    let of = |review: &Reading| {
        Some(reply::objections(text(events, &review.reply_hash)?, &review.labelled_seats()))
    };
    Some(reply::merged(reviews.iter().map(of).collect::<Option<Vec<_>>>()?))
}

/// The analysis in a reply, as the writer of the text is shown it.
fn analysis(reading: &Reading, events: &[Recorded]) -> Option<String> {
    let shown = reading.labelled_seats();
    Some(reply::comparison(text(events, &reading.reply_hash)?, &shown)?.rendered(&shown))
}

/// The text with this hash among all answers of a run and all texts of its stages.
fn text<'a>(events: &'a [Recorded], hash: &str) -> Option<&'a str> {
    let of_answer = |event: &'a Event| event.answer().filter(|answer| answer.text_hash == hash);
    let of_stage = |event: &'a Event| match event {
        Event::StageDecided { outcome, .. } if outcome.text_hash.as_deref() == Some(hash) => {
            outcome.text.as_deref()
        }
        _ => None,
    };
    let texts = events.iter().filter_map(|recorded| {
        of_answer(&recorded.event).map(|answer| &*answer.text).or_else(|| of_stage(&recorded.event))
    });
    texts.into_iter().find(|text| !text.is_empty())
}
