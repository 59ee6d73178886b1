//! Early drafts: with enough answers, a synthesizer begins a text while the panel still waits for the others.
//!
//! Invariants: a draft is not withdrawn once a part of it was shown, and no part of a withdrawn draft is shown. Until its
//! first output, a late answer with another value restarts the draft with that answer.

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use super::fusion::{self, FusionCall, SYNTHESIZER};
use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::call::stop::Revocation;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::panel::gather::{Gathered, Panel, Usable, earlier};
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::request::panel::SeatNumber;
use crate::run::event::CallEnd;
use crate::run::outcome::Outcome;
use crate::run::{SeatStatus, SeatView};
use crate::strategy::parts::calls::call::PlannedCall;
use crate::strategy::parts::calls::equivalence;
use crate::strategy::parts::choice::answers::{Answers, agreement};
use crate::strategy::parts::choice::gate::is_gated;
use crate::value::answer::Failure;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// Waits for the panel, and for an early draft if the option is set.
pub(crate) async fn gather(context: &Arc<RunContext>, panel: &mut Panel) -> Gathered {
    if finished_draft(context).is_some() && !context.stop.is_cancelled() {
        // An earlier process already had a draft, made of the answers it had then.
        return Gathered::Enough;
    }
    if let Some(mut early) = Early::of(context) {
        return early.gather(panel).await;
    }
    loop {
        match panel.gather().await {
            Gathered::Unsettled => settle(context, panel).await,
            gathered => return gathered,
        }
    }
}

/// Has the short answers compared that do not settle the question, or asks the next of the seats that are held back.
async fn settle(context: &Arc<RunContext>, panel: &mut Panel) {
    if !equivalence::asked_beside(context, panel).await {
        panel.ask_next();
    }
}

/// The finished early draft that no outcome has reported yet.
pub(crate) fn finished_draft(context: &RunContext) -> Option<SeatView> {
    let given: Vec<SeatView> = context.hub.with_run(|run| run.finished_drafts().cloned().collect());
    given.into_iter().find(|view| lacks_text(context, view).is_none())
}

/// The failure of a finished draft without a text, judged by the answers it read.
fn lacks_text(context: &RunContext, view: &SeatView) -> Option<Failure> {
    let Some(reply) = &view.answer else { return Some(fusion::no_answer()) };
    let usable: Vec<Usable> = context
        .hub
        .with_run(|run| view.reads.iter().filter_map(|seat| earlier(*seat, run.seat(*seat)?)).collect());
    let agreement = agreement(context, &usable);
    let answers = Answers { usable: &usable, agreement: agreement.as_ref() };
    fusion::lacks_text(context, view.slot, answers, reply)
}

/// The outcome of a finished early draft.
pub(crate) fn outcome(context: &RunContext, answers: Answers<'_>) -> Option<Outcome> {
    let view = finished_draft(context)?;
    let shown = answers.usable;
    let draft = FusionCall::whole(context, view.slot, shown).read(context, view.answer.as_ref()?).ok()?;
    let mut outcome = fusion::fused(context, SYNTHESIZER, &view.model, draft, shown);
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
        // The part of the draft that ran beside the panel cost no extra time.
        let since_ms = ended_ms.max(view.sent_ms).unwrap_or_default();
        let until_ms = view.sent_ms.zip(view.elapsed_ms).map_or(since_ms, |(sent, elapsed)| sent + elapsed);
        worth.extra_ms = until_ms.saturating_sub(since_ms);
    }
    Some(outcome)
}

/// The cost of the early drafts for the current text; `None` if that of one is unknown.
pub(crate) fn cost(context: &RunContext) -> Option<PicoUsd> {
    context.hub.with_run(|run| run.drafts().map(SeatView::unreported_cost).sum())
}

/// Warnings about early drafts that failed.
pub(crate) fn warnings(context: &RunContext) -> Vec<Warning> {
    use SeatStatus::{Answered, Cut, Failed, Refused, Unknown};
    let ended: Vec<SeatView> =
        context.hub.with_run(|run| run.drafts().filter(|view| !view.is_reported).cloned().collect());
    let failure = |view: SeatView| match view.status {
        Cut | Failed | Refused | Unknown => view.failure,
        Answered => lacks_text(context, &view),
        _ => None,
    };
    let failures = ended.into_iter().filter_map(failure);
    failures.map(|failure| Warning::of("a text begun early failed", &failure)).collect()
}

/// The state of the early drafts of a part.
struct Early<'a> {
    context: &'a Arc<RunContext>,
    /// The synthesizer that writes them.
    by: SeatNumber,
    /// How many answers a draft needs.
    from: usize,
    /// How many drafts have been begun.
    rounds: u16,
    draft: Option<EarlyDraft>,
    /// Whether no further draft is begun, because one has ended.
    is_over: bool,
}

/// A draft under way.
struct EarlyDraft {
    slot: CallerSlot,
    /// The seats whose answers it reads.
    reads: Vec<SeatNumber>,
    revocation: Revocation,
}

