//! Three servers on one database while one of them is killed or suspended past its lease, or loses the database for a moment
//! or for longer than its lease, or all lose it. A client whose request is lost sends it again, under its key, to another
//! server.
//!
//! After all cycles: each key is one run with one end, every text and status that any client was ever shown is in its record,
//! no run was fused twice, and no request left that the journal does not know. A failing group prints its seed and its cycles.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

use parallel_llm_testkit::simulator::{Answer, Behaviour, Latency, Script};
use parallel_llm_testkit::{Running, Sandbox, each};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::proxy::{Proxy, Way};
use super::{SETTING, fresh, select, transaction};
use crate::http::client::Wire;
use crate::http::program::{serve, structured};
use crate::http::sessions::modern;

/// How many cycles each group of servers goes through; 250 make a thousand.
const CYCLES: &str = "PARALLEL_LLM_TEST_REPLICA_CYCLES";
const CYCLES_DEFAULT: u32 = 13;
/// The same for the faults that last longer than a lease, and the most: half an hour of them.
const LONG_CYCLES_DEFAULT: u32 = 2;
const LONG_CYCLES_MAX: u32 = 50;
/// Groups at once, each with servers and a database of its own: most of a cycle is waiting.
const GROUPS: [u32; 4] = [1, 2, 3, 4];
/// Questions asked in a cycle, all of the server that is then hurt.
const QUESTIONS: u32 = 3;
/// The panel, from quick to slow, and the one who fuses.
const PANEL: [(&str, u64); 3] =
    [("openai/gpt-6.1-sol", 5), ("google/gemini-4-argon", 60), ("x-ai/grok-4.7", 200)];
const SYNTHESIZER: (&str, u64) = ("z-ai/glm-5.3", 60);
/// The longest moment after the questions at which something happens: a whole run takes less.
const MOMENT_MAX_MS: u64 = 450;
/// Within this, a client that asks again has its answer: a lease, a look, and the run, on a busy machine.
const END_MAX: Duration = Duration::from_secs(90);
/// How long a long fault lasts at least, and at most so much longer: more than a lease of 12 s.
const LONG_MIN_MS: u64 = 14_000;
const LONG_SPREAD_MS: u64 = 6_000;
/// How long a server stays suspended: longer than its lease and the look of the others.
const SUSPENDED: Duration = Duration::from_secs(17);

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It is killed, and started again afterwards.
    Kill,
    /// It is suspended past its lease, and wakes.
    Suspend,
    /// Its connections to the database are cut, and for a while it gets no other.
    Cut,
    /// The same for all, as when the database starts again.
    Restart,
    /// Its way to the database fails like this for longer than its lease.
    Lost(Way),
    /// Somebody locks a table, or the rows of all runs, for longer than a lease.
    Locked(&'static str),
    /// Its way to the database is this slow, for longer than its lease.
    Slow(Duration),
}

const FAULTS: [Fault; 4] = [Fault::Kill, Fault::Suspend, Fault::Cut, Fault::Restart];
/// Faults that last longer than a lease, two for each group: a cycle takes half a minute.
const LONG_FAULTS: [[Fault; 2]; 4] = [
    [Fault::Lost(Way::Cut), Fault::Lost(Way::Hole)],
    [Fault::Lost(Way::NoAnswers), Fault::Lost(Way::NoQuestions)],
    [Fault::Locked(TABLE), Fault::Locked(ROWS)],
    [Fault::Slow(Duration::from_millis(500)), Fault::Slow(Duration::from_secs(2))],
];
const TABLE: &str = "LOCK TABLE runs IN ACCESS EXCLUSIVE MODE";
const ROWS: &str = "SELECT run_id FROM runs FOR UPDATE";

/// A server, and its way to the database.
struct Replica<'a> {
    sandbox: &'a Sandbox,
    proxy: Proxy,
    url: String,
    running: Option<Running<'a>>,
    address: SocketAddr,
}

