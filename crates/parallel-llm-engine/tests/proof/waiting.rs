//! How long a run waits for its panel, on a virtual clock. Reply times have a known distribution, so the distribution
//! of decision times can be calculated and compared with published figures and with the engine.

use parallel_llm_engine::request::wait::Wait;

use crate::proof::item::NAMES;
use crate::proof::normal;
use crate::proof::rng::Rng;
use crate::proof::{check_share, question_count};
use crate::scenario::scenario;
use crate::script::{Reply, hangs, says};

/// Reply times are lognormal: their median in milliseconds, and their scale.
const MEDIAN_MS: f64 = 10_000.0;
const SIGMA: f64 = 0.7;

/// The probability that a reply takes at most `ms`.
fn share_within(ms: f64) -> f64 {
    normal::below((ms / MEDIAN_MS).ln() / SIGMA)
}

/// The probability that at least `enough` of `of` replies take at most `ms`.
fn enough_within(ms: f64, (enough, of): (u32, u32)) -> f64 {
    (enough..=of).map(|count| binomial(count, of, share_within(ms))).sum()
}

/// The probability of exactly `count` successes in `of` trials.
fn binomial(count: u32, of: u32, chance: f64) -> f64 {
    let ways = (0..count).map(|one| f64::from(of - one) / f64::from(one + 1)).product::<f64>();
    ways * chance.powi(count.cast_signed()) * (1.0 - chance).powi((of - count).cast_signed())
}

/// The quantile of the time at which enough replies have arrived, in milliseconds.
fn decision_quantile(share: f64, panel: (u32, u32)) -> f64 {
    normal::solve((1.0, 1e7), |ms| enough_within(ms, panel) - share)
}

#[test]
fn decision_times_match_published_figures() {
    for (panel, [median, late]) in [((5, 5), [22.0, 50.5]), ((3, 5), [10.0, 18.6]), ((3, 3), [17.7, 44.2])] {
        let (computed, computed_late) =
            (decision_quantile(0.5, panel) / 1e3, decision_quantile(0.95, panel) / 1e3);
        println!(
            "{} of {}: p50 {computed:.2} s, p95 {computed_late:.2} s; golden {median} and {late}",
            panel.0, panel.1
        );
        // The published figures are simulated and rounded to tenths; their 95th percentiles are accurate to about a
        // percent.
        assert!((computed - median).abs() < 0.2 && (computed_late - late).abs() < 0.6);
    }
}

fn reply(rng: &mut Rng) -> Reply {
    let ms = (MEDIAN_MS * (SIGMA * rng.normal()).exp()).ceil();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some minutes in milliseconds"
    )]
    says(ms as u64, "The moon.")
}

/// The decision times of runs with this wait rule and this many seats, in milliseconds.
async fn decision_times(count: usize, rule: Wait, rng: &mut Rng) -> Vec<f64> {
    let mut moments = Vec::new();
    for _ in 0..question_count() {
        let replies: Vec<_> = NAMES[..count].iter().map(|name| (*name, reply(rng))).collect();
        let result = scenario(replies).asks("How do tides work?", "vote").wait(rule).run().await;
        moments.push(result.run.decided_ms.expect("the run is decided") as f64);
    }
    moments
}

fn decided_by(moments: &[f64], ms: f64) -> (usize, usize) {
    (moments.iter().filter(|moment| **moment <= ms).count(), moments.len())
}

#[tokio::test(start_paused = true)]
async fn decision_times_match_the_calculation() {
    let rng = &mut Rng::new(90);
    for (panel, rule) in [((5, 5), Wait::All), ((3, 5), Wait::Seats { count: 3 }), ((3, 3), Wait::All)] {
        let moments = decision_times(panel.1 as usize, rule, rng).await;
        for share in [0.5, 0.95] {
            // A reply takes whole milliseconds, rounded up.
            let ms = decision_quantile(share, panel).ceil();
            check_share(&format!("{} of {} by {ms} ms", panel.0, panel.1), decided_by(&moments, ms), share);
        }
    }
}

/// Three of five answers are enough after `after_ms`, unless three times their median has not passed.
#[tokio::test(start_paused = true)]
async fn stragglers_are_left_behind_at_the_calculated_times() {
    for (after_ms, seed) in [(45_000, 91), (15_000, 93)] {
        let rule = Wait::Stragglers { share_percent: 60, after_ms };
        assert!(after_ms != 45_000 || rule == Wait::default(), "one of them is the default");
        let moments = decision_times(5, rule, &mut Rng::new(seed)).await;
        let after = after_ms as f64;
        let all = binomial(5, 5, share_within(after));
        // If three or four have answered, how often their upper median is at most a third of the time.
        let are_quick = |count: u32| {
            let quick = share_within(after / 3.0) / share_within(after);
            (count / 2 + 1..=count).map(|early| binomial(early, count, quick)).sum::<f64>()
        };
        let left_behind: f64 =
            [3, 4].map(|count| binomial(count, 5, share_within(after)) * are_quick(count)).iter().sum();
        check_share(&format!("decided by {after_ms} ms"), decided_by(&moments, after), all + left_behind);
        println!("waiting for all five: {all:.4} by then");
        let early = after * 0.8;
        check_share(
            "all five, before any is left behind",
            decided_by(&moments, early),
            binomial(5, 5, share_within(early)),
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_rule_waits_past_the_deadline() {
    let rng = &mut Rng::new(92);
    let mut at_the_end = 0;
    for _ in 0..question_count() {
        let rule = *rng.pick(&[
            Wait::All,
            Wait::Seats { count: 3 },
            Wait::Until { ms: 12_000 },
            Wait::Until { ms: 40_000 },
            Wait::default(),
        ]);
        let replies: Vec<_> = NAMES[..2 + rng.below(6)]
            .iter()
            .map(|name| (*name, if rng.chance(0.3) { hangs() } else { reply(rng) }))
            .collect();
        let strongest = rng.chance(0.3);
        let run_ms = 6_000 + rng.below(40_000) as u64;
        let result = scenario(replies)
            .asks("How do tides work?", "vote")
            .wait(rule)
            .plan(|plan| {
                plan.timers.run_ms = run_ms;
                plan.seats[0].strongest = strongest;
            })
            .run()
            .await;
        let decided_ms = result.run.decided_ms.expect("the run is decided");
        let has_text = result.run.outcome.as_ref().is_some_and(|outcome| outcome.text.is_some());
        // A third of the time is kept for fusing, but without an answer there is nothing to fuse, so the whole time
        // is waited.
        let panel_ms = run_ms - run_ms / 3;
        assert!(decided_ms <= run_ms, "{decided_ms} of {run_ms} ms");
        // An answer later than that is the first one.
        let first_ms = result
            .run
            .seats
            .iter()
            .filter(|seat| seat.answer.is_some())
            .filter_map(|seat| seat.elapsed_ms)
            .min();
        if has_text {
            let latest = panel_ms.max(first_ms.expect("somebody answered"));
            assert!(decided_ms <= latest + 1, "{decided_ms}, and the panel has {latest} ms");
        }
        at_the_end += usize::from(decided_ms + 1 >= panel_ms);
    }
    assert!(at_the_end > question_count() / 10, "deadlines are met: {at_the_end}");
}
