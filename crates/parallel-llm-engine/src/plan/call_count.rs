//! How many calls a strategy or a plan makes, for a user who chooses one.

use serde::Serialize;

use super::size::QuestionSize;
use super::{RunPlan, step};
use crate::request::catalogue::PriceSource;
use crate::request::panel::{ModelRef, ProviderId, Seat, SeatNumber};
use crate::request::strategy::{By, Calls, Strategy, StrategyChoice, StrategyOptions};

/// The calls of a run in which none fails and no option is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// If the first answers settle the question.
    pub fewest: usize,
    /// If they do not.
    pub most: usize,
}

impl CallCount {
    /// The calls of this strategy with a panel of `seats`, and with a model for equivalence.
    pub fn of(strategy: Strategy, seats: usize) -> Self {
        let options = StrategyOptions::default();
        let choice = StrategyChoice { strategy, options };
        let panel: Vec<Seat> = (0..seats).map(blank_seat).collect();
        let chain = [blank_seat(0)];
        // A single answer is neither fused nor judged.
        let fusing = if seats > 1 { strategy.fusers(&chain).len() } else { 0 };
        let steps = step::planned(choice, &panel, &chain, QuestionSize::default(), true)
            .iter()
            .filter(|step| !step.is_spare)
            .count();
        Self { fewest: choice.first(seats).min(seats), most: seats + fusing + steps }
    }
}

impl RunPlan {
    /// The calls of the run if none fails. The fewest are those of the panels: the answers may agree, so that nothing is read.
    pub fn calls(&self) -> CallCount {
        let most = self.called(&self.seats, &self.synthesizers, &self.steps).len();
        match (&self.flow, self.seats.len()) {
            (Some(_), seats) => CallCount { fewest: seats, most },
            // A single answer is not fused.
            (None, 1) => CallCount { fewest: 1, most: 1 },
            (None, seats) => CallCount { fewest: self.strategy_choice().first(seats).min(seats), most },
        }
    }

    /// How many calls follow one another if none fails.
    pub fn rounds(&self) -> usize {
        let Some(flow) = &self.flow else {
            return 1 + self.rounds_of(self.strategy_choice(), self.seats.len());
        };
        let mut rounds: Vec<usize> = Vec::with_capacity(flow.stages.len());
        for stage in &flow.stages {
            let before = stage.from.iter().filter_map(|read| rounds.get(read.index())).max().copied();
            rounds.push(before.unwrap_or(1) + self.rounds_of(stage.strategy_choice(), stage.inputs()));
        }
        rounds.last().copied().unwrap_or(1)
    }

    /// How many calls follow one another until a strategy has made one text of so many answers.
    fn rounds_of(&self, choice: StrategyChoice, answers: usize) -> usize {
        if answers < 2 {
            return 0;
        }
        let StrategyChoice { strategy, options } = choice;
        let asked = match strategy.calls() {
            Calls::None => 0,
            Calls::Verdict => match options.by() {
                By::Judge | By::League | By::Consistency => 1,
                // Each round of a knockout halves the field.
                By::Pairs => answers.next_power_of_two().ilog2() as usize,
                By::Check => 0,
            },
            // With two answers, nobody ranks.
            Calls::Reviews => usize::from(answers > 2),
            Calls::Layers => usize::from(options.layers()) - 1,
        };
        let fuses = !strategy.fusers(&[blank_seat(0)]).is_empty();
        let groups = self.equivalence.is_some() && choice.counts();
        [fuses, groups, options.is_analysis_separate()].into_iter().map(usize::from).sum::<usize>() + asked
    }
}

/// A seat of which only the number matters.
pub(super) fn blank_seat(index: usize) -> Seat {
    Seat {
        number: SeatNumber::at(index),
        model: ModelRef { provider: ProviderId(String::new()), model: String::new() },
        temperature: None,
        max_tokens: 0,
        effort: None,
        strongest: false,
        accuracy: None,
        price: None,
        price_source: PriceSource::default(),
        context_tokens: None,
        inputs: None,
        json_mode: false,
        persona_prompt: None,
        asks_line: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_are_those_of_the_plan() {
        let calls = |seats| {
            let counts = Strategy::ALL.iter().map(|strategy| {
                let CallCount { fewest, most } = CallCount::of(*strategy, seats);
                format!("{} {fewest}..{most}", strategy.name())
            });
            counts.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            calls(5),
            "synthesize 5..6, vote 5..6, best-of-n 5..7, council 5..11, moa 5..11, cascade 3..7, race 5..5, panel 5..5"
        );
        assert_eq!(
            calls(1),
            "synthesize 1..1, vote 1..1, best-of-n 1..1, council 1..1, moa 1..1, cascade 1..1, race 1..1, panel 1..1"
        );
    }
}
