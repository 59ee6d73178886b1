//! The settings as a whole, through [`Settings::load`]: precedence, refusals and their messages.

use std::fs;

use parallel_llm_engine::value::next;

use super::value::kind::Value;
use super::*;

mod providers;

/// A home folder on disk, with a project folder in it.
struct Home {
    root: tempfile::TempDir,
    environment: Environment,
}

const USER: &str = "home/.config/parallel-llm-mcp/config.toml";
const PROJECT: &str = "home/project/.parallel-llm.toml";

impl Home {
    /// A home with these files.
    fn of(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("home/project/src")).unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let environment = Environment::with_folders(Folders::of_home(root.path().join("home")));
        Self { root, environment }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment = self.environment.with(name, value);
        self
    }

    fn load_with(&self, flags: &[(&str, String)]) -> Result<Settings, Failure> {
        Settings::load(&self.environment, &self.root.path().join("home/project/src"), flags)
    }

    fn load(&self) -> Settings {
        self.load_with(&[]).unwrap()
    }

    /// The message of a failed load, without the path of the temporary folder.
    fn refusal(&self, flags: &[(&str, String)]) -> String {
        let failure = self.load_with(flags).unwrap_err();
        assert_eq!(failure.code, Code::SettingsInvalid);
        self.scrub(&format!("{} | {}", failure.message, failure.next_step()))
    }

    fn shown(&self, settings: &Settings, name: &str) -> String {
        let shown = settings.shown().iter().find(|shown| shown.name == name).unwrap();
        self.scrub(&format!("{} ({})", shown.value, shown.origin))
    }

    fn scrub(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.path().display()), "")
    }
}

/// Compares the message for a user file.
fn check_user(text: &str, expected: &str) {
    let home = Home::of(&[(USER, text)]);
    assert_eq!(home.refusal(&[]), expected.replace("USER", USER), "{text}");
}

/// Compares the message for a project file beside a user file.
fn check_project(user: &str, project: &str, expected: &str) {
    let home = Home::of(&[(USER, user), (PROJECT, project)]);
    assert_eq!(home.refusal(&[]), expected.replace("PROJECT", PROJECT).replace("USER", USER), "{project}");
}

#[test]
fn the_defaults_are_the_engines() {
    let home = Home::of(&[]);
    let settings = home.load();
    assert_eq!(settings.timers, Timers::default());
    assert_eq!(settings.wait, Wait::default());
    assert_eq!(settings.store, StoreMode::default());
    assert_eq!((settings.panel.len(), settings.synthesizer.len()), (5, 2));
    assert_eq!((settings.max_tokens, settings.budget), (16_000, PicoUsd::from_usd(3)));
    assert_eq!(settings.data_dir, home.root.path().join("home/.local/share/parallel-llm-mcp"));
    assert!(settings.output_dir.is_none());
    assert_eq!(settings.file_names, FileNames::default(), "plans from before there were names have the same");
    let advice = "set `OPENROUTER_API_KEY`, or keep the key with `keys set openrouter`";
    assert_eq!(next::render(&settings.panel_key_advice().unwrap(), &next::PLAIN), advice);
    assert_eq!(settings.defaults().synthesizers, settings.synthesizer);
    assert_eq!((settings.routing, settings.effort), (Routing::default(), None));
    assert_eq!(settings.app_title.as_deref(), Some("parallel-llm-mcp"));
    assert_eq!((settings.app_url, settings.ca_file), (None, None));
    assert_eq!(settings.attachment_bytes_max, 10 << 20);
}

#[test]
fn each_layer_wins_over_the_next() {
    let user = (USER, "max_tokens = 1\nretries_max = 1\nidle_timeout_ms = 1\nbudget_usd = 1.50\n");
    let project = (PROJECT, "max_tokens = 2\n\nretries_max = 0\nidle_timeout_ms = 2\n");
    let home = Home::of(&[user, project])
        .with("PARALLEL_LLM_MAX_TOKENS", "3")
        .with("PARALLEL_LLM_IDLE_TIMEOUT_MS", " 3 ")
        .with("PARALLEL_LLM_RETRIES_MAX", " ");
    let settings = home.load_with(&[("max_tokens", "4".to_owned())]).unwrap();
    let shown = |name| home.shown(&settings, name);
    assert_eq!(shown("max_tokens"), "4 (flag --max-tokens)");
    assert_eq!(shown("idle_timeout_ms"), "3 (environment PARALLEL_LLM_IDLE_TIMEOUT_MS)");
    assert_eq!(shown("retries_max"), format!("0 (project file {PROJECT}:3)"));
    assert_eq!(shown("budget_usd"), format!("1.5 (user file {USER}:4)"));
    assert_eq!(shown("drain_ms"), "25000 (default)");
    assert_eq!((settings.max_tokens, settings.timers.idle_ms, settings.retries_max), (4, 3, 0));
    assert_eq!(settings.shown().len(), Setting::ALL.len() + 2, "and the default provider's key and address");
}

#[test]
fn a_chosen_log_level_differs_from_the_default() {
    let home = Home::of(&[]);
    assert_eq!((home.load().log_level.as_str(), home.load().log_level_if_chosen()), ("info", None));
    let home = home.with("PARALLEL_LLM_LOG_LEVEL", "info");
    assert_eq!(home.load().log_level_if_chosen(), Some("info"));
}

