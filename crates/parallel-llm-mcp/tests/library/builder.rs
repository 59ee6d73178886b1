//! Builders: what they refuse, and that they read and write nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parallel_llm_mcp::{Client, Error, Panel, PanelBuilder, Provider};

use super::upstream::{MODELS, Upstream};

/// The error of a builder in one line.
fn described(builder: PanelBuilder) -> String {
    let error = builder.build().expect_err("it was built");
    let Error::Field { field, source } = &error else { panic!("{error:?}") };
    format!("{field}: {source} ({})", error.next_step())
}

#[test]
fn a_wrong_field_is_named_with_what_to_do() {
    let none: [&str; 0] = [];
    let provider = |provider| Panel::builder().provider(provider);
    let wrong = [
        Panel::builder().panel(none),
        Panel::builder().panel(["a/b@"]),
        Panel::builder().panel(["a/b c/d"]),
        Panel::builder().synthesizer([""]),
        Panel::builder().max_tokens(0),
        Panel::builder().budget_usd(-1.0),
        Panel::builder().budget_usd(f64::INFINITY),
        Panel::builder().strategy("vot"),
        Panel::builder().strategy("tournament@format=league"),
        Panel::builder().wait("some"),
        Panel::builder().run_timeout(Duration::ZERO),
        Panel::builder().setting("reasoning_efort", "high"),
        Panel::builder().base_url("http://example.com/v1"),
        Panel::builder().base_url("https://me:pw@example.com"),
        Panel::builder().key("two words"),
        Panel::builder().header("Authorization", "x"),
        Panel::builder().header("X-Team", "a\nb"),
        provider(Provider::new("Mine")),
        provider(Provider::new("mine")),
        provider(Provider::new("mine").base_url("https://a.b").kind("open-ai")),
        provider(Provider::new("openai").budget_day_usd(1.0)),
        Panel::builder().budget_day_usd(1.0),
        Panel::builder().setting("store", "full"),
        Panel::builder().files(true),
        Panel::builder().setting("log_level", "debug"),
        Panel::builder().setting("data_dir", "/tmp"),
    ];
    insta::assert_snapshot!(wrong.map(described).join("\n"), @"
    panel: `panel` is a list of models, each `[provider:]model[*N][@key=value,...]`, not an empty one (correct the value, or leave it out to use the default)
    panel: cannot read the model `a/b@`: an option is written `key=value` (write it like `a/b@temperature=0.7`)
    panel: `a/b c/d` is not one model (write it as `vendor/model`, for example `~openai/gpt-sol-latest`)
    synthesizer: `` is not one model (write it as `vendor/model`, for example `~openai/gpt-sol-latest`)
    max_tokens: `max_tokens` is a whole number from 1 to 1000000, not `0` (correct the value, or leave it out to use the default)
    budget_usd: `budget_usd` is an amount in US dollars such as `3` or `0.50`, not `-1` (correct the value, or leave it out to use the default)
    budget_usd: `budget_usd` is an amount in US dollars such as `3` or `0.50`, not `inf` (correct the value, or leave it out to use the default)
    strategy: `strategy` is `synthesize` or `vote` or `best-of-n` or `council` or `moa` or `cascade` or `race` or `panel` or `auto`, each with its options behind `@`, not `vot` (did you mean `vote`?)
    strategy: the strategy `tournament` is now `best-of-n@by=league` (write it like `best-of-n@by=league`)
    wait: `wait` is `all`, `quorum:K`, `until:DURATION` or `stragglers`, not `some` (correct the value, or leave it out to use the default)
    run_timeout: `run_timeout_ms` is a whole number from 1 to 86400000, not `0` (correct the value, or leave it out to use the default)
    reasoning_efort: there is no setting `reasoning_efort` (did you mean `reasoning_effort`?)
    base_url: the base URL of `openrouter` uses plain http to `example.com` (use https, or http only for 127.0.0.1, [::1] or localhost)
    base_url: the base URL of `openrouter` holds a user name or a password (write it like `https://openrouter.ai/api/v1`)
    key: the API key holds white space, control characters or characters that are not ASCII (copy the key again, without line breaks)
    header: the header `authorization` is not yours to set (take it out; a key belongs into the key file, `key_variable` or `key_command`)
    header: the value of the header `x-team` is not 1 to 4096 visible ASCII characters (correct the value at the place the message names)
    provider Mine: the name of a provider has 1 to 40 lower-case letters, digits or `-` and begins with no `-`, not `Mine` (rename the provider)
    provider mine: the provider `mine` has no base URL (give the builder a base URL for this provider)
    provider mine: there is no kind of provider `open-ai` (did you mean `openai`?)
    provider openai: a limit of the day needs a folder, and runs are in memory (give the builder a folder to keep runs in)
    budget_day_usd: a limit of the day needs a folder, and runs are in memory (give the builder a folder to keep runs in)
    store: a store needs a folder, and runs are in memory (give the builder a folder to keep runs in)
    files: a file needs a folder, and runs are in memory (give the builder a folder to keep runs in)
    log_level: the library sets up no log; listen to `tracing` (leave it out)
    data_dir: the folder is set with `folder` (leave it out)
    ");
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
        for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
            if entry.path().is_dir() {
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
        // Neither a log nor a provider of cryptography is set up for the whole process.
        assert!(!tracing::dispatcher::has_been_set());
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    });
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

#[test]
fn of_several_values_for_a_setting_the_last_one_counts() {
    let budget = |builder: PanelBuilder| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let panel = builder.key("sk-or-x").panel(["a/b"]).build().unwrap();
        format!("{}", runtime.block_on(panel.quote("Why?")).unwrap().budget_usd)
    };
    let one = Panel::builder().setting("budget_usd", "1");
    assert_eq!(budget(one.clone().budget_usd(2.0)), "2");
    assert_eq!(budget(one.budget_usd(2.0).setting("budget_usd", "3").setting("budget_usd", "4")), "4");
    // A wrong value that a later one replaces is not looked at.
    assert!(Panel::builder().max_tokens(0).setting("max_tokens", "7").build().is_ok());
}

