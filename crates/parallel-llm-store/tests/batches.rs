//! Batches: claims, ends, budgets, and what processes that are gone leave.

use std::time::Duration;

use crate::support::{Fixture, run_id, values};
use parallel_llm_engine::{BatchId, Code, Failure, PicoUsd};
use parallel_llm_store::{
    Batch, BatchChange, BatchJob, BatchState, CheckDepth, Claim, ClaimedJob, Integrity, JobCost, JobEnd,
    JobFilter, JobRequest, JobResult, JobState, JobsPage, NewBatch, NewJob, Store,
};

const CENT: PicoUsd = PicoUsd(10_000_000_000);

fn batch_id(number: u64) -> BatchId {
    BatchId::from_parts(number, 1)
}

fn job(line: u64, custom_id: Option<&str>) -> NewJob {
    let request = JobRequest { json: format!("{{\"question\":{line}}}"), worst_case: CENT };
    NewJob { line, custom_id: custom_id.map(str::to_owned), content: Ok(request) }
}

/// A batch of jobs that cost a cent at most each, with a budget of so many cents.
async fn submitted(store: &Store, number: u64, jobs: u64, cents: u64) -> BatchId {
    let id = batch_id(number);
    let new = NewBatch { id, name: "q.jsonl".to_owned(), budget: CENT.times(cents) };
    store.create_batch(new).await.unwrap();
    let jobs = (1..=jobs).map(|line| job(line, None)).collect();
    assert_eq!(store.add_jobs(id, jobs).await.unwrap(), Vec::<u64>::new());
    changed(store, id, BatchChange::Begin).await;
    id
}

async fn changed(store: &Store, id: BatchId, change: BatchChange) -> Batch {
    store.change_batch(id, change).await.unwrap().unwrap()
}

async fn claimed(store: &Store, id: BatchId, limit: usize) -> Vec<ClaimedJob> {
    store.claim_jobs(id, limit).await.unwrap().unwrap().jobs
}

async fn lines(store: &Store, id: BatchId, limit: usize) -> Vec<u64> {
    claimed(store, id, limit).await.iter().map(|job| job.claim.line).collect()
}

const fn known(known: PicoUsd) -> JobCost {
    JobCost { known, unknown_max: PicoUsd::ZERO, unbounded: 0 }
}

fn end(cost: PicoUsd, result: JobResult) -> JobEnd {
    JobEnd { run_id: Some(run_id(7)), cost: Some(known(cost)), result, pause: None, worst_case: None }
}

fn answered(is_partial: bool) -> JobResult {
    JobResult::Answered { is_partial }
}

fn failure(code: Code) -> Failure {
    Failure::new(code, "it says no\u{0}")
}

async fn get(store: &Store, id: BatchId) -> Batch {
    store.batch(id).await.unwrap().unwrap()
}

async fn jobs(store: &Store, id: BatchId, filter: JobFilter) -> Vec<BatchJob> {
    store.batch_jobs(JobsPage { batch_id: id, filter, after_line: 0, limit: 100 }).await.unwrap()
}

/// The sums that the batch keeps are those of its jobs.
async fn check_sums(fixture: &Fixture, id: BatchId) {
    let batch = get(&fixture.store, id).await;
    let all = jobs(&fixture.store, id, JobFilter::All).await;
    let count = |state| all.iter().filter(|job| job.state == state).count() as u64;
    let counted = [batch.jobs, batch.bad, batch.answered, batch.failed, batch.running];
    let expected = [
        all.len() as u64,
        count(JobState::Bad),
        count(JobState::Answered),
        count(JobState::Failed),
        count(JobState::Running),
    ];
    assert_eq!(counted, expected, "{batch:?}");
    assert_eq!(batch.spent.most().0, all.iter().map(|job| job.cost.most().0).sum::<i64>());
    let reserved: Vec<bool> = values(
        &fixture.other_connection(),
        &format!("SELECT is_reserved FROM batch_jobs WHERE batch_id = '{id}'"),
    );
    let reserved = reserved.into_iter().filter(|is_reserved| *is_reserved).count() as u64;
    assert_eq!(batch.reserved, CENT.times(reserved));
}

