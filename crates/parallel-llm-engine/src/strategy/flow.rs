//! Executes the stages of a flow, each by its own strategy, as soon as what it reads is there.
//!
//! A stage is executed by the strategies as they are, in a narrowed context: to them, a text that is read is an answer like
//! any other, under a number above those of all seats. Invariants: a stage that is decided is not made again; no such
//! number leaves its stage; a text is durable before it is sent to a model.

mod in_seats;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::parts::calls::equivalence::compared;
use super::parts::choice::answers::Answers;
use super::parts::choice::verbatim::fallback;
use crate::call::run_context::{RunContext, StageScope, StageText};
use crate::panel::gather::Usable;
use crate::plan::flow::{PlannedFlow, Stage, StageNumber, chain_of, stand_in};
use crate::run::event::Event;
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::warning::Warning;
use in_seats::in_seats;

/// A stage that is executed, or a commit.
type Running<'a> = BoxFuture<'a, Option<(StageNumber, Outcome)>>;

/// The outcome of the last stage. `usable` are the answers of all panels; there is at least one.
pub(super) async fn decide(context: &Arc<RunContext>, flow: &PlannedFlow, usable: &[Usable]) -> Outcome {
    let mut stages = Stages::new(context, flow, usable);
    let mut running: FuturesUnordered<Running<'_>> = stages.begin().into_iter().collect();
    while let Some(ended) = running.next().await {
        let Some((number, outcome)) = ended else { continue };
        stages.outcomes[number.index()] = Some(Arc::new(outcome));
        let next = stages.begin();
        if next.is_empty() && !running.is_empty() {
            // No call follows yet whose commit it could share, and it is paid for. A failed write appears when the next
            // call is sent. Always awaited to its end, because a dropped commit would lose the events it has taken.
            let log = Arc::clone(&context.log);
            running.push(async move { log.commit().await.ok().and(None) }.boxed());
        }
        running.extend(next);
    }
    stages.outcome()
}

/// The stages of a flow, and what they came to so far.
struct Stages<'a> {
    context: &'a Arc<RunContext>,
    flow: &'a PlannedFlow,
    usable: &'a [Usable],
    begun: Vec<bool>,
    outcomes: Vec<Option<Arc<Outcome>>>,
}

impl<'a> Stages<'a> {
    fn new(context: &'a Arc<RunContext>, flow: &'a PlannedFlow, usable: &'a [Usable]) -> Self {
        let count = flow.stages.len();
        Self { context, flow, usable, begun: vec![false; count], outcomes: vec![None; count] }
    }

    /// Begins every stage whose inputs are there. A cancelled run begins none.
    fn begin(&mut self) -> Vec<Running<'a>> {
        let mut begun = Vec::new();
        for (number, stage) in self.flow.numbered() {
            let index = number.index();
            if self.begun[index] || self.cancellation().is_some() {
                continue;
            }
            let read = stage.from.iter().map(|read| Some((*read, self.outcomes[read.index()].clone()?)));
            let Some(texts) = read.collect::<Option<Vec<_>>>() else { continue };
            self.begun[index] = true;
            let own = self.usable.iter().filter(|one| stage.seats.contains(&one.seat)).cloned();
            let run = StageRun {
                context: self.context,
                flow: self.flow,
                number,
                stage,
                answers: own.chain(texts.iter().filter_map(|text| answer(self.usable, text))).collect(),
                texts,
            };
            begun.push(async move { Some((number, run.decide().await)) }.boxed());
        }
        begun
    }

    /// The failure of a stage that was cancelled.
    fn cancellation(&self) -> Option<&Failure> {
        let mut failures = self.outcomes.iter().flatten().filter_map(|outcome| outcome.failure.as_ref());
        failures.find(|failure| failure.code == Code::Cancelled)
    }

    /// The outcome of the last stage, with what its readers must know of the others.
    fn outcome(self) -> Outcome {
        if let Some(cancelled) = self.cancellation() {
            return Outcome::none(cancelled.clone());
        }
        let (Some(Some(last)), earlier) = (self.outcomes.last(), self.outcomes.iter().flatten()) else {
            return fallback(self.context, self.usable);
        };
        let mut outcome = Outcome::clone(last);
        let mut warnings = Vec::new();
        for (stage, decided) in self.flow.stages.iter().zip(earlier).take(self.flow.stages.len() - 1) {
            warnings.extend(warnings_of(&stage.name, decided));
            for suspicion in &decided.suspected {
                suspicion.signs.iter().for_each(|sign| outcome.suspect(suspicion.seat, *sign));
            }
        }
        outcome.warnings.splice(..0, warnings);
        outcome
    }
}

