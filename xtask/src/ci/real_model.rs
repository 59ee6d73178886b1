//! The stage `real model`: strategies and a flow, answered by a real language model on this machine; with `--long` all of them.
//!
//! The model has 135 million parameters and follows no form, so this shows that the plumbing holds and that the floor does,
//! and nothing about quality. It would have caught a synthesizer's `<<test 7.08.2013>> The request: …` that is called `fused`
//! while a right answer lies there, a judge without a verdict that ends the run, and a seat that is counted nowhere. The model
//! and its engine come from PyPI. If they cannot be installed the stage fails, because everything else is answered by scripts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::report::Verdict;
use super::setup::Process;
use super::{State, babble, foreign};
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// Servers, each of which computes in one thread: several threads of one wait for each other, and stand still on a busy machine.
const SERVERS: usize = 2;
/// Runs at the same time.
const AT_ONCE: usize = 4;
/// Time limit of a run, which takes half a minute on two quiet cores, and ten times as long on busy ones.
const RUN_TIME_MAX: Duration = Duration::from_mins(8);
/// The output caps of the calls that read answers, in tokens; that of the seats stands at the seats. A text that stops at its
/// cap is never used; of eight that this model wrote, three ended before 130 and none of the others before 200.
const WRITER_TOKENS_MAX: &str = "130";
const JUDGE_TOKENS_MAX: &str = "60";
/// The longest quotation of a text in a failure, in characters.
const QUOTED_MAX: usize = 400;

const CLOSED: &str = "What is the capital of France?";
const OPEN: &str = "Why do cats sleep so much? Answer in one sentence.";
const TWO: &str = "vllm:smollm2*2@max_tokens=40";
const THREE: &str = "vllm:smollm2*3@max_tokens=40";

/// One run, and what can come of it.
struct Case {
    strategy: &'static str,
    question: &'static str,
    model: &'static str,
    seats: usize,
    kinds: &'static [&'static str],
}

const CHOSEN: &[&str] = &["selected", "verbatim"];
const WRITTEN: &[&str] = &["fused", "selected", "verbatim"];

const fn case(
    strategy: &'static str,
    question: &'static str,
    seats: usize,
    kinds: &'static [&'static str],
) -> Case {
    let model = if seats == 2 { TWO } else { THREE };
    Case { strategy, question, model, seats, kinds }
}

/// The flow is named here as a strategy of its own.
const FLOW: &str = "flow";

/// The runs of each `ci`, the longest first, so that none runs alone at the end.
const CASES: &[Case] = &[
    case(FLOW, OPEN, 4, WRITTEN),
    case("best-of-n", OPEN, 2, CHOSEN),
    case("synthesize", OPEN, 2, WRITTEN),
    case("cascade", CLOSED, 3, WRITTEN),
    case("best-of-n@by=check", OPEN, 2, CHOSEN),
    case("vote", CLOSED, 3, CHOSEN),
    case("race", OPEN, 2, &["selected"]),
    case("panel", OPEN, 2, &["listed"]),
];

/// The further runs of `ci --long`, which take longer than all others.
const LONG_CASES: &[Case] = &[
    case("council", OPEN, 3, WRITTEN),
    case("moa", OPEN, 2, WRITTEN),
    case("best-of-n@by=pairs,orders=1", OPEN, 2, CHOSEN),
    case("best-of-n@by=league,orders=1", OPEN, 2, CHOSEN),
    case("best-of-n@by=consistency", OPEN, 2, CHOSEN),
    case("auto", CLOSED, 2, WRITTEN),
];

/// Two panels, one judged and one counted, and their texts made one.
const FLOW_FILE: &str = r#"
[stages.judged]
panel = "vllm:smollm2*2@max_tokens=40"
strategy = "best-of-n@orders=1"

[stages.counted]
panel = "vllm:smollm2*2@max_tokens=40"
strategy = "vote"

