//! The calls a strategy may make beyond the panel and the synthesizers: a judge's verdict, a reviewer's ranking, a
//! proposal that has read the others.
//!
//! Pure. Which there may be is known before anything is paid, from the strategy, the seats and the synthesizers alone: so they are part of
//! the plan, of its worst case and of what is held against limits, and a run that is resumed finds what it has paid for.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::request::panel::{Seat, SeatNumber};
use crate::request::strategy::{CONTROLLED_MIN, Calls, Extractor, Format, StrategyChoice, StrategyOptions};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::usage::tokens_in;

/// The most steps of one run in all its parts: as many as there are numbers for them.
const STEPS_MAX: usize = u16::MAX as usize;

/// How often a text is begun before the panel is done: each may have been paid for in vain, and what comes so late that
/// a third is given up is better waited for.
const DRAFTS_MAX: u16 = 3;

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// Reads answers and says which is better.
    Judge,
    /// Ranks the answers of its fellows.
    Reviewer,
    /// Says what the answers agree and differ in, for others to use.
    Analyst,
    /// Answers again, having read the answers of the layer before.
    Proposer,
    /// Holds its own answer against the others, and keeps or changes it.
    Reviser,
    /// Makes one text of all answers but one, to tell whether the result hangs on that one.
    Control,
    /// Makes one text of the answers there are while others are waited for.
    Draft,
    /// Says what each answer comes to, so that they can be counted.
    Extractor,
}

impl StepRole {
    /// The word used in JSON and pages.
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
        }
    }

    /// What it does, in a word.
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
        }
    }
}

impl StepRole {
    /// Whether its whole reply is one JSON object: its prompt asks for that and nothing else.
    pub(crate) const fn replies_in_json(self) -> bool {
        match self {
            Self::Judge | Self::Reviewer | Self::Analyst | Self::Extractor => true,
            Self::Proposer | Self::Reviser | Self::Control | Self::Draft => false,
        }
    }
}

/// Names a step by what it is, so that whoever wants it made finds it in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepKey {
    /// What it is for.
    pub role: StepRole,
    /// Whose model is asked: that of a seat or of a synthesizer.
    pub by: CallerSlot,
    /// Which of its calls in this role, from 1.
    pub round: u16,
}

impl StepKey {
    /// A text that this synthesizer begins before the panel is done.
    pub(crate) const fn draft(by: SeatNumber, round: u16) -> Self {
        Self { role: StepRole::Draft, by: CallerSlot::Synthesizer(by), round }
    }

    /// The text that this synthesizer makes without the answer of a seat.
    pub(crate) fn control(by: SeatNumber, without: SeatNumber) -> Self {
        Self { role: StepRole::Control, by: CallerSlot::Synthesizer(by), round: without.0.into() }
    }
}

/// A call a strategy may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number in the run.
    pub number: StepNumber,
    /// What it is.
    #[serde(flatten)]
    pub key: StepKey,
    /// The most it reads, in tokens.
    pub input_tokens_max: u64,
    /// Whether it is made only in place of another: like a later synthesizer, it is not in the worst case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_spare: bool,
}

/// The steps this strategy may make with these seats and synthesizers, numbered from 1. `prompt_bytes` is what every seat is sent.
pub(crate) fn planned(
    choice: StrategyChoice,
    seats: &[Seat],
    chain: &[Seat],
    prompt_bytes: u64,
) -> Vec<Step> {
    let options = choice.options;
    let (shown_max, prompt_tokens) = (options.shown_max(seats.len()), tokens_in(prompt_bytes));
    let mut planner = StepPlanner { seats, chain, options, shown_max, prompt_tokens, steps: Vec::new() };
    // With one answer there is nothing to judge, to rank or to read.
    if seats.len() < 2 {
        return planner.steps;
    }
    match choice.strategy.calls() {
        Calls::None => {}
        // The user's own check takes the judge's place.
        Calls::Verdict if options.is_checked() => {}
        Calls::Verdict => planner.judged(choice.orders(), longest(options, seats, shown_max)),
        Calls::Matches => {
            let count = u16::try_from(seats.len()).unwrap_or(u16::MAX);
            let matches = match options.format.unwrap_or_default() {
                Format::Knockout => count - 1,
                Format::League => (count - 1).saturating_mul(count) / 2,
            };
            planner.judged(matches.saturating_mul(choice.orders()), longest(options, seats, 2));
        }
        Calls::Reviews => planner.reviewed(),
        // The panel is the first layer.
        Calls::Layers => planner.asked_again(StepRole::Proposer, 2..=u16::from(options.layers())),
        Calls::Revisions => planner.asked_again(StepRole::Reviser, 1..=u16::from(options.rounds())),
    }
    if options.extractor() == Extractor::Llm {
        planner.read_once(StepRole::Extractor);
    }
    // Every strategy that has these options ends in a text that a synthesizer writes.
    if options.is_analysis_separate() {
        planner.read_once(StepRole::Analyst);
    }
    if options.is_paranoid() {
        planner.controlled();
    }
    if let Some(early) = options.early {
        planner.drafted(seats.len().saturating_sub(early.into()));
    }
    planner.steps
}

