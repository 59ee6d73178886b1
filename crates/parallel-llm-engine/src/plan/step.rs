//! Steps: the calls a strategy may make besides the panel and the synthesizers, such as judgements.
//!
//! The strategy, the seats and the synthesizers determine the steps before anything is paid. So steps are part of the plan,
//! of its worst case and of reservations, and a resumed run finds the calls it has paid for.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::size::QuestionSize;
use crate::request::panel::{Seat, SeatNumber};
use crate::request::strategy::{By, CONTROLLED_MIN, Calls, Strategy, StrategyChoice, StrategyOptions};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::usage::tokens_in;

/// The most steps of one run in all its parts, limited by their numbers.
const STEPS_MAX: usize = u16::MAX as usize;

/// The most early drafts of a run. Each may be paid for in vain; after three it is better to wait for the panel.
const DRAFTS_MAX: u16 = 3;

/// The longest short answer that is shown to the model for equivalence, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 200;
/// The same in tokens, with its label and markers.
const VALUE_TOKENS_MAX: u64 = 100 + VALUE_BYTES_MAX as u64;
/// The tokens of its prompt without the short answers, which are counted on the high side.
const EQUIVALENCE_TOKENS: u64 = 1_000;

/// The role of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// Reads answers and decides which is better.
    Judge,
    /// Ranks the answers of the other seats.
    Reviewer,
    /// Compares the answers for others to use.
    Analyst,
    /// Answers again after reading the previous layer.
    Proposer,
    /// Compares its answer with the others and keeps or changes it. Only stored runs have it.
    Reviser,
    /// Makes a text without one of the answers, to find out whether the result depends on that one.
    Control,
    /// Makes a text of the answers that are in while others are awaited.
    Draft,
    /// Extracts the value of each answer, so that equal ones can be counted. Only stored runs have it.
    Extractor,
    /// Groups short answers that are written differently and mean the same.
    Equivalence,
}

impl StepRole {
    /// Its name in JSON and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Reviewer => "reviewer",
            Self::Analyst => "analyst",
            Self::Proposer => "proposer",
            Self::Reviser => "reviser",
            Self::Control => "control",
            Self::Draft => "draft",
            Self::Extractor => "extractor",
            Self::Equivalence => "equivalence",
        }
    }

    /// Its activity in one word.
    pub const fn task(self) -> &'static str {
        match self {
            Self::Judge => "judging",
            Self::Reviewer => "ranking",
            Self::Analyst => "comparing",
            Self::Proposer => "proposing",
            Self::Reviser => "revising",
            Self::Control => "checking",
            Self::Draft => "drafting",
            Self::Extractor => "extracting",
            Self::Equivalence => "grouping",
        }
    }
}

impl StepRole {
    /// Whether its prompt asks for a single JSON object.
    pub(crate) const fn replies_in_json(self) -> bool {
        match self {
            Self::Judge | Self::Reviewer | Self::Analyst | Self::Extractor | Self::Equivalence => true,
            Self::Proposer | Self::Reviser | Self::Control | Self::Draft => false,
        }
    }
}

/// The key by which a strategy finds a step in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepKey {
    /// Its role.
    pub role: StepRole,
    /// The seat or synthesizer whose model is called. For an equivalence, whose model the plan has apart, the first seat of
    /// the panel that is compared.
    pub by: CallerSlot,
    /// The number of the call in this role, from 1.
    pub round: u16,
}

impl StepKey {
    /// The key of an early draft of this synthesizer.
    pub(crate) const fn draft(by: SeatNumber, round: u16) -> Self {
        Self { role: StepRole::Draft, by: CallerSlot::Synthesizer(by), round }
    }

    /// The key of the text this synthesizer makes without the answer of one seat.
    pub(crate) fn control(by: SeatNumber, without: SeatNumber) -> Self {
        Self { role: StepRole::Control, by: CallerSlot::Synthesizer(by), round: without.0.into() }
    }
}