[stages.merged]
from = ["judged", "counted"]
"#;

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to ask: add `--only \"release build\"`".to_owned(),
        ));
    };
    let python = foreign::python_alone("model")
        .map_err(|failure| Failure::new(format!("the model cannot be installed: {failure}")))?;
    let folder = made_folder()?;
    let servers = (0..SERVERS).map(|number| serve(&python, &folder.join(format!("server{number}.txt"))));
    let servers = servers.collect::<Result<Vec<ModelServer>, Failure>>()?;
    let asker = Asker { binary, folder: &folder, prompts: prompts()? };
    let cases: Vec<&Case> =
        if state.long { LONG_CASES.iter().chain(CASES).collect() } else { CASES.iter().collect() };
    let wrong = asker.ask_all(&cases, &servers);
    if wrong.is_empty() {
        return Ok(Verdict::Passed);
    }
    let last: Vec<String> = servers.iter().map(|server| last_line(&server.log)).collect();
    Err(Failure::new(format!("{}; the servers' last lines are: {}", wrong.join("; "), last.join(" and "))))
}

/// A running server.
struct ModelServer {
    _process: Process,
    url: String,
    log: PathBuf,
}

/// Starts a server and waits until it can be asked.
fn serve(python: &Path, log: &Path) -> Result<ModelServer, Failure> {
    let mut command = Command::new(python);
    command.arg(foreign::folder(foreign::CLIENTS)?.join("model.py"));
    let (process, lines) = Process::start(command, log, 1)
        .map_err(|failure| Failure::new(format!("{failure}, which ends with: {}", last_line(log))))?;
    Ok(ModelServer { _process: process, url: format!("{}/v1", lines[0]), log: log.to_owned() })
}

/// The last line that a server logged.
fn last_line(log: &Path) -> String {
    let errors = std::fs::read_to_string(log.with_extension("err")).unwrap_or_default();
    errors.trim_end().lines().last().unwrap_or("nothing").to_owned()
}

/// An empty folder for the home, the reports and the server's output.
fn made_folder() -> Result<PathBuf, Failure> {
    let folder = built::target()?.join("setups").join("real-model");
    // The folder of an earlier run; there may be none.
    std::fs::remove_dir_all(&folder).ok();
    let made = std::fs::create_dir_all(folder.join("home"))
        .and_then(|()| std::fs::write(folder.join("flow.toml"), FLOW_FILE));
    made.map_err(|error| Failure::new(format!("cannot make `{}`: {error}", folder.display())))?;
    Ok(folder)
}

/// What the program can tell a model.
fn prompts() -> Result<Vec<String>, Failure> {
    let mut folders = vec![repository::root().join("crates/parallel-llm-engine/prompts")];
    let mut prompts = Vec::new();
    while let Some(folder) = folders.pop() {
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot read `{}`: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                prompts.push(std::fs::read_to_string(&path).map_err(failed)?);
            }
        }
    }
    Ok(prompts)
}

/// What all runs share.
struct Asker<'a> {
    binary: &'a Path,
    folder: &'a Path,
    prompts: Vec<String>,
}

