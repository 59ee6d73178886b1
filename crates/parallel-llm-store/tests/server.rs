//! What only a database on a server has: other machines, other programs in it, and a network between.
//!
//! The other processes are this test program, started to run only its test [`child`].
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and speaks to its parent on stdout"
)]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use crate::support::place::only_on_a_server;
use crate::support::{
    Fixture, OpenRun as _, Place, every_kind, plan, recorded, run_id, seat, sent, simple, started, value,
    values, write,
};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, RunStatus};
use parallel_llm_store::{CheckDepth, Integrity, RunFilter, RunScope, Store, StoreConfig};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The environment variable that makes a process a child: its database.
const CHILD: &str = "PARALLEL_LLM_STORE_TEST_SERVER_CHILD";
/// A lease that ends within a test, and how often it is extended.
const LEASE: Duration = Duration::from_millis(400);
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// A way to the server that can be cut.
struct Proxy {
    port: u16,
    is_open: watch::Sender<bool>,
    _task: JoinSet<()>,
}

impl Proxy {
    /// A way to this address.
    async fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_open, opened) = watch::channel(true);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut streams = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (address, mut opened) = (address.clone(), opened.clone());
                streams.spawn(async move {
                    if !*opened.borrow() {
                        return;
                    }
                    let Ok(mut far) = TcpStream::connect(address).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = opened.wait_for(|is_open| !is_open) => {}
                    }
                });
            }
        });
        Self { port, is_open, _task: task }
    }

    /// Ends all connections and takes no more.
    fn cut(&self) {
        self.is_open.send(false).unwrap();
    }

    fn restore(&self) {
        self.is_open.send(true).unwrap();
    }
}

/// A store on another machine, at this address of the same database.
async fn other_machine(fixture: &Fixture, url: &str) -> Store {
    let folder = fixture.folder.path().join("machine");
    Store::open(StoreConfig::on_server(url.parse().unwrap(), folder)).await.unwrap()
}

/// The same with a name for its connections, by which the server knows them.
async fn named_machine(fixture: &Fixture, begin: &str) -> (Store, String) {
    let name = format!("{begin}-{}", std::process::id());
    let url = format!("{}&application_name={name}", fixture.place.url.as_ref().unwrap());
    (other_machine(fixture, &url).await, name)
}

/// A store whose way to the server can be cut, and the way.
async fn behind_proxy(fixture: &Fixture) -> (Store, Proxy) {
    let url = fixture.place.url.clone().unwrap();
    let (begin, rest) = url.split_once('@').unwrap();
    let (address, rest) = rest.split_once('/').unwrap();
    let proxy = Proxy::to(address.to_owned()).await;
    let url = format!("{begin}@127.0.0.1:{}/{rest}", proxy.port);
    (other_machine(fixture, &url).await, proxy)
}