/// A call a strategy may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number in the run.
    pub number: StepNumber,
    /// Its key.
    #[serde(flatten)]
    pub key: StepKey,
    /// The most input tokens.
    pub input_tokens_max: u64,
    /// Whether it only replaces a failed step. Like a later synthesizer, it is not in the worst case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_spare: bool,
}

/// The most input tokens of the steps of this seat or synthesizer; 0 if it has none.
pub(crate) fn input_tokens_max(by: CallerSlot, steps: &[Step]) -> u64 {
    let own = steps.iter().filter(|step| step.key.by == by && step.key.role != StepRole::Equivalence);
    own.map(|step| step.input_tokens_max).max().unwrap_or_default()
}

/// The steps this strategy may make with these seats and synthesizers, numbered from 1. `size` is that of the question;
/// `groups` says whether there is a model for equivalence.
pub(crate) fn planned(
    choice: StrategyChoice,
    seats: &[Seat],
    chain: &[Seat],
    size: QuestionSize,
    groups: bool,
) -> Vec<Step> {
    let options = choice.options;
    let mut planner = StepPlanner { seats, chain, options, size, steps: Vec::new() };
    // A single answer needs no further call.
    if seats.len() < 2 {
        return planner.steps;
    }
    if groups && choice.counts() {
        planner.grouped(choice);
    }
    match choice.strategy.calls() {
        Calls::None => {}
        Calls::Verdict => planner.selected(),
        Calls::Reviews => planner.reviewed(),
        // The panel itself is layer 1.
        Calls::Layers => planner.asked_again(2..=u16::from(options.layers())),
    }
    // Every strategy that has these options ends in a text that a synthesizer writes.
    if options.is_analysis_separate() {
        planner.analysed();
    }
    if options.is_paranoid() {
        planner.controlled();
    }
    if let Some(early) = options.early {
        planner.drafted(seats.len().saturating_sub(early.into()));
    }
    planner.steps
}

/// The size in tokens of the `count` longest answers of these seats, as a reader is shown them.
pub(crate) fn longest_tokens<'a>(
    options: StrategyOptions,
    seats: impl IntoIterator<Item = &'a Seat>,
    count: usize,
) -> u64 {
    let mut caps: Vec<u64> = seats.into_iter().map(|seat| options.shown_tokens(seat.max_tokens)).collect();
    caps.sort_unstable_by_key(|cap| Reverse(*cap));
    caps.iter().take(count).sum()
}

/// Numbers the steps of a further part of a run after the `before` steps there are.
pub(crate) fn number_on(steps: &mut [Step], before: usize) -> Result<(), Failure> {
    if before + steps.len() > STEPS_MAX {
        let message = format!("the run would have more than {STEPS_MAX} steps");
        return Err(Failure::new(Code::PanelSize, message));
    }
    for (step, index) in steps.iter_mut().zip(before..) {
        step.number = StepNumber::at(index);
    }
    Ok(())
}

/// Collects the steps of a plan.
struct StepPlanner<'a> {
    seats: &'a [Seat],
    chain: &'a [Seat],
    options: StrategyOptions,
    size: QuestionSize,
    steps: Vec<Step>,
}

