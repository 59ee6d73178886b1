//! The caller slots of a plan: which model each calls, and the most a request can cost.

use std::borrow::Cow;

use super::RunPlan;
use crate::plan::budget;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::{PlannedFlow, chain_of};
use crate::plan::step::{Step, StepKey, StepRole, longest_tokens};
use crate::plan::worst_case::WorstCase;
use crate::prompt::reply::OBJECTIONS_BYTES_MAX;
use crate::request::catalogue::PriceSource;
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::request::strategy::{Calls, StrategyChoice, StrategyOptions};
use crate::value::money::PicoUsd;
use crate::value::usage::tokens_in;

/// The length of a reply in an estimate, with a little reasoning.
pub const TYPICAL_REPLY_TOKENS: u32 = 1_500;

impl RunPlan {
    /// The seat whose model a slot calls.
    pub fn seat_at(&self, slot: CallerSlot) -> Option<&Seat> {
        match slot {
            CallerSlot::Seat(number) => self.seats.get(number.index()),
            CallerSlot::Synthesizer(number) => self.synthesizers.get(number.index()),
            CallerSlot::Step(number) => match self.steps.get(number.index())?.key {
                StepKey { role: StepRole::Equivalence, .. } => self.equivalence.as_ref(),
                // A step is by a seat or a synthesizer, so this goes one level deep.
                StepKey { by, .. } => self.seat_at(by),
            },
        }
    }

    /// The seats of all models it may call: of the panel, the synthesizers, and the one for equivalence.
    pub fn models(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter().chain(&self.synthesizers).chain(&self.equivalence)
    }

    /// The role of the step in a slot; `None` for other slots.
    pub(crate) fn role_of(&self, slot: CallerSlot) -> Option<StepRole> {
        self.step_at(slot).map(|step| step.key.role)
    }

    /// The step in a slot; `None` for other slots.
    pub(crate) fn step_at(&self, slot: CallerSlot) -> Option<&Step> {
        match slot {
            CallerSlot::Step(number) => self.steps.get(number.index()),
            CallerSlot::Seat(_) | CallerSlot::Synthesizer(_) => None,
        }
    }

    /// The newest step with this key.
    pub(crate) fn step(&self, key: StepKey) -> Option<&Step> {
        self.steps.iter().rfind(|step| step.key == key)
    }

    /// The slots that are called if none of them fails: these seats, the first of `chain` if the strategy fuses, and those of
    /// `steps` that are not spare. In a flow, every stage with several inputs has its own chain.
    pub fn called<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> Vec<CallerSlot> {
        let asked = asked.into_iter().map(|seat| CallerSlot::Seat(seat.number));
        let fusers: Vec<&Seat> = match &self.flow {
            Some(flow) => self.fusers(flow),
            None => self.strategy.fusers(chain).first().into_iter().collect(),
        };
        let fusers = fusers.into_iter().map(|seat| CallerSlot::Synthesizer(seat.number));
        let steps = steps.iter().filter(|step| !step.is_spare).map(|step| CallerSlot::Step(step.number));
        asked.chain(fusers).chain(steps).collect()
    }

    /// The first of the chain of each stage that fuses. A single input is not fused.
    fn fusers(&self, flow: &PlannedFlow) -> Vec<&Seat> {
        let fusing = flow.stages.iter().filter(|stage| stage.inputs() > 1);
        let chains = fusing.map(|stage| stage.strategy.fusers(chain_of(stage, &self.synthesizers)));
        chains.filter_map(<[Seat]>::first).collect()
    }

    /// The options of the strategy that a slot belongs to.
    pub(crate) fn options_of(&self, slot: CallerSlot) -> StrategyOptions {
        let stage = self.flow.as_ref().and_then(|flow| flow.stage(flow.of_slot(self, slot)?));
        stage.map_or(self.strategy_options, |stage| stage.strategy_options)
    }

    /// What the strategy of a synthesizer makes one text of, and the options of the strategy.
    fn inputs_of(&self, synthesizer: SeatNumber) -> (Cow<'_, [Seat]>, StrategyChoice) {
        let of_stage = self.flow.as_ref().and_then(|flow| {
            let number = flow.of_synthesizer(synthesizer)?;
            let inputs = flow.inputs(&self.seats, &self.synthesizers).swap_remove(number.index());
            Some((Cow::Owned(inputs), flow.stage(number)?.strategy_choice()))
        });
        of_stage.unwrap_or((Cow::Borrowed(&self.seats), self.strategy_choice()))
    }

