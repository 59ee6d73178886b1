//! No request leaves for a run whose worst case is unknown or above its budget, whoever named its models and through
//! whichever door.

mod shop;
mod told;
mod untold;

use std::net::SocketAddr;

use parallel_llm_testkit::{Call, Output, Running, Sandbox, each};
use serde_json::{Value, json};

use crate::http::client::{Wire, post};
use crate::mcp::client::{Client, structured, text};
use shop::{GOLD, ListState, PRICES, Replies, Shop, list};

const CHEAP: &str = "lab/cheap";
const PLAIN: &str = "lab/plain";
const CONFIG: &str = ".config/parallel-llm-mcp/config.toml";
/// The budget of every case, in USD: a call of the expensive model costs sixteen times as much.
const BUDGET: &str = "1";
/// How many cases are tried unless `PRICES_CASES` says otherwise. All are tried by `PRICES_CASES=1000`.
const CASES: usize = 40;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// The program with this shop behind OpenRouter's name.
fn call<'a>(sandbox: &'a Sandbox, shop: &Shop, arguments: &[&str]) -> Call<'a> {
    let call = sandbox.call(arguments).env("OPENROUTER_BASE_URL", &shop.base_url());
    call.settings([("budget_usd", BUDGET), ("retries_max", "0")])
}

fn ask(sandbox: &Sandbox, shop: &Shop, arguments: &[&str]) -> Output {
    call(sandbox, shop, &[&["ask", "--json"], arguments, &["Why does it rain?"]].concat()).run()
}

fn error(output: &Output) -> Value {
    output.json()["error"].clone()
}

/// Who names the models of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namer {
    Flag,
    UserFile,
    ProjectFile,
    Environment,
    Preset,
    ProjectPreset,
    Persona,
    Synthesizer,
    SynthesizerChain,
    Judge,
    FlowStage,
    Alias,
}

/// The door that a question comes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    CommandLine,
    Batch,
    Tool,
    Chat,
}

/// What the program knows of prices when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing is kept; the list can be had.
    Nothing,
    /// A list is kept that is two days old and tells a thousandth of the price; the new one can be had.
    Stale,
    /// The list lacks the model.
    WithoutOne,
    /// Nothing is kept, and the list cannot be had.
    Unreachable,
    /// The list is kept and fresh.
    Fresh,
}

const NAMERS: [Namer; 12] = [
    Namer::Flag,
    Namer::UserFile,
    Namer::ProjectFile,
    Namer::Environment,
    Namer::Preset,
    Namer::ProjectPreset,
    Namer::Persona,
    Namer::Synthesizer,
    Namer::SynthesizerChain,
    Namer::Judge,
    Namer::FlowStage,
    Namer::Alias,
];
const DOORS: [Door; 4] = [Door::CommandLine, Door::Batch, Door::Tool, Door::Chat];
const KNOWN: [Known; 5] = [Known::Nothing, Known::Stale, Known::WithoutOne, Known::Unreachable, Known::Fresh];

/// One run: who names which model, where it is asked, and what is known of its price.
#[derive(Clone, Copy, Debug)]
struct Case {
    namer: Namer,
    door: Door,
    known: Known,
    /// The model of interest: the expensive one, or one that the budget holds.
    model: &'static str,
}

/// All cases in an order that spreads each kind over the whole, so that any beginning has every kind of each.
fn cases(count: usize) -> Vec<Case> {
    let mut all = Vec::new();
    for (at, namer) in NAMERS.into_iter().enumerate() {
        for (shift, door) in DOORS.into_iter().enumerate() {
            for (turn, known) in KNOWN.into_iter().enumerate() {
                for model in [GOLD, PLAIN] {
                    let order = (turn + at + shift) % KNOWN.len() * 1_000 + (at + 5 * shift) % 12 * 10 + turn;
                    all.push((order, Case { namer, door, known, model }));
                }
            }
        }
    }
    all.sort_by_key(|(order, _)| *order);
    all.into_iter().map(|(_, case)| case).take(count).collect()
}

