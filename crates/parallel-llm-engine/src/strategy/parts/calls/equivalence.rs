//! Short answers that are written differently go, without the answers they belong to, to one call of a cheap model, which says
//! which of them mean the same.
//!
//! Invariant: what the model does not say plainly and in time differs. So a failed call costs a synthesis or a vote, and never
//! makes two answers equal.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::call::{self, Dependents, PlannedCall};
use super::shown::{Assignment, Shown};
use crate::agreement::equivalents::{Equivalents, may_be_same, pairs};
use crate::agreement::{Agreement, AnswerText, Cluster, value_of};
use crate::call::deadline::Deadline;
use crate::call::run_context::RunContext;
use crate::call::upstream_call::UpstreamCall;
use crate::panel::gather::{Panel, Usable};
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole, VALUE_BYTES_MAX};
use crate::prompt::reply::{self, Reveal};
use crate::prompt::{self, Task};
use crate::request::panel::{ModelRef, SeatNumber};
use crate::request::strategy::Strategy;
use crate::run::{Run, SeatStatus, SeatView};
use crate::strategy::parts::choice::answers::agreement;
use crate::text::short_answer::Form;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::next::Operation;

/// How long the call may take. A cheap model needs a second or two for a few dozen tokens, and everybody waits for it.
const CALL_MAX: Duration = Duration::from_secs(20);

/// The agreement of the answers. A model is asked about short answers that are written differently, if what it says can matter.
pub(crate) async fn compared(context: &Arc<RunContext>, usable: &[Usable]) -> Option<Agreement> {
    // A draft that has ended was made of these answers, whatever a model says of them now.
    let has_draft = context.hub.with_run(|run| run.finished_drafts().next().is_some());
    if let Some(grouping) = Grouping::of(context, usable).filter(|_| !has_draft) {
        let deadline = deadline(context);
        let said = call::within(context, deadline, vec![grouping.call(context)]).await.pop();
        grouping.note(context, said.expect("one call, one end"));
    }
    agreement(context, usable)
}

/// As [`compared`], while the panel may still bring answers. Returns whether a model was asked.
pub(crate) async fn asked_beside(context: &Arc<RunContext>, panel: &mut Panel) -> bool {
    let Some(grouping) = Grouping::of(context, &panel.usable) else { return false };
    let PlannedCall { slot, prompt, reveal, .. } = grouping.call(context);
    let Some(seat) = context.plan.seat_at(slot) else { return false };
    let upstream = UpstreamCall::new(context, slot, seat, prompt, reveal);
    let mut upstream = upstream.within(deadline(context));
    let admission = upstream.admit();
    panel.spawn_other(upstream, admission);
    loop {
        tokio::select! {
            biased;
            // Any answer is enough now. The call goes on and is recorded.
            () = context.stop.hurried() => return true,
            more = panel.one_more() => if more.is_some() { return true },
        }
        if let Some(end) = panel.take_other_end(|of| of == slot) {
            grouping.note(context, call::result_of(&end));
            return true;
        }
        // A failure appears when the next call is sent, and in the report.
        let _ = context.log.commit().await;
    }
}

/// What the model said in this part of the run before this process took it over.
pub(crate) fn recorded(run: &Run) -> Equivalents {
    let mut said = Equivalents::default();
    for step in run.plan.steps.iter().filter(|step| step.key.role == StepRole::Equivalence) {
        let slot = CallerSlot::Step(step.number);
        let is_said = |view: &&SeatView| view.status == SeatStatus::Answered && !view.is_reported;
        let Some(view) = run.view(slot).filter(is_said) else { continue };
        let (extractor, form) = (run.plan.options_of(slot).extractor(), Form::of(&run.plan.question()));
        let value = |seat: &SeatNumber| {
            let answer = AnswerText::from(run.seat(*seat)?.answer.as_ref()?);
            Some(value_of(extractor, form.as_ref(), answer)?.to_string())
        };
        let values: Vec<Option<String>> = view.reads.iter().map(value).collect();
        let groups = view.answer.as_ref().and_then(|reply| groups(reply, &values));
        said.add(&view.model, groups.unwrap_or_default());
    }
    said
}

/// The values that a reply says mean the same; `None` if it says nothing. `values` are those it was shown, in the order of
/// their labels.
fn groups(reply: &Answer, values: &[Option<String>]) -> Option<Vec<Vec<String>>> {
    let labels: Vec<String> = (0..values.len()).map(prompt::label).collect();
    let value = |label: &String| values[labels.iter().position(|known| known == label)?].clone();
    let groups = reply::groups(&reply.text, &labels)?;
    Some(groups.iter().map(|group| group.iter().filter_map(value).collect()).collect())
}

