//! Early drafts: texts begun while answers are still awaited. When one is kept, when it is discarded, and that no
//! word of a discarded draft is shown.

use std::sync::Arc;

use parallel_llm_engine::call::hub::{Hub, Update};
use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::request::strategy::StrategyChoice;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::run::event::Recorded;
use parallel_llm_engine::{CallerSlot, Code, PicoUsd, Reopening, Run, SeatNumber, StepNumber};

use crate::invariants;
use crate::scenario::{QUESTION, Scenario, scenario};
use crate::script::{Reply, after, fails, failure, fuses, hangs, says, synthesis_begins, synthesis_reply};

const HOW_MANY: &str = "How many legs has a spider?";

/// Three seats that answer one after the other, the last at `last_ms`, and these synthesizers.
fn panel_with_synthesizers(last_ms: u64, chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let panel = [
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "Moon, sun.")),
        ("cyd", says(last_ms, "Gravity.")),
    ];
    scenario(panel.into_iter().chain(chain)).asks(QUESTION, "synthesize@early=2")
}

/// A synthesis whose first word arrives after `ms` milliseconds and whose end arrives `ms` later.
fn writes(ms: u64, text: &'static str) -> Reply {
    after(ms).compose(move |call| synthesis_begins(call, text)).wait(ms).text(" Done.").end()
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_kept_once_its_first_word_was_shown() {
    let result = panel_with_synthesizers(150, [("fuser", writes(100, "Both."))]);
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `The moon pulls.`
    20 answered 2 `Moon, sun.` | 20 sent step 1
    150 answered 3 `Gravity.`
    220 answered step 1 `<<answer b46e054a>>
    Both. Done.`
    220 decided fused
    220 closed $0.0040
    complete decided at 220, closed at 220
      fused by fuser: `Both. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 2 of 3 had answered
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered late, 1 request 150 ms, $0.0010
      step 1 fuser answered, 1 request 200 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_differing_answer_before_the_first_word_discards_the_draft() {
    let result =
        panel_with_synthesizers(110, [("fuser", writes(100, "Two.")), ("fuser", writes(50, "Three."))]);
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `The moon pulls.`
    20 answered 2 `Moon, sun.` | 20 sent step 1
    110 answered 3 `Gravity.` | 110 sent s1
    110 cancelled step 1
    210 answered s1 `<<answer fe737d71>>
    Three. Done.` | 210 decided fused
    210 closed $0.0040
    complete decided at 210, closed at 210
      fused by fuser: `Three. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 100 ms, $0.0010
      step 1 fuser cancelled, 1 request 90 ms, ~?: cancelled: given up before an answer came drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_arrives_in_time_is_included_in_a_new_draft() {
    let panel = [
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "Moon, sun.")),
        ("cyd", says(30, "Gravity.")),
        ("dan", says(400, "Nobody knows.")),
    ];
    let chain = [("fuser", writes(100, "Two.")), ("fuser", writes(100, "Three."))];
    let result = scenario(panel.into_iter().chain(chain)).asks(QUESTION, "synthesize@early=2");
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 230, closed at 400
      fused by fuser: `Three. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 3 of 4 had answered, having given up 1 begun sooner
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered late, 1 request 400 ms, $0.0010
      step 1 fuser cancelled, 1 request 10 ms, ~?: cancelled: given up before an answer came drafting
      step 2 fuser answered, 1 request 200 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_agrees_with_the_majority_keeps_the_draft() {
    let panel = |last: &'static str| {
        let first = [("ada", says(10, "8")), ("bob", says(10, "It has 8 legs.")), ("cyd", says(20, "6"))];
        let chain = [("dan", says(50, last)), ("fuser", fuses(100, "6", "Eight."))];
        scenario(first.into_iter().chain(chain)).asks(HOW_MANY, "synthesize@early=3,gate=on")
    };
    insta::assert_snapshot!(panel("The answer is 8.").run().await.end(), @"
    complete decided at 120, closed at 120
      fused by fuser from 2: `Eight.`
      because the synthesizer started from one answer and patched it from the others, and began when 3 of 4 had answered
      edited 1 for $0.0010 in 70 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 20 ms, $0.0010
      4 dan answered late, 1 request 50 ms, $0.0010
      step 1 fuser answered, 1 request 100 ms, $0.0010 drafting
    ");
    insta::assert_snapshot!(panel("6").run().await.end(), @"
    complete decided at 150, closed at 150
      fused by fuser from 3: `Eight.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for ? in 100 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 20 ms, $0.0010
      4 dan answered, 1 request 50 ms, $0.0010
      s1 fuser answered, 1 request 100 ms, $0.0010
      step 1 fuser cancelled, 1 request 30 ms, ~?: cancelled: given up before an answer came drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn no_draft_begins_while_all_answers_agree() {
    let panel = |last: &'static str| {
        let panel = [("ada", says(10, "8")), ("bob", says(20, "8 legs")), ("cyd", says(50, last))];
        let chain = [("fuser", fuses(100, "8", "Eight."))];
        scenario(panel.into_iter().chain(chain)).asks(HOW_MANY, "synthesize@early=2,gate=on")
    };
    insta::assert_snapshot!(panel("8").run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `8`
    20 answered 2 `8 legs`
    50 answered 3 `8` | 50 decided selected
    50 closed $0.0030
    complete decided at 50, closed at 50
      selected by ada from 1: `8`
      because all 3 answers say `8`, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 50 ms, $0.0010
    ");
    insta::assert_snapshot!(panel("6").run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `8`
    20 answered 2 `8 legs`
    50 answered 3 `6` | 50 sent s1
    150 answered s1 `<<answer fe7…` (64) | 150 decided fused
    150 closed $0.0040
    complete decided at 150, closed at 150
      fused by fuser from 2: `Eight.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 100 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 50 ms, $0.0010
      s1 fuser answered, 1 request 100 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_discarded_draft_billed_anyway_is_stored_but_not_shown() {
    let chain = [("fuser", writes(100, "Two.").billed_anyway()), ("fuser", writes(50, "Three."))];
    let seen = async |hub: Arc<Hub>| {
        let (mut run, mut watch) = hub.watch();
        let mut seen = Vec::new();
        while !run.closed {
            match watch.next().await {
                Update::Event(recorded) => run.apply(&recorded),
                Update::Text { slot, text, .. } if !matches!(slot, CallerSlot::Seat(_)) => {
                    seen.push(format!("{slot}: {text}"));
                }
                _ => {}
            }
        }
        seen
    };
    let (result, seen) = panel_with_synthesizers(110, chain).run_with_watcher(seen).await;
    insta::assert_snapshot!(result.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `The moon pulls.`
    20 answered 2 `Moon, sun.` | 20 sent step 1
    110 answered 3 `Gravity.` | 110 sent s1
    210 answered s1 `<<answer fe737d71>>
    Three. Done.` | 210 decided fused
    220 cancelled step 1 `<<answer b46e054a>>
    Two. Done.`
    220 closed $0.0050
    complete decided at 210, closed at 220
      fused by fuser: `Three. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 100 ms, $0.0010
      step 1 fuser cancelled, 1 request 200 ms, $0.0010: cancelled: given up before an answer came drafting
    ");
    insta::assert_snapshot!(seen.join(" | "), @"synthesizer 1: Three. | synthesizer 1:  Done.");
}

#[tokio::test(start_paused = true)]
async fn a_failed_draft_is_reported_and_the_panel_awaited() {
    let chain = [("fuser", fails(30, failure(Code::Auth))), ("fuser", fuses(50, "Gravity", "All."))];
    insta::assert_snapshot!(panel_with_synthesizers(110, chain).run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `The moon pulls.`
    20 answered 2 `Moon, sun.` | 20 sent step 1
    50 failed step 1 auth, never again
    110 answered 3 `Gravity.` | 110 sent s1
    160 answered s1 `<<answer fe7…` (62) | 160 decided fused
    160 closed $0.0040
    complete decided at 160, closed at 160
      fused by fuser from 3: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for ? in 50 ms
      ! auth: a text begun early failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 50 ms, $0.0010
      step 1 fuser failed, 1 request 30 ms, ~?: auth: scripted auth drafting
    ");
    let cut = after(30).compose(|call| synthesis_begins(call, "Half")).fail(failure(Code::Connection));
    let chain = [("fuser", cut), ("fuser", fuses(50, "Gravity", "All."))];
    insta::assert_snapshot!(panel_with_synthesizers(110, chain).run().await.end(), @"
    complete decided at 160, closed at 160
      fused by fuser from 3: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for ? in 50 ms
      ! connection: a text begun early failed: scripted connection (check the network and the base URL, or try again later)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 50 ms, $0.0010
      step 1 fuser cut, 1 request 30 ms, ~?: connection: scripted connection drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_used_even_if_the_panel_finishes_first() {
    let result = panel_with_synthesizers(60, [("fuser", writes(30, "Two."))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 80, closed at 80
      fused by fuser: `Two. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 2 of 3 had answered
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered late, 1 request 60 ms, $0.0010
      step 1 fuser answered, 1 request 60 ms, $0.0010 drafting
    ");
    let result =
        panel_with_synthesizers(5_000, [("fuser", writes(300, "Two."))]).wait(Wait::Seats { count: 2 });
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 620, closed at 5000
      fused by fuser: `Two. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered late, 1 request 5000 ms, $0.0010
      s1 fuser answered, 1 request 600 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn no_draft_begins_before_the_strongest_seat_answers() {
    let strongest = |plan: &mut RunPlan| plan.seats[2].strongest = true;
    let result =
        panel_with_synthesizers(50, [("dan", hangs()), ("fuser", writes(10, "Three."))]).plan(strongest);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 70, closed at 300000
      fused by fuser: `Three. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 3 of 4 had answered
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 50 ms, $0.0010
      4 dan failed, 1 request 300000 ms, ~?: timeout: no text or reasoning came within 300 s (raise the setting `first_text_timeout_ms` (now 300000))
      step 1 fuser answered, 1 request 20 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_is_not_admitted_at_once_is_dropped() {
    let result = panel_with_synthesizers(110, [("fuser", writes(10, "All.").admitted_after(5))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 135, closed at 135
      fused by fuser: `All. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_cancels_its_draft() {
    let result = panel_with_synthesizers(500, [("fuser", hangs())]).cancel_at(100);
    insta::assert_snapshot!(result.run().await.end(), @"
    cancelled decided at 100, closed at 100
      none
      because cancelled: the run was cancelled
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      step 1 fuser cancelled, 1 request 80 ms, ~?: cancelled: given up before an answer came drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn drafts_work_with_escalation() {
    let panel = [
        ("ada", says(10, "8")),
        ("bob", says(20, "6")),
        ("cyd", says(30, "8 legs")),
        ("dan", says(500, "8")),
    ];
    let chain = [("fuser", writes(100, "Two.")), ("fuser", writes(100, "Three."))];
    let result = scenario(panel.into_iter().chain(chain)).asks(HOW_MANY, "synthesize@first=2,early=2");
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `8`
    20 answered 2 `6` | 20 sent 3 | 20 sent 4 | 20 sent step 1
    50 answered 3 `8 legs` | 50 sent step 2
    50 cancelled step 1
    250 answered step 2 `<<answer 71595c08>>
    Three. Done.`
    250 decided fused
    520 answered 4 `8`
    520 closed $0.0050
    complete decided at 250, closed at 520
      fused by fuser: `Three. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 3 of 4 had answered, having given up 1 begun sooner
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered late, 1 request 500 ms, $0.0010
      step 1 fuser cancelled, 1 request 30 ms, ~?: cancelled: given up before an answer came drafting
      step 2 fuser answered, 1 request 200 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_pays_for_no_draft_twice() {
    let scenario =
        || panel_with_synthesizers(110, [("fuser", writes(100, "Two.")), ("fuser", writes(50, "Three."))]);
    invariants::never_pays_twice(scenario).await;
    // The draft is durable, and its process dies before the decision.
    let whole = panel_with_synthesizers(150, [("fuser", writes(100, "Both."))]).run().await;
    let has_text = |commit: &[Recorded]| {
        commit.iter().any(|recorded| {
            recorded.event.answer().is_some()
                && recorded
                    .event
                    .attempt()
                    .is_some_and(|attempt| attempt.slot == CallerSlot::Step(StepNumber(1)))
        })
    };
    let last = whole.commits.iter().position(|commit| has_text(commit)).expect("it comes to its end");
    let result = panel_with_synthesizers(150, [("fuser", writes(100, "Another."))])
        .after(&whole.commits[..=last])
        .run()
        .await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 220, closed at 220
      fused by fuser: `Both. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 2 of 3 had answered
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered late, 1 request 150 ms, $0.0010
      step 1 fuser answered, 1 request 200 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn every_possible_draft_is_planned() {
    let planned =
        |strategy: &str| panel_with_synthesizers(1, [("fuser", hangs())]).asks(QUESTION, strategy).planned();
    let worst = |strategy: &str| planned(strategy).worst_case.known_part();
    let late = planned("synthesize@early=2");
    assert_eq!(late.steps.len(), 1);
    let step = late.worst_request(CallerSlot::Step(late.steps[0].number)).expect("the price is known");
    assert_eq!(worst("synthesize@early=2"), worst("synthesize").plus(step));
    assert!(step > PicoUsd::ZERO);
    assert_eq!(worst("synthesize@early=3"), worst("synthesize"));
    let many = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus"].map(|name| (name, hangs()));
    let many = scenario(many.into_iter().chain([("fuser", hangs())])).asks(QUESTION, "synthesize@early=2");
    assert_eq!(many.planned().steps.len(), 3);
}

#[test]
fn options_that_conflict_with_early_are_refused() {
    let result = |text: &str| {
        let result = StrategyChoice::parse(text).map(|strategy| strategy.to_string());
        result.unwrap_or_else(|failure| format!("{}; {}", failure.message, failure.next_step()))
    };
    insta::assert_snapshot!(result("synthesize@early=2,paranoid=on"), @"`early` cannot go with `paranoid=on`: of several texts none can be shown early; leave one of them out");
    insta::assert_snapshot!(result("synthesize@analysis=separate,early=2"), @"`early` cannot go with `analysis=separate`: what is written after an analysis cannot be shown early; leave one of them out");
    insta::assert_snapshot!(result("synthesize@first=3,early=2"), @"`early` cannot go with `first`: it must not be smaller, because a text of fewer answers skips seats that are not asked yet; leave one of them out");
    insta::assert_snapshot!(result("synthesize@early=1"), @"the option `early` cannot be `1`; give a whole number from 2 to 63");
    insta::assert_snapshot!(result("vote@early=2"), @"the strategy `vote` has no option `early`; choose one of: first, weights, extractor, min_share");
}

#[tokio::test(start_paused = true)]
async fn an_empty_draft_is_reported_and_the_panel_awaited() {
    let empty = after(30).compose(|call| synthesis_reply(call, "{}", "")).end();
    let chain = [("fuser", empty), ("fuser", fuses(50, "Gravity", "All."))];
    insta::assert_snapshot!(panel_with_synthesizers(110, chain).run().await.end(), @"
    complete decided at 160, closed at 160
      fused by fuser from 3: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0020 in 50 ms
      ! synthesis_unusable: a text begun early failed: what it wrote is no answer (it is empty); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 50 ms, $0.0010
      step 1 fuser answered, 1 request 30 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_draft_drained_after_a_cancel_is_not_used_by_a_continuation() {
    let chain = || [("fuser", writes(100, "Two.").billed_anyway()), ("fuser", fuses(50, "Gravity", "All."))];
    let cancelled = panel_with_synthesizers(500, chain()).cancel_at(100).run().await;
    insta::assert_snapshot!(cancelled.end(), @"
    cancelled decided at 100, closed at 220
      none
      because cancelled: the run was cancelled
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      step 1 fuser answered late, 1 request 200 ms, $0.0010 drafting
    ");
    let again = |run: &Run| {
        let chain = run.chain().to_vec();
        Reopening::again(&run.plan, vec![SeatNumber(3)], &chain).expect("there is room")
    };
    let result = panel_with_synthesizers(500, [("fuser", fuses(50, "Gravity", "All."))]);
    let result = result.after(&cancelled.commits).reopened(again).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 770, closed at 770
      fused by fuser from 3: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 50 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 2 requests 720 ms, ~$0.0010
      s2 fuser answered, 1 request 50 ms, $0.0010
      step 1 fuser answered late, 1 request 200 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_with_a_finished_draft_waits_for_no_seat() {
    let whole = panel_with_synthesizers(5_000, [("fuser", writes(100, "Both."))]).run().await;
    let is_text = |recorded: &Recorded| {
        let slot = recorded.event.attempt().map(|attempt| attempt.slot);
        recorded.event.answer().is_some() && slot == Some(CallerSlot::Step(StepNumber(1)))
    };
    let last = whole.commits.iter().position(|commit| commit.iter().any(is_text)).expect("it is there");
    let result =
        panel_with_synthesizers(5_000, [("fuser", hangs())]).after(&whole.commits[..=last]).run().await;
    insta::assert_snapshot!(result.end(), @"
    partial decided at 220, closed at 220
      fused by fuser: `Both. Done.`
      because the synthesizer wrote it from the answers without naming the one it started from, and began when 2 of 3 had answered
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      step 1 fuser answered, 1 request 200 ms, $0.0010 drafting
    ");
}
