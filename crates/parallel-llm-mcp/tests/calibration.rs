//! Calibrated confidence: how often answers like this one were right, as reports, summaries, stored runs and MCP show
//! it.

use crate::mcp::client::{Client, structured, text};
use parallel_llm_testkit::simulator::Script;
use parallel_llm_testkit::{Output, Sandbox, each};
use serde_json::{Value, json};

const MODELS: [&str; 3] = ["openai/gpt-6.1-sol", "x-ai/grok-4.7", "mistralai/mistral-large-4-0"];
const FUSER: &str = "google/gemini-4-argon";

const LEGS: &str = "How many legs has a spider?";
const PRIME: &str = "Is 7 prime? Answer yes or no.";
const OPEN: &str = "Which design?";

/// A question that prescribes its form, so that no seat is asked for a line.
const MARKED: &str = "How many legs has a spider? End with Answer: <number>";

const ALL_AGREE: [&str; 3] = ["It has 8 legs.\nANSWER: 8", "8\nANSWER: 8", "The answer is **8**.\nANSWER: 8"];
const TWO_AGREE: [&str; 3] = ["6\nANSWER: 6", "It has 8 legs.\nANSWER: 8", "8\nANSWER: 8"];

/// A question, the answers of the three models, and the flags of `ask`.
struct Case {
    what: &'static str,
    question: &'static str,
    answers: [&'static str; 3],
    flags: &'static [&'static str],
}

/// All three answers agree.
const AGREED: Case =
    Case { what: "all agree", question: LEGS, answers: ALL_AGREE, flags: &["--strategy", "vote"] };

/// A row for `agree` of three models, for any kind of question and any panel unless overridden.
fn row(agree: u8, (right, asked): (u32, u32), overrides: &Value) -> Value {
    let mut row = json!({"form": "any", "agree": agree, "of": 3, "right": right, "asked": asked});
    let fields = overrides.as_object().cloned().unwrap_or_default();
    row.as_object_mut().expect("it is an object").extend(fields);
    row
}

fn table(rows: &[Value]) -> String {
    json!({"version": 1, "set": "my exam", "made": "2026-11-22", "rows": rows}).to_string()
}

/// Models with these answers, and this calibration table in the data folder.
fn sandbox(table: Option<&str>, answers: [&str; 3]) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let scripted = MODELS.into_iter().zip(answers);
    let sandbox =
        scripted.fold(sandbox, |sandbox, (model, answer)| sandbox.scripted(model, Script::answering(answer)));
    if let Some(table) = table {
        sandbox.write(".local/share/parallel-llm-mcp/calibration.json", table);
    }
    sandbox
}

fn ask(sandbox: &Sandbox, case: &Case, flags: &[&str]) -> Output {
    let models = MODELS.iter().flat_map(|model| ["-m", model]);
    let output = sandbox.call(["ask", case.question]).args(models).args(case.flags).args(flags);
    output.settings([("synthesizer", FUSER)]).run()
}

/// The confidence in the report of a new run; the stored run must show the same.
fn confidence(table: Option<&str>, case: &Case) -> String {
    let sandbox = sandbox(table, case.answers).scripted(FUSER, {
        Script::answering("<<answer>>\nA spider has six legs.\nAnswer: 6\n<<end answer>>\n{\"base\": \"A\"}")
    });
    let output = ask(&sandbox, case, &["--json"]);
    let reported = &output.json()["confidence"];
    let later = sandbox.call(["runs", "show", "@", "--json"]).run();
    assert_eq!(&later.json()["confidence"], reported, "{}", case.what);
    format!("{}: {reported}", case.what)
}

