//! A further part of a run: seats asked again, seats added, another text of the answers.
//!
//! Invariant: a further part only adds to the plan, so the events of earlier parts keep their meaning.

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::Stage;
use crate::plan::step::{self, Step, StepRole};
use crate::plan::worst_case::WorstCase;
use crate::plan::{DayLimit, RunPlan, Terms, seats};
use crate::request::RunRequest;
use crate::request::catalogue::{Price, PriceSource};
use crate::request::panel::{SEATS_MAX, Seat, SeatNumber};
use crate::request::strategy::{ResolvedStrategy, Strategy, StrategyChoice, StrategyOptions};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::{Advice, Next, Operation};
use crate::value::warning::Warning;

/// The most synthesizers of a run in all its parts, limited by their numbers.
const SYNTHESIZERS_MAX: usize = u8::MAX as usize;

/// The state of a run before a further part.
#[derive(Clone, Copy, Debug)]
pub struct SoFar<'a> {
    /// The plan of all parts so far.
    pub plan: &'a RunPlan,
    /// The synthesizers of its newest part.
    pub chain: &'a [Seat],
    /// The most it may have cost.
    pub spent: PicoUsd,
}

/// The price of a seat or synthesizer of an earlier part, as it is today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotPrice {
    /// Whose price it is; of the model for equivalence, a step that calls it.
    pub slot: CallerSlot,
    /// The price; `None` if its source tells why there is none.
    pub price: Option<Price>,
    /// Where it comes from.
    pub source: PriceSource,
}

