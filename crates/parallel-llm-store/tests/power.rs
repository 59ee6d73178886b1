//! Power failures: whatever the disk kept of later writes, every acknowledged answer is there whole, and nothing is damaged.
//!
//! Tests what SQLite promises on a real database and its write-ahead log, cut and torn in many places.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::place::only_in_a_file;
use crate::support::{CANARY, Fixture, OpenRun as _, connect, plan, run_id, simple};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_store::{CheckDepth, Integrity, RunScope, Store, StoreConfig};

const RUNS: u64 = 6;
/// The number of cuts of each kind. Each opens a database, which takes about twenty milliseconds.
const CUTS: u64 = 24;
/// The bytes that a disk writes completely or not at all.
const SECTOR: usize = 512;
const PAGE: usize = 4_096;
const LONG: Duration = Duration::from_secs(60);

/// The files at the power failure, and the length of the log when the last event of each run was acknowledged.
struct Disk {
    database: Vec<u8>,
    log: Vec<u8>,
    acknowledged: Vec<usize>,
}

fn text(number: u64) -> String {
    format!("answer {number} {}", "with more words ".repeat(number as usize * 40))
}

fn log_of(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// Runs whose answers were acknowledged one after the other, all of them still only in the log.
async fn disk() -> Disk {
    let fixture = Fixture::new().await;
    let mut acknowledged = Vec::new();
    for number in 1..=RUNS {
        let lease = fixture.store.open_run(plan(number, StoreMode::Full)).await;
        for event in simple(&text(number)) {
            fixture.store.append(lease, vec![event]).await.unwrap();
        }
        acknowledged.push(fs::metadata(log_of(&fixture.path())).unwrap().len() as usize);
    }
    let database = fs::read(fixture.path()).unwrap();
    let log = fs::read(log_of(&fixture.path())).unwrap();
    assert!(acknowledged.is_sorted() && acknowledged[RUNS as usize - 1] <= log.len());
    Disk { database, log, acknowledged }
}

/// A pseudo-random number below `below`, the same in every run of the tests.
fn pseudo_random(number: u64, below: usize) -> usize {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 17) as usize % below
}

/// Opens the remaining files and checks that the first `runs` runs are whole and nothing is damaged.
async fn assert_whole(database: &[u8], log: &[u8], runs: usize, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    fs::write(&path, database).unwrap();
    fs::write(log_of(&path), log).unwrap();
    let store =
        Store::open(StoreConfig::new(&path)).await.unwrap_or_else(|failure| panic!("{case}: {failure}"));
    for number in 1..=runs as u64 {
        let stored = store.load(RunScope::All, run_id(number)).await.unwrap();
        let run = stored.unwrap_or_else(|| panic!("{case}: run {number} is gone")).run();
        let expected = format!("{CANARY} {}", text(number));
        assert!(run.closed && run.seats[0].text() == Some(&expected), "{case}: run {number} is not whole");
    }
    let sound = store.check(CheckDepth::Full, LONG).await;
    assert_eq!(sound, Ok(Integrity::Intact), "{case}");
    store.close().await;
}

impl Disk {
    /// The number of runs that were acknowledged before the log had this length.
    fn runs_before(&self, length: usize) -> usize {
        self.acknowledged.iter().filter(|end| **end <= length).count()
    }
}

#[tokio::test]
async fn a_log_that_ends_anywhere_loses_no_answer_that_was_acknowledged() {
    only_in_a_file!("it cuts the power of the file's disk");
    let disk = disk().await;
    let edges = disk.acknowledged.iter().flat_map(|end| [end - 1, *end, end + 1]);
    let cuts = (0..CUTS).map(|number| pseudo_random(number, disk.log.len())).chain(edges).chain([0, 31]);
    for cut in cuts {
        let log = &disk.log[..cut.min(disk.log.len())];
        assert_whole(&disk.database, log, disk.runs_before(cut), &format!("cut at {cut}")).await;
    }
}

#[tokio::test]
async fn a_log_whose_end_was_written_in_part_loses_no_answer_that_was_acknowledged() {
    only_in_a_file!("it cuts the power of the file's disk");
    let disk = disk().await;
    for number in 0..CUTS {
        // Unacknowledged sectors reach the disk in any order, and a missing one may contain anything.
        let durable = disk.acknowledged[pseudo_random(number, disk.acknowledged.len())];
        let mut log = disk.log.clone();
        for (sector, start) in (durable..log.len()).step_by(SECTOR).enumerate() {
            let end = (start + SECTOR).min(log.len());
            match pseudo_random(number * 7_919 + sector as u64, 3) {
                0 => log[start..end].fill(0),
                1 => fill(&mut log, start..end, number),
                _ => {}
            }
        }
        assert_whole(
            &disk.database,
            &log,
            disk.runs_before(durable),
            &format!("torn from {durable}, {number}"),
        )
        .await;
    }
}

fn fill(log: &mut [u8], range: Range<usize>, number: u64) {
    for at in range {
        log[at] = pseudo_random(at as u64 * 31 + number, 256) as u8;
    }
}

#[tokio::test]
async fn a_database_whose_pages_were_written_in_part_is_repaired_from_its_log() {
    only_in_a_file!("it cuts the power of the file's disk");
    let disk = disk().await;
    // The database after a checkpoint has copied the whole log into it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    fs::write(&path, &disk.database).unwrap();
    fs::write(log_of(&path), &disk.log).unwrap();
    let other_connection = connect(&path);
    other_connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    let home = fs::read(&path).unwrap();
    drop(other_connection);
    assert!(home.len() > disk.database.len() && home.len().is_multiple_of(PAGE));
    for number in 0..CUTS {
        let mut database = disk.database.clone();
        database.resize(home.len(), 0);
        for (sector, start) in (0..home.len()).step_by(SECTOR).enumerate() {
            if pseudo_random(number * 104_729 + sector as u64, 2) == 0 {
                database[start..start + SECTOR].copy_from_slice(&home[start..start + SECTOR]);
            }
        }
        assert_whole(&database, &disk.log, RUNS as usize, &format!("brought home in part, {number}")).await;
    }
}