#[test]
fn lists_and_rules_read_in_every_way() {
    let home =
        Home::of(&[(USER, "panel = ['a/b*2', 'c/d@max_tokens=9,temperature=1']\nsynthesizer = 'e/f'\n")])
            .with("PARALLEL_LLM_WAIT", "stragglers")
            .with("PARALLEL_LLM_STRAGGLER_SHARE", "0.8")
            .with("PARALLEL_LLM_STRAGGLER_AFTER_MS", "1000");
    let settings = home.load();
    assert_eq!(settings.panel, ["a/b*2", "c/d@max_tokens=9,temperature=1"]);
    assert_eq!(settings.synthesizer, ["e/f"]);
    assert_eq!(settings.wait, Wait::Stragglers { share_percent: 80, after_ms: 1_000 });
    let home = home.with("PARALLEL_LLM_PANEL", "g/h, i/j").with("PARALLEL_LLM_WAIT", "quorum:3");
    assert_eq!(home.load().panel, ["g/h", "i/j"]);
    assert_eq!(home.load().wait, Wait::Seats { count: 3 });
}

#[test]
fn numbers_read_as_toml_writes_them() {
    let settings =
        Home::of(&[(USER, "max_tokens = 1_000\ncalls_max = 0x10\nbudget_usd = +1e-1\nfiles = false\n")]);
    let settings = settings.load();
    assert_eq!((settings.max_tokens, settings.calls_max, settings.files), (1_000, 16, false));
    assert_eq!(settings.budget, PicoUsd::from_decimal("0.1").unwrap());
}

#[test]
fn paths_count_from_where_they_are_written() {
    let home = Home::of(&[(USER, "output_dir = 'out'\nlog_file = '~/log.txt'\n")])
        .with("PARALLEL_LLM_DATA_DIR", "runs");
    let settings = home.load();
    let root = home.root.path();
    assert_eq!(settings.output_dir, Some(root.join("home/.config/parallel-llm-mcp/out")));
    assert_eq!(settings.log_file, Some(root.join("home/log.txt")));
    let named = |name: &str| Home::of(&[]).with("PARALLEL_LLM_LOG_FILE", name);
    let bare = named("log.txt");
    let state = bare.root.path().join("home/.local/state/parallel-llm-mcp/log.txt");
    assert_eq!(bare.load().log_file, Some(state), "a name without a folder lies where logs lie");
    let here = named("./log.txt");
    assert_eq!(here.load().log_file, Some(here.root.path().join("home/project/src/log.txt")));
    assert_eq!(settings.data_dir, root.join("home/project/src/runs"));
}

#[test]
fn a_program_counts_from_where_it_is_written_too() {
    let words = |user: &str, variable: &str| {
        let home = Home::of(&[(USER, user)]).with("PARALLEL_LLM_CHECK_COMMAND", variable);
        let settings = home.load();
        let words = settings.check.as_ref().map(|check| home.scrub(&check.words.join("|")));
        (words.unwrap_or_default(), home.shown(&settings, "check_command"))
    };
    let pair = |words: &str, shown: &str| (words.to_owned(), shown.to_owned());
    assert_eq!(words("", ""), pair("", "not set (default)"));
    assert_eq!(
        words("check_command = ['./check', 'a b']", ""),
        pair(
            "home/.config/parallel-llm-mcp/check|a b",
            &format!("home/.config/parallel-llm-mcp/check (user file {USER}:1)")
        )
    );
    assert_eq!(
        words("check_command = 'pytest -q'", "").0,
        "pytest|-q",
        "one without a path is looked for where programs are"
    );
    assert_eq!(
        words("check_command = 'a'", "~/bin/check 'secret'"),
        pair("home/bin/check|secret", "home/bin/check (environment PARALLEL_LLM_CHECK_COMMAND)")
    );
    let home = Home::of(&[]).with("PARALLEL_LLM_CHECK_COMMAND", "bin/check");
    assert_eq!(
        home.refusal(&[]),
        "environment PARALLEL_LLM_CHECK_COMMAND: `check_command` names a program that counts from the current folder | write its whole path, or its name alone"
    );
    let flags = [("check_command", "bin/check".to_owned())];
    let words = Home::of(&[]).load_with(&flags).unwrap().check.unwrap().words.join("|");
    assert!(words.ends_with("home/project/src/bin/check"), "{words}");
}

#[test]
fn a_check_command_gets_only_harmless_variables() {
    let home = Home::of(&[])
        .with("PARALLEL_LLM_CHECK_COMMAND", "check 'it'")
        .with("OPENROUTER_API_KEY", "sk-or-secret")
        .with("LANG", "C.UTF-8")
        .with("TMPDIR", "/var/tmp");
    let check = home.load().check.unwrap();
    let environment: Vec<String> =
        check.environment.iter().map(|(name, value)| format!("{name}={}", value.display())).collect();
    assert_eq!(environment, ["LANG=C.UTF-8", "TMPDIR=/var/tmp"]);
    assert_eq!((check.timeout_ms, check.folder), (60_000, PathBuf::from("/var/tmp")));
    let other = Home::of(&[]).with("PARALLEL_LLM_CHECK_COMMAND", "check it").load().defaults();
    let split = Home::of(&[]).with("PARALLEL_LLM_CHECK_COMMAND", "checkit").load().defaults();
    assert_eq!(home.load().defaults().checker, other.checker, "the same words");
    assert_ne!(split.checker, other.checker);
}

#[test]
fn a_program_that_cannot_be_one_is_refused() {
    check_user(
        "check_command = 'check \"it'",
        "USER:1:17: `check_command` has a quote that is not closed | close the quote",
    );
    let advice = "correct the value at the place the message names";
    check_user("check_command = []", &format!("USER:1:17: `check_command` names no program | {advice}"));
    check_user(
        "check_command = 1",
        &format!(
            "USER:1:17: `check_command` is a list of strings or one string, not a whole number | {advice}"
        ),
    );
}

