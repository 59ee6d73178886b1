//! Opening a store: which files are opened, which are refused, and that a refused file is not changed.

use std::path::Path;
use std::time::Duration;

use crate::support::place::only_in_a_file;
use crate::support::{Fixture, OpenRun as _, connect, every_kind, plan, value, write};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::{CheckDepth, Integrity, RunFilter, RunScope, Store, StoreConfig};
use tokio::task::JoinSet;

/// Opens a file that cannot be a store, and returns the failure.
async fn refusal(path: &Path) -> Failure {
    let failure = Store::open(StoreConfig::new(path)).await.unwrap_err();
    assert_eq!(failure.code, Code::Storage);
    failure
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_first_openings_at_once_all_succeed() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let mut tasks = JoinSet::new();
    for number in 1..=60 {
        let path = folder.path().join("fresh/folder/runs.db");
        tasks.spawn(async move {
            let store = Store::open(StoreConfig::new(path)).await.unwrap();
            write(&store, plan(number, StoreMode::Full), every_kind()).await;
            store.close().await;
        });
    }
    tasks.join_all().await;
    let store = Store::open(StoreConfig::new(folder.path().join("fresh/folder/runs.db"))).await.unwrap();
    assert_eq!(
        store.list(RunScope::All, RunFilter { limit: 99, ..RunFilter::default() }).await.unwrap().len(),
        60
    );
}

#[tokio::test]
async fn opening_an_existing_store_writes_nothing() {
    only_in_a_file!("it is about the file");
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    fixture.store.close().await;
    let before = std::fs::read(fixture.path()).unwrap();
    for _ in 0..5 {
        let store = Store::open(StoreConfig::new(fixture.path())).await.unwrap();
        assert_eq!(store.commits(), 0);
        store.close().await;
    }
    assert_eq!(std::fs::read(fixture.path()).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let long = "This is my shopping list. ".repeat(400);
    for (name, content) in [("short", "hello"), ("long", &*long), ("zeros", &"\0".repeat(8192))] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let failure = refusal(&path).await;
        assert!(failure.message.contains("it is not a database"), "{failure}");
        assert!(failure.message.contains("was not changed"), "{failure}");
        assert_eq!(std::fs::read(&path).unwrap(), content.as_bytes());
    }
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.db");
    let other_connection = connect(&path);
    other_connection.execute_batch("CREATE TABLE notes (text)").unwrap();
    other_connection.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let failure = refusal(&path).await;
    assert_eq!(
        failure.message,
        format!("`{}` is a database of another program, and was not changed", path.display())
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_database_abandoned_at_its_first_write_is_completed() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    // The file that a kill or a full disk leaves at the very first write.
    let begun = connect(&path);
    begun.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").unwrap();
    begun.close().unwrap();
    assert_ne!(std::fs::metadata(&path).unwrap().len(), 0);
    Store::open(StoreConfig::new(&path)).await.unwrap().close().await;
}

#[tokio::test]
async fn a_newer_format_is_left_alone() {
    only_in_a_file!("it is about the file");
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    let newer = connect(&fixture.path());
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    newer.close().unwrap();
    let before = std::fs::read(fixture.path()).unwrap();
    let failure = refusal(&fixture.path()).await;
    let path = fixture.path();
    let expected = format!(
        "a newer version of this program wrote `{}`: its format is 99, this one knows up to 13",
        path.display()
    );
    assert_eq!((failure.message, failure.retryable), (expected, false));
    assert_eq!(failure.next, [Next::Do(Advice::UseNewerProgram)]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_database_that_cannot_be_created_is_named() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.join("runs.db"), folder.path().to_path_buf()] {
        let failure = refusal(&path).await;
        assert!(failure.message.contains("it cannot be reached"), "{failure}");
        assert!(failure.message.contains(&*path.display().to_string()), "{failure}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_folder_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    if std::fs::write(closed.join("probe"), "").is_ok() {
        // The superuser may write anywhere except in the kernel's own folders.
        let failure = refusal(Path::new("/proc/nowhere/runs.db")).await;
        assert!(failure.message.contains("/proc/nowhere/runs.db"), "{failure}");
        return;
    }
    let failure = refusal(&closed.join("runs.db")).await;
    assert!(failure.message.contains("it may not be written"), "{failure}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_only_by_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    only_in_a_file!("it is about the file");
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = fixture.path().parent().unwrap().to_path_buf();
    assert_eq!(mode(&folder), 0o700);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["runs.db", "runs.db-shm", "runs.db-wal", "runs.db.lock"]);
    assert_eq!(files.iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600; 4]);
}

#[tokio::test]
async fn a_database_that_stays_locked_fails_the_append_and_then_works_again() {
    only_in_a_file!("it is about the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let wait = Duration::from_millis(50);
    let store = Store::open(StoreConfig { wait, ..StoreConfig::new(&path) }).await.unwrap();
    let lease = write(&store, plan(1, StoreMode::Full), every_kind()).await;
    let unlucky = store.open_run(plan(2, StoreMode::Full)).await;
    let other_connection = connect(&path);
    other_connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let failure = store.append(unlucky, every_kind()).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.retryable, &*failure.message),
        (
            Code::Storage,
            true,
            "cannot write to the run database: another process keeps it locked: database is locked"
        )
    );
    assert_eq!(
        store.list(RunScope::All, RunFilter::default()).await.unwrap().len(),
        1,
        "readers do not wait"
    );
    other_connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.load(RunScope::All, lease.run_id).await.unwrap().unwrap().events, every_kind());
    write(&store, plan(3, StoreMode::Full), every_kind()).await;
}

