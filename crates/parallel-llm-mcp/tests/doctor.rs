//! `doctor`: checks everything that a run needs, and names a remedy for each problem.

use std::net::TcpListener;
use std::path::Path;

use crate::lists::{Lists, NO_SERVER, without_local_servers};
use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Call, Output, Sandbox};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A provider that offers these models.
fn offering(ids: &[&str]) -> Lists {
    Lists::of(&models_json(ids))
}

fn models_json(ids: &[&str]) -> String {
    let model = |id: &&str| json!({ "id": id, "context_length": 9_000, "pricing": { "prompt": "0.000002", "completion": "0.00001" } });
    json!({ "data": ids.iter().map(model).collect::<Vec<_>>() }).to_string()
}

/// Each preset has one model, so that the built-in ones ask for no other.
const PRESETS: &str =
    "[presets]\nquick.panel = [\"lab/a\"]\nbudget.panel = [\"lab/a\"]\nmax.panel = [\"lab/a\"]\n";

fn settings(sandbox: &Sandbox, panel: &str) {
    let text = format!("panel = [{panel}]\nsynthesizer = [\"lab/a\"]\n{PRESETS}");
    sandbox.write(".config/parallel-llm-mcp/config.toml", text);
    set_mode(&sandbox.home().join(".config/parallel-llm-mcp"), 0o700);
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the test owns it");
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

/// `doctor --json` with this provider, under fixed resource limits.
fn doctor<'a>(sandbox: &'a Sandbox, openrouter: &Lists) -> Call<'a> {
    let call = without_local_servers(sandbox, &["doctor", "--json"])
        .env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    call.under("ulimit -c 0; ulimit -n 1024")
}

/// The findings as JSON, with placeholders for what differs between machines.
fn findings(output: &Output) -> Value {
    output.assert_no_key();
    let mut diagnosis = output.json();
    assert!(diagnosis["elapsed_ms"].take().is_u64());
    for finding in diagnosis["findings"].as_array_mut().into_iter().flatten() {
        let found = output.masked(finding["found"].as_str().unwrap_or_default());
        finding["found"] = json!(match finding["check"].as_str().unwrap_or_default() {
            "data folder" if found.ends_with(" free") => "<room> free".to_owned(),
            "database" if found.contains(", format ") => "<extent>".to_owned(),
            "database" if found.contains("write-ahead log") => "<log>".to_owned(),
            "program" => "<program>".to_owned(),
            // Another program of this machine may listen there.
            "http" => "<http>".to_owned(),
            "models" => found.split(" was fetched ").next().unwrap_or_default().to_owned(),
            _ => found,
        });
        if finding["check"] == "http" {
            finding["next"] = Value::Null;
        }
    }
    diagnosis
}

/// The findings of one check, one per line.
fn lines_of(output: &Output, check: &str) -> Vec<String> {
    let diagnosis = findings(output);
    let of_check =
        diagnosis["findings"].as_array().into_iter().flatten().filter(|finding| finding["check"] == check);
    let line = |finding: &Value| {
        let next = finding["next"].as_str().map(|next| format!("; {}", output.masked(next)));
        let [state, found] = ["state", "found"].map(|name| finding[name].as_str().unwrap_or_default());
        format!("{state} {found}{}", next.unwrap_or_default())
    };
    of_check.map(line).collect()
}

fn finding(check: &str, state: &str, found: &str, next: Option<&str>) -> Value {
    json!({ "check": check, "state": state, "found": found, "next": next })
}

