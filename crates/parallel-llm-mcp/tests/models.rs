//! `models`: the models that can be asked with their prices, the source of each list, and the check of configured
//! models.

use crate::lists::{Lists, NO_SERVER, without_local_servers};
use crate::mcp::client::{Client, structured};
use parallel_llm_testkit::{Output, Sandbox};
use serde_json::{Value, json};

/// A small list of OpenRouter: a model with files and two prices, one that expires soon, an alias and a router.
fn openrouter_list(ends_on: &str) -> String {
    json!({"data": [
        {"id": "lab/large", "name": "Lab: Large", "context_length": 1_048_576,
            "architecture": {"input_modalities": ["text", "image", "file"]},
            "top_provider": {"max_completion_tokens": 128_000},
            "pricing": {"prompt": "0.000002", "completion": "0.00001",
                "overrides": [{"min_prompt_tokens": 200_000, "prompt": "0.000004"}]}},
        {"id": "lab/small", "name": "Lab: Small", "context_length": 131_072,
            "architecture": {"input_modalities": ["text"]},
            "top_provider": {"max_completion_tokens": 65_536},
            "pricing": {"prompt": "0.0000001", "completion": "0.0000005"}, "expiration_date": ends_on},
        {"id": "~lab/large-latest", "name": "Lab: newest Large", "alias_target": {"slug": "lab/large"},
            "context_length": 1_048_576, "pricing": {"prompt": "0.000002", "completion": "0.00001"}},
        {"id": "router/any", "name": "Any", "pricing": {"prompt": "-1", "completion": "-1"}},
    ]})
    .to_string()
}

/// The list of an Ollama with two models.
fn ollama_list() -> &'static str {
    r#"{"object":"list","data":[{"id":"llama4:8b","object":"model"},{"id":"qwen3:4b","object":"model"}]}"#
}

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// `models` with these arguments and OpenRouter's list from this server.
fn models(sandbox: &Sandbox, openrouter: &Lists, arguments: &[&str]) -> Output {
    let call = without_local_servers(sandbox, &["models"]).args(arguments);
    let output = call.env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1")).run();
    output.assert_no_key();
    assert_eq!(sandbox.chats(), [], "only lists are fetched");
    output
}

