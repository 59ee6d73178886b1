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
    Fixture, OpenRun as _, Place, answered, closed, every_kind, outcome, plan, recorded, run_id, seat, sent,
    simple, started, synthesizer, value, values, write,
};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{BatchId, Code, Event, Failure, Outcome, PicoUsd, RunStatus};
use parallel_llm_store::{
    BatchChange, CheckDepth, Integrity, JobCost, JobEnd, JobRequest, JobResult, NewBatch, NewJob, RunFilter,
    RunScope, SpillState, Store, StoreConfig,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

/// The environment variable that makes a process a child: its database.
const CHILD: &str = "PARALLEL_LLM_STORE_TEST_SERVER_CHILD";
/// A lease that ends within a test, and how often it is extended.
const LEASE: Duration = Duration::from_millis(400);
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// The state of a way to the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    Cut,
    /// Nothing is forwarded, and nothing is closed.
    Silent,
    /// It ends when the server has a commit, before its answer.
    Unconfirmed,
}

/// A way to the server that can be cut or fall silent.
struct Proxy {
    port: u16,
    way: watch::Sender<Way>,
    _task: JoinSet<()>,
}

impl Proxy {
    /// A way to this address.
    async fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (way, state) = watch::channel(Way::Open);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut streams = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let (address, mut state) = (address.clone(), state.clone());
                streams.spawn(async move {
                    if *state.borrow() == Way::Cut {
                        return;
                    }
                    let Ok(mut far) = TcpStream::connect(address).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = state.wait_for(|state| *state != Way::Open) => {}
                    }
                    if *state.borrow() == Way::Unconfirmed {
                        drop(forward_to_a_commit(&mut near, &mut far).await);
                    }
                    let _ = state.wait_for(|state| *state != Way::Silent).await;
                });
            }
        });
        Self { port, way, _task: task }
    }

    /// Ends all connections and takes no more.
    fn cut(&self) {
        self.way.send(Way::Cut).unwrap();
    }

    fn restore(&self) {
        self.way.send(Way::Open).unwrap();
    }

    /// Ends all connections again and again, until these tasks have ended. They last a little longer each time, so that the
    /// tasks end on a slow machine too.
    async fn cut_again_and_again(&self, mut tasks: JoinSet<()>) {
        let (mut pause, mut open) = (0_u64, Duration::from_millis(30));
        while !tasks.is_empty() {
            // A step that shares no factor with a millisecond spreads the cuts over all parts of an exchange.
            pause = (pause * 31 + 7_919) % 40_000;
            tokio::time::sleep(Duration::from_micros(pause)).await;
            self.cut();
            tokio::time::sleep(Duration::from_micros(pause / 4)).await;
            self.restore();
            tokio::time::sleep(open).await;
            open += open / 32;
            while let Some(done) = tasks.try_join_next() {
                done.unwrap();
            }
        }
    }

    fn fall_silent(&self) {
        self.way.send(Way::Silent).unwrap();
    }

    fn confirm_nothing(&self) {
        self.way.send(Way::Unconfirmed).unwrap();
    }
}

/// Forwards both ways until the server has done a commit.
async fn forward_to_a_commit(near: &mut TcpStream, far: &mut TcpStream) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    loop {
        tokio::select! {
            bytes = near.read(&mut asked) => {
                let asked = &asked[..bytes?];
                far.write_all(asked).await?;
                if asked.is_empty() || asked.windows(6).any(|word| word == b"COMMIT") {
                    return far.read(&mut answered).await.map(drop);
                }
            }
            bytes = far.read(&mut answered) => match bytes? {
                0 => return Ok(()),
                bytes => near.write_all(&answered[..bytes]).await?,
            },
        }
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
    let (url, proxy) = proxied(fixture).await;
    (other_machine(fixture, &url).await, proxy)
}