#[test]
fn a_sound_setup_passes_every_check() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a", "lab/b"]));
    settings(&sandbox, "\"lab/a\", \"lab/b\"");
    let output = doctor(&sandbox, &openrouter).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let mut diagnosis = findings(&output);
    assert!(diagnosis["version"].take().is_string());
    let lines: Vec<String> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            assert!(it["next"].is_null(), "{it}");
            let [check, state, found] = ["check", "state", "found"].map(|name| it[name].as_str().unwrap());
            format!("{check}: {state}: {found}").replace(&openrouter.authority(), "<authority>")
        })
        .collect();
    diagnosis["findings"].take();
    assert_eq!(
        diagnosis,
        json!({ "schema": 1, "version": null, "state": "ok", "elapsed_ms": null, "findings": null })
    );
    insta::assert_snapshot!(lines.join("\n"), @"
    program: ok: <program>
    settings: ok: settings files: your own at <home>/.config/parallel-llm-mcp/config.toml; 4 presets, 3 personas
    settings: ok: nobody else can change them, or read what is secret in them
    network: ok: OpenRouter is at http://<authority>/api/v1 (environment OPENROUTER_BASE_URL)
    network: ok: no proxy is named
    keys: ok: OpenRouter has a key (environment OPENROUTER_API_KEY)
    credit: ok: $7.50 is left of OpenRouter's key
    models: ok: 2 of 2 configured models are offered
    models: ok: lab/a (panel, synthesizer, presets.budget.panel, presets.max.panel, presets.quick.panel): $2.00 in and $10.00 out for a million tokens, 9000 tokens of context
    models: ok: lab/b (panel): $2.00 in and $10.00 out for a million tokens, 9000 tokens of context
    models: ok: the list of OpenRouter
    local servers: ok: none found running
    clock: ok: no provider reported the time
    data folder: ok: <home>/.local/share/parallel-llm-mcp can be written
    data folder: ok: nobody else can read it (mode 700)
    data folder: ok: <room> free
    data folder: ok: it is on no file system whose locks are known to fail
    run folder: ok: <home>/.local/share/parallel-llm-mcp/runs is in the data folder
    database: ok: it opens, and is of this program's version
    database: ok: <extent>
    database: ok: <log>
    database: ok: it is whole
    log: ok: a server logs to stderr only, at `info`
    limits: ok: 1024 files may be open at once; 64 calls need up to 128
    limits: ok: a crash leaves no memory on the disk
    http: ok: <http>
    tokens: ok: over HTTP: no token was made
    terminal: ok: stderr is no terminal: a run is told line by line
    ");
    let call = without_local_servers(&sandbox, &["doctor", "--strict"])
        .env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let strict = call.under("ulimit -c 0; ulimit -n 1024").run();
    let count = lines.len();
    insta::assert_snapshot!(strict.text(), @"ok       28 checks passed: program, settings (2), network (2), keys, credit, models (4), local servers, clock, data folder (4), run folder, database (4), log, limits (2), http, tokens, terminal; `doctor --all` shows each");
    assert_eq!((strict.code, strict.stderr), (Some(0), format!("0 failed, 0 to look at, {count} ok\n")));
}

#[test]
fn problems_come_first_and_passed_checks_are_folded() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\", \"lab/gone\", \"groq:lab/b\"");
    let call = |flags: &[&str]| {
        let call = without_local_servers(&sandbox, &["doctor"]).args(flags);
        call.env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1")).under("ulimit -c 0; ulimit -n 1024")
    };
    let mut terminal = call(&[]).on_screen(80, 60);
    terminal.wait();
    for line in terminal.text().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let shown = terminal.masked().replace(&openrouter.authority(), "<authority>");
    insta::assert_snapshot!(shown, @"
    failed   models: lab/gone (panel): its provider does not offer it (next: did you
             mean `lab/a`?)
    warning  keys: no API key is set for `groq` (next: set `GROQ_API_KEY`, or keep
             the key with `parallel-llm-mcp keys set groq`)
    warning  models: groq:lab/b (panel): no API key is set for `groq`
    ok       28 checks passed: program, settings (2), network (3), keys, credit,
             models (3), local servers, clock, data folder (4), run folder, database
             (4), log, limits (2), http, tokens, terminal; `doctor --all` shows each
    1 failed, 2 to look at, 28 ok
    ");
    let (folded, whole) = (call(&[]).run(), call(&["--all"]).run());
    let is_folded = |line: &&str| line.contains(" checks passed: ");
    let problems: Vec<&str> = folded.text().lines().filter(|line| !is_folded(line)).collect();
    let first: Vec<&str> = whole.text().lines().take(problems.len()).collect();
    assert_eq!(first, problems);
    let passed: Vec<&str> = whole.text().lines().skip(problems.len()).collect();
    assert!(!passed.is_empty() && passed.iter().all(|line| line.starts_with("ok ")), "{passed:?}");
    assert_eq!(call(&["-v"]).run().text(), whole.text());
}

