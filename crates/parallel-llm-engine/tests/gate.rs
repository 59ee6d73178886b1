//! The gate, tested against lists that were written without knowledge of its rules: different answers are never
//! called equal, and most equal answers are recognised.
//!
//! Each line of `fixtures/*.jsonl` is a run of the engine, in which models give the listed answers and the agreement
//! reported by the run is checked. Pairs that reading already tells apart are run only now and then. The many other
//! phrasings are read without a run. Answers that are not read may cost some calls; different answers must never be
//! called equal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use parallel_llm_engine::agreement::Agreement;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::port::memory::MemoryJournal;
use parallel_llm_engine::text::json_pointer::Pointer;
use parallel_llm_engine::text::short_answer::{Form, Value as ShortAnswer};
use parallel_llm_engine::{Engine, Outcome, OutcomeKind, RunPlan, RunRequest, Stop};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::ledger::Ledger;
use crate::scenario::scenario;
use crate::script::{Models, Reply, ScriptedCaller, hangs, says};

/// The least percentage of equal pairs that is recognised. A missed pair costs a call.
const EQUAL_PERCENT_MIN: usize = 85;
/// The most answers in 1,000 that may be misread.
const MISREAD_PER_MILLE_MAX: usize = 5;
/// The least answers in 1,000 that are read if they name their value plainly.
const MARKED_PER_MILLE_MIN: usize = 950;
/// The same for answers that only reason and end in a number.
const UNMARKED_PER_MILLE_MIN: usize = 850;

/// Of the pairs that reading tells apart, one in this many is run through the engine.
const RUNS_STEP: usize = 8;
/// Each pair is read in one of this many phrasings; the next pair starts with another phrasing.
const PHRASINGS_STEP: usize = 3;

const NAMES: [&str; 12] =
    ["ada", "bob", "cyd", "dan", "eve", "fay", "gil", "hal", "ida", "jon", "kim", "lou"];

/// Executes many runs in one paused runtime, without the checks of a scenario, because there are thousands of them.
struct Gate {
    runtime: Runtime,
    /// A plan for each number of seats; only the question is replaced.
    plans: Vec<RunPlan>,
}

impl Gate {
    fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("the runtime starts");
        let plan = |seats: usize| {
            let names = NAMES.into_iter().take(seats).chain(["fuser"]);
            scenario(names.map(|name| (name, hangs()))).planned()
        };
        let plans = runtime.block_on(async { (0..=NAMES.len()).map(|seats| plan(seats.max(1))).collect() });
        Self { runtime, plans }
    }

    /// The outcome of a run in which seats give these answers to a question.
    fn outcome(&self, question: &str, answers: &[&str]) -> Outcome {
        let mut plan = self.plans[answers.len()].clone();
        plan.messages = RunRequest::prompt(question).messages.into();
        let seats = NAMES.into_iter().zip(answers).map(|(name, answer)| (name, says(10, answer)));
        let replies: Vec<(&'static str, Reply)> = seats.chain([("fuser", says(10, "Fused."))]).collect();
        self.runtime.block_on(async {
            let models = Models::new(&Ledger::new(), &replies, NAMES.len());
            let engine = Engine::new(Arc::new(ScriptedCaller(models)), Arc::new(MemoryJournal::default()));
            let hub = Arc::new(Hub::new(Arc::new(plan)));
            let underway = engine.open(Arc::clone(&hub), Stop::default()).await.expect("the run is new");
            Box::pin(underway.finish()).await;
            hub.snapshot().outcome.expect("the run is over")
        })
    }

    /// Whether the gate calls the answers equal, so that no model is asked to fuse them.
    fn calls_equal(&self, question: &str, answers: &[&str]) -> bool {
        let outcome = self.outcome(question, answers);
        let is_unanimous = outcome.agreement.as_ref().is_some_and(Agreement::is_unanimous);
        let is_selected = outcome.kind == OutcomeKind::Selected;
        assert_eq!(is_unanimous, is_selected, "the gate does what the report says: {question}: {answers:?}");
        is_selected
    }
}

fn rows(file: &str) -> impl Iterator<Item = Value> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| serde_json::from_str(line).expect("a line is a JSON object"))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {row}"))
}

fn texts<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    row[key].as_array().into_iter().flatten().map(|one| one.as_str().expect("texts")).collect()
}

/// Other phrasings of an answer, also at the end of reasoning. Different answers stay different in each of them.
fn phrasings(answer: &str) -> [String; 10] {
    [
        format!("The answer is {answer}."),
        format!("Let me think about it.\n\n**Answer:** {answer}"),
        format!("We are asked for one thing. $\\boxed{{{answer}}}$"),
        serde_json::json!({"reasoning": "We think.", "answer": answer}).to_string(),
        format!("#### {answer}"),
        format!("Let us think step by step.\n\n{answer}"),
        format!("We add what there is: 2 + 3 = 5. {answer}"),
        format!("So {answer}"),
        format!("Total: {answer}"),
        format!("Step 1: we count. Step 2: we think.\n\n**{answer}**"),
    ]
}