#[tokio::test]
async fn a_damaged_page_is_reported_and_not_overwritten() {
    only_in_a_file!("it is about the file");
    let fixture = Fixture::new().await;
    for number in 1..=20 {
        write(&fixture.store, plan(number, StoreMode::Full), every_kind()).await;
    }
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'runs'";
    let page: i64 = value(&fixture.other_connection(), root);
    fixture.store.close().await;
    let mut bytes = std::fs::read(fixture.path()).unwrap();
    let start = 4096 * (page as usize - 1);
    bytes[start..start + 4096].fill(0xa5);
    std::fs::write(fixture.path(), &bytes).unwrap();
    let store = Store::open(StoreConfig::new(fixture.path())).await.unwrap();
    let failure = store.list(RunScope::All, RunFilter::default()).await.unwrap_err();
    assert!(failure.message.contains("it is damaged"), "{failure}");
    let lease = store.open_run(plan(99, StoreMode::Full)).await;
    let failure = store.append(lease, every_kind()).await.unwrap_err();
    assert!(failure.message.contains("it is damaged") && !failure.retryable, "{failure}");
    store.close().await;
    assert_eq!(std::fs::read(fixture.path()).unwrap(), bytes);
}

#[tokio::test]
async fn a_check_ends_when_its_time_is_over() {
    const LONG: Duration = Duration::from_secs(60);
    only_in_a_file!("it fills the file with a statement of SQLite");
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    let state = fixture.store.state().await.unwrap();
    assert_eq!((state.format, state.runs_total()), (13, 1));
    assert!(
        state.bytes > 4096 && state.log_bytes > Some(0) && state.version.starts_with("SQLite 3."),
        "{state:?}"
    );
    for thoroughness in [CheckDepth::Quick, CheckDepth::Full] {
        assert_eq!(fixture.store.check(thoroughness, LONG).await, Ok(Integrity::Intact));
    }
    // Enough rows that checking them takes some time.
    let other_connection = connect(&fixture.path());
    let sql = "PRAGMA foreign_keys = OFF; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
               INSERT INTO texts (run_id, hash, body) SELECT 'x', i, 'text' FROM n";
    other_connection.execute_batch(sql).unwrap();
    let without_time = fixture.store.check(CheckDepth::Full, Duration::ZERO).await;
    assert_eq!(without_time, Ok(Integrity::Unfinished));
    // Readers and the writer are not disturbed.
    write(&fixture.store, plan(2, StoreMode::Full), every_kind()).await;
    assert_eq!(fixture.store.state().await.unwrap().runs_total(), 2);
    assert_eq!(fixture.store.check(CheckDepth::Quick, LONG).await, Ok(Integrity::Intact));
}
