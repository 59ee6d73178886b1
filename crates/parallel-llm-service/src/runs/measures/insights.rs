//! Insights: how often each model of a panel mattered, with confidence interval and cost.
//!
//! Pure, apart from reading the facts. Invariants: no verdict on a model is given before there are enough runs,
//! and every share comes with its interval and its number of runs.

use std::collections::{BTreeMap, BTreeSet};

use parallel_llm_engine::agreement::interval::wilson;
use parallel_llm_engine::{Failure, OutcomeKind, PicoUsd, RunId, SeatStatus};
use parallel_llm_store::SeatFact;
use serde::Serialize;

use super::statistics::Statistics;
use crate::access::Scope;

/// The version of the format.
const SCHEMA: u32 = 1;
/// The fewest runs for a verdict, whatever the interval: the interval assumes independent questions, and a person asks
/// several on one matter.
const RUNS_MIN: u64 = 20;
/// The deciding share: a model whose interval is below it may be left out, one whose interval is above it earns
/// its seat. A model that never mattered needs 35 runs.
const SHARE_MIN: f64 = 0.1;
/// The largest forecast of further runs: more would take most people years.
const MORE_RUNS_MAX: u64 = 1_000;

/// Insights into the models of a panel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Insights {
    /// The version of this format.
    pub schema: u32,
    /// The start of the period, in milliseconds since 1970; null for all runs.
    pub since_ms: Option<i64>,
    /// Informative runs: their text was made of at least two answers, and these are known.
    pub runs: u64,
    /// Runs of two answers or more that are not informative.
    #[serde(rename = "runs_untold")]
    pub runs_uninformative: u64,
    /// Why they are not.
    #[serde(rename = "runs_untold_by_reason")]
    pub uninformative: Uninformative,
    /// The fewest runs for a verdict.
    pub runs_min: u64,
    /// The models with a seat in informative runs, by number of runs.
    pub models: Vec<ModelInsight>,
}

/// The runs of two answers or more that are not informative, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uninformative {
    /// Nothing was made of the answers or chosen among them, as with `panel`, or if no synthesizer could write.
    pub nothing_fused: u64,
    /// Their text was made of the answers, but names none that it started from: a synthesizer need not say.
    pub no_base_named: u64,
    /// Their texts are too long to compare.
    pub too_long: u64,
}

/// Insights into one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelInsight {
    /// The model, as `-m` takes it.
    pub model: String,
    /// Informative runs in which it had a seat.
    pub runs: u64,
    /// Its seats in them.
    pub seats: u64,
    /// Seats with a complete answer, late ones included.
    pub answered: u64,
    /// Seats whose answers came too late to be considered.
    pub late: u64,
    /// Seats that failed.
    pub failed: u64,
    /// Seats that refused.
    pub refused: u64,
    /// Seats that ended otherwise: cut, cancelled, skipped or unknown.
    pub other: u64,
    /// Runs whose text is its answer or was based on it.
    pub base_runs: u64,
    /// Runs whose text shares wording with its answer that the base lacks.
    pub drawn_runs: u64,
    /// Runs in which it mattered in one of these two ways.
    pub mattered_runs: u64,
    /// The share of its runs in which it mattered, 0 to 1.
    pub mattered_share: f64,
    /// The Wilson 95 % interval of that share.
    pub mattered_interval: [f64; 2],
    /// The cost of its calls, in USD; null if none is known.
    pub cost_usd: Option<f64>,
    /// The mean cost per run.
    pub cost_per_run_usd: Option<f64>,
    /// Seats of unknown cost.
    pub seats_of_unknown_cost: u64,
    /// The cost of the panels of its runs, in USD; null if none is known.
    pub panel_cost_usd: Option<f64>,
    /// The mean time from the first request to the complete answer, in milliseconds; null if it never answered.
    pub mean_ms: Option<u64>,
    /// `leave_out`, `keep`, or `open` for too few runs.
    pub verdict: Verdict,
    /// The number of further runs of this kind that a verdict would need; null with a verdict, or beyond a thousand.
    pub more_runs: Option<u64>,
    /// The verdict as a sentence.
    pub sentence: String,
}

/// The verdict on a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It mattered so rarely that the panel does as well without it.
    LeaveOut,
    /// It earns its seat.
    Keep,
    /// Too few runs for a verdict.
    Open,
}

impl Statistics {
    /// The insights from the runs since then (milliseconds since 1970).
    pub async fn insights(&self, since_ms: Option<i64>) -> Result<Insights, Failure> {
        self.principal.check(Scope::Read)?;
        let facts = self.store.get().await?.seat_facts(self.principal.whose(), since_ms).await?;
        Ok(of(&facts, since_ms))
    }
}

