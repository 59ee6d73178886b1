//! The context that the calls and the strategy of one run share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::agreement::equivalents::Equivalents;
use crate::agreement::{Agreement, AnswerText, Comparison};
use crate::call::deadline::Deadline;
use crate::call::hub::Hub;
use crate::call::log::RunLog;
use crate::call::retry::RetryBudget;
use crate::call::stop::{Sending, Stop};
use crate::call::text_budget::Turn;
use crate::plan::RunPlan;
use crate::plan::budget::Budget;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::Stage;
use crate::port::{Caller, Checker};
use crate::request::panel::{ModelRef, ProviderId, Seat, SeatNumber};

/// The plan, log, budget and ports of one run. Clones share everything but what a stage of a flow has of its own.
#[derive(Clone)]
pub(crate) struct RunContext {
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) checker: Option<Arc<dyn Checker>>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) log: Arc<RunLog>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) retries: Arc<RetryBudget>,
    pub(crate) turn: Arc<Turn>,
    pub(crate) deadline: Deadline,
    pub(crate) stop: Stop,
    pub(crate) sending: Sending,
    /// Providers that refused their key in this part of the run. Every other call with the key would fail the same way.
    pub(crate) refused_keys: Arc<Mutex<BTreeSet<ProviderId>>>,
    /// Whether the first commit of this part is durable. Its requests were checked against the limits of the day together.
    pub(crate) has_begun: Arc<AtomicBool>,
    /// How the answers to the question are compared, once it is known.
    pub(crate) comparison: Arc<OnceLock<Comparison>>,
    /// What a model said in this part of short answers that are written differently.
    pub(crate) equivalents: Arc<Mutex<Equivalents>>,
    /// The calls about short answers that this part has begun, sent or not.
    pub(crate) begun_groupings: Arc<Mutex<Vec<CallerSlot>>>,
    /// The stage of a flow that is executed; `None` for the run as a whole.
    pub(crate) scope: Option<Arc<StageScope>>,
}

/// What a stage of a flow has of its own, besides the strategy in its plan.
pub(crate) struct StageScope {
    /// Its synthesizers.
    pub(crate) chain: Vec<Seat>,
    /// How many answers it may have: of its seats, and of the stages it reads.
    pub(crate) asked: usize,
    /// Whether its text is that of the run, so that it may be shown while it is written.
    pub(crate) is_last: bool,
    /// The texts it reads.
    pub(crate) texts: Vec<StageText>,
}

/// The text of a stage as an answer among others.
pub(crate) struct StageText {
    /// The number it has among the answers.
    pub(crate) number: SeatNumber,
    /// The name of the stage.
    pub(crate) stage: String,
    /// The model that wrote it.
    pub(crate) author: ModelRef,
}

impl RunContext {
    /// Whether each further request must be checked against the limits of the day.
    pub(crate) fn checks_day_limits(&self) -> bool {
        !self.plan.limits.is_empty() && self.has_begun.load(Ordering::Relaxed)
    }

    /// The context of a stage of the flow: the same run, with a plan and a deadline of its own.
    pub(crate) fn of_stage(&self, stage: &Stage, deadline: Deadline, scope: StageScope) -> Self {
        let plan = RunPlan {
            strategy: stage.strategy,
            strategy_options: stage.strategy_options,
            ..RunPlan::clone(&self.plan)
        };
        Self { plan: Arc::new(plan), deadline, scope: Some(Arc::new(scope)), ..self.clone() }
    }

    /// How the answers to the question are compared.
    pub(crate) fn comparison(&self) -> &Comparison {
        self.comparison.get_or_init(|| Comparison::of(&self.plan.question()))
    }

    /// The agreement of these answers; `None` as for [`Agreement::of`].
    pub(crate) fn agreement<'a>(
        &self,
        answers: impl IntoIterator<Item = (SeatNumber, AnswerText<'a>)>,
    ) -> Option<Agreement> {
        let agreement = Agreement::by(self.plan.strategy_options.extractor(), self.comparison(), answers)?;
        Some(self.equivalents.lock().merge(agreement))
    }

    /// The synthesizers to ask, in this order.
    pub(crate) fn chain(&self) -> Vec<Seat> {
        match &self.scope {
            Some(scope) => scope.chain.clone(),
            None => self.hub.with_run(|run| run.chain().to_vec()),
        }
    }

    /// The slots of these synthesizers.
    pub(crate) fn chain_slots(&self) -> Vec<CallerSlot> {
        let slots = |chain: &[Seat]| chain.iter().map(|seat| CallerSlot::Synthesizer(seat.number)).collect();
        match &self.scope {
            Some(scope) => slots(&scope.chain),
            None => self.hub.with_run(|run| slots(run.chain())),
        }
    }

    /// Whether only one answer could come.
    pub(crate) fn is_of_one(&self) -> bool {
        self.scope.as_ref().map_or(self.plan.seats.len(), |scope| scope.asked) == 1
    }

    /// Whether the text of the strategy is that of the run.
    pub(crate) fn is_last(&self) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.is_last)
    }

    /// The model that gave an answer.
    pub(crate) fn author(&self, seat: SeatNumber) -> &ModelRef {
        self.text_of(seat).map_or_else(|| &self.plan.seats[seat.index()].model, |text| &text.author)
    }

    /// What an answer is called in messages: ``seat 3``, or ``the stage `a` ``.
    pub(crate) fn called(&self, seat: SeatNumber) -> String {
        self.text_of(seat)
            .map_or_else(|| format!("seat {seat}"), |text| format!("the stage `{}`", text.stage))
    }

    /// The text of a stage that has this number among the answers; `None` for a seat.
    pub(crate) fn text_of(&self, seat: SeatNumber) -> Option<&StageText> {
        self.scope.as_ref()?.texts.iter().find(|text| text.number == seat)
    }
}
