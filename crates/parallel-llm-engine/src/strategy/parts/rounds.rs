//! Further rounds: every seat that answered is asked again, by its own model, and shown what the others have said.
//!
//! What always holds: a seat whose further call fails keeps the newest answer it has, and nobody is asked again once all
//! say the same. No round may use up the time of what comes after it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::Task;
use crate::prompt::reply::Reveal;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Outcome, Round};
use crate::strategy::parts::answers::{Answers, agreement};
use crate::strategy::parts::call::{self, PlannedCall, Rests};
use crate::strategy::parts::gate::is_gated;
use crate::strategy::parts::shown::{Assignment, Limited, Shown, limited};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// What the seats are asked for in a round.
#[derive(Clone, Copy)]
pub(crate) struct Again {
    pub(crate) role: StepRole,
    pub(crate) task: Task,
    /// The word for one round.
    pub(crate) word: &'static str,
    /// How much is to come after the last round, of the time that a round has.
    pub(crate) after: u32,
}

/// How things stand after some rounds.
pub(crate) struct AfterRounds {
    /// The newest answer of every seat, in the order of the panel.
    newest: Vec<Usable>,
    /// Which of these say the same.
    agreement: Option<Agreement>,
    /// What came of each round.
    pub(crate) rounds: Vec<Round>,
    warnings: Vec<Warning>,
    steps: Vec<StepNumber>,
}

/// Asks round after round until all say the same, nobody answers any more, or there is no further one. A failure is that of
/// the whole run.
pub(crate) async fn ask(
    context: &Arc<RunContext>,
    answers: Answers<'_>,
    again: Again,
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
        // Where nobody has answered, the next round would ask the same once more.
        if is_gated(context, after.agreement.as_ref()) || after.is_silent() {
            break;
        }
        after.ask_again(context, again, round, left).await?;
    }
    Ok(after)
}

impl AfterRounds {
    /// Whether nobody gave another answer in the newest round.
    pub(crate) fn is_silent(&self) -> bool {
        self.rounds.last().is_some_and(|round| round.answered.is_empty())
    }

    /// What the calls of all rounds cost; `None` where one is not known.
    pub(crate) fn cost(&self, context: &RunContext) -> Option<PicoUsd> {
        call::cost(context, self.steps.iter().map(|step| CallerSlot::Step(*step)))
    }

    /// The newest answers, and which of them say the same.
    pub(crate) fn answers(&self) -> Answers<'_> {
        Answers { usable: &self.newest, agreement: self.agreement.as_ref() }
    }

    /// What came of the newest answers, with the story of the rounds.
    pub(crate) fn with_story(mut self, outcome: Outcome) -> Outcome {
        self.warnings.extend(outcome.warnings);
        Outcome { rounds: self.rounds, warnings: self.warnings, ..outcome }
    }

    /// Asks once more, with so many rounds left, this one included.
    async fn ask_again(
        &mut self,
        context: &Arc<RunContext>,
        again: Again,
        round: u16,
        left: u32,
    ) -> Result<(), Failure> {
        let round_name = format!("{} {round}", again.word);
        let (mut asked, mut calls): (Vec<(SeatNumber, StepNumber)>, Vec<PlannedCall>) =
            (Vec::new(), Vec::new());
        let Limited { shown: read, unshown } = limited(context, self.answers());
        for one in &self.newest {
            let key = StepKey { role: again.role, by: CallerSlot::Seat(one.seat), round };
            let Some(step) = context.plan.step(key).map(|step| step.number) else { continue };
            let slot = CallerSlot::Step(step);
            let shown = Shown::to(context, slot, Assignment::once(again.task), &read);
            self.warnings.extend(shortened(one.seat, &round_name, &shown));
            let messages = shown.messages(context);
            calls.push(PlannedCall { slot, messages, reveal: Reveal::all(), rests: Rests::Nothing });
            asked.push((one.seat, step));
        }
        self.steps.extend(asked.iter().map(|(_, step)| *step));
        let gave = call::within(context, context.deadline.shared_by(left + again.after), calls).await;
        let is_over = |gave: &&Result<Answer, Failure>| {
            gave.as_ref().is_err_and(|failure| failure.code == Code::Cancelled)
        };
        if let Some(Err(cancelled)) = gave.iter().find(is_over) {
            return Err(cancelled.clone());
        }
        let before = (self.newest.clone(), self.agreement.take());
        let mut answered = Vec::new();
        for ((seat, step), gave) in asked.into_iter().zip(gave) {
            match gave {
                Ok(answer) => {
                    answered.push(seat);
                    let own = self.newest.iter_mut().find(|one| one.seat == seat);
                    *own.expect("whoever is asked again has answered") =
                        Usable { seat, answer, cut: false, step: Some(step) };
                }
                Err(failure) => {
                    let what =
                        format_args!("seat {seat} gave no answer in {round_name} and keeps the one it had");
                    self.warnings.push(Warning::of(what, &failure));
                }
            }
        }
        self.agreement = agreement(context, &self.newest);
        self.rounds.push(Round { round, unshown, ..self.compared(context, &before, answered) });
        Ok(())
    }

    /// Holds the newest answers of the seats that gave one against those before.
    fn compared(
        &self,
        context: &RunContext,
        (before, agreement): &(Vec<Usable>, Option<Agreement>),
        answered: Vec<SeatNumber>,
    ) -> Round {
        let question = context.plan.question();
        let text = |answers: &[Usable], seat: SeatNumber| {
            let one = answers.iter().find(|one| one.seat == seat);
            one.map(|one| Arc::clone(&one.answer.text)).expect("whoever is asked again has answered")
        };
        let most = agreement.as_ref().and_then(Agreement::plurality).map(|seats| text(before, seats[0]));
        let mut round = Round { equal: self.equal(), of: self.newest.len(), ..Round::default() };
        for seat in &answered {
            let now = text(&self.newest, *seat);
            match Agreement::between(&question, &text(before, *seat), &now) {
                Some(true) => {}
                Some(false) => {
                    round.changed.push(*seat);
                    let is_followed =
                        |most: &Arc<str>| Agreement::between(&question, most, &now) == Some(true);
                    round.followed.extend(most.as_ref().filter(|most| is_followed(most)).map(|_| *seat));
                }
                None => round.untold.push(*seat),
            }
        }
        Round { answered, ..round }
    }

    fn equal(&self) -> usize {
        self.agreement.as_ref().map_or(0, |agreement| agreement.equal)
    }
}

/// Tells that a seat was shown answers only in part.
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