impl<'a> Replica<'a> {
    fn new(sandbox: &'a Sandbox, url: &str) -> Self {
        let (begin, rest) = url.split_once('@').expect("the address has a user");
        let (far, rest) = rest.split_once('/').expect("the address names a database");
        let proxy = Proxy::to(far.parse().expect("the test's server is at an address"));
        let url = format!("{begin}@127.0.0.1:{}/{rest}", proxy.port);
        let (running, address) = start(sandbox, &url);
        Self { sandbox, proxy, url, running: Some(running), address }
    }

    fn running(&self) -> &Running<'a> {
        self.running.as_ref().expect("it runs")
    }

    fn kill(&mut self) {
        let running = self.running.take().expect("it runs");
        running.signal("KILL");
        running.wait();
    }

    fn start(&mut self) {
        let (running, address) = start(self.sandbox, &self.url);
        (self.running, self.address) = (Some(running), address);
    }
}

fn start<'a>(sandbox: &'a Sandbox, url: &str) -> (Running<'a>, SocketAddr) {
    let synthesizer = SYNTHESIZER.0;
    serve(sandbox, &["--no-auth"], &[(SETTING, url), ("files", "off"), ("synthesizer", synthesizer)])
}

/// The result that a server gives; `None` if the request is lost.
fn ask(address: SocketAddr, key: &str) -> Option<Value> {
    let arguments = json!({"prompt": format!("What is {key}?"), "models": PANEL.map(|(model, _)| model),
        "idempotency_key": key});
    let mut wire = Wire::to(address);
    wire.write(modern(address, "process_prompt", &arguments));
    let message = wire.reply()?.try_json().ok()?;
    let result = structured(&message);
    let is_over = ["complete", "partial", "failed"].iter().any(|status| result["status"] == *status);
    is_over.then(|| result.clone())
}

/// Asks until there is a result, as a client does that lost its server.
fn ask_again(replica: (&Sandbox, SocketAddr), key: &str) -> Value {
    let (sandbox, address) = replica;
    let begun = Instant::now();
    while begun.elapsed() < END_MAX {
        if let Some(result) = ask(address, key) {
            return result;
        }
        sandbox.pause(Duration::from_millis(100));
    }
    panic!("{key} has no end after {END_MAX:?}");
}

/// Numbers that look random, and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
fn cycles(usual: u32) -> u32 {
    std::env::var(CYCLES).map_or(usual, |count| count.parse().expect("a number of cycles"))
}