#[test]
fn a_path_that_cannot_be_a_setting_is_refused_and_not_altered() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"/tmp/\xff");
    insta::assert_snapshot!(described(Panel::builder().from_environment().folder(odd)), @"folder: the path `/tmp/�` is not UTF-8, so it cannot be a setting (correct the value, or leave it out to use the default)");
    insta::assert_snapshot!(described(Panel::builder().ca_file(odd)), @"ca_file: the path `/tmp/�` is not UTF-8, so it cannot be a setting (correct the value, or leave it out to use the default)");
    assert!(Panel::builder().folder(odd).build().is_ok());
}

#[test]
fn a_client_reads_the_certificates_it_is_given() {
    let error = Client::builder().ca_file("/no/file").build().unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("/no/file"), "{error:?}");
}

/// Runs in a process of its own, which [`limits_of_the_day_in_the_environment_need_a_folder`] starts.
#[test]
#[ignore = "another test starts it in a process of its own"]
fn an_environment_with_a_limit_of_the_day() {
    assert!(Panel::builder().from_environment().folder("kept").build().is_ok());
    panic!("{}", described(Panel::builder().from_environment().in_memory()));
}

#[test]
fn limits_of_the_day_in_the_environment_need_a_folder() {
    let refused = |variable: Option<&str>, file: &str| {
        let home = tempfile::tempdir().unwrap();
        let settings = home.path().join(".config/parallel-llm-mcp");
        std::fs::create_dir_all(&settings).unwrap();
        std::fs::write(settings.join("config.toml"), file).unwrap();
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "builder::an_environment_with_a_limit_of_the_day"])
            .env_clear()
            .env("HOME", home.path())
            .envs(variable.map(|usd| ("PARALLEL_LLM_BUDGET_DAY_USD", usd)))
            .current_dir(home.path())
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
        let line = stdout.lines().find(|line| line.contains("a limit of the day"));
        line.unwrap_or_else(|| panic!("{stdout}")).to_owned()
    };
    insta::assert_snapshot!(refused(Some("1"), ""), @"budget_day_usd: a limit of the day needs a folder, and runs are in memory (give the builder a folder to keep runs in)");
    insta::assert_snapshot!(refused(None, "[providers.openai]\nbudget_day_usd = 1\n"), @"provider openai: a limit of the day needs a folder, and runs are in memory (give the builder a folder to keep runs in)");
}
