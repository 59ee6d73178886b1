//! Calls saved by escalation and by the gate, on panels with parameters measured for several kinds of questions:
//! calls per question and how often the result is right, compared with calculations.
//!
//! How often a synthesizer is right is part of the script; what is measured is that it is asked only when needed.

use crate::proof::item::{Item, outcome};
use crate::proof::panel::{Choice, Panel, Parameters, RIGHT, Tie, most, plurality};
use crate::proof::rng::Rng;
use crate::proof::writing::Written;
use crate::proof::{check_share, question_count};
use crate::script::{Reply, after, synthesis_reply};
use parallel_llm_engine::OutcomeKind;

/// Kinds of questions, each with the accuracy of a model and the parameters of a panel.
const KINDS: [(&str, f64, Parameters); 4] = [
    ("math-open", 0.6, Parameters { errors: 0.45, same_wrong: 0.16, options: 30 }),
    ("code-exec", 0.86, Parameters { errors: 0.52, same_wrong: 0.31, options: 30 }),
    ("mcq-frontier", 0.855, Parameters { errors: 0.53, same_wrong: 0.77, options: 4 }),
    ("saturated", 0.96, Parameters { errors: 0.5, same_wrong: 0.75, options: 30 }),
];
/// How often a synthesizer is right if none, one, two or three of three answers are.
const RESCUES: [f64; 4] = [0.137, 0.611, 0.879, 0.987];

fn all_equal(choices: &[Choice]) -> bool {
    most(choices) == choices.len()
}

#[tokio::test(start_paused = true)]
async fn escalation_saves_the_calculated_number_of_calls() {
    for (seed, (kind, accuracy, parameters)) in (20..).zip(KINDS) {
        let panel = Panel::of_equals(5, accuracy, parameters);
        let rng = &mut Rng::new(seed);
        let (mut calls, mut settled, mut right) = (0, 0, 0);
        for _ in 0..question_count() {
            let item = Item::sample(&panel, rng);
            let result = item.scenario("vote@first=2", Vec::new(), rng).run().await;
            let expected = if all_equal(&item.choices[..2]) { 2 } else { 5 };
            assert_eq!(result.asked.len(), expected, "{:?}", item.written);
            calls += result.asked.len();
            settled += usize::from(result.asked.len() == 2);
            right += usize::from(item.is_right(outcome(&result)));
        }
        let is_settled = panel.mean(|choices| f64::from(all_equal(&choices[..2])));
        let early = |choices: &[Choice]| {
            plurality(if all_equal(&choices[..2]) { &choices[..2] } else { choices }, Tie::First)
        };
        let of = question_count();
        check_share(&format!("{kind}, settled by two"), (settled, of), is_settled);
        check_share(&format!("{kind}, right"), (right, of), panel.mean(early));
        let all = panel.mean(|choices| plurality(choices, Tie::First));
        let (calls, expected) = (calls as f64 / of as f64, 5.0 - 3.0 * is_settled);
        println!(
            "{kind}: {calls:.3} calls a question, expected {expected:.3}; all five would be right {all:.4}"
        );
    }
}

/// A synthesizer that always writes this text.
fn writes(text: String) -> Reply {
    after(10).compose(move |call| synthesis_reply(call, "{}", &text)).end()
}

#[tokio::test(start_paused = true)]
async fn the_gate_saves_the_calculated_number_of_calls() {
    for (seed, (kind, accuracy, parameters)) in (30..).zip(KINDS) {
        let panel = Panel::of_equals(3, accuracy, parameters);
        let rng = &mut Rng::new(seed);
        let (mut fused, mut right) = (0, 0);
        for _ in 0..question_count() {
            let item = Item::sample(&panel, rng);
            let rights = item.choices.iter().filter(|choice| **choice == RIGHT).count();
            let is_rescued = rng.chance(RESCUES[rights]);
            let text = item.question.write(if is_rescued { RIGHT } else { 1 }, rng).text().to_owned();
            let result =
                item.scenario("synthesize@gate=on", vec![("fuser", writes(text.clone()))], rng).run().await;
            let outcome = outcome(&result);
            let is_gated = all_equal(&item.choices);
            assert_eq!(result.asked.len(), if is_gated { 3 } else { 4 }, "{:?}", item.written);
            if outcome.kind == OutcomeKind::Fused {
                assert_eq!(outcome.text.as_deref(), Some(text.as_str()));
                fused += 1;
                right += usize::from(is_rescued);
            } else {
                right += usize::from(item.is_right(outcome));
            }
        }
        let gated = |choices: &[Choice]| {
            let rights = choices.iter().filter(|one| **one == RIGHT).count();
            if all_equal(choices) { f64::from(choices[0] == RIGHT) } else { RESCUES[rights] }
        };
        let differ = panel.mean(|choices| f64::from(!all_equal(choices)));
        check_share(&format!("{kind}, fused"), (fused, question_count()), differ);
        check_share(&format!("{kind}, right"), (right, question_count()), panel.mean(gated));
        let always = panel.mean(|choices| RESCUES[choices.iter().filter(|one| **one == RIGHT).count()]);
        let calls = 3.0 + fused as f64 / question_count() as f64;
        println!(
            "{kind}: {calls:.3} calls a question, expected {:.3}; fusing always would be right {always:.4}",
            3.0 + differ
        );
    }
}

#[tokio::test(start_paused = true)]
async fn equal_answers_are_read_by_no_model() {
    let rng = &mut Rng::new(40);
    for round in 0..question_count() / 2 {
        let choice = [RIGHT, 1, 2][round % 3];
        let options = if round % 2 == 0 { 4 } else { 30 };
        let question =
            Item::sample(&Panel::of_equals(2 + round % 5, 0.5, Parameters::independent(options)), rng);
        let item = Item::written(question.question, vec![choice; question.choices.len()], rng);
        assert!(item.written.iter().all(|written| matches!(written, Written::Text(_))));
        for strategy in ["synthesize@gate=on", "best-of-n@gate=on"] {
            let result = item.scenario(strategy, vec![("fuser", writes("no".to_owned()))], rng).run().await;
            assert_eq!(result.asked.len(), item.choices.len(), "{strategy}: {:?}", item.written);
            assert_eq!(outcome(&result).kind, OutcomeKind::Selected);
            assert_eq!(item.chosen(outcome(&result)), Some(choice));
        }
    }
}
