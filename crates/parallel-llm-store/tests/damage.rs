//! A disk that returns other bytes than were written: damage is reported and never taken for an answer.

use std::path::Path;
use std::time::Duration;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{
    CANARY, Fixture, every_kind, plan, recorded, run_id, seat, sent, simple, started, write,
};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, Failure, RunId, SeatStatus};
use parallel_llm_store::{
    CheckDepth, CostBy, CostQuery, Integrity, RunFilter, RunScope, Store, StoreConfig, StoredRun,
};

const LONG: Duration = Duration::from_secs(60);
/// The number of flipped bits, one at a time, spread over the file.
const FLIPS: usize = 400;

async fn loaded(store: &Store, number: u64) -> StoredRun {
    store.load(RunScope::All, run_id(number)).await.unwrap().unwrap()
}

/// The warnings that a reader of the run gets.
fn warnings(stored: &StoredRun) -> Vec<(Code, String)> {
    stored.run().warnings().into_iter().map(|warning| (warning.code, warning.message)).collect()
}

async fn findings(store: &Store) -> Vec<String> {
    match store.check(CheckDepth::Full, LONG).await.unwrap() {
        Integrity::Damaged(damages) => damages.problems,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_damaged_answer_fails_its_seat_and_the_rest_is_shown() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, plan(1, StoreMode::Full), every_kind()).await;
    fixture.other_connection().execute_batch(&support::replaced_text("half", "hale")).unwrap();
    let stored = loaded(store, 1).await;
    let run = stored.run();
    assert_eq!((run.seats[0].status, run.seats[1].status), (SeatStatus::Answered, SeatStatus::Failed));
    assert_eq!(run.seats[0].text(), Some(&*format!("{CANARY} first")));
    let damaged = Event::Failed {
        attempt: seat(2, 3),
        failure: Failure::new(
            Code::Damaged,
            "the answer of seat 2 does not match its checksum in the run database",
        ),
        retry: parallel_llm_engine::value::retry::Retry::Never,
        cost: Some(parallel_llm_engine::PicoUsd(1_000)),
        elapsed_ms: 34,
    };
    assert_eq!(stored.events[8].event, damaged);
    let warning = "something stored is not what was written: the answer of seat 2 does not match its checksum in the run \
                database";
    assert!(warnings(&stored).contains(&(Code::Damaged, warning.to_owned())), "{:?}", warnings(&stored));
    assert_eq!(findings(store).await, [format!("a text of the run {} is not what was written", run_id(1))]);
}

#[tokio::test]
async fn a_text_longer_than_its_event_says_is_refused_before_it_is_decompressed() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    // Not so long that its indexing would keep the database locked for seconds.
    let bomb = "no end ".repeat(10_000);
    write(store, plan(1, StoreMode::Full), simple(&bomb)).await;
    assert_eq!(loaded(store, 1).await.run().seats[0].status, SeatStatus::Answered);
    let bytes = CANARY.len() + 1 + bomb.len();
    let changed = fixture.other_connection().execute(
        &format!(
            "UPDATE events SET body = REPLACE(body, '\"text_bytes\":{bytes}', '\"text_bytes\":9'), checksum = NULL \
             WHERE body LIKE '%\"text_bytes\":{bytes}%'"
        ),
        &[],
    );
    assert_eq!(changed, Ok(1));
    let run = loaded(store, 1).await;
    assert_eq!((run.run().seats[0].status, run.run().seats[0].text()), (SeatStatus::Failed, None));
    assert!(warnings(&run)[0].1.contains("the answer of seat 1"), "{:?}", warnings(&run));
}

#[tokio::test]
async fn a_trigger_of_somebody_else_is_reported() {
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    assert_eq!(fixture.store.check(CheckDepth::Quick, LONG).await, Ok(Integrity::Intact));
    fixture.other_connection().refuse("INSERT", "events", "NEW.seq = -1");
    let expected = ["it has the trigger `refuse` on `events`, which this program does not make"];
    assert_eq!(findings(&fixture.store).await, expected);
    match fixture.store.check(CheckDepth::Quick, LONG).await.unwrap() {
        Integrity::Damaged(damages) => assert_eq!(damages.problems, expected),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_missing_text_of_an_outcome_is_reported() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, plan(1, StoreMode::Full), every_kind()).await;
    write(store, plan(2, StoreMode::Metadata), every_kind()).await;
    fixture.other_connection().execute_batch(&support::deleted_text("fused")).unwrap();
    let stored = loaded(store, 1).await;
    let outcome = stored.run().outcome.unwrap();
    assert_eq!((outcome.text, outcome.failure.unwrap().code), (None, Code::Damaged));
    assert!(warnings(&stored).iter().any(|(code, _)| *code == Code::Damaged));
    let metadata = loaded(store, 2).await;
    assert!(
        warnings(&metadata).iter().all(|(code, _)| *code != Code::Damaged),
        "nothing was to be kept of it"
    );
}

