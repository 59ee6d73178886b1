//! Providers in the settings, through [`Settings::load`]: tables in the user's file, variables, stored keys.

use parallel_llm_provider::{Dialect, Known};
use secrecy::ExposeSecret;

use super::*;

const KEYS: &str = "home/.config/parallel-llm-mcp/keys.toml";

/// A resolved provider on one line.
fn described(settings: &Settings, name: &str) -> String {
    let provider = settings.provider(name).unwrap();
    let key = match &provider.key {
        ProviderKey::Missing => "no key".to_owned(),
        ProviderKey::Set { key, origin: Origin::Environment(name) } => {
            format!("{name}={}", key.expose_secret())
        }
        ProviderKey::Set { key, .. } => format!("kept={}", key.expose_secret()),
        ProviderKey::Command(words) => format!("command={}", words.join("|")),
    };
    let headers = provider.headers.iter().map(|(name, value)| format!(" {name}={}", value.expose_secret()));
    let calls = provider.calls_max.map(|calls| format!(" calls={calls}")).unwrap_or_default();
    let base_url = provider.base_url.as_deref().unwrap_or("nowhere");
    format!("{base_url} {key}{}{calls}", headers.collect::<String>())
}

/// A home with this user file and these variables.
fn home(user: &str, variables: &[(&str, &str)]) -> Home {
    let home = Home::of(&[(USER, user)]);
    variables.iter().fold(home, |home, (name, value)| home.with(name, value))
}

fn check(user: &str, variables: &[(&str, &str)], name: &str, expected: &str) {
    assert_eq!(described(&home(user, variables).load(), name), expected, "{user} {variables:?}");
}

/// The lines of `config show --origin` that are about providers.
fn shown(home: &Home) -> Vec<String> {
    let settings = home.load();
    let lines = settings.shown().iter().filter(|shown| shown.name.starts_with("providers."));
    lines
        .map(|line| {
            home.scrub(&format!("{} = {} ({})", &line.name["providers.".len()..], line.value, line.origin))
        })
        .collect()
}

#[test]
fn every_known_provider_is_there_and_the_default_first() {
    let settings = home("[providers.team]\nbase_url = 'https://a.b/v1'", &[]).load();
    let ids: Vec<&str> = settings.providers.iter().map(|provider| provider.id.0.as_str()).collect();
    let known: Vec<&str> = Known::ALL.iter().map(|known| known.id).chain(["team"]).collect();
    assert_eq!(ids, known);
    assert_eq!(settings.default_provider().id.0, "openrouter");
    check("", &[], "openrouter", "https://openrouter.ai/api/v1 no key");
    check("", &[], "azure", "nowhere no key");
    check("", &[], "ollama", "http://127.0.0.1:11434/v1 no key calls=1");
    let unknown = settings.provider("mistrl").unwrap_err();
    assert_eq!(
        (unknown.message.as_str(), &*unknown.next_step()),
        ("there is no provider `mistrl`", "did you mean `mistral`?")
    );
}

#[test]
fn the_environment_overrides_the_file() {
    check("", &[("MISTRAL_API_KEY", " k1 ")], "mistral", "https://api.mistral.ai/v1 MISTRAL_API_KEY=k1");
    check("", &[("MISTRAL_API_KEY", " \n")], "mistral", "https://api.mistral.ai/v1 no key");
    let user =
        "[providers.openai]\nbase_url = 'https://proxy.example/v1'\nkey_command = 'pass llm'\ncalls_max = 3";
    check(user, &[], "openai", "https://proxy.example/v1 command=pass|llm calls=3");
    let variables = [("OPENAI_BASE_URL", "http://127.0.0.1:4000"), ("OPENAI_API_KEY", "k")];
    check(user, &variables, "openai", "http://127.0.0.1:4000/v1 OPENAI_API_KEY=k calls=3");
    let azure = [("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")];
    check("", &azure, "azure", "https://x.openai.azure.com/openai/v1 no key");
}

