//! The places of a plan: who sits there, and the most a request from there can cost.

use super::RunPlan;
use crate::plan::budget;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{Step, StepKey, StepRole, longest};
use crate::request::panel::Seat;
use crate::value::money::PicoUsd;
use crate::value::usage::tokens_in;

impl RunPlan {
    /// Who makes the call of a place.
    pub fn seat_at(&self, slot: CallerSlot) -> Option<&Seat> {
        match slot {
            CallerSlot::Seat(number) => self.seats.get(number.index()),
            CallerSlot::Synthesizer(number) => self.synthesizers.get(number.index()),
            // A step is by a seat or a synthesizer, so this goes one level deep.
            CallerSlot::Step(number) => self.seat_at(self.steps.get(number.index())?.key.by),
        }
    }

    /// What the step of a place is for.
    pub(crate) fn role_of(&self, slot: CallerSlot) -> Option<StepRole> {
        self.step_at(slot).map(|step| step.key.role)
    }

    /// The step of a place, where it is one.
    pub(crate) fn step_at(&self, slot: CallerSlot) -> Option<&Step> {
        match slot {
            CallerSlot::Step(number) => self.steps.get(number.index()),
            CallerSlot::Seat(_) | CallerSlot::Synthesizer(_) => None,
        }
    }

    /// The newest step of this kind.
    pub(crate) fn step(&self, key: StepKey) -> Option<&Step> {
        self.steps.iter().rfind(|step| step.key == key)
    }

    /// Who is called where none of them fails: these seats, then the first of `chain` where the strategy fuses, and those
    /// of `steps` that are no spare ones.
    pub fn called<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> Vec<CallerSlot> {
        let asked = asked.into_iter().map(|seat| CallerSlot::Seat(seat.number));
        let fuser = self.strategy.fusers(chain).first().map(|seat| CallerSlot::Synthesizer(seat.number));
        let steps = steps.iter().filter(|step| !step.is_spare).map(|step| CallerSlot::Step(step.number));
        asked.chain(fuser).chain(steps).collect()
    }

    /// The most that calling these costs, as far as prices are known.
    pub fn worst_case_of<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Seat>,
        chain: &'a [Seat],
        steps: &'a [Step],
    ) -> PicoUsd {
        self.called(asked, chain, steps).into_iter().filter_map(|slot| self.worst_request(slot)).sum()
    }

    /// The most one request of this place can cost, where its price is known: a seat reads the question and what it is told
    /// besides, a synthesizer and a step also what others have answered.
    pub fn worst_request(&self, slot: CallerSlot) -> Option<PicoUsd> {
        let seat = self.seat_at(slot)?;
        let read = match slot {
            CallerSlot::Seat(_) => {
                return budget::worst_call(seat, self.input_bytes() + seat.persona_prompt_bytes());
            }
            // One answer alone is not fused.
            CallerSlot::Synthesizer(_) if self.seats.len() < 2 => return seat.price.map(|_| PicoUsd::ZERO),
            CallerSlot::Synthesizer(_) => {
                let answers = longest(
                    self.strategy_options,
                    &self.seats,
                    self.strategy_options.shown_max(self.seats.len()),
                );
                // An analysis made beforehand has the same cap as the text.
                let analysis = if self.strategy_options.is_analysis_separate() { seat.max_tokens } else { 0 };
                2 * tokens_in(self.input_bytes()) + answers + u64::from(analysis)
            }
            CallerSlot::Step(number) => self.steps.get(number.index())?.input_tokens_max,
        };
        let read = read.min(seat.context_tokens.unwrap_or(u64::MAX));
        seat.price.map(|price| price.cost(read, u64::from(seat.max_tokens)))
    }
}
