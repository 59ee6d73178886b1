//! Several providers in one panel: each is called at its own address with its own key.

use std::fs;

use parallel_llm_provider::Known;
use parallel_llm_testkit::simulator::Script;
use parallel_llm_testkit::{Call, Output, Sandbox, seats};
use serde_json::json;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "x-ai/grok-4.7";
/// The name of the first model in the plain chat protocol.
const PLAIN: &str = "gpt-6.1-sol";
const USER: &str = ".config/parallel-llm-mcp/config.toml";
const KEPT: &str = ".config/parallel-llm-mcp/keys.toml";
/// An address where nothing listens.
const NO_SERVER: &str = "http://127.0.0.1:1";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ONE, Script::answering("Take the first design."))
        .scripted(TWO, Script::answering("Take the second design."))
}

/// The settings of a provider at the simulator's plain chat protocol.
fn team(sandbox: &Sandbox, more: &str) -> String {
    format!(
        "[providers.team]\nkind = 'openai'\nbase_url = '{}'\n{more}\n",
        sandbox.simulator().base_url_of("openai").expect("the simulator speaks OpenAI")
    )
}

/// Runs a call. The key must not be in its output or in any file.
fn run(sandbox: &Sandbox, call: Call<'_>) -> Output {
    let output = call.run();
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    output
}

/// A question to these models, with the key of the team's provider in its variable.
fn ask<'a>(sandbox: &'a Sandbox, models: &[&str]) -> Call<'a> {
    let models = models.iter().flat_map(|model| ["-m", model]);
    sandbox
        .call(["ask", "--json", "Which design?"])
        .args(models)
        .settings([("synthesizer", ONE)])
        .env("TEAM_SECRET", sandbox.simulator().api_key())
}