#[tokio::test]
async fn a_job_that_became_dearer_is_kept_back_for_anew_and_what_it_has_cost_stays() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 1, 4).await;
    let why = || JobResult::PutOff { why: failure(Code::Budget), after_ms: 0 };
    let [first] = &claimed(store, id, 1).await[..] else { panic!("one job") };
    // Half of its cost is a bound.
    let cost = JobCost { known: CENT, unknown_max: CENT, unbounded: 0 };
    store.settle_job(first.claim, JobEnd { cost: Some(cost), ..end(CENT, why()) }).await.unwrap();
    // Two cents of the four are left.
    let left = CENT.times(2);
    for worst_case in [Some(left), None] {
        let [job] = &claimed(store, id, 1).await[..] else { panic!("it fits") };
        let dearer = JobEnd { run_id: None, cost: None, worst_case, ..end(CENT, why()) };
        store.settle_job(job.claim, dearer).await.unwrap();
        let [job] = &claimed(store, id, 1).await[..] else { panic!("it fits still") };
        let batch = get(store, id).await;
        assert_eq!((job.reserved, batch.reserved, batch.spent), (left, left, cost));
        store.settle_job(job.claim, JobEnd { run_id: None, cost: None, ..end(CENT, why()) }).await.unwrap();
    }
    let [job] = &claimed(store, id, 1).await[..] else { panic!("it fits still") };
    let dearer = JobEnd { cost: None, worst_case: Some(CENT.times(3)), ..end(CENT, why()) };
    store.settle_job(job.claim, dearer).await.unwrap();
    assert_eq!(lines(store, id, 1).await, Vec::<u64>::new(), "it fits no more");
    assert_eq!(get(store, id).await.state, BatchState::Paused);
}

#[tokio::test]
async fn no_budget_lets_a_job_follow_whose_cost_and_price_nobody_knows() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 2, 10).await;
    let [first] = &claimed(store, id, 1).await[..] else { panic!("one job") };
    let cost = JobCost { unbounded: 1, ..JobCost::default() };
    let answered = JobResult::Answered { is_partial: false };
    store.settle_job(first.claim, JobEnd { cost: Some(cost), ..end(CENT, answered) }).await.unwrap();
    assert_eq!(lines(store, id, 2).await, Vec::<u64>::new());
    let batch = get(store, id).await;
    let why = batch.pause.map(|why| why.message).unwrap_or_default();
    assert_eq!((batch.state, batch.spent), (BatchState::Paused, cost));
    assert!(why.starts_with("nobody knows what is left of the batch's budget of $0.10"), "{why}");
}

#[tokio::test]
async fn a_job_is_claimed_once_and_ended_once() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 3, 10).await;
    let first = claimed(store, id, 2).await;
    let expected = |line: u64| ClaimedJob {
        claim: Claim { batch_id: id, line, number: 1 },
        request: format!("{{\"question\":{line}}}"),
        run_id: None,
        attempts: 0,
        resend: false,
        reserved: CENT,
        is_bounded: true,
    };
    assert_eq!(first, [expected(1), expected(2)]);
    assert_eq!(lines(store, id, 2).await, [3]);
    assert_eq!(lines(store, id, 2).await, Vec::<u64>::new());
    assert_eq!((get(store, id).await.running, get(store, id).await.workers), (3, 1));
    check_sums(&fixture, id).await;

    let claim = first[0].claim;
    store.settle_job(claim, end(CENT, answered(true))).await.unwrap();
    let again = store.settle_job(claim, end(CENT, answered(false))).await.unwrap_err();
    assert_eq!(again.code, Code::Busy);
    store.settle_job(first[1].claim, end(CENT, JobResult::Failed(failure(Code::AllFailed)))).await.unwrap();
    check_sums(&fixture, id).await;

    let batch = get(store, id).await;
    assert_eq!((batch.answered, batch.partial, batch.failed, batch.open()), (1, 1, 1, 1));
    assert!(batch.settled_at_ms.is_some() && !batch.is_finished());
    let failed = jobs(store, id, JobFilter::Failed).await;
    let expected = BatchJob {
        line: 2,
        custom_id: None,
        state: JobState::Failed,
        run_id: Some(run_id(7)),
        cost: known(CENT),
        failure: Some(failure(Code::AllFailed)),
    };
    assert_eq!(failed, [expected]);
    // An answered question is stored with its run, and here no more.
    let kept = "SELECT line FROM batch_jobs WHERE request IS NOT NULL ORDER BY line";
    assert_eq!(values::<i64>(&fixture.other_connection(), kept), [2, 3]);
}

