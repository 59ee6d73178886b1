//! `doctor`: whether everything is as a run needs it, and what to do where it is not.

mod lists;

use lists::{Lists, alone};
use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Stage};
use serde_json::{Value, json};

fn stage() -> Stage {
    Stage::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A list that has these models.
fn selling(ids: &[&str]) -> Lists {
    let models: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
    Lists::of(&json!({ "data": models }).to_string())
}

/// Presets of one model each, so that the built-in ones ask for nothing else.
const PRESETS: &str =
    "[presets]\nquick.panel = [\"lab/a\"]\nbudget.panel = [\"lab/a\"]\nmax.panel = [\"lab/a\"]\n";

fn settings(stage: &Stage, panel: &str) {
    let text = format!("panel = [{panel}]\nsynthesizer = [\"lab/a\"]\n{PRESETS}");
    stage.write(".config/parallel-llm-mcp/config.toml", text);
}

/// Its findings in JSON, free space and ports masked.
fn findings(output: &Output) -> Value {
    output.assert_no_key();
    let mut diagnosis = output.json();
    for finding in diagnosis["findings"].as_array_mut().into_iter().flatten() {
        let found = output.masked(finding["found"].as_str().unwrap_or_default());
        finding["found"] = if found.ends_with(" free") { json!("<room> free") } else { json!(found) };
    }
    diagnosis
}

fn finding(check: &str, state: &str, found: &str, next: Option<&str>) -> Value {
    json!({ "check": check, "state": state, "found": found, "next": next })
}

#[test]
fn all_is_well() {
    let (stage, openrouter) = (stage(), selling(&["lab/a", "lab/b"]));
    settings(&stage, "\"lab/a\", \"lab/b\"");
    let call = || alone(&stage, &["doctor"]).env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let output = call().arg("--json").run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let file = "<home>/.config/parallel-llm-mcp/config.toml";
    assert_eq!(
        findings(&output),
        json!({
            "schema": 1,
            "state": "ok",
            "findings": [
                finding("settings", "ok", &format!("settings files: your own at {file}; 4 presets"), None),
                finding("keys", "ok", "OpenRouter has a key (environment OPENROUTER_API_KEY)", None),
                finding("credit", "ok", "$7.50 is left of OpenRouter's key", None),
                finding("models", "ok", "2 of 2 configured models are offered", None),
                finding("local servers", "ok", "none found running", None),
                finding("data folder", "ok", "<home>/.local/share/parallel-llm-mcp can be written", None),
                finding("data folder", "ok", "nobody else can read it (mode 700)", None),
                finding("data folder", "ok", "<room> free", None),
                finding("database", "ok", "it opens, and is of this program's version", None),
            ],
        })
    );
    let told = call().run();
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), "0 failed, 0 to look at, 9 ok\n"));
    assert_eq!(told.text().lines().count(), 9);
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let (stage, openrouter, ollama) = (stage(), selling(&["lab/a"]), selling(&["llama4:8b"]));
    settings(&stage, "\"lab/a\", \"lab/old\", \"mistral:large\"");
    std::fs::create_dir_all(stage.data_dir()).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(stage.data_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let call = alone(&stage, &["doctor", "--json"]).env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let output = call.env("OLLAMA_BASE_URL", &ollama.url("")).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(ollama.asked().iter().all(|head| !head.contains("authorization")), "a find is sent no key");
    let diagnosis = findings(&output);
    assert_eq!(diagnosis["state"], "failed");
    let troubled: Vec<&Value> = diagnosis["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["state"] != "ok" || finding["check"] == "local servers")
        .collect();
    let advice = "set `MISTRAL_API_KEY`, or keep it with `keys set mistral`";
    let keyless = "no API key is set for `mistral`";
    let chmod = format!("chmod 700 {}", stage.data_dir().display());
    let server =
        format!("found Ollama at {} with 1 model: ask one with `-m ollama:llama4:8b`", ollama.authority());
    assert_eq!(
        json!(troubled),
        json!([
            finding("keys", "warning", keyless, Some(advice)),
            finding(
                "models",
                "failed",
                "lab/old (panel): its provider does not offer it",
                Some("did you mean `lab/a`?")
            ),
            finding("models", "warning", &format!("mistral:large (panel): {keyless}"), Some(advice)),
            finding("local servers", "ok", &server, None),
            finding(
                "data folder",
                "warning",
                "others can look into it (mode 755)",
                Some(&format!("`{chmod}`"))
            ),
        ])
    );
}

#[test]
fn without_any_key_there_is_no_run() {
    let (stage, openrouter) = (stage(), selling(&["lab/a"]));
    settings(&stage, "\"lab/a\"");
    let call = alone(&stage, &["doctor", "--json"]).without("OPENROUTER_API_KEY");
    let output = call.env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1")).run();
    assert_eq!(output.code, Some(1));
    let key = &findings(&output)["findings"][1];
    assert_eq!((&key["check"], &key["state"]), (&json!("keys"), &json!("failed")));
    assert_eq!(key["found"], "no API key is set for `openrouter`");
    assert!(key["next"].as_str().unwrap().contains("OPENROUTER_API_KEY"), "{key}");
}

#[test]
fn an_interrupted_run_is_found() {
    const HANGING: &str = "x-ai/grok-4.7";
    let stage = stage().scripted(HANGING, Script::fault(Fault::Stall));
    let running = stage.call(["ask", "-m", HANGING, "Why?"]).start();
    stage.until("the model has begun", || stage.chats().iter().any(|chat| chat.first_byte_us.is_some()));
    running.signal("KILL");
    running.wait();
    let output = alone(&stage, &["doctor", "--json"]).run();
    let diagnosis = findings(&output);
    let last = diagnosis["findings"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["check"], &last["state"]), (&json!("database"), &json!("warning")));
    assert_eq!(last["found"], "1 run was interrupted; the newest is <run>");
    assert!(last["next"].as_str().unwrap().starts_with("`runs resume 01"), "{last}");
}

