//! One run that is killed and resumed, and what is checked each time.

use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::{Answer, CallerSlot, PicoUsd, Recorded, RunStatus};
use parallel_llm_testkit::simulator::{
    Answer as Says, Behaviour, Fault, Latency, LedgerView, Script, SimulatorConfig,
};
use parallel_llm_testkit::{Call, KILL_AT, KILLED, Output, Sandbox};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::plan::{Kill, Panel, Plan};
use crate::trace::{SlotState, Trace, seat, synthesizer};

const QUESTION: &str = "What makes the tides?";
/// The panel: a quick model, one that refuses its first request, one with a text so long that it is stored while it
/// arrives, one of ordinary speed, and a straggler.
const SEATS: [&str; 5] = [
    "openai/gpt-6.1-sol",
    "mistralai/mistral-large-4-0",
    "google/gemini-4-argon",
    "x-ai/grok-4.7",
    "anthropic/claude-opus-5.5",
];
const SYNTHESIZERS: [&str; 2] = ["deepseek/deepseek-v4-pro-0813", "z-ai/glm-5.3"];
/// The run waits until all but the straggler have answered.
const WAIT: &str = "quorum:4";
/// Longer than the 16 KiB after which an arriving text is stored.
const LONG_BYTES: usize = 40_000;

/// A sandbox with one run, killed as planned.
pub(crate) struct KilledRun {
    sandbox: Sandbox,
    plan: Plan,
    /// The content of the database after the newest kill.
    trace: Option<Trace>,
}

/// How a start of the program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) left: Left,
    /// The failpoint it was killed at, such as `before append`.
    pub(crate) failpoint: Option<String>,
    pub(crate) took: Duration,
}

/// What it left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Left {
    /// It was killed before anything was durable.
    Nothing,
    /// It was killed while the run was going on.
    Interrupted,
    /// It was killed after the answer was settled.
    Settled,
    /// It was not killed.
    Closed,
}

/// A failing test prints how to repeat it.
impl Drop for KilledRun {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "failed: `{0}`; do it again with\n  PARALLEL_LLM_TEST_KILL='{0}' cargo test -p parallel-llm-testkit --test kill \
                 replayed -- --ignored",
                self.plan
            );
        }
    }
}

impl KilledRun {
    pub(crate) fn new(plan: &Plan) -> Self {
        let config = SimulatorConfig { behaviour: Behaviour::instant(), ..SimulatorConfig::default() };
        let sandbox = Sandbox::with(env!("CARGO_BIN_EXE_failpoints"), config);
        for (model, script) in scripts(plan.panel) {
            sandbox.simulator().script(model, script);
        }
        Self { sandbox, plan: plan.clone(), trace: None }
    }

    /// Asks, or resumes what was asked, and checks what remains when the program has ended.
    pub(crate) fn begin(&mut self, kill: Kill) -> End {
        let call = match &self.trace {
            None => self.ask(),
            Some(trace) => self.sandbox.call(["runs", "resume", "--json", &trace.run_id.to_string()]),
        };
        let began = Instant::now();
        let output = match kill {
            Kill::At(number) => call.env(KILL_AT, &number.to_string()).run(),
            Kill::After(time) => call.start().kill_after(time),
            Kill::Never => call.run(),
        };
        let took = began.elapsed();
        self.check_state(&output);
        let failpoint = output.stderr.lines().find_map(|line| line.strip_prefix(KILLED)).map(str::to_owned);
        let left = match &self.trace {
            _ if output.code.is_some() => Left::Closed,
            None => Left::Nothing,
            Some(trace) if trace.outcome().is_none() => Left::Interrupted,
            Some(_) => Left::Settled,
        };
        End { left, failpoint, took }
    }

    /// Asks, or resumes, without being killed.
    pub(crate) fn finish(&mut self) -> End {
        let end = self.begin(Kill::Never);
        assert_eq!(end.left, Left::Closed);
        let trace = self.trace.as_ref().expect("a run that was not killed is known");
        assert!(trace.outcome().is_some(), "a run that is taken up comes to an outcome");
        end
    }