/// A way to the server that can be cut, and the address of the database by it.
async fn proxied(fixture: &Fixture) -> (String, Proxy) {
    let url = fixture.place.url.clone().unwrap();
    let (begin, rest) = url.split_once('@').unwrap();
    let (address, rest) = rest.split_once('/').unwrap();
    let proxy = Proxy::to(address.to_owned()).await;
    (format!("{begin}@127.0.0.1:{}/{rest}", proxy.port), proxy)
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
async fn a_server_that_falls_silent_is_given_up_within_ten_seconds() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let begins = recorded(1, vec![started(), sent(seat(1, 1))]);
    let lease = write(&store, plan(1, StoreMode::Full), begins).await;
    proxy.fall_silent();
    let begun = tokio::time::Instant::now();
    assert_eq!(store.append(lease, recorded(3, vec![answered(seat(1, 1), "sings")])).await, Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(store.spills().waiting.len(), 1);
    proxy.restore();
    eventually(async || store.spills().waiting.is_empty()).await;
}

/// A question that comes while the writer waits already waits no second time.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_comes_while_a_server_is_silent_is_refused_within_ten_seconds() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let begins = recorded(1, vec![started(), sent(seat(1, 1))]);
    let lease = write(&store, plan(1, StoreMode::Full), begins).await;
    proxy.fall_silent();
    let answers = store.append(lease, recorded(3, vec![answered(seat(1, 1), "sings")]));
    let asking = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let begun = tokio::time::Instant::now();
        let lease = store.open_run(plan(2, StoreMode::Full)).await;
        let refused = store.append(lease, simple("words")).await.unwrap_err();
        (refused, begun.elapsed())
    };
    let (answered, (refused, waited)) = tokio::join!(answers, asking);
    assert_eq!(answered, Ok(()));
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    assert!(refused.retryable && refused.message.contains("it did not answer in time"), "{refused:?}");
    proxy.restore();
    eventually(async || store.spills().waiting.is_empty()).await;
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
            let mut events = every_kind().into_iter();
            let first: Vec<_> = events.by_ref().take(1).collect();
            // A beginning may be refused while the connection is cut: nothing was paid, and it is tried again.
            while store.append(lease, first.clone()).await.is_err() {
                store.open_run(plan(number, StoreMode::Full)).await;
            }
            for recorded in events {
                store.append(lease, vec![recorded]).await.unwrap();
            }
        });
    }
    proxy.cut_again_and_again(writers).await;
    eventually(async || store.spills().waiting.is_empty()).await;
    for number in 1..=RUNS {
        let stored = fixture.store.load(RunScope::All, run_id(number)).await.unwrap().unwrap();
        assert_eq!(stored.events, every_kind());
    }
    assert_eq!(store.spills().aside.len(), 0);
    assert_eq!(store.check(CheckDepth::Full, LONG).await, Ok(Integrity::Intact));
}

/// The same while batches are submitted and worked on: each line is there once, and each job ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_at_any_moment_holds_up_no_job_of_a_batch() {
    const JOBS: u64 = 24;
    const BATCHES: u64 = 6;
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let here = LocalSet::new();
    let mut working = JoinSet::new();
    for number in 1..=BATCHES {
        let store = store.clone();
        working.spawn_local_on(
            async move {
                let id = BatchId::from_parts(number, 1);
                let budget = PicoUsd(1_000_000_000_000);
                let new = NewBatch { id, name: "q.jsonl".to_owned(), budget };
                again(async || store.create_batch(new.clone()).await).await;
                for first in (1..=JOBS).step_by(4) {
                    let job = |line| {
                        let request = JobRequest { json: "{}".to_owned(), worst_case: PicoUsd::ZERO };
                        // The last one has the name of the first.
                        NewJob {
                            line,
                            custom_id: Some((line % JOBS).max(1).to_string()),
                            content: Ok(request),
                        }
                    };
                    let jobs: Vec<NewJob> = (first..first + 4).map(job).collect();
                    let taken = again(async || store.add_jobs(id, jobs.clone()).await).await;
                    assert_eq!(taken, if first + 3 == JOBS { vec![JOBS] } else { vec![] });
                }
                again(async || match store.change_batch(id, BatchChange::Begin).await {
                    // It has begun already.
                    Err(failure) if failure.code == Code::Usage => Ok(None),
                    changed => changed,
                })
                .await;
                while !again(async || store.batch(id).await).await.unwrap().is_finished() {
                    for job in again(async || store.claim_jobs(id, 3).await).await.unwrap().jobs {
                        let result = JobResult::Answered { is_partial: false };
                        let end = JobEnd {
                            run_id: None,
                            cost: Some(JobCost { known: PicoUsd(1), ..JobCost::default() }),
                            result,
                            pause: None,
                            worst_case: None,
                        };
                        again(async || match store.settle_job(job.claim, end.clone()).await {
                            // It is ended already.
                            Err(failure) if failure.code == Code::Busy => Ok(()),
                            settled => settled,
                        })
                        .await;
                    }
                }
            },
            &here,
        );
    }
    let worked = here.run_until(proxy.cut_again_and_again(working));
    tokio::time::timeout(4 * LONG, worked).await.unwrap();
    for number in 1..=BATCHES {
        let batch = fixture.store.batch(BatchId::from_parts(number, 1)).await.unwrap().unwrap();
        let counts = (batch.jobs, batch.bad, batch.answered, batch.failed, batch.running);
        assert_eq!(counts, (JOBS, 1, JOBS - 1, 0, 0), "{batch:?}");
        assert_eq!(batch.spent.most(), PicoUsd(1).times(JOBS - 1));
    }
}