impl Asker<'_> {
    /// Asks the cases, and returns what is wrong with them.
    fn ask_all(&self, cases: &[&Case], servers: &[ModelServer]) -> Vec<String> {
        let (cases, wrong) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
        let next = || cases.lock().expect("nobody panics with the lock").next();
        std::thread::scope(|scope| {
            for server in servers.iter().cycle().take(AT_ONCE) {
                scope.spawn(|| {
                    while let Some(case) = next() {
                        match self.prove(case, &server.url) {
                            Ok(summary) => say::note(&format!("{}: {summary}", case.strategy)),
                            Err(failure) => wrong
                                .lock()
                                .expect("nobody panics with the lock")
                                .push(format!("{}: {failure}", case.strategy)),
                        }
                    }
                });
            }
        });
        wrong.into_inner().expect("nobody panics with the lock")
    }

    fn prove(&self, case: &Case, url: &str) -> Result<String, Failure> {
        let output = self.question(case, url).output()?;
        let file = format!("{}.json", case.strategy.replace(['@', '=', ','], "-"));
        // For whoever wants to read more than the failure quotes.
        std::fs::write(self.folder.join(file), &output).ok();
        let report: Value = serde_json::from_str(&output)
            .map_err(|error| Failure::new(format!("it prints no report: {error}")))?;
        let wrong = judge(case, &report, &self.prompts);
        if wrong.is_empty() {
            return Ok(summary(&report));
        }
        let answer: String = report["answer"].as_str().unwrap_or("null").chars().take(QUOTED_MAX).collect();
        Err(Failure::new(format!("{}; {}; its text is {answer:?}", wrong.join(", "), summary(&report))))
    }

    fn question(&self, case: &Case, url: &str) -> Program {
        let ask = Program::new(self.binary).scrubbed(&self.folder.join("home"));
        let ask = ask.variable("PATH", "/usr/local/bin:/usr/bin:/bin").variable("VLLM_BASE_URL", url);
        let ask = ["SYNTHESIZER", "EQUIVALENCE_MODEL"]
            .into_iter()
            .fold(ask, |ask, reader| ask.variable(&format!("PARALLEL_LLM_{reader}"), "vllm:smollm2"));
        let ask = ask.time_limit(RUN_TIME_MAX);
        let tokens_max = if case.kinds.contains(&"fused") { WRITER_TOKENS_MAX } else { JUDGE_TOKENS_MAX };
        let ask = ask.arguments(["ask", "--json", "--wait", "all", "--max-tokens", tokens_max]);
        let ask = match case.strategy {
            FLOW => ask.arguments(["--preset"]).arguments([self.folder.join("flow.toml")]),
            strategy => ask.arguments(["--strategy", strategy, "-m", case.model]),
        };
        let ask =
            if case.strategy.ends_with("by=check") { ask.arguments(["--check", "grep -q ."]) } else { ask };
        ask.arguments([case.question])
    }
}

/// The kind of the text, the seats with an answer, the time, and the codes of the warnings.
fn summary(report: &Value) -> String {
    let kind = report["synthesis"]["kind"].as_str().unwrap_or("no text");
    let seconds = report["elapsed_ms"].as_f64().unwrap_or_default() / 1000.0;
    let warnings = report["warnings"].as_array().into_iter().flatten();
    let codes: Vec<&str> = warnings.filter_map(|warning| warning["code"].as_str()).collect();
    let calls = report["calls"].as_array().map_or(0, Vec::len);
    let answered = &report["seats_answered"];
    format!("{kind}, {answered} answered, {calls} further calls, {seconds:.1} s {}", codes.join(" "))
}

/// The failed checks of a report.
fn judge(case: &Case, report: &Value, prompts: &[String]) -> Vec<String> {
    let kind = report["synthesis"]["kind"].as_str().unwrap_or_default();
    let checks = [
        ("it is not over", report["status"] == "complete" || report["status"] == "partial"),
        ("its seats are not accounted for", are_accounted_for(case, report)),
        ("no seat has answered", report["seats_answered"].as_u64() > Some(0)),
        ("its text is of a wrong kind", case.kinds.contains(&kind)),
    ];
    let mut wrong: Vec<String> =
        checks.iter().filter(|(_, holds)| !holds).map(|(wrong, _)| (*wrong).to_owned()).collect();
    let answer = report["answer"].as_str().unwrap_or_default();
    let mut material = [texts(&report["answers"]), texts(&report["rounds"])].concat();
    if kind == "fused" {
        material.push(case.question.to_owned());
        let basis = babble::Basis { material: &material, prompts };
        let reasons = babble::reasons(answer, &basis);
        wrong.extend(reasons.iter().map(|reason| format!("babble is called fused: it {reason}")));
    } else if kind != "listed" && !material.iter().any(|text| text.trim() == answer.trim()) {
        wrong.push("its text is none of the answers".to_owned());
    }
    wrong
}

