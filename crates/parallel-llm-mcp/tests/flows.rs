//! Flows: files that compose stages, listed, drawn, checked and asked through the command line.

use std::fs;
use std::path::Path;

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Fault, Script};

use crate::ask::{ONE, THREE, TWO, sandbox};
use crate::folders::browse;
use crate::http::program::serve;
use crate::mcp::client::{Client, structured};
use serde_json::{Value, json};

/// The user's flow `two-sides`.
const PATH: &str = ".config/parallel-llm-mcp/flows/two-sides.toml";

/// A sandbox with a flow: two models judged, one beside them, and a text of both.
fn with_a_flow() -> Sandbox {
    let sandbox = sandbox();
    let flow = format!(
        "about = \"Two sides, merged\"\n[stages.a]\npanel = [\"{ONE}\", \"{TWO}\"]\nstrategy = \"best-of-n\"\n\
         [stages.b]\npanel = \"{THREE}\"\n[stages.merge]\nfrom = [\"a\", \"b\"]\n"
    );
    sandbox.write(PATH, flow);
    sandbox
}

#[test]
fn a_flow_is_asked_like_a_preset() {
    let sandbox = with_a_flow();
    let output =
        sandbox.call(["ask", "--preset", "two-sides", "--json", "Which design is safer, and why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.transcript());
    let report = output.json();
    assert_eq!(report["status"], "complete");
    assert_eq!(report["synthesis"]["kind"], "fused", "{report:#}");
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(3));
    // Three answers, a judge in two orders, and the text.
    assert_eq!(sandbox.chats().len(), 6);
    let events = sandbox.call(["runs", "show", "@", "--events"]).run();
    let events = String::from_utf8_lossy(&events.stdout);
    let mut stages: Vec<&str> = events.lines().filter_map(|line| line.split("] stage ").nth(1)).collect();
    stages.sort_unstable();
    assert_eq!(
        stages,
        [
            "a: the judge `~google/gemini-pro-latest` put it first in both orders",
            "b: one model was asked, so there was nothing to fuse",
        ]
    );
}

#[test]
fn a_mistake_in_a_flow_names_its_place_and_breaks_nothing_else() {
    let sandbox = with_a_flow();
    sandbox.write(PATH, "[stages.a]\npannel = \"a/b\"\n");
    insta::assert_snapshot!(sandbox.call(["ask", "--preset", "two-sides", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/flows/two-sides.toml:2:1: there is no key `pannel`
      next: did you mean `panel`?
    ");
    assert_eq!(sandbox.call(["ask", "-q", "-m", ONE, "Why?"]).run().code, Some(0));
}

#[test]
fn what_a_flow_decides_cannot_be_named_beside_it() {
    let sandbox = with_a_flow();
    let ask =
        |flag: &[&str]| sandbox.call(["ask", "--preset", "two-sides", "Why?"]).args(flag).run().transcript();
    insta::assert_snapshot!(ask(&["-m", ONE]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the stages of the flow `two-sides` name their models themselves
      next: leave `models` out
    ");
    insta::assert_snapshot!(ask(&["--strategy", "vote"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the stages of the flow `two-sides` name their strategy themselves
      next: leave `strategy` out
    ");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_flow_is_drawn_with_its_calls_and_its_cost() {
    let sandbox = with_a_flow();
    insta::assert_snapshot!(sandbox.call(["flow", "show", "two-sides"]).run().transcript(), @"
    exit 0
    --- stdout
    two-sides: Two sides, merged
    (flow, <home>/.config/parallel-llm-mcp/flows/two-sides.toml)

    o    a: best-of-n, judged by ~google/gemini-pro-latest, else
    |        ~anthropic/claude-opus-latest
    |      1 openai/gpt-6.1-sol
    |      2 x-ai/grok-4.7
    |
    | o  b: one answer, as it is
    | |    3 mistralai/mistral-large-4-0
    | |
    +-+> merge: synthesize, written by ~google/gemini-pro-latest, else
             ~anthropic/claude-opus-latest
           reads a, b

    Calls: 3 to 6, in 3 rounds.
    Cost of a question of 1000 characters: about $0.11 with 1500 tokens for each
    reply, at most $0.97 if no call fails. The budget is $3.00.
    --- stderr
    ");
    // A preset is a flow of one stage.
    insta::assert_snapshot!(sandbox.call(["flow", "show", "quick"]).run().transcript(), @"
    exit 0
    --- stdout
    quick
    (preset, built in)

    answer: synthesize, written by ~google/gemini-pro-latest, else
        ~anthropic/claude-opus-latest
      1 ~openai/gpt-sol-latest
      2 ~anthropic/claude-opus-latest
      3 ~google/gemini-pro-latest

    Calls: 3 to 4, in 2 rounds.
    Cost of a question of 1000 characters: about $0.091 with 1500 tokens for each
    reply, at most $0.90 if no call fails. The budget is $3.00.
    --- stderr
    ");
    let by_preset = sandbox.call(["presets", "two-sides"]).run().transcript();
    assert_eq!(by_preset, sandbox.call(["flow", "show", "two-sides"]).run().transcript());
    let by_path = sandbox.call(["flow", "show", PATH]).run();
    assert!(by_path.text().starts_with(&format!("{PATH}: Two sides, merged\n")), "{}", by_path.text());
    let drawn = sandbox.call(["flow", "show", "two-sides", "--json"]).run().json();
    assert_eq!((&drawn["calls"], &drawn["rounds"]), (&json!({"fewest": 3, "most": 6}), &json!(3)));
    assert_eq!(drawn["stages"][2]["from"], json!(["a", "b"]));
    insta::assert_snapshot!(sandbox.call(["flow", "show", "two-side"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no preset or flow `two-side`
      next: did you mean `two-sides`?
    ");
    let unknown = sandbox.call(["flow", "check", "nope"]).run().stderr;
    assert_eq!(unknown, "error[usage]: there is no flow `nope`\n  next: choose one of: two-sides\n");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_flow_needs_no_key_to_be_drawn_and_names_models_that_do_not_exist() {
    let sandbox = sandbox();
    sandbox.write(PATH, "[stages.a]\npanel = [\"own/model\", \"own/other\"]\nstrategy = \"vote\"\n");
    let shown = sandbox.call(["flow", "show", "two-sides"]).env("OPENROUTER_API_KEY", "").run();
    insta::assert_snapshot!(shown.transcript(), @"
    exit 0
    --- stdout
    two-sides
    (flow, <home>/.config/parallel-llm-mcp/flows/two-sides.toml)

    answer: vote
      1 own/model
      2 own/other

    Calls: 2 to 3, in 2 rounds.
    Cost of a question of 1000 characters: unknown, because no price is known for
    `own/model`, `own/other`; the others cost about $0.00076. The budget is $3.00.
    --- stderr
    warning[model_unknown]: settings: the model `own/model` is unknown: no vendor is called `own` (next: see which models there are with `parallel-llm-mcp models`)
    warning[model_unknown]: settings: the model `own/other` is unknown: no vendor is called `own` (next: see which models there are with `parallel-llm-mcp models`)
    ");
}

#[test]
fn flows_are_listed_where_presets_are() {
    let sandbox = with_a_flow();
    sandbox.write(".config/parallel-llm-mcp/flows/wrong.toml", "panel = 1\n");
    insta::assert_snapshot!(sandbox.call(["flow", "list"]).run().transcript(), @"
    exit 0
    --- stdout
    FLOW       STAGES  SEATS  ABOUT
    two-sides       3      3  Two sides, merged
    wrong                     wrong: see `flow check wrong`
    --- stderr

    They are in ~/.config/parallel-llm-mcp/flows. `parallel-llm-mcp flow show NAME` draws one, `parallel-llm-mcp ask --preset NAME` asks it; `presets` lists presets.
    ");
    let listed = sandbox.call(["flow", "list", "--json"]).run().json();
    assert_eq!(listed["flows"][0]["stages"], json!(["a", "b", "merge"]));
    assert_eq!(listed["flows"][1]["errors"][0]["line"], json!(1));
    let presets = sandbox.call(["presets"]).run();
    assert!(
        presets.text().ends_with(
            "\n\ntwo-sides (flow)\n  about        Two sides, merged\n  stages       a, b, merge\n"
        )
    );
    let mut client = Client::new(&sandbox, &[]);
    let listed = structured(&client.call("list_models", json!({"search": "no-such-model"}))).clone();
    assert_eq!(listed["presets"], json!(["budget", "default", "max", "quick", "two-sides"]));
    let asked = client.call("process_prompt", json!({"prompt": "Which design?", "preset": "two-sides"}));
    assert_eq!(structured(&asked)["status"], "complete", "{asked}");
    let none = self::sandbox().call(["flow", "list"]).run().transcript();
    insta::assert_snapshot!(none, @"
    exit 0
    --- stdout
    --- stderr
    There is no flow yet: write one as ~/.config/parallel-llm-mcp/flows/NAME.toml.
    ");
}

#[test]
fn a_check_names_the_place_of_every_mistake() {
    let sandbox = with_a_flow();
    let wrong = "about = 1\r\n[stages.a]\r\npanel = \"a/b*0\"\r\nwait = \"all\"\r\n";
    let path = sandbox.write("wrong.toml", wrong);
    sandbox.write("nobody.toml", "[stages.a]\npanel = \"a/b@persona=nobody\"\n");
    let path = path.to_str().expect("a path of the test");
    insta::assert_snapshot!(sandbox.call(["flow", "check", "two-sides", path, "./nobody.toml"]).run().transcript(), @"
    exit 2
    --- stdout
    <home>/.config/parallel-llm-mcp/flows/two-sides.toml is right: 3 stages, 3 seats, at most 6 calls
    --- stderr
    error[settings_invalid]: <home>/wrong.toml:1:9: `about` is a string, not a whole number
      next: correct the value at the place the message names
    error[settings_invalid]: <home>/wrong.toml:3:9: cannot read the model `a/b*0`: the number after `*` is between 1 and 64
      next: write it like `a/b*3`
    error[settings_invalid]: <home>/wrong.toml:4:1: `wait` is a setting of the whole run, not of a stage
      next: take it out, or write it into your own file
    error[settings_invalid]: ./nobody.toml:2:9: there is no persona `nobody`
      next: choose one of: plain, proponent, skeptic
    ");
    let report = sandbox.call(["flow", "check", "wrong.toml", "--json"]).run();
    assert_eq!(report.code, Some(2));
    let places: Vec<(i64, i64)> = report.json()["files"][0]["errors"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|error| Some((error["line"].as_i64()?, error["column"].as_i64()?)))
        .collect();
    assert_eq!(places, [(1, 9), (3, 9), (4, 1)]);
    assert_eq!(sandbox.call(["flow", "check"]).run().code, Some(0));
    insta::assert_snapshot!(sandbox.call(["flow", "check", "quick"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `quick` is a preset, which the settings file holds
      next: type `parallel-llm-mcp flow show quick`
    ");
}

#[test]
fn a_file_is_asked_by_its_path_and_only_on_the_command_line() {
    let sandbox = with_a_flow();
    let flow = format!("[stages.a]\npanel = [\"{ONE}\", \"{TWO}\"]\nstrategy = \"panel\"\n");
    sandbox.write("mine.toml", flow);
    let report = sandbox.call(["ask", "--preset", "mine.toml", "--json", "Why?"]).run().json();
    assert_eq!((report["status"].as_str(), sandbox.chats().len()), (Some("complete"), 2));
    let dry = sandbox.call(["ask", "--preset", &format!("./{PATH}"), "--dry-run", "Why?"]).run();
    insta::assert_snapshot!(dry.transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The question would go to:

    o    a: best-of-n, judged by ~google/gemini-pro-latest, else
    |        ~anthropic/claude-opus-latest
    |      1 openai/gpt-6.1-sol
    |      2 x-ai/grok-4.7
    |
    | o  b: one answer, as it is
    | |    3 mistralai/mistral-large-4-0
    | |
    +-+> merge: synthesize, written by ~google/gemini-pro-latest, else
             ~anthropic/claude-opus-latest
           reads a, b

    Cost: about $0.10 with 1500 tokens for each reply, at most $0.97 if no call fails. The budget is $3.00.
    --- stderr
    ");
    insta::assert_snapshot!(sandbox.call(["ask", "--preset", "./none.toml", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: ./none.toml:1:1: cannot read the flow: there is no such file
      next: name another file, or a flow of `parallel-llm-mcp flow list`
    ");
    let mut client = Client::new(&sandbox, &[]);
    let path = sandbox.home().join("mine.toml");
    let refused = client.call("process_prompt", json!({"prompt": "Why?", "preset": path}));
    assert_eq!(structured(&refused)["code"], "usage");
    assert_eq!(sandbox.chats().len(), 2);
}

#[test]
fn a_follow_up_goes_through_the_flow_again() {
    let sandbox = with_a_flow();
    sandbox.call(["ask", "-q", "--preset", "two-sides", "Which design?"]).run();
    let first = sandbox.chats().len();
    let report = sandbox.call(["ask", "-c", "--json", "Why that one?"]).run().json();
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(3));
    assert_eq!(sandbox.chats().len() - first, first, "as many calls as before");
    let events = sandbox.call(["runs", "show", "@", "--events"]).run();
    assert_eq!(events.text().matches("] stage ").count(), 2, "{}", events.text());
    // Whoever names a panel or a strategy leaves the flow.
    let report = sandbox.call(["ask", "-c", "--json", "-m", ONE, "Sure?"]).run().json();
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(1));
    sandbox.call(["ask", "-q", "--preset", "two-sides", "And which?"]).run();
    let report = sandbox.call(["ask", "-c", "--json", "--strategy", "panel", "All of them?"]).run().json();
    assert_eq!((report["answers"].as_array().map(Vec::len), &report["strategy"]), (Some(3), &json!("panel")));
}

#[test]
fn a_follow_up_of_the_longest_chain_is_no_mistake() {
    let sandbox = with_a_flow();
    let chain: Vec<String> = (0..8).map(|number| format!("\"own/writer-{number}\"")).collect();
    let flow = format!(
        "[stages.a]\npanel = \"{ONE}\"\n[stages.b]\npanel = \"{TWO}\"\n[stages.end]\nfrom = [\"a\", \"b\"]\nsynthesizer = [{}]\n",
        chain.join(", ")
    );
    sandbox.write(PATH, flow);
    let first = sandbox.call(["ask", "-q", "--preset", "two-sides", "--synthesizer", THREE, "Which?"]).run();
    assert_eq!(first.code, Some(0), "{}", first.transcript());
    let next = sandbox.call(["ask", "-c", "-q", "Why that one?"]).run();
    assert_eq!(next.code, Some(0), "{}", next.transcript());
}

/// The examples of the repository are right, are drawn within 80 columns, and are answered.
#[test]
fn every_example_is_drawn_and_asked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 3);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    for path in paths {
        let path = path.to_str().unwrap();
        let shown = sandbox.call(["flow", "show", path]).run();
        assert_eq!(shown.code, Some(0), "{}", shown.transcript());
        let picture: Vec<&str> = shown.text().lines().skip(2).collect();
        assert!(picture.iter().all(|line| line.len() <= 80 && line.is_ascii()), "{}", shown.text());
        let report = sandbox.call(["ask", "--preset", path, "--json", "Which design is safer?"]).run();
        assert_eq!(report.code, Some(0), "{}", report.transcript());
        let answer: &Value = &report.json()["answer"];
        assert!(answer.as_str().is_some_and(|text| !text.is_empty()), "{}", report.transcript());
    }
}

#[test]
fn every_door_names_the_place_of_each_mistake_that_the_settings_show() {
    let sandbox = sandbox();
    let flow = "# critik\n[stages.a]\npanel = \"own/critik\"\n\n[stages.b]\npanel = [\"own/b\", \"own/c@persona=critik\"]\n\n\
                [stages.end]\nfrom = [\"a\", \"b\", \"c\"]\nstrategy = \"vote\"\n\n[stages.c]\npanel = \"own/d@persona=nobody\"\n";
    sandbox.write(PATH, flow);
    for command in [&["flow", "check", PATH][..], &["flow", "check"]] {
        let checked = sandbox.call(command).run();
        assert_eq!(checked.code, Some(2));
        let places: Vec<&str> = checked.stderr.lines().filter(|line| line.starts_with("error")).collect();
        assert_eq!(places.len(), 2, "{}", checked.stderr);
        assert!(places[0].contains("two-sides.toml:6:19: there is no persona `critik`"), "{}", places[0]);
        assert!(places[1].contains("two-sides.toml:13:9: there is no persona `nobody`"), "{}", places[1]);
    }
    for command in [
        &["flow", "show", PATH][..],
        &["flow", "show", "two-sides"],
        &["ask", "--preset", PATH, "Why?"],
        &["ask", "--preset", "two-sides", "Why?"],
    ] {
        let refused = sandbox.call(command).run();
        assert_eq!(refused.code, Some(2), "{}", refused.transcript());
        let said = &refused.stderr;
        assert!(said.contains("two-sides.toml:6:19: there is no persona `critik`; "), "{said}");
        assert!(said.contains("two-sides.toml:13:9: there is no persona `nobody`"), "{said}");
    }
    let mut client = Client::new(&sandbox, &[]);
    let refused = client.call("process_prompt", json!({"prompt": "Why?", "preset": "two-sides"}));
    let said = structured(&refused)["message"].to_string();
    assert!(said.contains("two-sides.toml:6:19: there is no persona `critik`"), "{said}");
    assert!(said.contains("two-sides.toml:13:9: there is no persona `nobody`"), "{said}");
    assert_eq!(sandbox.chats().len(), 0);
}

/// However a flow was stopped, its stages go on, and nobody pays for an answer to a stage that is decided.
#[test]
fn a_flow_that_was_stopped_goes_on_where_it_was() {
    const WRITER: &str = "deepseek/deepseek-v4-pro-0813";
    for signal in ["INT", "KILL"] {
        let sandbox = with_a_flow().scripted(TWO, Script::fault(Fault::Zod400));
        let sandbox = sandbox.scripted(WRITER, Script::fault(Fault::Stall));
        sandbox.write(
            PATH,
            format!(
                "[stages.a]\npanel = [\"{ONE}\", \"{TWO}\"]\n[stages.b]\npanel = \"{THREE}\"\n\
                 [stages.merge]\nfrom = [\"a\", \"b\"]\nsynthesizer = \"{WRITER}\"\n"
            ),
        );
        let running = sandbox.call(["ask", "--preset", "two-sides", "Which design?"]).start();
        sandbox.until("the last stage is written", || sandbox.asked(WRITER) == 1);
        running.signal(signal);
        running.wait();
        let asked = [ONE, TWO, THREE].map(|model| sandbox.asked(model));
        sandbox.simulator().script(TWO, Script::answering("Too late."));
        sandbox.simulator().script(WRITER, Script::answering("Both have a point."));
        let resend = (signal == "KILL").then_some("--resend");
        let resumed = sandbox.call(["runs", "resume", "@", "--json"]).args(resend).run();
        assert_eq!(resumed.code, Some(0), "{signal}: {}", resumed.transcript());
        let report = resumed.json();
        assert_eq!(report["status"], "partial", "{signal}: {report:#}");
        assert_eq!([ONE, TWO, THREE].map(|model| sandbox.asked(model)), asked, "{signal}: {report:#}");
        let events = sandbox.call(["runs", "show", "@", "--events"]).run();
        assert_eq!(events.text().matches("] stage ").count(), 2, "{signal}: {}", events.text());
    }
}

#[test]
fn a_follow_up_keeps_the_caps_and_the_budget_of_the_flow() {
    let sandbox = with_a_flow();
    let flow = format!(
        "budget_usd = 0.9\n[stages.a]\npanel = [\"{ONE}@max_tokens=321\"]\n[stages.b]\npanel = \"{TWO}\"\nmax_tokens = 432\n\
         [stages.end]\nfrom = [\"a\", \"b\"]\nmax_tokens = 543\n"
    );
    sandbox.write(PATH, flow);
    let caps = |from: usize| {
        let chats = sandbox.chats().split_off(from);
        let mut caps: Vec<_> = chats.iter().map(|chat| chat.body["max_completion_tokens"].as_u64()).collect();
        caps.sort_unstable();
        caps
    };
    sandbox.call(["ask", "-q", "--preset", "two-sides", "Which?"]).run();
    assert_eq!(caps(0), [Some(321), Some(432), Some(543)]);
    let dry = sandbox.call(["ask", "-c", "--dry-run", "Why that one?"]).run();
    assert!(dry.text().contains("The budget is $0.90."), "{}", dry.transcript());
    sandbox.call(["ask", "-c", "-q", "Why that one?"]).run();
    assert_eq!(caps(3), [Some(321), Some(432), Some(543)]);
    sandbox.call(["ask", "-c", "-q", "--max-tokens", "222", "And?"]).run();
    assert_eq!(caps(6), [Some(222); 3]);
}

/// The form is filled as the run was asked, and says what it could not take over.
#[test]
fn the_page_asks_again_as_it_was_asked() {
    let sandbox = with_a_flow();
    sandbox.write("house.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let ask = |arguments: &[&str]| {
        let report = sandbox.call(["ask", "--json"]).args(arguments).run().json();
        report["run_id"].as_str().expect("a run").to_owned()
    };
    let own = ask(&[
        "-m",
        &format!("{ONE}@temperature=1"),
        "-m",
        TWO,
        "--synthesizer",
        THREE,
        "--strategy",
        "synthesize@paranoid=on",
        "--system",
        "Be brief.",
        "-a",
        "house.png",
        "Which?",
    ]);
    let of_flow = ask(&["--preset", "two-sides", "Which?"]);
    let (running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let form = |run: &str| browse(address, &format!("GET /ask?again={run} HTTP/1.1"), b"");
    let page = form(&own);
    for shown in [
        "Choose its picture or PDF again: the form has none.",
        &format!("name=\"model\" list=\"models\" value=\"{ONE}@temperature=1\""),
        "<option selected>synthesize@paranoid=on</option>",
        &format!("name=\"synthesizer\" list=\"models\" value=\"{THREE}\""),
        ">Be brief.</textarea>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(form(&of_flow).contains("value=\"two-sides\" checked"), "{}", form(&of_flow));
    running.signal("TERM");
    running.wait();
    fs::remove_file(sandbox.home().join(PATH)).expect("the flow was there");
    let (running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let page = browse(address, &format!("GET /ask?again={of_flow} HTTP/1.1"), b"");
    assert!(
        page.contains("There is no flow “two-sides” any more: below, its models are one panel."),
        "{page}"
    );
    running.signal("TERM");
    running.wait();
}