impl Case {
    /// The settings file, the project's file, and the flags or arguments that name the model.
    fn files(self) -> (String, String) {
        let model = self.model;
        let panel = |models: &[&str]| format!("panel = {models:?}\n");
        let usual = format!("synthesizer = \"{CHEAP}\"\n{}", panel(&[CHEAP, PLAIN]));
        let named = format!("synthesizer = \"{CHEAP}\"\n{}", panel(&[CHEAP, model]));
        match self.namer {
            Namer::UserFile => (named, String::new()),
            Namer::ProjectFile => (usual, panel(&[CHEAP, model])),
            Namer::Preset => (format!("{usual}[presets.mine]\n{}", panel(&[CHEAP, model])), String::new()),
            Namer::ProjectPreset => (usual, format!("[presets.mine]\n{}", panel(&[CHEAP, model]))),
            Namer::Persona => {
                let seat = format!("{model}@persona=critic");
                let persona = "[personas.critic]\nsystem = \"Say what breaks first.\"\n";
                (format!("synthesizer = \"{CHEAP}\"\n{}{persona}", panel(&[CHEAP, &seat])), String::new())
            }
            Namer::Synthesizer => {
                (format!("synthesizer = \"{model}\"\n{}", panel(&[CHEAP, PLAIN])), String::new())
            }
            Namer::SynthesizerChain => (
                format!("synthesizer = [\"{CHEAP}\", \"{model}\"]\n{}", panel(&[CHEAP, PLAIN])),
                String::new(),
            ),
            Namer::Judge => {
                let judged = format!("strategy = \"best-of-n\"\nsynthesizer = \"{model}\"\n");
                (format!("{judged}{}", panel(&[CHEAP, PLAIN])), String::new())
            }
            Namer::Alias => {
                let aliased = format!("synthesizer = \"{CHEAP}\"\n{}", panel(&[CHEAP, "mine"]));
                (format!("{aliased}[aliases]\nmine = \"{model}\"\n"), String::new())
            }
            Namer::Flag | Namer::Environment | Namer::FlowStage => (usual, String::new()),
        }
    }

    fn preset(self) -> Option<&'static str> {
        matches!(self.namer, Namer::Preset | Namer::ProjectPreset | Namer::FlowStage).then_some("mine")
    }

    fn environment(self) -> Vec<(String, String)> {
        let names = format!("{CHEAP} {}", self.model);
        let named = (self.namer == Namer::Environment).then(|| ("PARALLEL_LLM_PANEL".to_owned(), names));
        named.into_iter().collect()
    }

    /// Asks. Returns what the door said.
    fn ask(self, sandbox: &Sandbox, shop: &Shop) -> String {
        let (user, project) = self.files();
        sandbox.write(CONFIG, user);
        if !project.is_empty() {
            sandbox.write(".parallel-llm.toml", project);
        }
        if self.namer == Namer::FlowStage {
            let flow = format!(
                "[stages.a]\npanel = [\"{CHEAP}\", \"{PLAIN}\"]\n[stages.b]\npanel = \"{}\"\n[stages.c]\nfrom = [\"a\", \"b\"]\n",
                self.model
            );
            sandbox.write(".config/parallel-llm-mcp/flows/mine.toml", flow);
        }
        let models = (self.namer == Namer::Flag).then(|| vec![CHEAP, self.model]);
        let environment = self.environment();
        let with = |call: Call<'_>| {
            let call = environment.iter().fold(call, |call, (name, value)| call.env(name, value));
            call.run()
        };
        match self.door {
            Door::CommandLine | Door::Batch => {
                let mut flags: Vec<&str> = models.iter().flatten().flat_map(|model| ["-m", *model]).collect();
                flags.extend(self.preset().iter().flat_map(|name| ["--preset", *name]));
                if self.door == Door::CommandLine {
                    let words = [&["ask", "--json"], flags.as_slice(), &["Why does it rain?"]].concat();
                    return with(call(sandbox, shop, &words)).transcript();
                }
                let file = sandbox.write("questions.jsonl", "{\"prompt\": \"Why does it rain?\"}\n");
                let file = file.display().to_string();
                let words = [&["batch", "submit", file.as_str(), "--json"], flags.as_slice()].concat();
                with(call(sandbox, shop, &words)).transcript()
            }
            Door::Tool => {
                let base_url = shop.base_url();
                let mut settings = vec![
                    ("OPENROUTER_BASE_URL", base_url.as_str()),
                    ("PARALLEL_LLM_BUDGET_USD", BUDGET),
                    ("PARALLEL_LLM_RETRIES_MAX", "0"),
                ];
                settings.extend(environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                let mut client = Client::new(sandbox, &settings);
                let mut arguments = json!({"prompt": "Why does it rain?"});
                if let Some(models) = &models {
                    arguments["models"] = json!(models);
                }
                if let Some(preset) = self.preset() {
                    arguments["preset"] = json!(preset);
                }
                client.call("process_prompt", arguments).to_string()
            }
            Door::Chat => {
                let (_running, address) = serve(sandbox, shop, &["--no-auth"], &environment);
                let model = match (&models, self.preset()) {
                    (Some(models), _) => format!("panel/{}", models.join("+")),
                    (None, Some(preset)) => format!("panel/{preset}"),
                    (None, None) => "panel/default".to_owned(),
                };
                let body =
                    json!({"model": model, "messages": [{"role": "user", "content": "Why does it rain?"}]});
                let mut wire = Wire::to(address);
                wire.write(post(address, "/v1/chat/completions", "", &body.to_string()));
                format!("{:?}", wire.reply())
            }
        }
    }
}

