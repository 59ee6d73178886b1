//! Continued runs, after an answer or without one: only requested seats are asked, paid answers are used, and no
//! earlier text is lost.

use parallel_llm_engine::plan::{Defaults, RunPlan, Terms};
use parallel_llm_engine::request::strategy::StrategyChoice;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::run::event::{Event, Recorded};
use parallel_llm_engine::run::reopening::SoFar;
use parallel_llm_engine::{
    Catalogue, Code, PicoUsd, Price, Reopening, Run, RunRequest, RunStatus, Seat, SeatNumber, SeatStatus,
};

use crate::scenario::{RunResult, Scenario, catalogues, defaults, info, providers, scenario, seat};
use crate::script::{COST, Reply, after, fails, failure, fuses, hangs, says};
use crate::transcript;

/// The worst case of one call of the panel.
const WORST_CALL: PicoUsd = PicoUsd(10_006_000_000);

fn typical_run() -> Scenario {
    scenario([
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "The sun pulls.")),
        ("fuser", fuses(20, "moon", "Both pull.")),
    ])
    .with_models([
        ("cyd", says(30, "Both pull at once.")),
        ("other", fuses(40, "sun", "The sun and the moon.")),
    ])
}

/// The reply of bob: it may fail for good, or stay unknown because its process dies first.
fn with_bob(bob: Reply) -> Scenario {
    scenario([
        ("ada", says(10, "The moon pulls.")),
        ("bob", bob),
        ("cyd", says(20, "The sun pulls.")),
        ("fuser", fuses(20, "moon", "Both pull.")),
    ])
}

fn fails_for_good() -> Reply {
    fails(15, failure(Code::Upstream).with_status(400))
}

/// Asks only these seats.
fn ask_only(seats: &[u8]) -> impl FnOnce(&Run) -> Reopening {
    let ask = seats.iter().copied().map(SeatNumber).collect();
    move |run| Reopening::resume(&run.plan, ask)
}

fn add_a_seat(run: &Run) -> Reopening {
    Reopening { seats: vec![seat(3, "cyd")], ..Reopening::resume(&run.plan, Vec::new()) }
}

fn add_a_synthesizer(run: &Run) -> Reopening {
    Reopening { synthesizers: vec![seat(2, "other")], ..Reopening::resume(&run.plan, Vec::new()) }
}

/// The commits of the newest part, the final state, and the earlier texts.
fn continuation(result: &RunResult, before: &[Vec<Recorded>]) -> String {
    let earlier = result.run.earlier.iter().map(|outcome| format!("\n  before: {:?}", outcome.text));
    format!(
        "{}\n{}{}",
        transcript::commits(&result.commits[before.len()..]),
        result.end(),
        earlier.collect::<String>()
    )
}

/// The commits of a process that died once this event was durable.
fn until(result: &RunResult, is_last: impl Fn(&Event) -> bool) -> Vec<Vec<Recorded>> {
    let last = result.commits.iter().position(|commit| commit.iter().any(|one| is_last(&one.event)));
    result.commits[..=last.expect("it happened")].to_vec()
}