/// The insights from these seats.
pub(super) fn of(facts: &[SeatFact], since_ms: Option<i64>) -> Insights {
    let mut runs: BTreeMap<RunId, Vec<&SeatFact>> = BTreeMap::new();
    for fact in facts {
        runs.entry(fact.run_id).or_default().push(fact);
    }
    runs.retain(|_, seats| seats.iter().filter(|seat| seat.considered).count() >= 2);
    let mut uninformative = Uninformative::default();
    runs.retain(|_, seats| uninformative.is_informative(seats));
    let mut models: BTreeMap<String, Tally> = BTreeMap::new();
    for seats in runs.values() {
        let panel = Spent::of(seats.iter().copied());
        let names: BTreeSet<String> = seats.iter().map(|seat| name(seat)).collect();
        for model in names {
            let held: Vec<&SeatFact> = seats.iter().copied().filter(|seat| name(seat) == model).collect();
            models.entry(model).or_default().add(&held, panel);
        }
    }
    let mut models: Vec<ModelInsight> = models.iter().map(|(model, tally)| tally.insight(model)).collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.runs));
    Insights {
        schema: SCHEMA,
        since_ms,
        runs: runs.len() as u64,
        runs_uninformative: uninformative.nothing_fused
            + uninformative.no_base_named
            + uninformative.too_long,
        uninformative,
        runs_min: RUNS_MIN,
        models,
    }
}

impl Uninformative {
    /// Whether it is known which answers the text of a run was made of; counts a run of which it is not. A verbatim answer,
    /// given because nothing was fused, says nothing about the others, and texts that are too long are not compared.
    fn is_informative(&mut self, seats: &[&SeatFact]) -> bool {
        let outcome = seats.first().map(|seat| (seat.outcome, seat.edit_ratio.is_some()));
        let reason = match outcome {
            Some((OutcomeKind::Selected | OutcomeKind::Fused, _))
                if !seats.iter().any(|seat| seat.is_base) =>
            {
                &mut self.no_base_named
            }
            Some((OutcomeKind::Fused, false)) => &mut self.too_long,
            Some((OutcomeKind::Selected | OutcomeKind::Fused, _)) => return true,
            _ => &mut self.nothing_fused,
        };
        *reason += 1;
        false
    }
}

fn name(seat: &SeatFact) -> String {
    seat.model.to_string()
}

/// A sum of costs, and the number of seats that it lacks.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    cost: PicoUsd,
    seats_of_unknown_cost: u64,
}

impl Spent {
    fn of<'a>(seats: impl Iterator<Item = &'a SeatFact>) -> Self {
        seats.fold(Self::default(), |spent, seat| Self {
            cost: spent.cost.plus(seat.cost.unwrap_or_default()),
            seats_of_unknown_cost: spent.seats_of_unknown_cost + u64::from(seat.cost.is_none()),
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cost: self.cost.plus(other.cost),
            seats_of_unknown_cost: self.seats_of_unknown_cost + other.seats_of_unknown_cost,
        }
    }

    fn known(self) -> Option<PicoUsd> {
        self.cost.unless_unknown(self.seats_of_unknown_cost > 0)
    }

    fn usd(self) -> Option<f64> {
        self.known().map(PicoUsd::as_usd)
    }
}

/// The counts of one model.
#[derive(Clone, Debug, Default)]
struct Tally {
    runs: u64,
    seats: u64,
    late: u64,
    answered: u64,
    failed: u64,
    refused: u64,
    base_runs: u64,
    drawn_runs: u64,
    mattered_runs: u64,
    own: Spent,
    panel: Spent,
    answered_ms: u64,
}

impl Tally {
    /// Adds the model's seats in one run and the cost of that run's panel.
    fn add(&mut self, held: &[&SeatFact], panel: Spent) {
        let count = |is: fn(&SeatFact) -> bool| held.iter().filter(|seat| is(seat)).count() as u64;
        let any = |is: fn(&SeatFact) -> bool| u64::from(held.iter().any(|seat| is(seat)));
        self.runs += 1;
        self.seats += held.len() as u64;
        self.answered += count(|seat| seat.status == SeatStatus::Answered);
        self.late += count(|seat| seat.late);
        self.failed += count(|seat| seat.status == SeatStatus::Failed);
        self.refused += count(|seat| seat.status == SeatStatus::Refused);
        self.base_runs += any(|seat| seat.is_base);
        self.drawn_runs += any(|seat| seat.drawn_from);
        self.mattered_runs += any(|seat| seat.is_base || seat.drawn_from);
        self.own = self.own.plus(Spent::of(held.iter().copied()));
        self.panel = self.panel.plus(panel);
        let answered = held.iter().filter(|seat| seat.status == SeatStatus::Answered);
        self.answered_ms += answered.filter_map(|seat| seat.elapsed_ms).sum::<u64>();
    }

