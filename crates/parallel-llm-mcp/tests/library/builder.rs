//! Builders: what they refuse, and that they read and write nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parallel_llm_mcp::{Client, Error, Panel, PanelBuilder, Provider};

use super::upstream::{MODELS, Upstream};

/// The error of a builder in one line.
#[track_caller]
fn check(builder: PanelBuilder, expected: &str) {
    let error = builder.build().err().expect("it was built");
    let Error::Field { field, source } = &error else { panic!("{error:?}") };
    assert_eq!(format!("{field}: {source} ({})", error.next_step()), expected);
}

#[test]
fn a_wrong_field_is_named_with_what_to_do() {
    let none: [&str; 0] = [];
    check(Panel::builder().panel(none), "");
    check(Panel::builder().panel(["a/b@"]), "");
    check(Panel::builder().max_tokens(0), "");
    check(Panel::builder().budget_usd(-1.0), "");
    check(Panel::builder().budget_usd(f64::INFINITY), "");
    check(Panel::builder().strategy("vot"), "");
    check(Panel::builder().wait("some"), "");
    check(Panel::builder().run_timeout(Duration::ZERO), "");
    check(Panel::builder().setting("reasoning_efort", "high"), "");
    check(Panel::builder().base_url("http://example.com/v1"), "");
    check(Panel::builder().base_url("https://me:pw@example.com"), "");
    check(Panel::builder().key("two words"), "");
    check(Panel::builder().header("Authorization", "x"), "");
    check(Panel::builder().header("X-Team", "a\nb"), "");
    check(Panel::builder().provider(Provider::new("Mine")), "");
    check(Panel::builder().provider(Provider::new("mine")), "");
    check(Panel::builder().provider(Provider::new("mine").base_url("https://a.b").kind("open-ai")), "");
    check(Panel::builder().provider(Provider::new("openai").budget_day_usd(1.0)), "");
    check(Panel::builder().budget_day_usd(1.0), "");
    check(Panel::builder().setting("store", "full"), "");
    check(Panel::builder().files(true), "");
}

#[test]
fn a_key_is_shown_nowhere() {
    let builder = Panel::builder()
        .key("sk-or-hidden")
        .header("X-Secret", "hidden too")
        .provider(Provider::new("openai").key("sk-hidden"));
    let shown =
        format!("{builder:?} {:?} {:?}", builder.clone().build().unwrap(), Provider::new("x").key("hidden"));
    assert!(!shown.contains("hidden"), "{shown}");
    let client = Client::builder().key("sk-or-hidden");
    assert!(!format!("{client:?} {:?}", client.clone().build().unwrap()).contains("hidden"));
}

/// The files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

/// The home of the process in which [`a_library_in_a_bare_process`] runs.
const HOME: &str = "PARALLEL_LLM_TEST_HOME";

/// Runs in a process of its own, which [`a_library_touches_nothing_but_its_folder`] starts.
#[test]
#[ignore = "another test starts it in a process of its own"]
fn a_library_in_a_bare_process() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let upstream = Upstream::start().await;
        // A list of models is fetched for a name that is in none.
        let panel = upstream.panel().panel([MODELS[0], "short-name"]).build().unwrap();
        let _ = panel.ask("Why?").await;
        let panel = upstream.panel().build().unwrap();
        panel.ask("Why?").await.unwrap();
        panel.close().await;
        assert_eq!(files(Path::new(".")), BTreeSet::new());

        let kept = upstream.panel().folder("kept").build().unwrap();
        kept.ask("Why?").await.unwrap();
        kept.close().await;
        let made: Vec<String> = std::fs::read_dir(".")
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(made, ["kept"]);
        assert!(!tracing_is_set_up(), "the library sets up no log");
    });
}

/// Whether something listens to the log.
fn tracing_is_set_up() -> bool {
    // The library's own tests set up none, so whoever did it was the library.
    rustls::crypto::CryptoProvider::get_default().is_some()
}

#[test]
fn a_library_touches_nothing_but_its_folder() {
    let home = tempfile::tempdir().unwrap();
    // Settings that would break every panel, were they read.
    let settings = home.path().join(".config/parallel-llm-mcp");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "nonsense").unwrap();
    let here = home.path().join("here");
    std::fs::create_dir(&here).unwrap();
    let before = files(home.path());
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "builder::a_library_in_a_bare_process"])
        .env_clear()
        .env("HOME", home.path())
        .env(HOME, home.path())
        .env("PARALLEL_LLM_MAX_TOKENS", "nonsense")
        .env("OPENROUTER_BASE_URL", "nonsense")
        .env("HTTPS_PROXY", "nonsense")
        .current_dir(&here)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    let made: BTreeSet<PathBuf> = files(home.path())
        .difference(&before)
        .filter(|path| !path.starts_with(here.join("kept")))
        .cloned()
        .collect();
    assert_eq!(made, BTreeSet::new());
}

#[test]
fn the_environment_is_read_only_when_asked() {
    // This process has no settings of ours, so what it reads are defaults and the folder of its user.
    let built = Panel::builder().from_environment().in_memory().max_tokens(7).build();
    assert!(built.is_ok(), "{built:?}");
}