impl StepPlanner<'_> {
    /// The grouping of short answers. Only a vote needs it again when seats that were held back have answered: elsewhere these
    /// are asked because the first differ, and then not all can be equal.
    fn grouped(&mut self, choice: StrategyChoice) {
        let is_held_back = choice.first(self.seats.len()) < self.seats.len();
        let rounds = if is_held_back && choice.strategy == Strategy::Vote { 2 } else { 1 };
        for round in 1..=rounds {
            let by = CallerSlot::Seat(self.seats[0].number);
            let key = StepKey { role: StepRole::Equivalence, by, round };
            let number = StepNumber::at(self.steps.len());
            let input_tokens_max = EQUIVALENCE_TOKENS + VALUE_TOKENS_MAX * self.seats.len() as u64;
            self.steps.push(Step { number, key, input_tokens_max, is_spare: false });
        }
    }

    /// The judgements that select one answer.
    fn selected(&mut self) {
        let (options, count) = (self.options, u16::try_from(self.seats.len()).unwrap_or(u16::MAX));
        let (questions, read) = match options.by() {
            By::Judge | By::Consistency => (1, self.seats.len()),
            By::Pairs => (count - 1, 2),
            By::League => ((count - 1).saturating_mul(count) / 2, 2),
            // The check command replaces the judge.
            By::Check => return,
        };
        let rounds = questions.saturating_mul(options.orders());
        self.judged(rounds, longest_tokens(options, self.seats, read));
    }

    /// `rounds` judgements by the first synthesizer that can; the others are spare.
    fn judged(&mut self, rounds: u16, answers_tokens: u64) {
        for (index, judge) in self.chain.iter().enumerate() {
            for round in 1..=rounds {
                let key = StepKey { role: StepRole::Judge, by: CallerSlot::Synthesizer(judge.number), round };
                self.push(key, answers_tokens, index > 0);
            }
        }
    }

    /// One answer of every seat in each round, with the answers of the previous round and its persona prompt as input.
    fn asked_again(&mut self, rounds: RangeInclusive<u16>) {
        for round in rounds {
            for seat in self.seats {
                let key = StepKey { role: StepRole::Proposer, by: CallerSlot::Seat(seat.number), round };
                let read = longest_tokens(self.options, self.seats, self.seats.len())
                    + tokens_in(seat.persona_prompt_bytes())
                    + self.size.files_tokens;
                self.push(key, read, false);
            }
        }
    }

    /// One analysis by the first synthesizer that can, with the answers as input; the others are spare.
    fn analysed(&mut self) {
        for (index, by) in self.chain.iter().enumerate() {
            let key = StepKey { role: StepRole::Analyst, by: CallerSlot::Synthesizer(by.number), round: 1 };
            self.push(key, longest_tokens(self.options, self.seats, self.seats.len()), index > 0);
        }
    }

    /// One text of the first synthesizer that can for each answer left out. The round is the seat left out.
    fn controlled(&mut self) {
        if self.seats.len() < CONTROLLED_MIN {
            return;
        }
        for (index, by) in self.chain.iter().enumerate() {
            for seat in self.seats {
                let others = self.seats.iter().filter(|other| other.number != seat.number);
                let read = longest_tokens(self.options, others, self.seats.len());
                let key = StepKey::control(by.number, seat.number);
                self.push(key, read, index > 0);
            }
        }
    }

    /// Early drafts of the first synthesizer. Each of the `late` answers may restart the draft.
    fn drafted(&mut self, late: usize) {
        let Some(by) = self.chain.first() else { return };
        let rounds = u16::try_from(late).unwrap_or(u16::MAX).min(DRAFTS_MAX);
        for round in 1..=rounds {
            let key = StepKey::draft(by.number, round);
            self.push(key, longest_tokens(self.options, self.seats, self.seats.len()), false);
        }
    }

    /// One ranking by each seat of the answers of the others.
    fn reviewed(&mut self) {
        // With two answers, each author would rank a single one.
        if self.seats.len() < 3 {
            return;
        }
        for seat in self.seats {
            let key = StepKey { role: StepRole::Reviewer, by: CallerSlot::Seat(seat.number), round: 1 };
            let others = self.seats.iter().filter(|other| other.number != seat.number);
            self.push(key, longest_tokens(self.options, others, self.seats.len()), false);
        }
    }

    fn push(&mut self, key: StepKey, answers_tokens: u64, is_spare: bool) {
        let number = StepNumber::at(self.steps.len());
        let input_tokens_max = self.size.framed(self.seats.len()) + answers_tokens;
        self.steps.push(Step { number, key, input_tokens_max, is_spare });
    }
}
