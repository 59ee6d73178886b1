//! Further layers: every seat that answered is asked again and shown all answers.
//!
//! Invariants: a seat whose call fails keeps its newest answer; no seat is asked again once all agree; no round uses up the
//! time of the rounds after it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::written::{self, WrittenText};
use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::Task;
use crate::prompt::reply::Reveal;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Outcome, Round};
use crate::strategy::parts::calls::call::{self, Dependents, PlannedCall};
use crate::strategy::parts::calls::shown::{Assignment, Shown};
use crate::strategy::parts::choice::answers::{Answers, agreement};
use crate::strategy::parts::choice::gate::is_gated;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// The state after some rounds.
pub(crate) struct AfterRounds {
    /// The newest answer of every seat, in the order of the panel.
    newest: Vec<Usable>,
    /// Their agreement.
    agreement: Option<Agreement>,
    /// The result of each round.
    pub(crate) rounds: Vec<Round>,
    warnings: Vec<Warning>,
    steps: Vec<StepNumber>,
}

/// Asks in rounds until all agree, no seat answers any more, or the last round is over. An error ends the whole run.
pub(crate) async fn ask(
    context: &Arc<RunContext>,
    answers: Answers<'_>,
    rounds: RangeInclusive<u16>,
) -> Result<AfterRounds, Failure> {
    let mut after = AfterRounds {
        newest: answers.usable.to_vec(),
        agreement: answers.agreement.cloned(),
        rounds: Vec::new(),
        warnings: Vec::new(),
        steps: Vec::new(),
    };
    for (round, left) in rounds.clone().zip((1..=u32::from(rounds.end() - rounds.start()) + 1).rev()) {
        // If no seat answered, the next round would ask exactly the same again.
        if is_gated(context, after.answers()) || after.is_silent() {
            break;
        }
        after.ask_again(context, round, left).await?;
    }
    Ok(after)
}

impl AfterRounds {
    /// Whether no seat answered in the newest round.
    pub(crate) fn is_silent(&self) -> bool {
        self.rounds.last().is_some_and(|round| round.answered.is_empty())
    }

    /// The cost of the calls of all rounds; `None` if that of one is unknown.
    pub(crate) fn cost(&self, context: &RunContext) -> Option<PicoUsd> {
        call::cost(context, self.steps.iter().map(|step| CallerSlot::Step(*step)))
    }

    /// The newest answers with their agreement.
    pub(crate) fn answers(&self) -> Answers<'_> {
        Answers { usable: &self.newest, agreement: self.agreement.as_ref() }
    }

    /// Adds the rounds and their warnings to an outcome.
    pub(crate) fn with_rounds(mut self, outcome: Outcome) -> Outcome {
        self.warnings.extend(outcome.warnings);
        Outcome { rounds: self.rounds, warnings: self.warnings, ..outcome }
    }

    /// Asks one more round. `left` is the number of rounds left, including this one.
    async fn ask_again(&mut self, context: &Arc<RunContext>, round: u16, left: u32) -> Result<(), Failure> {
        let round_name = format!("layer {round}");
        let (mut asked, mut calls): (Vec<(SeatNumber, StepNumber, Shown)>, Vec<PlannedCall>) =
            (Vec::new(), Vec::new());
        for one in &self.newest {
            let key = StepKey { role: StepRole::Proposer, by: CallerSlot::Seat(one.seat), round };
            let Some(step) = context.plan.step(key).map(|step| step.number) else { continue };
            let slot = CallerSlot::Step(step);
            let shown = Shown::to(context, slot, Assignment::once(Task::Propose), &self.newest);
            self.warnings.extend(shortened(one.seat, &round_name, &shown));
            let prompt = shown.prompt(context);
            calls.push(PlannedCall { slot, prompt, reveal: Reveal::all(), dependents: Dependents::Nothing });
            asked.push((one.seat, step, shown));
        }
        self.steps.extend(asked.iter().map(|(_, step, _)| *step));
        // A further share, as long as a layer, is kept for the synthesizer.
        let gave = call::within(context, context.deadline.shared_by(left + 1), calls).await;
        let is_over = |gave: &&Result<Answer, Failure>| {
            gave.as_ref().is_err_and(|failure| failure.code == Code::Cancelled)
        };
        if let Some(Err(cancelled)) = gave.iter().find(is_over) {
            return Err(cancelled.clone());
        }
        let (before, agreement_before) = (self.newest.clone(), self.agreement.take());
        let mut answered = Vec::new();
        for ((seat, step, shown), gave) in asked.into_iter().zip(gave) {
            let own = self.newest.iter_mut().find(|one| one.seat == seat);
            let own = own.expect("every seat that is asked again has answered");
            match gave.and_then(|answer| above_floor(context, &shown, own, answer)) {
                Ok(answer) => {
                    answered.push(seat);
                    *own = Usable { seat, answer, cut: false, step: Some(step) };
                }
                Err(failure) => {
                    let what =
                        format_args!("seat {seat} gave no answer in {round_name} and keeps the one it had");
                    self.warnings.push(Warning::of(what, &failure));
                }
            }
        }
        self.agreement = agreement(context, &self.newest);
        self.rounds
            .push(Round { round, ..self.compared(context, &before, agreement_before.as_ref(), answered) });
        Ok(())
    }

    /// Compares the answers of this round with those before and their agreement.
    fn compared(
        &self,
        context: &RunContext,
        before: &[Usable],
        agreement_before: Option<&Agreement>,
        answered: Vec<SeatNumber>,
    ) -> Round {
        let comparison = context.comparison();
        let text = |answers: &[Usable], seat: SeatNumber| {
            let one = answers.iter().find(|one| one.seat == seat);
            one.map(|one| Arc::clone(&one.answer.text)).expect("every seat that is asked again has answered")
        };
        let most = agreement_before.and_then(Agreement::plurality).map(|seats| text(before, seats[0]));
        let mut round = Round { equal: self.equal(), of: self.newest.len(), ..Round::default() };
        for seat in &answered {
            let now = text(&self.newest, *seat);
            match Agreement::between(comparison, &text(before, *seat), &now) {
                Some(true) => {}
                Some(false) => {
                    round.changed.push(*seat);
                    let is_followed =
                        |most: &Arc<str>| Agreement::between(comparison, most, &now) == Some(true);
                    round.followed.extend(most.as_ref().filter(|most| is_followed(most)).map(|_| *seat));
                }
                None => round.undetermined.push(*seat),
            }
        }
        Round { answered, ..round }
    }

    fn equal(&self) -> usize {
        self.agreement.as_ref().map_or(0, |agreement| agreement.equal)
    }
}

/// A new answer of a seat, unless the one it had serves better. A label is none: whose answer a seat prefers is not its own.
fn above_floor(context: &RunContext, shown: &Shown, own: &Usable, answer: Answer) -> Result<Answer, Failure> {
    let is_whole = !own.cut && !own.answer.truncated();
    match written::judge(context, shown, &answer, &answer.text, is_whole)? {
        WrittenText::Text(_) => Ok(answer),
        WrittenText::Pick(named) => {
            let message = format!("it only names the answer of {}", context.called(named));
            Err(Failure::new(Code::SynthesisUnusable, message))
        }
    }
}

/// The warning that a seat was shown answers only in part.
fn shortened(seat: SeatNumber, round_name: &str, shown: &Shown) -> Option<Warning> {
    let count = shown.shortened.len();
    (count > 0).then(|| Warning {
        code: Code::ContextLength,
        message: format!(
            "seat {seat} was shown {count} answers shortened in {round_name}, to fit its context"
        ),
        next: Code::ContextLength.next().to_owned(),
    })
}
