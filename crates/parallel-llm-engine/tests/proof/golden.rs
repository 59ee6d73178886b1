//! The calculations compared with figures computed independently, by another program and by simulation.

use crate::proof::panel::{Panel, Parameters, Tie, oracle, plurality};

/// The tolerance: the figures have three or four decimals, and their parameters three.
const TOLERANCE: f64 = 0.002;

fn fair_plurality(panel: &Panel) -> f64 {
    panel.mean(|choices| plurality(choices, Tie::Fair))
}

fn check(what: &str, computed: f64, golden: f64) {
    println!("{what}: {computed:.4}, golden {golden}");
    assert!((computed - golden).abs() <= TOLERANCE, "{what}: {computed:.4} is not {golden}");
}

/// Five flagship models, the strongest first.
const FIVE: [f64; 5] = [0.876, 0.864, 0.850, 0.849, 0.833];

fn strongest_plurality(panel: &Panel) -> f64 {
    panel.mean(|choices| plurality(choices, Tie::Strongest))
}

#[test]
fn panels_of_equals_match_published_figures() {
    for (count, alone, together, any) in [
        (3, 0.9550, 0.8743, 0.934),
        (5, 0.9881, 0.8815, 0.954),
        (7, 0.9973, 0.8841, 0.963),
        (9, 0.9993, 0.8854, 0.968),
    ] {
        let independent = Panel::of_equals(count, 0.855, Parameters::independent(4));
        check(&format!("plurality of {count} that err alone"), fair_plurality(&independent), alone);
        let correlated = Panel::of_equals(count, 0.855, Parameters::CALIBRATED);
        check(&format!("plurality of {count} that err together"), fair_plurality(&correlated), together);
        check(&format!("any of {count} that err together"), correlated.mean(oracle), any);
    }
    for (count, golden) in [(3, 0.9430), (5, 0.9758), (9, 0.9952)] {
        let jury = Panel::of_equals(count, 0.855, Parameters::independent(2));
        check(&format!("a jury of {count}"), fair_plurality(&jury), golden);
    }
}

#[test]
fn panels_of_unequals_match_published_figures() {
    check("five that err alone", strongest_plurality(&Panel::of(&FIVE, Parameters::independent(4))), 0.989);
    check("five that err together", strongest_plurality(&Panel::of(&FIVE, Parameters::CALIBRATED)), 0.883);
    for (weak, golden) in [(0.75, 0.8255), (0.6, 0.733)] {
        let panel = Panel::of(&[0.876, weak, weak], Parameters::CALIBRATED);
        check(&format!("the strongest and two of {weak}"), strongest_plurality(&panel), golden);
    }
    for (honest, golden) in [(2, 0.824), (4, 0.855)] {
        let panel = Panel::of(&FIVE[..honest], Parameters::CALIBRATED).with_adversary();
        check(&format!("{honest} and an adversary"), strongest_plurality(&panel), golden);
    }
}

/// The source does not say how often two wrong models agree here. All three figures follow if this agreement, too,
/// exceeds chance by the correlation of errors.
#[test]
fn panels_with_other_error_correlations_match_published_figures() {
    for (errors, golden) in [(0.3, 0.923), (0.534, 0.883), (0.7, 0.866)] {
        let parameters = Parameters { errors, same_wrong: (1.0 + 2.0 * errors) / 3.0, options: 4 };
        check(
            &format!("five that err together by {errors}"),
            strongest_plurality(&Panel::of(&FIVE, parameters)),
            golden,
        );
    }
}

/// Votes whose odds are drawn for each question from a beta distribution with the given mean and correlation.
#[test]
fn beta_binomial_votes_match_published_figures() {
    let (accuracy, correlation) = (0.855, 0.534);
    let scale = (1.0 - correlation) / correlation;
    let (right, wrong) = (accuracy * scale, (1.0 - accuracy) * scale);
    for (count, golden) in [(3, 0.8675), (5, 0.8714), (9, 0.8743)] {
        let rising = |from: f64, steps: u32| (0..steps).map(|step| from + f64::from(step)).product::<f64>();
        let ways =
            |votes: u32| (0..votes).map(|one| f64::from(count - one) / f64::from(one + 1)).product::<f64>();
        let chance = |votes: u32| {
            ways(votes) * rising(right, votes) * rising(wrong, count - votes) / rising(right + wrong, count)
        };
        check(&format!("a majority of {count}"), (count / 2 + 1..=count).map(chance).sum(), golden);
    }
}