#[tokio::test]
async fn a_line_that_cannot_be_used_is_kept_with_its_reason() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = batch_id(1);
    let new = NewBatch { id, name: "q.jsonl".to_owned(), budget: CENT };
    assert_eq!(store.create_batch(new.clone()).await.unwrap().state, BatchState::Reading);
    // Told again, because its confirmation was lost, it is the same one.
    assert_eq!(store.create_batch(new.clone()).await.unwrap(), get(store, id).await);
    let other = NewBatch { name: "other.jsonl".to_owned(), ..new };
    assert_eq!(store.create_batch(other).await.unwrap_err().code, Code::Usage);
    let bad = NewJob { line: 2, custom_id: None, content: Err(failure(Code::PromptEmpty)) };
    let taken = store.add_jobs(id, vec![job(1, Some("a")), bad, job(4, Some("a")), job(5, Some("b"))]).await;
    assert_eq!(taken.unwrap(), [4]);
    for _ in 0..2 {
        assert_eq!(store.add_jobs(id, vec![job(6, Some("b"))]).await.unwrap(), [6]);
    }
    assert_eq!(lines(store, id, 9).await, Vec::<u64>::new(), "nothing is asked before the file is read");
    let refused = store.change_batch(id, BatchChange::Resume { budget: None }).await.unwrap_err();
    assert!(refused.message.contains("was not read to the end"), "{refused}");
    changed(store, id, BatchChange::Begin).await;
    assert_eq!(store.add_jobs(id, vec![job(9, None)]).await.unwrap_err().code, Code::Usage);

    let bad = jobs(store, id, JobFilter::Bad).await;
    let reasons: Vec<_> = bad.iter().map(|job| (job.line, job.failure.as_ref().unwrap().code)).collect();
    assert_eq!(reasons, [(2, Code::PromptEmpty), (4, Code::Usage), (6, Code::Usage)]);
    let batch = get(store, id).await;
    assert_eq!((batch.jobs, batch.bad, batch.open()), (5, 3, 2));
    check_sums(&fixture, id).await;
}

#[tokio::test]
async fn no_job_is_claimed_beyond_the_budget() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 9, 3).await;
    let first = claimed(store, id, 9).await;
    assert_eq!(first.len(), 3);
    let claims = store.claim_jobs(id, 9).await.unwrap().unwrap();
    assert_eq!((claims.jobs.len(), claims.batch.state), (0, BatchState::Running), "some are in progress");

    // Two cost less than they might, so there is room for one more.
    let half = PicoUsd(CENT.0 / 2);
    store.settle_job(first[0].claim, end(half, answered(false))).await.unwrap();
    store.settle_job(first[1].claim, end(half, answered(false))).await.unwrap();
    assert_eq!(lines(store, id, 9).await, [4]);
    check_sums(&fixture, id).await;
    for line in [3, 4] {
        let claim = Claim { batch_id: id, line, number: 1 };
        store.settle_job(claim, end(CENT, answered(false))).await.unwrap();
    }
    let claims = store.claim_jobs(id, 9).await.unwrap().unwrap();
    assert_eq!((claims.jobs.len(), claims.batch.state), (0, BatchState::Paused));
    let why = claims.batch.pause.unwrap();
    assert_eq!(why.code, Code::Budget);
    assert!(why.message.contains("has spent $0.030"), "{why}");

    let resumed = changed(store, id, BatchChange::Resume { budget: Some(CENT.times(5)) }).await;
    assert_eq!((resumed.state, resumed.pause, resumed.budget), (BatchState::Running, None, CENT.times(5)));
    assert_eq!(lines(store, id, 9).await, [5, 6]);
    check_sums(&fixture, id).await;
}