#[test]
fn a_line_as_people_write_it_is_shown_as_the_file_takes_it() {
    let no_quotes = "string values must be quoted, expected literal string";
    check_user("budget_usd = $3", &format!("USER:1:14: {no_quotes} | write it like `budget_usd = 3`"));
    check_user(
        "wait = 3",
        "USER:1:8: `wait` is `all`, `quorum:K`, `until:DURATION` or `stragglers`, not a whole number | write it like `wait = \"quorum:3\"`",
    );
}

#[test]
fn an_error_in_a_file_names_its_place() {
    let or_default = "correct the value, or leave it out to use the default";
    check_user("\n  pannel = ['a/b']", "USER:2:3: there is no setting `pannel` | did you mean `panel`?");
    check_user(
        "verbosity = 3",
        "USER:1:1: there is no setting `verbosity` | take it out, or see the name of every setting",
    );
    check_user(
        "max_tokens = 'many'",
        &format!("USER:1:14: `max_tokens` is a whole number from 1 to 1000000, not a string | {or_default}"),
    );
    check_user(
        "retries_max = -1",
        &format!("USER:1:15: `retries_max` is a whole number from 0 to 10, not `-1` | {or_default}"),
    );
    check_user(
        "# é\nwait = 'sometimes'",
        &format!(
            "USER:2:8: `wait` is `all`, `quorum:K`, `until:DURATION` or `stragglers`, not `sometimes` | {or_default}"
        ),
    );
    check_user(
        "store = 'ful'",
        "USER:1:9: `store` is one of `full`, `metadata`, `none`, not `ful` | did you mean `full`?",
    );
    check_user(
        "panel = ['a/b', 'c/d*0']",
        "USER:1:17: cannot read the model `c/d*0`: the number after `*` is between 1 and 64 | write it like `c/d*3`",
    );
    check_user(
        "panel = []",
        &format!(
            "USER:1:9: `panel` is a list of models, each `[provider:]model[*N][@key=value,...]`, not an empty one | {or_default}"
        ),
    );
}

#[test]
fn toml_that_does_not_parse_names_its_place() {
    let home = Home::of(&[(USER, "max_tokens = 1\nmax_tokens = 2\n")]);
    assert!(home.refusal(&[]).starts_with(&format!("{USER}:2:1: duplicate key")), "{}", home.refusal(&[]));
    let home = Home::of(&[(USER, "panel = [\n")]);
    assert!(home.refusal(&[]).starts_with(&format!("{USER}:1:")), "{}", home.refusal(&[]));
}

