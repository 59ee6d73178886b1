//! Votes of panels with known parameters, run through the engine and compared with calculations; and the worth of
//! more models, which depends on how they err.

use crate::proof::item::{Item, outcome};
use crate::proof::panel::{Choice, Panel, Parameters, RIGHT, Tie, most, oracle, plurality};
use crate::proof::rng::Rng;
use crate::proof::{check_share, question_count};

/// All wrong models give the same answer.
const SHARED: Parameters = Parameters { errors: 0.0, same_wrong: 1.0, options: 4 };

/// How often the engine's vote was right.
#[derive(Debug, Default)]
struct Score {
    of: usize,
    right: usize,
    /// Right, and given by at least two models.
    agreed: usize,
    /// The first model was right.
    first: usize,
    /// Any model was right.
    any: usize,
    /// The vote was right exactly if the first model was.
    as_first: usize,
}

async fn score(panel: &Panel, seed: u64) -> Score {
    let rng = &mut Rng::new(seed);
    let mut score = Score { of: question_count(), ..Score::default() };
    for _ in 0..score.of {
        let item = Item::sample(panel, rng);
        let result = item.scenario("vote", Vec::new(), rng).run().await;
        let outcome = outcome(&result);
        if outcome.text.is_some() {
            item.check_clusters(outcome);
        }
        let (is_right, first, any) =
            (item.is_right(outcome), item.choices[0] == RIGHT, item.choices.contains(&RIGHT));
        assert!(any || !is_right, "a vote selects one of the given answers");
        score.right += usize::from(is_right);
        score.agreed += usize::from(is_right && most(&item.choices) > 1);
        score.first += usize::from(first);
        score.any += usize::from(any);
        score.as_first += usize::from(is_right == first);
    }
    score
}

fn vote(panel: &Panel) -> f64 {
    panel.mean(|choices| plurality(choices, Tie::First))
}

async fn check(name: &str, panel: &Panel, seed: u64) {
    let score = score(panel, seed).await;
    check_share(&format!("{name}, plurality"), (score.right, score.of), vote(panel));
    check_share(&format!("{name}, any"), (score.any, score.of), panel.mean(oracle));
    let first = |choices: &[Choice]| f64::from(choices[0] == RIGHT);
    check_share(&format!("{name}, the first alone"), (score.first, score.of), panel.mean(first));
}

#[tokio::test(start_paused = true)]
async fn votes_of_equals_match_the_calculation() {
    check("three that err alone", &Panel::of_equals(3, 0.855, Parameters::independent(4)), 1).await;
    check("three that err together", &Panel::of_equals(3, 0.855, Parameters::CALIBRATED), 2).await;
    check("five that err together", &Panel::of_equals(5, 0.855, Parameters::CALIBRATED), 3).await;
    check("seven that err together", &Panel::of_equals(7, 0.855, Parameters::CALIBRATED), 4).await;
}

#[tokio::test(start_paused = true)]
async fn votes_of_unequals_match_the_calculation() {
    let five = [0.876, 0.864, 0.850, 0.849, 0.833];
    check("five", &Panel::of(&five, Parameters::CALIBRATED), 5).await;
    check("a strong one and two weak ones", &Panel::of(&[0.876, 0.6, 0.6], Parameters::CALIBRATED), 6).await;
    check("four and an adversary", &Panel::of(&five[..4], Parameters::CALIBRATED).with_adversary(), 7).await;
    let numbers = Parameters { errors: 0.45, same_wrong: 0.16, options: 30 };
    check("five that find a number", &Panel::of_equals(5, 0.6, numbers), 8).await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_has_no_vote() {
    let panel = Panel::of_equals(4, 0.7, Parameters::CALIBRATED).unreadable(0.15);
    let score = score(&panel, 9).await;
    let agreed = |choices: &[Choice]| if most(choices) > 1 { plurality(choices, Tie::First) } else { 0.0 };
    check_share("right by two at least of four", (score.agreed, score.of), panel.mean(agreed));
}

#[tokio::test(start_paused = true)]
async fn more_models_are_better_if_mostly_right_and_independent() {
    let panel = |count| Panel::of_equals(count, 0.6, Parameters::independent(4));
    let votes: Vec<f64> = [1, 3, 5, 7, 9].map(|count| vote(&panel(count))).to_vec();
    println!("{votes:.4?}");
    assert!(votes.is_sorted_by(|one, next| one < next), "{votes:?}");
    for (count, seed) in [(3, 10), (5, 11), (9, 12)] {
        check(&format!("{count} at 0.6"), &panel(count), seed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn more_models_are_worse_if_mostly_wrong_in_the_same_way() {
    let panel = |count| Panel::of_equals(count, 0.4, SHARED);
    let votes: Vec<f64> = [1, 3, 5, 7, 9].map(|count| vote(&panel(count))).to_vec();
    println!("{votes:.4?}");
    assert!(votes.is_sorted_by(|one, next| one > next), "{votes:?}");
    for (count, seed) in [(3, 13), (5, 14), (9, 15)] {
        check(&format!("{count} at 0.4"), &panel(count), seed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn models_with_identical_errors_are_worth_one() {
    let gain = |errors: f64| vote(&Panel::of_equals(5, 0.8, Parameters { errors, ..SHARED })) - 0.8;
    let gains: Vec<f64> = [0.0, 0.2, 0.4, 0.6, 0.8].map(gain).to_vec();
    println!("{gains:.4?}");
    assert!(gains.is_sorted_by(|one, next| one > next && *next > 0.0), "{gains:?}");
    let score = score(&Panel::of_equals(5, 0.8, Parameters { errors: 1.0, ..SHARED }), 16).await;
    assert_eq!(score.as_first, score.of, "five are right where each of them is");
}

#[test]
fn a_vote_is_never_right_if_no_model_is() {
    for accuracy in [0.3, 0.6, 0.9] {
        for errors in [0.0, 0.3, 0.6] {
            for same_wrong in [0.34, 0.7, 1.0] {
                for count in [2, 3, 5] {
                    let panel =
                        Panel::of_equals(count, accuracy, Parameters { errors, same_wrong, options: 4 });
                    let (vote, any) = (vote(&panel), panel.mean(oracle));
                    assert!(vote <= any + 1e-9, "{vote} and {any} of {panel:?}");
                }
            }
        }
    }
}