#[test]
fn a_folder_or_a_database_that_cannot_be_used_is_found() {
    let (stage, openrouter) = (stage(), selling(&["lab/a"]));
    settings(&stage, "\"lab/a\"");
    let doctor =
        || alone(&stage, &["doctor", "--json"]).env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let state_of = |output: &Output, check: &str| {
        let diagnosis = findings(output);
        let mut found = diagnosis["findings"].as_array().unwrap().iter();
        found.find(|finding| finding["check"] == check).unwrap()["state"].clone()
    };
    let file = stage.write("no-folder", "");
    let output = doctor().settings([("data_dir", file.to_str().unwrap())]).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!([state_of(&output, "data folder"), state_of(&output, "database")], ["failed", "failed"]);
    stage.write(".local/share/parallel-llm-mcp/runs.db", "not a database, but some other file of somebody's");
    let output = doctor().run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!([state_of(&output, "data folder"), state_of(&output, "database")], ["ok", "failed"]);
}

#[test]
fn a_key_that_is_refused_is_in_the_way_of_a_run() {
    let stage = stage();
    let call = alone(&stage, &["doctor", "--json"]).env("OPENROUTER_API_KEY", &"0".repeat(40));
    let output = call.run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let diagnosis = findings(&output);
    let credit =
        diagnosis["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "credit");
    assert_eq!(credit.unwrap()["state"], "failed", "{diagnosis}");
}

/// Takes as long as such a program is waited for, once for all three.
#[cfg(unix)]
#[test]
fn what_a_program_that_keeps_a_key_does_is_told_before_the_check_is_given_up() {
    let (stage, openrouter) = (stage(), selling(&["lab/a"]));
    let team = |name: &str| {
        format!("[providers.{name}]\nbase_url = '{}'\nkey_command = ['/bin/sleep', '600']\n", lists::NOBODY)
    };
    let text = format!(
        "panel = ['lab/a', 'one:a', 'two:a', 'three:a']\nsynthesizer = ['lab/a']\n{PRESETS}{}",
        ["one", "two", "three"].map(team).concat()
    );
    stage.write(".config/parallel-llm-mcp/config.toml", text);
    let call = alone(&stage, &["doctor", "--json"]).env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
    let diagnosis = findings(&call.run());
    let told = |check: &str| {
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        let late = "cannot be fetched: `/bin/sleep` did not end within 10000 ms";
        findings
            .filter(|finding| finding["check"] == check && finding["found"].as_str().unwrap().contains(late))
            .count()
    };
    assert_eq!((told("keys"), told("models")), (3, 3), "{diagnosis}");
}
