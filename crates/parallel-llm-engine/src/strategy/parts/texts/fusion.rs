//! Fusion: asks the chain of synthesizers for a text of the answers, and builds the outcome.
//!
//! Each failure is a warning; if all fail, the best answer is returned word for word. In paranoid mode the text is also made
//! with each answer left out, and the texts are compared.

mod draft;
mod leave_one_out;
mod paranoid;
mod worth;

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::prompt::reply;
use crate::request::panel::{ModelRef, Seat};
use crate::run::outcome::{Outcome, OutcomeKind, Worth};
use crate::strategy::parts::calls::call::PlannedCall;
use crate::strategy::parts::calls::shown::Shown;
use crate::strategy::parts::calls::{call, chain};
use crate::strategy::parts::choice::answers::Answers;
use crate::strategy::parts::choice::verbatim::selected;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::next::{Limit, Next};
use crate::value::warning::Warning;
use draft::FusedText;
pub(crate) use draft::{FusionCall, no_answer};

/// What the writing model is called in messages.
pub(crate) const SYNTHESIZER: &str = "synthesizer";

/// The call for an early draft of these answers in a step of the plan.
pub(crate) fn draft(context: &RunContext, slot: CallerSlot, answers: Answers<'_>) -> PlannedCall {
    FusionCall::whole(context, slot, answers.usable).call(context)
}

/// The failure of a reply to such a call without a text. A refusal is none: an optimization must not lower the quality.
pub(crate) fn lacks_text(
    context: &RunContext,
    slot: CallerSlot,
    answers: Answers<'_>,
    reply: &Answer,
) -> Option<Failure> {
    match FusionCall::whole(context, slot, answers.usable).read(context, reply) {
        Ok(draft) => reply::is_refusal(&draft.text).then(draft::refusal),
        Err(failure) => Some(failure),
    }
}

/// Fuses the answers with the first synthesizer that succeeds; if all fail, the outcome is the best answer.
pub(crate) async fn write(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let began_ms = context.deadline.elapsed_ms();
    let fuse = |synthesizer| fuse(context, synthesizer, answers.usable);
    let mut outcome = chain::ask(context, answers.usable, SYNTHESIZER, fuse).await;
    if let Some(worth) = &mut outcome.worth {
        worth.extra_ms = context.deadline.elapsed_ms().saturating_sub(began_ms);
    }
    outcome
}

/// Asks one synthesizer. After a failure the next of the chain is asked.
async fn fuse(context: &Arc<RunContext>, by: Seat, usable: &[Usable]) -> Result<Outcome, Failure> {
    let first = FusionCall::first(context, &by, usable);
    let controls = leave_one_out::controls(context, &by, usable);
    let calls =
        std::iter::once(first.call(context)).chain(controls.iter().map(|control| control.call(context)));
    let mut gave = call::all(context, calls.collect()).await.into_iter();
    let whole = first.finish(context, &by, usable, gave.next().expect("one call, one end")).await;
    if !context.plan.strategy_options.is_paranoid() {
        return whole.map(|draft| fused(context, SYNTHESIZER, &by.model, draft, usable));
    }
    if let Some(cancelled) = whole.as_ref().err().filter(|failure| failure.code == Code::Cancelled) {
        return Err(cancelled.clone());
    }
    let texts =
        controls.iter().zip(gave).map(|(control, gave)| (control, control.read(context, gave))).collect();
    paranoid::compare_controls(context, &by.model, whole, texts, usable)
}

/// Fuses with one model that is shown `shown`. `who` is what it is called in messages.
pub(crate) async fn fuse_shown(
    context: &Arc<RunContext>,
    who: &str,
    by: &Seat,
    shown: Shown,
    usable: &[Usable],
) -> Result<Outcome, Failure> {
    let writing = FusionCall::over(CallerSlot::Synthesizer(by.number), shown);
    let answer = call::make(context, writing.call(context)).await?;
    Ok(fused(context, who, &by.model, writing.read(context, &answer)?, usable))
}

/// The outcome of a fused text. `who` is what its model is called in messages.
pub(crate) fn fused(
    context: &RunContext,
    who: &str,
    by: &ModelRef,
    draft: FusedText,
    usable: &[Usable],
) -> Outcome {
    let picked = draft.picked.and_then(|seat| usable.iter().find(|one| one.seat == seat));
    if let Some(picked) = picked {
        return self::picked(context, who, by, draft, picked);
    }
    let how = match draft.base {
        Some(_) => "started from one answer and patched it from the others",
        None => "wrote it from the answers without naming the one it started from",
    };
    let reason = format!("the {who} {how}");
    let mut outcome =
        Outcome::new(OutcomeKind::Fused, reason).with_text(draft.text.as_str().into(), by.clone());
    outcome.base_seat = draft.base;
    let is_base = |one: &&Usable| Some(one.seat) == draft.base;
    outcome.base_step = usable.iter().find(is_base).and_then(|one| one.step);
    outcome.shortened = draft.shortened;
    outcome.reading = draft.reading;
    outcome.worth = draft.base.and_then(|base_seat| {
        let base = usable.iter().find(|one| one.seat == base_seat)?;
        let edit_ratio = worth::edit_ratio(&base.answer.text, &draft.text);
        let drawn_from = worth::drawn_from(base, &draft.text, usable);
        Some(Worth { base_seat, edit_ratio, drawn_from, extra_cost: draft.cost, extra_ms: 0 })
    });
    outcome.warnings = draft.warnings;
    chain::suspect(context, &mut outcome, who, &draft.suspected);
    if draft.is_truncated {
        outcome.warnings.push(Warning {
            code: Code::Incomplete,
            message: format!("the {who} reached its output cap; the text may stop early"),
            next: Next::Raise(Limit::OutputTokens).into(),
        });
    }
    outcome
}

/// The outcome of a reply that only names an answer.
fn picked(context: &RunContext, who: &str, by: &ModelRef, draft: FusedText, picked: &Usable) -> Outcome {
    let reason = format!("the {who} `{by}` named it and wrote no text of its own");
    let mut outcome = selected(context, picked, reason);
    outcome.shortened = draft.shortened;
    outcome.reading = draft.reading;
    outcome.warnings = draft.warnings;
    chain::suspect(context, &mut outcome, who, &draft.suspected);
    outcome
}