#[tokio::test(start_paused = true)]
async fn only_an_added_seat_is_asked() {
    let first = typical_run().run().await.commits;
    let result = typical_run().after(&first).reopened(add_a_seat).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @r#"
    40 reopened +3 cyd
    40 sent 3
    70 answered 3 `Both pull at once.` | 70 sent s1#2
    90 answered s1#2 `<<answer fe7…` (68) | 90 decided fused
    90 closed $0.0050
    complete decided at 90, closed at 90
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      s1 fuser answered, 2 requests 70 ms, $0.0020

      before: Some("Both pull.")
    "#);
    insta::assert_snapshot!(result.ledger(), @"
    0 durable: reopened
    0 durable: sent 3
    0 request cyd #1
    30 durable: answered 3, sent s1#2
    30 request fuser #2
    50 durable: answered s1#2, decided
    50 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn another_synthesizer_reads_the_existing_answers() {
    let first = typical_run().run().await.commits;
    let result = typical_run().after(&first).reopened(add_a_synthesizer).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @r#"
    40 reopened +s2 other
    40 sent s2
    80 answered s2 `<<answer fe7…` (79) | 80 decided fused
    80 closed $0.0040
    complete decided at 80, closed at 80
      fused by other from 2: `The sun and the moon.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.429 for $0.0010 in 40 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
      s2 other answered, 1 request 40 ms, $0.0010

      before: Some("Both pull.")
    "#);
    insta::assert_snapshot!(result.ledger(), @"
    0 durable: reopened
    0 durable: sent s2
    0 request other #1
    40 durable: answered s2, decided
    40 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn a_third_part_builds_on_the_second() {
    let first = typical_run().run().await.commits;
    let second = typical_run().after(&first).reopened(add_a_seat).run().await.commits;
    let result = typical_run().after(&second).reopened(add_a_synthesizer).run().await;
    insta::assert_snapshot!(continuation(&result, &second), @r#"
    90 reopened +s2 other
    90 sent s2
    130 answered s2 `<<answer fe7…` (79) | 130 decided fused
    130 closed $0.0060
    complete decided at 130, closed at 130
      fused by other from 2: `The sun and the moon.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.429 for $0.0010 in 40 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      s1 fuser answered, 2 requests 70 ms, $0.0020
      s2 other answered, 1 request 40 ms, $0.0010

      before: Some("Both pull.")
      before: Some("Both pull.")
    "#);
}

#[tokio::test(start_paused = true)]
async fn only_failed_seats_are_asked_again() {
    let first = with_bob(fails_for_good()).run().await.commits;
    let result = with_bob(says(30, "Sun and moon.")).after(&first).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @r#"
    2565 reopened 2
    2565 sent 2#4
    2595 answered 2#4 `Sun and moon.` | 2595 sent s1#2
    2615 answered s1#2 `<<answer fe7…` (68) | 2615 decided fused
    2615 closed $0.0050
    complete decided at 2615, closed at 2615
      fused by fuser from 2: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 4 requests 2595 ms, $0.0010
      3 cyd answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 2 requests 70 ms, $0.0020

      before: Some("Both pull.")
    "#);
}

#[tokio::test(start_paused = true)]
async fn an_answered_seat_is_not_asked_again_even_if_named() {
    let first = with_bob(fails_for_good()).run().await.commits;
    let result = with_bob(says(30, "Sun and moon.")).after(&first).reopened(ask_only(&[1, 2])).run().await;
    assert_eq!(result.asked.iter().filter(|asked| asked.call.model.model == "ada").count(), 0);
    assert_eq!(result.run.answered(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_seat_is_asked_again_only_if_named() {
    let first = with_bob(says(5_000, "Late.")).run().await;
    let before = until(&first, |event| matches!(event, Event::Answered { .. }));
    let unnamed = with_bob(says(30, "Sun and moon.")).after(&before).reopened(ask_only(&[3])).run().await;
    insta::assert_snapshot!(continuation(&unnamed, &before), @"
    10 reopened 3
    10 sent 3#2
    30 answered 3#2 `The sun pulls.` | 30 sent s1
    50 answered s1 `<<answer fe7…` (68) | 50 decided fused
    50 closed $0.0030
    partial decided at 50, closed at 50
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      3 cyd answered, 2 requests 30 ms, ~$0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
    let named = with_bob(says(30, "Sun and moon.")).after(&before).reopened(ask_only(&[2, 3])).run().await;
    insta::assert_snapshot!(continuation(&named, &before), @"
    10 reopened 2 3
    10 sent 2#2 | 10 sent 3#2
    30 answered 3#2 `The sun pulls.`
    40 answered 2#2 `Sun and moon.` | 40 sent s1
    60 answered s1 `<<answer fe7…` (68) | 60 decided fused
    60 closed $0.0040
    complete decided at 60, closed at 60
      fused by fuser from 2: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 2 requests 40 ms, ~$0.0010
      3 cyd answered, 2 requests 30 ms, ~$0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_seat_whose_new_request_was_never_sent_is_not_unknown() {
    // The seat failed, was asked again, and the process died before that request was sent.
    let first = with_bob(fails_for_good()).run().await.commits;
    let second =
        with_bob(hangs()).in_flight_max(1).after(&first).reopened(ask_only(&[2])).run().await.commits;
    let reopened = &second[..=first.len()];
    assert!(matches!(
        reopened.last().expect("it goes on")[..],
        [Recorded { event: Event::Reopened { .. }, .. }]
    ));
    let result = with_bob(says(30, "Sun and moon.")).after(reopened).reopened(ask_only(&[])).run().await;
    insta::assert_snapshot!(continuation(&result, reopened), @"
    2565 reopened
    2565 decided none
    2565 closed $0.0030
    partial decided at 2565, closed at 2565
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! all_failed: continuing the run gave no better text: no further answer came (read the reason of each model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob failed, 3 requests 2545 ms, $0.00: upstream: scripted upstream
      3 cyd answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_lost_request_is_looked_up() {
    let scenario = |id| with_bob(after(5).accepted(id).wait(5_000).text("Late.").end());
    for (id, ask, found) in
        [("gen-2", &[][..], COST), ("gen-2", &[2][..], COST), ("x-2", &[][..], PicoUsd::ZERO)]
    {
        let first = scenario(id).run().await;
        let before = until(&first, |event| matches!(event, Event::Answered { .. }));
        let result =
            with_bob(says(30, "Sun.")).after(&before).reopened(ask_only(&[&[3], ask].concat())).run().await;
        let bob = &result.run.seats[1];
        let again = COST.times(ask.len() as u64);
        assert_eq!(bob.cost.unwrap_or_default(), found.plus(again), "{id} {}", result.transcript());
        assert!(result.ledger.contains(&format!("0 looked up bob as {id}")), "{}", result.ledger());
        // Once the cost is known, it is not looked up again.
        let third = with_bob(says(30, "Sun.")).after(&result.commits).reopened(ask_only(&[])).run().await;
        let asked_twice = third.ledger().contains("looked up");
        assert_eq!(asked_twice, found == PicoUsd::ZERO, "{id}: {}", third.ledger());
    }
    let first = scenario("gen-2").run().await;
    let before = until(&first, |event| matches!(event, Event::Answered { .. }));
    let result = with_bob(fails_for_good()).after(&before).reopened(ask_only(&[3])).run().await;
    insta::assert_snapshot!(continuation(&result, &before), @"
    10 reopened 3
    10 sent 3#2
    10 reconciled 2 $0.0010
    30 answered 3#2 `The sun pulls.` | 30 sent s1
    50 answered s1 `<<answer fe7…` (68) | 50 decided fused
    50 closed $0.0040
    partial decided at 50, closed at 50
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob unknown, 1 request, $0.0010: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      3 cyd answered, 2 requests 30 ms, ~$0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cost_not_yet_known_is_looked_up_again_for_a_while() {
    for (id, looks, cost) in
        [("gen-late-900", 2, COST), ("gen-late-3900", 3, COST), ("gen-late-9000", 3, PicoUsd::ZERO)]
    {
        let first = with_bob(after(5).accepted(id).wait(5_000).text("Late.").end()).run().await;
        let before = until(&first, |event| matches!(event, Event::Answered { .. }));
        let result = with_bob(fails_for_good()).after(&before).reopened(ask_only(&[3])).run().await;
        assert_eq!(result.ledger().matches("looked up bob").count(), looks, "{}", result.ledger());
        assert_eq!(result.run.seats[1].cost.unwrap_or_default(), cost, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_does_not_inherit_the_generation_id() {
    // The first request was accepted and reported its cost; the result of the second is unknown.
    let first = after(5).accepted("gen-1").end();
    let bob = [("bob", first), ("bob", hangs())];
    let panel = [("ada", says(10, "The moon pulls.")), ("fuser", says(10, "Both."))];
    let result = scenario(panel.clone().into_iter().chain(bob)).run().await;
    let again = |event: &Event| matches!(event, Event::Sent { attempt, .. } if attempt.number == 2);
    let before = until(&result, again);
    let result = scenario(panel.into_iter().chain([("bob", fails_for_good())]))
        .after(&before)
        .reopened(ask_only(&[]))
        .run()
        .await;
    assert!(!result.ledger().contains("looked up"), "{}", result.ledger());
    insta::assert_snapshot!(result.end(), @"
    partial decided at 669, closed at 669
      verbatim by ada from 1: `The moon pulls.`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob unknown, 2 requests, ~$0.0010: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
    ");
}

#[tokio::test(start_paused = true)]
async fn a_continuation_without_a_new_text_keeps_the_old_one() {
    let first = typical_run().run().await.commits;
    let hanging = scenario([("ada", fails_for_good()), ("bob", fails_for_good()), ("fuser", hangs())])
        .with_models([("cyd", hangs())]);
    let result = hanging.after(&first).reopened(add_a_seat).cancel_at(50).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @"
    40 reopened +3 cyd
    40 sent 3
    90 decided none
    90 cancelled 3
    90 closed $0.0030
    partial decided at 90, closed at 90
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! cancelled: continuing the run gave no better text: the run was cancelled (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd cancelled, 1 request 50 ms, ~?: cancelled: given up before an answer came
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
    // No synthesizer can be paid: the closest answer is a new text, but the earlier one stays the result.
    let poor = |run: &Run| Reopening { budget: PicoUsd(1), ..add_a_synthesizer(run) };
    let result = typical_run().after(&first).reopened(poor).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @r#"
    40 reopened +s2 other
    40 failed s2#0 budget, never again | 40 decided verbatim
    40 closed $0.0030
    complete decided at 40, closed at 40
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! budget: the synthesizer `other` failed: the call may cost $0.011, which the budget of $0.0000000000010 does not hold (raise the budget, lower the number of tokens of an answer, or ask fewer or cheaper models)
      ! budget: continuing the run gave no better text: every synthesizer failed (raise the budget, lower the number of tokens of an answer, or ask fewer or cheaper models)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
      s2 other skipped, 0 requests, $0.00: budget: the call may cost $0.011, which the budget of $0.0000000000010 does not hold

      before: Some("The moon pulls.")
    "#);
}

#[tokio::test(start_paused = true)]
async fn the_earlier_answer_is_shown_until_the_continuation_is_decided() {
    let first = typical_run().run().await.commits;
    let second = typical_run().after(&first).reopened(add_a_seat).run().await.commits;
    // The process dies before the request to the new seat, or before its answer.
    for survived in 1..=2 {
        let before = &second[..first.len() + survived];
        let mut left = Run::fold(typical_run().planned().into(), &before.concat());
        let warned = |run: &Run| run.warnings().iter().map(|one| one.message.clone()).collect::<Vec<_>>();
        let answer = |run: &Run| run.outcome.as_ref().and_then(|outcome| outcome.text.clone());
        for (status, message) in [
            (
                RunStatus::Running,
                "a further part of the run is under way; the answer is the one from before it",
            ),
            (
                RunStatus::Interrupted,
                "a further part of the run is interrupted; the answer is the one from before it",
            ),
        ] {
            assert_eq!((left.status, warned(&left)), (status, vec![message.to_owned()]));
            assert_eq!(answer(&left).as_deref(), Some("Both pull."));
            assert_eq!((left.decided_ms, left.earlier.len()), (None, 0));
            left.interrupt();
        }
        let result = typical_run().after(before).run().await;
        // A request without a known result is not repeated, so no answer comes and nothing is fused again.
        let nothing = "continuing the run gave no better text: no further answer came".to_owned();
        let expected = if survived == 1 { (1, Vec::new()) } else { (0, vec![nothing]) };
        assert_eq!((result.run.earlier.len(), warned(&result.run)), expected, "{}", result.transcript());
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_continuation_reserves_for_its_own_synthesizers() {
    let dear = |run: &Run| {
        let mut reopening = add_a_synthesizer(run);
        reopening.synthesizers[0].price = info("other").price.map(|price| Price { request: COST, ..price });
        reopening
    };
    let first = typical_run().run().await.commits;
    let second = typical_run().after(&first).reopened(dear).run().await.commits;
    let before = &second[..=first.len()];
    let result = typical_run().after(before).reopened(ask_only(&[])).run().await;
    let events = result.events();
    let reserved: Vec<PicoUsd> = events
        .iter()
        .filter_map(|recorded| match recorded.event {
            Event::Reopened { reserved, .. } => Some(reserved),
            _ => None,
        })
        .collect();
    assert_eq!(reserved[0], reserved[1]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_answer_may_get_one_by_resuming() {
    let all = || scenario([("ada", fails_for_good()), ("bob", fails_for_good())]);
    let first = all().run().await.commits;
    let result = all().after(&first).run().await;
    let running = Run::fold(all().planned().into(), &result.commits[..=first.len()].concat());
    assert!(
        running.outcome.is_none() && running.warnings().is_empty(),
        "without an earlier answer none is shown"
    );
    insta::assert_snapshot!(continuation(&result, &first), @"
    2545 reopened 1 2
    2545 sent 1#4 | 2545 sent 2#4
    2560 failed 1#4 upstream, again in 818
    2560 failed 2#4 upstream, again in 664
    3224 sent 2#5
    3239 failed 2#5 upstream, again in 1836
    3378 sent 1#5
    3393 failed 1#5 upstream, again in 694
    4087 sent 1#6
    4102 failed 1#6 upstream, never again
    5075 sent 2#6
    5090 failed 2#6 upstream, never again | 5090 decided none
    5090 closed $0.00
    failed decided at 5090, closed at 5090
      none
      because upstream: no model answered (ada, bob: scripted upstream)
      1 ada failed, 6 requests 4102 ms, $0.00: upstream: scripted upstream
      2 bob failed, 6 requests 5090 ms, $0.00: upstream: scripted upstream

      before: None
    ");
    let third = scenario([("ada", says(10, "The moon.")), ("bob", fails_for_good())])
        .after(&result.commits)
        .run()
        .await;
    insta::assert_snapshot!(continuation(&third, &result.commits), @"
    5090 reopened 1 2
    5090 sent 1#7 | 5090 sent 2#7
    5100 answered 1#7 `The moon.`
    5105 failed 2#7 upstream, again in 664
    5769 sent 2#8
    5784 failed 2#8 upstream, again in 1836
    7620 sent 2#9
    7635 failed 2#9 upstream, never again | 7635 decided verbatim
    7635 closed $0.0010
    partial decided at 7635, closed at 7635
      verbatim by ada from 1: `The moon.`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 7 requests 5100 ms, $0.0010
      2 bob failed, 9 requests 7635 ms, $0.00: upstream: scripted upstream

      before: None
      before: None
    ");
}

#[tokio::test(start_paused = true)]
async fn earlier_answers_do_not_end_the_wait_for_new_ones() {
    let rules = [
        Wait::Seats { count: 1 },
        Wait::Until { ms: 100 },
        Wait::Stragglers { share_percent: 60, after_ms: 50 },
    ];
    for wait in rules {
        let scenario = || {
            let beside = [("cyd", says(80_000, "After a long while."))];
            typical_run().wait(wait).plan(|plan| plan.timers.idle_ms = 100_000).with_models(beside)
        };
        let first = scenario().run().await.commits;
        let slow = |run: &Run| Reopening {
            seats: vec![seat(3, "slow")],
            ..Reopening::resume(&run.plan, Vec::new())
        };
        let result = scenario()
            .with_models([("slow", says(80_000, "After a long while."))])
            .after(&first)
            .reopened(slow)
            .run()
            .await;
        let outcome = result.run.outcome.as_ref().expect("it is decided");
        assert!(outcome.considered.contains(&SeatNumber(3)), "{wait:?}: {}", result.transcript());
    }
}

#[tokio::test(start_paused = true)]
async fn a_continuation_has_a_budget_of_its_own() {
    let first = typical_run().run().await.commits;
    let within =
        |more: PicoUsd| move |run: &Run| Reopening { budget: run.cost_max().plus(more), ..add_a_seat(run) };
    let result = typical_run().after(&first).reopened(within(PicoUsd(WORST_CALL.0 - 1))).run().await;
    insta::assert_snapshot!(continuation(&result, &first), @"
    40 reopened +3 cyd
    40 failed 3#0 budget, never again | 40 decided none
    40 closed $0.0030
    partial decided at 40, closed at 40
      fused by fuser from 1: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.75 for $0.0010 in 20 ms
      ! all_failed: continuing the run gave no better text: no further answer came (read the reason of each model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd skipped, 0 requests, $0.00: budget: the call may cost $0.010, which the budget of $0.013 does not hold
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
    let result = typical_run().after(&first).reopened(within(WORST_CALL.times(2))).run().await;
    assert_eq!(result.run.answered(), 3, "{}", result.transcript());
}

#[tokio::test(start_paused = true)]
async fn unknown_earlier_costs_count_against_the_new_budget() {
    // The cost of cut, cancelled and unknown calls is not known.
    let torn = after(10).text("The moon").fail(failure(Code::Connection));
    let three = || scenario([("ada", torn.clone()), ("bob", hangs()), ("cyd", says(15, "Sun."))]);
    let first = three().wait(Wait::Seats { count: 2 }).cancel_at(30).run().await;
    let run = &first.run;
    assert_eq!(run.cost_max(), COST.plus(WORST_CALL.times(2)), "{}", first.transcript());
    let enough = run.cost_max().plus(WORST_CALL);
    for (budget, is_sent) in [(enough, true), (PicoUsd(enough.0 - 1), false)] {
        let reopening = |run: &Run| Reopening { budget, ..ask_only(&[2])(run) };
        let result = three().after(&first.commits).reopened(reopening).cancel_at(30).run().await;
        assert_eq!(!result.asked.is_empty(), is_sent, "{}", result.transcript());
    }
}

#[tokio::test(start_paused = true)]
async fn a_decided_run_that_never_closed_can_be_continued() {
    let late = || {
        let seats = [("ada", says(10, "The moon pulls.")), ("bob", says(20, "The sun pulls."))];
        let rest = [("cyd", says(5_000, "Late.")), ("fuser", fuses(20, "moon", "Both pull."))];
        scenario(seats.into_iter().chain(rest))
            .wait(Wait::Seats { count: 2 })
            .with_models([("other", says(5, "All."))])
    };
    let first = late().run().await;
    let before = until(&first, |event| matches!(event, Event::Decided { .. }));
    let result = late().after(&before).reopened(add_a_synthesizer).run().await;
    insta::assert_snapshot!(continuation(&result, &before), @r#"
    40 reopened +s2 other
    40 sent s2
    45 answered s2 `All.` | 45 decided fused
    45 closed $0.0040
    partial decided at 45, closed at 45
      fused by other: `All.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      s1 fuser answered, 1 request 20 ms, $0.0010
      s2 other answered, 1 request 5 ms, $0.0010

      before: Some("Both pull.")
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_partial_answer_is_considered_only_if_long_enough() {
    let words = "moon and sun ".repeat(20);
    let long = || after(5).text(&words).hang();
    let result =
        scenario([("ada", says(10, "The moon.")), ("bob", after(5).text("So f").hang()), ("cyd", long())])
            .cancel_at(50)
            .run()
            .await;
    let further = scenario([("ada", hangs()), ("bob", hangs()), ("cyd", hangs())])
        .after(&result.commits)
        .reopened(ask_only(&[]))
        .run()
        .await;
    let outcome = further.run.outcome.as_ref().expect("it is decided");
    assert_eq!(outcome.considered, [SeatNumber(1), SeatNumber(3)], "{}", further.transcript());
    // If it is asked again in vain, it keeps its earlier text.
    let vain = scenario([("ada", hangs()), ("bob", fails_for_good()), ("cyd", fails_for_good())])
        .after(&result.commits)
        .run()
        .await;
    let outcome = vain.run.outcome.as_ref().expect("it is decided");
    assert_eq!(outcome.considered, [SeatNumber(1), SeatNumber(3)], "{}", vain.transcript());
}

#[tokio::test(start_paused = true)]
async fn a_key_refused_in_an_earlier_part_is_used_again() {
    let refused = || fails(10, failure(Code::Auth).with_status(401));
    let first =
        scenario([("ada", refused()), ("bob", fails_for_good()), ("cyd", says(5, "The moon."))]).run().await;
    let shaky = [("bob", fails(10, failure(Code::Upstream).with_status(502))), ("bob", says(10, "The sun."))];
    // The earlier refusal stays visible while the seat is asked again, and also if it is not asked.
    for ask in [&[1, 2][..], &[2]] {
        let seats = [("ada", says(500, "All.")), ("cyd", hangs())];
        let result = scenario(seats.into_iter().chain(shaky.clone()))
            .plan(|plan| plan.clone_from(&first.plan))
            .after(&first.commits)
            .reopened(ask_only(ask))
            .run()
            .await;
        assert_eq!(result.run.seats[1].status, SeatStatus::Answered, "{}", result.transcript());
    }
}

#[tokio::test(start_paused = true)]
async fn a_field_rejected_before_is_left_out_from_the_start() {
    let mut rejected = failure(Code::BadRequest).with_status(400);
    rejected.rejected_field = Some("temperature".to_owned());
    let first = scenario([("ada", fails(10, rejected)), ("ada", hangs())]).run().await;
    let before = until(&first, |event| matches!(event, Event::Failed { .. }));
    let shaky = || fails(10, failure(Code::Upstream).with_status(502));
    let again = scenario([("ada", shaky()), ("ada", shaky()), ("ada", says(10, "The moon."))]);
    let result = again.after(&before).run().await;
    let without: Vec<_> = result.asked.iter().map(|asked| asked.call.without.join(" ")).collect();
    // All retries are available: leaving out a field does not count as one.
    assert_eq!(without, ["temperature"; 3]);
    assert_eq!(
        (result.run.answered(), &result.run.seats[0].without[..]),
        (1, &["temperature".to_owned()][..])
    );
}

fn resolve(request: &RunRequest, plan: &RunPlan) -> Result<String, String> {
    let live = Catalogue::new(["ada", "bob", "fuser", "other"].map(info).to_vec(), true);
    let defaults = Defaults { synthesizers: vec!["fuser".to_owned()], ..defaults() };
    let terms = Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues(live) };
    let names = |seats: &[Seat]| -> Vec<String> {
        seats.iter().map(|seat| format!("{} {}", seat.number, seat.model.model)).collect()
    };
    let so_far = SoFar { plan, chain: &plan.synthesizers, spent: PicoUsd::from_usd(1) };
    Reopening::resolve(request, &terms, so_far, vec![SeatNumber(2)])
        .map(|one| format!("+{:?} s{:?} within {}", names(&one.seats), names(&one.synthesizers), one.budget))
        .map_err(|failure| transcript::without_names(&transcript::reason(&failure)))
}

#[tokio::test(start_paused = true)]
async fn a_run_with_a_retired_strategy_goes_on_only_with_another() {
    let tournament = serde_json::from_str(r#"{"format":"league"}"#).expect("it is an option of stored runs");
    let strategy = serde_json::from_value("tournament".into()).expect("it is a strategy of stored runs");
    let plan = RunPlan { strategy, strategy_options: tournament, ..typical_run().planned() };
    let refused = Reopening::resume(&plan, Vec::new()).check_offered(&plan).expect_err("it is refused");
    insta::assert_snapshot!(transcript::reason(&refused), @"usage: the run cannot go on as it was asked: the strategy `tournament` is now `best-of-n@by=league` (make another text of the answers, or write it like `best-of-n@by=league`)");
    let other = StrategyChoice::parse("best-of-n@by=league").expect("it is offered");
    let StrategyChoice { strategy, options: strategy_options } = other;
    let part = Reopening { strategy, strategy_options, ..Reopening::resume(&plan, Vec::new()) };
    assert_eq!(part.check_offered(&plan), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_continuation_is_resolved_against_the_run() {
    let plan = typical_run().planned();
    let asked = RunRequest::prompt("");
    let models = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let other = Some("other".to_owned());
    let cases = [
        RunRequest { models: models(&["ada*2", "bob"]), ..asked.clone() },
        RunRequest { synthesizer: other.clone(), ..asked.clone() },
        RunRequest { synthesizer: Some("othr".to_owned()), ..asked.clone() },
        RunRequest { models: models(&["adda"]), ..asked.clone() },
        RunRequest { models: models(&["ada*63"]), ..asked.clone() },
        RunRequest { models: models(&["ada*62"]), budget: Some(PicoUsd(1)), ..asked.clone() },
        RunRequest { synthesizer: other, strategy: Some("magic".to_owned()), ..asked.clone() },
        RunRequest { strategy: Some("vote@weights=log-odds".to_owned()), ..asked.clone() },
        RunRequest { budget: Some(PicoUsd::from_usd(2)), ..asked },
    ];
    let result: Vec<String> =
        cases.iter().map(|case| resolve(case, &plan).unwrap_or_else(|refusal| refusal)).collect();
    insta::assert_snapshot!(result.join("\n"), @r#"
    +["3 ada", "4 ada", "5 bob"] s["2 fuser"] within $4.00
    +[] s["2 other", "3 fuser"] within $4.00
    model_unknown: the model `othr` is unknown (did you mean `other`?)
    model_unknown: the model `adda` is unknown (did you mean `ada`?)
    panel_size: the run would have more than 64 seats
    budget: this part of the run may cost up to $0.71; the budget is $0.0000000000010 (give the budget as 0.72, lower the number of tokens of an answer, or ask fewer or cheaper models)
    usage: there is no strategy `magic` (choose one of: <strategies>)
    usage: `vote@weights=log-odds` needs the accuracy of every seat, and `ada` comes without (write your own estimate behind each model, such as `@accuracy=0.85`, or leave `weights` out)
    +[] s["2 fuser"] within $3.00
    "#);
}
