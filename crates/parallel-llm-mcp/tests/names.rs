//! The names that users type: parts of names and aliases for models, parts of ids for runs.

use crate::http::program::{self, serve};
use crate::mcp::client::{Client, structured};
use parallel_llm_testkit::{Output, Sandbox, seats};
use serde_json::{Value, json};

const USER: &str = ".config/parallel-llm-mcp/config.toml";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A sandbox with this configuration file.
fn with_settings(settings: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write(USER, settings);
    sandbox
}

/// Asks these models, each given with `-m`.
fn ask(sandbox: &Sandbox, models: &[&str]) -> Output {
    let flags = models.iter().flat_map(|model| ["-m", model]);
    let output = sandbox.call(["ask", "--json", "Why?"]).args(flags).run();
    output.assert_no_key();
    output
}

/// The message of a call that is refused with exit code 2 before anything is sent.
fn refusal(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.call(arguments).run();
    assert_eq!((output.code, output.text()), (Some(2), ""), "{}", output.stderr);
    assert_eq!(sandbox.chats(), [], "nothing is sent");
    output.masked(&output.stderr)
}

/// The refusals of these models, each asked alone.
fn refusals(models: &[&str]) -> String {
    let sandbox = sandbox();
    models.iter().map(|model| refusal(&sandbox, &["ask", "-m", model, "Why?"])).collect()
}

