//! A store with so many runs, made from a seed through the store's own write path.
//!
//! A run has three seats, and texts of a dozen to forty words. Most words are common: every second text has the most
//! frequent one. Runs are spread evenly over two years.

use parallel_llm_engine::port::Journal;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{
    Answer, CallerSlot, Code, Event, Failure, Message, Outcome, OutcomeKind, PicoUsd, Recorded, Role, RunId,
    RunPlan, Seat, SeatNumber,
};
use parallel_llm_store::Store;
use tokio::task::JoinSet;

use crate::failure::{self, Outcome as Measured};

/// A plan to change: of the fixtures that prove that old plans are readable.
const PLAN: &str = include_str!("../../../parallel-llm-engine/tests/fixtures/plan_v1.json");
/// The first day of the runs: 1 January 2024.
const FIRST_MS: u64 = 1_704_067_200_000;
/// The days over which the runs are spread.
const DAYS: u64 = 730;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Runs written at the same time, which share commits: as many as the writer takes at once.
const AT_ONCE: usize = 256;
/// The seats of a run.
const SEATS: u8 = 3;
/// The number of different words.
const WORDS: u64 = 50_000;
/// A word in one of ten thousand runs.
pub const RARE_WORD: &str = "wolframite";
/// The most frequent word.
pub const COMMON_WORD: &str = "bah";
/// Another frequent word.
pub const SECOND_WORD: &str = "ceh";

const MODELS: [&str; 12] = [
    "openai/gpt-6",
    "anthropic/claude-opus-5",
    "google/gemini-4-pro",
    "x-ai/grok-5",
    "deepseek/deepseek-v5",
    "qwen/qwen4-max",
    "mistralai/mistral-large-4",
    "meta/llama-6",
    "moonshot/kimi-k4",
    "zhipu/glm-6",
    "cohere/command-z",
    "lab/rare",
];
/// A model in few runs.
pub const RARE_MODEL: &str = MODELS[11];
/// A model in many runs.
pub const COMMON_MODEL: &str = MODELS[0];
const STRATEGIES: [&str; 5] = ["synthesize", "vote", "best-of-n", "council", "moa"];
/// A strategy of few runs.
pub const RARE_STRATEGY: &str = STRATEGIES[4];

/// The runs of a store.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedRuns {
    /// How many there are.
    pub runs: u64,
    /// The seed of their contents.
    pub seed: u64,
}

impl GeneratedRuns {
    /// The id of the run of this number, from 0: the oldest.
    pub fn id(&self, number: u64) -> RunId {
        let after_ms = u128::from(DAYS * DAY_MS) * u128::from(number) / u128::from(self.runs.max(1));
        RunId::from_parts(FIRST_MS + u64::try_from(after_ms).unwrap_or_default(), u128::from(number))
    }

    /// Writes these runs.
    pub async fn write(&self, store: &Store) -> Measured<()> {
        let mut writes: JoinSet<Result<(), Failure>> = JoinSet::new();
        for number in 0..self.runs {
            if writes.len() >= AT_ONCE {
                finished(writes.join_next().await)?;
            }
            let (store, runs) = (store.clone(), *self);
            writes.spawn(async move { runs.write_one(&store, number).await });
        }
        while let Some(written) = writes.join_next().await {
            finished(Some(written))?;
        }
        Ok(())
    }

    /// Writes the run of this number, in one commit.
    pub async fn write_one(&self, store: &Store, number: u64) -> Result<(), Failure> {
        let run = Generated::of(self, number);
        let lease = Journal::open(store, run.plan.into()).await?;
        Journal::append(store, lease, run.events).await
    }
}

fn finished(written: Option<Result<Result<(), Failure>, tokio::task::JoinError>>) -> Measured<()> {
    match written {
        Some(Ok(Err(failure))) => Err(failure::Failure::new(failure.message)),
        Some(Err(cause)) => Err(failure::Failure::new(format!("a run was not written: {cause}"))),
        Some(Ok(Ok(()))) | None => Ok(()),
    }
}

/// The word of this number, of a syllable for each of its digits. No word begins another.
fn word_of(number: u64) -> String {
    let mut rest = number;
    let mut word = String::new();
    loop {
        word.push(char::from(b"bcdfgjklmnprstvwxz"[(rest % 18) as usize]));
        word.push(char::from(b"aeiou"[(rest % 5) as usize]));
        rest /= 90;
        if rest == 0 {
            word.push('h');
            return word;
        }
    }
}