    fn insight(&self, model: &str) -> ModelInsight {
        let (mattered, runs) = (self.mattered_runs as f64, self.runs as f64);
        let interval = wilson(mattered, runs);
        let verdict = judge(interval, self.runs);
        let more_runs = (verdict == Verdict::Open).then(|| more_runs(mattered / runs, self.runs)).flatten();
        ModelInsight {
            model: model.to_owned(),
            runs: self.runs,
            seats: self.seats,
            answered: self.answered,
            late: self.late,
            failed: self.failed,
            refused: self.refused,
            other: self.seats - self.answered - self.failed - self.refused,
            base_runs: self.base_runs,
            drawn_runs: self.drawn_runs,
            mattered_runs: self.mattered_runs,
            mattered_share: mattered / runs,
            mattered_interval: interval,
            cost_usd: self.own.usd(),
            cost_per_run_usd: self.own.usd().map(|usd| usd / runs),
            seats_of_unknown_cost: self.own.seats_of_unknown_cost,
            panel_cost_usd: self.panel.usd(),
            mean_ms: self.answered_ms.checked_div(self.answered),
            verdict,
            more_runs,
            sentence: self.sentence(model, interval, verdict, more_runs),
        }
    }

    fn sentence(&self, model: &str, interval: [f64; 2], verdict: Verdict, more_runs: Option<u64>) -> String {
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) };
        let share = match self.mattered_runs {
            0 => format!("never mattered in {runs}"),
            mattered => format!("mattered in {mattered} of {runs}"),
        };
        let [low, high] = interval.map(|end| end * 100.0);
        let rest = match (verdict, more_runs) {
            (Verdict::LeaveOut, _) => self.saving(),
            (Verdict::Keep, _) => "it earns its seat".to_owned(),
            (Verdict::Open, Some(more)) => format!("too few to say, {more} more like these would tell"),
            (Verdict::Open, None) => {
                format!("so near to one in ten that {MORE_RUNS_MAX} more like these would not tell")
            }
        };
        format!("`{model}` {share} ({low:.0}–{high:.0} %): {rest}")
    }

    /// The saving without the model: the cost of its own calls, without guesses.
    fn saving(&self) -> String {
        let least = |spent: Spent| if spent.seats_of_unknown_cost > 0 { "at least " } else { "" };
        match (self.own.known(), self.panel.known()) {
            (Some(PicoUsd::ZERO), _) => {
                "leaving it out would have saved time only, it costs nothing".to_owned()
            }
            (Some(own), Some(panel)) => format!(
                "leaving it out would have saved {}{own} of {}{panel}",
                least(self.own),
                least(self.panel)
            ),
            _ => "what leaving it out would have saved is unknown".to_owned(),
        }
    }
}

/// The verdict for an interval from this many runs.
fn judge([low, high]: [f64; 2], runs: u64) -> Verdict {
    match runs {
        ..RUNS_MIN => Verdict::Open,
        _ if high < SHARE_MIN => Verdict::LeaveOut,
        _ if low >= SHARE_MIN => Verdict::Keep,
        _ => Verdict::Open,
    }
}