    fn ask(&self) -> Call<'_> {
        let models = SEATS.iter().flat_map(|model| ["-m", model]);
        let call = self.sandbox.call(["ask", "--jsonl", "--wait", WAIT]).args(models);
        let call = if self.plan.panel == Panel::Linger { call.arg("--linger") } else { call };
        call.settings([("synthesizer", SYNTHESIZERS.join(" ").as_str())]).arg(QUESTION)
    }

    /// Everything that must hold when the program has ended in any way.
    fn check_state(&mut self, output: &Output) {
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
        // The simulator has to notice that its client has disconnected.
        self.sandbox.until("the simulator is quiet", || self.sandbox.simulator().stats().in_flight == 0);
        let is_killed = output.code.is_none();
        let shown_json = self.output_json(output);
        // The program itself is the first to open what a killed one has left.
        let shown = is_killed.then(|| self.sandbox.call(["runs", "show", "--json", "@"]).run());
        let Some(trace) = Trace::read(&self.sandbox.data_dir().join("runs.db")) else {
            assert_eq!(shown.and_then(|shown| shown.code), Some(2), "{}", output.stderr);
            assert_eq!(shown_json, [Value::Null; 0], "what was shown is not kept");
            assert_eq!(self.sandbox.chats().len(), 0, "requests left that no journal knows");
            return;
        };
        check_output(&shown_json, &trace);
        if let Some(shown) = shown {
            check_shown(&shown.json(), &trace);
        } else {
            assert!(trace.is_closed(), "a program that was not killed has closed its run");
            let has_text = trace.outcome().is_some_and(|outcome| outcome.text.is_some());
            assert_eq!(output.code == Some(0), has_text, "exit {:?}: {}", output.code, output.stderr);
        }
        self.check_requests(&trace);
        self.check_costs(&trace);
        self.check_files(&trace, is_killed);
        if let Some(before) = &self.trace {
            check_nothing_is_paid_twice(before, &trace);
        }
        self.trace = Some(trace);
    }

    /// The complete JSON lines that the program printed.
    fn output_json(&self, output: &Output) -> Vec<Value> {
        if self.trace.is_some() {
            return serde_json::from_slice(&output.stdout).into_iter().collect();
        }
        let whole = output.stdout.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = output.stdout[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("a line is one JSON value")).collect()
    }

    /// No request was sent that the journal does not know, and the journal has no answered request that was never sent.
    fn check_requests(&self, trace: &Trace) {
        for (slot, model) in slots() {
            let (asked, sent) = (self.sandbox.asked(model), trace.sent(slot));
            assert!(asked <= sent, "{slot}: {asked} requests left, {sent} are known");
            assert!(trace.answered(slot) <= asked, "{slot}: {asked} requests left, more were answered");
        }
        let run_id = trace.run_id.to_string();
        let session = |body: &Value| body["session_id"].as_str().map(str::to_owned);
        assert!(self.sandbox.chats().iter().all(|chat| session(&chat.body).as_ref() == Some(&run_id)));
    }

    /// The cost of an answer is what the simulator charged; nothing more is recorded.
    fn check_costs(&self, trace: &Trace) {
        let ledger = self.sandbox.simulator().ledger();
        for (slot, model) in slots() {
            if let SlotState::Answered(answer) = trace.state(slot) {
                assert_eq!(answer.cost, Some(charged(&ledger, model, &answer)), "{slot}");
                assert!(!answer.cost_is_estimate, "{slot}");
            }
        }
        let all = PicoUsd(ledger.charged_pico_usd);
        assert!(trace.cost <= all, "the run says {}, the ledger {all}", trace.cost);
    }

    /// Each file with a final name is complete and equals the database; if the program came to its end, all files are
    /// there and nothing else.
    fn check_files(&self, trace: &Trace, is_killed: bool) {
        let mut finals = 0;
        let run_id = trace.run_id.to_string();
        for (path, content) in self.sandbox.files() {
            if path.parent().and_then(Path::file_name).is_none_or(|folder| folder != run_id.as_str()) {
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_temporary = name.starts_with('.') && path.extension().is_some_and(|end| end == "new");
            if is_temporary {
                assert!(is_killed, "{name} was left behind");
                continue;
            }
            finals += 1;
            let content = String::from_utf8(content).expect("files are UTF-8");
            match wanted(&name, trace) {
                Some(wanted) => assert_eq!(content, wanted, "{name}"),
                None => check_report_file(&name, &content, trace),
            }
        }
        let answers = (0..SEATS.len()).filter(|index| has_text(&trace.state(seat(*index)))).count();
        let settled = trace.outcome().map_or(0, |outcome| 1 + usize::from(outcome.text.is_some()));
        let all = 1 + answers + settled;
        assert!(finals <= all && (is_killed || finals == all), "{finals} files of {all}");
    }
}

