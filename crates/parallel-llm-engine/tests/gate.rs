//! Short answers, tested against lists that were written without knowledge of the rules: different answers are never called
//! equal, and most equal ones are recognized.
//!
//! Each pair is read as two whole replies, and as two answer lines. An answer that is not read, or whose equal is written
//! otherwise, costs a call; different answers must never be called equal.

use parallel_llm_engine::text::json_pointer::Pointer;
use parallel_llm_engine::text::short_answer::{Form, Value as ShortAnswer, WholeReply, line};
use serde_json::Value;

/// The least percentage of equal pairs that is recognized without a model. The others are shown to one.
const EQUAL_PERCENT_MIN: usize = 50;
/// The longest answer that is tried as an answer line, in bytes.
const LINE_BYTES_MAX: usize = 200;

fn rows(file: &str) -> impl Iterator<Item = Value> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| serde_json::from_str(line).expect("a line is a JSON object"))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {row}"))
}

fn pair(row: &Value) -> [&str; 2] {
    let texts: Vec<&str> =
        row["answers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    texts.try_into().expect("there are two")
}

/// The ways in which two answers are called equal: as whole replies, and as answer lines where seats are asked for one.
fn called_equal(row: &Value) -> Vec<&'static str> {
    let Some(form) = Form::of(text(row, "question")) else { return Vec::new() };
    let replies = pair(row);
    let lines = replies.map(|answer| format!("ANSWER: {}", answer.trim()));
    let is_line =
        form.is_line() && lines.iter().all(|line| line.len() <= LINE_BYTES_MAX && !line.contains('\n'));
    let is_equal = |[one, other]: [Option<ShortAnswer>; 2]| one.is_some() && one == other;
    let mut equal = Vec::new();
    if is_equal(replies.map(|reply| form.read(reply, None))) {
        equal.push("replies");
    }
    if is_line && is_equal(lines.each_ref().map(|line| form.read("", Some(line)))) {
        equal.push("lines");
    }
    equal
}

/// The least percentage of pairs of whole replies with the same answer that is counted as such without a model.
const WHOLE_SAME_PERCENT_MIN: usize = 70;

#[test]
fn whole_replies_are_counted_as_the_same_only_if_they_are() {
    let rows: Vec<Value> = rows(include_str!("fixtures/whole_replies.jsonl")).collect();
    let is_counted = |row: &&Value| {
        let replies = pair(row);
        let values = Form::of(text(row, "question")).map(|form| {
            replies.map(|reply| {
                let (shown, line) = if form.is_line() { line::split(reply) } else { (reply.into(), None) };
                form.read(&shown, line)
            })
        });
        match values {
            Some([Some(one), Some(other)]) => one == other,
            Some([one, other]) if one.is_some() || other.is_some() => false,
            Some(_) | None => {
                let whole = WholeReply::of(text(row, "question"));
                let [one, other] = replies.map(|reply| whole.read(reply));
                replies[0] == replies[1] || one.is_some() && one == other
            }
        }
    };
    let is_same = |row: &&Value| row["same"] == true;
    let (same, different): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(is_same);
    let wrong: Vec<String> = different.into_iter().filter(is_counted).map(|row| format!("{row}\n")).collect();
    assert!(wrong.is_empty(), "{} are not the same:\n{}", wrong.len(), wrong.concat());
    let seen = same.iter().copied().filter(|row| is_counted(row)).count();
    assert!(seen * 100 >= same.len() * WHOLE_SAME_PERCENT_MIN, "{seen} of {}", same.len());
}

#[test]
fn different_answers_are_never_called_equal() {
    let rows: Vec<Value> = rows(include_str!("fixtures/different_answers.jsonl")).collect();
    let wrong: Vec<String> = rows
        .iter()
        .flat_map(|row| called_equal(row).into_iter().map(move |how| format!("{how}: {row}\n")))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.concat());
}

#[test]
fn most_equal_answers_are_recognized() {
    let rows: Vec<Value> = rows(include_str!("fixtures/equal_answers.jsonl")).collect();
    let split: Vec<String> =
        rows.iter().filter(|row| called_equal(row).is_empty()).map(|row| format!("{row}\n")).collect();
    let seen = rows.len() - split.len();
    assert!(seen * 100 >= rows.len() * EQUAL_PERCENT_MIN, "{seen} of {}:\n{}", rows.len(), split.concat());
}

/// The lengths of hostile texts, in bytes: below and above the limits for JSON and for questions.
const HOSTILE_BYTES: [usize; 2] = [60 << 10, 1 << 20];

/// Pieces that could make a reader look far ahead, look back, or start again.
const HOSTILE: [&str; 28] = [
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
    "<",
    "[/a]",
];

/// Reads long texts of each piece: before a value, after one, and inside one. Doubling the text must change nothing, because
/// only the end is read. A quadratic rule would take hours.
#[test]
fn a_long_hostile_answer_is_read_in_linear_time() {
    let questions = [
        "How many are there?",
        "Which one?\nA) one\nB) two",
        "How many are there? Put the answer in \\boxed{}.",
        "How many are there? End with Answer: <number>",
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
            let said = answers.each_ref().map(|answer| {
                (form.read(answer, Some(&format!("ANSWER: {long}"))), ShortAnswer::at(&pointer, answer))
            });
            assert!(bytes < 1 << 20 || said[0] == said[3], "{piece}: {said:?}");
        }
    }
}

/// The same for questions. A question too long to be read is known to prescribe a form, at most.
#[test]
fn a_long_hostile_question_is_read_in_linear_time() {
    for (nth, piece) in HOSTILE.iter().enumerate() {
        for bytes in HOSTILE_BYTES {
            let long = piece.repeat(bytes / piece.len());
            let question =
                [format!("{long} How many are there?"), format!("How many {long}")][nth % 2].clone();
            let form = Form::of(&question);
            std::hint::black_box(
                form.and_then(|form| form.read("There are 8.\nAnswer: 8", Some("ANSWER: 8"))),
            );
        }
    }
}
