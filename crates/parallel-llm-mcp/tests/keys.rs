//! `keys`: stored keys and tokens, their files, and that none is ever shown.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use parallel_llm_testkit::{Call, Output, Sandbox};

const KEYS_FILE: &str = ".config/parallel-llm-mcp/keys.toml";
const LOCK_FILE: &str = ".config/parallel-llm-mcp/keys.lock";
const MODEL: &str = "x-ai/grok-4.7";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// The program without any key in its environment.
fn call<'a>(sandbox: &'a Sandbox, arguments: &[&str]) -> Call<'a> {
    sandbox.call(arguments).without("OPENROUTER_API_KEY")
}

/// The output of a call; it never contains the key.
fn run(call: Call<'_>) -> Output {
    let output = call.run();
    output.assert_no_key();
    output
}

/// Stores the simulator's key for a provider.
fn store_key(sandbox: &Sandbox, provider: &str) -> Output {
    run(call(sandbox, &["keys", "set", provider]).stdin(format!("{}\n", sandbox.simulator().api_key())))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("the file exists").permissions().mode() & 0o777
}

#[test]
fn a_stored_key_is_used_and_only_its_owner_may_read_it() {
    let sandbox = sandbox();
    insta::assert_snapshot!(store_key(&sandbox, "openrouter").transcript(), @"
    exit 0
    --- stdout
    --- stderr
    the key of `openrouter` is kept in <home>/.config/parallel-llm-mcp/keys.toml
    ");
    let file = sandbox.home().join(KEYS_FILE);
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let asked = run(call(&sandbox, &["ask", "-q", "-m", MODEL, "Why?"]));
    assert_eq!((asked.code, sandbox.asked(MODEL)), (Some(0), 1), "{}", asked.stderr);
    let key = sandbox.simulator().api_key().as_bytes().to_vec();
    for (path, bytes) in sandbox.files() {
        let holds = bytes.windows(key.len()).any(|window| window == key);
        assert_eq!(holds, path == Path::new(KEYS_FILE), "{}", path.display());
    }
    let names = sandbox.files().into_iter().map(|(path, _)| path).filter(|path| path.starts_with(".config"));
    let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
    assert_eq!(names, [LOCK_FILE, KEYS_FILE]);
    assert_eq!(mode(&sandbox.home().join(LOCK_FILE)), 0o600);
}

#[test]
fn set_names_the_key_that_is_replaced_and_the_variable_that_takes_precedence() {
    let sandbox = sandbox();
    store_key(&sandbox, "openrouter");
    let variable = ("OPENROUTER_API_KEY", sandbox.simulator().api_key());
    let again = call(&sandbox, &["keys", "set", "openrouter"]).env(variable.0, variable.1).stdin("0000-0000");
    insta::assert_snapshot!(run(again).transcript(), @"
    exit 0
    --- stdout
    --- stderr
    the key of `openrouter` is kept in <home>/.config/parallel-llm-mcp/keys.toml, in place of the one kept before
    `OPENROUTER_API_KEY` goes before it as long as it is set
    ");
    let listed = run(sandbox.call(["keys", "list"]));
    insta::assert_snapshot!(listed.text().lines().next().unwrap_or_default(), @"openrouter  variable OPENROUTER_API_KEY");
}

#[test]
fn the_list_names_the_source_of_each_key() {
    let sandbox = sandbox();
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "[providers.team]\nbase_url = 'https://llm.example.com/v1'\nkey_command = ['pass', 'show', 'secret']\n[providers.bare]\nbase_url = 'https://bare.example.com/v1'\n",
    );
    let kept = run(call(&sandbox, &["keys", "set", "mistral"]).stdin("0000-1111"));
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    store_key(&sandbox, "bare");
    let list = || call(&sandbox, &["keys", "list"]).env("GROQ_API_KEY", "0000");
    insta::assert_snapshot!(run(list()).transcript(), @"
    exit 0
    --- stdout
    openrouter  none: set `OPENROUTER_API_KEY`, or keep the key with `parallel-llm-mcp keys set openrouter`
    openai      none: set `OPENAI_API_KEY`, or keep the key with `parallel-llm-mcp keys set openai`
    anthropic   none: set `ANTHROPIC_API_KEY`, or keep the key with `parallel-llm-mcp keys set anthropic`
    gemini      none: set `GEMINI_API_KEY`, or keep the key with `parallel-llm-mcp keys set gemini`
    azure       none: set `AZURE_OPENAI_API_KEY`, or keep the key with `parallel-llm-mcp keys set azure`
    groq        variable GROQ_API_KEY
    deepseek    none: set `DEEPSEEK_API_KEY`, or keep the key with `parallel-llm-mcp keys set deepseek`
    xai         none: set `XAI_API_KEY`, or keep the key with `parallel-llm-mcp keys set xai`
    mistral     kept
    together    none: set `TOGETHER_API_KEY`, or keep the key with `parallel-llm-mcp keys set together`
    moonshot    none: set `MOONSHOT_API_KEY`, or keep the key with `parallel-llm-mcp keys set moonshot`
    ollama      none, and none is needed
    lmstudio    none, and none is needed
    vllm        none, and none is needed
    bare        kept
    team        command pass
    --- stderr
    ");
    let listed = run(list().arg("--json")).json();
    let line = |id: &str| {
        let keys = listed["keys"].as_array().expect("there are keys");
        keys.iter().find(|line| line["provider"] == id).expect("it is listed").to_string()
    };
    insta::assert_snapshot!(["groq", "mistral", "ollama", "team"].map(line).join("\n"), @r#"
    {"configured":true,"name":"Groq","needed":true,"program":null,"provider":"groq","source":"variable","variable":"GROQ_API_KEY"}
    {"configured":true,"name":"Mistral","needed":true,"program":null,"provider":"mistral","source":"kept","variable":"MISTRAL_API_KEY"}
    {"configured":true,"name":"Ollama","needed":false,"program":null,"provider":"ollama","source":"none","variable":"OLLAMA_API_KEY"}
    {"configured":true,"name":"team","needed":true,"program":"pass","provider":"team","source":"command","variable":null}
    "#);
}

#[test]
fn a_key_outlives_its_provider_and_can_be_removed() {
    let sandbox = sandbox();
    let settings = sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "[providers.team]\nbase_url = 'https://a.example/v1'\n",
    );
    store_key(&sandbox, "team");
    fs::remove_file(settings).unwrap();
    let listed = run(call(&sandbox, &["keys", "list"]));
    insta::assert_snapshot!(listed.text().lines().last().unwrap_or_default(), @"team        kept, but there is no such provider: type `parallel-llm-mcp keys remove team`");
    insta::assert_snapshot!(run(call(&sandbox, &["keys", "remove", "team"])).transcript(), @"
    exit 0
    --- stdout
    --- stderr
    the key of `team` is no longer in <home>/.config/parallel-llm-mcp/keys.toml
    ");
    insta::assert_snapshot!(run(call(&sandbox, &["keys", "remove", "mistral"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: no key of `mistral` is kept
      next: see what is kept with `parallel-llm-mcp keys list`
    ");
    sandbox.assert_no_key_in_files();
}

#[test]
fn keys_that_are_set_concurrently_are_all_stored() {
    let sandbox = sandbox();
    // Another file at the name of a temporary file is left alone.
    let other = sandbox.write(".config/parallel-llm-mcp/keys.toml.new", "not ours");
    let providers = ["openai", "anthropic", "gemini", "groq", "deepseek", "xai", "mistral", "together"];
    let running = providers.map(|provider| {
        let key = format!("0000-{provider}");
        (provider, call(&sandbox, &["keys", "set", provider]).stdin(key).start())
    });
    for (provider, running) in running {
        let output = running.wait();
        assert_eq!(output.code, Some(0), "{provider}: {}", output.stderr);
    }
    let kept = fs::read_to_string(sandbox.home().join(KEYS_FILE)).unwrap();
    for provider in providers {
        assert!(kept.contains(&format!("{provider} = \"0000-{provider}\"\n")), "{provider}: {kept}");
    }
    assert_eq!(fs::read_to_string(other).unwrap(), "not ours");
}

#[test]
fn keys_too_long_to_be_read_back_are_not_stored() {
    let sandbox = sandbox();
    let set = |provider: &str, length: usize| {
        run(call(&sandbox, &["keys", "set", provider]).stdin(format!("{}\n", "0".repeat(length))))
    };
    for length in [4_095, 16 * 1024, 100_000] {
        let output = set("mistral", length);
        assert!(!output.stderr.contains("0000"), "{}", output.stderr);
        insta::allow_duplicates! {
            insta::assert_snapshot!(output.transcript(), @"
            exit 2
            --- stdout
            --- stderr
            error[usage]: the key is longer than 4095 bytes
              next: give only the key, and nothing else
            ");
        }
    }
    assert!(sandbox.files().is_empty(), "nothing was kept: {:?}", sandbox.files());
    // Very long keys of many providers reach the limit of the file, which then stays as it was.
    let table = |at: usize| format!("[providers.p{at}]\nbase_url = 'https://a.example/v1'\n");
    let tables: Vec<String> = (0..17).map(table).collect();
    sandbox.write(".config/parallel-llm-mcp/config.toml", tables.concat());
    let codes: Vec<Option<i32>> = (0..16).map(|at| set(&format!("p{at}"), 4_094).code).collect();
    assert_eq!(codes[..15], [Some(0); 15]);
    insta::assert_snapshot!(set("p16", 4_094).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the kept keys would be longer than 65536 bytes
      next: take others away with `parallel-llm-mcp keys remove`
    ");
    assert_eq!(set("p0", 4).code, Some(0), "a shorter key in place of a long one");
    assert_eq!(run(call(&sandbox, &["keys", "list"])).code, Some(0));
}

#[test]
fn an_invalid_key_or_provider_is_refused() {
    let sandbox = sandbox();
    insta::assert_snapshot!(store_key(&sandbox, "mistrl").transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no provider `mistrl`
      next: did you mean `mistral`?
    ");
    insta::assert_snapshot!(run(call(&sandbox, &["keys", "remove", "opnrouter"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no provider `opnrouter`
      next: did you mean `openrouter`?
    ");
    let set = |stdin: &[u8]| run(call(&sandbox, &["keys", "set", "mistral"]).stdin(stdin)).transcript();
    insta::assert_snapshot!(set(b" \n"), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: no key was given
      next: type `parallel-llm-mcp keys set mistral < FILE`
    ");
    insta::assert_snapshot!(set(b"0000\n0000\n"), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: the API key holds white space, control characters or characters that are not ASCII
      next: copy the key again, without line breaks
    ");
    insta::assert_snapshot!(set(b"0000\xff"), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: the API key holds white space, control characters or characters that are not ASCII
      next: copy the key again, without line breaks
    ");
    let argument = run(call(&sandbox, &["keys", "set", "mistral", "0000"]));
    assert_eq!(argument.code, Some(2), "a key is never an argument");
    assert!(sandbox.files().is_empty(), "nothing was kept: {:?}", sandbox.files());
}

#[test]
fn a_key_file_that_others_may_read_is_refused_with_the_remedy() {
    let sandbox = sandbox();
    store_key(&sandbox, "openrouter");
    let file = sandbox.home().join(KEYS_FILE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    insta::assert_snapshot!(run(call(&sandbox, &["ask", "-m", MODEL, "Why?"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: the file of kept keys `<home>/.config/parallel-llm-mcp/keys.toml` is refused: others may read or write it (renew the keys if somebody did)
      next: run `chmod 600 <home>/.config/parallel-llm-mcp/keys.toml`
    ");
    assert_eq!(sandbox.simulator().requests(), []);
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.is_ok_and(|status| status.success()));
    insta::assert_snapshot!(store_key(&sandbox, "openrouter").transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: the file of kept keys `<home>/.config/parallel-llm-mcp/keys.toml` is refused: it is a link or no plain file
      next: move it away
    ");
}

#[test]
fn a_lock_that_is_no_plain_file_is_refused_at_once() {
    let sandbox = sandbox();
    store_key(&sandbox, "openrouter");
    let lock = sandbox.home().join(LOCK_FILE);
    fs::remove_file(&lock).unwrap();
    let made = Command::new("mkfifo").arg(&lock).status();
    assert!(made.is_ok_and(|status| status.success()));
    insta::assert_snapshot!(store_key(&sandbox, "openrouter").transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the lock of the kept keys `<home>/.config/parallel-llm-mcp/keys.lock` cannot be used: it is a link or no plain file
      next: move it away, or correct the permissions of the file and its folder
    ");
    fs::remove_file(&lock).unwrap();
    let elsewhere = sandbox.home().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    assert_eq!(store_key(&sandbox, "openrouter").code, Some(7));
    assert!(!elsewhere.exists(), "no link is followed");
}

#[test]
fn a_typed_key_is_not_shown() {
    const SCRIPT: &str = "/usr/bin/script";
    if !Path::new(SCRIPT).is_file() {
        return;
    }
    let sandbox = sandbox();
    let mut terminal = Command::new(SCRIPT)
        .args(["-qec", &format!("'{}' keys set mistral", sandbox.binary().display()), "/dev/null"])
        .env_clear()
        .env("HOME", sandbox.home())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a terminal can be made");
    let (mut keyboard, mut screen) = (terminal.stdin.take().unwrap(), terminal.stdout.take().unwrap());
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("It is not shown.") {
        let mut piece = [0; 256];
        let count = screen.read(&mut piece).expect("the screen can be read");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&piece[..count]);
    }
    keyboard.write_all(b"0000-1111-0000\n").unwrap();
    let _ = screen.read_to_end(&mut shown);
    assert!(terminal.wait().unwrap().success());
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("the key of `mistral` is kept in") && !shown.contains("1111"), "{shown}");
    let kept = fs::read_to_string(sandbox.home().join(KEYS_FILE)).unwrap();
    assert!(kept.ends_with("mistral = \"0000-1111-0000\"\n"), "{kept}");
}

/// The tokens in the list of keys, with placeholders for what differs from run to run.
fn tokens(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let listed = run(call(sandbox, &["keys", "list", "--json"])).json();
    let mut tokens = listed["tokens"].as_array().expect("there are tokens").clone();
    for token in &mut tokens {
        for time in ["created_at_ms", "expires_at_ms", "revoked_at_ms", "last_used_at_ms"] {
            token[time] = token[time].is_number().into();
        }
        token["last_four"] = token["last_four"].as_str().is_some_and(|text| text.len() == 4).into();
    }
    tokens
}

#[test]
fn a_token_is_printed_once_and_then_only_its_last_four_characters() {
    let sandbox = sandbox();
    let made = run(call(&sandbox, &["keys", "create", "ci", "--budget-day", "2.50", "--per-minute", "60"]));
    let token = made.text().trim().to_owned();
    assert!(
        token.starts_with("plm_") && token.len() == 53 && made.stdout.len() == 54,
        "the token and no more"
    );
    insta::assert_snapshot!(made.stderr, @"
    `ci` may ask, read, spend up to $2.50 a day, make 60 requests a minute, until it is revoked
    this token is shown once and kept nowhere: give it to the client now, which sends it as `Authorization: Bearer ...`
    take it back with `parallel-llm-mcp keys revoke ci --yes`
    ");
    let reader = ["keys", "create", "reader", "--scope", "read", "--expires", "90d", "--json"];
    let created = run(call(&sandbox, &reader)).json();
    assert_eq!(
        (created["schema"].as_i64(), created["id"].as_i64(), created["scopes"].to_string()),
        (Some(1), Some(2), "[\"read\"]".to_owned())
    );
    let second = created["token"].as_str().expect("the output has it").to_owned();
    insta::assert_snapshot!(tokens(&sandbox).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), @r#"
    {"budget_day_usd":2.5,"created_at_ms":true,"expires_at_ms":false,"id":1,"last_four":true,"last_used_at_ms":false,"name":"ci","requests_per_minute":60,"revoked_at_ms":false,"scopes":["ask","read"],"state":"active"}
    {"budget_day_usd":null,"created_at_ms":true,"expires_at_ms":true,"id":2,"last_four":true,"last_used_at_ms":false,"name":"reader","requests_per_minute":null,"revoked_at_ms":false,"scopes":["read"],"state":"active"}
    "#);
    let listed = run(call(&sandbox, &["keys", "list"]));
    let table: Vec<&str> = listed.text().lines().skip_while(|line| !line.is_empty()).skip(1).collect();
    let shown = table.join("\n").replace(&token[49..], "0000").replace(&second[49..], "0000");
    let shown = shown.split_whitespace().filter(|word| !word.starts_with("20")).collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(shown, @"NO TOKEN ENDS STATE MAY A DAY A MINUTE UNTIL USED 1 ci ...0000 active ask, read $2.50 60 - never 2 reader ...0000 active read - - never");
    for (path, bytes) in sandbox.files() {
        for piece in [&token[4..20], &second[4..20]] {
            let holds = bytes.windows(piece.len()).any(|window| window == piece.as_bytes());
            assert!(!holds, "{}", path.display());
        }
    }
}

#[test]
fn a_token_is_revoked_by_name_or_number_only_with_yes() {
    let sandbox = sandbox();
    let last_four = |output: &Output| output.text().trim()[49..].to_owned();
    let ends = ["ci", "laptop"].map(|name| last_four(&run(call(&sandbox, &["keys", "create", name]))));
    let revoke = |arguments: &[&str]| {
        let transcript = run(call(&sandbox, &["keys", "revoke"]).args(arguments)).transcript();
        ends.iter().fold(transcript, |transcript, end| transcript.replace(end.as_str(), "0000"))
    };
    insta::assert_snapshot!(revoke(&["ci"]), @"
    exit 2
    --- stdout
    --- stderr
    the token `ci` (number 1, ...0000) would let nobody in any more; its runs stay
    error[usage]: nothing is revoked yet
      next: type `parallel-llm-mcp keys revoke ci --yes`
    ");
    insta::assert_snapshot!(revoke(&["ci", "--yes"]), @"
    exit 0
    --- stdout
    --- stderr
    the token `ci` (number 1, ...0000) is revoked: it lets nobody in any more
    ");
    insta::assert_snapshot!(revoke(&["1"]), @"
    exit 0
    --- stdout
    --- stderr
    the token `ci` (number 1, ...0000) is revoked already
    ");
    let revoked = run(call(&sandbox, &["keys", "revoke", "2", "--yes", "--json"])).json();
    assert_eq!(
        (revoked["done"].as_bool(), revoked["token"]["state"].as_str()),
        (Some(true), Some("revoked"))
    );
    insta::assert_snapshot!(revoke(&["nobody", "--yes"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no token `nobody`
      next: see what is kept with `parallel-llm-mcp keys list`
    ");
    insta::assert_snapshot!(run(call(&sandbox, &["keys", "create", "ci"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is a token `ci` already, or there was one
      next: choose another name: the runs of that token's holder are found by it
    ");
}

#[test]
fn an_invalid_token_is_refused_before_anything_is_created() {
    let sandbox = sandbox();
    for (arguments, expected) in [
        (&["create", "Mine"][..], "`Mine` cannot be the name of a token"),
        (&["create", "7"], "`7` cannot be the name of a token"),
        (&["create", "a", "--scope", "admin"], "one of `ask`, `read`"),
        (
            &["create", "a", "--budget-day", "-1"],
            "`--budget-day` takes an amount in USD from 0 to 1000000, such as 2.50, not `-1`",
        ),
        (&["create", "a", "--budget-day", "much"], "an amount in USD from 0 to 1000000"),
        (
            &["create", "a", "--per-minute", "0"],
            "`--per-minute` takes a whole number from 1 to 60000, not `0`",
        ),
        (&["create", "a", "--expires", "4000d"], "a time such as 90d, 12h, 30m or 60s, up to 3650d"),
        (&["revoke", "plm_0000000000", "--yes"], "a token is named by its name or number, never by itself"),
    ] {
        let output = run(call(&sandbox, &["keys"]).args(arguments));
        assert_eq!(output.code, Some(2), "{arguments:?}");
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
    }
    run(call(&sandbox, &["keys", "list"]));
    assert!(!sandbox.data_dir().exists(), "listing creates nothing");
}
