//! Resumed runs, after a crash at any moment: paid answers are kept, calls that may have been paid are not repeated,
//! and the history is complete.

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::Event;
use parallel_llm_engine::{Code, Recorded, SeatNumber, SeatStatus};

use crate::scenario::{RunResult, Scenario, persona_prompt, scenario};
use crate::script::{Reply, after, fails, failure, fuses, hangs, prompt, says, synthesis_reply};

fn typical_run() -> Scenario {
    scenario([
        ("ada", says(30, "The moon pulls.")),
        ("bob", fails(10, failure(Code::Upstream).with_status(502))),
        ("bob", says(10, "The sun pulls.")),
        ("cyd", after(40).accepted("gen-3").text("Both do.").end()),
        ("dan", says(2_000, "All of it.")),
        ("fuser", fuses(20, "moon", "All pull.")),
    ])
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_twice_after_a_crash_at_any_commit() {
    let first = typical_run().run().await;
    for commits in 1..first.commits.len() - 1 {
        let before = &first.commits[..commits];
        let result = typical_run().after(before).run().await;
        let events = before.concat();
        for seat in &result.run.seats {
            let own = |event: &&Event| event.attempt().is_some_and(|attempt| attempt.slot == seat.slot);
            let own: Vec<_> = events.iter().map(|recorded| &recorded.event).filter(own).collect();
            let is_between = matches!(own[..], [.., Event::Failed { .. }]);
            let asked = result.asked.iter().any(|asked| asked.call.attempt.slot == seat.slot);
            assert_eq!(asked, is_between, "{commits}: {}", result.end());
            let answered = own.iter().any(|event| event.answer().is_some());
            assert_eq!(
                seat.status == SeatStatus::Unknown,
                !answered && !is_between,
                "{commits}: {}",
                result.end()
            );
        }
        let decided = |event: &Event| matches!(event, Event::Decided { .. });
        assert!(result.events().iter().any(|recorded| decided(&recorded.event)), "{commits}");
    }
}

#[tokio::test(start_paused = true)]
async fn paid_answers_are_used() {
    let first = typical_run().run().await;
    let is_fusing = |commit: &&Vec<_>| {
        let slot = |recorded: &parallel_llm_engine::Recorded| recorded.event.attempt().map(|one| one.slot);
        !commit.iter().any(|recorded| matches!(slot(recorded), Some(CallerSlot::Synthesizer(_))))
    };
    let before: Vec<_> = first.commits.iter().take_while(is_fusing).cloned().collect();
    insta::assert_snapshot!(typical_run().after(&before).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    10 failed 2 upstream, again in 664
    30 answered 1 `The moon pulls.`
    40 accepted 3 as gen-3 | 40 answered 3 `Both do.`
    674 sent 2#2
    684 answered 2#2 `The sun pulls.`
    684 reopened
    684 sent s1
    704 answered s1 `<<answer fe7…` (67) | 704 decided fused
    704 closed $0.0040
    partial decided at 704, closed at 704
      fused by fuser from 1: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob answered, 2 requests 684 ms, $0.0010
      3 cyd answered, 1 request 40 ms, $0.0010
      4 dan unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
    let started = &first.commits[..1];
    insta::assert_snapshot!(typical_run().after(started).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    0 reopened
    0 decided none
    0 closed $0.00
    failed decided at 0, closed at 0
      none
      because interrupted: no model answered (ada, bob, cyd, dan: the process that did the run ended before this was known) (ask again what may have been paid already)
      1 ada unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      2 bob unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      3 cyd unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      4 dan unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_with_an_unknown_result_is_not_paid_again() {
    let interrupted = || {
        scenario([
            ("ada", says(10, "The moon pulls.")),
            ("bob", says(20, "The sun pulls.")),
            ("fuser-1", says(1_000, "Both.")),
            ("fuser-2", fuses(20, "moon", "All pull.")),
        ])
    };
    let first = interrupted().run().await;
    let is_fusing =
        |event: &Event| event.attempt().is_some_and(|one| matches!(one.slot, CallerSlot::Synthesizer(_)));
    let sent =
        first.commits.iter().position(|commit| commit.iter().any(|recorded| is_fusing(&recorded.event)));
    let before = &first.commits[..=sent.expect("it was sent")];
    let result = interrupted().after(before).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      fused by fuser-2 from 1: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! interrupted: the synthesizer `fuser-1` failed: it was asked before and never heard of; it may have been paid, so it was not asked again (make another text of the answers)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser-1 unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      s2 fuser-2 answered, 1 request 20 ms, $0.0010
    ");
    let warned: Vec<_> = result.run.outcome.iter().flat_map(|outcome| &outcome.warnings).collect();
    assert_eq!(warned[0].code, Code::Interrupted);
}

/// A run whose process dies as soon as the second synthesizer was sent its request.
async fn killed_at_the_second_synthesizer(first: Reply) -> RunResult {
    let interrupted = scenario([
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "The sun pulls.")),
        ("fuser-1", first),
        ("fuser-2", hangs()),
    ]);
    let result = interrupted.plan(|plan| plan.timers.call_ms = 1_000).run().await;
    let is_sent = |recorded: &Recorded| {
        let second = CallerSlot::Synthesizer(SeatNumber(2));
        matches!(recorded.event, Event::Sent { attempt, .. } if attempt.slot == second)
    };
    let sent = result.commits.iter().position(|commit| commit.iter().any(is_sent));
    let before = &result.commits[..=sent.expect("it was sent")];
    let names = ["ada", "bob", "fuser-1", "fuser-2"];
    scenario(names.map(|name| (name, says(10, "SentCall again.")))).after(before).run().await
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_that_was_cut_is_not_paid_again() {
    let cut = after(10).text("Half a").fail(failure(Code::Connection));
    let result = Box::pin(killed_at_the_second_synthesizer(cut)).await;
    assert_eq!(result.asked.len(), 0);
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      verbatim by ada from 1: `The moon pulls.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! connection: the synthesizer `fuser-1` failed: scripted connection (check the network and the base URL, or try again later)
      ! interrupted: the synthesizer `fuser-2` failed: it was asked before and never heard of; it may have been paid, so it was not asked again (make another text of the answers)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser-1 cut, 1 request 10 ms, ~?: connection: scripted connection
      s2 fuser-2 unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_that_wrote_no_answer_is_not_paid_again() {
    let empty = after(10).compose(|call| synthesis_reply(call, "{}", "")).end();
    let result = Box::pin(killed_at_the_second_synthesizer(empty)).await;
    assert_eq!(result.asked.len(), 0);
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      verbatim by ada from 1: `The moon pulls.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! synthesis_unusable: the synthesizer `fuser-1` failed: what it wrote is no answer (it is empty); it cost $0.0010 (look at the run, or name another synthesizer)
      ! interrupted: the synthesizer `fuser-2` failed: it was asked before and never heard of; it may have been paid, so it was not asked again (make another text of the answers)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser-1 answered, 1 request 10 ms, $0.0010
      s2 fuser-2 unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesis_stored_before_the_crash_is_used() {
    let whole = || {
        scenario([
            ("ada", says(10, "The moon pulls.")),
            ("bob", says(20, "The sun pulls.")),
            ("fuser", fuses(20, "moon", "All pull.")),
        ])
    };
    let mut before = whole().run().await.commits;
    let decided = |recorded: &Recorded| matches!(recorded.event, Event::Decided { .. });
    let at = before.iter().position(|commit| commit.iter().any(decided)).expect("the run has an answer");
    before.truncate(at + 1);
    before[at].retain(|recorded| !decided(recorded));
    let result = whole().after(&before).run().await;
    assert_eq!(result.asked.len(), 0);
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      fused by fuser from 1: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 0 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_retried_seat_is_sent_the_same_prompt() {
    let with_persona = || {
        typical_run()
            .plan(|plan| plan.seats[1].persona_prompt = Some(persona_prompt("critic", "Find the flaw.")))
    };
    let first = with_persona().run().await;
    // The first attempt failed; the process dies before the second.
    let failed = |event: &Event| matches!(event, Event::Failed { .. });
    let until = first.commits.iter().position(|commit| commit.iter().any(|one| failed(&one.event)));
    let result = with_persona().after(&first.commits[..=until.expect("it failed")]).run().await;
    let prompts_of_bob = |result: &RunResult| -> Vec<String> {
        let of_bob = result.asked.iter().filter(|asked| asked.call.model.model == "bob");
        of_bob.map(|asked| prompt(&asked.call)).collect()
    };
    assert_eq!(prompts_of_bob(&first), ["Find the flaw.\nHow do tides work?"; 2]);
    assert_eq!(prompts_of_bob(&result), ["Find the flaw.\nHow do tides work?"; 2]);
    // Nobody else sees the persona prompt: neither the other seats nor the synthesizer, which sees no names either.
    let others = [&first, &result].into_iter().flat_map(|result| &result.asked);
    for asked in others.filter(|asked| asked.call.model.model != "bob") {
        let prompt = prompt(&asked.call);
        assert!(!prompt.contains("flaw") && !prompt.contains("critic"), "{prompt}");
    }
    assert_eq!(first.run.seats[1].who(), "bob (critic)");
    assert_eq!(first.run.seats[0].who(), "ada");
}
