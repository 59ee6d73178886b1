//! Machines that keep their runs on one PostgreSQL server. The stage `postgres` names the server; without one there is nothing
//! to test here.

mod faults;
mod proxy;

use std::sync::atomic::{AtomicU32, Ordering};

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Call, Output, Sandbox};
use serde_json::{Value, json};
use tokio_postgres::{NoTls, SimpleQueryMessage, SimpleQueryRow};

use crate::http::program::serve;
use crate::tasks::Modern;

/// The address of a database whose schemas are the tests' to make.
const SERVER: &str = "PARALLEL_LLM_TEST_DATABASE_URL";
/// The setting that names it to the program.
pub(crate) const SETTING: &str = "database_url";
const ONE: &str = "openai/gpt-6.1-sol";
const HANGING: &str = "deepseek/deepseek-v4-pro-0813";

/// A machine of its own, whose runs are on this server.
struct Machine {
    sandbox: Sandbox,
    url: String,
}

impl Machine {
    fn call(&self, arguments: &[&str]) -> Call<'_> {
        self.sandbox.call(arguments).settings([(SETTING, self.url.as_str())])
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.call(&["ask", "--json", "-m", ONE]).args(arguments).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.json()
    }
}

/// Two machines with one database that nobody has used; `None` without a server. For the first one a model hangs.
fn machines() -> Option<[Machine; 2]> {
    let url = fresh()?;
    let machine = |script| {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
            .scripted(ONE, Script::answering("A canary sings."))
            .scripted(HANGING, script);
        Machine { sandbox, url: url.clone() }
    };
    Some([machine(Script::fault(Fault::Stall)), machine(Script::answering("The mute swan."))])
}

/// The address of a fresh schema.
#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
pub(crate) fn fresh() -> Option<String> {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let base = std::env::var(SERVER).ok()?;
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    let begun = std::time::UNIX_EPOCH.elapsed().expect("it is after 1970").as_micros();
    let schema = format!("p{}_{number}_{begun}", std::process::id());
    select(&base, &format!("CREATE SCHEMA {schema}"));
    let separator = if base.contains('?') { '&' } else { '?' };
    Some(format!("{base}{separator}options=-csearch_path%3D{schema}"))
}

/// Executes a statement, and keeps its transaction open for so long.
pub(crate) fn transaction(url: &str, sql: &str, lasting: std::time::Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
        let locking = async {
            client.batch_execute(&format!("BEGIN; {sql}")).await.expect("the statement is right");
            tokio::time::sleep(lasting).await;
            client.batch_execute("COMMIT").await.expect("it holds locks");
        };
        tokio::select! {
            () = locking => {}
            ended = connection => panic!("the connection has ended: {ended:?}"),
        }
    });
}

/// The rows of a statement as text.
pub(crate) fn select(url: &str, sql: &str) -> Vec<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
        let answer = tokio::select! {
            answer = client.simple_query(sql) => answer.expect("the statement is right"),
            ended = connection => panic!("the connection has ended: {ended:?}"),
        };
        let text = |row: SimpleQueryRow| {
            (0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect()
        };
        let rows = answer.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(text(row)),
            _ => None,
        });
        rows.collect()
    })
}

fn run_id(report: &Value) -> &str {
    report["run_id"].as_str().expect("a report names its run")
}

#[test]
fn a_run_of_one_machine_is_that_of_the_other() {
    let Some([one, other]) = machines() else { return };
    let asked = one.ask(&["--idempotency-key", "k1", "Which bird sings?"]);
    let id = run_id(&asked);

    let listed = other.call(&["runs", "list", "--json"]).run();
    assert_eq!(listed.json()["run_id"], id, "{}", listed.stderr);
    let shown = other.call(&["runs", "show", "--json", id]).run().json();
    assert_eq!((&shown["answer"], &shown["status"]), (&asked["answer"], &asked["status"]));
    let found = other.call(&["runs", "search", "canary"]).run();
    assert!(found.text().contains(id), "{}", found.stderr);

    // The key holds on both, and nothing is asked again.
    let again = other.ask(&["--idempotency-key", "k1", "Which bird sings?"]);
    assert_eq!((run_id(&again), other.sandbox.chats().len()), (id, 0));

    // A conversation goes on from anywhere.
    let continued = other.ask(&["-c", "And which does not?"]);
    assert_eq!(continued["continues"], id);
    assert_eq!(other.sandbox.asked(ONE), 1);
}