/// A call about short answers.
struct Grouping {
    slot: CallerSlot,
    by: ModelRef,
    shown: Shown,
}

impl Grouping {
    /// The call about the short answers of these; `None` if there is no model, if it was asked, or if it cannot change anything.
    fn of(context: &RunContext, usable: &[Usable]) -> Option<Self> {
        let slot = next_step(context, usable.first()?.seat)?;
        let by = context.plan.equivalence.as_ref()?.model.clone();
        let answers = usable.iter().map(|one| (one.seat, AnswerText::from(one)));
        let agreement = context.agreement(answers)?;
        let clusters: Vec<&Cluster> = agreement.clusters.iter().filter(|cluster| is_short(cluster)).collect();
        let mut pairs = pairs(&clusters);
        let matters = if context.plan.strategy == Strategy::Vote {
            pairs.any(may_be_same)
        } else {
            // Nothing is left out but what all agree in.
            let is_whole = agreement.unread.is_empty() && clusters.len() == agreement.clusters.len();
            is_whole && clusters.len() > 1 && pairs.all(may_be_same)
        };
        let lines: Vec<Usable> = clusters.iter().filter_map(|cluster| line_of(cluster, usable)).collect();
        let shown = || Shown::to(context, slot, Assignment::once(Task::Equivalence), &lines);
        matters.then(|| Self { slot, by, shown: shown() })
    }

    fn call(&self, context: &RunContext) -> PlannedCall {
        context.begun_groupings.lock().push(self.slot);
        let (slot, prompt) = (self.slot, self.shown.prompt(context));
        PlannedCall { slot, prompt, reveal: Reveal::nothing(), dependents: Dependents::Nothing }
    }

    /// Notes what the model said, or why it said nothing.
    fn note(&self, context: &RunContext, said: Result<Answer, Failure>) {
        let shown = self.shown.labelled_texts();
        let values: Vec<Option<String>> = shown.map(|(_, text)| Some(text.to_owned())).collect();
        let groups = said.and_then(|reply| groups(&reply, &values).ok_or_else(unreadable));
        let mut equivalents = context.equivalents.lock();
        match groups {
            Ok(groups) => equivalents.add(&self.by, groups),
            Err(failure) => equivalents.failure = Some(failure),
        }
    }
}

fn deadline(context: &RunContext) -> Deadline {
    let call = context.deadline.call.min(Instant::now() + CALL_MAX);
    Deadline { call, ..context.deadline }
}

/// The next step that was not made yet for the panel of this seat.
fn next_step(context: &RunContext, seat: SeatNumber) -> Option<CallerSlot> {
    let plan = &context.plan;
    let stage = plan.flow.as_ref().and_then(|flow| flow.stage(flow.of_seat(seat)?));
    let first = match stage {
        Some(stage) => *stage.seats.first()?,
        None => plan.seats.first()?.number,
    };
    let slot = |round| {
        let key = StepKey { role: StepRole::Equivalence, by: CallerSlot::Seat(first), round };
        plan.step(key).map(|step| CallerSlot::Step(step.number))
    };
    let is_open = |slot: &CallerSlot| {
        context
            .hub
            .with_run(|run| run.view(*slot).is_some_and(|view| view.attempts == 0 && !view.status.is_final()))
    };
    // One that waits for its turn is not sent, and must not be made again.
    let is_begun = |slot: &CallerSlot| context.begun_groupings.lock().contains(slot);
    [1, 2].into_iter().filter_map(slot).find(is_open).filter(|slot| !is_begun(slot))
}

fn is_short(cluster: &Cluster) -> bool {
    cluster.value.as_ref().is_some_and(|value| value.len() <= VALUE_BYTES_MAX)
}

/// The first answer of a cluster, with its value in place of its text.
fn line_of(cluster: &Cluster, usable: &[Usable]) -> Option<Usable> {
    let first = usable.iter().find(|one| Some(&one.seat) == cluster.seats.first())?;
    let text = cluster.value.as_deref()?.into();
    Some(Usable { answer: Answer { text, ..first.answer.clone() }, ..first.clone() })
}

fn unreadable() -> Failure {
    Failure::new(Code::Protocol, "its reply does not say which answers mean the same")
        .with_next(Operation::ShowRun)
}
