//! Best of N with the user's own check: which answer wins, and what happens if the check gives no result.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::port::{AnswerToCheck, Checker, Grade};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::reopening::SoFar;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Catalogue, Code, Failure, Outcome, PicoUsd, Reopening, RunPlan, RunRequest};
use proptest::prelude::*;
use tokio::time::sleep;

use crate::scenario::{
    Scenario, ScriptedAnswer, catalogues, defaults, identity, in_paused_time, info, providers, scenario,
    shuffled_answers,
};
use crate::script::{fuses, says};

const TASK: &str = "Write a function that sorts a list.";
const STRATEGY: &str = "best-of-n@by=check";
const TEXTS: &[&str] = &["loops over the list", "calls sort on the list", "calls sorted on a list", "shrugs"];

/// The result of the check for an answer.
#[derive(Clone, Copy)]
enum ScriptedGrade {
    Passes,
    Scores(f64),
    Fails,
    Breaks(Code),
    Hangs,
    Panics,
}

/// A checker that knows its result for answers with certain words, and after how many milliseconds to return it.
#[derive(Default)]
struct CheckScript {
    grades: Vec<(&'static str, u64, ScriptedGrade)>,
    in_flight: AtomicUsize,
    high_water: AtomicUsize,
    begun: AtomicUsize,
    texts: Mutex<Vec<String>>,
}

fn check_script(grades: &[(&'static str, u64, ScriptedGrade)]) -> Arc<CheckScript> {
    Arc::new(CheckScript { grades: grades.to_vec(), ..CheckScript::default() })
}

/// A check in flight; it counts as such until it is dropped.
struct CheckInFlight(Arc<CheckScript>);

impl CheckInFlight {
    fn begin(check_script: &Arc<CheckScript>) -> Self {
        let count = check_script.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        check_script.high_water.fetch_max(count, Ordering::SeqCst);
        check_script.begun.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(check_script))
    }
}

impl Drop for CheckInFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The [`Checker`] that plays a script.
struct ScriptedChecker(Arc<CheckScript>);

impl Checker for ScriptedChecker {
    fn check(&self, candidate: AnswerToCheck) -> BoxFuture<'static, Result<Grade, Failure>> {
        let check_script = Arc::clone(&self.0);
        check_script.texts.lock().expect("nobody panics here").push(candidate.text.to_string());
        let known = check_script.grades.iter().find(|(words, ..)| candidate.text.contains(words));
        let (_, ms, grade_given) = *known.expect("every answer is known");
        async move {
            let _in_flight = CheckInFlight::begin(&check_script);
            sleep(Duration::from_millis(ms)).await;
            let grade = |passed, score| Ok(Grade { passed, score, stderr: None });
            match grade_given {
                ScriptedGrade::Passes => grade(true, None),
                ScriptedGrade::Scores(score) => grade(true, Some(score)),
                ScriptedGrade::Fails => grade(false, Some(1.0)),
                ScriptedGrade::Breaks(code) => {
                    Err(Failure::new(code, "it broke").with_next(Advice::TryCheckCommand))
                }
                ScriptedGrade::Hangs => std::future::pending().await,
                ScriptedGrade::Panics => panic!("the check has a defect"),
            }
        }
        .boxed()
    }
}

/// Four answers in this order; the first arrives after ten milliseconds.
fn four_answers() -> Vec<ScriptedAnswer> {
    let names = ["ada", "bob", "cyd", "dan"];
    let seats = names.into_iter().zip([10, 20, 30, 40]).zip(TEXTS);
    seats.map(|((model, after_ms), text)| ScriptedAnswer { model, after_ms, text }).collect()
}

fn checked_panel(answers: &[ScriptedAnswer], check_script: &Arc<CheckScript>) -> Scenario {
    let replies = answers.iter().map(ScriptedAnswer::script);
    let replies = replies.chain([("fuser", fuses(10, "sort", "fused"))]);
    scenario(replies).asks(TASK, STRATEGY).with_checker(Arc::new(ScriptedChecker(Arc::clone(check_script))))
}

/// The final state of a run of the first `seats` seats, with these check results.
async fn end(seats: usize, grades: &[(&'static str, u64, ScriptedGrade)]) -> String {
    checked_panel(&four_answers()[..seats], &check_script(grades)).run().await.end()
}

#[tokio::test(start_paused = true)]
async fn the_passing_answer_with_the_highest_score_wins() {
    let grades = [
        ("loops", 30, ScriptedGrade::Scores(0.5)),
        ("calls sort on", 10, ScriptedGrade::Fails),
        ("sorted", 20, ScriptedGrade::Scores(0.75)),
        ("shrugs", 10, ScriptedGrade::Passes),
    ];
    let check_script = check_script(&grades);
    let result = checked_panel(&four_answers(), &check_script).run().await;
    insta::assert_snapshot!(result.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    10 answered 1 `loops over the list`
    20 answered 2 `calls sort on the list`
    30 answered 3 `calls sorted on a list`
    40 answered 4 `shrugs`
    70 decided selected
    70 closed $0.0040
    complete decided at 70, closed at 70
      selected by cyd from 3: `calls sorted on a list`
      because 3 of 4 answers pass the check; this one has the highest score
      seat 1 passes with 0.5, 30 ms
      seat 2 does not pass, 10 ms
      seat 3 passes with 0.75, 20 ms
      seat 4 passes, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    let mut texts = check_script.texts.lock().expect("nobody panics here").clone();
    texts.sort_unstable();
    assert_eq!(texts, ["calls sort on the list", "calls sorted on a list", "loops over the list", "shrugs"]);
}

#[tokio::test(start_paused = true)]
async fn a_tie_goes_to_the_answer_closest_to_the_others() {
    let all = |grade_given| TEXTS.iter().map(|text| (*text, 10, grade_given)).collect::<Vec<_>>();
    insta::assert_snapshot!(end(4, &all(ScriptedGrade::Passes)).await, @"
    complete decided at 50, closed at 50
      selected by bob from 2: `calls sort on the list`
      because 4 of 4 answers pass the check; this one is closest to the others
      seat 1 passes, 10 ms
      seat 2 passes, 10 ms
      seat 3 passes, 10 ms
      seat 4 passes, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    let mut tied = all(ScriptedGrade::Scores(0.5));
    tied[3].2 = ScriptedGrade::Scores(0.25);
    insta::assert_snapshot!(end(4, &tied).await, @"
    complete decided at 50, closed at 50
      selected by bob from 2: `calls sort on the list`
      because 4 of 4 answers pass the check; of the 3 with the highest score this one is closest to the others
      seat 1 passes with 0.5, 10 ms
      seat 2 passes with 0.5, 10 ms
      seat 3 passes with 0.5, 10 ms
      seat 4 passes with 0.25, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_only_passing_answer_wins() {
    let grades = [
        ("loops", 10, ScriptedGrade::Fails),
        ("calls", 10, ScriptedGrade::Fails),
        ("shrugs", 10, ScriptedGrade::Scores(0.0)),
    ];
    insta::assert_snapshot!(end(4, &grades).await, @"
    complete decided at 50, closed at 50
      selected by dan from 4: `shrugs`
      because it is the only one of 4 answers that passes the check
      seat 1 does not pass, 10 ms
      seat 2 does not pass, 10 ms
      seat 3 does not pass, 10 ms
      seat 4 passes with 0, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn if_no_answer_passes_the_closest_is_returned_with_a_warning() {
    let none = [("l", 10, ScriptedGrade::Fails), ("shrugs", 10, ScriptedGrade::Fails)];
    insta::assert_snapshot!(end(4, &none).await, @"
    complete decided at 50, closed at 50
      verbatim by bob from 2: `calls sort on the list`
      because none of the 4 answers passes the check; this is the answer closest to the others, word for word
      seat 1 does not pass, 10 ms
      seat 2 does not pass, 10 ms
      seat 3 does not pass, 10 ms
      seat 4 does not pass, 10 ms
      ! check_failed: the check has chosen none: none of the 4 answers passes the check (find out what the answers lack before you use one, or ask in other words)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    insta::assert_snapshot!(end(1, &none).await, @"
    complete decided at 20, closed at 20
      verbatim by ada from 1: `loops over the list`
      because the only answer does not pass the check
      seat 1 does not pass, 10 ms
      ! check_failed: the check has chosen none: the only answer does not pass the check (find out what the answers lack before you use one, or ask in other words)
      1 ada answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_single_answer_is_checked_too() {
    insta::assert_snapshot!(end(1, &[("loops", 10, ScriptedGrade::Scores(1.0))]).await, @"
    complete decided at 20, closed at 20
      verbatim by ada from 1: `loops over the list`
      because only one answer came, and it passes the check
      seat 1 passes with 1, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn answers_that_could_not_be_checked_are_reported() {
    let some = [
        ("loops", 10, ScriptedGrade::Breaks(Code::Timeout)),
        ("calls", 10, ScriptedGrade::Passes),
        ("shrugs", 10, ScriptedGrade::Breaks(Code::CheckUnavailable)),
    ];
    insta::assert_snapshot!(end(4, &some).await, @"
    complete decided at 50, closed at 50
      selected by bob from 2: `calls sort on the list`
      because 2 of 4 answers pass the check; this one is closest to the others
      seat 1 timeout, 10 ms
      seat 2 passes, 10 ms
      seat 3 passes, 10 ms
      seat 4 check_unavailable, 10 ms
      ! timeout: the answer of seat 1 was not checked: it broke (try the check command by hand)
      ! check_unavailable: the answer of seat 4 was not checked: it broke (try the check command by hand)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    let mut failed = some;
    failed[1].2 = ScriptedGrade::Fails;
    insta::assert_snapshot!(end(4, &failed).await, @"
    complete decided at 50, closed at 50
      verbatim by bob from 2: `calls sort on the list`
      because none of the 2 answers that could be checked passes the check; this is the answer closest to the others, word for word
      seat 1 timeout, 10 ms
      seat 2 does not pass, 10 ms
      seat 3 does not pass, 10 ms
      seat 4 check_unavailable, 10 ms
      ! check_failed: the check has chosen none: none of the 2 answers that could be checked passes the check (find out what the answers lack before you use one, or ask in other words)
      ! timeout: the answer of seat 1 was not checked: it broke (try the check command by hand)
      ! check_unavailable: the answer of seat 4 was not checked: it broke (try the check command by hand)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    insta::assert_snapshot!(end(4, &[("", 10, ScriptedGrade::Breaks(Code::CheckUnavailable))]).await, @"
    complete decided at 50, closed at 50
      verbatim by bob from 2: `calls sort on the list`
      because no answer could be checked: it broke; this is the answer closest to the others, word for word
      seat 1 check_unavailable, 10 ms
      seat 2 check_unavailable, 10 ms
      seat 3 check_unavailable, 10 ms
      seat 4 check_unavailable, 10 ms
      ! check_unavailable: the check has chosen none: no answer could be checked: it broke (try the check command by hand)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_score_is_ignored() {
    let odd = [
        ("loops", 10, ScriptedGrade::Scores(f64::NAN)),
        ("calls sort on", 10, ScriptedGrade::Scores(7.0)),
        ("sorted", 10, ScriptedGrade::Scores(-0.0)),
        ("shrugs", 10, ScriptedGrade::Scores(0.0)),
    ];
    insta::assert_snapshot!(end(4, &odd).await, @"
    complete decided at 50, closed at 50
      selected by cyd from 3: `calls sorted on a list`
      because 4 of 4 answers pass the check; of the 2 with the highest score this one is closest to the others
      seat 1 passes, 10 ms
      seat 2 passes, 10 ms
      seat 3 passes with 0, 10 ms
      seat 4 passes with 0, 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn without_a_check_command_the_closest_answer_is_returned() {
    let panel = [("ada", says(10, TEXTS[0])), ("bob", says(20, TEXTS[1]))];
    insta::assert_snapshot!(scenario(panel).asks(TASK, STRATEGY).run().await.end(), @"
    complete decided at 20, closed at 20
      verbatim by ada from 1: `loops over the list`
      because there is no check command to run the answers through; this is the answer closest to the others, word for word
      ! check_unavailable: the check has chosen none: there is no check command to run the answers through (set `check_command`, name a check command, or name another strategy, such as `best-of-n`)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn equal_answers_are_still_checked() {
    let panel = [("ada", says(10, "8")), ("bob", says(20, "8"))];
    let check_script = check_script(&[("8", 10, ScriptedGrade::Fails)]);
    let result = scenario(panel).asks("How many legs has a spider?", STRATEGY);
    let result = result.with_checker(Arc::new(ScriptedChecker(check_script))).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      verbatim by ada from 1: `8`
      because none of the 2 answers passes the check; this is the answer closest to the others, word for word
      seat 1 does not pass, 10 ms
      seat 2 does not pass, 10 ms
      ! check_failed: the check has chosen none: none of the 2 answers passes the check (find out what the answers lack before you use one, or ask in other words)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn at_most_four_checks_run_at_once_and_none_past_the_deadline() {
    let names = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida", "jon"];
    let panel = names.map(|name| (name, says(10, TEXTS[0])));
    let run = |ms| {
        let check_script = check_script(&[("loops", ms, ScriptedGrade::Passes)]);
        let scenario = scenario(panel.clone()).asks(TASK, STRATEGY).plan(|plan| plan.timers.run_ms = 1_000);
        (scenario.with_checker(Arc::new(ScriptedChecker(Arc::clone(&check_script)))), check_script)
    };
    let (scenario, check_script) = run(100);
    let result = scenario.run().await;
    let outcome = result.run.outcome.expect("it is decided");
    assert_eq!(outcome.reason, "10 of 10 answers pass the check; this one is closest to the others");
    assert_eq!((result.run.decided_ms, check_script.high_water.load(Ordering::SeqCst)), (Some(310), 4));

    let (scenario, check_script) = run(600);
    let result = scenario.run().await;
    let outcome = result.run.outcome.expect("it is decided");
    assert_eq!(outcome.reason, "4 of 10 answers pass the check; this one is closest to the others");
    let late = outcome.checks.iter().filter(|check| check.failure == Some(Code::Timeout)).count();
    assert_eq!((late, outcome.warnings.len(), result.run.decided_ms), (6, 6, Some(1_000)));
    assert_eq!(check_script.begun.load(Ordering::SeqCst), 8, "the last two have no time left to begin in");
    assert_eq!(check_script.in_flight.load(Ordering::SeqCst), 0, "no check outlives its run");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_stops_its_checks() {
    let check_script = check_script(&[("", 10, ScriptedGrade::Hangs)]);
    let result = checked_panel(&four_answers(), &check_script).cancel_at(100).run().await;
    insta::assert_snapshot!(result.end(), @"
    cancelled decided at 100, closed at 100
      none
      because cancelled: the run was cancelled while its answers were checked
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
    ");
    assert_eq!(check_script.begun.load(Ordering::SeqCst), 4);
    assert_eq!(check_script.in_flight.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_check_costs_no_answer() {
    let result =
        checked_panel(&four_answers(), &check_script(&[("", 10, ScriptedGrade::Panics)])).run().await;
    assert_eq!(result.text(), TEXTS[1]);
    assert_eq!(
        result.run.outcome.and_then(|outcome| outcome.unfused).map(|why| why.code),
        Some(Code::Internal)
    );
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_checks_again_and_asks_no_model() {
    let grades = [
        ("loops", 10, ScriptedGrade::Passes),
        ("calls", 10, ScriptedGrade::Fails),
        ("shrugs", 10, ScriptedGrade::Fails),
    ];
    let whole = checked_panel(&four_answers(), &check_script(&grades)).run().await;
    let decided = whole.commits.iter().position(|commit| {
        commit.iter().any(|recorded| crate::transcript::short(&recorded.event) == "decided")
    });
    let before = &whole.commits[..decided.expect("it was decided")];
    let check_script = check_script(&grades);
    let result = checked_panel(&four_answers(), &check_script).after(before).run().await;
    assert_eq!(result.text(), TEXTS[0]);
    assert_eq!(result.asked.len(), 0, "what was paid for was durable before it was checked");
    assert_eq!(check_script.begun.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_continued_run_checks_answers_already_paid_for() {
    let check_script = check_script(&[
        ("loops", 10, ScriptedGrade::Passes),
        ("calls", 10, ScriptedGrade::Fails),
        ("shrugs", 10, ScriptedGrade::Fails),
    ]);
    let replies = || four_answers().into_iter().map(|answer| answer.script());
    let first = scenario(replies()).asks(TASK, "vote").run().await;
    assert_eq!(first.text(), TEXTS[1]);
    let again = scenario(replies()).asks(TASK, "vote").after(&first.commits).reopened(|run| {
        let request = RunRequest { strategy: Some(STRATEGY.to_owned()), ..RunRequest::default() };
        let defaults = Defaults { synthesizers: vec!["fuser".to_owned()], ..defaults() };
        let terms = Terms {
            defaults: &defaults,
            providers: &providers(),
            catalogues: &catalogues(Catalogue::default()),
        };
        let so_far = SoFar { spent: PicoUsd::ZERO, ..run.so_far() };
        Reopening::resolve(&request, &terms, so_far, Vec::new()).expect("the plan is valid")
    });
    let result = again.with_checker(Arc::new(ScriptedChecker(check_script))).run().await;
    assert_eq!((result.text().as_str(), result.asked.len()), (TEXTS[0], 0));
}

#[tokio::test(start_paused = true)]
async fn checking_adds_nothing_to_the_planned_cost() {
    let plan = |strategy| checked_panel(&four_answers(), &check_script(&[])).asks(TASK, strategy).planned();
    let (checked, listed) = (plan(STRATEGY), plan("panel"));
    assert_eq!((checked.steps.len(), &checked.worst_case), (0, &listed.worst_case));
    assert!(plan("best-of-n").worst_case.known_part() > checked.worst_case.known_part());
}

#[tokio::test(start_paused = true)]
async fn stored_checks_hold_no_output_of_the_command() {
    let grades = [
        ("loops", 10, ScriptedGrade::Scores(0.5)),
        ("calls", 10, ScriptedGrade::Fails),
        ("shrugs", 10, ScriptedGrade::Fails),
    ];
    let result = checked_panel(&four_answers(), &check_script(&grades))
        .plan(|plan| plan.store = StoreMode::Metadata)
        .run()
        .await;
    let outcome = result.run.outcome.expect("it is decided");
    let json = serde_json::to_value(&outcome.checks).expect("it is plain data");
    insta::assert_snapshot!(json, @r#"[{"elapsed_ms":10,"passed":true,"score":0.5,"seat":1},{"elapsed_ms":10,"passed":false,"seat":2},{"elapsed_ms":10,"passed":false,"seat":3},{"elapsed_ms":10,"passed":false,"seat":4}]"#);
    let back: Outcome = serde_json::from_value(serde_json::to_value(&outcome).expect("it is plain data"))
        .expect("it reads back");
    assert_eq!(back.checks, outcome.checks);
}

#[test]
fn another_check_command_changes_the_plan_hash() {
    let hash = |strategy: &str, checker: Option<&str>| {
        let defaults = Defaults {
            panel: vec!["ada".to_owned(), "bob".to_owned()],
            checker: checker.map(str::to_owned),
            ..defaults()
        };
        let catalogue = Catalogue::new(["ada", "bob"].map(info).into(), true);
        let terms =
            Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues(catalogue) };
        let request = RunRequest { strategy: Some(strategy.to_owned()), ..RunRequest::prompt(TASK) };
        RunPlan::resolve(request, &terms, identity(1)).expect("the plan is valid").plan_hash
    };
    assert_ne!(hash(STRATEGY, Some("one")), hash(STRATEGY, Some("other")));
    assert_ne!(hash(STRATEGY, Some("one")), hash(STRATEGY, None));
    assert_eq!(hash("vote", Some("one")), hash("vote", Some("other")));
    assert_ne!(hash("auto", Some("one")), hash("auto", None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn names_arrival_order_and_check_time_do_not_affect_the_choice(
        answers in shuffled_answers(TEXTS),
        took in proptest::array::uniform4(1..100_u64),
        tied in any::<bool>(),
    ) {
        let lower = if tied { 0.5 } else { 0.25 };
        let scores = [0.5, lower, lower, 0.125];
        let grades: Vec<_> =
            TEXTS.iter().zip(took).zip(scores).map(|((text, ms), score)| (*text, ms, ScriptedGrade::Scores(score))).collect();
        let result = in_paused_time(checked_panel(&answers, &check_script(&grades)).run());
        prop_assert_eq!(result.text(), if tied { TEXTS[1] } else { TEXTS[0] });
    }
}