/// The number of further runs until a verdict, if the share stays the same.
fn more_runs(share: f64, runs: u64) -> Option<u64> {
    let is_decided = |more: &u64| {
        let all = runs + more;
        judge(wilson(share * all as f64, all as f64), all) != Verdict::Open
    };
    (1..=MORE_RUNS_MAX).find(is_decided)
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::{ModelRef, ProviderId, SeatNumber};

    use super::*;

    #[test]
    fn too_few_runs_give_no_verdict() {
        for (mattered, runs, verdict, more) in [
            (0, 1, Verdict::Open, Some(34)),
            (0, 34, Verdict::Open, Some(1)),
            (0, 35, Verdict::LeaveOut, None),
            (1, 60, Verdict::LeaveOut, None),
            (19, 19, Verdict::Open, Some(1)),
            (5, 20, Verdict::Keep, None),
            (4, 20, Verdict::Open, Some(15)),
            (3, 30, Verdict::Open, None),
        ] {
            let tally = Tally { mattered_runs: mattered, runs, ..Tally::default() };
            let insight = tally.insight("x");
            assert_eq!((insight.verdict, insight.more_runs), (verdict, more), "{mattered} of {runs}");
        }
    }

    /// A seat of run `run` that answered, was considered, cost 2 cents and took a second.
    fn seat(run: u64, number: u8, model: &str) -> SeatFact {
        SeatFact {
            run_id: RunId::from_parts(run, 0),
            seat: SeatNumber(number),
            model: ModelRef { provider: ProviderId("openrouter".to_owned()), model: model.to_owned() },
            status: SeatStatus::Answered,
            late: false,
            considered: true,
            is_base: false,
            drawn_from: false,
            alone: false,
            cost: Some(PicoUsd(20_000_000_000)),
            elapsed_ms: Some(1_000),
            decided_at_ms: 0,
            outcome: OutcomeKind::Fused,
            edit_ratio: Some(0.1),
            agreement_group: None,
        }
    }

    /// A run with base `a`, with `b`, and with the given third seat.
    fn run(run: u64, third: impl FnOnce(SeatFact) -> SeatFact) -> Vec<SeatFact> {
        vec![SeatFact { is_base: true, ..seat(run, 1, "a") }, seat(run, 2, "b"), third(seat(run, 3, "c"))]
    }

    fn lines(facts: &[SeatFact]) -> Vec<String> {
        let line = |model: &ModelInsight| {
            let ModelInsight { answered, late, failed, refused, other, base_runs, drawn_runs, .. } = model;
            format!(
                "{answered} {late} {failed} {refused} {other} | {base_runs} {drawn_runs} | {:?} {:?} | {}",
                model.cost_usd, model.mean_ms, model.sentence
            )
        };
        of(facts, None).models.iter().map(line).collect()
    }

    #[test]
    fn a_model_that_never_matters_is_named_with_what_it_cost() {
        let runs: Vec<SeatFact> =
            (0..40).flat_map(|n| run(n, |seat| SeatFact { drawn_from: n % 2 == 0, ..seat })).collect();
        assert_eq!(
            lines(&runs),
            [
                "40 0 0 0 0 | 40 0 | Some(0.8) Some(1000) | `a` mattered in 40 of 40 runs (91–100 %): it earns its seat",
                "40 0 0 0 0 | 0 0 | Some(0.8) Some(1000) | `b` never mattered in 40 runs (0–9 %): leaving it out would \
                 have saved $0.80 of $2.40",
                "40 0 0 0 0 | 0 20 | Some(0.8) Some(1000) | `c` mattered in 20 of 40 runs (35–65 %): it earns its seat",
            ]
        );
    }

    #[test]
    fn seats_that_give_nothing_are_counted_and_cost_what_is_known() {
        let gives_nothing = |n: u64, seat: SeatFact| {
            let status = [SeatStatus::Failed, SeatStatus::Refused, SeatStatus::Cut, SeatStatus::Answered];
            let status = status[usize::try_from(n).unwrap() % 4];
            let late = status == SeatStatus::Answered;
            SeatFact { considered: false, status, late, cost: None, elapsed_ms: None, ..seat }
        };
        let runs: Vec<SeatFact> = (0..40).flat_map(|n| run(n, |seat| gives_nothing(n, seat))).collect();
        assert_eq!(
            lines(&runs)[1..],
            [
                "40 0 0 0 0 | 0 0 | Some(0.8) Some(1000) | `b` never mattered in 40 runs (0–9 %): leaving it out would \
                 have saved $0.80 of at least $1.60",
                "10 10 10 10 10 | 0 0 | None Some(0) | `c` never mattered in 40 runs (0–9 %): what leaving it out would \
                 have saved is unknown",
            ]
        );
    }

    #[test]
    fn runs_that_decide_nothing_are_left_out() {
        let with = |n: u64, outcome, edit_ratio| -> Vec<SeatFact> {
            run(n, |seat| seat).into_iter().map(|seat| SeatFact { outcome, edit_ratio, ..seat }).collect()
        };
        let lone = SeatFact { considered: false, ..seat(5, 2, "b") };
        let facts = [
            with(1, OutcomeKind::Fused, Some(0.0)),
            with(2, OutcomeKind::Selected, None),
            with(3, OutcomeKind::Fused, None),
            with(4, OutcomeKind::Verbatim, None),
            vec![SeatFact { is_base: true, alone: true, ..seat(5, 1, "a") }, lone],
            with(6, OutcomeKind::None, None),
        ];
        let found = of(&facts.concat(), Some(7));
        assert_eq!((found.runs, found.runs_uninformative, found.since_ms), (2, 3, Some(7)));
        assert!(found.models.iter().all(|model| model.runs == 2));
        assert_eq!(of(&[], None).models, []);
    }

    #[test]
    fn a_model_of_several_seats_matters_once_a_run() {
        let facts =
            [SeatFact { is_base: true, ..seat(1, 1, "a") }, SeatFact { drawn_from: true, ..seat(1, 2, "a") }];
        let found = of(&facts, None);
        let [model] = found.models.as_slice() else { panic!("one model: {found:?}") };
        assert_eq!((model.runs, model.seats, model.mattered_runs, model.cost_usd), (1, 2, 1, Some(0.04)));
        assert_eq!(
            model.sentence,
            "`a` mattered in 1 of 1 run (21–100 %): too few to say, 19 more like these would tell"
        );
    }
}