impl<'a> Early<'a> {
    /// `None` if the option is not set, if the run already has an outcome (another text is not needed early), or if an earlier
    /// process has begun a draft, which is finished or lost.
    fn of(context: &'a Arc<RunContext>) -> Option<Self> {
        let from = context.plan.strategy_options.early?.into();
        let by = context.hub.with_run(|run| {
            let is_fresh = run.outcome.is_none() && run.drafts().all(|view| view.attempts == 0);
            run.chain().first().filter(|_| is_fresh).map(|by| by.number)
        })?;
        Some(Self { context, by, from, rounds: 0, draft: None, is_over: false })
    }

    /// As [`Panel::gather`], with the draft. An end waits for no commit: the panel is not done before the draft.
    async fn gather(&mut self, panel: &mut Panel) -> Gathered {
        let mut is_enough = false;
        loop {
            let gathered = if is_enough { panel.one_more().await } else { panel.more().await };
            match gathered {
                Some(Gathered::Enough) => is_enough = true,
                Some(Gathered::Unsettled) => settle(self.context, panel).await,
                Some(gathered) => return gathered,
                None => {}
            }
            let has_text = self.take_end(panel);
            // A panic in a mere optimization must not end the run.
            let update = AssertUnwindSafe(|| self.update(panel, is_enough));
            if !has_text && std::panic::catch_unwind(update).is_err() {
                self.is_over = true;
            }
            if is_enough && self.draft.is_none() && !has_text {
                return Gathered::Enough;
            }
            // A failure appears when the next call is sent, and in the report.
            let _ = self.context.log.commit().await;
            if has_text {
                return Gathered::Enough;
            }
        }
    }

    /// Takes the end of the draft if it has come. Returns whether there is a text.
    fn take_end(&mut self, panel: &mut Panel) -> bool {
        let is_draft = |slot| self.context.plan.role_of(slot) == Some(StepRole::Draft);
        let Some(end) = panel.take_other_end(is_draft) else { return false };
        let reads = self.draft.take().map(|draft| draft.reads).unwrap_or_default();
        self.is_over = true;
        match (end.end(), end.attempt()) {
            (Some(CallEnd::Answered(answer)), Some(attempt)) => {
                let usable: Vec<Usable> = in_order(panel).filter(|one| reads.contains(&one.seat)).collect();
                let agreement = agreement(self.context, &usable);
                let answers = Answers { usable: &usable, agreement: agreement.as_ref() };
                fusion::lacks_text(self.context, attempt.slot, answers, answer).is_none()
            }
            (
                Some(CallEnd::Answered(_) | CallEnd::Cut(..) | CallEnd::Failed(_) | CallEnd::Cancelled)
                | None,
                _,
            ) => false,
        }
    }

    /// Begins, keeps or restarts the draft, depending on the answers so far.
    fn update(&mut self, panel: &mut Panel, is_enough: bool) {
        let usable: Vec<Usable> = in_order(panel).collect();
        if let Some(draft) = &self.draft {
            if !has_other_value(self.context, &usable, &draft.reads) || !draft.revocation.revoke() {
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
        if !is_gated(self.context, Answers { usable: &usable, agreement: agreement.as_ref() }) {
            self.begin(panel, Answers { usable: &usable, agreement: agreement.as_ref() });
        }
    }

    /// Whether the strongest seat has not ended: no draft is made without it.
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
        let PlannedCall { slot, prompt, reveal, .. } = fusion::draft(self.context, slot, answers);
        let seat = plan.seat_at(slot).expect("every step of the plan has a model");
        let upstream = UpstreamCall::new(self.context, slot, seat, prompt, reveal);
        let (mut upstream, revocation) = upstream.revocable();
        match upstream.admit() {
            admission @ Admission::Staged(_) => {
                panel.spawn_other(upstream, admission);
                self.rounds += 1;
                let reads = answers.usable.iter().map(|one| one.seat).collect();
                self.draft = Some(EarlyDraft { slot, reads, revocation });
            }
            // A call that must wait would be too late for a draft, and a refusal will be reported when the text is needed.
            _ => upstream.abandon(),
        }
    }
}

/// The usable answers so far, in the order of the panel.
fn in_order(panel: &Panel) -> impl Iterator<Item = Usable> {
    let mut usable = panel.usable.clone();
    usable.sort_by_key(|one| one.seat);
    usable.into_iter()
}

/// Whether a late answer has another value than the largest cluster of the answers the draft reads, or may have.
fn has_other_value(context: &RunContext, usable: &[Usable], reads: &[SeatNumber]) -> bool {
    let is_read = |one: &&Usable| reads.contains(&one.seat);
    if usable.iter().all(|one| is_read(&one)) {
        return false;
    }
    let read: Vec<Usable> = usable.iter().filter(is_read).cloned().collect();
    let (read, all) = (agreement(context, &read), agreement(context, usable));
    let Some(most) = read.as_ref().and_then(Agreement::plurality) else { return true };
    let same = all.iter().flat_map(|all| &all.clusters).find(|cluster| cluster.seats.contains(&most[0]));
    let is_same = |one: &Usable| is_read(&one) || same.is_some_and(|same| same.seats.contains(&one.seat));
    !usable.iter().all(is_same)
}