/// The longest so many answers of these seats at their caps, as they are shown, in tokens.
pub(crate) fn longest<'a>(
    options: StrategyOptions,
    seats: impl IntoIterator<Item = &'a Seat>,
    count: usize,
) -> u64 {
    let mut caps: Vec<u64> = seats.into_iter().map(|seat| options.shown_tokens(seat.max_tokens)).collect();
    caps.sort_unstable_by_key(|cap| Reverse(*cap));
    caps.iter().take(count).sum()
}

/// Numbers the steps of a further part of a run on from those there are.
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

/// Steps in the making.
struct StepPlanner<'a> {
    seats: &'a [Seat],
    chain: &'a [Seat],
    options: StrategyOptions,
    /// How many answers a reader is shown.
    shown_max: usize,
    prompt_tokens: u64,
    steps: Vec<Step>,
}

impl StepPlanner<'_> {
    /// The first judge that can reads answers of so many tokens, so many times.
    fn judged(&mut self, rounds: u16, answers_tokens: u64) {
        for (index, judge) in self.chain.iter().enumerate() {
            for round in 1..=rounds {
                let key = StepKey { role: StepRole::Judge, by: CallerSlot::Synthesizer(judge.number), round };
                self.push(key, answers_tokens, index > 0);
            }
        }
    }

    /// Every seat answers again in each round, having read the answers of the one before, as whoever it is asked to be.
    fn asked_again(&mut self, role: StepRole, rounds: RangeInclusive<u16>) {
        for round in rounds {
            for seat in self.seats {
                let key = StepKey { role, by: CallerSlot::Seat(seat.number), round };
                let read = longest(self.options, self.seats, self.shown_max)
                    + tokens_in(seat.persona_prompt_bytes());
                self.push(key, read, false);
            }
        }
    }

    /// The first synthesizer that can reads the answers once and says something of them.
    fn read_once(&mut self, role: StepRole) {
        for (index, by) in self.chain.iter().enumerate() {
            let key = StepKey { role, by: CallerSlot::Synthesizer(by.number), round: 1 };
            self.push(key, longest(self.options, self.seats, self.shown_max), index > 0);
        }
    }

    /// The first synthesizer that can makes a text without each of the answers it is shown; the round is the seat left out.
    fn controlled(&mut self) {
        if self.shown_max < CONTROLLED_MIN {
            return;
        }
        // Which are shown is not known yet, only how many: those that read most are counted, the others take their place.
        let mut by_cap: Vec<&Seat> = self.seats.iter().collect();
        by_cap.sort_by_key(|seat| seat.max_tokens);
        let counted: Vec<SeatNumber> =
            by_cap.into_iter().take(self.shown_max).map(|seat| seat.number).collect();
        for (index, by) in self.chain.iter().enumerate() {
            for seat in self.seats {
                let others = self.seats.iter().filter(|other| other.number != seat.number);
                let read = longest(self.options, others, self.shown_max - 1);
                let key = StepKey::control(by.number, seat.number);
                self.push(key, read, index > 0 || !counted.contains(&seat.number));
            }
        }
    }

    /// The first synthesizer begins its text before so many of the answers are there, each of which may have it begin anew.
    fn drafted(&mut self, late: usize) {
        let Some(by) = self.chain.first() else { return };
        let rounds = u16::try_from(late).unwrap_or(u16::MAX).min(DRAFTS_MAX);
        for round in 1..=rounds {
            let key = StepKey::draft(by.number, round);
            self.push(key, longest(self.options, self.seats, self.shown_max), false);
        }
    }

    /// Each seat reads the answers of the others.
    fn reviewed(&mut self) {
        // Of two answers each would be the only one that the author of the other has to rank.
        if self.seats.len() < 3 {
            return;
        }
        for seat in self.seats {
            let key = StepKey { role: StepRole::Reviewer, by: CallerSlot::Seat(seat.number), round: 1 };
            let others = self.seats.iter().filter(|other| other.number != seat.number);
            self.push(key, longest(self.options, others, self.seats.len()), false);
        }
    }

    /// The question is counted twice, as for a synthesizer: the words around it are ours and short.
    fn push(&mut self, key: StepKey, answers_tokens: u64, is_spare: bool) {
        let number = StepNumber::at(self.steps.len());
        let input_tokens_max = 2 * self.prompt_tokens + answers_tokens;
        self.steps.push(Step { number, key, input_tokens_max, is_spare });
    }
}