/// Starts the program as a server with a shop behind it, and waits until its log names its address.
fn serve<'s>(
    sandbox: &'s Sandbox,
    shop: &Shop,
    flags: &[&str],
    environment: &[(String, String)],
) -> (Running<'s>, SocketAddr) {
    let log = sandbox.home().join("log");
    let log_file = log.display().to_string();
    let call = call(sandbox, shop, &[&["serve", "--http", "127.0.0.1:0"], flags].concat());
    let call = call.settings([("log_file", log_file.as_str())]);
    let running = environment.iter().fold(call, |call, (name, value)| call.env(name, value)).start();
    let address = || {
        let text = std::fs::read_to_string(&log).ok()?;
        text.split_once("MCP is served at http://")?.1.split_once("/mcp")?.0.parse().ok()
    };
    sandbox.until("it listens", || address().is_some());
    (running, address().expect("it listens"))
}

/// A kept list of this age, with prices that are this many times the real ones.
fn keep(sandbox: &Sandbox, shop: &Shop, age_ms: u64, times: f64) {
    let priced = list(&PRICES, times);
    let body = priced["data"].as_array().expect("a list");
    let pico =
        |text: &Value| (text.as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) * 1e12) as i64;
    let models: Vec<Value> = body
        .iter()
        .map(|model| {
            json!({"id": model["id"], "name": model["id"], "alias_of": null, "context_tokens": 200_000,
                "output_tokens_max": null,
                "price": {"input": pico(&model["pricing"]["prompt"]), "output": pico(&model["pricing"]["completion"])}})
        })
        .collect();
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis() as u64;
    let kept =
        json!({"version": 1, "fetched_at": now - age_ms, "base_url": shop.base_url(), "models": models});
    sandbox.write(".local/share/parallel-llm-mcp/models/openrouter.json", kept.to_string());
}

/// What a case came to.
#[derive(Debug)]
struct Seen {
    sent: usize,
    bound_usd: f64,
}