/// One cycle: asks one server, hurts it, asks the others again. Returns what clients were shown, by key.
fn cycle(
    replicas: &mut [Replica<'_>; 3],
    (fault, number): (Fault, u32),
    url: &str,
    chance: &mut Chance,
) -> BTreeMap<String, Vec<Value>> {
    let victim = chance.below(3) as usize;
    let moment = Duration::from_millis(chance.below(MOMENT_MAX_MS));
    let keys: Vec<String> = (0..QUESTIONS).map(|question| format!("k{number}-{question}")).collect();
    let hurt = replicas[victim].address;
    let sandbox = replicas[victim].sandbox;
    let others = (1..3).map(|step| &replicas[(victim + step) % 3]);
    let spared: Vec<_> = others.map(|other| (other.sandbox, other.address)).collect();
    let mut shown = BTreeMap::new();
    thread::scope(|scope| {
        let first: Vec<_> = keys.iter().map(|key| scope.spawn(move || ask(hurt, key))).collect();
        sandbox.pause(moment);
        let suspended = Instant::now();
        let lasting = Duration::from_millis(LONG_MIN_MS + chance.below(LONG_SPREAD_MS));
        match fault {
            Fault::Kill => replicas[victim].kill(),
            Fault::Suspend => replicas[victim].running().signal("STOP"),
            Fault::Cut => replicas[victim].proxy.set(Way::Cut),
            Fault::Restart => replicas.iter().for_each(|replica| replica.proxy.set(Way::Cut)),
            Fault::Lost(way) => replicas[victim].proxy.set(way),
            Fault::Slow(round_trip) => replicas[victim].proxy.set(Way::Slow(round_trip)),
            Fault::Locked(sql) => {
                let url = url.to_owned();
                scope.spawn(move || transaction(&url, sql, lasting));
            }
        }
        if let Fault::Cut | Fault::Restart = fault {
            sandbox.pause(Duration::from_millis(50 + chance.below(1_000)));
            for replica in &*replicas {
                replica.proxy.set(Way::Open);
            }
        }
        if let Fault::Slow(_) = fault {
            // It keeps its runs, so others wait for it, and it would take minutes.
            sandbox.pause(lasting);
            replicas[victim].proxy.set(Way::Open);
        }
        let again = keys.iter().zip(spared.iter().cycle());
        let again: Vec<_> =
            again.map(|(key, replica)| scope.spawn(move || ask_again(*replica, key))).collect();
        let again: Vec<Value> = again.into_iter().map(|one| one.join().expect("it is asked again")).collect();
        match fault {
            Fault::Kill => replicas[victim].start(),
            Fault::Suspend => {
                sandbox.pause(SUSPENDED.saturating_sub(suspended.elapsed()));
                replicas[victim].running().signal("CONT");
            }
            Fault::Lost(_) => {
                sandbox.pause(lasting.saturating_sub(suspended.elapsed()));
                replicas[victim].proxy.set(Way::Open);
            }
            Fault::Cut | Fault::Restart | Fault::Locked(_) | Fault::Slow(_) => {}
        }
        let first = first.into_iter().map(|one| one.join().expect("it is asked"));
        for ((key, first), again) in keys.iter().zip(first).zip(again) {
            shown.insert(key.clone(), first.into_iter().chain([again]).collect());
        }
    });
    shown
}

fn sandbox() -> Sandbox {
    let program = env!("CARGO_BIN_EXE_parallel-llm-mcp");
    let says = |model: &str, ms| {
        let answer = Answer::Fixed(format!("{model} says that it sings, and sings well."));
        Script::behaving(Behaviour { ttft_ms: Latency::of(ms), answer, ..Behaviour::instant() })
    };
    let all = PANEL.into_iter().chain([SYNTHESIZER]);
    all.fold(Sandbox::new(program), |sandbox, (model, ms)| sandbox.scripted(model, says(model, ms)))
}

/// The files below a folder that wait to be taken into the database, or that it did not take.
fn spill_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_spill = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("spill" | "aside" | "damaged"))
    };
    let count = |path: std::path::PathBuf| {
        if path.is_dir() { spill_files(&path) } else { usize::from(is_spill(&path)) }
    };
    entries.map(|entry| count(entry.path())).sum()
}

/// Every text and status that a client was shown under this key is in the record, or the client was told that it is not there
/// yet, and then the text is.
fn check_record(sandbox: &Sandbox, url: &str, key: &str, shown: &[Value]) {
    let stored = select(url, &format!("SELECT run_id FROM runs WHERE idempotency_key = '{key}'"));
    let report = sandbox.call(["runs", "show", "--json", &stored[0][0]]).settings([(SETTING, url)]);
    let report = report.run().json();
    let list = |name: &str| report[name].as_array().into_iter().flatten();
    let texts: Vec<&str> = std::iter::once(&report["answer"])
        .chain(list("earlier").map(|earlier| &earlier["answer"]))
        .chain(list("answers").map(|seat| &seat["text"]))
        .filter_map(Value::as_str)
        .collect();
    for result in shown {
        assert_eq!(result["run_id"], stored[0][0].as_str(), "{key}: {result}");
        if let Some(answer) = result["answer"].as_str() {
            assert!(texts.contains(&answer), "{key}: shown, and not in the record: {result} {report}");
        }
        let warnings = result["warnings"].as_array().into_iter().flatten();
        let was_told = warnings.into_iter().any(|warning| warning["code"] == "spilled");
        let is_so = result["status"] == report["status"];
        // A late answer, or what a lost server held, may have made more of the run since.
        let rank =
            |of: &Value| ["failed", "partial", "complete"].iter().position(|status| of["status"] == *status);
        let is_better = rank(&report) > rank(result);
        assert!(was_told || is_so || is_better, "{key}: {result} {report}");
    }
    let answered = list("answers").filter(|seat| seat["status"] == "answered").count();
    assert_eq!(report["answer"].is_null(), answered == 0, "{key}: a paid answer is returned: {report}");
}

