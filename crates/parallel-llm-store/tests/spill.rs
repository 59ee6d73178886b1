//! A database that refuses writes while answers arrive: they are spilled to files, and imported once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and speaks to its parent on stdout"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::support;
use crate::support::place::{Rows, only_in_a_file};
use crate::support::{
    CANARY, OpenRun as _, Place, Query as _, Raw, bytes_of, every_kind, holds, plan, run_id, without_texts,
    write,
};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Recorded, RunStatus};
use parallel_llm_store::{
    CheckDepth, Integrity, RunFilter, RunScope, SpillState, Store, StoreConfig, StoredRun,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Long enough to notice a wait for a lock, and short enough for a test.
const WAIT: Duration = Duration::from_millis(50);
/// The environment variable that makes a process a child: the database to write to.
const CHILD: &str = "PARALLEL_LLM_STORE_SPILL_CHILD";
/// The number of events in the first commit.
const FIRST: usize = 3;

struct Data {
    folder: TempDir,
    place: Place,
}

impl Data {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::fresh(folder.path().join("data/runs.db"));
        Self { folder, place }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data/runs.db")
    }

    fn spill_folder(&self) -> PathBuf {
        self.place.spill_folder()
    }

    /// The second spill folder, used if the folder of the database cannot be written.
    fn other(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    async fn open(&self) -> Store {
        let spill_folders = vec![self.other()];
        Store::open(StoreConfig { wait: WAIT, spill_folders, ..self.place.config() }).await.unwrap()
    }

    /// A store with a run in progress, and the lock that another connection then holds on its database.
    async fn locked(&self, mode: StoreMode) -> (Store, Lease, Raw) {
        let store = self.open().await;
        let lease = write(&store, plan(1, mode), every_kind()[..FIRST].to_vec()).await;
        (store, lease, lock(&self.place))
    }
}

/// Waits until no file is left; several stores may be at it, and one waits only shortly for the other.
async fn merged(store: &Store) {
    let merging = async {
        while counts(store) != [0; 3] {
            tokio::time::sleep(WAIT).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), merging).await.unwrap();
}

/// Puts the files of a run beside the database as an earlier version left them.
fn set_aside(copies: &Path, folder: &Path) {
    for entry in std::fs::read_dir(copies).unwrap() {
        let path = entry.unwrap().path();
        let name = path.with_extension("aside");
        std::fs::copy(&path, folder.join(name.file_name().unwrap())).unwrap();
    }
}

fn lock(place: &Place) -> Raw {
    let other_connection = place.connect();
    other_connection.lock();
    other_connection
}

/// Appends the rest of the run in two commits.
async fn continue_run(store: &Store, lease: Lease) {
    let events = every_kind();
    store.append(lease, events[FIRST..6].to_vec()).await.unwrap();
    store.append(lease, events[6..].to_vec()).await.unwrap();
}

async fn loaded(store: &Store) -> StoredRun {
    store.load(RunScope::All, run_id(1)).await.unwrap().unwrap()
}

fn is_warned(stored: &StoredRun) -> bool {
    stored.run().warnings().iter().any(|warning| warning.code == Code::Spilled)
}

fn counts(store: &Store) -> [usize; 3] {
    let SpillState { waiting, aside, damaged } = store.spills();
    [waiting, aside, damaged].map(|paths| paths.len())
}

/// The events in the database itself, without spilled ones.
fn in_database(place: &Place) -> Rows {
    place.connect().rows("SELECT seq, body FROM events ORDER BY seq")
}

async fn assert_imported(data: &Data, store: &Store, expected: &[Recorded]) {
    let stored = loaded(store).await;
    assert_eq!((&*stored.events, is_warned(&stored), counts(store)), (expected, false, [0; 3]));
    assert_eq!(in_database(&data.place).len(), expected.len());
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert_eq!((listed[0].status, listed[0].is_damaged), (RunStatus::Partial, false));
}

#[tokio::test]
async fn answers_during_a_lock_are_durable_and_imported_once() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    assert_eq!(store.notice(run_id(1)), None);
    continue_run(&store, lease).await;
    let notice = store.notice(run_id(1)).unwrap();
    let expected = format!(
        "the run database does not have a part of this run yet, and takes it in later: it is in a file in `{}`, because \
         this failed: cannot write to the run database: another process keeps it locked",
        data.spill_folder().display()
    );
    assert!(notice.code == Code::Spilled && notice.message.starts_with(&expected), "{notice:?}");
    let unlucky = store.open_run(plan(2, StoreMode::Full)).await;
    assert_eq!(
        store.append(unlucky, every_kind()).await.unwrap_err().code,
        Code::Storage,
        "nothing is paid yet"
    );
    // Every reader sees the whole run, in this process and in another.
    let reader = data.open().await;
    for store in [&store, &reader] {
        let stored = loaded(store).await;
        assert_eq!(
            (stored.events.clone(), is_warned(&stored), stored.interrupted),
            (every_kind(), true, false)
        );
        assert_eq!(counts(store), [2, 0, 0]);
    }
    assert_eq!(in_database(&data.place).len(), FIRST);
    other_connection.execute_batch("ROLLBACK").unwrap();
    // Two stores that open at once, and the one that spilled.
    let (one, other) = tokio::join!(data.open(), data.open());
    for store in [&one, &other, &store, &reader] {
        assert_imported(&data, store, &every_kind()).await;
    }
    write(&store, plan(3, StoreMode::Full), every_kind()).await;
}