fn try_case(case: &Case) -> Seen {
    let state = match case.known {
        Known::Nothing | Known::Stale | Known::Fresh => ListState::Whole,
        Known::WithoutOne => ListState::WithoutGold,
        Known::Unreachable => ListState::Unreachable,
    };
    let (shop, sandbox) = (Shop::new(state), sandbox());
    match case.known {
        Known::Stale => keep(&sandbox, &shop, 2 * 86_400_000, 0.001),
        Known::Fresh => keep(&sandbox, &shop, 1_000, 1.0),
        Known::Nothing | Known::WithoutOne | Known::Unreachable => {}
    }
    let said = case.ask(&sandbox, &shop);
    let sales = shop.sales();
    let bound_usd: f64 = sales.iter().map(|sale| sale.bound_usd).sum();
    assert!(bound_usd <= 1.0, "{case:?} sent {sales:?}\n{said}");
    if case.model == PLAIN && case.known != Known::Unreachable {
        assert!(!sales.is_empty(), "{case:?} was refused, although its price is known and low:\n{said}");
    }
    Seen { sent: sales.len(), bound_usd }
}

/// Sent implies bounded, over who names the models, the doors, and what is known of prices. The bound is computed by the
/// shop from its own prices.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
fn what_is_sent_is_bounded_whoever_names_it_and_whatever_is_known_of_prices() {
    let count = std::env::var("PRICES_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(CASES);
    let cases = cases(count);
    let seen = each(&cases, try_case);
    let refused = seen.iter().filter(|seen| seen.sent == 0).count();
    let sent: usize = seen.iter().map(|seen| seen.sent).sum();
    let most = seen.iter().map(|seen| seen.bound_usd).fold(0.0, f64::max);
    eprintln!("{} cases: {refused} refused, {sent} requests sent, at most ${most:.4} a run", cases.len());
    assert!(refused > 0 && sent > 0, "{} cases came to one end", cases.len());
}

#[test]
fn a_model_that_the_settings_name_is_priced_before_it_is_asked() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    sandbox.write(CONFIG, format!("panel = [\"{GOLD}\", \"{CHEAP}\"]\nsynthesizer = \"{CHEAP}\"\n"));
    let output = ask(&sandbox, &shop, &[]);
    assert_eq!(
        (output.code, &error(&output)["code"]),
        (Some(5), &json!("budget")),
        "{}",
        output.transcript()
    );
    assert!(shop.sales().is_empty());
}

#[test]
fn a_model_without_a_price_is_refused_and_the_next_step_can_be_pasted() {
    let (shop, sandbox) = (Shop::new(ListState::Unreachable), sandbox());
    let named = ["-m", GOLD, "--synthesizer", "~google/gemini-pro-latest"];
    let output = call(&sandbox, &shop, &[&["ask"], &named[..], &["Why?"]].concat()).run();
    assert_eq!(output.code, Some(5), "{}", output.transcript());
    insta::assert_snapshot!(output.stderr, @r#"
    error[price_unknown]: no price is known for `lab/gold`, so nobody can say what the run may cost; the budget is $1.00; openrouter answered 503
      next: ask again, allow any cost with `--budget none`, put `"lab/gold" = { input_usd_per_million = 2, output_usd_per_million = 10 }` with its real price below `[prices]` in the settings file, or ask another model
    "#);
    assert!(shop.sales().is_empty());

    // The pasted step sends it, and says so.
    let output = ask(&sandbox, &shop, &[&named[..], &["--budget", "none"]].concat());
    assert_eq!((output.code, shop.sales().len()), (Some(0), 1), "{}", output.transcript());
    let codes: Vec<Value> = warnings(&output.json());
    assert!(codes.contains(&json!("price_unknown")), "{codes:?}");

    // So does a price of the user's own.
    let prices =
        format!("[prices]\n\"{GOLD}\" = {{ input_usd_per_million = 0.1, output_usd_per_million = 0.2 }}\n");
    sandbox.write(CONFIG, prices);
    let output = ask(&sandbox, &shop, &named);
    assert_eq!((output.code, shop.sales().len()), (Some(0), 2), "{}", output.transcript());
}

fn warnings(report: &Value) -> Vec<Value> {
    let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning["code"].clone()).collect()
}

