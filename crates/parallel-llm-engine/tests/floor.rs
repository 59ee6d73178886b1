//! The floor under the text of a synthesizer, through a whole run: what babbles is not the answer, and is not paid twice.

use parallel_llm_engine::{CallerSlot, Event, Finish, Recorded, SeatNumber};

use crate::scenario::{Scenario, scenario};
use crate::script::{Reply, after, fuses, hangs, label_of, says, synthesis_reply};

const ADA: &str = "The moon pulls the sea, so the water rises and falls twice a day.";
const BOB: &str = "Moon and sun pull the sea, and the water rises and falls with them.";

/// Two answers, and these synthesizers in the order of their chain.
fn tides(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let panel = [("ada", says(20, ADA)), ("bob", says(40, BOB))];
    scenario(panel.into_iter().chain(chain)).asks("How do tides work?", "synthesize@gate=off")
}

/// A synthesizer whose text is not an answer.
fn babbles(text: &'static str) -> Reply {
    after(10).compose(move |call| synthesis_reply(call, "{}", text)).end()
}

/// A synthesizer that only names the candidate with these words.
fn names(form: &'static str, words: &'static str) -> Reply {
    after(10)
        .compose(move |call| synthesis_reply(call, "{}", &form.replace("{}", &label_of(call, words))))
        .end()
}

