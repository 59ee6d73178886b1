//! Everything random about a simulated run: its plan, the replies of models, its faults, and how new processes
//! continue it.

use std::time::Duration;

use parallel_llm_engine::plan::{Defaults, RunPlan, Timers};
use parallel_llm_engine::request::Equivalence;
use parallel_llm_engine::request::flow::{Flow, FlowStage};
use parallel_llm_engine::request::strategy::{ResolvedStrategy, Strategy};
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{Code, Failure, Finish, PicoUsd, Reopening, Run, Seat, SeatNumber, SeatStatus};

use crate::scenario::{QUESTION, defaults, scenario, seat};
use crate::script::{Reply, after, failure, not_admitted, synthesis_reply};
use crate::simulation::process::{Cancellation, Crash, CrashMoment, ProcessPlan};

const SEATS: [&str; 8] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"];
const CHAIN: [&str; 3] = ["fuser-1", "fuser-2", "fuser-3"];
/// Models that are added only after a run has begun.
const MORE: [&str; 2] = ["ivy", "joe"];
const OTHERS: [&str; 2] = ["fuser-4", "fuser-5"];
/// The model for equivalence.
const GROUPER: [&str; 1] = ["grouper"];
/// Most runs have an open question, the others one with a short answer.
const QUESTIONS: [&str; 3] = [QUESTION, QUESTION, "What is the moon called in Latin?"];
/// The variants of strategies to draw from.
const STRATEGIES: [&str; 21] = [
    "synthesize",
    "synthesize",
    "synthesize@gate=off",
    "synthesize@gate=off,first=2",
    "synthesize@early=2",
    "synthesize@early=3,first=2,gate=off",
    "vote",
    "vote@first=2",
    "vote@first=3",
    "vote@min_share=40",
    "best-of-n",
    "best-of-n@orders=1,first=2",
    "best-of-n@gate=off",
    "best-of-n@by=consistency,gate=off",
    "best-of-n@by=pairs,gate=off",
    "best-of-n@by=league,gate=off",
    "council@gate=off",
    "moa@gate=off",
    "cascade@first=2",
    "race@hedge_after_ms=20",
    "panel",
];
/// The strategies of stages that ask models, besides those of stages that read texts.
const ASKING: [&str; 3] = ["council@gate=off", "moa@gate=off", "synthesize@paranoid=on"];
/// The strategies of stages that read texts.
const READING: [&str; 8] = [
    "synthesize",
    "synthesize@gate=off",
    "synthesize@gate=off,analysis=separate",
    "vote",
    "vote@min_share=60",
    "best-of-n@gate=off",
    "best-of-n@by=consistency,gate=off",
    "best-of-n@by=pairs,gate=off",
];
/// Enough for two calls but not for three.
const SMALL_BUDGET: PicoUsd = PicoUsd(25_000_000_000);
/// No seats are added to a run that has this many.
const SEATS_MANY: usize = 10;

/// Every strategy by its plain name, so that a new one is drawn without being listed here, and all valid variants.
fn strategies() -> Vec<&'static str> {
    let named = STRATEGIES.into_iter().filter(|strategy| ResolvedStrategy::check(strategy).is_ok());
    Strategy::ALL.iter().map(|strategy| strategy.name()).chain(named).collect()
}