#[test]
fn every_problem_has_a_remedy() {
    let (sandbox, openrouter, ollama) = (sandbox(), offering(&["lab/a"]), offering(&["llama4:8b"]));
    settings(&sandbox, "\"lab/a\", \"lab/old\", \"mistral:large\"");
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    set_mode(&sandbox.data_dir(), 0o755);
    let output = doctor(&sandbox, &openrouter).env("OLLAMA_BASE_URL", &ollama.url("")).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(
        ollama.asked().iter().all(|head| !head.contains("authorization")),
        "a server found by search gets no key"
    );
    let diagnosis = findings(&output);
    assert_eq!(diagnosis["state"], "failed");
    let troubled: Vec<&Value> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["state"] != "ok" || finding["check"] == "local servers")
        .collect();
    let advice = "set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`";
    let keyless = "no API key is set for `mistral`";
    let chmod = format!("chmod 700 {}", sandbox.data_dir().display());
    let server =
        format!("found Ollama at {} with 1 model: ask one with `-m ollama:llama4:8b`", ollama.authority());
    let mut expected = vec![
        finding("keys", "warning", keyless, Some(advice)),
        finding(
            "models",
            "failed",
            "lab/old (panel): its provider does not offer it",
            Some("did you mean `lab/a`?"),
        ),
        finding("models", "warning", &format!("mistral:large (panel): {keyless}"), Some(advice)),
        finding("local servers", "ok", &server, None),
    ];
    if cfg!(unix) {
        let found = "others can look into it (mode 755)";
        expected.push(finding("data folder", "warning", found, Some(&format!("`{chmod}`"))));
    }
    assert_eq!(json!(troubled), json!(expected));
}

#[test]
fn without_any_key_the_check_fails() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    let output = doctor(&sandbox, &openrouter).without("OPENROUTER_API_KEY").run();
    assert_eq!(output.code, Some(1));
    let keys = lines_of(&output, "keys");
    assert!(
        keys[0].starts_with("failed no API key is set for `openrouter`; set `OPENROUTER_API_KEY`"),
        "{keys:?}"
    );
    assert_eq!(
        lines_of(&output, "clock"),
        ["ok no provider reported the time"],
        "no provider is asked only for the time"
    );
}

#[test]
fn a_problem_of_several_models_is_reported_once() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "'mistral:a', 'mistral:b', 'mistral:c', 'mistral:d', 'lab/a'");
    let output = doctor(&sandbox, &openrouter).run();
    let advice = "set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`";
    let models = lines_of(&output, "models");
    assert_eq!(
        models[1],
        format!(
            "warning 4 models (mistral:a, mistral:b, mistral:c and 1 more): no API key is set for `mistral`; {advice}"
        )
    );
    assert!(models[2].starts_with("ok lab/a (panel, "), "{models:?}");
}

#[test]
fn an_interrupted_run_is_reported() {
    const HANGING: &str = "x-ai/grok-4.7";
    let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::Stall));
    let running = sandbox.call(["ask", "-m", HANGING, "Why?"]).start();
    sandbox.until("the model has begun", || sandbox.chats().iter().any(|chat| chat.first_byte_us.is_some()));
    running.signal("KILL");
    running.wait();
    let output = without_local_servers(&sandbox, &["doctor", "--json"]).run();
    let database = lines_of(&output, "database");
    assert_eq!(database[3], "ok it is whole");
    let last = "warning 1 run was interrupted; the newest is <run>; `parallel-llm-mcp runs resume <run> --resend` (which may pay a second time), or leave it";
    assert_eq!(database[4], last);
}