#[test]
fn a_provider_of_ones_own_is_a_table() {
    let user = "[providers.team-1]\nbase_url = 'https://a.b'\nkey_variable = 'TEAM_KEY'\nheaders = { X-Team = 'blue' }\n";
    check(user, &[("TEAM_KEY", "k")], "team-1", "https://a.b TEAM_KEY=k x-team=blue");
    let settings = home(user, &[]).load();
    assert_eq!(settings.provider("team-1").unwrap().dialect, Dialect::OPENAI_COMPATIBLE);
    // A provider modelled on a known one has its address and path, but not its key.
    let user = "[providers.work]\nkind = 'openai'\nkey_command = ['pass', 'show', 'a b']";
    let home = home(user, &[("OPENAI_API_KEY", "k")]);
    assert_eq!(described(&home.load(), "work"), "https://api.openai.com/v1 command=pass|show|a b");
    assert_eq!(home.load().provider("work").unwrap().dialect, Dialect::OPENAI);
}

#[test]
fn openrouters_variable_may_name_another_server() {
    let dialect =
        |base_url: &str| home("", &[("OPENROUTER_BASE_URL", base_url)]).load().default_provider().dialect;
    assert_eq!(dialect("http://127.0.0.1:1/api/v1"), Dialect::OPENROUTER);
    assert_eq!(dialect("http://127.0.0.1:1/v1"), Dialect::OPENAI_COMPATIBLE);
}

#[test]
fn a_kept_key_is_the_last_to_be_asked_for() {
    let files = [
        (KEYS, "[providers]\nmistral = 'k1'\nteam = \"k2\"\ngone = 'k3'\n"),
        (USER, "[providers.team]\nbase_url = 'https://a.b/v1'\n"),
    ];
    let home = private(Home::of(&files));
    assert_eq!(described(&home.load(), "mistral"), "https://api.mistral.ai/v1 kept=k1");
    assert_eq!(described(&home.load(), "team"), "https://a.b/v1 kept=k2");
    let home = home.with("MISTRAL_API_KEY", "k4");
    assert_eq!(described(&home.load(), "mistral"), "https://api.mistral.ai/v1 MISTRAL_API_KEY=k4");
    let kept = format!("team.key = set (kept in {KEYS})");
    assert!(shown(&home).contains(&kept), "{:?}", shown(&home));
}

/// The same home, with stored keys that only their owner can read.
fn private(home: Home) -> Home {
    #[cfg(unix)]
    for (path, mode) in [(KEYS, 0o600), ("home/.config/parallel-llm-mcp", 0o700)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(home.root.path().join(path), mode).unwrap();
    }
    home
}

#[cfg(unix)]
#[test]
fn kept_keys_that_others_may_reach_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let kept = || private(Home::of(&[(KEYS, "[providers]\nmistral = 'k1'\n")]));
    let with_mode = |path: &str, mode: u32| {
        let home = kept();
        fs::set_permissions(home.root.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
        home.refusal(&[])
    };
    let refused = format!("the file of kept keys `{KEYS}` is refused: ");
    for mode in [0o640, 0o604, 0o620] {
        assert_eq!(
            with_mode(KEYS, mode),
            format!(
                "{refused}others may read or write it (renew the keys if somebody did) | run `chmod 600 {KEYS}`"
            )
        );
    }
    let folder = "home/.config/parallel-llm-mcp";
    assert_eq!(
        with_mode(folder, 0o770),
        format!("{refused}others may write its folder | run `chmod 700 {folder}`")
    );
    let home = kept();
    let path = home.root.path().join(KEYS);
    fs::rename(&path, path.with_extension("elsewhere")).unwrap();
    std::os::unix::fs::symlink(path.with_extension("elsewhere"), &path).unwrap();
    assert_eq!(home.refusal(&[]), format!("{refused}it is a link or no plain file | move it away"));
}