/// A router asks more than its list says for a faster endpoint, a web search or a better tier, and does not say how much.
#[test]
fn what_may_cost_more_than_the_list_says_has_no_known_price() {
    for (suffix, tier, is_known) in [
        ("", None, true),
        (":floor", None, true),
        (":nitro", None, false),
        (":exacto", None, false),
        (":online", None, false),
        (":floor:online", None, false),
        (":nitro:floor", None, false),
        ("", Some("flex"), true),
        ("", Some("priority"), false),
        (":floor", Some("auto"), false),
    ] {
        let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
        let model = format!("{PLAIN}{suffix}");
        let tier = tier.map(|tier| ("service_tier", tier));
        let ask = |arguments: &[&str]| {
            let words = [&["ask", "--json", "-m", &model], arguments, &["Why does it rain?"]].concat();
            call(&sandbox, &shop, &words).settings(tier).run()
        };
        let output = ask(&[]);
        let case = format!("{model} {tier:?}: {}", output.transcript());
        assert_eq!(shop.sales().len(), usize::from(is_known), "{case}");
        if !is_known {
            assert_eq!((output.code, &error(&output)["code"]), (Some(5), &json!("price_unknown")), "{case}");
            let price = "{ input_usd_per_million = 1, output_usd_per_million = 2 }";
            sandbox.write(CONFIG, format!("[prices]\n\"{model}\" = {price}\n"));
            let output = ask(&[]);
            assert_eq!((output.code, shop.sales().len()), (Some(0), 1), "{}", output.transcript());
        }
    }
}

#[test]
fn a_project_sets_neither_prices_nor_a_budget_without_limit() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    for project in [
        "budget_usd = \"none\"".to_owned(),
        "[presets.mine]\nbudget_usd = \"none\"".to_owned(),
        format!("[prices]\n\"{GOLD}\" = {{ input_usd_per_million = 0, output_usd_per_million = 0 }}"),
    ] {
        sandbox.write(".parallel-llm.toml", &project);
        let call = sandbox.call(["ask", "--json", "-m", GOLD, "Why?"]);
        let output = call.env("OPENROUTER_BASE_URL", &shop.base_url()).run();
        assert_eq!(output.code, Some(2), "{project}\n{}", output.transcript());
    }
    assert!(shop.sales().is_empty());
}

/// A further part of a run is bounded like a run: by what is left of its budget, at the prices of today.
#[test]
fn a_further_part_of_a_run_is_priced_before_it_is_asked() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    let settings = format!("panel = [\"{CHEAP}\", \"{PLAIN}\"]\nsynthesizer = \"{CHEAP}\"\n");
    sandbox.write(CONFIG, &settings);
    assert_eq!(ask(&sandbox, &shop, &[]).code, Some(0));
    let sent = shop.sales().len();
    for arguments in [
        &["runs", "add", "@", "-m", GOLD, "--json"][..],
        &["runs", "synthesize", "@", "--synthesizer", GOLD, "--json"],
        &["runs", "replay", "@", "--strategy", "best-of-n", "--synthesizer", GOLD, "--json"],
        &["ask", "--continue=@", "-m", GOLD, "--json", "And snow?"],
    ] {
        for state in [ListState::Whole, ListState::Unreachable] {
            shop.show(state);
            let output = call(&sandbox, &shop, arguments).run();
            assert!(matches!(output.code, Some(5 | 2)), "{arguments:?}\n{}", output.transcript());
        }
    }
    assert_eq!(shop.sales().len(), sent);
}

#[test]
fn a_run_that_is_resumed_is_priced_before_it_is_asked() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    shop.reply(Replies::Broken);
    let failed = ask(&sandbox, &shop, &["-m", GOLD, "--synthesizer", CHEAP, "--budget", "none"]);
    assert_eq!(failed.code, Some(1), "{}", failed.transcript());
    shop.reply(Replies::Billed);
    for state in [ListState::Whole, ListState::Unreachable, ListState::WithoutGold] {
        shop.show(state);
        let resumed =
            call(&sandbox, &shop, &["runs", "resume", "@", "--resend", "--budget", "1", "--json"]).run();
        // A model that the list no longer has is not asked.
        let code = if state == ListState::WithoutGold { 1 } else { 5 };
        assert_eq!(
            (resumed.code, shop.sales().len()),
            (Some(code), 0),
            "{state:?}\n{}",
            resumed.transcript()
        );
    }
}