#[test]
fn an_unusable_folder_or_database_is_reported() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    let file = sandbox.write("no-folder", "");
    let output = doctor(&sandbox, &openrouter).settings([("data_dir", file.to_str().unwrap())]).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(lines_of(&output, "data folder")[0].starts_with("failed <home>/no-folder cannot be written: "));
    assert!(lines_of(&output, "database")[0].starts_with("failed "));
    let text = "not a database, but some other file of somebody's";
    sandbox.write(".local/share/parallel-llm-mcp/runs.db", text);
    let output = doctor(&sandbox, &openrouter).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(lines_of(&output, "data folder")[0].starts_with("ok "));
    assert!(lines_of(&output, "database")[0].contains("it is not a database"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_reported() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    // Not even root can create files there.
    let folders = [("data_dir", "/proc/self/task"), ("output_dir", "/proc/self/fdinfo")];
    let output = doctor(&sandbox, &openrouter).settings(folders).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(lines_of(&output, "data folder")[0].starts_with("failed /proc/self/task cannot be written: "));
    assert!(lines_of(&output, "run folder")[0].starts_with("failed /proc/self/fdinfo cannot be written: "));
    let next = "correct its permissions, or set `output_dir` to another folder";
    assert!(lines_of(&output, "run folder")[0].ends_with(next));
}

#[test]
fn a_damaged_database_and_one_of_a_newer_program_are_told_apart() {
    const ANSWER: &str = "An answer that lies on a page of its own.";
    const PAGE_BYTES: usize = 4096;
    let sandbox = sandbox().scripted("x-ai/grok-4.7", Script::answering(ANSWER));
    for question in ["Why?", "How?", "When?"] {
        let output = sandbox.call(["ask", "-q", "-m", "x-ai/grok-4.7", question]).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    let path = sandbox.data_dir().join("runs.db");
    let sound = std::fs::read(&path).unwrap();
    // The page claims to hold more cells than fit.
    let mut damaged = sound.clone();
    let holds = |page: &&mut [u8]| page.windows(ANSWER.len()).any(|bytes| bytes == ANSWER.as_bytes());
    let page = damaged.chunks_mut(PAGE_BYTES).filter(holds).find(|page| page[0] == 0x0d).unwrap();
    page[3..5].fill(0xff);
    std::fs::write(&path, &damaged).unwrap();
    let output = without_local_servers(&sandbox, &["doctor", "--json"]).run();
    let whole = &lines_of(&output, "database")[3];
    assert!(whole.starts_with("failed it is damaged: ") && whole.contains("; make a copy"), "{whole}");
    assert_eq!(output.code, Some(1));
    // These bytes of the header hold the version of the format.
    let mut newer = sound;
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&path, &newer).unwrap();
    let output = without_local_servers(&sandbox, &["doctor", "--json"]).run();
    let database = lines_of(&output, "database");
    let start = "failed a newer version of this program wrote `<home>/.local/share/parallel-llm-mcp/runs.db`";
    assert!(database.len() == 1 && database[0].starts_with(start), "{database:?}");
    assert_eq!((output.code, std::fs::read(&path).unwrap() == newer), (Some(1), true));
}

#[cfg(unix)]
#[test]
fn files_open_to_others_are_reported() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    assert_eq!(doctor(&sandbox, &openrouter).run().code, Some(0));
    set_mode(&sandbox.home().join(".config/parallel-llm-mcp/config.toml"), 0o666);
    set_mode(&sandbox.data_dir().join("runs.db"), 0o640);
    let output = doctor(&sandbox, &openrouter).run();
    let folder = "<home>/.local/share/parallel-llm-mcp";
    let file = "<home>/.config/parallel-llm-mcp/config.toml";
    assert_eq!(
        lines_of(&output, "settings")[1],
        format!(
            "warning others can change where your keys go: they may write {file} (mode 666); `chmod 600 {file}`"
        )
    );
    assert_eq!(
        lines_of(&output, "data folder")[2],
        format!("warning `runs.db` in it can be read or written by others; `chmod -R go= {folder}`")
    );
    assert_eq!((output.code, doctor(&sandbox, &openrouter).arg("--strict").run().code), (Some(0), Some(1)));
}

#[test]
fn a_refused_key_is_reported() {
    let sandbox = sandbox();
    let output = without_local_servers(&sandbox, &["doctor", "--json"])
        .env("OPENROUTER_API_KEY", &"0".repeat(40))
        .run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(lines_of(&output, "credit")[0].starts_with("failed "));
}

