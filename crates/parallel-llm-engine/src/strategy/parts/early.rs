//! A text that is begun before the panel is done: with enough answers there, a synthesizer is asked for a text of these
//! while the others are waited for.
//!
//! What always holds: a text of which a word has been shown is not taken back, and of one that is given up nobody sees a
//! word. Until then an answer that says something else has the text begun anew, with that answer.

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::call::stop::Revocation;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::panel::gather::{Gathered, Panel, Usable};
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::StepKey;
use crate::request::panel::SeatNumber;
use crate::run::event::CallEnd;
use crate::run::outcome::Outcome;
use crate::run::{SeatStatus, SeatView};
use crate::strategy::parts::answers::{Answers, agreement};
use crate::strategy::parts::call::PlannedCall;
use crate::strategy::parts::fusion::{self, FusionCall, SYNTHESIZER};
use crate::strategy::parts::gate::is_gated;
use crate::strategy::parts::shown::{Limited, limited};
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// Waits for the panel, and for a text begun early where that is wanted.
pub(crate) async fn gather(context: &Arc<RunContext>, panel: &mut Panel) -> Gathered {
    if text_of(context).is_some() && !context.stop.is_cancelled() {
        // A process that is gone had its text already, of the answers that were there then.
        return Gathered::Enough;
    }
    let Some(mut early) = Early::of(context) else { return panel.gather().await };
    let mut is_enough = false;
    loop {
        let gathered = if is_enough { panel.one_more().await } else { panel.more().await };
        match gathered {
            Some(Gathered::Enough) => is_enough = true,
            Some(gathered) => return gathered,
            None => {}
        }
        let has_text = early.take_end(panel);
        // A defect in what is only quicker does not end the run.
        let weigh = AssertUnwindSafe(|| early.weigh(panel, is_enough));
        if !has_text && std::panic::catch_unwind(weigh).is_err() {
            early.is_over = true;
        }
        if is_enough && early.draft.is_none() && !has_text {
            return Gathered::Enough;
        }
        // A failed write shows where the next call wants to be sent, and in the report.
        let _ = context.log.commit().await;
        if has_text {
            return Gathered::Enough;
        }
    }
}

/// The call that has begun a text early, where it came to its end with one and no outcome tells of it yet.
pub(crate) fn text_of(context: &RunContext) -> Option<SeatView> {
    let given: Vec<SeatView> = context.hub.with_run(|run| {
        let given = |view: &&SeatView| view.status == SeatStatus::Answered && !view.is_reported;
        run.drafts().filter(given).cloned().collect()
    });
    given
        .into_iter()
        .find(|view| view.answer.as_ref().is_some_and(|reply| fusion::holds_text(context, view.slot, reply)))
}

/// The text that was begun before all had answered, where it came to its end.
pub(crate) fn outcome(context: &RunContext, answers: Answers<'_>) -> Option<Outcome> {
    let view = text_of(context)?;
    let Limited { shown, unshown } = limited(context, answers);
    let draft = FusionCall::whole(context, view.slot, &shown).read(context, view.answer.as_ref()?).ok()?;
    let mut outcome = fusion::fused(context, SYNTHESIZER, &view.model, draft, &shown);
    outcome.unshown = unshown;
    let is_given_up = |other: &&SeatView| {
        let is_over = matches!(other.status, SeatStatus::Cancelled) || !other.status.is_final();
        other.slot != view.slot && other.attempts > 0 && is_over
    };
    let (given_up, ended_ms) = context.hub.with_run(|run| {
        let ended_ms = run.plan.seats.iter().filter_map(|seat| run.ended_ms(seat.number)).max();
        (run.drafts().filter(is_given_up).count(), ended_ms)
    });
    let (there, seats) = (answers.usable.len(), context.plan.seats.len());
    let _ = write!(outcome.reason, ", and began when {there} of {seats} had answered");
    if given_up > 0 {
        let _ = write!(outcome.reason, ", having given up {given_up} begun sooner");
    }
    if let Some(worth) = &mut outcome.worth {
        // What ran beside the panel cost no time.
        let since_ms = ended_ms.max(view.sent_ms).unwrap_or_default();
        let until_ms = view.sent_ms.zip(view.elapsed_ms).map_or(since_ms, |(sent, elapsed)| sent + elapsed);
        worth.extra_ms = until_ms.saturating_sub(since_ms);
    }
    Some(outcome)
}

/// What the texts begun early have cost for the text that is made now; `None` where nobody knows.
pub(crate) fn cost(context: &RunContext) -> Option<PicoUsd> {
    context.hub.with_run(|run| run.drafts().map(SeatView::unreported_cost).sum())
}

/// What is to be known of texts begun early that came to nothing by themselves.
pub(crate) fn warnings(context: &RunContext) -> Vec<Warning> {
    use SeatStatus::{Answered, Cut, Failed, Refused, Unknown};
    let ended: Vec<SeatView> =
        context.hub.with_run(|run| run.drafts().filter(|view| !view.is_reported).cloned().collect());
    let failure = |view: SeatView| match view.status {
        Cut | Failed | Refused | Unknown => view.failure,
        Answered => view
            .answer
            .as_ref()
            .map_or_else(|| Some(fusion::no_answer()), |reply| fusion::lacks_text(context, view.slot, reply)),
        _ => None,
    };
    let failures = ended.into_iter().filter_map(failure);
    failures.map(|failure| Warning::of("a text begun early failed", &failure)).collect()
}