#[test]
fn a_run_that_one_machine_does_is_live_on_the_other() {
    let Some([one, other]) = machines() else { return };
    let running = one.call(&["ask", "-m", ONE, "-m", HANGING, "Still there?"]).start();
    let shown = || other.call(&["runs", "show", "--json", "@"]).run();
    let answered = |report: &Value| report["answers"][0]["status"] == "answered";
    one.sandbox.until("the first seat has answered", || {
        let output = shown();
        output.code == Some(0) && answered(&output.json())
    });
    let report = shown().json();
    assert_eq!((&report["status"], &report["answers"][1]["status"]), (&"running".into(), &"waiting".into()));

    // It is not the other's to continue while its owner is alive.
    let refused = other.call(&["runs", "resume", "@"]).run();
    assert!(refused.stderr.contains("busy"), "{}", refused.stderr);
    running.signal("KILL");
    running.wait();
    one.sandbox.until("its lease has ended", || shown().json()["status"] == "interrupted");
    let resumed = other.call(&["runs", "resume", "--resend", "--json", "@"]).run();
    assert_eq!(
        (resumed.code, &resumed.json()["status"]),
        (Some(0), &"complete".into()),
        "{}",
        resumed.stderr
    );
    let asked = [ONE, HANGING].map(|model| other.sandbox.asked(model));
    assert_eq!(asked, [0, 1], "what was answered is not asked again");
}

#[test]
fn a_server_continues_a_run_whose_machine_is_gone() {
    let Some([one, other]) = machines() else { return };
    let running = one.call(&["ask", "-m", ONE, "-m", HANGING, "Still there?"]).start();
    one.sandbox.until("both are asked, and one has answered", || {
        let output = other.call(&["runs", "show", "--json", "@"]).run();
        output.code == Some(0) && output.json()["answers"][0]["status"] == "answered"
    });
    let (server, _) = serve(&other.sandbox, &["--no-auth"], &[(SETTING, &other.url)]);
    let watching = other.call(&["runs", "wait", "@"]).start();
    other.sandbox.until("it watches", || !watching.stderr_so_far().is_empty());
    running.signal("KILL");
    running.wait();

    // Whoever watches from elsewhere sees it go on.
    let watched = watching.wait();
    assert!(watched.text().contains("A canary sings."), "{}", watched.stderr);
    let report = other.call(&["runs", "show", "--json", "@"]).run().json();
    assert_eq!(report["status"], "partial");
    let seats = report["answers"].as_array().expect("a list").iter().map(|seat| &seat["status"]);
    assert_eq!(seats.collect::<Vec<_>>(), ["answered", "unknown"]);
    // What was answered is not asked again, nor what may be paid.
    assert_eq!(other.sandbox.chats().len(), 0);
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn a_server_does_not_continue_a_run_that_was_given_up() {
    let Some([one, other]) = machines() else { return };
    let database = [("PARALLEL_LLM_DATABASE_URL", one.url.as_str())];
    let mut doing = Modern::with_tasks(&one.sandbox, &database);
    let [given_up, wanted] = ["Still there?", "And now?"]
        .map(|prompt| doing.task("process_prompt", json!({"prompt": prompt, "models": [ONE, HANGING]})));
    one.sandbox.until("all are asked", || {
        (one.sandbox.asked(ONE), one.sandbox.simulator().stats().in_flight) == (2, 2)
    });
    let shown = |run: &str| other.call(&["runs", "show", "--json", run]).run().json();
    one.sandbox.until("the answers are stored", || {
        [&given_up, &wanted].iter().all(|run| shown(run)["answers"][0]["status"] == "answered")
    });
    doing.client.child.kill().expect("it runs");
    let mut another = Modern::with_tasks(&other.sandbox, &database);
    let acknowledged = another.request("tasks/cancel", json!({"taskId": given_up}));
    assert_eq!(acknowledged["result"]["resultType"], "complete", "{acknowledged}");
    let (server, _) = serve(&other.sandbox, &["--no-auth"], &[(SETTING, &other.url)]);
    let status = |run: &str| shown(run)["status"].clone();
    other.sandbox.until("the other run has gone on", || status(&wanted) == "partial");
    assert_eq!(status(&given_up), "interrupted");
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(0));
}

