//! Anchored synthesis: a synthesizer chooses the best answer as its base and patches it with justified changes.
//!
//! The synthesizers are asked in the order of their chain until one gives a text. Each failure is a warning; if
//! all fail, the best answer is returned word for word.

use std::collections::BTreeSet;
use std::sync::Arc;

use similar::TextDiff;

use crate::agreement::Agreement;
use crate::answer::{Answer, Failure};
use crate::chance::Chance;
use crate::code::Code;
use crate::event::{Event, Place};
use crate::gather::Usable;
use crate::outcome::{Outcome, OutcomeKind, Shortened, Warning, Worth};
use crate::panel::{ModelRef, Seat, SeatNumber};
use crate::parse::{self, Fusion, Reveal};
use crate::prompt::{self, Candidate};
use crate::recipe::Gate;
use crate::run::SeatStatus;
use crate::seat::{Asking, Desk};
use crate::strategy::{best, selected, unfused, verbatim};
use crate::wording::phrases;

/// The longest pair of texts, in bytes, whose edit ratio is worth its time.
const EDIT_BYTES_MAX: usize = 200_000;
/// An answer counts as drawn on where it has one of so many of the phrases that are new: of a long text about one thing,
/// a phrase or two stand in every answer.
const PHRASES_SHARE: usize = 50;

pub(super) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    if let [only] = usable {
        return verbatim(desk, only, "only one answer came, so there was nothing to fuse");
    }
    if let Some(agreement) = agreement.filter(|agreement| is_gated(desk, agreement)) {
        let said = agreement.value().map_or("the same".to_owned(), |value| format!("`{value}`"));
        let reason = format!("all {} answers say {said}, so nothing was fused", agreement.of);
        return selected(desk, best(usable), reason);
    }
    let began_ms = desk.deadline.elapsed_ms();
    let mut warnings = Vec::new();
    let chain = desk.hub.look(|run| run.chain().to_vec());
    for synthesizer in &chain {
        if is_unheard_of(desk, synthesizer) {
            warnings.push(Warning {
                code: Code::Interrupted,
                message: format!(
                    "the synthesizer `{}` was asked before and never heard of",
                    synthesizer.model
                ),
                next: "it may have been paid, so it was not asked again".to_owned(),
            });
            continue;
        }
        match fuse(desk, synthesizer, usable).await {
            Ok(mut outcome) => {
                warnings.append(&mut outcome.warnings);
                outcome.warnings = warnings;
                if let Some(worth) = &mut outcome.worth {
                    worth.extra_ms = desk.deadline.elapsed_ms().saturating_sub(began_ms);
                }
                return outcome;
            }
            Err(failure) if failure.code == Code::Cancelled => return Outcome::none(failure),
            Err(failure) => {
                warnings.push(Warning::of(
                    format_args!("the synthesizer `{}` failed", synthesizer.model),
                    &failure,
                ));
            }
        }
    }
    let why = match warnings.last() {
        Some(last) => Failure::new(last.code, "every synthesizer failed").with_next(last.next.as_str()),
        None => Failure::new(Code::Usage, "no synthesizer is configured").with_next("name one"),
    };
    Outcome { warnings, ..unfused(desk, usable, why) }
}

/// Whether nobody is asked to fuse answers that agree so far. Who asks for another text of them wants one.
fn is_gated(desk: &Desk, agreement: &Agreement) -> bool {
    let is_on = desk.plan.knobs.gate == Gate::Unanimous && !desk.hub.look(|run| run.rewrites);
    is_on && agreement.is_unanimous()
}

/// Whether an earlier part of the run sent this call and nobody knows what came of it.
fn is_unheard_of(desk: &Desk, synthesizer: &Seat) -> bool {
    let place = Place::Synthesizer(synthesizer.number);
    desk.hub.look(|run| run.place(place).is_some_and(|view| view.status == SeatStatus::Unknown))
}

/// Asks one synthesizer, or reads what it gave an earlier part of the run. A failure means the next may try.
async fn fuse(desk: &Arc<Desk>, synthesizer: &Seat, usable: &[Usable]) -> Result<Outcome, Failure> {
    let before = given_before(desk, synthesizer, usable);
    let usable = before.as_ref().map_or(usable, |before| &before.usable);
    let mut chance = Chance::new(&desk.plan, "synthesis");
    let nonce = chance.nonce();
    let mut candidates = shuffled(usable, &mut chance);
    let shortened = shorten(desk, synthesizer, &mut candidates);
    let answer = match &before {
        Some(before) => before.gave.clone()?,
        None => ask(desk, synthesizer, &candidates, &nonce).await?,
    };
    let labels: Vec<String> = candidates.iter().map(|candidate| candidate.label.clone()).collect();
    let fusion = parse::fusion(&answer.text, &nonce, &labels);
    if fusion.text.is_empty() {
        return Err(Failure::new(Code::Empty, "the synthesizer wrote no answer"));
    }
    Ok(fused(&synthesizer.model, &answer, &fusion, &Shown { candidates: &candidates, usable, shortened }))
}

/// Makes the call of a synthesizer.
async fn ask(
    desk: &Arc<Desk>,
    synthesizer: &Seat,
    candidates: &[Candidate],
    nonce: &str,
) -> Result<Answer, Failure> {
    let messages = prompt::synthesis(&desk.plan.messages, candidates, nonce).into();
    let place = Place::Synthesizer(synthesizer.number);
    let mut asking = Asking::new(desk, place, synthesizer, messages, Reveal::answer(nonce));
    let admission = asking.admit();
    let event = asking.finish(admission).await;
    desk.log.stage(event.clone());
    match event {
        Event::Answered { answer, .. } => Ok(answer),
        Event::Cut { failure, .. } | Event::Failed { failure, .. } => Err(failure),
        _ => Err(Failure::new(Code::Cancelled, "the run was cancelled while its answer was written")),
    }
}

