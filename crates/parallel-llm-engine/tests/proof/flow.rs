//! What a flow may cost, how many calls it makes and how many follow one another: never more than its plan says.

use std::collections::BTreeSet;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::value::usage::tokens_in;
use parallel_llm_engine::{Message, Run};

use serde_json::json;

use crate::proof::item::candidates;
use crate::scenario::{QUESTION, scenario};
use crate::script::{Reply, after, prompt, synthesis_reply};
use crate::simulation::Random;

/// How many random flows are executed.
const FLOWS: u64 = 100;
/// The bytes of an answer: as many as its output cap allows.
const ANSWER_BYTES: usize = 3_000;
/// How long every call takes, in milliseconds.
const CALL_MS: u64 = 10;

/// A reply to any call, which uses all it may: its texts as input, and its output cap.
fn reply(name: &'static str) -> Reply {
    let whole = move |call: &Call| {
        let slot = format!("{:?}", call.attempt.slot).replace(['(', ')'], " ");
        let text = format!("{name} answers in its place, {slot}, ").repeat(ANSWER_BYTES);
        let text = format!("{}.", &text[..ANSWER_BYTES - 1]);
        let prompt = prompt(call);
        if prompt.contains("<<answer ") || prompt.contains("<<analysis ") {
            return synthesis_reply(call, r#"{"base": "A"}"#, &text);
        }
        let is_reader = name.starts_with("fuser") || prompt.contains("\"ranking\"");
        if is_reader { comparison(candidates(call).into_iter().map(|(label, _)| label)) } else { text }
    };
    after(CALL_MS).compose(whole).end_using(|call| (tokens_read(call), u64::from(call.max_tokens)))
}

/// A comparison in the formats of all tasks: of judges, extractors and analysts.
fn comparison(labels: impl Iterator<Item = String>) -> String {
    let labels: Vec<String> = labels.collect();
    let answers: Vec<_> = labels.iter().map(|label| json!({"label": label, "answer": label})).collect();
    let claim = json!({"text": "It is so.", "for": labels, "against": []});
    json!({"claims": [claim], "base": "A", "ranking": labels, "groups": [labels], "answers": answers})
        .to_string()
}

/// The texts of others in the prompt of a call, and the question.
fn tokens_read(call: &Call) -> u64 {
    let question = call.messages.iter().flat_map(Message::texts).any(|text| text == QUESTION);
    let shown = candidates(call).into_iter().map(|(_, text)| tokens_in(text.len() as u64)).sum::<u64>();
    tokens_in(QUESTION.len() as u64) * if question { 1 } else { 2 } + shown
}

#[tokio::test(start_paused = true)]
async fn no_flow_exceeds_what_its_plan_says() {
    let mut kinds = BTreeSet::new();
    for seed in 0..FLOWS {
        let defaults = Random::new(seed).flow(2);
        let names = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "fuser-1", "fuser-2"];
        let replies = names.map(|name| (name, reply(name)));
        let result = scenario(replies).with_settings(&defaults).run().await;
        let (plan, end) = (&result.plan, result.end());
        let calls = plan.calls();
        let rounds = plan.rounds() as u64;
        assert!((calls.fewest..=calls.most).contains(&result.asked.len()), "seed {seed}: {calls:?}\n{end}");
        assert!(
            result.run.cost() <= plan.worst_case.known_part(),
            "seed {seed}: {} at most\n{end}",
            plan.worst_case
        );
        let decided_ms = result.run.decided_ms.expect("it is decided");
        assert!(decided_ms <= rounds * CALL_MS, "seed {seed}: {rounds} rounds\n{end}");
        kinds.insert((is_exact(&result.run, calls.most, result.asked.len()), decided_ms == rounds * CALL_MS));
    }
    assert!(kinds.contains(&(true, true)), "the bounds are reached: {kinds:?}");
}

/// Whether a run made every call of its plan.
fn is_exact(run: &Run, most: usize, asked: usize) -> bool {
    run.outcome.is_some() && asked == most
}