#[tokio::test]
async fn a_job_that_is_put_off_waits_and_a_pause_stops_the_batch() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 3, 10).await;
    let first = claimed(store, id, 1).await.remove(0);
    let later = JobResult::PutOff { why: failure(Code::RateLimited), after_ms: 3_600_000 };
    store.settle_job(first.claim, end(CENT, later)).await.unwrap();
    assert_eq!(lines(store, id, 1).await, [2]);

    let why = failure(Code::Credits);
    let result = JobResult::PutOff { why: why.clone(), after_ms: 0 };
    let stop = JobEnd { pause: Some(why.clone()), ..end(PicoUsd::ZERO, result) };
    store.settle_job(Claim { line: 2, ..first.claim }, stop).await.unwrap();
    let batch = get(store, id).await;
    assert_eq!((batch.state, batch.pause.clone(), batch.waiting()), (BatchState::Paused, Some(why), 3));
    assert_eq!(lines(store, id, 9).await, Vec::<u64>::new());
    check_sums(&fixture, id).await;

    changed(store, id, BatchChange::Resume { budget: None }).await;
    let again = claimed(store, id, 9).await;
    let seen: Vec<_> = again.iter().map(|job| (job.claim.line, job.claim.number, job.attempts)).collect();
    assert_eq!(seen, [(2, 2, 0), (3, 1, 0)], "the first one has an hour to wait");
    assert_eq!(again[0].run_id, Some(run_id(7)));
    // What the line that waits has cost so far is not counted twice.
    assert_eq!(get(store, id).await.spent, known(CENT));
    changed(store, id, BatchChange::Pause).await;
    assert_eq!(get(store, id).await.pause, None);
    for job in again {
        store.settle_job(job.claim, end(CENT, answered(false))).await.unwrap();
    }
    check_sums(&fixture, id).await;
}

#[tokio::test]
async fn failed_jobs_are_asked_again_only_if_their_user_says_so() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 2, 10).await;
    for job in claimed(store, id, 2).await {
        store.settle_job(job.claim, end(CENT, JobResult::Failed(failure(Code::AllFailed)))).await.unwrap();
    }
    assert!(get(store, id).await.is_finished());
    assert_eq!(lines(store, id, 9).await, Vec::<u64>::new());
    let batch = changed(store, id, BatchChange::RetryFailed { resend: true, budget: None }).await;
    assert_eq!((batch.state, batch.failed, batch.open()), (BatchState::Running, 0, 2));
    let again = claimed(store, id, 9).await;
    assert!(again.iter().all(|job| job.resend && job.run_id == Some(run_id(7)) && job.claim.number == 2));
    store.settle_job(again[0].claim, end(CENT.times(2), answered(false))).await.unwrap();
    check_sums(&fixture, id).await;

    let cancelled = changed(store, id, BatchChange::Cancel).await;
    assert_eq!(cancelled.state, BatchState::Cancelled);
    let refused = store.change_batch(id, BatchChange::Pause).await.unwrap_err();
    assert!(refused.message.ends_with("is cancelled, for good"), "{refused}");
    // What is in progress still ends.
    store.settle_job(again[1].claim, end(CENT, answered(false))).await.unwrap();
    check_sums(&fixture, id).await;
    assert!(store.delete_batch(id).await.unwrap() && !store.delete_batch(id).await.unwrap());
    assert_eq!(store.batch(id).await.unwrap(), None);
    assert_eq!(store.claim_jobs(id, 1).await.unwrap(), None);
    assert_eq!(values::<i64>(&fixture.other_connection(), "SELECT COUNT(*) FROM batch_jobs"), [0]);
}

