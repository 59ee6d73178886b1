//! Anchored synthesis: a synthesizer chooses the best answer as its base and patches it with justified changes.
//!
//! The synthesizers are asked in the order of their chain until one gives a text. Each failure is a warning; if
//! all fail, the best answer is returned word for word.

use std::collections::BTreeSet;
use std::sync::Arc;

use similar::TextDiff;

use crate::agreement::Agreement;
use crate::answer::{Answer, Failure};
use crate::code::Code;
use crate::gather::Usable;
use crate::outcome::{Outcome, OutcomeKind, Warning, Worth};
use crate::panel::{ModelRef, Seat, SeatNumber};
use crate::parse::{self, Fusion, Reveal};
use crate::place::Place;
use crate::prompt::Task;
use crate::seat::Desk;
use crate::strategy::call::{self, Call};
use crate::strategy::shown::{Order, Shown};
use crate::strategy::{chain, gated, verbatim};
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
    if let Some(outcome) = gated(desk, usable, agreement) {
        return outcome;
    }
    write(desk, usable).await
}

/// Has one text made of the answers by the first of the chain that can; if none can, the best answer stands.
pub(super) async fn write(desk: &Arc<Desk>, usable: &[Usable]) -> Outcome {
    let began_ms = desk.deadline.elapsed_ms();
    let fuse = |synthesizer| fuse(desk, synthesizer, usable);
    let mut outcome = chain::ask(desk, usable, "synthesizer", fuse).await;
    if let Some(worth) = &mut outcome.worth {
        worth.extra_ms = desk.deadline.elapsed_ms().saturating_sub(began_ms);
    }
    outcome
}

/// Asks one synthesizer. A failure means the next may try.
async fn fuse(desk: &Arc<Desk>, synthesizer: Seat, usable: &[Usable]) -> Result<Outcome, Failure> {
    let place = Place::Synthesizer(synthesizer.number);
    let shown = Shown::to(desk, place, (Task::Synthesize, Order::Forward), usable);
    written(desk, &synthesizer, &shown, usable).await
}

/// What a synthesizer writes that is shown this of the answers.
pub(super) async fn written(
    desk: &Arc<Desk>,
    synthesizer: &Seat,
    shown: &Shown,
    usable: &[Usable],
) -> Result<Outcome, Failure> {
    let place = Place::Synthesizer(synthesizer.number);
    let reveal = Reveal::answer(&shown.nonce);
    let answer = call::make(desk, Call { place, messages: shown.messages(desk), reveal }).await?;
    let fusion = parse::fusion(&answer.text, &shown.nonce, &shown.labels());
    if fusion.text.is_empty() {
        return Err(Failure::new(Code::Empty, "the synthesizer wrote no answer"));
    }
    Ok(fused(&synthesizer.model, &answer, &fusion, (shown, usable)))
}

fn fused(by: &ModelRef, answer: &Answer, fusion: &Fusion, (shown, usable): (&Shown, &[Usable])) -> Outcome {
    let seat_of = |label: &String| shown.seat_of(label);
    let base = fusion.base.as_ref().and_then(seat_of);
    let reason = match base {
        Some(_) => "the synthesizer started from one answer and patched it from the others",
        None => "the synthesizer wrote it from the answers without naming the one it started from",
    };
    let mut outcome =
        Outcome::new(OutcomeKind::Fused, reason).with_text(fusion.text.as_str().into(), by.clone());
    outcome.base_seat = base;
    let is_base = |one: &&Usable| Some(one.seat) == base;
    outcome.base_step = usable.iter().find(is_base).and_then(|one| one.step);
    outcome.shortened.clone_from(&shown.shortened);
    outcome.reading = Some(shown.reading(answer));
    outcome.worth = base.and_then(|base_seat| {
        let base = usable.iter().find(|one| one.seat == base_seat)?;
        let edit_ratio = edit_ratio(&base.answer.text, &fusion.text);
        let drawn_from = drawn_from(base, &fusion.text, usable);
        Some(Worth { base_seat, edit_ratio, drawn_from, extra_cost: answer.cost, extra_ms: 0 })
    });
    outcome.suspected = fusion.suspected_injection.iter().filter_map(seat_of).collect();
    outcome.suspected.sort_unstable();
    outcome.warnings = chain::suspicions("synthesizer", outcome.suspected.iter().copied());
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

/// How much of the final text differs from its base, by words: 0 the same, 1 nothing in common.
fn edit_ratio(base: &str, text: &str) -> Option<f64> {
    if base.len() + text.len() > EDIT_BYTES_MAX {
        return None;
    }
    let same = f64::from(TextDiff::from_words(base.trim(), text.trim()).ratio());
    // Three places: more would be noise, and whole outputs can be compared in tests.
    Some(((1.0 - same) * 1e3).round() / 1e3)
}
