//! Helpers for strategies that ask seats again: scripts by round, prompts by slot, and what holds for all of them.

use std::collections::BTreeSet;

use parallel_llm_engine::Message;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::Event;

use crate::scenario::{RunResult, Scenario, scenario};
use crate::script::{Reply, after, fuses, hangs, says};

/// The number of seats in every scenario of these strategies.
pub(crate) const SEATS: usize = 3;

/// A seat with one text for the panel, the next for the round after it, and so on, each after `ms` milliseconds. The
/// text depends on the slot, so a process that resumes the run gets the same one.
pub(crate) fn answers_by_round(ms: u64, texts: &'static [&'static str]) -> Reply {
    after(ms).compose(move |call| texts[round(call.attempt.slot).min(texts.len() - 1)].to_owned()).end()
}

/// The round of a call, in a panel of [`SEATS`]; the panel itself is round 0. A later part of a run continues the
/// numbering of steps.
pub(crate) fn round(slot: CallerSlot) -> usize {
    match slot {
        CallerSlot::Step(number) => 1 + number.index() / SEATS,
        CallerSlot::Seat(_) | CallerSlot::Synthesizer(_) => 0,
    }
}

/// Asserts for a crash after any commit: no slot that was sent a request is sent another, and the run gets its
/// answer.
pub(crate) async fn pays_nothing_twice(scenario: impl Fn() -> Scenario) {
    let whole = scenario().run().await;
    assert!(whole.commits.len() > 4, "there are commits to interrupt");
    for count in 1..whole.commits.len() - 1 {
        let before = &whole.commits[..count];
        let sent = before.iter().flatten().filter_map(|recorded| match &recorded.event {
            Event::Sent { attempt, .. } => Some(attempt.slot),
            _ => None,
        });
        let sent: BTreeSet<CallerSlot> = sent.collect();
        let result = scenario().after(before).run().await;
        let again: Vec<CallerSlot> = result.asked.iter().map(|asked| asked.call.attempt.slot).collect();
        assert!(again.iter().all(|slot| !sent.contains(slot)), "{count}: {again:?} {}", result.end());
        assert!(result.run.outcome.is_some(), "{count}: {}", result.end());
    }
}

/// The messages that every slot was sent, in the order of slots.
pub(crate) fn sent(result: &RunResult) -> Vec<(CallerSlot, Vec<Message>)> {
    let sent = |asked: &crate::script::SentCall| (asked.call.attempt.slot, asked.call.messages.to_vec());
    let mut sent: Vec<_> = result.asked.iter().map(sent).collect();
    sent.sort_by_key(|(slot, _)| *slot);
    sent
}

/// The prompt of a slot.
pub(crate) fn prompt_of(result: &RunResult, slot: CallerSlot) -> String {
    let asked = result.asked.iter().find(|asked| asked.call.attempt.slot == slot);
    crate::script::prompt(&asked.expect("it was asked").call)
}

/// The marker lines of a prompt that really begin a line.
pub(crate) fn markers(prompt: &str) -> Vec<&str> {
    prompt
        .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
        .filter(|line| line.starts_with("<<"))
        .collect()
}

/// The nonce of a prompt.
pub(crate) fn nonce_of(prompt: &str) -> String {
    let after = prompt.split_once("markers with the code ").expect("every prompt names its code").1;
    after.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// The cost of a run in calls of one seat, rounded to one decimal, by the token model of the published table: a
/// prompt of 600 tokens, answers of 900, instructions of 200, 100 more for a synthesizer's analysis, and output at
/// five times the price of input.
pub(crate) fn relative_cost(result: &RunResult) -> String {
    let (prompt, answer, ours, analysis) = (600.0, 900.0, 200.0, 100.0);
    let call = |input: f64, output: f64| input + 5.0 * output;
    let seats = result.run.seats.len() as f64;
    let read = prompt + ours + seats * answer;
    let cost = |slot: CallerSlot| match slot {
        CallerSlot::Seat(_) => call(prompt, answer),
        CallerSlot::Step(_) => call(read, answer),
        CallerSlot::Synthesizer(_) => call(read, answer + analysis),
    };
    let all: f64 = result.asked.iter().map(|asked| cost(asked.call.attempt.slot)).sum();
    format!("{:.1}", all / call(prompt, answer))
}

#[tokio::test(start_paused = true)]
async fn a_round_leaves_time_for_the_ones_after_it() {
    let result = scenario([
        ("ada", says(100, "The air scatters.")),
        ("ada", hangs()),
        ("bob", says(100, "It is the sea.")),
        ("bob", says(10, "The air, not the sea.")),
        ("fuser", fuses(10, "not the sea", "The air, not the sea.")),
    ]);
    // After the panel 900 ms are left. Each of two layers and the synthesizer gets a third of it, then a half of the
    // rest.
    let result = result
        .asks("Why is the sky blue?", "moa@layers=3")
        .plan(|plan| plan.timers.run_ms = 1_000)
        .run()
        .await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 710, closed at 710
      fused by fuser from 2: `The air, not the sea.`
      because the synthesizer started from one answer and patched it from the others
      edited 0 for ? in 610 ms
      ! timeout: seat 1 gave no answer in layer 2 and keeps the one it had: its share of the time limit of 1 s was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
      ! timeout: seat 1 gave no answer in layer 3 and keeps the one it had: its share of the time limit of 1 s was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob answered, 1 request 100 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 ada failed, 1 request 300 ms, ~?: timeout: its share of the time limit of 1 s was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 1000)) proposing
      step 2 bob answered, 1 request 10 ms, $0.0010 proposing
      step 3 ada failed, 1 request 300 ms, ~?: timeout: its share of the time limit of 1 s was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 1000)) proposing
      step 4 bob answered, 1 request 10 ms, $0.0010 proposing
    ");
}