/// All cycles of a group, and what must hold after them.
#[expect(clippy::print_stderr, reason = "a test that fails says where it was")]
fn outlive(seed: u32, faults: &[Fault], cycles: u32) {
    let url = fresh().expect("the caller knows that there is a server");
    let sandboxes: [Sandbox; 3] = std::array::from_fn(|_| sandbox());
    // The tables are there before anything is hurt.
    let listed = sandboxes[0].call(["runs", "list"]).settings([(SETTING, url.as_str())]).run();
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let mut replicas = sandboxes.each_ref().map(|sandbox| Replica::new(sandbox, &url));
    let mut chance = Chance(u64::from(seed));
    let mut shown: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for number in 0..cycles {
        let fault = faults[(number + seed) as usize % faults.len()];
        eprintln!("group {seed}, cycle {number}: {fault:?}");
        shown.extend(cycle(&mut replicas, (fault, number), &url, &mut chance));
    }
    let is_closed = || select(&url, "SELECT COUNT(*) FROM runs WHERE closed_at_ms IS NULL") == [["0"]];
    let is_merged = || sandboxes.iter().all(|sandbox| spill_files(sandbox.home()) == 0);
    sandboxes[0].until("every run has ended", || is_closed() && is_merged());
    for replica in &mut replicas {
        let running = replica.running.take().expect("it runs");
        running.signal("TERM");
        assert_eq!(running.wait().code, Some(0));
    }

    let keys = select(&url, "SELECT COUNT(*), COUNT(DISTINCT idempotency_key) FROM runs");
    let asked = shown.len().to_string();
    assert_eq!(keys, [[asked.clone(), asked]], "each key is one run");
    for (key, shown) in &shown {
        check_record(&sandboxes[0], &url, key, shown);
    }
    let twice = "SELECT run_id FROM calls WHERE place LIKE '%synthesizer%' AND outcome = 'answered' \
                 GROUP BY run_id HAVING COUNT(*) > 1 \
                 UNION ALL SELECT run_id FROM events WHERE body LIKE '{\"event\":\"decided\"%' \
                 GROUP BY run_id HAVING COUNT(*) > 1";
    assert!(select(&url, twice).is_empty(), "a run was fused or decided twice");
    let known = select(&url, "SELECT run_id, model, COUNT(*) FROM calls GROUP BY run_id, model");
    let count = |row: &Vec<String>| row[2].parse::<usize>().expect("a count");
    let known: BTreeMap<_, _> =
        known.iter().map(|row| ((row[0].clone(), row[1].clone()), count(row))).collect();
    let mut left: BTreeMap<(String, String), usize> = BTreeMap::new();
    for chat in sandboxes.iter().flat_map(Sandbox::chats) {
        let word = |name: &str| chat.body[name].as_str().expect("a chat has it").to_owned();
        *left.entry((word("session_id"), word("model"))).or_default() += 1;
    }
    for (call, times) in left {
        let known = known.get(&call).copied().unwrap_or_default();
        assert!(times <= known, "{call:?}: {times} requests left, {known} are known");
    }
    let check = sandboxes[0].call(["store", "check", "--read-data"]).settings([(SETTING, url.as_str())]);
    let check = check.run();
    assert_eq!(check.code, Some(0), "{}", check.transcript());
}

#[test]
fn three_servers_outlive_every_fault_without_loss() {
    if fresh().is_some() {
        each(&GROUPS, |seed| outlive(*seed, &FAULTS, cycles(CYCLES_DEFAULT)));
    }
}

#[test]
fn three_servers_outlive_faults_longer_than_their_lease_without_loss() {
    if fresh().is_some() {
        let groups: Vec<_> = GROUPS.into_iter().zip(LONG_FAULTS).collect();
        each(&groups, |(seed, faults)| {
            outlive(*seed, faults, cycles(LONG_CYCLES_DEFAULT).min(LONG_CYCLES_MAX));
        });
    }
}