#[tokio::test(start_paused = true)]
async fn the_next_synthesizer_writes_if_the_first_babbles() {
    let chain = [
        (
            "fuser-1",
            babbles("The moon pulls. The moon pulls. The moon pulls. The moon pulls. The moon pulls."),
        ),
        ("fuser-2", babbles("Candidates A and B agree that the moon pulls the sea.")),
        ("fuser-3", fuses(10, "Moon and sun", "Moon and sun pull the sea.")),
        ("fuser-4", hangs()),
    ];
    insta::assert_snapshot!(tides(chain).run().await.end(), @"
    complete decided at 70, closed at 70
      fused by fuser-3 from 2: `Moon and sun pull the sea.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.474 for $0.0010 in 30 ms
      ! synthesis_unusable: the synthesizer `fuser-1` failed: what it wrote is no answer (it repeats the same words again and again); it cost $0.0010 (look at the run, or name another synthesizer)
      ! synthesis_unusable: the synthesizer `fuser-2` failed: what it wrote is no answer (it talks about the candidates instead of answering); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 20 ms, $0.0010
      2 bob answered, 1 request 40 ms, $0.0010
      s1 fuser-1 answered, 1 request 10 ms, $0.0010
      s2 fuser-2 answered, 1 request 10 ms, $0.0010
      s3 fuser-3 answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_best_answer_stands_if_every_synthesizer_babbles() {
    let chain = [("fuser-1", babbles("the final answer")), ("fuser-2", says(10, "How do tides work?"))];
    let result = tides(chain).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 60, closed at 60
      verbatim by ada from 1: `The moon pul…` (65)
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! synthesis_unusable: the synthesizer `fuser-1` failed: what it wrote is no answer (it announces an answer and gives none); it cost $0.0010 (look at the run, or name another synthesizer)
      ! synthesis_unusable: the synthesizer `fuser-2` failed: what it wrote is no answer (it repeats the request); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 20 ms, $0.0010
      2 bob answered, 1 request 40 ms, $0.0010
      s1 fuser-1 answered, 1 request 10 ms, $0.0010
      s2 fuser-2 answered, 1 request 10 ms, $0.0010
    ");
    // What was paid for is kept with its call.
    let view = result.run.view(CallerSlot::Synthesizer(SeatNumber(2))).expect("it was asked");
    assert_eq!(&*view.answer.as_ref().expect("it wrote").text, "How do tides work?");
}

#[tokio::test(start_paused = true)]
async fn a_lone_label_is_the_answer_of_that_candidate() {
    for form in ["{}", "**{}**", "Candidate {}.", "Candidate {} is the best. I would return candidate {}."] {
        let outcome =
            tides([("fuser", names(form, "Moon and sun"))]).run().await.run.outcome.expect("decided");
        assert_eq!(outcome.text.as_deref(), Some(BOB), "{form}");
    }
    insta::assert_snapshot!(tides([("fuser", names("{}", "Moon and sun"))]).run().await.end(), @"
    complete decided at 50, closed at 50
      selected by bob from 2: `Moon and sun…` (67)
      because the synthesizer `fuser` named it and wrote no text of its own
      1 ada answered, 1 request 20 ms, $0.0010
      2 bob answered, 1 request 40 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_is_the_answer_is_no_label() {
    let result = scenario([
        ("ada", says(10, "A")),
        ("bob", says(20, "B")),
        ("cyd", says(30, "C")),
        ("fuser", says(10, "B")),
    ]);
    let result =
        result.asks("Which metal is yellow? A) iron B) gold C) tin", "synthesize@gate=off").run().await;
    insta::assert_snapshot!(result.text(), @"B");
}

#[tokio::test(start_paused = true)]
async fn a_cut_text_stands_only_if_nothing_whole_can_be_had() {
    let cut = || after(10).text("Moon and sun pull it").end_as(Finish::Length);
    insta::assert_snapshot!(tides([("fuser", cut())]).run().await.end(), @"
    complete decided at 50, closed at 50
      verbatim by ada from 1: `The moon pul…` (65)
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! synthesis_unusable: the synthesizer `fuser` failed: what it wrote is no answer (it stops before its end); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 20 ms, $0.0010
      2 bob answered, 1 request 40 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
    let panel = [ADA, BOB].map(|text| after(10).text(text).end_as(Finish::Length));
    let [ada, bob] = panel;
    let result = scenario([("ada", ada), ("bob", bob), ("fuser", cut())]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      fused by fuser: `Moon and sun pull it`
      because the synthesizer wrote it from the answers without naming the one it started from
      ! incomplete: the synthesizer reached its output cap; the text may stop early (raise the number of tokens of an answer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_comes_to_the_same_without_paying_again() {
    let chain = || {
        let first = babbles("Candidates A and B agree that the moon pulls the sea.");
        [("fuser-1", first), ("fuser-2", names("Candidate {}", "Moon and sun"))]
    };
    let whole = tides(chain()).run().await;
    let is_decided = |recorded: &Recorded| matches!(recorded.event, Event::Decided { .. });
    let mut before = whole.commits.clone();
    let at = before.iter().position(|commit| commit.iter().any(is_decided)).expect("it was decided");
    before.truncate(at + 1);
    before[at].retain(|recorded| !is_decided(recorded));
    let resumed = tides(chain()).after(&before).run().await;
    assert_eq!(resumed.asked.len(), 0, "nothing is paid again");
    let outcome = |result: &crate::scenario::RunResult| {
        let outcome = result.run.outcome.clone().expect("it is decided");
        (outcome.kind, outcome.text, outcome.reason, outcome.warnings)
    };
    assert_eq!(outcome(&resumed), outcome(&whole));
}

#[tokio::test(start_paused = true)]
async fn an_early_draft_that_babbles_is_no_answer() {
    let result = scenario([
        ("ada", says(10, ADA)),
        ("bob", says(20, BOB)),
        ("cyd", says(110, "Gravity of the moon pulls the sea.")),
        ("fuser", babbles("the final answer")),
        ("fuser", fuses(50, "Gravity", "The gravity of the moon pulls the sea.")),
    ]);
    let result = result.asks("How do tides work?", "synthesize@early=2").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 160, closed at 160
      fused by fuser from 3: `The gravity of the moon pulls the sea.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.143 for $0.0020 in 50 ms
      ! synthesis_unusable: a text begun early failed: what it wrote is no answer (it announces an answer and gives none); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 110 ms, $0.0010
      s1 fuser answered, 1 request 50 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 drafting
    ");
}

#[tokio::test(start_paused = true)]
async fn a_seat_that_only_names_another_keeps_its_answer() {
    let again = || after(10).compose(|call| label_of(call, "Moon and sun")).end();
    let result = scenario([
        ("ada", says(10, ADA)),
        ("ada", again()),
        ("bob", says(10, BOB)),
        ("fuser", fuses(10, "Moon and sun", "Moon and sun pull the sea.")),
    ]);
    let result = result.asks("How do tides work?", "moa@gate=off").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      fused by fuser from 2: `Moon and sun pull the sea.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.474 for $0.0030 in 20 ms
      ! synthesis_unusable: seat 1 gave no answer in layer 2 and keeps the one it had: it only names the answer of seat 2 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 ada answered, 1 request 10 ms, $0.0010 proposing
      step 2 bob answered, 1 request 10 ms, $0.0010 proposing
    ");
}

#[tokio::test(start_paused = true)]
async fn a_chair_that_babbles_leaves_the_answer_ranked_best() {
    let result = scenario([("ada", says(10, ADA)), ("bob", says(10, BOB)), ("fuser", says(10, "…"))]);
    insta::assert_snapshot!(result.asks("How do tides work?", "council").run().await.end(), @"
    complete decided at 20, closed at 20
      verbatim by ada from 1: `The moon pul…` (65)
      because every chair failed; this is the answer closest to the others, word for word
      ! synthesis_unusable: the chair `fuser` failed: what it wrote is no answer (it announces an answer and gives none); it cost $0.0010 (look at the run, or name another synthesizer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}
