//! The reported cost of a run: it equals the usage of its calls times their prices, to the last unit, for every
//! strategy and every kind of failure.

use std::collections::BTreeMap;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::{Code, PicoUsd};

use crate::proof::item::{NAMES, candidates, verdict};
use crate::proof::question_count;
use crate::proof::rng::Rng;
use crate::scenario::{RunResult, info, scenario};
use crate::script::{Reply, after, fails, failure, prompt, synthesis_reply};

/// A complete reply with this usage, and its cost.
fn reply_using(reply: Reply, (input, output): (u64, u64), is_declined: bool) -> (Reply, PicoUsd) {
    let reply = reply.end_with(|end| {
        end.cost = None;
        end.usage.input_tokens = Some(input);
        end.usage.output_tokens = Some(output);
        end.refusal = is_declined.then(|| "No.".to_owned());
    });
    (reply, info("any").price.expect("it has a price").cost(input, output))
}

fn random_usage(rng: &mut Rng) -> (u64, u64) {
    // A reply of no tokens would be a count that nobody made.
    (rng.below(900) as u64, 1 + rng.below(899) as u64)
}

/// The replies of one seat, each with its cost if it is read to its end.
fn seat(rng: &mut Rng) -> Vec<(Reply, PicoUsd)> {
    let ms = 1 + rng.below(200) as u64;
    let whole = |rng: &mut Rng| {
        let text = (*rng.pick(&["The moon.", "The moon pulls the sea.", "Both."])).to_owned();
        let reply = after(ms).text(&text).wait(rng.below(100) as u64);
        let reply = if rng.chance(0.5) { reply.billed_anyway() } else { reply };
        reply_using(reply, random_usage(rng), false)
    };
    match rng.below(8) {
        0 => vec![reply_using(after(ms), random_usage(rng), true)],
        // Nothing is written, so the call is retried.
        1 => vec![reply_using(after(ms).reasoning(), random_usage(rng), false), whole(rng)],
        2 => vec![(fails(ms, failure(Code::Upstream).with_status(503)), PicoUsd::ZERO), whole(rng)],
        3 => vec![(after(ms).text("The moo").fail(failure(Code::Connection)), PicoUsd::ZERO)],
        4 => vec![(fails(ms, failure(Code::Auth)), PicoUsd::ZERO)],
        _ => vec![whole(rng)],
    }
}

/// Replies to any call that shows answers, in whichever format it requests.
fn reading_reply(call: &Call) -> String {
    if prompt(call).contains("<<answer ") {
        return synthesis_reply(call, r#"{"base": "A"}"#, "All of them.");
    }
    verdict(candidates(call).into_iter().map(|(label, _)| label))
}

/// The cost of all requests whose replies were read to their end.
fn cost_of_completed_requests(result: &RunResult, scripts: &BTreeMap<&str, Vec<PicoUsd>>) -> PicoUsd {
    let mut left: BTreeMap<&str, Vec<PicoUsd>> = BTreeMap::new();
    for line in &result.ledger {
        let mut words = line.split(' ').skip(1);
        match (words.next(), words.next()) {
            (Some("request"), Some(model)) => {
                let costs = &scripts[model];
                let requests = left.entry(model).or_default();
                requests.push(*costs.get(requests.len()).unwrap_or(costs.last().expect("there is a reply")));
            }
            // Closed before its end, so its cost is unknown.
            (Some("dropped"), Some(model)) => drop(left.get_mut(model).and_then(Vec::pop)),
            _ => {}
        }
    }
    left.into_values().flatten().sum()
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_run_is_what_its_calls_used() {
    let rng = &mut Rng::new(70);
    for strategy in Strategy::ALL {
        let (mut paid, mut given_up, mut failed) = (0, 0, 0);
        for _ in 0..question_count() / 2 {
            let mut scripts: BTreeMap<&str, Vec<PicoUsd>> = BTreeMap::new();
            let mut replies = Vec::new();
            for name in &NAMES[..2 + rng.below(4)] {
                for (reply, cost) in seat(rng) {
                    scripts.entry(name).or_default().push(cost);
                    replies.push((*name, reply));
                }
            }
            for name in ["fuser-1", "fuser-2"] {
                let (reply, cost) = match rng.below(4) {
                    0 => (fails(20, failure(Code::Upstream)), PicoUsd::ZERO),
                    1 => reply_using(after(20).reasoning(), random_usage(rng), true),
                    _ => reply_using(after(20).compose(reading_reply).wait(50), random_usage(rng), false),
                };
                scripts.insert(name, vec![cost]);
                replies.push((name, reply));
            }
            let mut scenario = scenario(replies).asks("How do tides work?", strategy.name());
            if rng.chance(0.4) {
                scenario = scenario.cancel_at(rng.below(350) as u64);
            }
            let result = scenario.run().await;
            let owed = cost_of_completed_requests(&result, &scripts);
            assert_eq!(result.run.cost(), owed, "{}\n{}", result.transcript(), result.ledger());
            paid += usize::from(owed > PicoUsd::ZERO);
            given_up += usize::from(result.ledger().contains("dropped"));
            failed += usize::from(result.run.views().any(|view| view.failure.is_some()));
        }
        println!(
            "{}: {paid} paid, {given_up} with a call given up, {failed} with one failed",
            strategy.name()
        );
        assert!(paid > 20 && given_up > 2 && failed > 20, "{}: too little is met", strategy.name());
    }
}