/// The warnings of a stage, by its name.
fn warnings_of(name: &str, outcome: &Outcome) -> Vec<Warning> {
    let failed = outcome.failure.iter().map(|why| ("gave no text", why));
    let unfused = outcome.unfused.iter().map(|why| ("fell back to one answer", why));
    let own =
        failed.chain(unfused).map(|(what, why)| Warning::of(format_args!("the stage `{name}` {what}"), why));
    let told = outcome.warnings.iter().cloned();
    let told =
        told.map(|warning| Warning { message: format!("stage `{name}`: {}", warning.message), ..warning });
    told.chain(own).collect()
}

/// The text of a stage as an answer; `None` if it has none.
fn answer(usable: &[Usable], (number, outcome): &(StageNumber, Arc<Outcome>)) -> Option<Usable> {
    let answer = Answer::new(Arc::clone(outcome.text.as_ref()?));
    let is_base = |one: &&Usable| Some(one.seat) == outcome.base_seat && outcome.base_step.is_none();
    let base = usable.iter().find(is_base).filter(|_| outcome.kind != OutcomeKind::Fused);
    let stops_early = base.map_or_else(
        || outcome.warnings.iter().any(|warning| warning.code == Code::Incomplete),
        |base| base.cut || base.answer.truncated(),
    );
    Some(Usable { seat: stand_in(*number), answer, cut: stops_early, step: None })
}

/// A stage that is executed.
struct StageRun<'a> {
    context: &'a Arc<RunContext>,
    flow: &'a PlannedFlow,
    number: StageNumber,
    stage: &'a Stage,
    /// What it makes one text of: the answers of its seats, or the texts it reads.
    answers: Vec<Usable>,
    /// What the stages it reads came to.
    texts: Vec<(StageNumber, Arc<Outcome>)>,
}

impl StageRun<'_> {
    /// What the stage comes to: as recorded, if an earlier process decided it.
    async fn decide(self) -> Outcome {
        let Self { context, number, .. } = self;
        let decided =
            |run: &crate::run::Run| run.stages.get(number.index()).and_then(|view| view.settled().cloned());
        if let Some(outcome) = context.hub.with_run(decided) {
            return outcome;
        }
        let outcome =
            if self.answers.is_empty() { Outcome::none(self.nothing()) } else { self.by_strategy().await };
        let is_cancelled = outcome.failure.as_ref().is_some_and(|failure| failure.code == Code::Cancelled);
        // The outcome of the last stage is that of the run, whose event follows without an `await`.
        if number != self.flow.last() && !is_cancelled {
            context.log.stage(Event::StageDecided { stage: number, outcome: Box::new(outcome.clone()) });
        }
        outcome
    }

    async fn by_strategy(&self) -> Outcome {
        let context = Arc::new(self.narrowed());
        let agreement = compared(&context, &self.answers).await;
        let answers = Answers { usable: &self.answers, agreement: agreement.as_ref() };
        let decided = Box::pin(super::by_strategy(&context, answers));
        let decided = AssertUnwindSafe(decided).catch_unwind().await;
        let outcome = decided.unwrap_or_else(|_| fallback(&context, &self.answers));
        let considered = self.answers.iter().map(|one| one.seat).collect();
        let agreement = outcome.agreement.clone().or(agreement);
        in_seats(Outcome { considered, agreement, ..outcome }, &self.texts)
    }

    /// The context of the run, narrowed to the stage.
    fn narrowed(&self) -> RunContext {
        let text = |(number, outcome): &(StageNumber, Arc<Outcome>)| {
            let stage = self.flow.stage(*number)?.name.clone();
            Some(StageText { number: stand_in(*number), stage, author: outcome.by.clone()? })
        };
        let scope = StageScope {
            chain: chain_of(self.stage, &self.context.plan.synthesizers).to_vec(),
            asked: self.stage.seats.len() + self.stage.from.len(),
            is_last: self.number == self.flow.last(),
            texts: self.texts.iter().filter_map(text).collect(),
        };
        // Each stage that follows gets as much of the time that is left as this one.
        let deadline = self.context.deadline.share(self.flow.stages_left(self.number));
        self.context.of_stage(self.stage, deadline, scope)
    }

    /// Why there is nothing to make a text of.
    fn nothing(&self) -> Failure {
        let why = if self.stage.from.is_empty() {
            "no model of it answered"
        } else {
            "no stage that it reads has a text"
        };
        Failure::new(Code::AllFailed, why)
    }
}