#[test]
fn kept_keys_that_cannot_be_read_are_not_shown() {
    for text in [
        "[providers]\nmistral = k-secret",
        "mistral = 'k-secret'",
        "[providers]\nmistral = 1",
        "[providers]\n'A b' = 'k'",
    ] {
        let home = private(Home::of(&[(KEYS, text)]));
        assert_eq!(
            home.refusal(&[]),
            format!(
                "the kept keys in `{KEYS}` cannot be read | repair the file, or move the file away and set the keys again"
            )
        );
    }
    let home = private(Home::of(&[(KEYS, &"#".repeat(65 * 1024))]));
    assert!(home.refusal(&[]).contains("it is larger than 65536 bytes"), "{}", home.refusal(&[]));
}

#[test]
fn shown_settings_are_those_given_without_secrets() {
    let user = "[providers.team]\nbase_url = 'https://a.b/v1'\nkind = 'vllm'\nkey_command = ['pass', 'secret-word']\nheaders = { X-Team = 'secret-blue', X-B = 'c' }\ncalls_max = 2\n[providers.work]\nkind = 'groq'\nkey_variable = 'WORK_KEY'\n";
    let variables = [
        ("OPENROUTER_API_KEY", "secret-or"),
        ("GROQ_BASE_URL", "https://me:secret@a.b/v1?k=secret"),
        ("WORK_KEY", "secret-w"),
    ];
    let home = home(user, &variables);
    insta::assert_snapshot!(shown(&home).join("\n"), @"
    openrouter.key = set (environment OPENROUTER_API_KEY)
    openrouter.base_url = https://openrouter.ai/api/v1 (default)
    groq.base_url = https://a.b/v1 (environment GROQ_BASE_URL)
    team.key = set (user file home/.config/parallel-llm-mcp/config.toml:4)
    team.base_url = https://a.b/v1 (user file home/.config/parallel-llm-mcp/config.toml:2)
    team.kind = vllm (user file home/.config/parallel-llm-mcp/config.toml:3)
    team.key_command = pass (user file home/.config/parallel-llm-mcp/config.toml:4)
    team.calls_max = 2 (user file home/.config/parallel-llm-mcp/config.toml:6)
    team.headers = x-team x-b (user file home/.config/parallel-llm-mcp/config.toml:5)
    work.key = set (environment WORK_KEY)
    work.kind = groq (user file home/.config/parallel-llm-mcp/config.toml:8)
    work.key_variable = WORK_KEY (user file home/.config/parallel-llm-mcp/config.toml:9)
    ");
    assert!(!format!("{:?}", home.load()).contains("secret-blue"));
    assert!(!format!("{:?}", home.load()).contains("secret-w\""));
    assert_eq!(
        shown(&Home::of(&[])),
        [
            "openrouter.key = not set (default)",
            "openrouter.base_url = https://openrouter.ai/api/v1 (default)"
        ]
    );
}

#[test]
fn an_error_in_a_table_names_its_place() {
    let names = "openrouter, openai, anthropic, gemini, azure, groq, deepseek, xai, mistral, together, moonshot, ollama, lmstudio, vllm, openai-compatible, anthropic-chat, gemini-chat";
    let with = |line: &str| format!("[providers.team]\n{line}\n");
    check_user(
        "providers = 1",
        "USER:1:13: `providers` is a table, not a whole number | write it like `[providers.NAME]`",
    );
    check_user(
        "[providers]\nteam = 1",
        "USER:2:8: `team` is a table, not a whole number | write it like `[providers.NAME]`",
    );
    for name in ["Team", "a:b", "a_b", "", "-a", &"a".repeat(41)] {
        check_user(
            &format!("[providers.'{name}']"),
            &format!(
                "USER:1:12: the name of a provider has 1 to 40 lower-case letters, digits or `-` and begins with no `-`, not `{name}` | rename the provider"
            ),
        );
    }
    check_user(&with("base_ul = 'x'"), "USER:2:1: there is no setting `base_ul` | did you mean `base_url`?");
    check_user(
        &with("calls_max = 2"),
        "USER:1:12: the provider `team` has no `base_url` | write its address, such as `https://example.com/v1`",
    );
    check_user(
        &with("kind = 'mistrl'"),
        "USER:2:8: there is no kind of provider `mistrl` | did you mean `mistral`?",
    );
    check_user(
        &with("kind = 'zzzz'"),
        &format!("USER:2:8: there is no kind of provider `zzzz` | choose one of: {names}"),
    );
    check_user(
        &with("calls_max = 0"),
        "USER:2:13: `calls_max` is a whole number from 1 to 65536, not `0` | correct the value, or leave it out to use the default",
    );
    for key in ["key", "api_key"] {
        check_user(
            &with(&format!("{key} = 'k'")),
            "USER:2:1: a key is never read from this file: it would be in every copy of it | keep the key with `keys set team`, or name its variable with `key_variable`",
        );
    }
}

#[test]
fn an_address_in_a_file_is_refused_with_its_location() {
    let with = |text: &str| format!("[providers.team]\nbase_url = '{text}'\n");
    let written = "write it like `https://openrouter.ai/api/v1`";
    check_user(
        &with("a.b"),
        &format!("USER:2:12: the base URL of `team` does not begin with `https://` or `http://` | {written}"),
    );
    check_user(
        &with("https://u:p@a.b"),
        &format!("USER:2:12: the base URL of `team` holds a user name or a password | {written}"),
    );
    let home = Home::of(&[(USER, &with("http://a.b/v1"))]);
    let failure = home.load_with(&[]).unwrap_err();
    assert_eq!(failure.code, Code::InsecureUrl);
    assert_eq!(
        home.scrub(&failure.message),
        format!("{USER}:2:12: the base URL of `team` uses plain http to `a.b`")
    );
    // Variables are checked only when they are used, because other programs read them too.
    assert!(home_with_odd_variables().load_with(&[]).is_ok());
}

fn home_with_odd_variables() -> Home {
    home(
        "",
        &[
            ("OPENAI_BASE_URL", "http://litellm:4000"),
            ("OLLAMA_BASE_URL", "localhost"),
            ("GROQ_API_KEY", "a b"),
        ],
    )
}

#[test]
fn a_key_is_bound_to_its_host() {
    let elsewhere = |variable: &str| {
        format!("[providers.team]\nbase_url = 'https://a.b/v1'\nkey_variable = '{variable}'\n")
    };
    check_user(
        &elsewhere("MISTRAL_API_KEY"),
        "USER:3:16: `MISTRAL_API_KEY` holds the key of `mistral`, which goes to that provider's host only | keep this provider's key in a variable of another name",
    );
    // A key may go to the provider's own host, and to the host that the user has set.
    let at_home = "[providers.eu]\nkind = 'mistral'\nkey_variable = 'MISTRAL_API_KEY'\n";
    check(at_home, &[("MISTRAL_API_KEY", "k")], "eu", "https://api.mistral.ai/v1 MISTRAL_API_KEY=k");
    let moved = elsewhere("MISTRAL_API_KEY") + "[providers.mistral]\nbase_url = 'https://a.b/v2'\n";
    check(&moved, &[("MISTRAL_API_KEY", "k")], "team", "https://a.b/v1 MISTRAL_API_KEY=k");
    // The user's own file may change the host of a known provider and the source of its key.
    let own = "[providers.mistral]\nkey_variable = 'MY_KEY'\n";
    check(
        own,
        &[("MY_KEY", "k"), ("MISTRAL_API_KEY", "other")],
        "mistral",
        "https://api.mistral.ai/v1 MY_KEY=k",
    );
    // The dialect of a known provider changes neither its host nor its key.
    let with_kind = |id: &str, kind: &str| format!("[providers.{id}]\nkind = '{kind}'\n");
    let keys = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
    check(&with_kind("openai", "vllm"), &keys, "openai", "https://api.openai.com/v1 OPENAI_API_KEY=k");
    let anthropic = "https://api.anthropic.com/v1 ANTHROPIC_API_KEY=k";
    check(&with_kind("anthropic", "anthropic-chat"), &keys, "anthropic", anthropic);
    check(&with_kind("anthropic", "ollama"), &keys, "anthropic", anthropic);
    for (variable, expected) in [
        (
            "sk-or-v1-0000",
            "`key_variable` is the name of a variable: letters, digits and `_` | write the name, not the key",
        ),
        (
            "PARALLEL_LLM_X",
            "`key_variable` may not be `PARALLEL_LLM_X`, which is a setting | keep this provider's key in a variable of another name",
        ),
        (
            "OPENAI_BASE_URL",
            "`key_variable` may not be `OPENAI_BASE_URL`, which is a setting | keep this provider's key in a variable of another name",
        ),
    ] {
        check_user(&elsewhere(variable), &format!("USER:3:16: {expected}"));
    }
}

#[test]
fn a_header_never_replaces_a_key() {
    let with =
        |header: &str| format!("[providers.team]\nbase_url = 'https://a.b/v1'\nheaders = {{ {header} }}\n");
    for name in [
        "Authorization",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "Proxy-Authorization",
        "Cookie",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "content-type",
        "Accept",
        "Connection",
    ] {
        check_user(
            &with(&format!("{name} = 'x'")),
            &format!(
                "USER:3:13: the header `{}` is not yours to set | take it out; a key belongs into the key file, `key_variable` or `key_command`",
                name.to_lowercase()
            ),
        );
    }
    let home = Home::of(&[(USER, &with("X-A = \"secret\\nX-B: c\""))]);
    assert_eq!(
        home.refusal(&[]),
        format!(
            "{USER}:3:19: the value of the header `x-a` is not 1 to 4096 visible ASCII characters | correct the value at the place the message names"
        )
    );
    assert!(
        Home::of(&[(USER, &with("'a b' = 'c'"))])
            .refusal(&[])
            .contains("`a b` cannot be the name of a header")
    );
    assert!(
        Home::of(&[(USER, &with("X-A = 1"))]).refusal(&[]).contains("`X-A` is a string, not a whole number")
    );
}

#[test]
fn a_command_is_split_but_no_shell_runs_it() {
    let with =
        |command: &str| format!("[providers.team]\nbase_url = 'https://a.b/v1'\nkey_command = {command}\n");
    let read = |command: &str| described(&home(&with(command), &[]).load(), "team");
    assert_eq!(
        read(r#""pass show 'llm team' '$HOME > x'""#),
        "https://a.b/v1 command=pass|show|llm team|$HOME > x"
    );
    assert_eq!(read(r#"["/usr/bin/pass", "a b"]"#), "https://a.b/v1 command=/usr/bin/pass|a b");
    for (command, expected) in [
        (r#""pass 'x""#, "`key_command` has a quote that is not closed | close the quote"),
        (
            r#""pass show llm | head -1""#,
            "`key_command` is run without a shell, which alone understands `|` | quote it to use it literally, or run a shell: `sh -c '...'`",
        ),
        (
            "1",
            "`key_command` is a list of strings or one string, not a whole number | correct the value at the place the message names",
        ),
        ("[1]", "`key_command` is a list of strings | correct the value at the place the message names"),
        ("''", "`key_command` names no program | correct the value at the place the message names"),
        ("[]", "`key_command` names no program | correct the value at the place the message names"),
        (
            "'./pass'",
            "the program `./pass` of `key_command` has no whole path | write its whole path, or its name alone",
        ),
    ] {
        check_user(&with(command), &format!("USER:3:15: {expected}"));
    }
}

#[test]
fn the_references_tables_are_read() {
    let settings = home(super::super::reference::TABLES_EXAMPLE, &[]).load();
    assert_eq!(
        described(&settings, "team"),
        "https://llm.example.com/v1 command=pass|show|llm/team x-team=blue calls=8"
    );
    assert_eq!(described(&settings, "openai-work"), "https://api.openai.com/v1 no key");
}