/// Asks until the server can be reached.
async fn again<T>(ask: impl AsyncFn() -> Result<T, Failure>) -> T {
    loop {
        match ask().await {
            Err(failure) if failure.retryable => {}
            done => return done.unwrap(),
        }
    }
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
    assert!(failure.message.ends_with("its format is 99, this one knows up to 13"), "{failure:?}");
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
    assert_eq!(fixture.store.append(old, next()).await, Ok(()), "it waits in a file to be merged");
    assert!(!fixture.store.may_send(old));
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
        Ok(()) => println!("\nkept; may send: {}", store.may_send(lease)),
        Err(failure) => println!("\nrefused: {}", failure.message),
    }
    std::future::pending::<()>().await;
}

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent says")]
fn flag() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// A lease that ends within a test, and not while a busy machine commits.
const SHORT_LEASE: Duration = Duration::from_secs(3);

/// A store like [`behind_proxy`] whose leases are short.
async fn with_short_lease(fixture: &Fixture) -> (Store, Proxy) {
    let (url, proxy) = proxied(fixture).await;
    let folder = fixture.folder.path().join("machine");
    let config = StoreConfig::on_server(url.parse().unwrap(), folder);
    (Store::open(StoreConfig { heartbeat: HEARTBEAT, lease: SHORT_LEASE, ..config }).await.unwrap(), proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_take_over_that_the_server_did_not_confirm_keeps_the_run_from_nobody() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), simple("sings")).await;
    let (url, proxy) = proxied(&fixture).await;
    let config = StoreConfig::on_server(url.parse().unwrap(), fixture.folder.path().join("machine"));
    let wait = Duration::from_millis(500);
    let store = Store::open(StoreConfig { heartbeat: HEARTBEAT, wait, ..config }).await.unwrap();
    proxy.confirm_nothing();
    let failure = store.take_over(run_id(1)).await.unwrap_err();
    assert!(failure.retryable, "{failure:?}");
    let connection = fixture.other_connection();
    assert!(value::<i64>(&connection, "SELECT epoch FROM runs") > 1, "the server has given it");
    proxy.restore();
    let closed = "SELECT COUNT(*) FROM runs WHERE closed_at_ms IS NOT NULL";
    eventually(async || value::<i64>(&connection, closed) == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_its_lease_a_machine_sends_nothing_and_what_it_holds_is_merged() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = with_short_lease(&fixture).await;
    let begins = vec![started(), sent(seat(1, 1)), sent(seat(2, 1))];
    let lease = write(&store, plan(1, StoreMode::Full), recorded(1, begins)).await;
    assert!(store.may_send(lease));
    proxy.cut();
    let ends = recorded(4, vec![answered(seat(1, 1), "sings"), sent(synthesizer(1))]);
    // The answer is durable at once. The next request waits for the database, and may not leave once the lease has ended.
    assert_eq!(store.append(lease, ends).await, Ok(()));
    assert!(!store.may_send(lease));
    let unsent = Event::Failed {
        attempt: synthesizer(1),
        failure: Failure::new(Code::Storage, "the lease is over").never_sent(),
        retry: Retry::Never,
        cost: Some(PicoUsd::ZERO),
        elapsed_ms: 0,
    };
    let decided = Event::Decided { outcome: Box::new(outcome()) };
    assert_eq!(store.append(lease, recorded(6, vec![unsent, decided])).await, Ok(()));

    // Another machine goes on with the run, and ends it without that answer.
    let other = &fixture.store;
    let status = async || other.list(RunScope::All, RunFilter::default()).await.unwrap()[0].status;
    eventually(async || status().await == RunStatus::Interrupted).await;
    let taken = other.take_over(run_id(1)).await.unwrap();
    let failed = Box::new(Outcome::none(Failure::new(Code::AllFailed, "no model answered")));
    let end = vec![Event::Decided { outcome: failed }, closed()];
    other.append(taken, recorded(taken.next_seq, end)).await.unwrap();
    proxy.restore();
    tokio::time::timeout(LONG, store.overtaken(lease)).await.unwrap();
    eventually(async || store.spills() == SpillState::default()).await;

    let merged = other.load(RunScope::All, run_id(1)).await.unwrap().unwrap().run();
    assert!(merged.seats[0].text().unwrap().contains("sings"));
    assert_eq!((merged.synthesizers[0].attempts, merged.closed), (0, true), "what never left is no request");
    let current = merged.outcome.unwrap();
    assert_eq!(current.text, outcome().text, "a text stands where there was none");
    assert_eq!(merged.earlier.len(), 1);
    let calls = "SELECT COUNT(*) FROM calls WHERE outcome = 'answered' AND cost_pico_usd = 1000";
    assert_eq!(value::<i64>(&fixture.other_connection(), calls), 1);
    assert_eq!(value::<i64>(&fixture.other_connection(), "SELECT COUNT(*) FROM calls"), 2);
    assert_eq!(other.check(CheckDepth::Full, LONG).await, Ok(Integrity::Intact));
}