#[test]
fn a_wrong_clock_is_reported() {
    let date = "date: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
    let (sandbox, openrouter) = (sandbox(), Lists::with_head(&models_json(&["lab/a"]), date));
    settings(&sandbox, "\"lab/a\"");
    let output = doctor(&sandbox, &openrouter).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let clock = &lines_of(&output, "clock")[0];
    assert!(clock.starts_with("warning it is ") && clock.contains(" s ahead of OpenRouter's: "), "{clock}");
    let asked = openrouter.asked().into_iter().find(|head| head.starts_with("head ")).unwrap();
    assert!(asked.starts_with("head /api/v1/models ") && !asked.contains("authorization"), "{asked}");
    drop(openrouter);
}

#[test]
fn a_silent_provider_delays_no_other_check() {
    let sandbox = sandbox();
    settings(&sandbox, "\"lab/a\"");
    // The system accepts connections, and nobody reads from them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}/api/v1", silent.local_addr().unwrap());
    let output =
        without_local_servers(&sandbox, &["doctor", "--json"]).env("OPENROUTER_BASE_URL", &address).run();
    assert_eq!(output.code, Some(1), "there is no other provider: {}", output.stderr);
    let next = "try again";
    let late = format!("failed OpenRouter did not say within 5 s what is left of its key; {next}");
    assert_eq!(lines_of(&output, "credit"), [late]);
    let late = "warning openrouter gave no answer within 5 s; check the network and the base URL";
    assert_eq!(lines_of(&output, "clock"), [late]);
    let models = lines_of(&output, "models");
    assert!(models.last().unwrap().contains("openrouter gave no list of models in time"), "{models:?}");
    assert_eq!(lines_of(&output, "database")[3], "ok it is whole");
}

#[test]
fn an_unusable_provider_fails_the_check_only_if_no_other_is_usable() {
    const MODEL: &str = "openai/gpt-6.1-sol";
    let sandbox = sandbox();
    let plain = sandbox.simulator().base_url_of("openai").expect("the simulator speaks OpenAI");
    let (right, wrong) = (sandbox.simulator().api_key(), "0".repeat(40));
    // The panel, the address of the team's provider, its key and OpenRouter's, the exit code, and the expected problem.
    let rows = [
        ("'team:gpt-6.1-sol'", plain.as_str(), [right, right], 0, None),
        // The list was just fetched and is cached, so it says nothing about this key.
        ("'team:gpt-6.1-sol'", &plain, [&wrong, right], 1, Some(("models", "failed"))),
        ("'team:gpt-6.1-sol', 'openai/gpt-6.1-sol'", &plain, [&wrong, right], 0, Some(("models", "warning"))),
        ("'team:a'", NO_SERVER, [right, right], 1, Some(("models", "failed"))),
        ("'team:a', 'openai/gpt-6.1-sol'", NO_SERVER, [right, right], 0, Some(("models", "warning"))),
        ("'openai/gpt-6.1-sol'", &plain, [right, &wrong], 1, Some(("credit", "failed"))),
        ("'team:gpt-6.1-sol', 'openai/gpt-6.1-sol'", &plain, [right, &wrong], 0, Some(("credit", "warning"))),
        ("'team:gpt-6.1-sol', 'openai/gpt-6.1-sol'", &plain, [&wrong, &wrong], 1, Some(("credit", "failed"))),
    ];
    for (panel, address, [team, openrouter], code, trouble) in rows {
        let table =
            format!("[providers.team]\nkind = 'openai'\nbase_url = '{address}'\nkey_variable = 'TEAM_KEY'\n");
        let text = format!("panel = [{panel}]\nsynthesizer = ['lab/a']\n{PRESETS}{table}");
        sandbox.write(".config/parallel-llm-mcp/config.toml", text.replace("lab/a", MODEL));
        let call =
            without_local_servers(&sandbox, &["doctor", "--json"]).env("OPENROUTER_API_KEY", openrouter);
        let output = call.env("TEAM_KEY", team).run();
        let problems: Vec<String> = ["keys", "credit", "models"]
            .into_iter()
            .flat_map(|check| lines_of(&output, check).into_iter().map(move |line| format!("{check} {line}")))
            .filter(|line| !line.contains(" ok ") && !line.contains(": there is no"))
            .collect();
        assert_eq!(output.code, Some(code), "{panel} at {address}: {problems:#?}");
        let is_reported =
            |(check, state)| problems.iter().any(|line| line.starts_with(&format!("{check} {state} ")));
        assert!(trouble.map_or(problems.is_empty(), is_reported), "{panel} at {address}: {problems:#?}");
    }
}

