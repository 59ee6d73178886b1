//! A disk that breaks at any commit: no request is sent after it, received answers are still reported, and the run
//! ends.

use parallel_llm_engine::PicoUsd;
use parallel_llm_engine::run::event::EventPhase;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::port::memory::MemoryJournal;
use parallel_llm_engine::port::{Journal, Lease};
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{
    CallerSlot, Code, Engine, Failure, OutcomeKind, Recorded, Run, RunId, RunPlan, RunStatus, Stop,
};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::ledger::Ledger;

use crate::scenario::{Breakage, RunResult, Scenario, scenario};
use crate::script::{Models, ScriptedCaller, SentCall, after, fails, failure, fuses, says};
use crate::transcript;

fn typical_run() -> Scenario {
    scenario([
        ("ada", says(30, "The moon pulls.")),
        ("bob", fails(10, failure(Code::Upstream).with_status(502))),
        ("bob", says(10, "The sun pulls.")),
        ("cyd", after(40).accepted("gen-3").text("Both do.").end()),
        ("dan", says(60_000, "Late.")),
        ("fuser", fuses(20, "Both do", "All pull.")),
    ])
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_after_the_disk_breaks() {
    let commits = typical_run().run().await.commits.len();
    for breaks_at in 2..=commits {
        let result = typical_run().breaks_at(breaks_at).run().await;
        let lost = result.ledger.iter().position(|line| line.contains("lost: ")).expect("it broke");
        let later = result.ledger[lost..].iter().filter(|line| line.contains(" request ")).count();
        assert_eq!(later, 0, "{breaks_at} of {commits}: {}", result.ledger());
        received_answers_are_reported(&result);
        let outcome = result.run.outcome.as_ref().expect("it is decided");
        let warned = outcome.warnings.iter().filter(|warning| warning.code == Code::Storage);
        let warned =
            warned.filter(|warning| warning.message.starts_with("the run could not be stored")).count();
        assert_eq!(warned, 1, "{breaks_at} of {commits}: the user is warned once");
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_after_the_lease_is_over_and_everything_is_kept() {
    let commits = typical_run().run().await.commits.len();
    for over_at in 2..=commits {
        let result = typical_run().breaks_by(Breakage::LosesLease, over_at).run().await;
        let over = result.ledger.iter().position(|line| line.contains("kept: ")).expect("it is over");
        let later = result.ledger[over..].iter().filter(|line| line.contains(" request ")).count();
        assert_eq!(later, 0, "{over_at} of {commits}: {}", result.ledger());
        received_answers_are_reported(&result);
        assert!(
            result.events().last().is_some_and(|last| last.event.phase() == EventPhase::Closes),
            "nothing is lost"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_if_the_lease_ends_while_its_connection_is_made() {
    let run = scenario([
        ("ada", says(30, "The moon pulls.").connects_in(8_000)),
        ("bob", says(10, "The sun pulls.")),
        ("fuser", fuses(20, "The sun", "All pull.")),
    ]);
    let result = run.breaks_by(Breakage::LosesLease, 2).run().await;
    let asked: Vec<&str> = result.asked.iter().map(|asked| asked.call.model.model.as_str()).collect();
    assert_eq!(asked, ["bob"], "{}", result.ledger());
    insta::assert_snapshot!(result.end(), @"
    partial decided at 8000, closed at 8000
      verbatim by bob from 2: `The sun pulls.`
      because only one answer came, so there was nothing to fuse
      1 ada failed, 1 request 8000 ms, $0.00: storage: the run database was out of reach for longer than the lease of this run, so nothing more is sent for it here (look at the run)
      2 bob answered, 1 request 10 ms, $0.0010
    ");
}

/// Asserts that every answer received is in the final state, and that there is a text if there was any answer.
fn received_answers_are_reported(result: &RunResult) {
    let failing = |asked: &&SentCall| asked.call.model.model == "bob" && asked.call.attempt.number == 1;
    let answered: Vec<_> = result.asked.iter().filter(|asked| !failing(asked)).collect();
    for asked in &answered {
        let seat = result.run.view(asked.call.attempt.slot).expect("the slot is in the plan");
        assert!(seat.answer.is_some(), "{}", result.end());
    }
    let outcome = result.run.outcome.as_ref().expect("it is decided");
    assert_eq!(outcome.kind == OutcomeKind::None, answered.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_stored_does_not_begin() {
    let (refusal, ledger) = typical_run().breaks_at(1).refusal().await;
    assert_eq!((refusal.code, refusal.message.as_str()), (Code::Storage, "the disk is full"));
    assert_eq!(ledger, ["0 lost: started, sent 1, sent 2, sent 3, sent 4"], "nothing has left");
}

#[tokio::test(start_paused = true)]
async fn a_broken_disk_is_reported_to_the_user() {
    insta::assert_snapshot!(typical_run().breaks_at(2).run().await.end(), @"
    partial decided at 45000, closed at 60000
      verbatim by ada from 1: `The moon pulls.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! storage: the synthesizer `fuser` failed: the disk is full (check the free space and the permissions of the data folder)
      ! storage: the run could not be stored: the disk is full (check the free space and the permissions of the data folder)
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob failed, 1 request 10 ms, $0.00: storage: the disk is full
      3 cyd answered, 1 request 40 ms, $0.0010
      4 dan answered late, 1 request 60000 ms, $0.0010
      s1 fuser skipped, 0 requests, $0.00: storage: the disk is full
    ");
    insta::assert_snapshot!(typical_run().breaks_at(7).run().await.end(), @"
    complete decided at 45000, closed at 60000
      verbatim by ada from 1: `The moon pulls.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! storage: the synthesizer `fuser` failed: the disk is full (check the free space and the permissions of the data folder)
      ! storage: the run could not be stored: the disk is full (check the free space and the permissions of the data folder)
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob answered, 2 requests 684 ms, $0.0010
      3 cyd answered, 1 request 40 ms, $0.0010
      4 dan answered late, 1 request 60000 ms, $0.0010
      s1 fuser skipped, 0 requests, $0.00: storage: the disk is full
    ");
}

/// The warnings of a run whose journal breaks in this way at its second commit.
async fn warned(how: Breakage) -> Vec<String> {
    let result = typical_run().breaks_by(how, 2).run().await;
    received_answers_are_reported(&result);
    let outcome = result.run.outcome.as_ref().expect("it is decided");
    outcome.warnings.iter().map(|warning| warning.message.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_panics_or_never_returns_has_failed_and_the_run_ends() {
    insta::assert_snapshot!(warned(Breakage::Panics).await.join("\n"), @"
    the synthesizer `fuser` failed: a defect stopped the journal
    the run could not be stored: a defect stopped the journal
    ");
    insta::assert_snapshot!(warned(Breakage::Hangs).await.join("\n"), @"
    the synthesizer `fuser` failed: the journal did not return within 120 s
    the run could not be stored: the journal did not return within 120 s
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_process_died_is_shown_as_interrupted() {
    let result = typical_run().run().await;
    for commits in 0..result.commits.len() {
        let events = result.commits[..commits].concat();
        let mut run = Run::fold(Arc::clone(&result.plan), &events);
        let (decided, answered) = (run.outcome.is_some(), run.answered());
        run.interrupt();
        assert_eq!(run.status == RunStatus::Interrupted, !decided, "{commits}");
        assert_eq!(run.answered(), answered, "{commits}: an answer stays one");
        let open =
            |seat: &&SeatView| seat.attempts > 0 && seat.retry_at_ms.is_none() && !seat.status.is_final();
        assert_eq!(run.seats.iter().find(open), None, "{commits}: what was sent is not in flight");
    }
    let mut run = Run::fold(Arc::clone(&result.plan), &result.commits[..2].concat());
    run.interrupt();
    insta::assert_snapshot!(transcript::view(&run), @"
    interrupted undecided
      1 ada unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      2 bob waiting, 1 request, $0.00: upstream: scripted upstream
      3 cyd unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      4 dan unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
    ");
}

/// A queue that makes an append durable when the test lets it.
#[derive(Clone)]
struct Queue {
    memory: MemoryJournal,
    /// The appends that it was given, as short words.
    given: Arc<Mutex<Vec<String>>>,
    /// A permit for each append that may become durable.
    permits: Arc<Semaphore>,
}

impl Journal for Queue {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.memory.open(plan)
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.memory.reopen(run_id, seq)
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        let names: Vec<String> = events.iter().map(|recorded| transcript::short(&recorded.event)).collect();
        self.given.lock().expect("no test panics with it").push(names.join(", "));
        let queue = self.clone();
        Box::pin(async move {
            // Permits are given in the order in which they are asked for.
            queue.permits.acquire().await.expect("it is never closed").forget();
            queue.memory.append(lease, events).await
        })
    }

    fn is_queue(&self) -> bool {
        true
    }

    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.memory.check_day(plan, slot, worst_case)
    }

    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.memory.checkpoint(lease, attempt, text)
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_queued_while_the_last_commit_of_its_run_is_under_way() {
    let replies = [("ada", says(10, "one")), ("bob", says(20, "two")), ("cyd", says(400, "three"))];
    let ledger = Ledger::new();
    let models = Models::new(&ledger, &replies, 9);
    let queue = Queue {
        memory: MemoryJournal::default(),
        given: Arc::default(),
        permits: Arc::new(Semaphore::new(1)),
    };
    let engine = Engine::new(Arc::new(ScriptedCaller(models)), Arc::new(queue.clone()));
    let hub = Arc::new(Hub::new(Arc::new(scenario(replies).planned())));
    let underway = engine.open(Arc::clone(&hub), Stop::default()).await.unwrap();
    let look = async {
        sleep(Duration::from_millis(100)).await;
        assert_eq!(
            *queue.given.lock().unwrap(),
            ["started, sent 1, sent 2, sent 3", "answered 1", "answered 2"]
        );
        let answered = hub.with_run(|run| run.seats.iter().filter(|seat| seat.answer.is_some()).count());
        assert_eq!(answered, 0, "nothing is shown before it is durable");
        queue.permits.add_permits(1);
        sleep(Duration::from_millis(100)).await;
        let answered = hub.with_run(|run| run.seats.iter().filter(|seat| seat.answer.is_some()).count());
        assert_eq!(answered, 1, "the first is durable, and the second is not");
        queue.permits.add_permits(9);
    };
    tokio::join!(underway.finish(), look);
    assert_eq!(hub.snapshot().status, RunStatus::Complete);
}