#[test]
fn a_panel_mixes_providers() {
    let sandbox = sandbox();
    sandbox.write(USER, team(&sandbox, "key_variable = 'TEAM_SECRET'\nheaders = { X-Team = 'blue-secret' }"));
    let anthropic = format!("http://{}/anthropic/v1", sandbox.simulator().address());
    let call = ask(&sandbox, &[TWO, &format!("team:{PLAIN}"), "anthropic:claude-opus-5.5"]);
    let call = call.env("ANTHROPIC_BASE_URL", &anthropic);
    let output = run(&sandbox, call.env("ANTHROPIC_API_KEY", sandbox.simulator().api_key()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    insta::assert_snapshot!(seats(&output.json()), @"
    1 x-ai/grok-4.7 answered x1 23 bytes
    2 team:gpt-6.1-sol answered x1 22 bytes
    3 anthropic:claude-opus-5.5 answered x1 551 bytes
    ");
    let requests = sandbox.simulator().requests();
    let posts = requests.iter().filter(|request| request.method == "POST");
    let mut asked: Vec<String> = posts
        .map(|post| {
            let header = |name: &str| post.header(name).unwrap_or("-");
            let keys = format!("{} {}", header("authorization"), header("x-api-key"));
            format!("{} {keys} {}", post.path, header("x-team"))
        })
        .collect();
    asked.sort();
    insta::assert_snapshot!(asked.join("\n"), @"
    /anthropic/v1/messages - ok -
    /api/v1/chat/completions ok - -
    /api/v1/chat/completions ok - -
    /openai/v1/chat/completions ok - blue-secret
    ");
    // The settings file holds the header's value; nothing else does.
    fs::remove_file(sandbox.home().join(USER)).unwrap();
    sandbox.assert_nowhere(b"blue-secret");
    assert!(!output.stderr.contains("blue-secret") && !output.text().contains("blue-secret"));
}

#[test]
fn a_key_program_is_run_once() {
    let sandbox = sandbox();
    let command = r#"key_command = ["/bin/sh", "-c", "echo once >> \"$HOME/asked\"; printenv TEAM_SECRET"]"#;
    sandbox.write(USER, team(&sandbox, command));
    let none = run(&sandbox, sandbox.call(["keys", "list"]));
    assert!(none.text().contains("team        command /bin/sh"), "{}", none.text());
    assert!(!sandbox.home().join("asked").exists(), "the program runs only before a call");
    let asking = ask(&sandbox, &[&format!("team:{PLAIN}*3")]).args(["--strategy", "synthesize@gate=off"]);
    let output = run(&sandbox, asking);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let asked = sandbox.chats().iter().filter(|chat| chat.path == "/openai/v1/chat/completions").count();
    assert_eq!((asked, sandbox.chats().len()), (3, 3), "each seat, and the synthesizer elsewhere");
    assert_eq!(fs::read_to_string(sandbox.home().join("asked")).unwrap(), "once\n");
}

#[test]
fn a_failing_key_program_is_reported() {
    let sandbox = sandbox();
    sandbox.write(
        USER,
        team(&sandbox, r#"key_command = ["/bin/sh", "-c", "printenv TEAM_SECRET; echo locked >&2; exit 3"]"#),
    );
    let call =
        sandbox.call(["ask", "-m", "team:x", "Why?"]).env("TEAM_SECRET", sandbox.simulator().api_key());
    // A local server needs no key, but one with a key program is meant to have one.
    insta::assert_snapshot!(run(&sandbox, call).transcript(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: the key of `team` cannot be fetched: `/bin/sh` ended with exit status: 3: locked
      next: try the `key_command` of `[providers.team]` by hand
    ");
    assert_eq!(sandbox.chats(), []);
}

#[test]
fn a_provider_that_lacks_a_setting_names_it() {
    let sandbox = sandbox();
    sandbox.write(
        USER,
        "[providers.team]\nbase_url = 'https://llm.example.com/v1'\nkey_variable = 'TEAM_SECRET'\n",
    );
    let refusal = |model: &str| run(&sandbox, sandbox.call(["ask", "-m", model, "Why?"])).transcript();
    insta::assert_snapshot!(refusal("azure:gpt"), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: no base URL is set for `azure`
      next: set `AZURE_OPENAI_ENDPOINT`, or `base_url` in `[providers.azure]`
    ");
    insta::assert_snapshot!(refusal("mistral:mistral-large"), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `mistral`
      next: set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`
    ");
    insta::assert_snapshot!(refusal("team:x"), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `team`
      next: set `TEAM_SECRET`, or keep the key with `parallel-llm-mcp keys set team`
    ");
    // If the settings name another variable, that is the one to set.
    sandbox.write(USER, "[providers.openai]\nkey_variable = 'WORK_OPENAI'\n[providers.openrouter]\nkey_variable = 'WORK_OR'\n");
    insta::assert_snapshot!(refusal("openai:x"), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `openai`
      next: set `WORK_OPENAI`, or keep the key with `parallel-llm-mcp keys set openai`
    ");
    insta::assert_snapshot!(refusal(ONE), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `openrouter`
      next: set `WORK_OR`, keep the key with `parallel-llm-mcp keys set openrouter`, or try `parallel-llm-mcp demo`, which needs no key
    ");
    assert_eq!(sandbox.chats(), []);
}

#[cfg(unix)]
#[test]
fn a_key_that_is_not_utf8_stops_only_its_own_provider() {
    let sandbox = sandbox();
    // The test kit cannot set a variable that is not UTF-8.
    let run_program = |arguments: &[&str]| {
        let mut program = std::process::Command::new(sandbox.binary());
        program.args(arguments).env_clear().env("HOME", sandbox.home());
        let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"0000\xff");
        let output = program.env("LM_API_TOKEN", odd).output().expect("it can be started");
        (output.status.code(), String::from_utf8(output.stderr).expect("it is text"))
    };
    assert_eq!(run_program(&["keys", "list"]), (Some(0), String::new()));
    insta::assert_snapshot!(run_program(&["ask", "-m", "lmstudio:x", "Why?"]).1, @"
    error[key_missing]: the API key holds white space, control characters or characters that are not ASCII
      next: copy the key of `lmstudio` again, without line breaks
    ");
}

#[test]
fn invalid_variables_of_unused_providers_are_ignored() {
    let sandbox = sandbox();
    let odd = [
        ("OPENAI_BASE_URL", "http://litellm:4000"),
        ("OLLAMA_BASE_URL", "localhost:11434"),
        ("GROQ_API_KEY", "two words"),
    ];
    let with = |call: Call<'_>| odd.iter().fold(call, |call, (name, value)| call.env(name, value)).run();
    let output = with(ask(&sandbox, &[TWO]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    insta::assert_snapshot!(with(sandbox.call(["ask", "-m", "openai:x", "Why?"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[insecure_url]: the base URL of `openai` uses plain http to `litellm:4000` (`OPENAI_BASE_URL`)
      next: use https, or http only for 127.0.0.1, [::1] or localhost
    ");
    insta::assert_snapshot!(with(sandbox.call(["ask", "-m", "groq:x", "Why?"])).transcript(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: the API key holds white space, control characters or characters that are not ASCII
      next: copy the key of `groq` again, without line breaks
    ");
}

#[test]
fn a_project_file_must_not_define_providers() {
    let sandbox = sandbox();
    sandbox.write("work/.parallel-llm.toml", team(&sandbox, "key_variable = 'TEAM_SECRET'"));
    let call = sandbox.call(["ask", "-m", TWO, "Why?"]).folder("work");
    insta::assert_snapshot!(run(&sandbox, call).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/work/.parallel-llm.toml:1:2: a project file may not set `providers`: an address from a stranger steals keys
      next: take it out, or write it into your own file
    ");
    assert_eq!(sandbox.simulator().requests(), []);
}

#[test]
fn config_show_lists_providers_without_secrets() {
    let sandbox = sandbox();
    sandbox.write(USER, team(&sandbox, "key_variable = 'TEAM_SECRET'\nheaders = { X-Team = 'blue-secret' }"));
    let call = sandbox.call(["config", "show", "--origin"]).env("TEAM_SECRET", sandbox.simulator().api_key());
    let output = run(&sandbox, call);
    let lines: Vec<&str> = output.text().lines().filter(|line| line.starts_with("providers.")).collect();
    insta::assert_snapshot!(output.masked(&lines.join("\n")), @"
    providers.openrouter.key      = set  # environment OPENROUTER_API_KEY
    providers.openrouter.base_url = http://<simulator>/api/v1  # environment OPENROUTER_BASE_URL
    providers.team.key            = set  # environment TEAM_SECRET
    providers.team.base_url       = http://<simulator>/openai/v1  # user file <home>/.config/parallel-llm-mcp/config.toml:3
    providers.team.kind           = openai  # user file <home>/.config/parallel-llm-mcp/config.toml:2
    providers.team.key_variable   = TEAM_SECRET  # user file <home>/.config/parallel-llm-mcp/config.toml:4
    providers.team.headers        = x-team  # user file <home>/.config/parallel-llm-mcp/config.toml:5
    ");
}

#[test]
fn privacy_terms_and_the_name_of_the_program_reach_the_router() {
    let sandbox = sandbox();
    let terms = [
        ("zdr", "on"),
        ("data_collection", "deny"),
        ("provider_ignore", "azure"),
        ("app_title", "off"),
        ("app_url", "https://example.com"),
        ("session", "off"),
    ];
    let output = run(&sandbox, ask(&sandbox, &[TWO]).settings(terms));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let chat = sandbox.chats().remove(0);
    assert_eq!(chat.body["provider"], json!({ "zdr": true, "data_collection": "deny", "ignore": ["azure"] }));
    let headers = [chat.header("x-openrouter-title"), chat.header("http-referer")];
    assert_eq!(headers, [None, Some("https://example.com")]);
    run(&sandbox, ask(&sandbox, &[TWO]));
    let chat = sandbox.chats().pop().expect("it was asked again");
    assert_eq!(chat.header("x-openrouter-title"), Some("parallel-llm-mcp"));
}

/// Runs the demo in a project, under settings that would change or stop it.
fn demo_with_hostile_settings(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let settings = [
        ("panel", TWO),
        ("synthesizer", TWO),
        ("budget_usd", "0.000001"),
        ("budget_day_usd", "0.000001"),
        ("max_tokens", "1"),
        ("store", "none"),
        ("files", "off"),
        ("output_dir", "elsewhere"),
        ("ca_file", "gone.pem"),
        ("log_file", "elsewhere.log"),
    ];
    let call = sandbox.call(["demo"]).args(arguments).folder("work").settings(settings);
    let output = run(sandbox, call.env("HTTP_PROXY", NO_SERVER).env("ALL_PROXY", NO_SERVER));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(sandbox.simulator().requests(), [], "the demo has its own provider");
    let own = ".local/share/parallel-llm-mcp/demo/";
    for (path, _) in sandbox.files() {
        let name = path.display().to_string();
        let is_ours = [USER, KEPT, "work/.parallel-llm.toml"].contains(&name.as_str());
        assert!(is_ours || name.starts_with(own), "{name}");
    }
    output
}

#[test]
fn the_demo_calls_no_other_provider_whatever_the_settings() {
    let sandbox = sandbox();
    let panel = format!("panel = ['team:{TWO}']\n");
    sandbox.write(USER, format!("{panel}zdr = true\nretries_max = 0\n{}", team(&sandbox, "")));
    sandbox.write("work/.parallel-llm.toml", "panel = ['x-ai/grok-4.7']\nwait = 'all'\n");
    let killed = demo_with_hostile_settings(&sandbox, &["--kill"]);
    assert!(killed.stderr.contains("Paid twice: nothing."), "{}", killed.stderr);
}

#[test]
fn the_demo_works_without_a_valid_settings_file() {
    let sandbox = sandbox();
    for name in [USER, KEPT, "work/.parallel-llm.toml"] {
        sandbox.write(name, "not = [what belongs here");
    }
    let output = demo_with_hostile_settings(&sandbox, &[]);
    assert!(output.stderr.contains("\nCost $"), "{}", output.stderr);
}

#[test]
fn the_demo_empties_no_folder_of_others() {
    let sandbox = sandbox();
    let file = sandbox.write("work/demo/thesis.txt", "mine");
    let call = sandbox.call(["demo"]).folder("work").settings([("data_dir", ".")]);
    insta::assert_snapshot!(run(&sandbox, call).transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the demo cannot use `<home>/work/./demo`: there is something in it that no demo has left
      next: choose another data folder with `PARALLEL_LLM_DATA_DIR`, or move it away
    ");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn a_configured_certificate_is_trusted() {
    let sandbox = sandbox();
    let file = sandbox.home().join("certificate.pem");
    let file = file.to_str().unwrap();
    let running = sandbox.call(["simulate", "--time-scale", "0", "--tls", "--certificate", file]).start();
    sandbox.until("all variables are printed", || running.stdout_so_far().contains("SSL_CERT_FILE="));
    let printed = running.stdout_so_far();
    let value = |name: &str| {
        printed
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}=")))
            .expect("the output has it")
            .to_owned()
    };
    let asked = |settings: &[(&str, &str)]| {
        let call = sandbox.call(["ask", "-q", "-m", TWO, "Why?"]).settings(settings.iter().copied());
        let call = call.env("OPENROUTER_BASE_URL", &value("OPENROUTER_BASE_URL"));
        call.env("OPENROUTER_API_KEY", &value("OPENROUTER_API_KEY")).run()
    };
    let trusting = asked(&[("ca_file", file)]);
    assert_eq!(trusting.code, Some(0), "{}", trusting.stderr);
    assert_ne!(asked(&[]).code, Some(0), "an unknown certificate is not trusted");
    let missing = asked(&[("ca_file", "gone.pem")]);
    insta::assert_snapshot!(missing.transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: the certificates of `ca_file` in `<home>/gone.pem` cannot be used: No such file or directory (os error 2)
      next: set `ca_file` to a file of certificates in PEM, or leave it out
    ");
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn a_persona_and_a_system_prompt_reach_every_protocol() {
    let sandbox = sandbox();
    sandbox.write(USER, "[personas.critic]\nsystem = 'Find the flaw.'\n");
    let address = |dialect: &str| sandbox.simulator().base_url_of(dialect).unwrap();
    let seats = ["x-ai/grok-4.7", "anthropic:claude-opus-5.5", "gemini:gemini-4-argon", "openai:gpt-6.1-sol"];
    let seats = seats.map(|seat| format!("{seat}@persona=critic"));
    let call = ask(&sandbox, &seats.each_ref().map(String::as_str)).args(["--system", "Be brief."]);
    let known = ["anthropic", "gemini", "openai"].map(|id| Known::by_id(id).unwrap());
    let call = known.into_iter().fold(call.args(["--strategy", "vote"]), |call, known| {
        let call = call.env(known.base_url_variable, &address(known.id));
        call.env(known.key_variable, sandbox.simulator().api_key())
    });
    let output = run(&sandbox, call);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let requests = sandbox.simulator().requests();
    let posts = requests.iter().filter(|request| request.method == "POST");
    let mut sent: Vec<String> = posts
        .map(|post| {
            let fields = ["system", "systemInstruction", "messages", "contents"];
            let fields = fields.iter().filter(|field| !post.body[**field].is_null());
            let parts: Vec<String> = fields.map(|field| format!("{field} {}", post.body[*field])).collect();
            parts.join(" ")
        })
        .collect();
    sent.sort();
    insta::assert_snapshot!(sent.join("\n"), @r#"
    messages [{"content":"Find the flaw.\n\nBe brief.","role":"system"},{"content":"Which design?\n\nIf this request has one short right answer, end your reply with the line\nANSWER: <only the short answer>\nOtherwise end it with the line\nANSWER: none","role":"user"}]
    messages [{"content":"Find the flaw.\n\nBe brief.","role":"system"},{"content":"Which design?\n\nIf this request has one short right answer, end your reply with the line\nANSWER: <only the short answer>\nOtherwise end it with the line\nANSWER: none","role":"user"}]
    system "Find the flaw.\n\nBe brief." messages [{"content":[{"text":"Which design?\n\nIf this request has one short right answer, end your reply with the line\nANSWER: <only the short answer>\nOtherwise end it with the line\nANSWER: none","type":"text"}],"role":"user"}]
    systemInstruction {"parts":[{"text":"Find the flaw.\n\nBe brief."}]} contents [{"parts":[{"text":"Which design?\n\nIf this request has one short right answer, end your reply with the line\nANSWER: <only the short answer>\nOtherwise end it with the line\nANSWER: none"}],"role":"user"}]
    "#);
}