#[tokio::test]
async fn the_writer_imports_its_own_files_before_it_continues() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    let events = every_kind();
    store.append(lease, events[FIRST..6].to_vec()).await.unwrap();
    other_connection.execute_batch("ROLLBACK").unwrap();
    store.append(lease, events[6..].to_vec()).await.unwrap();
    assert_imported(&data, &store, &events).await;
}

#[tokio::test]
async fn events_after_a_refused_file_wait_with_it() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    continue_run(&store, lease).await;
    other_connection.execute_batch("ROLLBACK").unwrap();
    other_connection.refuse("INSERT", "events", &format!("NEW.seq = {}", FIRST + 1));
    assert_eq!(counts(&data.open().await), [2, 0, 0], "neither is taken for older than the database");
    other_connection.repair("events");
    let opened = data.open().await;
    merged(&opened).await;
    assert_imported(&data, &opened, &every_kind()).await;
}

#[tokio::test]
async fn a_spill_is_merged_behind_newer_events() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    continue_run(&store, lease).await;
    // The process that continues the run cannot see the file.
    let hidden = data.folder.path().join("hidden");
    std::fs::rename(data.spill_folder(), &hidden).unwrap();
    other_connection.execute_batch("ROLLBACK").unwrap();
    let other = data.open().await;
    let taken = other.take_over(run_id(1)).await.unwrap();
    let newer = support::recorded(4, vec![support::sent(support::seat(2, 2)), support::closed()]);
    other.append(taken, newer).await.unwrap();
    let before = in_database(&data.place);
    let copies = data.folder.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    for entry in std::fs::read_dir(&hidden).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copies.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::rename(&hidden, data.spill_folder()).unwrap();
    let third = data.open().await;
    merged(&third).await;
    let after = in_database(&data.place);
    assert_eq!(after[..before.len()], before, "nothing that is stored changes");
    assert!(
        after[before.len()..].iter().all(|row| row[1].as_ref().unwrap().starts_with(r#"{"event":"merged""#))
    );
    let stored = loaded(&third).await;
    assert!(!is_warned(&stored));
    assert_eq!(third.check(CheckDepth::Full, Duration::from_secs(30)).await, Ok(Integrity::Intact));
    // What an earlier version had set aside is merged as well, and nothing twice.
    set_aside(&copies, &data.spill_folder());
    merged(&data.open().await).await;
    assert_eq!(in_database(&data.place), after);
}

#[tokio::test]
async fn a_damaged_spill_is_set_aside_and_reported() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    continue_run(&store, lease).await;
    store.close().await;
    for path in store.spills().waiting {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    other_connection.execute_batch("ROLLBACK").unwrap();
    let store = data.open().await;
    assert_eq!((counts(&store), loaded(&store).await.events.len()), ([0, 0, 2], FIRST));
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_private_and_keep_no_text_of_a_run_that_keeps_none() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Metadata).await;
    continue_run(&store, lease).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data.spill_folder()), 0o700);
    assert!(store.spills().waiting.iter().all(|path| mode(path) == 0o600));
    assert!(!holds(&bytes_of(&data.spill_folder()), CANARY));
    other_connection.execute_batch("ROLLBACK").unwrap();
    assert_imported(&data, &data.open().await, &without_texts(every_kind())).await;
}

#[tokio::test]
async fn if_one_folder_cannot_be_written_the_next_one_is_used() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    std::fs::create_dir_all(data.spill_folder().parent().unwrap()).unwrap();
    std::fs::write(data.spill_folder(), "in the way").unwrap();
    continue_run(&store, lease).await;
    assert!(store.spills().waiting.iter().all(|path| path.starts_with(data.other())));
    other_connection.execute_batch("ROLLBACK").unwrap();
    assert_imported(&data, &data.open().await, &every_kind()).await;
}