/// The price that a run was planned with is not that of today.
#[test]
fn a_run_whose_price_is_not_known_any_more_is_not_resumed() {
    for (state, code) in [(ListState::Varying, 5), (ListState::Unreachable, 5), (ListState::WithoutGold, 0)] {
        let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
        sandbox.write(CONFIG, format!("synthesizer = \"{CHEAP}\"\n"));
        assert_eq!(call(&sandbox, &shop, &["models", "--refresh"]).run().code, Some(0));
        shop.reply(Replies::Broken);
        let run = ["-m", GOLD, "-m", CHEAP, "--budget", "100"];
        let failed = ask(&sandbox, &shop, &run);
        assert_eq!(failed.code, Some(1), "{}", failed.transcript());
        shop.reply(Replies::Billed);
        shop.show(state);
        let _ = std::fs::remove_dir_all(sandbox.data_dir().join("models"));
        let resumed = call(&sandbox, &shop, &["runs", "resume", "@", "--resend", "--json"])
            .settings([("catalogue_max_age_ms", "0")])
            .run();
        assert_eq!(resumed.code, Some(code), "{state:?}\n{}", resumed.transcript());
        let bought: Vec<_> = shop.sales().into_iter().filter(|sale| sale.model == GOLD).collect();
        assert!(bought.is_empty(), "{state:?} {bought:?}\n{}", resumed.transcript());
    }
}

/// The step that a paused batch names lets it go on.
#[test]
fn a_batch_that_has_become_dearer_goes_on_with_the_budget_it_asks_for() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    sandbox.write("questions.jsonl", format!("{{\"prompt\": \"Why?\", \"models\": [\"{GOLD}\"]}}\n"));
    let submit = |budget: &str| {
        call(&sandbox, &shop, &["batch", "submit", "questions.jsonl", "--budget", budget]).run()
    };
    let refused = submit("2");
    assert!(refused.stderr.contains("the budget is $2.00"), "{}", refused.transcript());
    assert!(shop.sales().is_empty());
    let asked = submit("20");
    assert_eq!(asked.code, Some(0), "{}", asked.transcript());
    assert_eq!(shop.sales().len(), 1);
}

#[test]
fn a_limit_of_a_token_counts_no_unknown_price_as_nothing() {
    for (state, code) in [(ListState::Whole, "budget"), (ListState::Unreachable, "price_unknown")] {
        let (shop, sandbox) = (Shop::new(state), sandbox());
        sandbox.write(
            CONFIG,
            format!("panel = [\"{GOLD}\"]\nsynthesizer = \"{CHEAP}\"\nbudget_usd = \"none\"\n"),
        );
        let made = sandbox.call(["keys", "create", "poor", "--budget-day", "0.000001"]).run();
        let token = format!("Authorization: Bearer {}\r\n", made.text().trim());
        let unlimited = [("PARALLEL_LLM_BUDGET_USD".to_owned(), "none".to_owned())];
        let (_running, address) = serve(&sandbox, &shop, &[], &unlimited);
        let body = json!({"model": "panel/default", "messages": [{"role": "user", "content": "Why?"}]});
        let mut wire = Wire::to(address);
        wire.write(post(address, "/v1/chat/completions", &token, &body.to_string()));
        let refused = wire.reply().expect("an answer");
        assert!(refused.status >= 400 && refused.text().contains(code), "{refused:?}");
        assert!(shop.sales().is_empty(), "{:?}", shop.sales());
    }
}