#[test]
fn the_password_is_shown_nowhere_and_each_command_says_what_a_server_cannot_do() {
    let Some([one, _]) = machines() else { return };
    let secret = "s3cr3t";
    let with_password = one.url.replacen("postgres@", &format!("postgres:{secret}@"), 1);
    let call = |arguments: &[&str]| {
        let output = one.sandbox.call(arguments).settings([(SETTING, with_password.as_str())]).run();
        let said = format!("{}{}", output.text(), output.stderr);
        assert!(!said.contains(secret), "{arguments:?}: {said}");
        (output.code, said)
    };
    assert_eq!(call(&["ask", "-m", ONE, "Which bird sings?"]).0, Some(0));
    assert!(call(&["config", "show"]).1.contains("postgres@127.0.0.1"));
    let (_, examined) = call(&["doctor", "--all"]);
    assert!(examined.contains("it is on the server postgres://postgres@127.0.0.1"), "{examined}");
    assert!(examined.contains("PostgreSQL 1"), "{examined}");
    assert_eq!(call(&["store", "check", "--read-data"]).0, Some(0));
    for (arguments, program) in [
        (&["store", "backup", "copy.db"][..], "pg_dump"),
        (&["store", "restore", "copy.db"][..], "pg_restore"),
    ] {
        let (code, said) = call(arguments);
        assert!(code != Some(0) && said.contains(program), "{said}");
    }
    let away = with_password.replacen("@127.0.0.1", "@127.0.0.1:1,127.0.0.1", 1);
    let wrong = one.sandbox.call(["runs", "list"]).settings([(SETTING, away.as_str())]).run();
    assert!(!wrong.stderr.contains(secret), "{}", wrong.stderr);
}

#[test]
fn a_server_that_is_not_there_is_named_before_anything_is_paid() {
    let sandbox =
        Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")).scripted(ONE, Script::answering("Hm."));
    let call = |url: &str| -> Output {
        sandbox.call(["ask", "-m", ONE, "Which bird sings?"]).settings([(SETTING, url)]).run()
    };
    let away = call("postgres://runs:s3cr3t@127.0.0.1:1/runs");
    insta::assert_snapshot!(away.stderr, @"
    error[storage]: cannot open the run database `postgres://runs@127.0.0.1:1/runs`: its server cannot be reached: error connecting to server: Connection refused (os error 111)
      next: try again, or check the network and the address
    ");
    let misread = call("mysql://runs:s3cr3t@127.0.0.1/runs");
    insta::assert_snapshot!(misread.stderr, @"
    error[settings_invalid]: environment PARALLEL_LLM_DATABASE_URL: `database_url` is the address of a PostgreSQL server, `postgres://USER:PASSWORD@HOST/DATABASE`, or `off`, not this text
      next: correct the value, or leave it out to use the default
    ");
    let option = call("postgres://runs:s3cr3t@127.0.0.1/runs?sslmode=allow");
    insta::assert_snapshot!(option.stderr, @"
    error[usage]: the address of the run database cannot be read: its `sslmode` is none that is understood
      next: choose one of: disable, prefer, require, verify-ca, verify-full
    ");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_history_moves_to_the_server_and_back() {
    let Some([one, _]) = machines() else { return };
    let local = |arguments: &[&str]| one.sandbox.call(arguments).run();
    let asked = local(&["ask", "--json", "-m", ONE, "Which bird sings?"]).json();
    let id = run_id(&asked);
    let refused = local(&["store", "copy", "file", &one.url]);
    assert_eq!(refused.code, Some(2));
    assert!(!refused.stderr.contains(&one.url), "an address may hold a password: {}", refused.stderr);
    let unset = local(&["store", "copy", "file", "server"]);
    assert!(unset.stderr.contains("no server is set to copy to or from"), "{}", unset.stderr);

    let copied = one.call(&["store", "copy", "file", "server"]).run();
    assert_eq!(copied.code, Some(0), "{}", copied.stderr);
    assert!(copied.stderr.contains("1 run copied"), "{}", copied.stderr);
    assert_eq!(one.call(&["runs", "show", "--json", id]).run().json()["answer"], asked["answer"]);
    let again = one.call(&["store", "copy", "file", "server"]).run();
    assert_eq!(again.code, Some(7), "{}", again.stderr);
    assert!(again.stderr.contains("is not empty"), "{}", again.stderr);

    one.ask(&["And which does not?"]);
    let back = one.sandbox.home().join("back.db").display().to_string();
    let copied = one.call(&["store", "copy", "server", &back, "--json"]).run();
    assert_eq!(copied.json()["runs"], 2, "{}", copied.stderr);
    let restored = local(&["store", "restore", &back]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert_eq!(local(&["runs", "list", "--json"]).json_lines().len(), 2);
    assert_eq!(local(&["store", "check", "--read-data"]).code, Some(0));
}