/// Its machine had decided it, and the one that took it over ended before it had.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_what_is_merged_has_decided_is_closed() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = with_short_lease(&fixture).await;
    let events = simple("sings");
    let lease = write(&store, plan(1, StoreMode::Full), events[..2].to_vec()).await;
    proxy.cut();
    assert_eq!(store.append(lease, events[2..].to_vec()).await, Ok(()));
    let other = &fixture.store;
    let status = async || other.list(RunScope::All, RunFilter::default()).await.unwrap()[0].status;
    eventually(async || status().await == RunStatus::Interrupted).await;
    let (url, folder) = (fixture.place.url.clone().unwrap(), fixture.folder.path().join("third"));
    let config = StoreConfig::on_server(url.parse().unwrap(), folder);
    let third = StoreConfig { heartbeat: LONG, lease: Duration::from_millis(100), ..config };
    let third = Store::open(third).await.unwrap();
    third.take_over(run_id(1)).await.unwrap();
    drop(third);
    proxy.restore();
    let open = "SELECT COUNT(*) FROM runs WHERE closed_at_ms IS NULL";
    eventually(async || {
        other.close_abandoned().await.unwrap();
        value::<i64>(&fixture.other_connection(), open) == 0
    })
    .await;
    assert!(matches!(status().await, RunStatus::Complete | RunStatus::Partial), "{:?}", status().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_the_database_leaves_when_it_is_back() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = behind_proxy(&fixture).await;
    let lease = write(&store, plan(1, StoreMode::Full), recorded(1, vec![started(), sent(seat(1, 1))])).await;
    proxy.cut();
    let mut appends = JoinSet::new();
    let appending = store.clone();
    let next = vec![answered(seat(1, 1), "sings"), sent(synthesizer(1))];
    appends.spawn(async move { appending.append(lease, recorded(3, next)).await });
    eventually(async || store.spills().waiting.len() == 1).await;
    assert!(appends.try_join_next().is_none(), "the database does not know of it yet");
    proxy.restore();
    assert_eq!(appends.join_next().await.unwrap().unwrap(), Ok(()));
    assert!(store.may_send(lease));
    let calls: i64 = value(&fixture.other_connection(), "SELECT COUNT(*) FROM calls");
    assert_eq!(calls, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_decided_is_closed_by_whoever_finds_it() {
    only_on_a_server!();
    let fixture = Fixture::new().await;
    let (store, proxy) = with_short_lease(&fixture).await;
    let events = simple("sings");
    let (closing, before) = events.split_last().unwrap();
    let lease = write(&store, plan(1, StoreMode::Full), before.to_vec()).await;
    let open = "SELECT COUNT(*) FROM runs WHERE closed_at_ms IS NULL";
    let is_open = async || value::<i64>(&fixture.other_connection(), open) == 1;
    fixture.store.close_abandoned().await.unwrap();
    assert!(is_open().await, "its machine is alive");
    proxy.cut();
    eventually(async || {
        fixture.store.close_abandoned().await.unwrap();
        !is_open().await
    })
    .await;
    let stored = fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().run();
    assert_eq!((stored.closed, stored.cost()), (true, PicoUsd(1_000)));
    // The first machine has nothing to add.
    proxy.restore();
    assert_eq!(store.append(lease, vec![closing.clone()]).await, Ok(()));
    eventually(async || store.spills() == SpillState::default()).await;
    assert_eq!(
        fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().events.len(),
        events.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_holds_the_migrators_lock_ends_the_opening_in_an_error() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let place = Place::fresh(folder.path().join("data/runs.db"));
    let psql = place.connect();
    psql.execute_batch("SELECT pg_advisory_lock(1347177472, hashtext(current_schema()))").unwrap();
    let begun = tokio::time::Instant::now();
    let failure = Store::open(place.config()).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(failure.message.contains("another process is creating or migrating its tables"), "{failure:?}");
    let end = failure.next_step();
    let end = end.split_once("-c \"").and_then(|(_, sql)| sql.split_once('"')).unwrap().0;
    assert_eq!(values::<bool>(&place.connect(), end), [true], "{end}");
    Store::open(place.config()).await.unwrap();
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
    assert!(
        heard("kept").await.ends_with("may send: false"),
        "it waits in a file to be merged, and nothing leaves"
    );
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
    assert_eq!(value::<i64>(&connection, "SELECT format FROM parallel_llm_meta"), 13);
    assert_eq!(store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().events, every_kind());
    assert_eq!(store.batches().await.unwrap(), []);
    let checked = store.check(CheckDepth::Full, LONG).await.unwrap();
    assert_eq!(checked, Integrity::Intact);
}
