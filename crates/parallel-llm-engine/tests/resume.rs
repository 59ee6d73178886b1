//! A run is taken over after its process is gone, at every moment: what was paid is kept, what may have been paid is
//! not asked for again, and the history tells it to the end.

use parallel_llm_engine::event::{Event, Place};
use parallel_llm_engine::{Code, SeatStatus};

use crate::scene::{Scene, scene};
use crate::script::{after, fails, failure, fuses, says};

fn usual() -> Scene {
    scene([
        ("ada", says(30, "The moon pulls.")),
        ("bob", fails(10, failure(Code::Upstream).with_status(502))),
        ("bob", says(10, "The sun pulls.")),
        ("cyd", after(40).accepted("gen-3").text("Both do.").end()),
        ("dan", says(2_000, "All of it.")),
        ("fuser", fuses(20, "moon", "All pull.")),
    ])
}

#[tokio::test(start_paused = true)]
async fn after_any_commit_nothing_is_asked_for_twice() {
    let first = usual().run().await;
    for commits in 1..first.commits.len() - 1 {
        let before = &first.commits[..commits];
        let told = usual().after(before).run().await;
        let events = before.concat();
        for seat in &told.run.seats {
            let own = |event: &&Event| event.attempt().is_some_and(|attempt| attempt.place == seat.place);
            let own: Vec<_> = events.iter().map(|recorded| &recorded.event).filter(own).collect();
            let is_between = matches!(own[..], [.., Event::Failed { .. }]);
            let asked = told.asked.iter().any(|asked| asked.call.attempt.place == seat.place);
            assert_eq!(asked, is_between, "{commits}: {}", told.end());
            let answered = own.iter().any(|event| event.answer().is_some());
            assert_eq!(
                seat.status == SeatStatus::Unknown,
                !answered && !is_between,
                "{commits}: {}",
                told.end()
            );
        }
        let decided = |event: &Event| matches!(event, Event::Decided { .. });
        assert!(told.events().iter().any(|recorded| decided(&recorded.event)), "{commits}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_paid_is_used() {
    let first = usual().run().await;
    let is_fusing = |commit: &&Vec<_>| {
        let place = |recorded: &parallel_llm_engine::Recorded| recorded.event.attempt().map(|one| one.place);
        !commit.iter().any(|recorded| matches!(place(recorded), Some(Place::Synthesizer(_))))
    };
    let before: Vec<_> = first.commits.iter().take_while(is_fusing).cloned().collect();
    insta::assert_snapshot!(usual().after(&before).story().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    10 failed 2 upstream, again in 664
    30 answered 1 `The moon pulls.`
    40 accepted 3 as gen-3 | 40 answered 3 `Both do.`
    674 sent 2#2
    684 answered 2#2 `The sun pulls.`
    684 sent s1
    704 answered s1 `<<analysis f…` (113) | 704 decided fused
    704 closed $0.0040
    partial decided at 704, closed at 704
      fused by fuser from 1: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob answered, 2 requests 684 ms, $0.0010
      3 cyd answered, 1 request 40 ms, $0.0010
      4 dan unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
    let started = &first.commits[..1];
    insta::assert_snapshot!(usual().after(started).story().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    0 decided none
    0 closed $0.00
    failed decided at 0, closed at 0
      none
      because interrupted: no model answered (ada: the process that did the run ended before this was known; bob: the process that did the run ended before this was known; cyd: the process that did the run ended before this was known; dan: the process that did the run ended before this was known)
      1 ada unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      2 bob unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      3 cyd unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      4 dan unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_nobody_heard_of_is_not_paid_again() {
    let interrupted = || {
        scene([
            ("ada", says(10, "The moon pulls.")),
            ("bob", says(20, "The sun pulls.")),
            ("fuser-1", says(1_000, "Both.")),
            ("fuser-2", fuses(20, "moon", "All pull.")),
        ])
    };
    let first = interrupted().run().await;
    let is_fusing =
        |event: &Event| event.attempt().is_some_and(|one| matches!(one.place, Place::Synthesizer(_)));
    let sent =
        first.commits.iter().position(|commit| commit.iter().any(|recorded| is_fusing(&recorded.event)));
    let before = &first.commits[..=sent.expect("it was sent")];
    let told = interrupted().after(before).run().await;
    insta::assert_snapshot!(told.end(), @"
    complete decided at 40, closed at 40
      fused by fuser-2 from 1: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! interrupted: the synthesizer `fuser-1` was asked before and never heard of (it may have been paid, so it was not asked again)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser-1 unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known
      s2 fuser-2 answered, 1 request 20 ms, $0.0010
    ");
    let warned: Vec<_> = told.run.outcome.iter().flat_map(|outcome| &outcome.warnings).collect();
    assert_eq!(warned[0].message, "the synthesizer `fuser-1` was asked before and never heard of");
}