#[tokio::test]
async fn a_purged_run_leaves_no_file() {
    let data = Data::new();
    let (store, lease, other_connection) = data.locked(StoreMode::Full).await;
    continue_run(&store, lease).await;
    for path in store.spills().waiting {
        std::fs::rename(&path, path.with_extension("aside")).unwrap();
    }
    other_connection.execute_batch("ROLLBACK").unwrap();
    let purging = async {
        loop {
            other_connection.execute_batch("UPDATE runs SET owner = '', lease_until_ms = 0").unwrap();
            let purged = store.purge(&[run_id(1)]).await.unwrap().runs;
            // An import that has read a file before it was renamed extends the lease once more.
            if !purged.is_empty() {
                break purged;
            }
        }
    };
    let purged = tokio::time::timeout(Duration::from_secs(30), purging).await.unwrap();
    assert_eq!(purged, [run_id(1)]);
    assert_eq!(counts(&store), [0; 3]);
    assert!(!holds(&bytes_of(&data.spill_folder()), CANARY));
}

#[tokio::test]
async fn one_append_that_cannot_be_written_does_not_harm_the_others() {
    let data = Data::new();
    let store = data.open().await;
    let begin =
        async |number| write(&store, plan(number, StoreMode::Full), every_kind()[..FIRST].to_vec()).await;
    let (one, two, three) = (begin(1).await, begin(2).await, begin(3).await);
    data.place.connect().refuse("UPDATE", "runs", &format!("NEW.run_id = '{}'", run_id(2)));
    for folder in [data.spill_folder(), data.other()] {
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        std::fs::write(folder, "in the way").unwrap();
    }
    let next = || every_kind()[FIRST..6].to_vec();
    let answers =
        tokio::join!(store.append(one, next()), store.append(two, next()), store.append(three, next()));
    assert_eq!((answers.0, answers.2), (Ok(()), Ok(())));
    assert_eq!(answers.1.unwrap_err().code, Code::Storage);
}

#[tokio::test]
async fn a_database_that_was_removed_or_replaced_is_noticed_before_the_next_run() {
    only_in_a_file!("it is about the file");
    for is_replaced in [false, true] {
        let data = Data::new();
        let store = data.open().await;
        let lease = write(&store, plan(1, StoreMode::Full), every_kind()[..FIRST].to_vec()).await;
        std::fs::remove_file(data.path()).unwrap();
        if is_replaced {
            std::fs::write(data.path(), "").unwrap();
        }
        let unlucky = store.open_run(plan(2, StoreMode::Full)).await;
        let failure = store.append(unlucky, every_kind()).await.unwrap_err();
        let expected = format!(
            "`{}` was removed or replaced while this program had it open: what is written now would be lost",
            data.path().display()
        );
        assert_eq!((failure.code, failure.retryable, &*failure.message), (Code::Storage, false, &*expected));
        assert_eq!(
            failure.next_step(),
            "end this program and start it again, or restore the file first if it is missing"
        );
        // The paid answers of a run in progress are kept where they can be found.
        continue_run(&store, lease).await;
        assert_eq!(counts(&store), [2, 0, 0]);
    }
}

/// Begins a run, continues it when the parent says so, and prints what was acknowledged.
#[tokio::test]
#[ignore = "the other process of the test here"]
async fn child() {
    let Some(path) = flag() else { return };
    let store = Store::open(StoreConfig { wait: WAIT, ..Place::of_words(&path).config() }).await.unwrap();
    let lease = write(&store, plan(1, StoreMode::Full), every_kind()[..FIRST].to_vec()).await;
    println!("\nbegun");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    continue_run(&store, lease).await;
    println!("\nspilled");
    std::future::pending::<()>().await;
}

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent says")]
fn flag() -> Option<String> {
    std::env::var(CHILD).ok()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn spilled_events_survive_a_kill() {
    use tokio::io::AsyncWriteExt as _;
    let data = Data::new();
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["spill::child", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, data.place.to_words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = async |word: &str| while lines.next_line().await.unwrap().unwrap() != word {};
    heard("begun").await;
    let other_connection = lock(&data.place);
    child.stdin.as_mut().unwrap().write_all(b"go on\n").await.unwrap();
    heard("spilled").await;
    child.kill().await.unwrap();
    other_connection.execute_batch("ROLLBACK").unwrap();
    assert_imported(&data, &data.open().await, &every_kind()).await;
}