#[test]
fn a_temporary_fault_fails_the_check_only_if_no_model_answers() {
    let states = |faulty: &[&str]| {
        let script =
            |sandbox: Sandbox, model: &&str| sandbox.scripted(model, Script::fault(Fault::Server500));
        let sandbox = faulty.iter().fold(with_simulated_panel(), script);
        let output = without_local_servers(&sandbox, &["doctor", "--deep", "--yes", "--json"]).run();
        let word = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        (output.code, lines_of(&output, "probe").iter().take(2).map(word).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(states(&["x-ai/grok-4.7"]), (Some(0), "ok warning".to_owned()));
    assert_eq!(states(&["openai/gpt-6.1-sol", "x-ai/grok-4.7"]), (Some(1), "failed failed".to_owned()));
}

#[test]
fn an_old_list_of_models_that_cannot_be_renewed_is_reported() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    assert_eq!(doctor(&sandbox, &openrouter).run().code, Some(0));
    let kept = sandbox.data_dir().join("models/openrouter.json");
    let mut list: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    let day_ms = 24 * 60 * 60 * 1000;
    list["fetched_at"] = json!(list["fetched_at"].as_u64().unwrap() - 5 * day_ms);
    std::fs::write(&kept, list.to_string()).unwrap();
    let url = openrouter.url("/api/v1");
    drop(openrouter);
    let output =
        without_local_servers(&sandbox, &["doctor", "--json"]).env("OPENROUTER_BASE_URL", &url).run();
    let models = lines_of(&output, "models");
    let start = "failed the list of OpenRouter cannot be fetched, its last list";
    assert!(models.last().unwrap().starts_with(start), "{models:?}");
    let text = without_local_servers(&sandbox, &["doctor"]).env("OPENROUTER_BASE_URL", &url).run();
    assert!(text.text().contains("its last list was fetched 5 d ago: "), "{}", text.text());
}

#[test]
fn a_proxy_is_named_without_its_password() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    settings(&sandbox, "\"lab/a\"");
    let call = || doctor(&sandbox, &openrouter).env("NO_PROXY", "example.org");
    let output = call().env("HTTPS_PROXY", "http://me:hidden-word@127.0.0.1:9").run();
    assert_eq!(
        lines_of(&output, "network")[1],
        "ok calls to other machines go through the proxy http://127.0.0.1:9 (`HTTPS_PROXY`, with a name and a \
         password), but for the hosts in `NO_PROXY`"
    );
    assert!(!output.text().contains("hidden-word"));
}

/// A panel of the simulator's models.
fn with_simulated_panel() -> Sandbox {
    let sandbox = sandbox();
    let text = "panel = ['openai/gpt-6.1-sol*2', 'x-ai/grok-4.7']\nsynthesizer = ['openai/gpt-6.1-sol']\n";
    sandbox.write(".config/parallel-llm-mcp/config.toml", text);
    set_mode(&sandbox.home().join(".config/parallel-llm-mcp"), 0o700);
    sandbox
}

