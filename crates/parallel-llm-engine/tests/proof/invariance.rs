//! What must not matter: the shuffle, model names, arrival order, the order of the panel, and a judge's position
//! bias.

use parallel_llm_engine::port::Call;

use crate::proof::item::{Item, NAMES, candidates, outcome, verdict};
use crate::proof::panel::{Choice, Panel, Parameters, most};
use crate::proof::rng::Rng;
use crate::proof::{check_share, question_count};
use crate::scenario::scenario;
use crate::script::{Reply, after, says};

#[tokio::test(start_paused = true)]
async fn a_vote_depends_only_on_the_answers() {
    let rng = &mut Rng::new(50);
    let panel = Panel::of_equals(5, 0.5, Parameters { errors: 0.3, same_wrong: 0.5, options: 4 });
    for _ in 0..question_count() / 2 {
        let item = Item::sample(&panel, rng);
        let first = item.scenario("vote", Vec::new(), rng).run().await;
        // Other names, other times, another seed.
        let seed = rng.below(1 << 30) as u64;
        let second = item.scenario("vote", Vec::new(), rng).plan(|plan| plan.seed = seed).run().await;
        assert_eq!(outcome(&first).base_seat, outcome(&second).base_seat, "{:?}", item.written);
        let mut order: Vec<usize> = (0..item.choices.len()).collect();
        rng.shuffle(&mut order);
        let other = item.in_order(&order);
        let third = other.scenario("vote", Vec::new(), rng).run().await;
        if has_single_winner(&item.choices) {
            assert_eq!(item.chosen(outcome(&first)), other.chosen(outcome(&third)), "{:?}", item.written);
        }
    }
}

fn has_single_winner(choices: &[Choice]) -> bool {
    let votes = |what: &Choice| choices.iter().filter(|one| *one == what).count();
    let top: Vec<&Choice> = choices.iter().filter(|one| votes(one) == most(choices)).collect();
    top.iter().all(|one| one == &top[0])
}

/// Answers made of a few common words.
fn essays(count: usize, rng: &mut Rng) -> Vec<String> {
    let words = ["moon", "tide", "water", "pulls", "earth", "twice", "daily", "spins", "bulge", "far"];
    (0..count).map(|_| (0..6).map(|_| *rng.pick(&words)).collect::<Vec<_>>().join(" ")).collect()
}

/// A preference that depends on the text alone, in no visible way.
fn preference(text: &str) -> u64 {
    u64::from_le_bytes(blake3::hash(text.as_bytes()).as_bytes()[..8].try_into().expect("eight bytes"))
}

fn judge_that_ranks(rank: impl Fn(&mut Vec<(String, String)>) + Send + Sync + 'static) -> Reply {
    let judge = move |call: &Call| {
        let mut shown = candidates(call);
        rank(&mut shown);
        verdict(shown.into_iter().map(|(label, _)| label))
    };
    after(10).compose(judge).end()
}

/// The text that a panel with this judge returns.
async fn text_chosen_by(essays: &[String], judge: Reply, strategy: &str, rng: &mut Rng) -> String {
    let mut names = NAMES;
    rng.shuffle(&mut names);
    let replies = essays.iter().map(|essay| says(1 + rng.below(100) as u64, essay));
    let replies: Vec<_> = names.into_iter().zip(replies).chain([("fuser", judge)]).collect();
    let seed = rng.below(1 << 30) as u64;
    let scenario = scenario(replies).asks("How do tides work?", strategy).plan(|plan| plan.seed = seed);
    outcome(&scenario.run().await).text.as_deref().expect("a judge decides").to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_judgement_depends_only_on_the_answers() {
    let rng = &mut Rng::new(51);
    for round in 0..question_count() / 3 {
        let mut essays = essays(2 + round % 4, rng);
        let best = essays.iter().max_by_key(|essay| preference(essay)).expect("there is one").clone();
        for _ in 0..3 {
            rng.shuffle(&mut essays);
            let judge =
                judge_that_ranks(|shown| shown.sort_by_key(|(_, text)| std::cmp::Reverse(preference(text))));
            assert_eq!(text_chosen_by(&essays, judge, "best-of-n", rng).await, best);
        }
    }
}

/// A judge that prefers the first answer shown for half of the questions.
fn hasty_judge() -> Reply {
    judge_that_ranks(|shown| {
        let is_hasty = shown.iter().map(|(_, text)| preference(text)).fold(0, u64::wrapping_add) % 2 == 0;
        if !is_hasty {
            shown.sort_by_key(|(_, text)| std::cmp::Reverse(preference(text)));
        }
    })
}

/// How often the first of two answers wins if it is shown first, and if it is shown last.
async fn wins_by_position(strategy: &str) -> [(usize, usize); 2] {
    let rng = &mut Rng::new(52);
    let mut positions = [(0, 0); 2];
    for _ in 0..question_count() {
        let essays = essays(2, rng);
        if preference(&essays[0]) == preference(&essays[1]) {
            continue;
        }
        let mut names = NAMES;
        rng.shuffle(&mut names);
        let replies = names.into_iter().zip(essays.iter().map(|essay| says(10, essay)));
        let seed = rng.below(1 << 30) as u64;
        let scenario = scenario(replies.chain([("fuser", hasty_judge())]).collect::<Vec<_>>());
        let result = scenario.asks("How do tides work?", strategy).plan(|plan| plan.seed = seed).run().await;
        let judgement = result.asked.iter().find(|asked| asked.call.model.model == "fuser");
        let shown = candidates(&judgement.expect("a judge is asked").call);
        let position = usize::from(shown[0].1 != essays[0]);
        positions[position].1 += 1;
        positions[position].0 += usize::from(outcome(&result).text.as_deref() == Some(essays[0].as_str()));
    }
    positions
}

#[tokio::test(start_paused = true)]
async fn position_bias_cancels_out_if_a_judge_sees_both_orders() {
    let share = |(times, of): (usize, usize)| times as f64 / of as f64;
    let [first, last] = wins_by_position("best-of-n@orders=1").await;
    println!("one order: {:.3} where shown first, {:.3} where shown last", share(first), share(last));
    // Half of the verdicts are hasty: the answer shown first wins in three of four questions, the other in one of
    // four.
    check_share("shown first in the only order", first, 0.75);
    check_share("shown last in the only order", last, 0.25);
    let [first, last] = wins_by_position("best-of-n").await;
    println!("both orders: {:.3} where shown first, {:.3} where shown last", share(first), share(last));
    // A tie goes to the first seat, wherever its answer is shown: it wins all hasty questions and half of the others.
    check_share("shown first in one of both orders", first, 0.75);
    check_share("shown last in one of both orders", last, 0.75);
}