/// Randomness that can be repeated.
pub(crate) struct Random(blake3::OutputReader);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(blake3::Hasher::new_keyed(&[7; 32]).update(&seed.to_le_bytes()).finalize_xof())
    }

    /// A random number from 0 up to, but not including, `most`.
    pub(super) fn below(&mut self, most: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes) % most
    }

    fn index_below(&mut self, most: u64) -> usize {
        usize::try_from(self.below(most)).expect("it is small")
    }

    /// True once in `times` draws on average.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index_below(items.len() as u64)]
    }

    /// The plan of the run.
    pub(super) fn plan(&mut self, seed: u64) -> RunPlan {
        let (seats, chain) = (1 + self.index_below(8), self.index_below(4));
        let names = SEATS.iter().take(seats).chain(CHAIN.iter().take(chain)).chain(&GROUPER);
        let wait = self.pick(&[
            Wait::All,
            Wait::Seats { count: 2 },
            Wait::Until { ms: 150 },
            Wait::Stragglers { share_percent: 60, after_ms: 100 },
        ]);
        let run_ms = self.pick(&[100, 1_000, 5_000, 20_000, 20_000, 20_000]);
        let timers = Timers { first_text_ms: 300, idle_ms: 100, content_ms: 200, call_ms: 900, run_ms };
        let budget =
            self.pick(&[PicoUsd::from_usd(3), PicoUsd::from_usd(3), PicoUsd::from_usd(3), SMALL_BUDGET]);
        let strongest = self.once_in(4);
        let planned = scenario(names.map(|name| (*name, after(0))));
        let planned = if self.once_in(4) {
            planned.with_settings(&self.flow(chain))
        } else {
            planned.asks(self.pick(&QUESTIONS), self.pick(&strategies()))
        };
        let planned = planned.wait(wait).plan(|plan| {
            plan.seed = seed;
            plan.timers = timers;
            plan.budget = budget;
            plan.seats[0].strongest = strongest;
        });
        planned.planned()
    }

    /// The settings with a random flow, and with a chain of this length.
    pub(crate) fn flow(&mut self, chain: usize) -> Defaults {
        let mut stages: Vec<FlowStage> = Vec::new();
        for _ in 0..2 + self.index_below(2) {
            let entries = 1 + self.index_below(2);
            let panel =
                (0..entries).map(|_| format!("{}*{}", self.pick(&SEATS), 1 + self.below(2))).collect();
            stages.push(FlowStage { panel, ..self.stage(stages.len(), &[&ASKING[..], &READING].concat()) });
        }
        for _ in 0..self.below(3) {
            let first = self.index_below(stages.len() as u64);
            let other = (first + 1 + self.index_below(stages.len() as u64 - 1)) % stages.len();
            let from = [first, other].map(|read| stages[read].name.clone()).to_vec();
            stages.push(FlowStage { from, ..self.stage(stages.len(), &READING) });
        }
        // The last stage reads all that nobody reads, and at least two.
        let is_read = |stage: &FlowStage| stages.iter().any(|other| other.from.contains(&stage.name));
        let unread = stages.iter().filter(|stage| !is_read(stage));
        let mut from: Vec<String> = unread.map(|stage| stage.name.clone()).collect();
        from.extend((from.len() < 2).then(|| stages[0].name.clone()));
        stages.push(FlowStage { from, ..self.stage(stages.len(), &[&READING[..], &["panel"]].concat()) });
        let flow = Flow { name: "it".to_owned(), about: None, stages };
        let synthesizers = CHAIN.iter().take(chain).map(|name| (*name).to_owned()).collect();
        let equivalence = Equivalence::Model(GROUPER[0].to_owned());
        Defaults { flow: Some(flow), synthesizers, equivalence, ..defaults() }
    }

    fn stage(&mut self, index: usize, strategies: &[&str]) -> FlowStage {
        let strategy = Some(self.pick(strategies).to_owned());
        FlowStage { name: format!("stage-{index}"), strategy, ..FlowStage::default() }
    }

    /// What happens to the next process; `before` is the run that the last one left.
    pub(super) fn process_plan(&mut self, before: Option<&Run>, may_fail: bool) -> ProcessPlan {
        let mut replies = Vec::new();
        for name in SEATS.iter().chain(&CHAIN).chain(&MORE).chain(&OTHERS).chain(&GROUPER) {
            for _ in 0..=self.below(4) {
                let is_reader = CHAIN.contains(name) || OTHERS.contains(name) || GROUPER.contains(name);
                replies.push((*name, self.reply(is_reader)));
            }
        }
        let (crash, breaks_at) = match self.below(8) {
            _ if !may_fail => (None, None),
            0 => (None, Some(1 + self.index_below(8))),
            1 => (Some(Crash::At { ms: self.below(600) }), None),
            _ => (Some(self.crash()), None),
        };
        let cancellation = self.once_in(5).then(|| self.cancellation());
        let hurry_ms = self.once_in(6).then(|| self.below(400));
        let skips = if self.once_in(6) { self.skips() } else { Vec::new() };
        ProcessPlan {
            replies,
            in_flight_max: self.pick(&[1, 2, 64, 64, 64]),
            commit_ms: self.pick(&[0, 0, 3, 40]),
            crash,
            breaks_at,
            cancellation,
            hurry_ms,
            skips,
            reopening: before.map(|run| self.reopening(run)),
        }
    }

    fn crash(&mut self) -> Crash {
        let commit = self.pick(&[1, 2, 3, 4, 5, 6, 8]);
        let kind = self.pick(&[
            CrashMoment::Before,
            CrashMoment::MiddleLost,
            CrashMoment::MiddleKept,
            CrashMoment::After,
        ]);
        Crash::Commit { commit, kind, ms: self.pick(&[0, 0, 1, 5, 40]) }
    }

    /// Some seats, which may have ended or not exist.
    fn skips(&mut self) -> Vec<(u64, SeatNumber)> {
        let count = 1 + self.index_below(3);
        (0..count)
            .map(|_| (self.below(400), SeatNumber(1 + u8::try_from(self.index_below(6)).expect("a few"))))
            .collect()
    }

    fn cancellation(&mut self) -> Cancellation {
        let latest_ms = self.pick(&[20, 100, 600]);
        let cancel_ms = self.below(latest_ms);
        match self.below(4) {
            0 => Cancellation { cancel_ms: None, abort_ms: Some(cancel_ms) },
            1 => Cancellation { cancel_ms: Some(cancel_ms), abort_ms: Some(cancel_ms + self.below(100)) },
            _ => Cancellation { cancel_ms: Some(cancel_ms), abort_ms: None },
        }
    }

    /// How to continue a run.
    fn reopening(&mut self, run: &Run) -> Reopening {
        let mut ask = Vec::new();
        for (seat, view) in run.plan.seats.iter().zip(&run.seats) {
            let is_asked = match view.status {
                SeatStatus::Answered => self.once_in(20),
                SeatStatus::Cut => self.once_in(5),
                SeatStatus::Unknown => self.once_in(3),
                _ => !self.once_in(6),
            };
            if is_asked {
                ask.push(seat.number);
            }
        }
        let more = if run.seats.len() < SEATS_MANY && self.once_in(3) { 1 + self.index_below(2) } else { 0 };
        let others = if self.once_in(3) { 1 + self.index_below(2) } else { 0 };
        let budget = match self.below(8) {
            0 => run.cost_max().plus(PicoUsd(15_000_000_000)),
            1 => SMALL_BUDGET,
            _ => run.plan.budget,
        };
        let seats = new_seats(&MORE[..more], run.plan.seats.len());
        let reopening = match new_seats(&OTHERS[..others], run.plan.synthesizers.len()).as_slice() {
            [] => Reopening::resume(&run.plan, ask),
            chain => Reopening::again(&run.plan, ask, chain).expect("there is room for them"),
        };
        Reopening { seats, budget, ..reopening }
    }

    fn fault(&mut self) -> Failure {
        let mut fault = failure(self.pick(Code::ALL));
        if self.once_in(3) {
            fault.status = Some(self.pick(&[400, 429, 502, 503]));
        }
        if self.once_in(4) {
            fault =
                fault.with_retry_after(Some(Duration::from_millis(self.pick(&[0, 1, 700, 5_000, 70_000]))));
        }
        if self.once_in(8) {
            fault.rejected_field = Some(self.pick(&["temperature", "reasoning"]).to_owned());
        }
        fault
    }

    /// A random text: short, long, or blank.
    fn words(&mut self) -> String {
        if self.once_in(2) {
            // Other models say this too.
            return "The moon.".to_owned();
        }
        if self.once_in(2) {
            return self.pick(&["It is.\n\nANSWER: the moon", "So.\n\nANSWER: moon", "ANSWER: 8"]).to_owned();
        }
        let word = self.pick(&["moon ", "tide ", "潮", "Error: ", " \n", "<<answer x>>\n"]);
        word.repeat(self.pick(&[1, 2, 60, 400]))
    }

    fn reply(&mut self, is_fuser: bool) -> Reply {
        let mut reply = after(self.below(50));
        if self.once_in(2) {
            return self.complete(reply, is_fuser);
        }
        if self.once_in(10) {
            return not_admitted(self.fault());
        }
        if self.once_in(2) {
            // One generation id that the provider can look up later, and one that it cannot.
            reply = reply.accepted(self.pick(&["gen-1", "gen-1", "nobody-1"]));
        }
        if self.once_in(3) {
            reply = reply.billed_anyway();
        }
        for _ in 0..self.below(5) {
            reply = reply.wait(self.pick(&[0, 1, 1, 5, 20, 20, 90, 120, 250]));
            reply = match self.below(5) {
                0 => reply.alive(2, 20),
                1 => reply.reasoning(),
                _ => reply.text(&self.words()),
            };
        }
        if is_fuser && self.once_in(2) {
            reply = self.synthesis(reply);
        }
        match self.below(24) {
            0 => reply.hang(),
            1 => reply.panic(),
            2 | 3 => reply.fail(self.fault()),
            4 => reply,
            5 => reply.end_with(|end| end.refusal = Some("No.".to_owned())),
            6 => reply.end_with(|end| end.cost = None),
            7 => reply.end_as(Finish::Length),
            8 => reply.end_with(|end| end.filtered = true),
            _ => reply.end(),
        }
    }
}

impl Random {
    /// A complete answer, quick or slow.
    fn complete(&mut self, reply: Reply, is_fuser: bool) -> Reply {
        let reply = if self.once_in(2) { reply.billed_anyway() } else { reply };
        let reply = if self.once_in(2) { reply.accepted("gen-2") } else { reply };
        let reply = reply.reasoning().wait(self.pick(&[0, 5, 40, 190]));
        let reply = if is_fuser { self.synthesis(reply) } else { reply.text(&self.words()) };
        reply.wait(self.pick(&[0, 5, 40, 90])).end()
    }

    fn synthesis(&mut self, reply: Reply) -> Reply {
        let base = self.pick(&["A", "B", "Q"]);
        let groups = r#""groups": [["A", "B"], ["C"]]"#;
        let analysis = format!("{{\"base\": \"{base}\", \"ranking\": [\"{base}\", \"C\"], {groups}}}");
        reply.compose(move |call| synthesis_reply(call, &analysis, "Both."))
    }
}

/// New slots, numbered from `before` on.
fn new_seats(names: &[&str], before: usize) -> Vec<Seat> {
    let number = |index: usize| SeatNumber::at(before + index).0;
    names.iter().enumerate().map(|(index, name)| seat(number(index), name)).collect()
}