/// The models of the seats, in order.
fn models(report: &Value) -> Vec<String> {
    let seats = report["answers"].as_array().expect("a report has answers");
    seats.iter().map(|seat| seat["model"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_part_of_a_name_that_fits_one_model_is_accepted() {
    let sandbox = sandbox();
    let output =
        ask(&sandbox, &["opus", "gpt-sol", "claude-opus-5.5", "grok*2@temperature=0.5", "openrouter:kimi"]);
    insta::assert_snapshot!(seats(&output.json()), @"
    1 ~anthropic/claude-opus-latest answered x1 541 bytes
    2 ~openai/gpt-sol-latest answered x1 444 bytes
    3 anthropic/claude-opus-5.5 answered x1 541 bytes
    4 ~x-ai/grok-latest answered x1 344 bytes
    5 ~x-ai/grok-latest answered x1 344 bytes
    6 ~moonshotai/kimi-latest answered x1 140 bytes
    ");
    let asked: Vec<Value> = sandbox.chats().iter().map(|chat| chat.body["model"].clone()).collect();
    assert!(asked.contains(&json!("~anthropic/claude-opus-latest")), "{asked:?}");
    let live = sandbox.call(["ask", "-m", "luna", "--synthesizer", "opus", "Why?"]).run();
    insta::assert_snapshot!(live.transcript(), @"
    exit 0
    --- stdout
    Treat this as a sequence of small decisions.

    1. Write down what success looks like for this before changing anything.
    2. Start with the smallest version of this that can be measured.
    3. Compare the two most likely options on cost, risk and time.
    4. Keep a way back, so that each change to this is easy to undo.

    Look at what breaks at ten times the size: for this, that is usually where the first plan fails. If the measurements disagree with the plan, believe the measurements.
    --- stderr
    [ +<time>] run <run> started: 1 model, about $0.00075, at most $0.0080 if no call fails
    [ +<time>] seat 1 openai/gpt-6-luna: asked
    [ +<time>] seat 1 openai/gpt-6-luna: answered, 479 bytes, 120 tokens, $0.000060
    [ +<time>] decided: one model was asked, so there was nothing to fuse


    Answer by 1 openai/gpt-6-luna: one model was asked, so there was nothing to fuse.
    Cost $0.000060, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let replayed = sandbox.call(["runs", "add", "@", "-m", "31b-it:free", "--json"]).run();
    insta::assert_snapshot!(seats(&replayed.json()), @"
    1 openai/gpt-6-luna answered x1 479 bytes
    2 google/gemma-4-31b-it:free answered x1 389 bytes
    ");
}

#[test]
fn a_name_that_fits_several_models_is_refused_with_all_of_them() {
    insta::assert_snapshot!(refusals(&["claude", "gpt*3"]), @"
    error[model_unknown]: the name `claude` fits 5 models
      next: choose one of: ~anthropic/claude-opus-latest, ~anthropic/claude-sonnet-latest, anthropic/claude-opus-5.5, anthropic/claude-sonnet-5.5, anthropic/claude-haiku-5.5
    error[model_unknown]: the name `gpt` fits 5 models
      next: choose one of: ~openai/gpt-sol-latest, openai/gpt-6.1-sol, openai/gpt-6.1-terra, openai/gpt-6-luna, openai/gpt-oss-120b
    ");
    let fused = refusal(&sandbox(), &["ask", "-m", "opus", "--synthesizer", "flash", "Why?"]);
    insta::assert_snapshot!(fused, @"
    error[model_unknown]: the name `flash` fits 2 models
      next: choose one of: google/gemini-3.8-flash, deepseek/deepseek-v4.1-flash-1017
    ");
}

#[test]
fn a_name_that_fits_no_model_is_refused_with_similar_ones() {
    insta::assert_snapshot!(refusals(&["gpt5", "opuss", "gpt-6.", "qqqq"]), @"
    error[model_unknown]: the model `gpt5` is unknown
      next: choose one of: openai/gpt-6.1-sol, openai/gpt-6.1-terra, openai/gpt-6-luna
    error[model_unknown]: the model `opuss` is unknown
      next: choose one of: anthropic/claude-opus-5.5, ~anthropic/claude-opus-latest
    error[model_unknown]: the model `gpt-6.` is unknown
      next: choose one of: openai/gpt-6.1-sol, openai/gpt-6.1-terra, openai/gpt-6-luna
    error[model_unknown]: the model `qqqq` is unknown
      next: see which models there are with `parallel-llm-mcp models`
    ");
}

#[test]
fn short_names_work_in_settings_and_presets() {
    let sandbox = with_settings(
        "panel = ['grok', 'sonnet']\nsynthesizer = 'opus'\n\
         [presets.two]\npanel = ['gpt-sol', 'glm*2']\n[presets.vague]\npanel = ['gpt']\n",
    );
    let models_with =
        |flags: &[&str]| models(&sandbox.call(["ask", "--json", "Why?"]).args(flags).run().json());
    assert_eq!(models_with(&[]), ["~x-ai/grok-latest", "~anthropic/claude-sonnet-latest"]);
    assert_eq!(
        models_with(&["--preset", "two"]),
        ["~openai/gpt-sol-latest", "~z-ai/glm-latest", "~z-ai/glm-latest"]
    );
    let before = sandbox.chats().len();
    insta::assert_snapshot!(sandbox.call(["ask", "--preset", "vague", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[model_unknown]: the name `gpt` fits 5 models
      next: choose one of: ~openai/gpt-sol-latest, openai/gpt-6.1-sol, openai/gpt-6.1-terra, openai/gpt-6-luna, openai/gpt-oss-120b
    ");
    assert_eq!(sandbox.chats().len(), before, "nothing is sent");
    insta::assert_snapshot!(sandbox.call(["models", "--check"]).run().transcript(), @"
    exit 2
    --- stdout
    STATE  MODEL                              NAMED IN                                REMARK
    alive  grok                               panel                                   stands for x-ai/grok-4.7
    alive  sonnet                             panel                                   stands for anthropic/claude-sonnet-5.5
    alive  opus                               synthesizer                             stands for anthropic/claude-opus-5.5
    alive  openai/gpt-6.1-terra               presets.budget.panel
    alive  anthropic/claude-sonnet-5.5        presets.budget.panel
    alive  google/gemini-3.8-flash            presets.budget.panel
    alive  z-ai/glm-5.3                       presets.budget.panel
    alive  deepseek/deepseek-v4.1-flash-1017  presets.budget.panel
    alive  ~anthropic/claude-opus-latest      presets.max.panel, presets.quick.panel  stands for anthropic/claude-opus-5.5
    alive  ~openai/gpt-sol-latest             presets.max.panel, presets.quick.panel  stands for openai/gpt-6.1-sol
    alive  ~google/gemini-pro-latest          presets.max.panel, presets.quick.panel  stands for google/gemini-4-argon
    alive  ~x-ai/grok-latest                  presets.max.panel                       stands for x-ai/grok-4.7
    alive  ~deepseek/deepseek-pro-latest      presets.max.panel                       stands for deepseek/deepseek-v4-pro-0813
    alive  gpt-sol                            presets.two.panel                       stands for openai/gpt-6.1-sol
    alive  glm                                presets.two.panel                       stands for z-ai/glm-5.3
    dead   gpt                                presets.vague.panel                     the name `gpt` fits 5 models; choose one of: ~openai/gpt-sol-latest, openai/gpt-6.1-sol, openai/gpt-6.1-terra, openai/gpt-6-luna, openai/gpt-oss-120b
    --- stderr
    OpenRouter: 31 models, live
    1 configured model is gone
    ");
}

#[test]
fn short_names_work_for_mcp_clients_on_pipes_and_over_http() {
    let sandbox = with_settings("[aliases]\nfast = 'google/gemini-3.8-flash'\n");
    let question = |model: &str| json!({"prompt": "Why?", "models": [model]});
    let mut client = Client::new(&sandbox, &[]);
    let asked = client.call("process_prompt", question("opus"));
    assert_eq!(models(&client.report(&asked)), ["~anthropic/claude-opus-latest"]);
    assert_eq!(sandbox.chats()[0].body["model"], "~anthropic/claude-opus-latest");
    assert_eq!(client.call("process_prompt", question("fast"))["isError"], false);
    assert_eq!(sandbox.asked("google/gemini-3.8-flash"), 1);
    let error = |result: &Value| {
        format!(
            "{}: {} | {}",
            structured(result)["code"],
            structured(result)["message"],
            structured(result)["next"]
        )
    };
    insta::assert_snapshot!(error(&client.call("process_prompt", question("deepseek"))), @r#""model_unknown": "the name `deepseek` fits 3 models" | "choose one of: ~deepseek/deepseek-pro-latest, deepseek/deepseek-v4-pro-0813, deepseek/deepseek-v4.1-flash-1017""#);
    insta::assert_snapshot!(error(&client.call("process_prompt", question("opnai:gpt-6"))), @r#""model_unknown": "no provider is called `opnai`" | "did you mean `openai:gpt-6`?""#);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let refused = program::call(address, "process_prompt", &question("deepseek"));
    insta::assert_snapshot!(error(&refused["result"]), @r#""model_unknown": "the name `deepseek` fits 3 models" | "choose one of: ~deepseek/deepseek-pro-latest, deepseek/deepseek-v4-pro-0813, deepseek/deepseek-v4.1-flash-1017""#);
    let asked = program::call(address, "process_prompt", &question("grok"));
    assert_eq!(asked["result"]["isError"], false, "{asked}");
    assert_eq!(sandbox.asked("~x-ai/grok-latest"), 1);
}

#[test]
fn a_wrong_provider_or_vendor_is_named_as_the_mistake() {
    insta::assert_snapshot!(refusals(&["opnai:gpt-6", "antropic/claude-opus-5.5", "x-ai:grok-4.7", "antropic/claude-opus-9", "qqqq:gpt-6"]), @"
    error[model_unknown]: no provider is called `opnai`
      next: did you mean `openai:gpt-6`?
    error[model_unknown]: the model `antropic/claude-opus-5.5` is unknown: no vendor is called `antropic`
      next: did you mean `anthropic/claude-opus-5.5`?
    error[model_unknown]: no provider is called `x-ai`
      next: did you mean `x-ai/grok-4.7`?
    error[model_unknown]: the model `antropic/claude-opus-9` is unknown: no vendor is called `antropic`
      next: did you mean `anthropic/claude-opus-5.5`?
    error[model_unknown]: no provider is called `qqqq`
      next: see which models there are with `parallel-llm-mcp models`
    ");
}

#[test]
fn a_configured_alias_stands_for_a_model() {
    let sandbox = with_settings(
        "panel = ['fast*2', 'second']\n[aliases]\nfast = 'google/gemini-3.8-flash@temperature=0.3'\nsecond = 'grok'\n",
    );
    let output = sandbox.call(["ask", "--json", "Why?"]).run();
    assert_eq!(
        models(&output.json()),
        ["google/gemini-3.8-flash", "google/gemini-3.8-flash", "~x-ai/grok-latest"],
        "{}",
        output.stderr
    );
    assert_eq!(
        models(&ask(&sandbox, &["fast", "openai/gpt-6.1-sol"]).json()),
        ["google/gemini-3.8-flash", "openai/gpt-6.1-sol"]
    );
    let shown = sandbox.call(["config", "show", "--origin"]).run();
    let aliases: Vec<&str> = shown.text().lines().filter(|line| line.starts_with("aliases.")).collect();
    insta::assert_snapshot!(shown.masked(&aliases.join("\n")), @"
    aliases.fast                  = google/gemini-3.8-flash@temperature=0.3  # user file <home>/.config/parallel-llm-mcp/config.toml:3
    aliases.second                = grok  # user file <home>/.config/parallel-llm-mcp/config.toml:4
    ");
}

#[test]
fn an_invalid_alias_is_refused_when_the_settings_are_read() {
    let aliases = [
        "a = 'b'\nb = 'a'",
        "'claude-opus-5.5' = 'google/gemini-3.8-flash'",
        "openai = 'openai/gpt-6.1-sol'",
        "'a/b' = 'openai/gpt-6.1-sol'",
        "a = 'x y'",
        "a = ['x']",
    ];
    let refusals =
        aliases.map(|alias| refusal(&with_settings(&format!("[aliases]\n{alias}\n")), &["ask", "Why?"]));
    insta::assert_snapshot!(refusals.concat(), @"
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: the alias `a` leads to no model: its aliases go in a circle
      next: let it stand for a model
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: the alias `claude-opus-5.5` hides the model `anthropic/claude-opus-5.5`
      next: rename the alias
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: the alias `openai` has the name of a provider
      next: rename the alias
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:1: the name of an alias has 1 to 40 lower-case letters, digits, `-`, `_` or `.`, not `a/b`
      next: rename the alias
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:5: cannot read the model `x y`: a model name has 1 to 200 visible ASCII characters and no quotes or commas
      next: write it as `vendor/model`, for example `~openai/gpt-sol-latest`
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/config.toml:2:5: `a` is a string, not a list
      next: correct the value at the place the message names
    ");
}

#[test]
fn a_run_is_named_by_its_age_or_by_the_beginning_of_its_id() {
    let sandbox = sandbox();
    let ids: Vec<String> = ["First?", "Second?", "Third?"]
        .map(|question| {
            let report = sandbox.call(["ask", "--json", "-m", "x-ai/grok-4.7", question]).run().json();
            report["run_id"].as_str().expect("a run has an id").to_owned()
        })
        .into();
    let runs = |arguments: &[&str]| sandbox.call(["runs"]).args(arguments).run();
    let found = |name: &str| runs(&["show", name, "--json"]).json()["run_id"].clone();
    for (name, index) in [("@", 2), ("@~", 1), ("@~1", 1), ("@~2", 0)] {
        assert_eq!(found(name), ids[index], "{name}");
    }
    assert_eq!(found(&ids[0].to_lowercase()), ids[0]);
    assert_eq!(found(&ids[1][..25]), ids[1]);
    insta::assert_snapshot!(runs(&["show", "@~3"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: there is no run `@~3`: fewer runs are kept
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    insta::assert_snapshot!(runs(&["show", "@~x"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `@~x` is no name of a run: `@` is the newest, `@~1` the one before it
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    let ambiguous = runs(&["wait", "01"]).transcript();
    insta::assert_snapshot!(ambiguous, @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: more than one run has an id that begins with `01`: <run> (<age> ago, "Third?"), <run> (<age> ago, "Second?"), <run> (<age> ago, "First?")
      next: give more of the id, or look for the run with `parallel-llm-mcp runs list`
    "#);
    let older = runs(&["list", "--before", "@~1", "--json"]).json_lines();
    assert_eq!(older.iter().map(|run| &run["run_id"]).collect::<Vec<_>>(), [&json!(ids[0])]);
    let again = runs(&["synthesize", "@~2", "--json"]).json();
    assert_eq!(again["run_id"], ids[0]);
    assert_eq!(runs(&["purge", "@~2", "--yes"]).code, Some(0));
    insta::assert_snapshot!(runs(&["show", &ids[0]]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    let mut client = Client::new(&sandbox, &[]);
    let get_run = |client: &mut Client, name: &str| {
        structured(&client.call("get_run", json!({"run_id": name}))).clone()
    };
    assert_eq!(get_run(&mut client, "@~1")["run_id"], ids[1]);
    assert_eq!(get_run(&mut client, &ids[2][..25])["run_id"], ids[2]);
    let ambiguous = get_run(&mut client, "01");
    assert_eq!(ambiguous["code"], "usage", "{ambiguous}");
    assert!(
        ids[1..].iter().all(|id| ambiguous["message"].as_str().unwrap_or_default().contains(id)),
        "{ambiguous}"
    );
}