#[tokio::test]
async fn a_damaged_event_is_left_out_and_its_run_cannot_continue() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let events = vec![started(), sent(seat(1, 1)), support::answered(seat(1, 1), "words")];
    write(store, plan(1, StoreMode::Full), recorded(1, events)).await;
    let sql = "UPDATE events SET body = REPLACE(body, '\"cost\":1000', '\"cost\":1001') WHERE seq = 3";
    fixture.other_connection().execute_batch(sql).unwrap();
    let stored = loaded(store, 1).await;
    assert_eq!(stored.events.len(), 2);
    assert_eq!(warnings(&stored).len(), 1);
    assert!(warnings(&stored)[0].1.contains("event 3 does not match"), "{:?}", warnings(&stored));
    assert_eq!(store.follow(run_id(1), 0).await.unwrap_err().code, Code::Damaged);
    let lease = store.take_over(run_id(1)).await.unwrap();
    let failure = store.append(lease, recorded(4, vec![sent(seat(2, 1))])).await.unwrap_err();
    assert_eq!(failure.code, Code::Damaged);
    assert_eq!(findings(store).await, [format!("an event of the run {} is not what was written", run_id(1))]);
}

#[tokio::test]
async fn a_damaged_cost_status_or_plan_is_reported() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=3 {
        write(store, plan(number, StoreMode::Full), simple("words")).await;
    }
    let damages = [
        (1, "UPDATE runs SET cost_pico_usd = cost_pico_usd + 1 WHERE run_id = "),
        (2, "UPDATE runs SET status = 'partial' WHERE run_id = "),
        (
            3,
            "UPDATE texts SET body = (SELECT body FROM texts WHERE hash = '' ORDER BY run_id LIMIT 1) WHERE hash = '' AND run_id = ",
        ),
    ];
    for (number, sql) in damages {
        let sql = sql.replace("'partial'", "CASE status WHEN 'partial' THEN 'complete' ELSE 'partial' END");
        let sql = format!("{sql}'{}'", run_id(number));
        fixture.other_connection().execute_batch(&sql).unwrap();
        assert_eq!(warnings(&loaded(store, number).await).len(), 1);
    }
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert_eq!(listed.iter().map(|run| run.is_damaged).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(store.take_over(run_id(1)).await.unwrap_err().code, Code::Damaged);
    fixture
        .other_connection()
        .execute_batch("UPDATE calls SET cost_pico_usd = 7 WHERE outcome = 'answered'")
        .unwrap();
    fixture.other_connection().execute_batch("UPDATE seats SET model = 'lab/other' WHERE seat = 2").unwrap();
    let lines = findings(store).await;
    let count = |what: &str| lines.iter().filter(|line| line.starts_with(what)).count();
    let counts = ["the row of", "the plan of", "the cost of a call", "what became of"].map(count);
    assert_eq!(counts, [2, 1, 3, 3], "{lines:#?}");
}

/// Everything shown of a database, or the failure that reports damage.
async fn shown(path: &Path, runs: &[RunId]) -> Result<String, Failure> {
    let store = Store::open(StoreConfig::new(path)).await?;
    let shown = async {
        let listed = store.list(RunScope::All, RunFilter::default()).await?;
        let mut shown = format!("{listed:?}");
        for run_id in runs {
            let stored = store.load(RunScope::All, *run_id).await?;
            shown += &format!("{stored:?}");
        }
        let costs = store.costs(RunScope::All, CostQuery { by: CostBy::Model, since_ms: None }).await?;
        let facts = store.seat_facts(RunScope::All, None).await?;
        Ok(format!("{shown}{costs:?}{facts:?}"))
    };
    let shown: Result<String, Failure> = shown.await;
    let is_reported = |shown: &str| shown.contains("code: Damaged") || shown.contains("is_damaged: true");
    let soundness = store.check(CheckDepth::Full, LONG).await;
    store.close().await;
    match (shown, soundness) {
        (Ok(shown), Ok(Integrity::Intact)) if !is_reported(&shown) => Ok(shown),
        (shown, soundness) => Err(Failure::new(Code::Damaged, format!("{shown:?}, {soundness:?}"))),
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_reported_or_changes_nothing_shown() {
    only_in_a_file!("it flips the bits of the file; a server's pages have checksums of their own");
    let fixture = Fixture::new().await;
    let runs: Vec<RunId> = (1..=4).map(run_id).collect();
    for number in 1..=3 {
        write(&fixture.store, plan(number, StoreMode::Full), simple("words")).await;
    }
    write(&fixture.store, plan(4, StoreMode::Full), every_kind()).await;
    fixture.store.close().await;
    let sound = std::fs::read(fixture.path()).unwrap();
    let expected = shown(&fixture.path(), &runs).await.unwrap();
    let mut reported = 0;
    for flip in 0..FLIPS {
        // A step that shares no factor with the length reaches every page and every bit of a byte.
        let bit = (flip * 8 * sound.len() / FLIPS + flip * 7_919) % (8 * sound.len());
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        std::fs::write(&path, &bytes).unwrap();
        match shown(&path, &runs).await {
            Ok(shown) => assert_eq!(shown, expected, "bit {bit} changed what is shown, and nobody said so"),
            Err(_) => reported += 1,
        }
    }
    assert!(reported > FLIPS / 10, "{reported} of {FLIPS} were reported");
}