#[test]
fn an_error_in_the_environment_names_its_variable() {
    let home = Home::of(&[]).with("PARALLEL_LLM_MAX_TOKEN", "1");
    assert_eq!(
        home.refusal(&[]),
        "environment PARALLEL_LLM_MAX_TOKEN: there is no such setting | did you mean `PARALLEL_LLM_MAX_TOKENS`?"
    );
    let home = Home::of(&[]).with("PARALLEL_LLM_XYZZY", "1");
    assert_eq!(
        home.refusal(&[]),
        "environment PARALLEL_LLM_XYZZY: there is no such setting | unset `PARALLEL_LLM_XYZZY`, or see the name of every setting"
    );
    let home = Home::of(&[]).with("PARALLEL_LLM_LOG_LEVEL", "debgu");
    assert_eq!(
        home.refusal(&[]),
        "environment PARALLEL_LLM_LOG_LEVEL: `log_level` is one of `off`, `error`, `warn`, `info`, `debug`, `trace`, not `debgu` | did you mean `debug`?"
    );
    assert!(Home::of(&[]).with("PARALLEL_LLM_XYZZY", " ").load_with(&[]).is_ok());
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf_8_is_named() {
    let odd = || <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(vec![0x66, 0xff]);
    let mut home = Home::of(&[]);
    home.environment = home.environment.with("OPENROUTER_BASE_URL", odd());
    assert_eq!(
        home.refusal(&[]),
        "environment OPENROUTER_BASE_URL: the value is not valid UTF-8 | set `OPENROUTER_BASE_URL`"
    );
    // Other programs read keys too, so an unusable one is reported only when it is used.
    let mut home = Home::of(&[]);
    home.environment = home.environment.with("LM_API_TOKEN", odd());
    assert!(matches!(home.load().provider("lmstudio").unwrap().key, ProviderKey::Set { .. }));
}

#[test]
fn an_error_in_a_flag_names_it() {
    let home = Home::of(&[]);
    assert_eq!(
        home.refusal(&[("budget_usd", "much".to_owned())]),
        "flag --budget: `budget_usd` is an amount in US dollars such as `3` or `0.50`, not `much` | correct the value, or leave it out to use the default"
    );
    let unknown = home.refusal(&[("openrouter_key", "sk".to_owned())]);
    assert!(unknown.starts_with("`openrouter_key` cannot be set by a flag"), "{unknown}");
}

#[test]
fn a_project_file_sets_only_what_it_may() {
    check_project(
        "",
        "output_dir = '/tmp'",
        "PROJECT:1:1: a project file may not set `output_dir` | set `output_dir` in your own file or as `PARALLEL_LLM_OUTPUT_DIR`",
    );
    for name in [
        "data_dir",
        "log_file",
        "log_level",
        "drain_ms",
        "client_wall_ms",
        "provider_order",
        "provider_only",
        "provider_ignore",
        "service_tier",
        "app_title",
        "app_url",
        "ca_file",
        "issuer",
        "issuer_audience",
        "issuer_budget_day_usd",
        "issuer_requests_per_minute",
        "catalogue_max_age_ms",
        "check_command",
        "check_timeout_ms",
        "metrics",
        "otlp_endpoint",
        "otlp_content",
        "trace_calls",
    ] {
        let home = Home::of(&[(PROJECT, &format!("{name} = 'x'"))]);
        let expected = format!("{PROJECT}:1:1: a project file may not set `{name}` | ");
        assert!(home.refusal(&[]).starts_with(&expected), "{}", home.refusal(&[]));
    }
    check_project(
        "",
        "\n[providers.openrouter]\nbase_url = 'https://stranger.example'",
        "PROJECT:2:2: a project file may not set `providers`: an address from a stranger steals keys | take it out, or write it into your own file",
    );
}

#[test]
fn a_project_file_gives_no_seat_more_tokens_than_the_user() {
    for project in [
        "panel = ['lab/a@max_tokens=16001']",
        "synthesizer = 'lab/a@max_tokens=100000'",
        "[presets.own]\npanel = ['lab/b', 'lab/a*2@max_tokens=20000']",
    ] {
        let refusal = Home::of(&[(PROJECT, project)]).refusal(&[]);
        assert!(refusal.contains("a project file may not set `max_tokens` to"), "{project}: {refusal}");
        assert!(refusal.contains("you allow `16000` (default)"), "{project}: {refusal}");
    }
    let less = Home::of(&[(PROJECT, "panel = ['lab/a@max_tokens=15000']")]);
    assert_eq!(less.load().panel, ["lab/a@max_tokens=15000"]);
}

#[test]
fn a_project_file_cuts_no_answer_off() {
    for (name, value, own) in [
        ("connect_timeout_ms", "1", "`10000` (default)"),
        ("first_text_timeout_ms", "299999", "`300000` (default)"),
        ("idle_timeout_ms", "1", "`90000` (default)"),
        ("content_timeout_ms", "1", "`180000` (default)"),
        ("call_timeout_ms", "1", "`900000` (default)"),
        ("run_timeout_ms", "1", "`5000` (user file USER:1)"),
    ] {
        let variable = format!("PARALLEL_LLM_{}", name.to_uppercase());
        check_project(
            "run_timeout_ms = 5000",
            &format!("{name} = {value}"),
            &format!(
                "PROJECT:1:{}: a project file may not set `{name}` to `{value}`: you wait {own} | raise it, or set `{name}` in your own file or as `{variable}`",
                name.len() + 4
            ),
        );
    }
    let home = Home::of(&[
        (USER, "run_timeout_ms = 5000"),
        (PROJECT, "run_timeout_ms = 5000\nidle_timeout_ms = 90001"),
    ]);
    assert_eq!(home.load_with(&[]).unwrap().timers.idle_ms, 90_001);
}

#[test]
fn a_project_file_cannot_exceed_the_users_limits() {
    let tighten = |name: &str, variable: &str| {
        format!("tighten it, or set `{name}` in your own file or as `{variable}`")
    };
    check_project(
        "budget_usd = 2",
        "budget_usd = 2.01",
        &format!(
            "PROJECT:1:14: a project file may not set `budget_usd` to `2.01`: you allow `2` (user file USER:1) | {}",
            tighten("budget_usd", "PARALLEL_LLM_BUDGET_USD")
        ),
    );
    check_project(
        "",
        "[presets.big]\nbudget_usd = 100",
        &format!(
            "PROJECT:2:14: a project file may not set `budget_usd` to `100`: you allow `3` (default) | {}",
            tighten("budget_usd", "PARALLEL_LLM_BUDGET_USD")
        ),
    );
    for (name, own, above) in [("prompt_chars_max", "1000", "1001"), ("max_tokens", "500", "501")] {
        let variable = format!("PARALLEL_LLM_{}", name.to_uppercase());
        check_project(
            &format!("{name} = {own}"),
            &format!("{name} = {above}"),
            &format!(
                "PROJECT:1:{}: a project file may not set `{name}` to `{above}`: you allow `{own}` (user file USER:1) | {}",
                name.len() + 4,
                tighten(name, &variable)
            ),
        );
    }
    check_project(
        "attachment_bytes_max = 10",
        "zdr = true\nattachment_bytes_max = 11",
        &format!(
            "PROJECT:2:24: a project file may not set `attachment_bytes_max` to `11`: you allow `10` (user file USER:1) | {}",
            tighten("attachment_bytes_max", "PARALLEL_LLM_ATTACHMENT_BYTES_MAX")
        ),
    );
    let project = "budget_usd = 0.5\nprompt_chars_max = 10\nmax_tokens = 20\nzdr = true\ndata_collection = 'deny'\nprovider_fallbacks = false\nmax_output_usd_per_million = 5\nreasoning_effort = 'low'";
    let home = Home::of(&[(USER, "budget_usd = 2"), (PROJECT, project)]);
    let settings = home.load();
    assert_eq!((settings.prompt_chars_max, settings.max_tokens), (10, 20));
    assert_eq!(settings.budget, PicoUsd::from_decimal("0.5").unwrap());
    assert_eq!(
        settings.routing,
        Routing {
            zdr: true,
            data_collection: Some(DataCollection::Deny),
            fallbacks: Some(false),
            output_price_max: Some(PicoUsd::from_usd(5)),
            ..Routing::default()
        }
    );
    assert_eq!(settings.effort, Some(Effort::Low));
}

#[test]
fn a_project_file_loses_nothing_that_was_paid_for() {
    for line in ["store = 'none'", "store = 'full'", "files = 'off'", "session = 'off'"] {
        let name = line.split(' ').next().unwrap();
        let variable = format!("PARALLEL_LLM_{}", name.to_uppercase());
        let own = format!("set `{name}` in your own file or as `{variable}`");
        check_project("", line, &format!("PROJECT:1:1: a project file may not set `{name}` | {own}"));
    }
}

#[test]
fn a_projects_preset_cannot_exceed_the_users_preset_of_that_name() {
    let user = "[presets.cheap]\npanel = ['a/b']\nbudget_usd = 0.1\nmax_tokens = 100\n";
    for (line, column, wanted, allowed) in
        [("budget_usd = 2", 14, "2", "0.1"), ("max_tokens = 101", 14, "101", "100")]
    {
        let name = line.split(' ').next().unwrap();
        check_project(
            user,
            &format!("[presets.cheap]\n{line}"),
            &format!(
                "PROJECT:2:{column}: a project file may not set `{name}` to `{wanted}`: you allow `{allowed}` (user file USER:1) | tighten it, or set `{name}` in your own `[presets.cheap]`"
            ),
        );
    }
    let project = "[presets.cheap]\npanel = ['c/d']\nmax_tokens = 50\n[presets.other]\nmax_tokens = 500\n";
    let settings = Home::of(&[(USER, user), (PROJECT, project)]).load();
    let cheap = &settings.presets["cheap"];
    assert_eq!(cheap.panel, Some(vec!["c/d".to_owned()]));
    // What the project's preset leaves open still comes from the user's.
    assert_eq!((cheap.budget, cheap.max_tokens), (PicoUsd::from_decimal("0.1"), Some(50)));
    assert_eq!(settings.presets["other"].max_tokens, Some(500));
}

#[test]
fn a_project_file_does_not_choose_who_reads_a_question() {
    let refused = |project: &str, place: &str, name: &str, provider: &str| {
        check_project(
            "[providers.team]\nbase_url = 'https://a.b/v1'\n",
            project,
            &format!(
                "PROJECT:{place}: a project file may not set `{name}` to a model of `{provider}`: a stranger's project does not choose who reads a question | take it out, or name a model of `{provider}` in your own panel, synthesizer or a preset"
            ),
        );
    };
    refused("panel = ['a/b', 'mistral:x*2']", "1:17", "panel", "mistral");
    refused("synthesizer = 'a/b team:x'", "1:15", "synthesizer", "team");
    refused("\n[presets.p]\npanel = ['a/b',\n  'openai:x@temperature=1']", "4:3", "panel", "openai");
    refused("[presets.p]\nsynthesizer = ['ollama:x']", "2:16", "synthesizer", "ollama");
    // A colon alone names no provider, and every project may use the default provider.
    for project in ["panel = ['a/b:free', 'openrouter:c/d']", "panel = ['nobody:x']"] {
        assert!(Home::of(&[(PROJECT, project)]).load_with(&[]).is_ok(), "{project}");
    }
    // A provider that the user names anywhere gets the questions anyway.
    let project = "panel = ['mistral:x', 'team:y']\n[presets.p]\nsynthesizer = 'mistral:z'";
    for user in [
        "panel = ['mistral:a', 'team:b']\n",
        "synthesizer = 'team:b'\n[presets.mine]\npanel = ['mistral:a']\n",
    ] {
        let user = format!("{user}[providers.team]\nbase_url = 'https://a.b/v1'\n");
        assert!(Home::of(&[(USER, &user), (PROJECT, project)]).load_with(&[]).is_ok(), "{user}");
        // A flag changes the panel of one call, but not which providers the user trusts.
        let flags = [("panel", "a/b".to_owned())];
        assert!(Home::of(&[(USER, &user), (PROJECT, project)]).load_with(&flags).is_ok(), "{user}");
    }
    let named = Home::of(&[(PROJECT, "panel = ['mistral:x']")]).with("PARALLEL_LLM_SYNTHESIZER", "mistral:y");
    assert_eq!(named.load().panel, ["mistral:x"]);
}

#[test]
fn personas_are_the_users_own() {
    let user = "[personas.critic]\nsystem = \"\\n Find the\\nflaw. \"\nstance = 'against'\ntemperature = 0\neffort = 'low'\nmax_tokens = 9\n\n[personas.plain]\nstance = 'brevity wins'\n";
    let home = Home::of(&[(USER, user), (PROJECT, "panel = ['a/b@persona=critic']\n")]);
    let settings = home.load();
    let names: Vec<&str> = settings.personas.keys().map(String::as_str).collect();
    assert_eq!(names, ["critic", "plain", "proponent", "skeptic"]);
    let critic = &settings.personas["critic"];
    assert_eq!(critic.system.as_deref(), Some("Find the\nflaw."));
    assert_eq!(critic.options.effort, Some(Effort::Low));
    // A preset of the user replaces the built-in one completely.
    assert_eq!(settings.personas["plain"].system, None);
    let shown = |name: &str| home.shown(&settings, name);
    let critic = "system of 14 characters, stance against, temperature 0, effort low, max_tokens 9";
    assert_eq!(shown("personas.critic"), format!("{critic} (user file {USER}:1)"));
    assert_eq!(shown("personas.plain"), format!("stance of 12 characters (user file {USER}:8)"));
    check_project(
        "",
        "panel = ['a/b']\n[personas.x]\nsystem = 'Praise us.'",
        "PROJECT:2:2: a project file may not set `personas`: a stranger does not speak to models for you | take it out, or write it into your own file",
    );
}

#[test]
fn a_persona_that_cannot_be_read_names_its_place() {
    let as_table = "write it like `[personas.NAME]`";
    let too_long = "`system` is a text of 1 to 8000 characters | shorten it, or take it out";
    let at_place = "correct the value at the place the message names";
    let efforts = "`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`";
    check_user("personas = 1", &format!("USER:1:12: `personas` is a table, not a whole number | {as_table}"));
    check_user("[personas]\nx = 'y'", &format!("USER:2:5: `x` is a table, not a string | {as_table}"));
    check_user(
        "[personas.Critic]\nsystem = 'x'",
        "USER:1:11: the name of a persona has 1 to 40 lower-case letters, digits or `-`, not `Critic` | rename the persona",
    );
    let in_persona = |line: &str, expected: &str| check_user(&format!("[personas.x]\n{line}"), expected);
    in_persona(
        "",
        "USER:1:11: the persona `x` says nothing | give it a `system` or a `stance`, or take it out",
    );
    in_persona("system = 1", &format!("USER:2:10: `system` is a string, not a whole number | {at_place}"));
    in_persona("system = ' '", &format!("USER:2:10: {too_long}"));
    in_persona("system = \"\\u001b[2J\"", &format!("USER:2:10: {too_long}"));
    in_persona(
        "stance = \"a\\nb\"",
        "USER:2:10: `stance` is a line of 1 to 300 characters | shorten it, or take it out",
    );
    in_persona(
        "temperature = 3",
        "USER:2:15: `temperature` is a number from 0 to 2, not `3` | correct the value, or leave it out to use the default",
    );
    in_persona(
        "effort = 'hard'",
        &format!(
            "USER:2:10: `effort` is one of {efforts}, not `hard` | correct the value, or leave it out to use the default"
        ),
    );
    in_persona("sytem = 'y'", "USER:2:1: there is no setting `sytem` | did you mean `system`?");
    let long = |count| format!("system = '{}'", "x".repeat(count));
    assert!(Home::of(&[(USER, &format!("[personas.x]\n{}", long(8_000)))]).load_with(&[]).is_ok());
    in_persona(&long(8_001), &format!("USER:2:10: {too_long}"));
    let many = |count: usize| {
        let persona = |number| format!("[personas.p{number}]\nstance='for'\n");
        (0..count).map(persona).collect::<Vec<_>>().concat()
    };
    assert!(Home::of(&[(USER, &many(64))]).load_with(&[]).is_ok());
    check_user(&many(65), &format!("USER:1:2: there are 65 personas; at most 64 are read | {at_place}"));
}

#[test]
fn the_references_personas_are_read() {
    let settings = Home::of(&[(USER, super::reference::PERSONAS_EXAMPLE)]).load();
    let panel = settings.presets["review"].panel.as_ref().unwrap();
    assert_eq!((settings.personas.len(), panel.len()), (5, 3));
}

#[test]
fn aliases_are_the_users_own() {
    let user = "panel = ['team:a']\n[aliases]\nfast = 'lab/small*2'\nown = 'fast'\n[providers.team]\nbase_url = 'https://a.b/v1'\n";
    let home = Home::of(&[(USER, user), (PROJECT, "panel = ['own', 'fast@temperature=1']\n")]);
    let settings = home.load();
    assert_eq!(settings.aliases.names().collect::<Vec<_>>(), ["fast", "own"]);
    assert_eq!(home.shown(&settings, "aliases.own"), format!("fast (user file {USER}:4)"));
    assert_eq!(settings.aliases.expand("own"), "lab/small*2");
    check_project(
        "",
        "[aliases]\nfast = 'lab/small'",
        "PROJECT:1:2: a project file may not set `aliases`: a stranger does not choose what your names mean | take it out, or write it into your own file",
    );
    // A project cannot reach another provider by an alias of the user either.
    check_project(
        "[aliases]\nfast = 'mistral:x'",
        "panel = ['fast']",
        "PROJECT:1:10: a project file may not set `panel` to a model of `mistral`: a stranger's project does not choose who reads a question | take it out, or name a model of `mistral` in your own panel, synthesizer or a preset",
    );
}

#[test]
fn an_alias_that_cannot_be_one_names_its_place() {
    let in_table = |lines: &str, expected: &str| check_user(&format!("[aliases]\n{lines}"), expected);
    check_user(
        "aliases = 1",
        "USER:1:11: `aliases` is a table, not a whole number | write it like `[aliases]`",
    );
    in_table(
        "Fast = 'a/b'",
        "USER:2:1: the name of an alias has 1 to 40 lower-case letters, digits, `-`, `_` or `.`, not `Fast` | rename the alias",
    );
    in_table(
        "fast = 1",
        "USER:2:8: `fast` is a string, not a whole number | correct the value at the place the message names",
    );
    for circle in
        ["a = 'a'", "a = 'b'\nb = 'c'\nc = 'a'", "a = 'b:free'\nb = 'a*2'", "a = 'b'\nb = 'c'\nc = 'b'"]
    {
        in_table(
            circle,
            "USER:2:1: the alias `a` leads to no model: its aliases go in a circle | let it stand for a model",
        );
    }
    in_table("ollama = 'a/b'", "USER:2:1: the alias `ollama` has the name of a provider | rename the alias");
    in_table(
        "'gpt-6.1-sol' = 'x-ai/grok-4.7'",
        "USER:2:1: the alias `gpt-6.1-sol` hides the model `openai/gpt-6.1-sol` | rename the alias",
    );
    let same = "[aliases]\n'gpt-6.1-sol' = 'openai:gpt-6.1-sol'\nopus = '~anthropic/claude-opus-latest'";
    assert!(
        Home::of(&[(USER, same)]).load_with(&[]).is_ok(),
        "the same model at another provider is not hidden"
    );
    let many = |count: usize| {
        let alias = |number| format!("a{number} = 'a/b'\n");
        format!("[aliases]\n{}", (0..count).map(alias).collect::<Vec<_>>().concat())
    };
    assert!(Home::of(&[(USER, &many(64))]).load_with(&[]).is_ok());
    let at_place = "correct the value at the place the message names";
    check_user(&many(65), &format!("USER:1:1: there are 65 aliases; at most 64 are read | {at_place}"));
}

#[test]
fn the_user_tells_the_price_of_a_model_and_may_have_no_budget() {
    let user = format!("budget_usd = \"none\"\n{}", reference::PRICES_EXAMPLE);
    let settings = Home::of(&[(USER, &user)]).load();
    assert!(settings.budget.is_unlimited());
    let priced: Vec<String> = settings
        .prices
        .iter()
        .map(|(model, price)| {
            format!("{model} {} {} {}", price.input.0, price.output.0, price.request.as_usd())
        })
        .collect();
    assert_eq!(priced, ["openai:gpt-private 2000000 10000000 0", "lab/model 250000 1500000 0.001"]);
}

#[test]
fn a_price_that_is_not_whole_is_refused_and_so_is_one_of_a_project() {
    let half = "[prices]\n\"lab/model\" = { input_usd_per_million = 2 }";
    assert!(
        Home::of(&[(USER, half)])
            .refusal(&[])
            .contains("the price of `lab/model` needs both kinds of tokens")
    );
    let project = Home::of(&[(PROJECT, reference::PRICES_EXAMPLE)]).refusal(&[]);
    assert!(project.contains("a project file may not set `prices`"), "{project}");
    let none = Home::of(&[(PROJECT, "budget_usd = \"none\"")]).refusal(&[]);
    assert!(none.contains("a project file may not set `budget_usd` to `none`"), "{none}");
}

#[test]
fn the_references_aliases_are_read() {
    let settings = Home::of(&[(USER, reference::ALIASES_EXAMPLE)]).load();
    assert_eq!((settings.aliases.names().count(), settings.panel.len()), (2, 2));
}

#[test]
fn a_project_file_never_loosens_privacy() {
    check_project(
        "zdr = true",
        "zdr = false",
        "PROJECT:1:7: a project file may not set `zdr` to `off`: you allow `on` (user file USER:1) | tighten it, or set `zdr` in your own file or as `PARALLEL_LLM_ZDR`",
    );
    check_project(
        "",
        "data_collection = 'allow'",
        "PROJECT:1:19: a project file may not set `data_collection` to `allow`: it may only tighten it | tighten it, or set `data_collection` in your own file or as `PARALLEL_LLM_DATA_COLLECTION`",
    );
    for (user, project) in [
        ("data_collection = 'deny'", "data_collection = 'allow'"),
        ("provider_fallbacks = false", "provider_fallbacks = true"),
        ("", "provider_fallbacks = true"),
        ("max_input_usd_per_million = 1", "max_input_usd_per_million = 1.01"),
    ] {
        let home = Home::of(&[(USER, user), (PROJECT, project)]);
        assert!(home.refusal(&[]).contains("a project file may not set"), "{project}");
    }
}

#[test]
fn terms_are_read_from_the_environment_too() {
    let home = Home::of(&[])
        .with("PARALLEL_LLM_PROVIDER_ORDER", "deepinfra/turbo, together")
        .with("PARALLEL_LLM_PROVIDER_ONLY", "together")
        .with("PARALLEL_LLM_PROVIDER_IGNORE", "azure")
        .with("PARALLEL_LLM_SERVICE_TIER", "flex")
        .with("PARALLEL_LLM_SESSION", "seat")
        .with("PARALLEL_LLM_MAX_INPUT_USD_PER_MILLION", "0.5")
        .with("PARALLEL_LLM_REASONING_EFFORT", "xhigh")
        .with("PARALLEL_LLM_APP_TITLE", "off")
        .with("PARALLEL_LLM_APP_URL", "https://example.com");
    let settings = home.load();
    assert_eq!(
        settings.defaults().routing,
        Routing {
            order: vec!["deepinfra/turbo".into(), "together".into()],
            only: vec!["together".into()],
            ignore: vec!["azure".into()],
            service_tier: Some("flex".into()),
            session: Session::Seat,
            input_price_max: Some(PicoUsd::from_decimal("0.5").unwrap()),
            ..Routing::default()
        }
    );
    assert_eq!(settings.defaults().effort, Some(Effort::Xhigh));
    assert_eq!((settings.app_title, settings.app_url.as_deref()), (None, Some("https://example.com")));
    let titled = |text: &str| Home::of(&[(USER, text)]).load().app_title;
    assert_eq!([titled("app_title = ''"), titled("app_title = 'My app'")], [None, Some("My app".into())]);
    check_user(
        "provider_only = ['a b']",
        "USER:1:18: `provider_only` is a list of words, not `a b` | correct the value, or leave it out to use the default",
    );
}

#[test]
fn the_users_environment_overrides_a_project() {
    let home = Home::of(&[(PROJECT, "budget_usd = 2")]).with("PARALLEL_LLM_BUDGET_USD", "1");
    assert_eq!(home.load().budget, PicoUsd::from_usd(1));
}

#[test]
fn the_project_file_is_searched_up_to_the_repository_or_home() {
    let above = ("home/.parallel-llm.toml", "max_tokens = 7");
    assert_eq!(Home::of(&[above]).load().max_tokens, 7);
    // The root of a repository ends the search.
    assert_eq!(Home::of(&[above, ("home/project/.git/HEAD", "")]).load().max_tokens, 16_000);
    // A file above the home folder may be anyone's.
    assert_eq!(Home::of(&[(".parallel-llm.toml", "max_tokens = 7")]).load().max_tokens, 16_000);
    let home = Home::of(&[(".parallel-llm.toml", "max_tokens = 7")]);
    let outside = home.root.path().join("other");
    fs::create_dir(&outside).unwrap();
    assert_eq!(Settings::load(&home.environment, &outside, &[]).unwrap().max_tokens, 16_000);
}

#[test]
fn an_unreadable_file_is_refused_with_a_reason() {
    let next = "repair the file, or move it out of the way";
    check_user(
        &"#".repeat((1 << 20) + 1),
        &format!("cannot read `USER`: it is larger than 1048576 bytes | {next}"),
    );
    let folder = Home::of(&[(&format!("{USER}/x"), "")]);
    assert_eq!(folder.refusal(&[]), format!("cannot read `{USER}`: it is not a file | {next}"));
    let home = Home::of(&[]);
    fs::write(home.root.path().join(PROJECT), b"# \xff").unwrap();
    assert_eq!(
        home.refusal(&[]),
        format!("cannot read `{PROJECT}`: it is not valid UTF-8 from byte 2 | {next}")
    );
}

#[test]
fn the_environment_may_name_another_user_file() {
    let home = Home::of(&[("other.toml", "max_tokens = 7"), (USER, "max_tokens = 8")]);
    let path = home.root.path().join("other.toml");
    let home = home.with("PARALLEL_LLM_CONFIG", path.to_str().unwrap());
    assert_eq!(home.load().max_tokens, 7);
    let home = home.with("PARALLEL_LLM_CONFIG", "gone.toml");
    assert_eq!(
        home.refusal(&[]),
        "environment PARALLEL_LLM_CONFIG: there is no file `home/project/src/gone.toml` | write the file, or unset `PARALLEL_LLM_CONFIG`"
    );
}

#[test]
fn presets_come_from_files_too() {
    let user = (
        USER,
        "[presets.quick]\npanel = ['a/b']\ntemperature = 1\n[presets.mine]\nsynthesizer = ['c/d', 'e/f']\n",
    );
    let settings = Home::of(&[user]).load();
    assert_eq!(settings.presets.keys().collect::<Vec<_>>(), ["budget", "default", "max", "mine", "quick"]);
    let (mut request, mut defaults) = (parallel_llm_engine::RunRequest::default(), settings.defaults());
    settings.presets["quick"].fill(&mut request, &mut defaults);
    settings.presets["mine"].fill(&mut request, &mut defaults);
    assert_eq!(
        (defaults.panel, defaults.synthesizers),
        (vec!["a/b".into()], vec!["c/d".into(), "e/f".into()])
    );
    assert_eq!((request.temperature, defaults.max_tokens), (Some(1.0), 16_000));

    let unknown = |name| settings.named(name).unwrap_err();
    assert_eq!(unknown("quik").message, "there is no preset or flow `quik`");
    assert_eq!(unknown("quik").next_step(), "did you mean `quick`?");
    assert_eq!(unknown("zzz").next_step(), "choose one of: budget, default, max, mine, quick");
}

#[test]
fn presets_are_read_as_strictly() {
    check_user(
        "[presets.x]\nmax_token = 1",
        "USER:2:1: there is no setting `max_token` | did you mean `max_tokens`?",
    );
    check_user(
        "[presets.x]\ntemperature = 3",
        "USER:2:15: `temperature` is a number from 0 to 2, not `3` | correct the value, or leave it out to use the default",
    );
    check_user(
        "[presets.'a b']\n",
        "USER:1:10: the name of a preset has 1 to 40 letters, digits, `-` or `_`, not `a b` | rename the preset",
    );
    check_user(
        "presets = 1",
        "USER:1:11: `presets` is a table, not a whole number | write it like `[presets.NAME]`",
    );
}

#[test]
fn without_a_home_the_data_folder_must_be_named() {
    let failure = Settings::load(&Environment::default(), Path::new("/"), &[]).unwrap_err();
    assert_eq!(failure.message, "there is no home folder to keep runs in");
    assert_eq!(failure.next_step(), "choose another data folder with `PARALLEL_LLM_DATA_DIR`");
    let environment = Environment::default().with("PARALLEL_LLM_DATA_DIR", "/runs");
    assert_eq!(Settings::load(&environment, Path::new("/"), &[]).unwrap().data_dir, Path::new("/runs"));
}

#[test]
fn the_references_example_is_read() {
    let settings = Home::of(&[(USER, reference::EXAMPLE)]).load();
    assert_eq!((settings.panel.len(), settings.wait), (3, Wait::Seats { count: 3 }));
    assert!(settings.presets.contains_key("fast"));
}

#[test]
fn every_default_is_there() {
    for (setting, entry) in Layer::defaults().entries() {
        assert_eq!(matches!(entry.value, Value::Unset), setting.default().is_empty(), "{}", setting.name());
    }
}