fn scripts(panel: Panel) -> impl Iterator<Item = (&'static str, Script)> {
    let says = |ms, text: String, tokens_per_s| Behaviour {
        ttft_ms: Latency::of(ms),
        answer: Says::Fixed(text),
        tokens_per_s,
        chunk_tokens: 1_024,
        ..Behaviour::instant()
    };
    let long = "The moon pulls the near side more than the far one. ".repeat(LONG_BYTES / 52);
    let fuses = Script::behaving(Behaviour { ttft_ms: Latency::of(25), ..Behaviour::instant() });
    let first = match panel {
        Panel::Usual => fuses.clone(),
        Panel::Linger => Script { fault: Some(Fault::SseCut), ..fuses.clone() },
    };
    let refuses = Script::fault(Fault::Unavailable503).fail_first(1).retry_after("0.02");
    let seats = [
        Script::behaving(says(4, "The moon.".to_owned(), 0)),
        Script { behaviour: Some(says(2, "The sun, too.".to_owned(), 0)), ..refuses },
        Script::behaving(says(2, long, 100_000)),
        Script::behaving(says(30, "Moon and sun, by what they pull.".to_owned(), 0)),
        Script::behaving(says(140, "The moon, twice a day.".to_owned(), 0)),
    ];
    SEATS.into_iter().zip(seats).chain(SYNTHESIZERS.into_iter().zip([first, fuses]))
}

fn slots() -> impl Iterator<Item = (CallerSlot, &'static str)> {
    let seats = SEATS.into_iter().enumerate().map(|(index, model)| (seat(index), model));
    seats.chain(SYNTHESIZERS.into_iter().enumerate().map(|(index, model)| (synthesizer(index), model)))
}

fn has_text(state: &SlotState) -> bool {
    matches!(state, SlotState::Answered(_) | SlotState::Cut(_))
}

/// Everything that was shown is stored, including the text.
fn check_output(shown_json: &[Value], trace: &Trace) {
    for shown_json in shown_json {
        if let Some(seq) = shown_json["seq"].as_u64() {
            let recorded = seq.checked_sub(1).and_then(|index| trace.events.get(index as usize));
            let recorded = recorded.unwrap_or_else(|| panic!("what was shown is not kept: {shown_json}"));
            check_event(shown_json, recorded);
        } else {
            let outcome = trace.outcome().expect("a report that was shown is of a settled run");
            assert_eq!(shown_json["answer"].as_str(), outcome.text.as_deref());
            let seats = shown_json["answers"].as_array().unwrap().iter().enumerate();
            // The report at the answer may know less of a straggler than is known now.
            let is_over =
                |shown_json: &Value| shown_json["status"] != "waiting" && shown_json["status"] != "streaming";
            for (index, seat_shown) in seats.filter(|(_, shown_json)| is_over(shown_json)) {
                check_seat(seat_shown, &trace.state(seat(index)));
            }
        }
    }
}

/// A line says what the event says.
fn check_event(shown_json: &Value, recorded: &Recorded) {
    let kept = json!(recorded);
    for name in ["event", "elapsed_ms", "generation_id"] {
        assert_eq!(shown_json[name], kept[name], "{name}: what was shown is what is kept");
    }
    let attempt = &kept["attempt"];
    assert_eq!(shown_json["attempt"], attempt["number"], "{shown_json}");
    if let Some(role) = shown_json["role"].as_str() {
        assert_eq!(shown_json["number"], attempt["place"][role], "{shown_json}");
    }
    assert_eq!(shown_json["error"]["code"], kept["failure"]["code"], "{shown_json}");
    let answer = recorded.event.answer();
    let text = answer.map(|answer| &*answer.text).filter(|text| !text.is_empty());
    assert_eq!(shown_json["text"].as_str(), text, "{shown_json}");
    if let Some(answer) = answer {
        assert_eq!(shown_json["cost_usd"].as_f64(), answer.cost.map(PicoUsd::as_usd), "{shown_json}");
    }
}