/// A further part of a run, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reopening {
    /// Existing seats that are asked (again).
    pub ask: Vec<SeatNumber>,
    /// New seats, numbered after those of the plan.
    #[serde(default)]
    pub seats: Vec<Seat>,
    /// New synthesizers, numbered after those of the plan. Empty if the part before was not decided, whose synthesizers are
    /// asked then.
    #[serde(default)]
    pub synthesizers: Vec<Seat>,
    /// The model that says which short answers mean the same, if the plan has none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<Seat>,
    /// The steps of the strategy, numbered after those of the plan. Empty if the part continues with the steps of the part
    /// before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The strategy that makes one text of the answers.
    pub strategy: Strategy,
    /// The options of the strategy. Stored under their first name.
    #[serde(rename = "knobs", default, skip_serializing_if = "StrategyOptions::is_default")]
    pub strategy_options: StrategyOptions,
    /// Why it is this strategy; `None` if the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_because: Option<String>,
    /// The most the whole run may cost, earlier parts included.
    pub budget: PicoUsd,
    /// The prices of today, where they differ from those of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<SlotPrice>,
    /// The limits of a day in force now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DayLimit>,
    /// Warnings about this part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Reopening {
    /// Resumes the run where it stopped.
    pub fn resume(plan: &RunPlan, ask: Vec<SeatNumber>) -> Self {
        Self {
            ask,
            seats: Vec::new(),
            synthesizers: Vec::new(),
            equivalence: None,
            steps: Vec::new(),
            strategy: plan.strategy,
            strategy_options: plan.strategy_options,
            chosen_because: plan.chosen_because.clone(),
            budget: plan.budget,
            prices: Vec::new(),
            limits: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Asks seats again after the run was decided, and makes another text with the synthesizers of `chain`, which are among
    /// those of the plan. The part may spend the rest of the budget.
    pub fn again(plan: &RunPlan, ask: Vec<SeatNumber>, chain: &[Seat]) -> Result<Self, Failure> {
        let mut synthesizers = chain.to_vec();
        number(&mut synthesizers, plan.synthesizers.len(), SYNTHESIZERS_MAX)?;
        Self { synthesizers, ..Self::resume(plan, ask) }.with_steps(plan)
    }

    /// Whether it adds no seat and makes its text as the plan says.
    pub fn asks_as(&self, plan: &RunPlan) -> bool {
        let models = |chain: &[Seat]| chain.iter().map(|seat| seat.model.clone()).collect::<Vec<_>>();
        self.seats.is_empty()
            && (self.strategy, &self.strategy_options) == (plan.strategy, &plan.strategy_options)
            // A further part does not repeat the stages of a flow.
            && (self.synthesizers.is_empty()
                || (plan.flow.is_none() && models(&self.synthesizers) == models(&plan.synthesizers)))
    }

    /// Makes another text. From `request` it takes the models (as new seats), the synthesizer, the strategy, the sampling
    /// options, and the budget, which is for this part alone.
    pub fn resolve(
        request: &RunRequest,
        terms: &Terms<'_>,
        so_far: SoFar<'_>,
        ask: Vec<SeatNumber>,
    ) -> Result<Self, Failure> {
        let plan = so_far.plan;
        let seats::Addition { mut seats, mut synthesizers, mut warnings } =
            seats::addition(request, terms, &plan.messages)?;
        number(&mut seats, plan.seats.len(), SEATS_MAX)?;
        number(&mut synthesizers, plan.synthesizers.len(), SYNTHESIZERS_MAX)?;
        let has_checker = terms.defaults.checker.is_some();
        let chosen = request.strategy.as_deref();
        let chosen =
            chosen.map(|text| ResolvedStrategy::of(text, &plan.question(), has_checker)).transpose()?;
        let ResolvedStrategy { choice: StrategyChoice { strategy, options }, why } =
            chosen.unwrap_or_else(|| ResolvedStrategy { choice: plan.strategy_choice(), why: None });
        let chosen_because = why.map(str::to_owned);
        let choice = StrategyChoice { strategy, options };
        seats::ask_for_line(&mut seats, choice, &plan.question(), terms.defaults.answer_line);
        let equivalence = if choice.counts() && plan.equivalence.is_none() {
            seats::resolve_equivalence(&[&plan.seats, &*seats].concat(), terms, &mut warnings)?
        } else {
            None
        };
        let reopening = Self {
            seats,
            synthesizers,
            equivalence,
            strategy,
            strategy_options: options,
            chosen_because,
            warnings,
            ..Self::resume(plan, ask)
        };
        let reopening = reopening.with_steps(plan)?;
        reopening.within(so_far, request.budget.unwrap_or(terms.defaults.budget))
    }

    /// Sets the budget of this part, on top of what the run has cost so far. Fails if the part may cost more.
    pub fn within(mut self, so_far: SoFar<'_>, budget: PicoUsd) -> Result<Self, Failure> {
        self.budget = so_far.spent.plus(budget);
        self.check(so_far)?;
        Ok(self)
    }

    /// The worst case of this part. Fails if it is unknown, or above what is left of the budget.
    pub fn check(&self, so_far: SoFar<'_>) -> Result<WorstCase, Failure> {
        let worst_case = self.worst_case(so_far.plan, so_far.chain);
        worst_case.check("this part of the run", self.budget_left(so_far))?;
        Ok(worst_case)
    }

    /// What this part may cost.
    pub fn budget_left(&self, so_far: SoFar<'_>) -> PicoUsd {
        if self.budget.is_unlimited() { self.budget } else { self.budget.minus(so_far.spent) }
    }

    /// Takes the prices of today for the calls of this part. A price that nobody tells any more is unknown, as for a new run.
    pub fn with_prices_of_today(&mut self, plan: &RunPlan, terms: &Terms<'_>) {
        let seats = plan.seats.iter().map(|seat| {
            let slot = CallerSlot::Seat(seat.number);
            let input_tokens = step::input_tokens_max(slot, self.steps_of(plan));
            (slot, seat, input_tokens.max(plan.size().tokens))
        });
        let chain = plan.synthesizers.iter();
        let chain = chain.map(|seat| (CallerSlot::Synthesizer(seat.number), seat, u64::MAX));
        let grouping = self.steps_of(plan).iter().find(|step| step.key.role == StepRole::Equivalence);
        let equivalence = grouping.zip(plan.equivalence.as_ref());
        let equivalence =
            equivalence.map(|(step, seat)| (CallerSlot::Step(step.number), seat, step.input_tokens_max));
        let today = seats.chain(chain).chain(equivalence).filter_map(|(slot, seat, input_tokens)| {
            let (price, source) = seats::price_of(&seat.model, input_tokens, terms);
            let differs = (price, source) != (seat.price, seat.price_source);
            differs.then_some(SlotPrice { slot, price, source })
        });
        self.prices = today.collect();
        // The chain of this part, which may be a copy of an earlier one.
        for seat in &mut self.synthesizers {
            (seat.price, seat.price_source) = seats::price_of(&seat.model, u64::MAX, terms);
        }
    }

    /// Fails if this part would go on with a strategy or option that only stored runs have.
    pub fn check_offered(&self, plan: &RunPlan) -> Result<(), Failure> {
        let flow = plan.flow.iter().filter(|_| self.synthesizers.is_empty());
        let stages = flow.flat_map(|flow| &flow.stages).map(Stage::strategy_choice);
        stages.chain([self.strategy_choice()]).try_for_each(StrategyChoice::check_offered).map_err(
            |failure| {
                let message = format!("the run cannot go on as it was asked: {}", failure.message);
                let next =
                    [Next::Use(Operation::Synthesize)].into_iter().chain(failure.next).collect::<Vec<_>>();
                Failure::new(failure.code, message).with_run(plan.run_id).with_next(next)
            },
        )
    }

    /// The strategy of this part and its options.
    pub const fn strategy_choice(&self) -> StrategyChoice {
        StrategyChoice { strategy: self.strategy, options: self.strategy_options }
    }

    /// The plan with what this part adds to it.
    #[must_use]
    pub fn extend(&self, plan: &RunPlan) -> RunPlan {
        let mut seats = [plan.seats.as_slice(), &self.seats].concat();
        let mut synthesizers = [plan.synthesizers.as_slice(), &self.synthesizers].concat();
        let mut equivalence = self.equivalence.clone().or_else(|| plan.equivalence.clone());
        for today in &self.prices {
            let seat = match today.slot {
                CallerSlot::Seat(number) => seats.get_mut(number.index()),
                CallerSlot::Synthesizer(number) => synthesizers.get_mut(number.index()),
                // No other step has a model of its own.
                CallerSlot::Step(_) => equivalence.as_mut(),
            };
            if let Some(seat) = seat {
                (seat.price, seat.price_source) = (today.price, today.source);
            }
        }
        RunPlan {
            seats,
            synthesizers,
            equivalence,
            steps: [plan.steps.as_slice(), &self.steps].concat(),
            // Another text is made of the answers of all seats at once.
            flow: plan.flow.clone().filter(|_| self.synthesizers.is_empty()),
            strategy: self.strategy,
            strategy_options: self.strategy_options,
            chosen_because: self.chosen_because.clone(),
            budget: self.budget,
            limits: self.limits.clone(),
            warnings: [plan.warnings.as_slice(), &self.warnings].concat(),
            ..plan.clone()
        }
    }

    /// The seats this part asks, and its synthesizers: its own, else `chain`, those of the part before.
    pub fn asked<'a>(&'a self, plan: &'a RunPlan, chain: &'a [Seat]) -> (Vec<&'a Seat>, &'a [Seat]) {
        let again = plan.seats.iter().filter(|seat| self.ask.contains(&seat.number));
        let chain = if self.synthesizers.is_empty() { chain } else { &self.synthesizers };
        (again.chain(&self.seats).collect(), chain)
    }

    /// The slots that are called in this part if none of them fails. `plan` already contains this part; `chain` is as for
    /// [`Reopening::asked`].
    pub fn called(&self, plan: &RunPlan, chain: &[Seat]) -> Vec<CallerSlot> {
        let (asked, chain) = self.asked(plan, chain);
        plan.called(asked, chain, self.steps_of(plan))
    }

    /// The worst case of this part. `chain` is as for [`Reopening::asked`].
    pub fn worst_case(&self, plan: &RunPlan, chain: &[Seat]) -> WorstCase {
        let (asked, chain) = self.asked(plan, chain);
        self.extend(plan).worst_case_of(asked, chain, self.steps_of(plan))
    }

    /// The most this part can cost, as far as prices are known. `chain` is as for [`Reopening::asked`].
    pub fn most(&self, plan: &RunPlan, chain: &[Seat]) -> PicoUsd {
        let (asked, chain) = self.asked(plan, chain);
        let plan = self.extend(plan);
        plan.most_of(asked, chain, self.steps_of(&plan)).min(self.budget)
    }

    /// What this part will cost if its replies are of the usual length. `chain` is as for [`Reopening::asked`].
    pub fn likely_cost(&self, plan: &RunPlan, chain: &[Seat]) -> PicoUsd {
        let (asked, chain) = self.asked(plan, chain);
        self.extend(plan).likely_cost_of(asked, chain, self.steps_of(plan))
    }

    /// The steps of this part: its own, else those of the part before.
    fn steps_of<'a>(&'a self, plan: &'a RunPlan) -> &'a [Step] {
        if self.synthesizers.is_empty() && self.steps.is_empty() { &plan.steps } else { &self.steps }
    }

    /// Adds the steps of a part that makes another text.
    fn with_steps(mut self, plan: &RunPlan) -> Result<Self, Failure> {
        let choice = self.strategy_choice();
        let seats = [plan.seats.as_slice(), &self.seats].concat();
        choice.check_seats(&seats)?;
        // The user has read the first text by now, so an early draft of the next gains nothing.
        let choice = StrategyChoice { options: StrategyOptions { early: None, ..choice.options }, ..choice };
        let groups = self.equivalence.is_some() || plan.equivalence.is_some();
        self.steps = step::planned(choice, &seats, &self.synthesizers, plan.size(), groups);
        step::number_on(&mut self.steps, plan.steps.len())?;
        self.warnings.extend(plan.flow.as_ref().map(|flow| Warning {
            code: Code::Unneeded,
            message: format!(
                "the stages of the flow `{}` are not repeated; this text is made of all answers",
                flow.name
            ),
            next: Advice::NothingIsLost.into(),
        }));
        Ok(self)
    }
}

/// Numbers new seats after the `before` existing ones.
fn number(new: &mut [Seat], before: usize, count_max: usize) -> Result<(), Failure> {
    if before + new.len() > count_max {
        return Err(Failure::new(Code::PanelSize, format!("the run would have more than {count_max} seats")));
    }
    for (seat, index) in new.iter_mut().zip(before..) {
        seat.number = SeatNumber::at(index);
    }
    Ok(())
}