/// The values read from two answers.
fn read(form: Option<&Form>, pair: [&str; 2]) -> [Option<ShortAnswer>; 2] {
    pair.map(|answer| form.and_then(|form| form.read(answer)))
}

/// The number of errors in each class, and then each error.
fn table(wrong: &BTreeMap<String, Vec<String>>, of: usize) -> String {
    let mut result = String::new();
    for (class, rows) in wrong {
        writeln!(result, "{:4} {class}", rows.len()).expect("memory takes it");
    }
    for (class, rows) in wrong {
        for row in rows {
            writeln!(result, "{class}: {row}").expect("memory takes it");
        }
    }
    format!("{} of {of}\n{result}", wrong.values().map(Vec::len).sum::<usize>())
}

/// Different pairs that were called equal, by class.
#[derive(Default)]
struct WronglyMerged {
    of: usize,
    classes: BTreeMap<String, Vec<String>>,
}

impl WronglyMerged {
    fn count(&mut self, row: &Value, pair: [&str; 2], is_merged: bool) {
        self.of += 1;
        if is_merged {
            let class = self.classes.entry(text(row, "class").to_owned()).or_default();
            class.push(format!("{:?} {pair:?}", text(row, "question")));
        }
    }

    fn assert_none(self) {
        assert!(self.classes.is_empty(), "called equal: {}", table(&self.classes, self.of));
    }
}

/// Asserts that the gate calls no pair of this list of different answers equal.
fn assert_never_called_equal(file: &str) {
    let (gate, mut wrong) = (Gate::new(), WronglyMerged::default());
    for (nth, row) in rows(file).enumerate() {
        let (question, pair) = (text(&row, "question"), pair(&row));
        let [one, other] = read(Form::of(question).as_ref(), pair);
        // Answers without a value are compared character by character.
        let is_distinguished = one != other || one.is_none() && pair[0].trim() != pair[1].trim();
        let is_run = !is_distinguished || nth % RUNS_STEP == 0;
        wrong.count(&row, pair, is_run && gate.calls_equal(question, &pair));
    }
    wrong.assert_none();
}

/// Asserts that no pair is read as equal in another phrasing. Pairs marked `bare` are left out, because a phrasing
/// changes their meaning: `$PATH$` is a formula.
fn assert_different_in_every_phrasing(file: &str) {
    let mut wrong = WronglyMerged::default();
    for (nth, row) in rows(file).filter(|row| row["bare"] != true).enumerate() {
        let form = Form::of(text(&row, "question"));
        let [one, other] = pair(&row).map(phrasings);
        for (one, other) in one.iter().zip(&other).skip(nth % PHRASINGS_STEP).step_by(PHRASINGS_STEP) {
            let [one_value, other_value] = read(form.as_ref(), [one, other]);
            wrong.count(&row, [one, other], one_value.is_some() && one_value == other_value);
        }
    }
    wrong.assert_none();
}

fn pair(row: &Value) -> [&str; 2] {
    texts(row, "answers").try_into().expect("there are two")
}

const DIFFERENT: &str = include_str!("fixtures/different_answers.jsonl");
const CONTRADICTING: &str = include_str!("fixtures/contradicting_prose.jsonl");

#[test]
fn different_answers_are_never_called_equal() {
    assert_never_called_equal(DIFFERENT);
}

#[test]
fn different_answers_stay_different_in_every_phrasing() {
    assert_different_in_every_phrasing(DIFFERENT);
}

#[test]
fn contradicting_prose_is_fused() {
    assert_never_called_equal(CONTRADICTING);
    assert_different_in_every_phrasing(CONTRADICTING);
}

#[test]
fn most_equal_answers_are_recognised() {
    let mut split = BTreeMap::<String, Vec<String>>::new();
    let mut of = 0;
    let gate = Gate::new();
    for row in rows(include_str!("fixtures/equal_answers.jsonl")) {
        let (question, answers) = (text(&row, "question"), texts(&row, "answers"));
        of += 1;
        if !gate.calls_equal(question, &answers) {
            split
                .entry(text(&row, "class").to_owned())
                .or_default()
                .push(format!("{question:?} {answers:?}"));
        }
    }
    let seen = of - split.values().map(Vec::len).sum::<usize>();
    assert!(seen * 100 >= of * EQUAL_PERCENT_MIN, "told apart: {}", table(&split, of));
}

/// How many answers were read correctly, not read, or misread.
#[derive(Clone, Copy, Default)]
struct Count {
    right: usize,
    unread: usize,
    wrong: usize,
}

impl Count {
    fn of(self) -> usize {
        self.right + self.unread + self.wrong
    }

    /// The correctly read answers in 1,000.
    fn recall(self) -> usize {
        self.right * 1_000 / self.of().max(1)
    }
}

