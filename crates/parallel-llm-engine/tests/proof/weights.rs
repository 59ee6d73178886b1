//! Votes weighted by accuracy, compared with Bayes' rule as textbooks give it, for models with independent errors.

use parallel_llm_engine::{OutcomeKind, RunRequest};

use crate::proof::item::{Item, outcome};
use crate::proof::panel::{Choice, NOTHING, Panel, Parameters, RIGHT};
use crate::proof::rng::Rng;
use crate::proof::{check_share, question_count};
use crate::scenario::{RunResult, scenario};

/// The posterior probability of each answer, from a uniform prior.
fn posterior(choices: &[Choice], accuracies: &[f64], options: usize) -> Vec<f64> {
    let likely = |answer: Choice| {
        let given = choices.iter().zip(accuracies).map(|(choice, accuracy)| match *choice {
            NOTHING => 1.0,
            choice if choice == answer => *accuracy,
            _ => (1.0 - accuracy) / (options - 1) as f64,
        });
        given.product::<f64>()
    };
    let likely: Vec<f64> = (0..options).map(likely).collect();
    let all: f64 = likely.iter().sum();
    likely.iter().map(|one| one / all).collect()
}

/// The weighted vote of models with these accuracies.
async fn weighted_vote(item: &Item, accuracies: &[f64], rng: &mut Rng) -> RunResult {
    let replies = item.replies(rng);
    let names = replies.iter().map(|(name, _)| *name).zip(accuracies);
    let request = RunRequest {
        models: Some(names.map(|(name, accuracy)| format!("{name}@accuracy={accuracy}")).collect()),
        strategy: Some("vote@weights=log-odds".to_owned()),
        ..RunRequest::prompt(item.question.text.as_str())
    };
    scenario(replies).requests(request).run().await
}

/// The highest posterior probability of any given answer.
fn highest_posterior(posterior: &[f64], choices: &[Choice]) -> f64 {
    choices.iter().filter(|choice| **choice != NOTHING).map(|choice| posterior[*choice]).fold(0.0, f64::max)
}

#[tokio::test(start_paused = true)]
async fn weighted_votes_follow_the_rule_of_bayes() {
    let rng = &mut Rng::new(60);
    let mut minorities = 0;
    for round in 0..question_count() * 2 {
        let options = 2 + round % 3;
        let accuracies: Vec<f64> = (0..2 + round % 5).map(|_| 0.02 + 0.96 * rng.unit()).collect();
        let panel = Panel::of(&accuracies, Parameters::independent(options)).unreadable(0.1);
        let item = Item::sample(&panel, rng);
        if item.choices.iter().all(|choice| *choice == NOTHING) {
            continue;
        }
        let result = weighted_vote(&item, &accuracies, rng).await;
        let outcome = outcome(&result);
        if outcome.kind == OutcomeKind::Verbatim {
            continue;
        }
        let chosen = item.chosen(outcome).expect("a vote chooses");
        let posterior = posterior(&item.choices, &accuracies, options);
        let most = highest_posterior(&posterior, &item.choices);
        assert!(posterior[chosen] >= most * (1.0 - 1e-7), "{accuracies:?} {:?} {posterior:?}", item.choices);
        let unsaid = posterior.iter().copied().fold(0.0, f64::max) > most * (1.0 + 1e-6);
        assert_eq!(
            outcome.reason.contains("a value that no answer gives is more likely"),
            unsaid,
            "{}",
            outcome.reason
        );
        let votes = |what: Choice| item.choices.iter().filter(|choice| **choice == what).count();
        minorities += usize::from(
            item.choices.iter().any(|choice| *choice != NOTHING && votes(*choice) > votes(chosen)),
        );
    }
    assert!(minorities > question_count() / 20, "weights matter: {minorities}");
}

#[tokio::test(start_paused = true)]
async fn weighted_votes_of_independent_models_are_right_as_often_as_calculated() {
    let accuracies = [0.9, 0.6, 0.55, 0.2, 0.5];
    let panel = Panel::of(&accuracies, Parameters::independent(4));
    let weighing = |choices: &[Choice]| {
        // The calculation names wrong answers only by the order in which they are given.
        let posterior = posterior(choices, &accuracies, 4);
        let most = highest_posterior(&posterior, choices);
        let level: Vec<&Choice> =
            choices.iter().filter(|choice| posterior[**choice] >= most * (1.0 - 1e-7)).collect();
        f64::from(*level[0] == RIGHT)
    };
    let expected = panel.mean(weighing);
    let rng = &mut Rng::new(61);
    let mut right = 0;
    for _ in 0..question_count() {
        let item = Item::sample(&panel, rng);
        right += usize::from(item.is_right(outcome(&weighted_vote(&item, &accuracies, rng).await)));
    }
    check_share("five unequal, weighed", (right, question_count()), expected);
    let counted =
        panel.mean(|choices| crate::proof::panel::plurality(choices, crate::proof::panel::Tie::First));
    println!("counted they would be right {counted:.4}");
    assert!(
        expected > counted + 0.05 && expected >= 0.9,
        "weights are worth something: {expected} and {counted}"
    );
}