/// A run to write.
struct Generated {
    plan: RunPlan,
    events: Vec<Recorded>,
}

impl Generated {
    fn of(runs: &GeneratedRuns, number: u64) -> Self {
        let mut random = Random(runs.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut plan: RunPlan = serde_json::from_str(PLAN).expect("the fixture is a plan");
        let template = plan.seats[0].clone();
        plan.run_id = runs.id(number);
        plan.plan_hash = format!("generated {number}");
        plan.messages = vec![Message::text(Role::User, random.text(number))].into();
        plan.seats = (1..=SEATS).map(|seat| random.seat(&template, seat)).collect();
        plan.strategy = serde_json::from_value(STRATEGIES[random.rank(STRATEGIES.len())].into())
            .expect("it is a strategy");
        plan.store = StoreMode::Full;
        plan.asked_by = None;
        plan.idempotency_key = None;
        plan.limits = Vec::new();
        let events = random.events(&plan, number);
        Self { plan, events }
    }
}

/// Reproducible numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }

    /// An index, the lower the more frequent: half as often with each step, about.
    fn rank(&mut self, length: usize) -> usize {
        (0..length - 1).find(|_| self.below(5) < 2).unwrap_or(length - 1)
    }

    fn seat(&mut self, template: &Seat, number: u8) -> Seat {
        let mut seat = template.clone();
        seat.number = SeatNumber(number);
        // The rare model is in one of a thousand seats; the others are equally frequent but for the first.
        let model = match self.below(1_000) {
            0 => 11,
            at if at < 250 => 0,
            at => 1 + (at % 10) as usize,
        };
        MODELS[model].clone_into(&mut seat.model.model);
        seat
    }

    /// A text of words whose frequency falls with their number, as in any language.
    fn text(&mut self, number: u64) -> String {
        let mut text = String::new();
        for _ in 0..12 + self.below(28) {
            let most = self.below(WORDS) + 1;
            let word = self.below(most).min(self.below(most));
            text.push_str(&word_of(word));
            text.push(' ');
        }
        if self.below(2) == 0 {
            text.push_str(COMMON_WORD);
        }
        if number % 10_000 == 77 {
            text.push_str(&format!(" {RARE_WORD}"));
        }
        text
    }

    /// The events of a run that ends: with all answers, without some, or with none.
    fn events(&mut self, plan: &RunPlan, number: u64) -> Vec<Recorded> {
        let answered = match self.below(100) {
            0..3 => 0,
            3..18 => SEATS - 1,
            _ => SEATS,
        };
        let attempt = |seat: &Seat| Attempt { slot: CallerSlot::Seat(seat.number), number: 1 };
        let mut events = vec![Event::Started { plan_hash: plan.plan_hash.clone(), reserved: PicoUsd::ZERO }];
        events.extend(plan.seats.iter().map(|seat| Event::Sent {
            attempt: attempt(seat),
            prompt: None,
            worst_case: None,
        }));
        let mut outcome = Outcome::none(Failure::new(Code::AllFailed, "no model answered"));
        for seat in &plan.seats {
            let elapsed_ms = 1_000 + self.below(30_000);
            let cost = Some(PicoUsd(1_000_000_000));
            if seat.number.0 > answered {
                let failure = Failure::new(Code::Upstream, "502 from the provider");
                let (attempt, retry) = (attempt(seat), Retry::Never);
                events.push(Event::Failed { attempt, failure, retry, cost, elapsed_ms });
                continue;
            }
            let answer = Answer { cost, elapsed_ms, ..Answer::new(self.text(number)) };
            if outcome.considered.is_empty() {
                outcome = Outcome::new(OutcomeKind::Selected, "it agrees most with the others")
                    .with_text(answer.text.clone(), seat.model.clone());
                outcome.base_seat = Some(seat.number);
            }
            outcome.considered.push(seat.number);
            events.push(Event::Answered { attempt: attempt(seat), answer });
        }
        events.push(Event::Decided { outcome: Box::new(outcome) });
        events.push(Event::Closed { cost: PicoUsd(3_000_000_000) });
        let numbered = events.into_iter().zip(1..);
        numbered.map(|(event, seq)| Recorded { seq, elapsed_ms: seq * 900, event }).collect()
    }
}