/// Whether each seat has answered, is missing, or was given up because nothing more was needed. The report of a race is made
/// at the first answer, when the others are still being read.
fn are_accounted_for(case: &Case, report: &Value) -> bool {
    let none = Vec::new();
    let list = |name: &str| report[name].as_array().unwrap_or(&none);
    let (seats, missing) = (list("answers"), list("seats_missing"));
    let ends: &[&str] = if case.strategy == "race" { &["cancelled", "streaming"] } else { &["skipped"] };
    let is_given_up =
        |seat: &&Value| ends.iter().any(|end| seat["status"] == *end) && !missing.contains(&seat["seat"]);
    let given_up = seats.iter().filter(is_given_up).count();
    let answered = report["seats_answered"].as_u64().unwrap_or_default() as usize;
    seats.len() == case.seats && answered + missing.len() + given_up == case.seats
}

/// All texts in a part of a report.
fn texts(part: &Value) -> Vec<String> {
    match part {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if name == "text" => vec![text.clone()],
                _ => texts(value),
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Value {
        json!({
            "status": "complete",
            "seats_answered": 2,
            "seats_missing": [],
            "answers": [{"status": "answered", "text": "They hunt at dusk."}, {"status": "cut", "text": "Cats"}],
            "synthesis": {"kind": "fused"},
            "answer": "They hunt at dusk, so they sleep by day.",
        })
    }

    fn check(pointer: &str, value: Value, expected: &[&str]) {
        let mut report = report();
        *report.pointer_mut(pointer).unwrap() = value;
        assert_eq!(judge(&case("synthesize", OPEN, 2, WRITTEN), &report, &[]), expected, "{pointer}");
    }

    #[test]
    fn each_part_of_a_report_is_judged() {
        check("/answer", json!("Cats save strength."), &[]);
        check("/status", json!("partial"), &[]);
        check("/status", json!("running"), &["it is not over"]);
        check("/answers", json!([]), &["its seats are not accounted for"]);
        check("/seats_answered", json!(1), &["its seats are not accounted for"]);
        check("/seats_missing", json!([2]), &["its seats are not accounted for"]);
        check("/seats_answered", json!(0), &["its seats are not accounted for", "no seat has answered"]);
        check("/synthesis/kind", json!("listed"), &["its text is of a wrong kind"]);
        check(
            "/answer",
            json!("B"),
            &[
                "babble is called fused: it is a lone label",
                "babble is called fused: it has no word of the matter",
            ],
        );
        check(
            "/answer",
            json!("The opera opens."),
            &["babble is called fused: it has no word of the matter"],
        );
    }

    #[test]
    fn a_text_that_is_not_written_stands_among_the_answers() {
        let mut report = report();
        report["synthesis"]["kind"] = json!("verbatim");
        let wrong = || vec!["its text is none of the answers".to_owned()];
        assert_eq!(judge(&case("race", OPEN, 2, CHOSEN), &report, &[]), wrong());
        report["answer"] = json!("Cats");
        assert_eq!(judge(&case("race", OPEN, 2, CHOSEN), &report, &[]), [""; 0]);
    }

    #[test]
    fn every_strategy_is_asked() {
        let table = repository::root().join("crates/parallel-llm-engine/src/strategy/mod.rs");
        let table = std::fs::read_to_string(table).unwrap();
        let rows = table.lines().filter_map(|line| line.split_once(" = \"")?.1.split_once("\" in "));
        let asked =
            |name| CASES.iter().chain(LONG_CASES).any(|case| case.strategy.split('@').next() == Some(name));
        let (asked, missing): (Vec<&str>, Vec<&str>) =
            rows.map(|(name, _)| name).partition(|name| asked(name));
        assert_eq!((asked.len(), missing), (8, Vec::new()));
    }

    #[test]
    fn the_prompts_are_found_in_all_folders() {
        assert!(
            prompts()
                .unwrap()
                .iter()
                .any(|prompt| prompt.contains("You judge candidates, independent answers"))
        );
    }

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
