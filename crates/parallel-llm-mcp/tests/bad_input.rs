//! Invalid input is refused before anything is sent, with a message that says what to do; whole outputs are compared.

use parallel_llm_testkit::{Call, Sandbox};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// The transcript of a refused call. Nothing was sent, and no run folder was created.
fn refusal(sandbox: &Sandbox, call: Call<'_>) -> String {
    let output = call.run();
    output.assert_no_key();
    assert_eq!(sandbox.chats(), [], "nothing is sent");
    let folders = std::fs::read_dir(sandbox.data_dir().join("runs")).into_iter().flatten().count();
    assert_eq!(folders, 0, "no folder is left behind");
    output.transcript()
}

/// The transcript of `ask` with these arguments.
fn check(arguments: &[&str]) -> String {
    check_with(arguments, &[])
}

/// The same as [`check`], with these environment variables.
fn check_with(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let sandbox = sandbox();
    let call = sandbox.call(["ask"]).args(arguments);
    let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
    refusal(&sandbox, call)
}

/// The transcript of a call with this configuration file.
fn check_file(config: &str, arguments: &[&str]) -> String {
    let sandbox = sandbox();
    sandbox.write(".config/parallel-llm-mcp/config.toml", config);
    refusal(&sandbox, sandbox.call(arguments))
}

#[test]
fn an_empty_prompt_is_refused() {
    insta::assert_snapshot!(check(&[""]), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ");
    insta::assert_snapshot!(check(&[" \n\t\u{3000}"]), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ");
    let sandbox = sandbox();
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask"])), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ");
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask", "-"]).stdin("\n\n")), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ");
}

#[test]
fn a_prompt_over_the_limit_is_refused() {
    let limit = [("PARALLEL_LLM_PROMPT_CHARS_MAX", "10")];
    insta::assert_snapshot!(check_with(&["äöü äöü äöü"], &limit), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_too_long]: the prompt has 11 characters; the limit is 10
      next: shorten the prompt, or raise the setting `prompt_chars_max`
    ");
}

#[test]
fn a_prompt_of_exactly_the_limit_is_asked() {
    let sandbox = sandbox();
    let call = sandbox.call(["ask", "-q", "-m", "x-ai/grok-4.7", "äöü äöü äö"]);
    assert_eq!(call.settings([("prompt_chars_max", "10")]).run().code, Some(0));
    assert_eq!(sandbox.chats()[0].body["messages"][0]["content"], "äöü äöü äö");
}

#[test]
fn a_prompt_that_is_not_utf8_is_refused() {
    let sandbox = sandbox();
    let bytes = b"caf\xe9 au lait";
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask"]).stdin(*bytes)), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: stdin is not UTF-8: the byte at offset 3 is wrong
      next: convert it, such as with `iconv -f latin1 -t utf-8 OLD > NEW`
    ");
    sandbox.write("bad.txt", bytes);
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask", "@bad.txt"])), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: `bad.txt` is not UTF-8: the byte at offset 3 is wrong
      next: convert it, such as with `iconv -f latin1 -t utf-8 OLD > NEW`
    ");
}