/// A run that was killed, and its seats, are shown as the events say.
fn check_shown(report: &Value, trace: &Trace) {
    let is_open = trace.outcome().is_none();
    assert_eq!(trace.status == RunStatus::Interrupted, is_open, "{:?}", trace.status);
    assert_eq!(report["status"], trace.status.as_str());
    let text = trace.outcome().and_then(|outcome| outcome.text.as_deref());
    assert_eq!(report["answer"].as_str(), text);
    for (index, shown_json) in report["answers"].as_array().unwrap().iter().enumerate() {
        check_seat(shown_json, &trace.state(seat(index)));
    }
}

/// A seat of a report is as the events say.
fn check_seat(shown_json: &Value, state: &SlotState) {
    let (expected, answer) = match state {
        SlotState::Answered(answer) => ("answered", Some(answer)),
        SlotState::Cut(answer) => ("cut", Some(answer)),
        SlotState::Unanswered => ("unknown", None),
        SlotState::Unsent | SlotState::Retrying => ("waiting", None),
        SlotState::Failed => ("cancelled", None),
    };
    assert_eq!(shown_json["status"], expected);
    if let Some(answer) = answer {
        assert_eq!(shown_json["text"].as_str(), Some(&*answer.text));
        assert_eq!(shown_json["cost_usd"].as_f64().and_then(PicoUsd::from_f64), answer.cost);
    }
}

/// The ledger's charge for the only request of a slot that gave an answer.
fn charged(ledger: &LedgerView, model: &str, answer: &Answer) -> PicoUsd {
    let charges = ledger.charges.iter().filter(|charge| charge.model == model);
    let charges: Vec<_> = charges.map(|charge| (&charge.generation_id, charge.cost_pico_usd)).collect();
    let [(generation_id, pico)] = charges[..] else { panic!("{model} was paid for {charges:?}") };
    assert_eq!(Some(generation_id), answer.generation_id.as_ref());
    PicoUsd(pico)
}

/// The content of a file with this name: a text that is also in the database.
fn wanted(name: &str, trace: &Trace) -> Option<String> {
    if name == "prompt.md" {
        return Some(QUESTION.to_owned());
    }
    if name == "final_best.md" {
        return trace.outcome()?.text.as_deref().map(str::to_owned);
    }
    let number: usize = name.strip_prefix("answer_")?.split_once('_')?.0.parse().ok()?;
    match (trace.state(seat(number - 1)), name.ends_with("_cut.md")) {
        (SlotState::Answered(answer), false) | (SlotState::Cut(answer), true) => {
            Some(answer.text.to_string())
        }
        _ => None,
    }
}

fn check_report_file(name: &str, content: &str, trace: &Trace) {
    assert_eq!(name, "run.json", "a file that the database knows nothing of");
    let report: Value = serde_json::from_str(content).expect("run.json is whole");
    let outcome = trace.outcome().expect("run.json is of a settled run");
    assert_eq!(report["answer"].as_str(), outcome.text.as_deref());
    assert_eq!(report["run_id"], trace.run_id.to_string());
}

/// No slot with an answer is asked again, and no request that may have been paid is sent again.
fn check_nothing_is_paid_twice(before: &Trace, after: &Trace) {
    assert_eq!(after.events[..before.events.len()], before.events, "history is not written anew");
    for (slot, _) in slots() {
        let state = before.state(slot);
        if has_text(&state) || state == SlotState::Unanswered {
            assert_eq!(after.sent(slot), before.sent(slot), "{slot} was asked again");
            assert_eq!(after.state(slot), state, "{slot}");
        }
    }
}
