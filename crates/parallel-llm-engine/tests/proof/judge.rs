//! When a judge is worth asking: how many pairs it must get right before its selection beats the best model of the
//! panel. Measured with `best-of-n` and compared with a calculation.
//!
//! The judge is a multinomial logit over the distinct answers it is shown. The right answer has the weight `exp(β)`
//! and each wrong answer 1, so it prefers a right answer to a wrong one with the probability `exp(β) / (1 + exp(β))`.
//! The assumptions: the number of votes does not influence it (γ = 0), its errors are independent of the panel's, and
//! the panel's errors correlate as those of five flagship models on MMLU (φ = 0.534, g = 0.766). The judge breaks
//! even at 0.70, also with a panel of independent errors; if it counted votes (γ = 1), it would at 0.67.

use parallel_llm_engine::port::Call;

use crate::proof::item::{Item, candidates, outcome, verdict};
use crate::proof::normal;
use crate::proof::panel::{Choice, NOTHING, Panel, Parameters, RIGHT};
use crate::proof::rng::Rng;
use crate::proof::{check_share, question_count};
use crate::script::{Reply, after};

/// A panel whose best model leads by some points.
const TEAM: [f64; 3] = [0.876, 0.85, 0.82];

/// Each distinct answer with its weight, for a judge that gets this share of pairs right.
fn weights(choices: &[Choice], pairs: f64) -> Vec<(Choice, f64)> {
    let mut distinct: Vec<Choice> = choices.iter().copied().filter(|one| *one != NOTHING).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let odds = pairs / (1.0 - pairs);
    distinct.into_iter().map(|one| (one, if one == RIGHT { odds } else { 1.0 })).collect()
}

/// How often such a judge selects the right answer.
fn selection_accuracy(choices: &[Choice], pairs: f64) -> f64 {
    let weights = weights(choices, pairs);
    let right: f64 = weights.iter().filter(|(one, _)| *one == RIGHT).map(|(_, weight)| weight).sum();
    right / weights.iter().map(|(_, weight)| weight).sum::<f64>()
}

/// A judge that decides once for each question, whatever order it is shown.
fn judge_reply(item: &Item, pairs: f64, rng: &mut Rng) -> Reply {
    let weights = weights(&item.choices, pairs);
    let mut left = rng.unit() * weights.iter().map(|(_, weight)| weight).sum::<f64>();
    let taken = weights.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    let taken = taken.or(weights.last()).expect("a model has answered").0;
    let written: Vec<String> = item.written.iter().map(|written| written.text().to_owned()).collect();
    let choices = item.choices.clone();
    let judge = move |call: &Call| {
        let mut shown = candidates(call);
        let is_other =
            |text: &str| written.iter().position(|one| one == text).map(|at| choices[at]) != Some(taken);
        shown.sort_by_key(|(_, text)| is_other(text));
        verdict(shown.into_iter().map(|(label, _)| label))
    };
    after(10).compose(judge).end()
}

#[tokio::test(start_paused = true)]
async fn a_judge_beats_the_best_model_from_seven_right_pairs_in_ten() {
    let panel = Panel::of(&TEAM, Parameters::CALIBRATED);
    let selected = |pairs: f64| panel.mean(|choices| selection_accuracy(choices, pairs));
    let crossing = normal::solve((0.5, 0.95), |pairs| selected(pairs) - TEAM[0]);
    println!("a judge crosses {} at {crossing:.3} of the pairs", TEAM[0]);
    assert!((crossing - 0.70).abs() < 0.01, "{crossing}");
    let alone = Panel::of(&TEAM, Parameters::independent(4));
    let crossing = normal::solve((0.5, 0.95), |pairs| {
        alone.mean(|choices| selection_accuracy(choices, pairs)) - TEAM[0]
    });
    assert!((crossing - 0.70).abs() < 0.01, "{crossing}");
    let rng = &mut Rng::new(100);
    for pairs in [0.5, 0.7, 0.9] {
        let mut right = 0;
        for _ in 0..question_count() {
            let item = Item::sample(&panel, rng);
            let judge = judge_reply(&item, pairs, rng);
            let result = item.scenario("best-of-n", vec![("fuser", judge)], rng).run().await;
            right += usize::from(item.is_right(outcome(&result)));
        }
        check_share(&format!("selected by a judge of {pairs}"), (right, question_count()), selected(pairs));
    }
    assert!(selected(0.5) < TEAM[0] - 0.03 && selected(0.9) > TEAM[0] + 0.03);
}
