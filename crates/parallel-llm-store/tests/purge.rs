//! Purging many runs: nobody waits for it, it can be abandoned at any time, and the space is freed.

use std::path::Path;
use std::time::Duration;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{
    Fixture, OpenRun as _, closed, connect, every_kind, plan, recorded, run_id, simple, value, write,
};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, RunId};
use parallel_llm_store::{CheckDepth, Integrity, Purged, RunFilter, RunScope, Store, StoreConfig};
use tokio::task::JoinSet;

/// A few kilobytes of words that only this run has.
fn words(number: u64) -> String {
    (0..300).map(|word| format!("falke{number}x{word}")).collect::<Vec<_>>().join(" ")
}

/// A store with this many indexed runs.
async fn filled(runs: u64) -> Fixture {
    let fixture = Fixture::new().await;
    for number in 1..=runs {
        write(&fixture.store, plan(number, StoreMode::Full), simple(&words(number))).await;
    }
    while fixture.store.search(RunScope::All, "falke", 1).await.unwrap().unindexed > 0 {}
    fixture
}

fn ids(numbers: impl Iterator<Item = u64>) -> Vec<RunId> {
    numbers.map(run_id).collect()
}

fn number(path: &Path, sql: &'static str) -> i64 {
    value(&connect(path), sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_written_while_others_are_purged() {
    const WAIT: Duration = Duration::from_secs(2);
    let fixture = filled(150).await;
    // Another process, which competes with the purge for the database.
    let other = Store::open(StoreConfig { wait: WAIT, ..fixture.config() }).await.unwrap();
    let purger = fixture.store.clone();
    let mut purge = JoinSet::new();
    purge.spawn(async move {
        let purged = purger.purge(&ids(1..=150)).await.unwrap();
        (purged, purger.reclaim().await)
    });
    let mut written = 0;
    let (purged, cleared) = loop {
        if let Some(purged) = purge.try_join_next() {
            break purged.unwrap();
        }
        let lease = other.open_run(plan(1_000 + written, StoreMode::Full)).await;
        for recorded in simple("meanwhile") {
            other.append(lease, vec![recorded]).await.unwrap();
        }
        written += 1;
    };
    assert_eq!(purged, Purged { runs: ids(1..=150), under_way: Vec::new() });
    assert_eq!((cleared, other.spills().waiting.len()), (Ok(true), 0));
    let listed = other.list(RunScope::All, RunFilter { limit: 500, ..RunFilter::default() }).await.unwrap();
    assert_eq!(listed.len() as u64, written.min(500), "all that was written is there");
    assert!(fixture.store.commits() > 40, "many small steps, and no large one: {}", fixture.store.commits());
    let sound = fixture.store.check(CheckDepth::Full, Duration::from_secs(60)).await;
    assert_eq!(sound, Ok(Integrity::Intact));
}

#[tokio::test]
async fn an_abandoned_purge_is_continued() {
    let fixture = filled(80).await;
    let place = fixture.place.clone();
    let doomed = ids(1..=80);
    let purge = fixture.store.purge(&doomed);
    assert!(tokio::time::timeout(Duration::from_millis(40), purge).await.is_err(), "it is given up half-way");
    fixture.store.close().await;
    let store = Store::open(place.config()).await.unwrap();
    let left = store.list(RunScope::All, RunFilter { limit: 500, ..RunFilter::default() }).await.unwrap();
    assert!(!left.is_empty() && left.len() <= 80, "{}", left.len());
    for run in &left {
        let stored = store.load(RunScope::All, run.run_id).await.unwrap().unwrap();
        assert!(stored.run().seats[0].text().is_some(), "a run is there whole, or gone");
    }
    assert_eq!(store.check(CheckDepth::Full, Duration::from_secs(60)).await, Ok(Integrity::Intact));
    assert_eq!(store.purge(&doomed).await.unwrap().runs.len(), left.len());
    // Abandoned before the words are overwritten: the next purge overwrites them, even if it removes nothing else.
    store.close().await;
    let store = Store::open(place.config()).await.unwrap();
    assert_eq!(store.purge(&[]).await, Ok(Purged::default()));
    assert_eq!(store.reclaim().await, Ok(true));
    assert!(!place.holds("falke"));
}

#[tokio::test]
async fn the_words_of_a_long_run_are_removed_in_several_steps() {
    only_in_a_file!("it is about the steps in which SQLite's index is written");
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let long = (0..8_000).map(|word| format!("falke{word}")).collect::<Vec<_>>().join(" ");
    let lease = write(store, plan(1, StoreMode::Full), every_kind()[..3].to_vec()).await;
    let mut events = vec![];
    for (number, attempt) in (1..=6).enumerate() {
        events.push(support::answered(support::seat(1, attempt), &format!("{number} {long}")));
    }
    events.push(closed());
    store.append(lease, recorded(4, events)).await.unwrap();
    while store.search(RunScope::All, "falke1", 1).await.unwrap().unindexed > 0 {}
    let before = store.commits();
    assert_eq!(store.purge(&[run_id(1)]).await.unwrap().runs, [run_id(1)]);
    assert!(store.commits() - before >= 6, "{}", store.commits() - before);
    assert_eq!(store.reclaim().await, Ok(true));
    assert!(!fixture.place.holds("falke"));
}

#[tokio::test]
async fn the_file_shrinks_by_what_was_purged() {
    only_in_a_file!("it is about the size of the file; a server keeps freed space for itself");
    let fixture = filled(120).await;
    let before = fixture.store.state().await.unwrap().bytes;
    fixture.store.purge(&ids(1..=110)).await.unwrap();
    assert_eq!(fixture.store.reclaim().await, Ok(true));
    let after = std::fs::metadata(fixture.path()).unwrap().len();
    assert!(after < before * 2 / 5, "{before} to {after} bytes");
    assert_eq!(number(&fixture.path(), "PRAGMA freelist_count"), 0);
    assert_eq!(fixture.store.search(RunScope::All, "falke115x7", 9).await.unwrap().hits.len(), 1);
}

#[tokio::test]
async fn a_file_that_cannot_shrink_uses_its_space_again() {
    only_in_a_file!("it is about a file of an older version");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    // A file created by an older version, of which SQLite frees no page.
    connect(&path).execute_batch(
        "PRAGMA auto_vacuum = NONE; CREATE TABLE old (a); DROP TABLE old; PRAGMA application_id = 1347177549",
    ).unwrap();
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    for number in 1..=40 {
        write(&store, plan(number, StoreMode::Full), simple(&words(number))).await;
    }
    while store.search(RunScope::All, "falke", 1).await.unwrap().unindexed > 0 {}
    store.purge(&ids(1..=40)).await.unwrap();
    assert_eq!(store.reclaim().await, Ok(true));
    let free = number(&path, "PRAGMA freelist_count");
    assert!(free > 25, "{free}");
    for number in 41..=60 {
        write(&store, plan(number, StoreMode::Full), simple(&words(number))).await;
    }
    assert!(number(&path, "PRAGMA freelist_count") < free);
}

/// Another process that purges.
enum OtherPurge {
    File(std::fs::File),
    Server(support::Raw),
}

fn other_purge(fixture: &Fixture) -> OtherPurge {
    if support::place::server().is_some() {
        let connection = fixture.other_connection();
        // 0x504c4c03, as in `src/database/postgres/connection.rs`.
        connection.execute_batch("SELECT pg_advisory_lock(1347177475, hashtext(current_schema()))").unwrap();
        return OtherPurge::Server(connection);
    }
    let file = std::fs::File::create(fixture.path().with_extension("db.purge.lock")).unwrap();
    file.lock().unwrap();
    OtherPurge::File(file)
}

impl OtherPurge {
    fn end(self) {
        match self {
            Self::File(file) => file.unlock().unwrap(),
            Self::Server(connection) => connection.execute_batch("SELECT pg_advisory_unlock_all()").unwrap(),
        }
    }
}

#[tokio::test]
async fn one_process_purges_at_a_time() {
    let fixture = filled(3).await;
    let other = other_purge(&fixture);
    assert_eq!(fixture.store.purge(&[]).await.unwrap_err().code, Code::Busy);
    assert_eq!(fixture.store.purge(&ids(1..=2)).await.unwrap_err().code, Code::Busy);
    assert_eq!(fixture.store.reclaim().await.unwrap_err().code, Code::Busy);
    other.end();
    assert_eq!(fixture.store.purge(&ids(1..=2)).await.unwrap().runs.len(), 2);
    // On a server, the words of a row go with it.
    let is_marked = support::place::server().is_none();
    assert_eq!(fixture.store.state().await.unwrap().has_purged_words, is_marked, "they are only marked yet");
    assert_eq!(fixture.store.reclaim().await, Ok(true));
    assert!(!fixture.store.state().await.unwrap().has_purged_words);
}