#[test]
fn confidence_comes_from_the_matching_row_or_is_uncalibrated() {
    const VOTE: &[&str] = &["--strategy", "vote"];
    let rows = [
        row(3, (196, 200), &json!({})),
        row(2, (170, 200), &json!({})),
        row(2, (120, 200), &json!({"form": "yes_no"})),
        row(1, (7, 12), &json!({})),
    ];
    let cases = [
        AGREED,
        Case { what: "two agree", question: LEGS, answers: TWO_AGREE, flags: VOTE },
        Case {
            what: "two say yes",
            question: PRIME,
            answers: ["Yes.\nANSWER: Yes.", "No.\nANSWER: No", "yes\nANSWER: yes"],
            flags: VOTE,
        },
        Case {
            what: "all differ",
            question: LEGS,
            answers: ["8\nANSWER: 8", "7\nANSWER: 7", "6\nANSWER: 6"],
            flags: VOTE,
        },
        Case {
            what: "fused otherwise",
            question: MARKED,
            answers: ["Answer: 6", "Answer: 8", "So.\nAnswer: 8"],
            flags: &[],
        },
        Case {
            what: "fused as most say",
            question: MARKED,
            answers: ["Answer: 8", "Answer: 6", "So.\nAnswer: 6"],
            flags: &[],
        },
        Case {
            what: "all in one text",
            question: MARKED,
            answers: ["Answer: 6", "Answer: 8", "So.\nAnswer: 8"],
            flags: &["--strategy", "panel"],
        },
        Case {
            what: "open",
            question: OPEN,
            answers: ["The first.", "The first.", "The second."],
            flags: VOTE,
        },
        Case { what: "open, all differ", question: OPEN, answers: ["One.", "Two.", "Three."], flags: VOTE },
        Case {
            what: "not kept",
            question: LEGS,
            answers: ALL_AGREE,
            flags: &["--strategy", "vote", "--store", "metadata"],
        },
    ];
    let table = table(&rows);
    let lines = each(&cases, |case| confidence(Some(&table), case)).join("\n");
    insta::assert_snapshot!(lines, @r#"
    all agree: {"asked":200,"band":"high","basis":"3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 98 % [95–99], n=200","high":0.992,"low":0.95,"right_share":0.98,"set":"my exam"}
    two agree: {"asked":200,"band":"medium","basis":"2 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 85 % [79–89], n=200","high":0.893,"low":0.794,"right_share":0.85,"set":"my exam"}
    two say yes: {"asked":200,"band":"low","basis":"2 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 60 % [53–67], n=200","high":0.665,"low":0.531,"right_share":0.6,"set":"my exam"}
    all differ: {"band":"uncalibrated","basis":"1 of 3 agree; calibration set `my exam` has 12 such answers, and 20 are needed"}
    fused otherwise: {"band":"uncalibrated","basis":"2 of 3 agree; the text says something else than the most answers"}
    fused as most say: {"asked":200,"band":"medium","basis":"2 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 85 % [79–89], n=200","high":0.893,"low":0.794,"right_share":0.85,"set":"my exam"}
    all in one text: {"band":"uncalibrated","basis":"2 of 3 agree; the text does not say plainly what it comes to"}
    open: {"band":"uncalibrated","basis":"2 of 3 agree; the text does not say plainly what it comes to"}
    open, all differ: {"band":"uncalibrated","basis":"3 answers to an open question, which are not counted"}
    not kept: {"band":"uncalibrated","basis":"3 of 3 agree; the words that would have to be compared are not kept"}
    "#);
}

#[test]
fn the_table_in_the_manual_can_be_used() {
    let manual = include_str!("../../../docs/strategies.md");
    let (_, section) = manual.split_once("## Calibrated confidence").expect("the manual has that section");
    let (_, block) = section.split_once("```json").expect("it shows a table");
    let (table, _) = block.split_once("```").expect("the block ends");
    let shown = confidence(Some(table), &AGREED);
    assert!(shown.contains("`my exam questions`") && shown.contains(r#""band":"high""#), "{shown}");
}

#[test]
fn a_row_for_other_models_is_ignored() {
    let row_of = |panel: [&str; 3], counts| row(3, counts, &json!({"panel": panel}));
    let others = ["openai/gpt-6.1-sol", "openai/gpt-6.1-sol", "x-ai/grok-4.7"];
    let same = [MODELS[1], MODELS[2], MODELS[0]];
    let cases = [
        ("no table", None),
        ("other models", Some(table(&[row_of(others, (199, 200))]))),
        ("these and any", Some(table(&[row_of(same, (150, 200)), row(3, (199, 200), &json!({}))]))),
        ("others and any", Some(table(&[row_of(others, (150, 200)), row(3, (199, 200), &json!({}))]))),
    ];
    let lines =
        each(&cases, |(what, table)| confidence(table.as_deref(), &Case { what, ..AGREED })).join("\n");
    insta::assert_snapshot!(lines, @r#"
    no table: {"band":"uncalibrated","basis":"3 of 3 agree"}
    other models: {"band":"uncalibrated","basis":"3 of 3 agree; calibration set `my exam` has no such answers"}
    these and any: {"asked":200,"band":"low","basis":"3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 75 % [69–80], n=200","high":0.805,"low":0.686,"right_share":0.75,"set":"my exam"}
    others and any: {"asked":200,"band":"high","basis":"3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 100 % [97–100], n=200","high":0.999,"low":0.972,"right_share":0.995,"set":"my exam"}
    "#);
}

#[test]
fn a_broken_table_is_a_warning_beside_the_answer() {
    let broken = [
        "{".to_owned(),
        table(&[row(3, (196, 200), &json!({})), row(2, (201, 200), &json!({}))]),
        table(&[]).replace("\"version\":1", "\"version\":2"),
        " ".repeat((1 << 20) + 1),
    ];
    let lines = each(&broken, |table| {
        let sandbox = sandbox(Some(table), ALL_AGREE);
        let output = ask(&sandbox, &AGREED, &["--json"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let report = output.json();
        assert_eq!(report["status"], "complete", "{report}");
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1), "{report}");
        let doctor = sandbox.call(["doctor", "--json"]).run().json();
        let found = doctor["findings"].as_array().expect("there are findings").iter();
        let found = found
            .filter(|finding| finding["found"].to_string().contains("calibration.json` cannot be used: "))
            .count();
        assert_eq!(found, 1, "{doctor}");
        let warnings = output.stderr.lines().filter(|line| line.starts_with("warning"));
        format!("{}\n  {}", output.masked(&warnings.collect::<String>()), report["confidence"])
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    warning[settings_invalid]: no answer is calibrated: `<home>/.local/share/parallel-llm-mcp/calibration.json` cannot be used: EOF while parsing an object at line 1 column 1 (next: repair or remove the file, then restart the program)
      {"band":"uncalibrated","basis":"3 of 3 agree; the calibration table cannot be used"}
    warning[settings_invalid]: no answer is calibrated: `<home>/.local/share/parallel-llm-mcp/calibration.json` cannot be used: row 2: 201 right of 200 asked is no share (next: repair or remove the file, then restart the program)
      {"band":"uncalibrated","basis":"3 of 3 agree; the calibration table cannot be used"}
    warning[settings_invalid]: no answer is calibrated: `<home>/.local/share/parallel-llm-mcp/calibration.json` cannot be used: its `version` is 2, and 1 is read (next: repair or remove the file, then restart the program)
      {"band":"uncalibrated","basis":"3 of 3 agree; the calibration table cannot be used"}
    warning[settings_invalid]: no answer is calibrated: `<home>/.local/share/parallel-llm-mcp/calibration.json` cannot be used: it is longer than 1048576 bytes (next: repair or remove the file, then restart the program)
      {"band":"uncalibrated","basis":"3 of 3 agree; the calibration table cannot be used"}
    "#);
}

#[test]
fn the_summary_and_the_agreement_page_show_the_confidence() {
    let table = table(&[row(3, (196, 200), &json!({})), row(2, (7, 12), &json!({}))]);
    let sandbox = sandbox(Some(&table), ALL_AGREE);
    insta::assert_snapshot!(ask(&sandbox, &AGREED, &[]).summary(), @"
    Answer by 2 x-ai/grok-4.7, chosen by vote: 3 of 3 answers say `8`.
    Confidence: high (3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 98 % [95–99], n=200).
    Cost $0.00031, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let page = sandbox.call(["runs", "show", "@", "--agreement"]).run();
    insta::assert_snapshot!(page.transcript(), @"
    exit 0
    --- stdout
    run <run>, vote, complete
    3 answers, worth about 1.45 independent votes (by a prior, not measured on your questions)
      `8`: 1 openai/gpt-6.1-sol, 2 x-ai/grok-4.7, 3 mistralai/mistral-large-4-0 (worth about 1.45 votes)
    100 % in the largest cluster, spread over 0 bits
    confidence: high (3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 98 % [95–99], n=200)
    no model compared what they say, or its words are not kept

    selected: 3 of 3 answers say `8`
    --- stderr
    ");
    // The exported files show the same confidence as the report.
    let exported =
        sandbox.call(["runs", "export", "@", "--dir"]).arg(&sandbox.home().display().to_string()).run();
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let reports = sandbox.files().into_iter().filter(|(path, _)| path.ends_with("run.json"));
    let shares = reports.map(|(_, bytes)| {
        let report: Value = serde_json::from_slice(&bytes).expect("a report is JSON");
        report["confidence"]["right_share"].clone()
    });
    assert_eq!(shares.collect::<Vec<_>>(), [json!(0.98), json!(0.98)]);
}

#[test]
fn over_mcp_the_agreement_summary_includes_the_confidence() {
    let sandbox = sandbox(Some(&table(&[row(3, (196, 200), &json!({"form": "number"}))])), ALL_AGREE);
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("process_prompt", json!({"prompt": LEGS, "models": MODELS, "strategy": "vote"}));
    let summary = "3 of 3 say `8`; confidence: high (3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were \
                   right 98 % [95–99], n=200)";
    assert_eq!(structured(&result)["agreement"]["summary"], summary);
    assert!(text(&result).contains(&format!("\n{summary}; agree: {}", MODELS[0])), "{}", text(&result));
    insta::assert_snapshot!(client.report(&result)["confidence"], @r#"{"asked":200,"band":"high","basis":"3 of 3 agree; in calibration set `my exam` (2026-11-22) such answers were right 98 % [95–99], n=200","high":0.992,"low":0.95,"right_share":0.98,"set":"my exam"}"#);
}