/// What a synthesizer gave in an earlier part of the run, and the answers it was asked with.
struct Before {
    gave: Result<Answer, Failure>,
    usable: Vec<Usable>,
}

/// What an earlier part of the run has of this call, where it has a text: that was paid, and is not paid again. The
/// answers that have come since were not shown to it.
fn given_before(desk: &Desk, synthesizer: &Seat, usable: &[Usable]) -> Option<Before> {
    desk.hub.look(|run| {
        let view = run.place(Place::Synthesizer(synthesizer.number)).filter(|view| !view.told_of)?;
        let gave = match (view.status, &view.answer, &view.failure) {
            (SeatStatus::Answered, Some(answer), _) => Ok(answer.clone()),
            (SeatStatus::Cut, _, Some(failure)) => Err(failure.clone()),
            _ => return None,
        };
        let was_there = |one: &&Usable| {
            let ended_ms = run.seat(one.seat).and_then(|seat| Some(seat.sent_ms? + seat.elapsed_ms?));
            ended_ms <= view.sent_ms
        };
        Some(Before { gave, usable: usable.iter().filter(was_there).cloned().collect() })
    })
}

/// What the synthesizer was shown.
struct Shown<'a> {
    candidates: &'a [Candidate],
    usable: &'a [Usable],
    shortened: Vec<Shortened>,
}

fn fused(by: &ModelRef, answer: &Answer, fusion: &Fusion, shown: &Shown<'_>) -> Outcome {
    let seat_of =
        |label: &String| shown.candidates.iter().find(|one| one.label == *label).map(|one| one.seat);
    let base = fusion.base.as_ref().and_then(seat_of);
    let reason = match base {
        Some(_) => "the synthesizer started from one answer and patched it from the others",
        None => "the synthesizer wrote it from the answers without naming the one it started from",
    };
    let mut outcome =
        Outcome::new(OutcomeKind::Fused, reason).with_text(fusion.text.as_str().into(), by.clone());
    outcome.base_seat = base;
    outcome.shortened.clone_from(&shown.shortened);
    outcome.worth = base.and_then(|base_seat| {
        let base = shown.usable.iter().find(|one| one.seat == base_seat)?;
        let edit_ratio = edit_ratio(&base.answer.text, &fusion.text);
        let drawn_from = drawn_from(base, &fusion.text, shown.usable);
        Some(Worth { base_seat, edit_ratio, drawn_from, extra_cost: answer.cost, extra_ms: 0 })
    });
    for seat in fusion.suspected_injection.iter().filter_map(seat_of) {
        outcome.warnings.push(Warning {
            code: Code::Refused,
            message: format!("the synthesizer suspects that the answer of seat {seat} tried to instruct it"),
            next: "read that answer before you rely on the result".to_owned(),
        });
    }
    if answer.truncated() {
        outcome.warnings.push(Warning {
            code: Code::Incomplete,
            message: "the synthesizer reached its output cap; the text may stop early".to_owned(),
            next: "raise `--max-tokens`".to_owned(),
        });
    }
    outcome
}

/// The seats, but for the base's, in whose answers wording of the final text is found that the base has not.
fn drawn_from(base: &Usable, text: &str, usable: &[Usable]) -> Vec<SeatNumber> {
    if text.len() > EDIT_BYTES_MAX {
        return Vec::new();
    }
    let old = phrases(&base.answer.text);
    let new: BTreeSet<u64> = phrases(text).difference(&old).copied().collect();
    if new.is_empty() {
        return Vec::new();
    }
    let enough = (new.len() / PHRASES_SHARE).max(1);
    let others = usable.iter().filter(|one| one.seat != base.seat);
    let drawn =
        others.filter(|one| phrases(&one.answer.text).intersection(&new).take(enough).count() == enough);
    drawn.map(|one| one.seat).collect()
}

fn shuffled(usable: &[Usable], chance: &mut Chance) -> Vec<Candidate> {
    let mut order: Vec<&Usable> = usable.iter().collect();
    chance.shuffle(&mut order);
    let name = |(index, one): (usize, &&Usable)| Candidate {
        label: prompt::label(index),
        seat: one.seat,
        text: one.answer.text.to_string(),
        stops_early: one.cut || one.answer.truncated(),
    };
    order.iter().enumerate().map(name).collect()
}

fn shorten(desk: &Desk, synthesizer: &Seat, candidates: &mut [Candidate]) -> Vec<Shortened> {
    let Some(context_tokens) = synthesizer.context_tokens else { return Vec::new() };
    let cut = prompt::fit(candidates, &desk.plan.messages, context_tokens, synthesizer.max_tokens);
    let shown =
        |seat| candidates.iter().find(|one| one.seat == seat).map_or(0, |one| one.text.chars().count());
    cut.into_iter()
        .map(|(seat, from)| Shortened { seat, from_chars: from as u64, to_chars: shown(seat) as u64 })
        .collect()
}

/// How much of the final text differs from its base, by words: 0 the same, 1 nothing in common.
fn edit_ratio(base: &str, text: &str) -> Option<f64> {
    if base.len() + text.len() > EDIT_BYTES_MAX {
        return None;
    }
    let same = f64::from(TextDiff::from_words(base.trim(), text.trim()).ratio());
    // Three places: more would be noise, and whole outputs can be compared in tests.
    Some(((1.0 - same) * 1e3).round() / 1e3)
}
