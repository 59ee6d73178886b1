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
use crate::call::run_context::RunContext;
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
pub(crate) fn fallback(context: &RunContext, usable: &[Usable]) -> Outcome {
    unfused(context, usable, Failure::new(Code::Internal, "a defect ended the fusing"))
}

/// The answers that are considered, in the order of the panel. Where an earlier part of the run had begun to make a text
/// of them and has paid for some of it, those that have come since were not shown to whom it asked; nor were they where a text was
/// begun early.
pub(crate) fn considered(context: &RunContext, usable: &[Usable]) -> Vec<Usable> {
    let has_given =
        |view: &&SeatView| !view.told_of && matches!(view.status, SeatStatus::Answered | SeatStatus::Cut);
    let was_there = |run: &Run, one: &Usable, began_ms: u64| {
        run.ended_ms(one.seat).is_some_and(|ended_ms| ended_ms <= began_ms)
    };
    let early = fusion::standing(context);
    let mut considered: Vec<Usable> = context.hub.look(|run| {
        let is_text = |view: &&SeatView| context.plan.role_of(view.place) != Some(Role::Draft);
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
pub(crate) fn agreement(context: &RunContext, usable: &[Usable]) -> Option<Agreement> {
    let answers = usable.iter().map(|one| (one.seat, &*one.answer.text));
    Agreement::by(context.plan.knobs.extractor(), &context.plan.question(), answers)
        .map(|agreement| kept(context, agreement))
}

/// As much of it as is kept of the words of the run.
fn kept(context: &RunContext, agreement: Agreement) -> Agreement {
    match context.plan.store {
        StoreMode::Metadata => agreement.without_words(),
        StoreMode::Full | StoreMode::None => agreement,
    }
}

/// Makes one text of the answers, of which there is at least one.
pub(crate) async fn decide(
    context: &Arc<RunContext>,
    usable: &[Usable],
    agreement: Option<&Agreement>,
) -> Outcome {
    match context.plan.strategy {
        Strategy::Synthesize => synthesize::decide(context, usable, agreement).await,
        Strategy::Vote => vote::decide(context, usable, agreement).await,
        Strategy::BestOfN => best_of_n::decide(context, usable, agreement).await,
        Strategy::Cascade => cascade::decide(context, usable, agreement).await,
        Strategy::Race => race::decide(context, usable),
        Strategy::Panel => panel::decide(context, usable),
        Strategy::Consistency => consistency::decide(context, usable, agreement).await,
        Strategy::Tournament => tournament::decide(context, usable, agreement).await,
        Strategy::Council => council::decide(context, usable, agreement).await,
        Strategy::Moa => moa::decide(context, usable, agreement).await,
        Strategy::SelfMoa => self_moa::decide(context, usable, agreement).await,
        Strategy::Debate => debate::decide(context, usable, agreement).await,
    }
}

/// The answers that a reader is shown where not all are, and the seats whose are not. The strongest seat's always is:
/// leaving it out costs most.
fn limited(
    context: &RunContext,
    usable: &[Usable],
    agreement: Option<&Agreement>,
) -> (Vec<Usable>, Vec<SeatNumber>) {
    let shown = closest(usable, context.plan.knobs.shown_max(usable.len()), &strongest(context), agreement);
    let is_shown = |seat: &SeatNumber| shown.iter().any(|one| one.seat == *seat);
    let unshown = usable.iter().map(|one| one.seat).filter(|seat| !is_shown(seat)).collect();
    (shown, unshown)
}

/// The seats that are best by the user's word: where nothing else decides, they do.
fn strongest(context: &RunContext) -> Vec<SeatNumber> {
    let strongest = context.plan.seats.iter().filter(|seat| seat.strongest);
    strongest.map(|seat| seat.number).collect()
}

/// Why an answer stands where nothing else decides, with these words where it is not that of the strongest seat.
fn by_default(context: &RunContext, chosen: &Usable, otherwise: &'static str) -> &'static str {
    if strongest(context).contains(&chosen.seat) { "of the strongest seat" } else { otherwise }
}

/// Whether nobody is asked to read the answers because all say the same. Who asks for another text of them wants one.
fn is_gated(context: &RunContext, agreement: Option<&Agreement>) -> bool {
    let is_on = context.plan.knobs.gate.unwrap_or_default() == Gate::Unanimous
        && !context.hub.look(|run| run.rewrites);
    is_on && agreement.is_some_and(Agreement::is_unanimous)
}

/// One of the answers where all say the same, so that nobody is asked to read them; `None` where they differ, or where
/// somebody is to be asked all the same.
fn gated(context: &RunContext, usable: &[Usable], agreement: Option<&Agreement>) -> Option<Outcome> {
    let agreement = agreement.filter(|_| is_gated(context, agreement))?;
    let said = agreement.value().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let reason = format!("all {} answers say {said}, so nothing was fused", agreement.of);
    Some(selected(context, best(usable, &strongest(context)), reason))
}

/// The best answer as it is, where the answers were to be fused and nobody could.
fn unfused(context: &RunContext, usable: &[Usable], why: Failure) -> Outcome {
    let chosen = best(usable, &strongest(context));
    let how = by_default(context, chosen, "closest to the others");
    let reason = format!("{}; this is the answer {how}, word for word", why.message);
    Outcome { unfused: Some(why), ..verbatim(context, chosen, reason) }
}

/// One answer as it is, chosen among several.
fn selected(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    Outcome { kind: OutcomeKind::Selected, ..verbatim(context, chosen, reason) }
}

/// One answer as it is.
fn verbatim(context: &RunContext, chosen: &Usable, reason: impl Into<String>) -> Outcome {
    let model = context.plan.seats[chosen.seat.index()].model.clone();
    let mut outcome =
        Outcome::new(OutcomeKind::Verbatim, reason).with_text(Arc::clone(&chosen.answer.text), model);
    outcome.base_seat = Some(chosen.seat);
    outcome.base_step = chosen.step;
    outcome
}
