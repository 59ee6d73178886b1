//! The caller slots of a plan: which model each calls, and the most a request can cost.

use std::borrow::Cow;

use super::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::chain_of;
use crate::plan::size::QuestionSize;
use crate::plan::step::{Step, StepKey, StepRole, longest_tokens};
use crate::plan::worst_case::WorstCase;
use crate::prompt::reply::OBJECTIONS_BYTES_MAX;
use crate::request::catalogue::PriceSource;
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::request::strategy::{Calls, Strategy, StrategyChoice, StrategyOptions};
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
        let chains = self.chains(chain).into_iter();
        let fusers = chains.filter_map(|(strategy, chain)| strategy.fusers(chain).first());
        let fusers = fusers.map(|seat| CallerSlot::Synthesizer(seat.number));
        let steps = steps.iter().filter(|step| !step.is_spare).map(|step| CallerSlot::Step(step.number));
        asked.chain(fusers).chain(steps).collect()
    }

    /// The chain of the run, or that of each stage, with the strategy it belongs to. A single input of a stage is not fused.
    fn chains<'a>(&'a self, chain: &'a [Seat]) -> Vec<(Strategy, &'a [Seat])> {
        let Some(flow) = &self.flow else { return vec![(self.strategy, chain)] };
        let fusing = flow.stages.iter().filter(|stage| stage.inputs() > 1);
        fusing.map(|stage| (stage.strategy, chain_of(stage, &self.synthesizers))).collect()
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

    /// The most these slots can cost in all: every call of each member of a chain, repeated as often as it may be.
    pub(crate) fn most_of<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> PicoUsd {
        let once: PicoUsd =
            self.callable(asked, chain, steps).into_iter().filter_map(|slot| self.worst_request(slot)).sum();
        once.times(u64::from(self.retries_max) + 1)
    }

    /// The most the run can cost, as far as prices are known: no call is made that the budget does not hold. Of a run that is
    /// refused, its worst case.
    pub fn most(&self) -> PicoUsd {
        let all = self.most_of(&self.seats, &self.synthesizers, &self.steps);
        all.min(self.budget).max(self.worst_case.known_part())
    }

    /// Whether a budget or a limit of the day bounds what the run costs.
    pub fn is_limited(&self) -> bool {
        !self.budget.is_unlimited() || !self.limits.is_empty()
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

    /// What models add to the worst case that their provider does not list. With a limit they are not asked, and without one
    /// nobody knows what they cost.
    pub fn unlisted(&self) -> WorstCase {
        let seats = self.models().filter(|seat| seat.price_source == PriceSource::Unlisted);
        seats.map(|seat| WorstCase::of(&seat.model, None)).sum()
    }

    /// The slots that may be called: those of [`Self::called`], and those called if others fail.
    fn callable<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> Vec<CallerSlot> {
        let asked = asked.into_iter().map(|seat| CallerSlot::Seat(seat.number));
        let fusers = self.chains(chain).into_iter().flat_map(|(strategy, chain)| strategy.fusers(chain));
        let fusers = fusers.map(|seat| CallerSlot::Synthesizer(seat.number));
        let steps = steps.iter().map(|step| CallerSlot::Step(step.number));
        asked.chain(fusers).chain(steps).collect()
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
        let typical =
            |answers: usize| self.size().framed(answers) + u64::from(TYPICAL_REPLY_TOKENS) * answers as u64;
        let cost = |slot| {
            let (seat, read) = (self.seat_at(slot)?, self.input_of(slot)?);
            let tokens = match slot {
                CallerSlot::Seat(_) => read.tokens,
                CallerSlot::Synthesizer(number) => read.tokens.min(typical(self.inputs_of(number).0.len())),
                CallerSlot::Step(_) => read.tokens.min(typical(self.seats.len())),
            };
            seat.cost_max(tokens, read.pictures, seat.max_tokens.min(TYPICAL_REPLY_TOKENS))
        };
        self.called(asked, chain, steps).into_iter().filter_map(cost).sum()
    }

    /// The most one request of this slot can cost; `None` if its price is unknown.
    pub fn worst_request(&self, slot: CallerSlot) -> Option<PicoUsd> {
        // A single answer is not fused.
        let Some(Input { tokens, pictures }) = self.input_of(slot) else { return Some(PicoUsd::ZERO) };
        let seat = self.seat_at(slot)?;
        seat.cost_max(tokens, pictures, seat.max_tokens)
    }

    /// The most that a request of this slot which was sent can have cost: what was reserved for it, if that is more than was
    /// planned. `None` if nobody knows, also of a model that its provider does not list and that was sent all the same.
    pub fn worst_sent(&self, slot: CallerSlot, reserved: Option<PicoUsd>) -> Option<PicoUsd> {
        let is_unlisted = self.seat_at(slot).is_some_and(|seat| seat.price_source == PriceSource::Unlisted);
        if is_unlisted {
            reserved.filter(|most| *most > PicoUsd::ZERO)
        } else {
            reserved.max(self.worst_request(slot))
        }
    }

    /// The most tokens that one request of this slot sends.
    pub(crate) fn planned_tokens(&self, slot: CallerSlot) -> u64 {
        self.input_of(slot).map_or(0, |input| input.tokens)
    }

    /// The most that one request of this slot sends. A seat reads the conversation and its persona prompt; a synthesizer or
    /// step reads answers as well. `None` if nothing is sent.
    fn input_of(&self, slot: CallerSlot) -> Option<Input> {
        let tokens = match slot {
            CallerSlot::Seat(_) => {
                let added = self.seat_at(slot).map_or(0, Seat::added_prompt_bytes);
                let QuestionSize { tokens, pictures, .. } = self.size();
                return Some(Input { tokens: tokens + tokens_in(added), pictures });
            }
            CallerSlot::Synthesizer(number) => {
                let (inputs, StrategyChoice { strategy, options }) = self.inputs_of(number);
                if inputs.len() < 2 {
                    return None;
                }
                let answers = longest_tokens(options, inputs.iter(), inputs.len());
                // A separate analysis, which is then read, has the same output cap as the text.
                let written = self.seat_at(slot).filter(|_| options.is_analysis_separate());
                let analysis = written.map_or(0, |seat| seat.max_tokens);
                // A chair reads the objections of reviewers beside the answers.
                let objections = match strategy.calls() {
                    Calls::Reviews => tokens_in(OBJECTIONS_BYTES_MAX) * inputs.len() as u64,
                    Calls::None | Calls::Verdict | Calls::Layers => 0,
                };
                self.size().framed(inputs.len()) + answers + objections + u64::from(analysis)
            }
            CallerSlot::Step(number) => {
                self.steps.get(number.index()).map_or(0, |step| step.input_tokens_max)
            }
        };
        // Only who answers the question again gets its files.
        let answers = self.role_of(slot) == Some(StepRole::Proposer);
        let context = self.seat_at(slot).and_then(|seat| seat.context_tokens).unwrap_or(u64::MAX);
        Some(Input { tokens: tokens.min(context), pictures: if answers { self.size().pictures } else { 0 } })
    }
}

/// What a request sends.
struct Input {
    tokens: u64,
    pictures: u64,
}