    /// The worst case of these slots. Its amount is that of the calls made if none fails; what others cost is reserved when
    /// they are made. It is known only if the price of every model that may be called is, also of those called if another
    /// fails.
    pub fn worst_case_of<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat> + Clone,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> WorstCase {
        let called = self.called(asked.clone(), chain, steps);
        let known: PicoUsd = called.into_iter().filter_map(|slot| self.worst_request(slot)).sum();
        let may_be = self.callable(asked, chain, steps).into_iter().filter_map(|slot| {
            let model = &self.seat_at(slot)?.model;
            Some(WorstCase::of(model, self.worst_request(slot).map(|_| PicoUsd::ZERO)))
        });
        may_be.sum::<WorstCase>().plus(&WorstCase::Known(known))
    }

    /// The models whose price is an estimate from another provider's list, each once.
    pub fn estimated(&self) -> Vec<ModelRef> {
        let mut models: Vec<ModelRef> = Vec::new();
        for seat in self.models().filter(|seat| seat.price_source == PriceSource::Estimate) {
            if !models.contains(&seat.model) {
                models.push(seat.model.clone());
            }
        }
        models
    }

    /// The slots that may be called: those of [`Self::called`], and those called if others fail.
    fn callable<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> Vec<CallerSlot> {
        let asked = asked.into_iter().map(|seat| CallerSlot::Seat(seat.number));
        let fusers: Vec<&Seat> = match &self.flow {
            Some(flow) => {
                let fusing = flow.stages.iter().filter(|stage| stage.inputs() > 1);
                fusing.flat_map(|stage| stage.strategy.fusers(chain_of(stage, &self.synthesizers))).collect()
            }
            None => self.strategy.fusers(chain).iter().collect(),
        };
        let fusers = fusers.into_iter().map(|seat| CallerSlot::Synthesizer(seat.number));
        asked.chain(fusers).chain(steps.iter().map(|step| CallerSlot::Step(step.number))).collect()
    }

    /// The cost of the run if every reply has [`TYPICAL_REPLY_TOKENS`] or its cap, and no call is saved or repeated, as
    /// far as prices are known.
    pub fn likely_cost(&self) -> PicoUsd {
        self.likely_cost_of(&self.seats, &self.synthesizers, &self.steps)
    }

    /// The likely cost of these slots, as [`Self::likely_cost`].
    pub fn likely_cost_of<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> PicoUsd {
        let mut plan = self.clone();
        for seat in plan.seats.iter_mut().chain(&mut plan.synthesizers) {
            seat.max_tokens = seat.max_tokens.min(TYPICAL_REPLY_TOKENS);
        }
        let answers = u64::from(TYPICAL_REPLY_TOKENS) * self.seats.len() as u64;
        for step in &mut plan.steps {
            step.input_tokens_max = step.input_tokens_max.min(2 * tokens_in(self.input_bytes()) + answers);
        }
        self.called(asked, chain, steps).into_iter().filter_map(|slot| plan.worst_request(slot)).sum()
    }

    /// The most one request of this slot can cost; `None` if its price is unknown. A seat reads the conversation and its
    /// persona prompt; a synthesizer or step reads answers as well.
    pub fn worst_request(&self, slot: CallerSlot) -> Option<PicoUsd> {
        let seat = self.seat_at(slot)?;
        let read = match slot {
            CallerSlot::Seat(_) => {
                let input_bytes = self.input_bytes() + seat.added_prompt_bytes();
                return budget::worst_call(seat, input_bytes).known();
            }
            CallerSlot::Synthesizer(number) => {
                let (inputs, StrategyChoice { strategy, options }) = self.inputs_of(number);
                // A single answer is not fused.
                if inputs.len() < 2 {
                    return Some(PicoUsd::ZERO);
                }
                let answers = longest_tokens(options, inputs.iter(), inputs.len());
                // A separate analysis, which is then read, has the same output cap as the text.
                let analysis = if options.is_analysis_separate() { seat.max_tokens } else { 0 };
                // A chair reads the objections of reviewers beside the answers.
                let objections = match strategy.calls() {
                    Calls::Reviews => tokens_in(OBJECTIONS_BYTES_MAX) * inputs.len() as u64,
                    Calls::None | Calls::Verdict | Calls::Layers => 0,
                };
                2 * tokens_in(self.input_bytes()) + answers + objections + u64::from(analysis)
            }
            CallerSlot::Step(number) => self.steps.get(number.index())?.input_tokens_max,
        };
        let read = read.min(seat.context_tokens.unwrap_or(u64::MAX));
        seat.cost_max(read, seat.max_tokens)
    }
}