#[test]
fn a_limit_of_the_day_counts_no_unknown_price_as_nothing() {
    let (shop, sandbox) = (Shop::new(ListState::Unreachable), sandbox());
    let words = ["ask", "--json", "--budget", "none", "-m", GOLD, "Why?"];
    let output = call(&sandbox, &shop, &words).settings([("budget_day_usd", "5")]).run();
    assert_eq!(
        (output.code, &error(&output)["code"]),
        (Some(5), &json!("price_unknown")),
        "{}",
        output.transcript()
    );
    assert!(shop.sales().is_empty());
}

#[test]
fn a_dry_run_fails_for_a_model_of_the_settings_that_does_not_exist() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    sandbox.write(CONFIG, format!("panel = [\"{CHEAP}\", \"lab/nope\"]\nsynthesizer = \"{CHEAP}\"\n"));
    let output = call(&sandbox, &shop, &["ask", "--dry-run", "Why?"]).run();
    assert_eq!(output.code, Some(2), "{}", output.transcript());
    assert!(output.stderr.contains("`lab/nope` is unknown"), "{}", output.stderr);
    // The seat fails, and is not sent for an unknown price.
    let output = ask(&sandbox, &shop, &[]);
    assert_eq!(output.json()["status"], "partial", "{}", output.transcript());
    assert!(shop.sales().iter().all(|sale| sale.model == CHEAP));
}

#[test]
fn a_list_that_hangs_delays_a_question_by_seconds_and_refuses_what_it_does_not_know() {
    let (shop, sandbox) = (Shop::new(ListState::Hanging), sandbox());
    let output = ask(&sandbox, &shop, &["-m", GOLD]);
    assert_eq!(error(&output)["code"], "price_unknown", "{}", output.transcript());
    assert!(shop.sales().is_empty());
}

#[test]
fn a_refusal_says_which_budget_would_do() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    let output = call(&sandbox, &shop, &["ask", "-m", GOLD, "--max-tokens", "2000", "Why?"]).run();
    insta::assert_snapshot!(output.stderr, @"
    error[budget]: the run may cost up to $2.00; the budget is $1.00
      next: allow it with `--budget 2.01`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
    assert_eq!(ask(&sandbox, &shop, &["-m", GOLD, "--max-tokens", "2000", "--budget", "2.01"]).code, Some(0));
}

#[test]
fn the_likely_price_stands_before_the_bound() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    sandbox.write(CONFIG, format!("panel = [\"{PLAIN}\", \"{CHEAP}\"]\nsynthesizer = \"{CHEAP}\"\n"));
    let asked = call(&sandbox, &shop, &["ask", "Why?"]).run();
    let started = asked.stderr.lines().find(|line| line.contains("started:")).unwrap_or_default().to_owned();
    let file =
        sandbox.write("questions.jsonl", "{\"prompt\": \"Why does it rain?\"}\n").display().to_string();
    let batch = call(&sandbox, &shop, &["batch", "submit", &file]).run();
    let submitted = batch.stderr.lines().find(|line| line.contains("1 question, ")).unwrap_or_default();
    for said in [&started, submitted] {
        let (likely, most) = (said.find("about $"), said.find("at most"));
        assert!(likely.is_some() && likely < most, "{said}");
    }
}

#[test]
fn a_tool_call_without_a_known_price_says_so_and_the_list_of_models_names_it() {
    let (shop, sandbox) = (Shop::new(ListState::Unreachable), sandbox());
    sandbox.write(CONFIG, format!("panel = [\"{GOLD}\"]\n"));
    let base_url = shop.base_url();
    let mut client = Client::new(&sandbox, &[("OPENROUTER_BASE_URL", base_url.as_str())]);
    let refused = client.call("process_prompt", json!({"prompt": "Why?"}));
    assert_eq!(structured(&refused)["code"], "price_unknown", "{refused}");
    assert!(text(&refused).contains(GOLD), "{refused}");
    let models = client.call("list_models", json!({}));
    assert_eq!(structured(&models)["without_price"], json!([GOLD]), "{models}");
}
