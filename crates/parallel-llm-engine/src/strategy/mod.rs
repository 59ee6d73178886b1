//! How answers become one text. One strategy is one file, one same-named test, one name in
//! [`crate::request::recipe::Strategy`] and one line here.
//!
//! A strategy builds text only through [`crate::prompt`], calls models only through the same path as a seat,
//! and reads replies only through [`crate::prompt::reply`]. If everything it tries fails, the best answer is returned
//! word for word and the outcome says so: what was paid for is never lost.

pub(crate) mod annotate;
mod best_of_n;
mod cascade;
mod consistency;
mod council;
mod debate;
mod moa;
mod panel;
mod parts;
mod race;
mod self_moa;
mod synthesize;
mod tournament;
mod vote;

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::upstream_call::Desk;
use crate::panel::gather::Usable;
use crate::plan::step::Role;
use crate::request::StoreMode;
use crate::request::panel::SeatNumber;
use crate::request::recipe::{Gate, Strategy};
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::Failure;
use crate::value::code::Code;
use parts::best::{best, closest};
use parts::fusion;

pub(crate) use parts::early::gather;

/// What there is where a defect ended a strategy: the best answer, word for word. What was paid for is given.
pub(crate) fn fallback(desk: &Desk, usable: &[Usable]) -> Outcome {
    unfused(desk, usable, Failure::new(Code::Internal, "a defect ended the fusing"))
}

/// The answers that are considered, in the order of the panel. Where an earlier part of the run had begun to make a text
/// of them and has paid for some of it, those that have come since were not shown to whom it asked; nor were they where a text was
/// begun early.
pub(crate) fn considered(desk: &Desk, usable: &[Usable]) -> Vec<Usable> {
    let has_given =
        |view: &&SeatView| !view.told_of && matches!(view.status, SeatStatus::Answered | SeatStatus::Cut);
    let was_there = |run: &Run, one: &Usable, began_ms: u64| {
        run.ended_ms(one.seat).is_some_and(|ended_ms| ended_ms <= began_ms)
    };
    let early = fusion::standing(desk);
    let mut considered: Vec<Usable> = desk.hub.look(|run| {
        let is_text = |view: &&SeatView| desk.plan.role_of(view.place) != Some(Role::Draft);
        let began_ms = run.called().filter(has_given).filter(is_text).filter_map(|view| view.sent_ms).min();
        let was_there = |one: &&Usable| began_ms.is_none_or(|began_ms| was_there(run, one, began_ms));
        match &early {
            Some(draft) => usable.iter().filter(|one| draft.reads.contains(&one.seat)).cloned().collect(),
            None => usable.iter().filter(was_there).cloned().collect(),
        }
    });
    // So that the order of arrival leaves no trace.
    considered.sort_by_key(|one| one.seat);
    considered
}

/// Which of the answers say the same, told as far as the words of the run are kept.
pub(crate) fn agreement(desk: &Desk, usable: &[Usable]) -> Option<Agreement> {
    let answers = usable.iter().map(|one| (one.seat, &*one.answer.text));
    Agreement::by(desk.plan.knobs.extractor(), &desk.plan.question(), answers)
        .map(|agreement| kept(desk, agreement))
}

/// As much of it as is kept of the words of the run.
fn kept(desk: &Desk, agreement: Agreement) -> Agreement {
    match desk.plan.store {
        StoreMode::Metadata => agreement.without_words(),
        StoreMode::Full | StoreMode::None => agreement,
    }
}

/// Makes one text of the answers, of which there is at least one.
pub(crate) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    match desk.plan.strategy {
        Strategy::Synthesize => synthesize::decide(desk, usable, agreement).await,
        Strategy::Vote => vote::decide(desk, usable, agreement).await,
        Strategy::BestOfN => best_of_n::decide(desk, usable, agreement).await,
        Strategy::Cascade => cascade::decide(desk, usable, agreement).await,
        Strategy::Race => race::decide(desk, usable),
        Strategy::Panel => panel::decide(desk, usable),
        Strategy::Consistency => consistency::decide(desk, usable, agreement).await,
        Strategy::Tournament => tournament::decide(desk, usable, agreement).await,
        Strategy::Council => council::decide(desk, usable, agreement).await,
        Strategy::Moa => moa::decide(desk, usable, agreement).await,
        Strategy::SelfMoa => self_moa::decide(desk, usable, agreement).await,
        Strategy::Debate => debate::decide(desk, usable, agreement).await,
    }
}

/// The answers that a reader is shown where not all are, and the seats whose are not. The strongest seat's always is:
/// leaving it out costs most.
fn limited(desk: &Desk, usable: &[Usable], agreement: Option<&Agreement>) -> (Vec<Usable>, Vec<SeatNumber>) {
    let shown = closest(usable, desk.plan.knobs.shown_max(usable.len()), &strongest(desk), agreement);
    let is_shown = |seat: &SeatNumber| shown.iter().any(|one| one.seat == *seat);
    let unshown = usable.iter().map(|one| one.seat).filter(|seat| !is_shown(seat)).collect();
    (shown, unshown)
}

/// The seats that are best by the user's word: where nothing else decides, they do.
fn strongest(desk: &Desk) -> Vec<SeatNumber> {
    let strongest = desk.plan.seats.iter().filter(|seat| seat.strongest);
    strongest.map(|seat| seat.number).collect()
}

/// Why an answer stands where nothing else decides, with these words where it is not that of the strongest seat.
fn by_default(desk: &Desk, chosen: &Usable, otherwise: &'static str) -> &'static str {
    if strongest(desk).contains(&chosen.seat) { "of the strongest seat" } else { otherwise }
}

/// Whether nobody is asked to read the answers because all say the same. Who asks for another text of them wants one.
fn is_gated(desk: &Desk, agreement: Option<&Agreement>) -> bool {
    let is_on =
        desk.plan.knobs.gate.unwrap_or_default() == Gate::Unanimous && !desk.hub.look(|run| run.rewrites);
    is_on && agreement.is_some_and(Agreement::is_unanimous)
}

/// One of the answers where all say the same, so that nobody is asked to read them; `None` where they differ, or where
/// somebody is to be asked all the same.
fn gated(desk: &Desk, usable: &[Usable], agreement: Option<&Agreement>) -> Option<Outcome> {
    let agreement = agreement.filter(|_| is_gated(desk, agreement))?;
    let said = agreement.value().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let reason = format!("all {} answers say {said}, so nothing was fused", agreement.of);
    Some(selected(desk, best(usable, &strongest(desk)), reason))
}

/// The best answer as it is, where the answers were to be fused and nobody could.
fn unfused(desk: &Desk, usable: &[Usable], why: Failure) -> Outcome {
    let chosen = best(usable, &strongest(desk));
    let how = by_default(desk, chosen, "closest to the others");
    let reason = format!("{}; this is the answer {how}, word for word", why.message);
    Outcome { unfused: Some(why), ..verbatim(desk, chosen, reason) }
}

/// One answer as it is, chosen among several.
fn selected(desk: &Desk, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    Outcome { kind: OutcomeKind::Selected, ..verbatim(desk, chosen, reason) }
}

/// One answer as it is.
fn verbatim(desk: &Desk, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    let model = desk.plan.seats[chosen.seat.index()].model.clone();
    let mut outcome =
        Outcome::new(OutcomeKind::Verbatim, reason).with_text(Arc::clone(&chosen.answer.text), model);
    outcome.base_seat = Some(chosen.seat);
    outcome.base_step = chosen.step;
    outcome
}