#[test]
fn short_answers_are_read_correctly() {
    let mut counts = BTreeMap::<String, Count>::new();
    let (mut unread, mut wrong) = (String::new(), String::new());
    for row in rows(include_str!("fixtures/extraction.jsonl")) {
        let (shape, answer, question) = (text(&row, "shape"), text(&row, "answer"), text(&row, "question"));
        let form = Form::of(question);
        let value = |answer: &str| form.as_ref().and_then(|form| form.read(answer));
        let own = value(answer);
        let is_own = |other: &str| own.is_some() && value(other) == own;
        let reference = row["reference"].as_str().or_else(|| row["value"].as_str());
        let is_right = reference.is_some_and(is_own);
        let tempted: Vec<&str> = texts(&row, "tempts").into_iter().filter(|other| is_own(other)).collect();
        let count = counts.entry(shape.to_owned()).or_default();
        if !tempted.is_empty() {
            count.wrong += 1;
            writeln!(wrong, "{shape}: as {tempted:?}: {answer}").expect("memory takes it");
        } else if is_right || reference.is_none() {
            count.right += 1;
        } else {
            count.unread += 1;
            writeln!(unread, "{shape}: {question} {answer}").expect("memory takes it");
        }
    }
    let mut result = String::new();
    for (shape, count) in &counts {
        let Count { right, unread, wrong } = *count;
        writeln!(result, "{shape}: {right} right, {unread} unread, {wrong} wrong").expect("memory takes it");
    }
    let read: usize = counts.values().map(|count| count.right + count.wrong).sum();
    let misread: usize = counts.values().map(|count| count.wrong).sum();
    assert!(misread * 1_000 <= read * MISREAD_PER_MILLE_MAX, "misread:\n{result}{wrong}{unread}");
    for (shape, count) in &counts {
        let least =
            if shape == "reasoning-without-marker" { UNMARKED_PER_MILLE_MIN } else { MARKED_PER_MILLE_MIN };
        assert!(count.recall() >= least, "{shape} is read too seldom:\n{result}{wrong}{unread}");
    }
}

/// The lengths of hostile texts, in bytes: below and above the limits for JSON and for questions.
const HOSTILE_BYTES: [usize; 2] = [60 << 10, 1 << 20];

/// Pieces that could make a reader look far ahead, look back, or start again.
const HOSTILE: [&str; 26] = [
    "{",
    "}",
    "[",
    "{\"",
    "{\"a\":",
    "{\"answer\":1}",
    "\\boxed{",
    "\\boxed{1}",
    "**Answer:** 1\n",
    "Answer: ",
    "#### ",
    "\"",
    "\\",
    "$",
    "`",
    "```\n",
    "*",
    "1",
    "1,",
    "1 ",
    "(A) ",
    "no ",
    "= ",
    "wait ",
    "\u{200b}",
    "\\frac{",
];

/// Reads long texts of each piece: before a value, after one, and inside one. Doubling the text must change nothing,
/// because only the end is read. A quadratic rule would take hours.
#[test]
fn a_long_hostile_answer_is_read_in_linear_time() {
    let questions = [
        "How many are there?",
        "Which one?\nA) one\nB) two",
        "Is it so? Answer yes or no.",
        "What does it return? Answer as JSON with the key \"answer\".",
    ];
    let forms = questions.map(|question| Form::of(question).expect("the question is closed"));
    let pointer = Pointer::parse("/answer").expect("it is one");
    for (nth, piece) in HOSTILE.iter().enumerate() {
        for bytes in HOSTILE_BYTES {
            let long = piece.repeat(bytes / piece.len());
            let answers = [
                format!("{long} 1"),
                format!("Answer: 1\n{long}"),
                format!("{{\"answer\": \"{long}\"}}"),
                format!("{long}{long} 1"),
            ];
            let form = &forms[nth % forms.len()];
            let said =
                answers.each_ref().map(|answer| (form.read(answer), ShortAnswer::at(&pointer, answer)));
            assert!(bytes < 1 << 20 || said[0] == said[3], "{piece}: {said:?}");
        }
    }
}

/// The same for questions. A question too long to be read has no expected form of answer.
#[test]
fn a_long_hostile_question_is_read_in_linear_time() {
    for (nth, piece) in HOSTILE.iter().enumerate() {
        let long = piece.repeat((16 << 10) / piece.len());
        let question = [format!("{long} How many are there?"), format!("How many {long}")][nth % 2].clone();
        let form = Form::of(&question);
        for answer in ["There are 8.", &"So there are 8 there, and 8 = 8. ".repeat(120)] {
            std::hint::black_box(form.as_ref().and_then(|form| form.read(answer)));
        }
        assert_eq!(Form::of(&question.repeat(5)), None, "{piece}");
    }
}

/// Two answers of maximal length that differ in their last character are different, even if their value is not found.
#[test]
fn answers_too_long_to_read_are_compared_character_by_character() {
    let gate = Gate::new();
    let long = format!("{}{}", "{\"answer\": 8} ".repeat(5_000), "so it goes on ".repeat(600));
    for question in ["How many are there?", "Where?"] {
        assert!(!gate.calls_equal(question, &[&format!("{long}a"), &format!("{long}b")]));
        assert!(gate.calls_equal(question, &[&long, &long]));
    }
}