/// The ids of `models --json`.
fn ids(output: &Output) -> Vec<String> {
    let found = output.json();
    let models = found["models"].as_array().into_iter().flatten();
    models.map(|model| model["id"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The date this many days from today, `YYYY-MM-DD`; today is the date of a new file.
fn in_days(sandbox: &Sandbox, days: i64) -> String {
    let modified = sandbox.write("today", "").metadata().and_then(|metadata| metadata.modified());
    let since = modified.map(|at| at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default());
    let today = since.expect("a new file has a date").as_secs() / 86_400;
    let mut left = i64::try_from(today).unwrap_or_default() + days;
    let (mut year, mut month) = (1970, 0);
    loop {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let february = if is_leap { 29 } else { 28 };
        let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
        if left < length {
            return format!("{year}-{:02}-{:02}", month + 1, left + 1);
        }
        left -= length;
        month = (month + 1) % 12;
        year += i64::from(month == 0);
    }
}

/// Replaces what differs from run to run in the entries of `lists`.
fn masked(mut value: Value) -> Value {
    for list in value["lists"].as_array_mut().into_iter().flatten() {
        for name in ["fetched_at_ms", "age_ms"] {
            if list[name].is_number() {
                list[name] = json!(format!("<{name}>"));
            }
        }
    }
    value
}

#[test]
fn the_list_is_a_table_on_stdout_and_its_source_on_stderr() {
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    let output = models(&sandbox, &openrouter, &[]);
    insta::assert_snapshot!(output.transcript(), @r"
    exit 0
    --- stdout
    MODEL              NAME               CONTEXT  OUTPUT  $/M IN  $/M OUT  FILES                EXPIRES
    lab/large          Lab: Large           1.05M    128k    2.00    10.00  pictures, documents
    lab/small          Lab: Small            131k     66k    0.10     0.50  none                 2099-12-31
    ~lab/large-latest  Lab: newest Large    1.05M            2.00    10.00
    router/any         Any
    --- stderr
    4 models
    OpenRouter: 4 models, live
    ");
}

#[test]
fn models_are_filtered_and_sorted() {
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    for (arguments, expected) in [
        (&["large", "LAB"][..], &["lab/large", "~lab/large-latest"][..]),
        (&["newest"], &["~lab/large-latest"]),
        (&["--min-context", "200000"], &["lab/large", "~lab/large-latest"]),
        (&["--max-price", "9.99"], &["lab/small"]),
        (&["--attachments"], &["lab/large"]),
        (&["--sort", "price"], &["lab/small", "lab/large", "~lab/large-latest", "router/any"]),
        (&["--sort", "context"], &["lab/large", "~lab/large-latest", "lab/small", "router/any"]),
        (&["--sort", "name", "--limit", "2"], &["lab/large", "~lab/large-latest"]),
        (&["no", "such"], &[]),
    ] {
        let output = models(&sandbox, &openrouter, &[&["--json"], arguments].concat());
        assert_eq!(ids(&output), expected, "{arguments:?}");
    }
    let cut = models(&sandbox, &openrouter, &["--limit", "1"]);
    assert!(cut.stderr.starts_with("1 of 4 models that fit\n"), "{}", cut.stderr);
    assert_eq!(openrouter.asked().len(), 1, "the list is cached on disk for a day");
    models(&sandbox, &openrouter, &["--refresh"]);
    assert_eq!(openrouter.asked().len(), 2);
}

#[test]
fn json_has_every_field() {
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    let found = models(&sandbox, &openrouter, &["--json", "--limit", "1"]).json();
    assert_eq!(
        masked(found),
        json!({
            "schema": 1,
            "lists": [{
                "provider": "openrouter", "name": "OpenRouter", "has_key": true, "source": "live",
                "fetched_at_ms": "<fetched_at_ms>", "age_ms": "<age_ms>", "embedded_on": null, "models": 4,
                "error": null,
            }],
            "servers": [],
            "models_total": 4,
            "models": [{
                "id": "lab/large", "provider": "openrouter", "name": "Lab: Large", "alias_of": null,
                "context_tokens": 1_048_576, "output_tokens_max": 128_000,
                "input_usd_per_million": 2.0, "output_usd_per_million": 10.0,
                "price_overrides": [{"above_input_tokens": 200_000, "input_usd_per_million": 4.0,
                    "output_usd_per_million": null}],
                "inputs": {"image": true, "document": true}, "expires_on": null,
            }],
        })
    );
}

#[test]
fn invalid_arguments_are_refused() {
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    let unknown = models(&sandbox, &openrouter, &["--provider", "mistrall"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("there is no provider `mistrall`"), "{}", unknown.stderr);
    for arguments in [&["--max-price", "-1"][..], &["--sort", "age"], &["--check", "--limit", "1"]] {
        assert_eq!(models(&sandbox, &openrouter, arguments).code, Some(2), "{arguments:?}");
    }
    assert_eq!(openrouter.asked(), [""; 0]);
}

#[test]
fn a_cached_list_is_used_when_the_provider_is_unreachable() {
    let sandbox = sandbox();
    let openrouter = Lists::of(&openrouter_list("2099-12-31"));
    let address = openrouter.url("/api/v1");
    models(&sandbox, &openrouter, &[]);
    let file = sandbox.data_dir().join("models/openrouter.json");
    let cached: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&cached["version"], &cached["base_url"]), (&json!(1), &json!(address)));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    // No longer fresh, but newer than the embedded list; and the provider is unreachable.
    let older = cached["fetched_at"].as_u64().unwrap() - 180_000;
    let old = cached.to_string().replace(&cached["fetched_at"].to_string(), &older.to_string());
    std::fs::write(&file, old).unwrap();
    drop(openrouter);
    let call = || {
        let call = without_local_servers(&sandbox, &["models"]).env("OPENROUTER_BASE_URL", &address);
        call.settings([("catalogue_max_age_ms", "60000")])
    };
    let output = call().run();
    assert_eq!((output.code, output.text().lines().count()), (Some(0), 5));
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[1], "OpenRouter: 4 models, kept 3 min ago");
    assert!(lines[2].starts_with("  not newer: openrouter at "), "{}", output.stderr);
    // A cached list of another address is not used, nor is a broken one.
    let other = without_local_servers(&sandbox, &["models"])
        .env("OPENROUTER_BASE_URL", "http://127.0.0.1:1/api/v1")
        .run();
    assert!(other.stderr.contains("that this program carries"), "{}", other.stderr);
    std::fs::write(&file, "{\"version\":1,").unwrap();
    let broken = call().run();
    assert_eq!(broken.code, Some(0));
    assert!(broken.stderr.contains("that this program carries"), "{}", broken.stderr);
}

#[test]
fn a_broken_cached_list_is_replaced() {
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    let file = sandbox.write(".local/share/parallel-llm-mcp/models/openrouter.json", "no list");
    let output = models(&sandbox, &openrouter, &[]);
    assert!(output.stderr.contains("OpenRouter: 4 models, live"), "{}", output.stderr);
    let kept: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(kept["models"].as_array().unwrap().len(), 4);
}

#[test]
fn a_local_server_is_suggested_but_not_used() {
    let (sandbox, openrouter, ollama) =
        (sandbox(), Lists::of(&openrouter_list("2099-12-31")), Lists::of(ollama_list()));
    let call = || {
        let call = without_local_servers(&sandbox, &["models", "llama"])
            .env("OPENROUTER_BASE_URL", &openrouter.url("/api/v1"));
        call.env("OLLAMA_BASE_URL", &ollama.url(""))
    };
    let output = call().run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.text().lines().nth(1).unwrap().split_whitespace().next(), Some("ollama:llama4:8b"));
    let offer =
        format!("found Ollama at {} with 2 models: ask one with `-m ollama:llama4:8b`", ollama.authority());
    assert_eq!(output.stderr.lines().last(), Some(offer.as_str()));
    let found = call().arg("--json").run().json();
    assert_eq!(
        found["servers"],
        json!([{"provider": "ollama", "name": "Ollama", "base_url": ollama.url("/v1"), "models": 2,
            "example": "ollama:llama4:8b"}])
    );
    for head in ollama.asked() {
        assert!(head.starts_with("get /v1/models http/1.1\r\n"), "{head}");
        assert!(!head.contains("authorization") && !head.contains("api-key"), "{head}");
    }
    // A question that does not name the server does not reach it.
    let before = ollama.asked().len();
    let asked = sandbox.call(["ask", "-q", "-m", "x-ai/grok-4.7", "Why?"]);
    assert_eq!(asked.env("OLLAMA_BASE_URL", &ollama.url("")).run().code, Some(0));
    assert_eq!(ollama.asked().len(), before);
}

#[test]
fn an_mcp_client_sees_the_available_providers_and_models() {
    let (sandbox, openrouter, ollama) =
        (sandbox(), Lists::of(&openrouter_list("2099-12-31")), Lists::of(ollama_list()));
    let mut client = Client::new(
        &sandbox,
        &[
            ("OPENROUTER_BASE_URL", &openrouter.url("/api/v1")),
            ("OLLAMA_BASE_URL", &ollama.url("")),
            ("LMSTUDIO_BASE_URL", NO_SERVER),
            ("VLLM_BASE_URL", NO_SERVER),
        ],
    );
    let result = client.call("list_models", json!({"search": "l"}));
    let list = structured(&result);
    assert_eq!(
        list["providers"],
        json!([
            {"id": "openrouter", "has_key": true, "runs_here": false, "list": "live"},
            {"id": "ollama", "has_key": false, "runs_here": true, "list": "live"},
        ])
    );
    assert_eq!(
        list["models"],
        json!([
            {"id": "lab/large", "context_tokens": 1_048_576, "input_usd_per_million": 2.0,
                "output_usd_per_million": 10.0, "inputs": {"image": true, "document": true}},
            {"id": "lab/small", "context_tokens": 131_072, "input_usd_per_million": 0.1,
                "output_usd_per_million": 0.5, "inputs": {"image": false, "document": false},
                "expires_on": "2099-12-31"},
            {"id": "~lab/large-latest", "context_tokens": 1_048_576, "input_usd_per_million": 2.0,
                "output_usd_per_million": 10.0},
            {"id": "ollama:llama4:8b"},
            {"id": "ollama:qwen3:4b"},
        ])
    );
    assert_eq!((&list["live"], &list["models_total"]), (&json!(true), &json!(5)));
}

#[test]
fn check_reports_the_status_of_each_configured_model() {
    let sandbox = sandbox();
    let soon = in_days(&sandbox, 10);
    let openrouter = Lists::of(&openrouter_list(&soon));
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "panel = [\"~lab/large-latest\", \"lab/larg\", \"mistral:mistral-large-4-0\"]\n\
         synthesizer = [\"lab/small\", \"~lab/large-latest\"]\n\
         [presets]\n\
         quick.panel = [\"lab/small\"]\nbudget.panel = [\"lab/large\"]\nmax.panel = [\"lab/large*2\"]\n",
    );
    let output = models(&sandbox, &openrouter, &["--check"]);
    assert_eq!(output.code, Some(2));
    let transcript = output.transcript().replace(&soon, "<soon>").replace(", 9 days", ", 10 days");
    insta::assert_snapshot!(transcript, @"
    exit 2
    --- stdout
    STATE     MODEL                      NAMED IN                                 REMARK
    alive     ~lab/large-latest          panel, synthesizer                       stands for lab/large
    dead      lab/larg                   panel                                    its provider does not offer it; did you mean `lab/large`?
    unknown   mistral:mistral-large-4-0  panel                                    no API key is set for `mistral`; set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`
    expiring  lab/small                  synthesizer, presets.quick.panel         it is offered until <soon>, 10 days from now; choose another model before that day
    alive     lab/large                  presets.budget.panel, presets.max.panel
    --- stderr
    OpenRouter: 4 models, live
    Mistral: no list
      why: no API key is set for `mistral` (next: set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`)
    1 configured model is gone
    ");
    let checked = models(&sandbox, &openrouter, &["--check", "--json"]);
    assert_eq!(checked.code, Some(2));
    let checked = checked.json();
    assert_eq!(checked["has_dead"], true);
    assert_eq!(
        checked["models"][1],
        json!({
            "id": "lab/larg", "places": ["panel"], "provider": "openrouter", "has_key": true,
            "standing": "dead", "alias_of": null, "expires_on": null, "context_tokens": null,
            "input_usd_per_million": null, "output_usd_per_million": null,
            "message": "its provider does not offer it", "next": "did you mean `lab/large`?",
        })
    );
    let statuses: Vec<&str> = checked["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["standing"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["alive", "dead", "unknown", "expiring", "alive"]);
}

#[test]
fn without_a_current_list_no_model_is_called_dead() {
    let sandbox = sandbox();
    let call =
        without_local_servers(&sandbox, &["models", "--check", "--json"]).settings([("panel", "lab/gone")]);
    let output = call.env("OPENROUTER_BASE_URL", &NO_SERVER.replace("/v1", "/api/v1")).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let checked = output.json();
    assert_eq!(checked["has_dead"], false);
    assert_eq!(checked["models"][0]["standing"], "unknown");
    assert_eq!(checked["models"][0]["message"], "it is not in the cached list, which is not from today");
}

#[test]
fn a_model_named_by_flag_is_looked_up_at_its_own_provider() {
    let (sandbox, ollama) = (sandbox(), Lists::of(ollama_list()));
    let ask = |model: &str| {
        let call =
            without_local_servers(&sandbox, &["ask", "--json", "-m", model, "-m", "x-ai/grok-4.7", "Why?"]);
        call.env("OLLAMA_BASE_URL", &ollama.url("")).run()
    };
    ask("ollama:llama4:8b");
    let lists = |lists: &Lists| lists.asked().iter().filter(|head| head.starts_with("get ")).count();
    assert_eq!(lists(&ollama), 1);
    ask("ollama:llama4:8b");
    assert_eq!(lists(&ollama), 1, "a fresh cached list with the name is enough");
    ask("ollama:qwen9:1b");
    assert_eq!(lists(&ollama), 2, "an unknown name may be new");
    // Its prices are those of the program until they are a day old, when one question renews them for all.
    let asked = sandbox.simulator().requests();
    assert_eq!(asked.iter().filter(|request| request.path.ends_with("/models")).count(), 1);
}

#[test]
fn a_model_named_by_flag_without_a_key_is_refused_before_anything_is_sent() {
    let sandbox = sandbox();
    let refused =
        without_local_servers(&sandbox, &["ask", "-m", "x-ai/grok-4.7", "-m", "mistral:large", "Why?"]).run();
    insta::assert_snapshot!(refused.transcript(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `mistral`
      next: set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`
    ");
    let fuse = without_local_servers(
        &sandbox,
        &["ask", "-m", "x-ai/grok-4.7", "--synthesizer", "mistral:large", "Why?"],
    )
    .run();
    assert_eq!(fuse.code, Some(4));
    assert_eq!(sandbox.chats(), []);
    // A configured model without a key fails only its own seat; if no model of the panel has a key, there is no run.
    let ask = || without_local_servers(&sandbox, &["ask", "--json", "Why?"]);
    let configured = ask().settings([("panel", "x-ai/grok-4.7 mistral:large"), ("budget_usd", "none")]).run();
    assert_eq!(configured.code, Some(0), "{}", configured.stderr);
    let answers = &configured.json()["answers"];
    assert_eq!((&answers[0]["provider"], &answers[0]["status"]), (&json!("openrouter"), &json!("answered")));
    assert_eq!(
        (&answers[1]["provider"], &answers[1]["error"]["code"]),
        (&json!("mistral"), &json!("key_missing"))
    );
    let keyless = ask().settings([("panel", "mistral:large mistral:small")]).run();
    assert_eq!((keyless.code, sandbox.chats().len()), (Some(4), 1), "{}", keyless.stderr);
}

#[test]
fn options_that_a_provider_does_not_support_are_warnings() {
    let sandbox = sandbox();
    let local = sandbox.simulator().base_url_of("openai").expect("the simulator speaks OpenAI");
    let ask = without_local_servers(
        &sandbox,
        &["ask", "--json", "-m", "mistral:mistralai/mistral-large-4-0", "Why?"],
    )
    .env("MISTRAL_BASE_URL", &local)
    .env("MISTRAL_API_KEY", sandbox.simulator().api_key())
    .settings([("zdr", "on"), ("reasoning_effort", "high"), ("synthesizer", "x-ai/grok-4.7")]);
    let report = ask.run().json();
    let warnings: Vec<&str> = report["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        warnings,
        [
            "only a router accepts limits on what is kept of a question; these are asked under their providers' own \
             terms: seat 1 (`mistral:mistralai/mistral-large-4-0`)",
            "the effort of these cannot be set; their models decide: seat 1 \
             (`mistral:mistralai/mistral-large-4-0`)",
        ]
    );
}

#[test]
fn list_models_keeps_its_size_limit() {
    use std::fmt::Write as _;
    let (sandbox, openrouter) = (sandbox(), Lists::of(&openrouter_list("2099-12-31")));
    let panel: Vec<String> =
        (0..64).map(|number| format!("'laboratory-of-long-names/model-of-some-length-{number}'")).collect();
    let mut text = format!("panel = [{}]\n", panel.join(", "));
    for number in 0..60 {
        writeln!(text, "[presets.preset-of-some-length-{number}]\npanel = ['lab/large']").unwrap();
        if number < 50 {
            writeln!(text, "[providers.team-of-some-length-{number}]\nbase_url = '{NO_SERVER}'").unwrap();
            writeln!(text, "key_command = ['/no/program']").unwrap();
        }
    }
    sandbox.write(".config/parallel-llm-mcp/config.toml", text);
    let no_local_servers =
        ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"].map(|name| (name, NO_SERVER));
    let address = openrouter.url("/api/v1");
    let mut client = Client::new(
        &sandbox,
        &[&no_local_servers[..], &[("OPENROUTER_BASE_URL", address.as_str())]].concat(),
    );
    let result = client.call("list_models", json!({}));
    let list = structured(&result);
    let size = list.to_string().len();
    assert!(size <= 10_000, "{size} bytes");
    let count = |name: &str| list[name].as_array().unwrap().len();
    assert_eq!(
        ["panel_total", "presets_total", "providers_total", "models_total", "synthesizer_total"]
            .map(|name| list[name].as_u64()),
        [Some(64), Some(64), Some(51), Some(4), None]
    );
    assert!(count("panel") > 20 && count("presets") > 20 && count("providers") > 10, "{list}");
    assert_eq!(count("models"), 4);
}

#[test]
fn a_key_program_is_run_for_a_list_only_if_its_provider_is_named() {
    let (sandbox, openrouter, team) =
        (sandbox(), Lists::of(&openrouter_list("2099-12-31")), Lists::of(r#"{"data":[{"id":"own"}]}"#));
    let program = r#"["/bin/sh", "-c", "echo once >> \"$HOME/asked\"; echo 0000000000000000"]"#;
    let table = format!("[providers.team]\nbase_url = '{}'\nkey_command = {program}\n", team.url("/v1"));
    sandbox.write(".config/parallel-llm-mcp/config.toml", table);
    let marker = sandbox.home().join("asked");
    let output = models(&sandbox, &openrouter, &["own"]);
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
    --- stderr
    no model fits, but there is no list of team
    OpenRouter: 4 models, live
    team: no list
      why: the program that keeps the key of `team` is run only when `team` is named (next: type `parallel-llm-mcp models --provider team`)
    ");
    assert!(!marker.exists() && team.asked().is_empty());
    let named = models(&sandbox, &openrouter, &["--provider", "team", "--provider", "team", "--json"]);
    assert_eq!(ids(&named), ["team:own"], "each provider is listed once");
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "once\n");
    let cached = models(&sandbox, &openrouter, &["own", "--json"]);
    assert_eq!(
        (ids(&cached), &cached.json()["lists"][1]["error"]),
        (vec!["team:own".to_owned()], &Value::Null)
    );
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "once\n", "the cached list is used");
}

#[test]
fn check_names_expired_models_and_missing_addresses() {
    let sandbox = sandbox();
    let expired_on = in_days(&sandbox, -19);
    let openrouter = Lists::of(&openrouter_list(&expired_on));
    let presets = ["quick", "budget", "max"].map(|name| format!("{name}.panel = ['lab/large']\n")).concat();
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        format!("panel = ['lab/small', 'azure:gpt']\nsynthesizer = 'lab/large'\n[presets]\n{presets}"),
    );
    let output = models(&sandbox, &openrouter, &["--check"]);
    insta::assert_snapshot!(output.transcript().replace(&expired_on, "<over>"), @"
    exit 2
    --- stdout
    STATE    MODEL      NAMED IN                                                                   REMARK
    dead     lab/small  panel                                                                      it was offered until <over>, which has passed; see which models there are with `parallel-llm-mcp models`
    unknown  azure:gpt  panel                                                                      no base URL is set for `azure`; set `AZURE_OPENAI_ENDPOINT`, or `base_url` in `[providers.azure]`
    alive    lab/large  synthesizer, presets.budget.panel, presets.max.panel, presets.quick.panel
    --- stderr
    OpenRouter: 4 models, live
    Azure OpenAI: no list
      why: no base URL is set for `azure` (next: set `AZURE_OPENAI_ENDPOINT`, or `base_url` in `[providers.azure]`)
    1 configured model is gone
    ");
}

#[test]
fn a_seat_of_a_provider_without_an_address_names_the_setting() {
    let sandbox = sandbox();
    let call = without_local_servers(&sandbox, &["ask", "--json", "Why?"])
        .settings([("panel", "x-ai/grok-4.7 azure:gpt"), ("budget_usd", "none")]);
    let report = call.run().json();
    let error = &report["answers"][1]["error"];
    assert_eq!(error["message"], "no base URL is set for `azure`");
    assert_eq!(error["next"], "set `AZURE_OPENAI_ENDPOINT`, or `base_url` in `[providers.azure]`");
}