/// The drafts of a part of a run.
struct Early<'a> {
    context: &'a Arc<RunContext>,
    /// Who writes them.
    by: SeatNumber,
    /// How many answers there must be.
    from: usize,
    /// How many there have been.
    rounds: u16,
    draft: Option<EarlyDraft>,
    /// Whether one has failed by itself: the usual way is gone then.
    is_over: bool,
}

/// A text on its way.
struct EarlyDraft {
    slot: CallerSlot,
    /// Whose answers it is made of.
    reads: Vec<SeatNumber>,
    revocation: Revocation,
}

impl<'a> Early<'a> {
    /// `None` where nobody wants it, or where the run has had its chance: whoever wants another text of it does not want it
    /// sooner, and what became of a draft of a process that is gone is known or was paid for in vain.
    fn of(context: &'a Arc<RunContext>) -> Option<Self> {
        let from = context.plan.strategy_options.early?.into();
        let by = context.hub.with_run(|run| {
            let is_fresh = run.outcome.is_none() && run.drafts().all(|view| view.attempts == 0);
            run.chain().first().filter(|_| is_fresh).map(|by| by.number)
        })?;
        Some(Self { context, by, from, rounds: 0, draft: None, is_over: false })
    }

    /// Looks at the end of a draft, where it has come; says whether there is its text.
    fn take_end(&mut self, panel: &mut Panel) -> bool {
        let Some(end) = panel.take_other_end() else { return false };
        self.draft = None;
        self.is_over = true;
        match (end.end(), end.attempt()) {
            (Some(CallEnd::Answered(answer)), Some(attempt)) => {
                fusion::holds_text(self.context, attempt.slot, answer)
            }
            (
                Some(CallEnd::Answered(_) | CallEnd::Cut(..) | CallEnd::Failed(_) | CallEnd::Cancelled)
                | None,
                _,
            ) => false,
        }
    }

    /// Begins a draft, lets it go on, or gives it up for another, as the answers that have come want it.
    fn weigh(&mut self, panel: &mut Panel, is_enough: bool) {
        let mut usable = panel.usable.clone();
        usable.sort_by_key(|one| one.seat);
        if let Some(draft) = &self.draft {
            if !is_news(self.context, &usable, &draft.reads) || !draft.revocation.revoke() {
                return;
            }
            panel.mark_revoked(draft.slot);
            self.draft = None;
        }
        let is_early = !is_enough && !self.is_over && usable.len() >= self.from;
        if !is_early || self.lacks_strongest(panel) {
            return;
        }
        let agreement = agreement(self.context, &usable);
        if !is_gated(self.context, agreement.as_ref()) {
            self.begin(panel, Answers { usable: &usable, agreement: agreement.as_ref() });
        }
    }

    /// Whether the seat that is best by the user's word is still to end: nothing is made without it.
    fn lacks_strongest(&self, panel: &Panel) -> bool {
        let has_ended = |number| {
            panel.usable.iter().any(|one| one.seat == number)
                || panel.failures.iter().any(|(seat, _)| *seat == number)
        };
        self.context.plan.seats.iter().any(|seat| seat.strongest && !has_ended(seat.number))
    }

    fn begin(&mut self, panel: &mut Panel, answers: Answers<'_>) {
        let plan = &self.context.plan;
        let Some(step) = plan.step(StepKey::draft(self.by, self.rounds + 1)) else { return };
        let slot = CallerSlot::Step(step.number);
        let PlannedCall { slot, messages, reveal, .. } = fusion::draft(self.context, slot, answers);
        let seat = plan.seat_at(slot).expect("a step of the plan has somebody to make it");
        let upstream = UpstreamCall::new(self.context, slot, seat, messages, reveal);
        let (mut upstream, revocation) = upstream.revocable();
        match upstream.admit() {
            admission @ Admission::Staged(_) => {
                panel.spawn_other(upstream, admission);
                self.rounds += 1;
                let reads = answers.usable.iter().map(|one| one.seat).collect();
                self.draft = Some(EarlyDraft { slot, reads, revocation });
            }
            // By its turn others may have answered; and what may not be sent is told when it is needed.
            _ => upstream.abandon(),
        }
    }
}

/// Whether somebody says something else than most of those who are read, as far as is known.
fn is_news(context: &RunContext, usable: &[Usable], reads: &[SeatNumber]) -> bool {
    let question = context.plan.question();
    let compared =
        |usable: &[&Usable]| Agreement::of(&question, usable.iter().map(|one| (one.seat, &*one.answer.text)));
    let (read, late): (Vec<&Usable>, Vec<&Usable>) = usable.iter().partition(|one| reads.contains(&one.seat));
    if late.is_empty() {
        return false;
    }
    let said = compared(&read);
    let Some(most) = said.as_ref().and_then(Agreement::plurality) else { return true };
    let all = compared(&[read, late.clone()].concat());
    let same = all.iter().flat_map(|all| &all.clusters).find(|cluster| cluster.seats.contains(&most[0]));
    !same.is_some_and(|same| late.iter().all(|one| same.seats.contains(&one.seat)))
}