#[test]
fn a_missing_prompt_file_is_refused() {
    insta::assert_snapshot!(check(&["@nowhere.md"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the prompt file `nowhere.md` cannot be read: No such file or directory (os error 2)
      next: name a readable file after `@`; a text that begins with `@` is taken from stdin
    ");
    insta::assert_snapshot!(check(&["@."]), @"
    exit 2
    --- stdout
    --- stderr
    error[attachment_invalid]: no file to attach was found for the folder `.`
      next: name other files; those that are hidden or named in a `.gitignore` are left out
    ");
}

#[test]
fn a_missing_key_is_reported() {
    let sandbox = sandbox();
    insta::assert_snapshot!(refusal(&sandbox, sandbox.call(["ask", "Why?"]).without("OPENROUTER_API_KEY")), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `openrouter`
      next: set `OPENROUTER_API_KEY`, keep the key with `parallel-llm-mcp keys set openrouter`, or try `parallel-llm-mcp demo`, which needs no key
    ");
    let blank = check_with(&["Why?"], &[("OPENROUTER_API_KEY", " \t ")]);
    assert_eq!(blank, refusal(&sandbox, sandbox.call(["ask", "Why?"]).without("OPENROUTER_API_KEY")));
}

#[test]
fn a_malformed_key_is_refused() {
    insta::assert_snapshot!(check_with(&["Why?"], &[("OPENROUTER_API_KEY", "sk-or-v1-\u{e9}tude-0123456789")]), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: the API key holds white space, control characters or characters that are not ASCII
      next: copy the key of `openrouter` again, without line breaks
    ");
}

#[test]
fn an_unknown_model_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(check(&["-m", "openai/gpt-6.1-soll", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_unknown]: the model `openai/gpt-6.1-soll` is unknown
      next: did you mean `openai/gpt-6.1-sol`?
    ");
    insta::assert_snapshot!(check(&["--synthesizer", "gogle/gemini-4-argon", "-m", "x-ai/grok-4.7", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_unknown]: the model `gogle/gemini-4-argon` is unknown: no vendor is called `gogle`
      next: did you mean `google/gemini-4-argon`?
    ");
}

#[test]
fn a_malformed_model_reference_is_refused() {
    insta::assert_snapshot!(check(&["-m", "a b", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: `-m` takes one model, not the list `a b`
      next: write it like `-m a -m b`
    ");
    insta::assert_snapshot!(check(&["-m", "x-ai/grok-4.7*65", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: cannot read the model `x-ai/grok-4.7*65`: the number after `*` is between 1 and 64
      next: write it like `x-ai/grok-4.7*3`
    ");
    insta::assert_snapshot!(check(&["-m", "x-ai/grok-4.7@speed=1", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: cannot read the model `x-ai/grok-4.7@speed=1`: there is no option `speed`
      next: choose one of: temperature, max_tokens, effort, strongest, accuracy, persona, stance
    ");
    insta::assert_snapshot!(check(&["-m", "", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: cannot read the model ``: a model name has 1 to 200 visible ASCII characters and no quotes or commas
      next: write it as `vendor/model`, for example `~openai/gpt-sol-latest`
    ");
}

#[test]
fn an_empty_or_oversized_panel_is_refused() {
    insta::assert_snapshot!(check_file("\npanel = []\n", &["ask", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:9: `panel` is a list of models, each `[provider:]model[*N][@key=value,...]`, not an empty one
      next: correct the value, or leave it out to use the default
    ");
    let too_many = check(&["-m", "x-ai/grok-4.7*40", "-m", "openai/gpt-6.1-sol*25", "Why?"]);
    insta::assert_snapshot!(too_many, @"
    exit 2
    --- stdout
    --- stderr
    error[panel_size]: the panel has more than 64 seats
      next: name between 1 and 64 models
    ");
}

#[test]
fn numbers_out_of_range_are_refused() {
    insta::assert_snapshot!(check(&["--temperature", "3", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--temperature` takes a number from 0 to 2, not `3`
      next: see `parallel-llm-mcp ask --help`
    ");
    insta::assert_snapshot!(check(&["--temperature", "NaN", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--temperature` takes a number from 0 to 2, not `NaN`
      next: see `parallel-llm-mcp ask --help`
    ");
    insta::assert_snapshot!(check(&["--max-tokens", "0", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--max-tokens` takes a whole number from 1 to 1000000, not `0`
      next: see `parallel-llm-mcp ask --help`
    ");
    insta::assert_snapshot!(check(&["--deadline", "0s", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--deadline 0s` is not a duration from 1 ms to a day
      next: write it like `90s`, `5m`, `1h30m` or `1500ms`
    ");
    insta::assert_snapshot!(check(&["--deadline", "soon", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--deadline soon` is not a duration from 1 ms to a day
      next: write it like `90s`, `5m`, `1h30m` or `1500ms`
    ");
    for budget in ["NaN", "-1", "$3"] {
        let transcript = check(&["--budget", budget, "Why?"]);
        let expected =
            format!("error[usage]: `--budget` takes an amount in US dollars such as 0.50, not `{budget}`");
        assert!(transcript.starts_with("exit 2\n") && transcript.contains(&expected), "{transcript}");
    }
}

#[test]
fn a_run_that_may_exceed_its_budget_is_refused() {
    insta::assert_snapshot!(check(&["--budget", "0.01", "-m", "x-ai/grok-4.7", "Why?"]), @"
    exit 5
    --- stdout
    --- stderr
    error[budget]: the run may cost up to $0.096; the budget is $0.010
      next: allow it with `--budget 0.1`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
}

#[test]
fn unknown_names_are_refused() {
    insta::assert_snapshot!(check(&["--preset", "quik", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no preset or flow `quik`
      next: did you mean `quick`?
    ");
    insta::assert_snapshot!(check(&["--strategy", "vot", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no strategy `vot`
      next: did you mean `vote`?
    ");
    insta::assert_snapshot!(check(&["--wait", "forever", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: flag --wait: `wait` is `all`, `quorum:K`, `until:DURATION` or `stragglers`, not `forever`
      next: correct the value, or leave it out to use the default
    ");
    insta::assert_snapshot!(check(&["--store", "some", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: flag --store: `store` is one of `full`, `metadata`, `none`, not `some`
      next: correct the value, or leave it out to use the default
    ");
}

#[test]
fn invalid_settings_are_refused_with_their_location() {
    insta::assert_snapshot!(check_file("max_tokens = 100\nmax_tokns = 5\n", &["ask", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: there is no setting `max_tokns`
      next: did you mean `max_tokens`?
    ");
    insta::assert_snapshot!(check_file("budget_usd = \"much\"\n", &["config", "show"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:1:14: `budget_usd` is an amount in US dollars such as `3` or `0.50`, not a string
      next: correct the value, or leave it out to use the default
    ");
    insta::assert_snapshot!(check_file("max_tokens = 1 2\n", &["runs", "list"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:1:14: string values must be quoted, expected literal string
      next: correct the value at the place the message names
    ");
    insta::assert_snapshot!(check_file("[providers.openrouter]\nkey = \"sk-or-v1-abc\"\n", &["ask", "Why?"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: a key is never read from this file: it would be in every copy of it
      next: keep the key with `parallel-llm-mcp keys set openrouter`, or name its variable with `key_variable`
    ");
    insta::assert_snapshot!(check_with(&["Why?"], &[("PARALLEL_LLM_RETRIES_MAX", "11")]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: environment PARALLEL_LLM_RETRIES_MAX: `retries_max` is a whole number from 0 to 10, not `11`
      next: correct the value, or leave it out to use the default
    ");
    insta::assert_snapshot!(check_with(&["Why?"], &[("PARALLEL_LLM_RETRY_MAX", "1")]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: environment PARALLEL_LLM_RETRY_MAX: there is no such setting
      next: did you mean `PARALLEL_LLM_RETRIES_MAX`?
    ");
}

#[test]
fn an_insecure_base_url_is_refused() {
    insta::assert_snapshot!(check_with(&["Why?"], &[("OPENROUTER_BASE_URL", "http://example.com/api/v1")]), @"
    exit 2
    --- stdout
    --- stderr
    error[insecure_url]: the base URL of `openrouter` uses plain http to `example.com` (`OPENROUTER_BASE_URL`)
      next: use https, or http only for 127.0.0.1, [::1] or localhost
    ");
    insta::assert_snapshot!(check_with(&["Why?"], &[("OPENROUTER_BASE_URL", "https://me:pw@example.com/v1")]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: the base URL of `openrouter` holds a user name or a password (`OPENROUTER_BASE_URL`)
      next: write it like `https://openrouter.ai/api/v1`
    ");
}

#[test]
fn unwritable_folders_are_reported() {
    let sandbox = sandbox();
    let file = sandbox.write("file", "");
    let below = file.join("below").display().to_string();
    let ask = || sandbox.call(["ask", "-m", "x-ai/grok-4.7", "Why?"]);
    insta::assert_snapshot!(refusal(&sandbox, ask().args(["--output-dir", &below])), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the folder `<home>/file/below` cannot be written: Not a directory (os error 20)
      next: choose another folder with `--output-dir`, choose another data folder with `PARALLEL_LLM_DATA_DIR`, or correct the permissions of the data folder
    ");
    insta::assert_snapshot!(refusal(&sandbox, ask().settings([("data_dir", below.as_str())])), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the folder `<home>/file/below/runs` cannot be written: Not a directory (os error 20)
      next: choose another folder with `--output-dir`, choose another data folder with `PARALLEL_LLM_DATA_DIR`, or correct the permissions of the data folder
    ");
    let no_files = || ask().arg("--no-files").settings([("data_dir", below.as_str())]);
    insta::assert_snapshot!(refusal(&sandbox, no_files()), @"
    exit 7
    --- stdout
    --- stderr
    error[storage]: the run database needs `<home>/file/below/runs.db`: it cannot be reached: Not a directory (os error 20)
      next: check that the data folder is a folder you may write to, or choose another data folder with `PARALLEL_LLM_DATA_DIR`
    ");
}

#[test]
fn an_unwritable_database_leaves_no_run_folder() {
    let sandbox = sandbox();
    let below = sandbox.write("file", "").join("below").display().to_string();
    let call = sandbox.call(["ask", "-m", "x-ai/grok-4.7", "--output-dir", "out", "Why?"]);
    let transcript = refusal(&sandbox, call.settings([("data_dir", below.as_str())]));
    assert!(transcript.starts_with("exit 7"), "{transcript}");
    let left = std::fs::read_dir(sandbox.home().join("out")).into_iter().flatten().count();
    assert_eq!(left, 0, "no run folder is left");
}

#[test]
fn conflicting_flags_are_refused() {
    insta::assert_snapshot!(check(&["--json", "--jsonl", "Why?"]), @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"`--json` cannot be combined with `--jsonl`","next":"see `parallel-llm-mcp ask --help`","retryable":false},"schema":1}
    --- stderr
    error[usage]: `--json` cannot be combined with `--jsonl`
      next: see `parallel-llm-mcp ask --help`
    "#);
    insta::assert_snapshot!(check(&["--colour", "Why?"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no flag `--colour`
      next: see `parallel-llm-mcp ask --help`
    "#);
}

#[test]
fn with_json_errors_are_also_on_stdout() {
    insta::assert_snapshot!(check(&["--json", " "]), @r#"
    exit 2
    --- stdout
    {"error":{"code":"prompt_empty","message":"the prompt is empty","next":"give a prompt as an argument, as `@file` or on stdin","retryable":false},"schema":1}
    --- stderr
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    "#);
    insta::assert_snapshot!(check(&["--jsonl", "--budget", "0.01", "Why?"]), @r#"
    exit 5
    --- stdout
    {"error":{"code":"budget","message":"the run may cost up to $1.19; the budget is $0.010","next":"allow it with `--budget 1.19`, lower `--max-tokens`, or ask fewer or cheaper models","retryable":false},"schema":1}
    --- stderr
    error[budget]: the run may cost up to $1.19; the budget is $0.010
      next: allow it with `--budget 1.19`, lower `--max-tokens`, or ask fewer or cheaper models
    "#);
    let sandbox = sandbox();
    let show = sandbox.call(["runs", "show", "--json", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    insta::assert_snapshot!(refusal(&sandbox, show), @r#"
    exit 2
    --- stdout
    {"error":{"code":"run_not_found","message":"no run has an id that begins with `<run>`","next":"look for the run with `parallel-llm-mcp runs list`","retryable":false},"schema":1}
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    "#);
}