#[test]
fn deep_asks_each_model_of_the_panel_once_with_consent() {
    let sandbox = with_simulated_panel();
    let refused = without_local_servers(&sandbox, &["doctor", "--deep"]).run();
    insta::assert_snapshot!(refused.transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--deep` asks models, which costs money, and nobody is there to say yes
      next: type `parallel-llm-mcp doctor --deep --yes`
    ");
    let nowhere =
        without_local_servers(&sandbox, &["doctor", "--deep", "--yes", "--bundle", "gone/report.json"]).run();
    assert_eq!(nowhere.code, Some(7), "{}", nowhere.stderr);
    assert_eq!(sandbox.chats().len(), 0);
    let output = without_local_servers(&sandbox, &["doctor", "--deep", "--yes", "--json"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let caps: Vec<Value> =
        sandbox.chats().iter().map(|chat| chat.body["max_completion_tokens"].clone()).collect();
    assert_eq!(caps, [16, 16], "each model is asked once, and no synthesizer is called");
    let notice = output.masked(&output.stderr);
    assert!(
        notice.starts_with("`--deep` asks 2 models of the panel for a word each: at most $0.0"),
        "{notice}"
    );
    assert_eq!(lines_of(&output, "clock"), ["ok it agrees with OpenRouter's"]);
    let probe = lines_of(&output, "probe");
    assert!(probe[0].starts_with("ok openai/gpt-6.1-sol answers within <time>"), "{probe:?}");
    assert!(probe[1].starts_with("ok x-ai/grok-4.7 answers within <time>"), "{probe:?}");
    assert!(probe[2].starts_with("ok run <run> cost $0.0"), "{probe:?}");
    let report = &output.json()["probe"];
    assert!(report["models"][0]["cost_usd"].as_f64().unwrap() > 0.0, "{report}");
    let costs = without_local_servers(&sandbox, &["runs", "cost", "--json"]).run().json();
    assert!(
        (costs["total"]["cost_usd"].as_f64().unwrap() - report["cost_usd"].as_f64().unwrap()).abs() < 1e-9
    );
    let runs = without_local_servers(&sandbox, &["runs", "list"]).run();
    assert!(runs.text().contains(report["run_id"].as_str().unwrap()), "{}", runs.text());
    sandbox.assert_nowhere(b"Reply with one word");
}

#[test]
fn deep_asks_for_consent_on_a_terminal() {
    let sandbox = with_simulated_panel();
    for (typed, asked) in [("n\n", 0), ("\n", 0), ("yes\n", 2)] {
        let call = without_local_servers(&sandbox, &["doctor", "--deep"]).stdin(typed).on_terminal();
        // Skipped on a machine without the tool that makes a terminal.
        let Some(call) = call else { return };
        let output = call.run();
        let screen = output.text();
        assert!(
            screen.contains("for a word each: at most $0.0") && screen.contains("Go on? [y/N] "),
            "{screen}"
        );
        assert_eq!(screen.contains("no model was asked"), asked == 0, "{screen}");
        assert_eq!(sandbox.chats().len(), asked, "{screen}");
    }
}

#[test]
fn deep_fails_for_a_model_that_fails_but_not_for_one_that_only_reasons() {
    let sandbox = with_simulated_panel()
        .scripted("openai/gpt-6.1-sol", Script::fault(Fault::ReasoningBurn))
        .scripted("x-ai/grok-4.7", Script::fault(Fault::NoEndpoints));
    let output = without_local_servers(&sandbox, &["doctor", "--deep", "--yes", "--json"]).run();
    assert_eq!((output.code, sandbox.chats().len()), (Some(1), 2), "{}", output.stderr);
    let probe = lines_of(&output, "probe");
    assert!(probe[0].starts_with("ok openai/gpt-6.1-sol answers"), "{probe:?}");
    assert!(probe[1].starts_with("failed x-ai/grok-4.7: "), "{probe:?}");
}

#[test]
fn a_bundle_holds_no_key_no_text_and_no_user_name() {
    const ANSWER: &str = "canary-of-an-answer";
    let sandbox = sandbox()
        .scripted("openai/gpt-6.1-sol", Script::answering(ANSWER))
        .scripted("x-ai/grok-4.7", Script::fault(Fault::Moderation));
    let log = sandbox.home().join("canaryname.log");
    let log_settings = [("log_file", log.to_str().unwrap()), ("log_level", "debug")];
    let panel = ["-m", "openai/gpt-6.1-sol", "-m", "x-ai/grok-4.7", "canary of a question"];
    let asked = sandbox.call(["ask", "--strict"]).args(panel).settings(log_settings).run();
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let file = sandbox.home().join("report.json");
    let call = || {
        let call =
            without_local_servers(&sandbox, &["doctor", "--bundle", "report.json"]).settings(log_settings);
        call.env("HTTPS_PROXY", "http://me:canary-password@127.0.0.1:9").env("USER", "canaryname")
    };
    let output = call().run();
    output.assert_no_key();
    let report = std::fs::read_to_string(&file).unwrap();
    let home = sandbox.home().display().to_string();
    let key = sandbox.simulator().api_key();
    for canary in
        [ANSWER, "canary of a question", "canary-password", "canaryname", &home, key, &key[key.len() - 16..]]
    {
        assert!(!report.contains(canary), "`{canary}` is in the report:\n{report}");
    }
    let report: Value = serde_json::from_str(&report).unwrap();
    let setting = |name: &str| {
        report["settings"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap().clone()
    };
    assert_eq!(setting("log_file")["value"], "~/<user>.log");
    assert_eq!(setting("providers.openrouter.key")["value"], "set");
    assert_eq!((&report["schema"], &report["runs"]), (&json!(1), &json!({ "partial": 1 })));
    assert!(report["diagnosis"]["findings"].as_array().unwrap().len() > 20);
    let lines: Vec<&str> = report["log"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(lines.iter().any(|line| line.contains(" INFO the run starts run_id=")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.contains(" WARN … run_id=") && line.contains("code=moderated")),
        "{lines:?}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let before = std::fs::read(&file).unwrap();
    let again = call().run();
    assert_eq!((again.code, std::fs::read(&file).unwrap() == before), (Some(7), true));
    assert!(again.stderr.contains("`report.json` cannot be written: there is something of that name"));
}

/// Takes as long as a key program is waited for, once for all three.
#[cfg(unix)]
#[test]
fn a_hanging_key_program_is_reported_before_its_check_is_given_up() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    let team = |name: &str| {
        format!("[providers.{name}]\nbase_url = '{NO_SERVER}'\nkey_command = ['/bin/sleep', '600']\n")
    };
    let text = format!(
        "panel = ['lab/a', 'one:a', 'two:a', 'three:a']\nsynthesizer = ['lab/a']\n{PRESETS}{}",
        ["one", "two", "three"].map(team).concat()
    );
    sandbox.write(".config/parallel-llm-mcp/config.toml", text);
    let call = without_local_servers(&sandbox, &["doctor", "--json"])
        .env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let diagnosis = findings(&call.run());
    let late_findings = |check: &str| {
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        let late = "cannot be fetched: `/bin/sleep` did not end within 10000 ms";
        findings
            .filter(|finding| finding["check"] == check && finding["found"].as_str().unwrap().contains(late))
            .count()
    };
    assert_eq!((late_findings("keys"), late_findings("models")), (3, 3), "{diagnosis}");
}

#[test]
fn an_unknown_persona_is_reported() {
    let (sandbox, openrouter) = (sandbox(), offering(&["lab/a"]));
    let text = format!(
        "panel = ['lab/a@persona=skeptc', 'lab/a@persona=skeptic']\nsynthesizer = 'lab/a@stance=for'\n{PRESETS}nice.panel = ['lab/a@persona=zzz']\n"
    );
    sandbox.write(".config/parallel-llm-mcp/config.toml", text);
    let output = doctor(&sandbox, &openrouter).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    insta::assert_snapshot!(lines_of(&output, "settings").join("\n"), @"
    ok settings files: your own at <home>/.config/parallel-llm-mcp/config.toml; 5 presets, 3 personas
    failed lab/a@persona=skeptc (panel): there is no persona `skeptc`; did you mean `skeptic`?
    failed lab/a@stance=for (synthesizer): `lab/a` is a synthesizer, which has neither a persona nor a stance: it fuses; name the persona at a seat of the panel
    warning lab/a@persona=zzz (presets.nice.panel): there is no persona `zzz`; choose one of: plain, proponent, skeptic
    ok nobody else can change them, or read what is secret in them
    ");
}
