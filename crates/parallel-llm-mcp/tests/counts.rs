//! How many answered: the same count wherever a run is shown, whatever became of the seats.

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Fault, Script};
use serde_json::{Value, json};

use crate::http::client::Wire;
use crate::http::program::serve;
use crate::mcp::client::{Client, text};

/// Two answer, one breaks off after a long text, one after a few words, one fails and one is refused.
const MODELS: [&str; 6] = [
    "openai/gpt-6.1-sol",
    "x-ai/grok-4.7",
    "mistralai/mistral-large-4-0",
    "anthropic/claude-opus-5.5",
    "z-ai/glm-5.3",
    "qwen/qwen3.8-max-0902",
];
const FUSER: &str = "google/gemini-4-argon";

fn sandbox() -> Sandbox {
    let [_, _, broken, fragment, failing, refusing] = MODELS;
    let long = "The second design keeps each charge in a row of its own, which survives a crash. ".repeat(8);
    let cut = |tokens| Script {
        fault: Some(Fault::SseCut),
        after_tokens: Some(tokens),
        ..Script::answering(&long)
    };
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(MODELS[0], Script::answering("Take the first of the two designs, since it is smaller."))
        .scripted(MODELS[1], Script::answering("Take the second of the two designs, and test it well."))
        .scripted(broken, cut(90))
        .scripted(fragment, cut(4))
        .scripted(failing, Script::fault(Fault::KeyLimit))
        .scripted(refusing, Script::fault(Fault::Refusal))
}

#[test]
fn three_answers_of_six_count_the_same_everywhere() {
    let sandbox = sandbox();
    let models = MODELS.iter().flat_map(|model| ["-m", *model]);
    let asked = sandbox
        .call(["ask", "--synthesizer", FUSER, "--json", "Which design?"])
        .args(models)
        .settings([("retries_max", "0")])
        .run();
    let report = asked.json();
    let facts =
        ["seats_answered", "seats_missing", "seats_used_although_cut", "status"].map(|name| &report[name]);
    assert_eq!(facts, [&json!(3), &json!([4, 5, 6]), &json!([3]), &json!("partial")], "{report}");
    assert_eq!(report["synthesis"]["considered"], json!([1, 2, 3]));

    let summary = asked.summary();
    let naming =
        |beginning: &str| summary.lines().filter(|line| line.starts_with(beginning)).collect::<Vec<_>>();
    assert!(summary.contains("from 3 answers"), "{summary}");
    let [cut] = naming("Used although cut: ")[..] else { panic!("{summary}") };
    assert!(cut.contains(MODELS[2]), "{summary}");
    let missing = naming("Missing: ").join("\n");
    let named = MODELS.map(|model| missing.contains(model));
    assert_eq!(named, [false, false, false, true, true, true], "{summary}");

    let listed = sandbox.call(["runs", "list", "--json"]).run().json();
    assert_eq!((&listed["answered"], &listed["seats"]), (&json!(3), &json!(6)), "{listed}");
    let page = sandbox.call(["runs", "show", "@", "--agreement"]).run();
    assert!(
        page.text().contains("\nused although cut: 3 ") && page.text().contains("\n3 answers"),
        "{}",
        page.text()
    );

    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("get_run", json!({"run_id": report["run_id"]}));
    let reply = &result["structuredContent"];
    let models = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert_eq!((&reply["answered"], models(&reply["missing"])), (&json!("3 of 6"), 3), "{reply}");
    let cut = json!({"code": "incomplete", "message": format!("used although cut: {}", MODELS[2])});
    assert_eq!(reply["warnings"][0], cut, "{reply}");
    let said = text(&result);
    assert!(
        said.contains(&format!("3 of 6 answered, used although cut: {}, missing: ", MODELS[2])),
        "{said}"
    );

    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let id = report["run_id"].as_str().expect("a run has an id");
    let page = |path: &str| {
        let mut wire = Wire::to(address);
        wire.write(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\n\r\n"));
        wire.reply().expect("a page").text()
    };
    let (run, list) = (page(&format!("/runs/{id}")), page("/runs"));
    assert!(run.contains("3 of 6 answered, one used although cut"), "{run}");
    assert!(run.contains("Fused from 3 answers"), "{run}");
    assert!(list.contains("3 of 6 answered"), "{list}");
}

#[test]
fn no_part_of_an_answer_carries_the_number_of_a_model() {
    let sandbox = sandbox();
    let models = MODELS[..2].iter().flat_map(|model| ["-m", *model]);
    let asked = sandbox.call(["ask", "--synthesizer", FUSER, "--json", "Which design?"]).args(models).run();
    let report = asked.json();
    assert_eq!(report["synthesis"]["kind"], "fused", "{report}");
    assert!(report["worth"].get("drawn_from").is_none(), "{report}");
    assert_eq!(report["agreement"]["read_by"], FUSER);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let mut wire = Wire::to(address);
    let id = report["run_id"].as_str().expect("a run has an id");
    wire.write(format!("GET /runs/{id} HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\n\r\n"));
    let page = wire.reply().expect("a page").text();
    let answer = page.split("<section id=\"answer\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let answer = answer.expect("the page has the answer");
    assert!(
        answer.contains("design") && !answer.contains("seat-") && !answer.contains("wording"),
        "{answer}"
    );
    let opinion = format!(
        "What <bdi>{FUSER}</bdi> says of who supports what</h3>\n  <p class=\"faint\">Its own opinion"
    );
    assert!(page.contains(&opinion), "{page}");
}

#[test]
fn strict_demands_whole_answers_of_all_seats_and_the_strategy_that_was_asked_for() {
    let [one, two, ..] = MODELS;
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(one, Script::answering("Take the first design. It is 42."))
        .scripted(two, Script::answering("Keep both designs. It is 17."));
    let ask =
        |arguments: &[&str]| sandbox.call(["ask", "--strict", "--synthesizer", FUSER]).args(arguments).run();
    let both = ["-m", one, "-m", two];
    let code =
        |strategy: &str, question: &str| ask(&[&both[..], &["--strategy", strategy, question]].concat()).code;
    assert_eq!(code("synthesize", "Which design?"), Some(0), "it is fused");
    assert_eq!(code("vote", "Which design?"), Some(3), "an open question is not counted");
    assert_eq!(code("vote", "How many legs has a spider?"), Some(3), "no two agree");
    assert_eq!(code("vote@min_share=80", "How many legs has a spider?"), Some(3), "nobody wins");
    assert_eq!(code("panel", "Which design?"), Some(0), "the answers are listed, as asked");

    let voted = sandbox.call(["ask", "--strategy", "vote"]).args(both).arg("Which design?").run();
    assert!(
        voted.summary().contains("warning[no_majority]: the vote decides nothing"),
        "{}",
        voted.summary()
    );
    assert_eq!(voted.code, Some(0), "without `--strict` the closest answer is an answer");
    let mut client = Client::new(&sandbox, &[]);
    let arguments = json!({"prompt": "Which design?", "models": [one, two], "strategy": "vote"});
    let said = text(&client.call("process_prompt", arguments)).to_owned();
    assert!(said.contains("warning[no_majority]: "), "{said}");

    let alone = ask(&["-m", one, "Which design?"]);
    let why = "one model was asked, so there was nothing to fuse";
    assert!(alone.code == Some(0) && alone.summary().contains(why), "{}", alone.summary());
}