#[tokio::test]
async fn the_claims_of_a_process_that_is_gone_are_given_back_and_stay_reserved() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 3, 2).await;
    let mine = claimed(store, id, 1).await.remove(0);
    let lost = claimed(store, id, 1).await.remove(0);
    // As if another machine had claimed it, and were silent since.
    fixture
        .other_connection()
        .execute_batch("UPDATE batch_jobs SET owner = 'elsewhere.1/7/9', lease_until_ms = 1 WHERE line = 2")
        .unwrap();
    store.release_lost_jobs().await.unwrap();
    let batch = get(store, id).await;
    assert_eq!((batch.running, batch.waiting(), batch.reserved), (1, 2, CENT.times(2)));
    check_sums(&fixture, id).await;
    // The budget leaves room for no other job, but its own is reserved.
    let again = claimed(store, id, 9).await;
    assert_eq!(again.iter().map(|job| (job.claim.line, job.claim.number)).collect::<Vec<_>>(), [(2, 2)]);
    let late = store.settle_job(lost.claim, end(CENT, answered(false))).await.unwrap_err();
    assert_eq!(late.code, Code::Busy, "a former claim ends nothing");
    store.settle_job(again[0].claim, end(CENT, answered(false))).await.unwrap();
    store.settle_job(mine.claim, end(CENT, answered(false))).await.unwrap();
    check_sums(&fixture, id).await;
}

#[tokio::test]
async fn a_claim_lives_as_long_as_its_process() {
    let fixture = Fixture::beating(Duration::from_millis(20)).await;
    let store = &fixture.store;
    let id = submitted(store, 1, 1, 9).await;
    claimed(store, id, 1).await;
    let lease = "SELECT lease_until_ms FROM batch_jobs";
    let first: i64 = values(&fixture.other_connection(), lease)[0];
    let is_extended = || values::<i64>(&fixture.other_connection(), lease)[0] > first;
    for _ in 0..500 {
        if is_extended() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(is_extended());
    store.release_lost_jobs().await.unwrap();
    assert_eq!(get(store, id).await.running, 1);
}

#[tokio::test]
async fn the_oldest_batch_with_work_is_the_first() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in [3, 1, 2, 4] {
        submitted(store, number, 1, 9).await;
    }
    let open = async || -> Vec<BatchId> {
        store.open_batches().await.unwrap().iter().map(|batch| batch.id).collect()
    };
    assert_eq!(open().await, [1, 2, 3, 4].map(batch_id));
    changed(store, batch_id(2), BatchChange::Cancel).await;
    let job = claimed(store, batch_id(1), 1).await.remove(0);
    assert_eq!(open().await, [1, 3, 4].map(batch_id), "a claimed job is not done yet");
    store.settle_job(job.claim, end(CENT, answered(false))).await.unwrap();
    assert_eq!(open().await, [3, 4].map(batch_id));
}

#[tokio::test]
async fn a_damaged_question_is_not_asked() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 2, 9).await;
    fixture
        .other_connection()
        .execute_batch("UPDATE batch_jobs SET checksum = checksum + 1 WHERE line = 1")
        .unwrap();
    assert_eq!(lines(store, id, 9).await, [2]);
    let failed = jobs(store, id, JobFilter::Failed).await;
    assert_eq!(failed[0].failure.as_ref().unwrap().code, Code::Damaged);
    check_sums(&fixture, id).await;
    let Integrity::Damaged(found) = store.check(CheckDepth::Full, Duration::from_secs(60)).await.unwrap()
    else {
        panic!()
    };
    let problem = format!("a question of the batch {id} is not what was written");
    assert_eq!((found.problems, found.runs), (vec![problem], vec![]));
}

#[tokio::test]
async fn stores_that_claim_at_once_share_the_jobs() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = submitted(store, 1, 300, 1_000).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(Store::open(fixture.config()).await.unwrap());
    }
    let work = async |store: &Store| {
        let mut done = Vec::new();
        loop {
            let jobs = claimed(store, id, 7).await;
            if jobs.is_empty() {
                return done;
            }
            for job in jobs {
                store.settle_job(job.claim, end(CENT, answered(false))).await.unwrap();
                done.push(job.claim.line);
            }
        }
    };
    let (a, b, c) = tokio::join!(work(&others[0]), work(&others[1]), work(&others[2]));
    let mut all = [a, b, c].concat();
    all.sort_unstable();
    assert_eq!(all, (1..=300).collect::<Vec<u64>>());
    let batch = get(store, id).await;
    assert_eq!((batch.answered, batch.spent, batch.reserved), (300, known(CENT.times(300)), PicoUsd::ZERO));
    assert!(batch.is_finished());
    for other in others {
        other.close().await;
    }
}