async fn eventually(is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_outlive_a_cut_connection() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let events = every_kind();
    let lease = write(&store, plan(1, StoreMode::Full), events[..3].to_vec()).await;
    proxy.cut();
    store.append(lease, events[3..6].to_vec()).await.unwrap();
    store.append(lease, events[6..9].to_vec()).await.unwrap();
    assert_eq!(store.spills().waiting.len(), 2);
    assert_eq!(store.notice(run_id(1)).unwrap().code, Code::Spilled);
    let failure = store.list(RunScope::All, RunFilter::default()).await.unwrap_err();
    assert!(failure.retryable && failure.message.contains("its server cannot be reached"), "{failure:?}");
    proxy.restore();
    store.append(lease, events[9..].to_vec()).await.unwrap();
    eventually(async || store.spills().waiting.is_empty()).await;
    let stored = fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap();
    assert_eq!(stored.events, events);
    assert_eq!(store.check(CheckDepth::Full, LONG).await, Ok(Integrity::Intact));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_begins_while_the_server_is_away_begins_when_it_is_back() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    proxy.cut();
    let lease = store.open_run(plan(1, StoreMode::Full)).await;
    let mut begins = JoinSet::new();
    let appending = store.clone();
    begins.spawn(async move { appending.append(lease, simple("words")).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(begins.try_join_next().is_none(), "nothing is paid yet, so it waits");
    proxy.restore();
    assert_eq!(begins.join_next().await.unwrap().unwrap(), Ok(()));
    assert!(fixture.store.load(RunScope::All, run_id(1)).await.unwrap().is_some());
}

/// Cuts the connection again and again while runs are written: none is lost, and none is written twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_at_any_moment_loses_and_doubles_nothing() {
    const RUNS: u64 = 12;
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let mut writers = JoinSet::new();
    for number in 1..=RUNS {
        let store = store.clone();
        writers.spawn(async move {
            let lease = store.open_run(plan(number, StoreMode::Full)).await;
            for recorded in every_kind() {
                store.append(lease, vec![recorded]).await.unwrap();
            }
        });
    }
    let mut pause = 0_u64;
    while !writers.is_empty() {
        // A step that shares no factor with a millisecond spreads the cuts over all parts of an exchange.
        pause = (pause * 31 + 7_919) % 40_000;
        tokio::time::sleep(Duration::from_micros(pause)).await;
        proxy.cut();
        tokio::time::sleep(Duration::from_micros(pause / 4)).await;
        proxy.restore();
        tokio::time::sleep(Duration::from_millis(30)).await;
        while let Some(done) = writers.try_join_next() {
            done.unwrap();
        }
    }
    eventually(async || store.spills().waiting.is_empty()).await;
    for number in 1..=RUNS {
        let stored = fixture.store.load(RunScope::All, run_id(number)).await.unwrap().unwrap();
        assert_eq!(stored.events, every_kind());
    }
    assert_eq!(store.spills().aside.len(), 0);
    assert_eq!(store.check(CheckDepth::Full, LONG).await, Ok(Integrity::Intact));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_all_connections_is_met_again() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    // Under a name of their own, so that only the connections of this test are ended.
    let (store, name) = named_machine(&fixture, "restarted").await;
    let lease = write(&store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    assert_eq!(store.list(RunScope::All, RunFilter::default()).await.unwrap().len(), 1);
    // As a restart does.
    let end =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'");
    let ended: Vec<bool> = values(&fixture.other_connection(), &end);
    assert_eq!(ended, [true, true], "that of the writer and that of a reader");
    assert_eq!(store.list(RunScope::All, RunFilter::default()).await.unwrap().len(), 1);
    assert_eq!(store.append(lease, recorded(2, vec![sent(seat(1, 1))])).await, Ok(()));
    assert_eq!(store.spills().waiting.len(), 0, "a connection that ended while nobody used it is replaced");
}

/// A watcher that is told of nothing looks every two seconds, so fifteen changes would take half a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_is_told_of_what_another_machine_writes() {
    const CHANGES: u64 = 15;
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (watcher, name) = named_machine(&fixture, "watching").await;
    let listeners = format!(
        "SELECT pid FROM pg_stat_activity WHERE application_name = '{name}' AND query LIKE 'LISTEN%'"
    );
    let is_listening = async || !values::<i64>(&fixture.other_connection(), &listeners).is_empty();
    let owner = &fixture.store;
    let first = write(owner, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let other = write(owner, plan(2, StoreMode::Full), recorded(1, vec![started()])).await;
    let mut changes = watcher.changes();
    eventually(is_listening).await;
    changes.next(run_id(1), 1).await;
    let mut text = String::new();
    let mut told = async |lease: Lease, seqs: std::ops::Range<u64>| {
        for seq in seqs {
            text.push('x');
            owner.append(other, recorded(seq, vec![sent(seat(1, 1))])).await.unwrap();
            owner.append(lease, recorded(seq, vec![sent(seat(1, 1))])).await.unwrap();
            changes.next(lease.run_id, seq - 1).await;
            owner.checkpoint(lease, seat(1, 1), text.clone()).await.unwrap();
            changes.next(lease.run_id, seq).await;
        }
    };
    tokio::time::timeout(LONG / 2, told(first, 2..2 + CHANGES)).await.unwrap();

    let end = listeners.replacen("SELECT pid", "SELECT pg_terminate_backend(pid)", 1);
    assert_eq!(values::<bool>(&fixture.other_connection(), &end), [true]);
    eventually(async || !is_listening().await).await;
    eventually(is_listening).await;
    tokio::time::timeout(LONG / 2, told(first, 2 + CHANGES..2 + 2 * CHANGES)).await.unwrap();
}

#[tokio::test]
async fn a_newer_format_and_other_peoples_tables_are_left_alone() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let connection = fixture.other_connection();
    connection.execute_batch("UPDATE parallel_llm_meta SET format = 99").unwrap();
    let failure = Store::open(fixture.config()).await.unwrap_err();
    assert!(failure.message.starts_with("a newer version of this program wrote `postgres://"), "{failure:?}");
    assert!(failure.message.ends_with("its format is 99, this one knows up to 10"), "{failure:?}");
    assert_eq!((failure.retryable, &*failure.next_step()), (false, "use the newer program"));
    let format: i64 = value(&connection, "SELECT format FROM parallel_llm_meta");
    assert_eq!(format, 99);

    let theirs = Place::fresh(fixture.folder.path().join("other/runs.db"));
    let connection = theirs.connect();
    connection.execute_batch("CREATE TABLE runs (distance BIGINT); INSERT INTO runs VALUES (42)").unwrap();
    let failure = Store::open(theirs.config()).await.unwrap_err();
    assert!(failure.message.contains("has a table `runs` of another program"), "{failure:?}");
    let tables: Vec<String> =
        values(&connection, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()");
    assert_eq!(tables, ["runs"]);

    let beside = Place::fresh(fixture.folder.path().join("beside/runs.db"));
    beside.connect().execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('x')").unwrap();
    let store = Store::open(beside.config()).await.unwrap();
    write(&store, plan(1, StoreMode::Full), simple("words")).await;
    let notes: i64 = value(&beside.connect(), "SELECT COUNT(*) FROM notes");
    assert_eq!(notes, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_first_openings_at_once_all_succeed() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let place = Arc::new(Place::fresh(folder.path().join("data/runs.db")));
    let mut openings = JoinSet::new();
    for number in 1..=20 {
        let place = Arc::clone(&place);
        openings.spawn(async move {
            let store = Store::open(place.config()).await.unwrap();
            write(&store, plan(number, StoreMode::Full), simple("words")).await;
            store.close().await;
        });
    }
    openings.join_all().await;
    let runs: i64 = value(&place.connect(), "SELECT COUNT(*) FROM runs");
    assert_eq!(runs, 20);
}

#[tokio::test]
async fn a_statement_of_an_old_epoch_writes_nothing() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let other = Store::open(fixture.config()).await.unwrap();
    let old = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let new = other.take_over(run_id(1)).await.unwrap();
    assert_eq!(new.epoch, old.epoch + 1);
    let next = || recorded(2, vec![sent(seat(1, 1))]);
    let refused = fixture.store.append(old, next()).await.unwrap_err();
    assert!(refused.message.contains("has been taken over"), "{refused:?}");
    let refused = fixture.store.checkpoint(old, seat(1, 1), "late words".into()).await.unwrap_err();
    assert!(refused.message.contains("has been taken over"), "{refused:?}");
    assert_eq!(other.append(new, next()).await, Ok(()));
    let events: i64 = value(&fixture.other_connection(), "SELECT COUNT(*) FROM events");
    assert_eq!(events, 2);
}

/// Begins a run, says so, and writes to it again whenever the parent says so.
#[tokio::test]
#[ignore = "the other process of the test here"]
async fn child() {
    let Some(place) = flag() else { return };
    let config = StoreConfig { heartbeat: HEARTBEAT, lease: LEASE, ..Place::of_words(&place).config() };
    let store = Store::open(config).await.unwrap();
    let lease = write(&store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    println!("\nbegun");
    let line = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    line.await.unwrap().unwrap();
    match store.append(lease, recorded(2, vec![sent(seat(1, 1))])).await {
        Ok(()) => println!("\nwritten"),
        Err(failure) => println!("\nrefused: {}", failure.message),
    }
    std::future::pending::<()>().await;
}

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent says")]
fn flag() -> Option<String> {
    std::env::var(CHILD).ok()
}

#[cfg(unix)]
#[tokio::test]
async fn a_suspended_owner_loses_its_run_and_its_late_write_is_refused() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["server::child", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, fixture.place.to_words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = async |word: &str| loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if line.starts_with(word) {
            break line;
        }
    };
    heard("begun").await;
    // It extends its lease: nobody else gets the run.
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(fixture.store.take_over(run_id(1)).await.unwrap_err().code, Code::Busy);
    let pid = child.id().unwrap().to_string();
    let signal = |name: &str| {
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    signal("-STOP");
    let status = async || fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap()[0].status;
    eventually(async || status().await == RunStatus::Interrupted).await;
    let taken = fixture.store.take_over(run_id(1)).await.unwrap();
    assert_eq!((taken.epoch, taken.next_seq), (2, 2));
    child.stdin.as_mut().unwrap().write_all(b"go on\n").await.unwrap();
    signal("-CONT");
    assert!(heard("refused").await.contains("has been taken over"));
    assert_eq!(fixture.store.append(taken, recorded(2, vec![sent(seat(2, 1))])).await, Ok(()));
    let owners: i64 = value(&fixture.other_connection(), "SELECT epoch FROM runs");
    assert_eq!(owners, 2, "a late heartbeat changes nothing either");
}

#[tokio::test]
async fn a_text_with_a_zero_byte_is_kept() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let question = crate::support::changed(plan(1, StoreMode::Full), |plan| {
        plan.messages =
            vec![parallel_llm_engine::Message::text(parallel_llm_engine::Role::User, "a\0b".to_owned())]
                .into();
        plan.idempotency_key = Some("k\0".into());
    });
    let events = simple("zero \0 byte");
    let lease = fixture.store.open_run(question).await;
    fixture.store.append(lease, events[..3].to_vec()).await.unwrap();
    fixture.store.checkpoint(lease, seat(1, 1), "so \0 far".into()).await.unwrap();
    fixture.store.append(lease, events[3..].to_vec()).await.unwrap();
    let stored = fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap();
    assert_eq!(stored.events, events);
    assert_eq!(fixture.store.check(CheckDepth::Full, LONG).await, Ok(Integrity::Intact));
}

#[tokio::test]
async fn a_backup_is_left_to_the_server() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let failure = fixture.store.back_up(&fixture.folder.path().join("backup")).await.unwrap_err();
    assert!(failure.next_step().contains("pg_dump"), "{failure:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let url = "postgres://runs:s3cret@127.0.0.1:1/runs".parse().unwrap();
    let config =
        StoreConfig { wait: Duration::from_millis(500), ..StoreConfig::on_server(url, folder.path()) };
    let failure = Store::open(config).await.unwrap_err();
    assert!(failure.message.starts_with("cannot open the run database `postgres://runs@127.0.0.1:1/runs`"));
    assert!(failure.retryable && !format!("{failure:?}").contains("s3cret"), "{failure:?}");
}

#[tokio::test]
async fn a_database_of_the_first_format_is_migrated_with_what_is_in_it() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    fixture.store.close().await;
    let connection = fixture.other_connection();
    let earlier = "DROP TABLE sessions; DROP TABLE form_key; DROP TABLE batch_jobs; DROP TABLE batches; UPDATE parallel_llm_meta SET format = 7; \
                   ALTER TABLE events ALTER COLUMN checksum SET NOT NULL; ALTER TABLE runs DROP COLUMN cancel_epoch";
    connection.execute_batch(earlier).unwrap();
    let store = Store::open(fixture.config()).await.unwrap();
    assert_eq!(value::<i64>(&connection, "SELECT format FROM parallel_llm_meta"), 10);
    assert_eq!(store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().events, every_kind());
    assert_eq!(store.batches().await.unwrap(), []);
    let checked = store.check(CheckDepth::Full, LONG).await.unwrap();
    assert_eq!(checked, Integrity::Intact);
}
