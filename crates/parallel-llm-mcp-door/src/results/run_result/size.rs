//! The size of a result: cuts a long answer and leaves parts of a report out until the rest fits.

use std::io;

use parallel_llm_service::report::Report;
use serde::Serialize;
use serde_json::{Value, json};

use super::agreement;

/// The most a report takes of a model's context beyond the answer itself, in bytes.
pub(crate) const RESULT_BYTES_MAX: usize = 10_000;
/// The longest answer given at once, in characters: clients cut longer ones themselves, and do not say where.
pub(super) const ANSWER_CHARS_MAX: usize = 100_000;

/// Steps that each leave out more of a report that is too large, the least useful part first.
const SLIMMING: [fn(&mut Value); 5] = [
    agreement::leave_out_calls,
    leave_out_figures,
    leave_out_messages,
    agreement::leave_out_analysis,
    leave_out_answered,
];

/// The part of an answer that was cut off.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// Its first character, counted from 0.
    pub(super) offset: usize,
    /// The length of the whole answer.
    pub(super) whole_bytes: u64,
}

/// Cuts an answer of more than [`ANSWER_CHARS_MAX`] characters.
pub(super) fn cut_answer(report: &mut Report) -> Option<Rest> {
    let answer = report.answer.as_mut()?;
    let (end, _) = answer.char_indices().nth(ANSWER_CHARS_MAX)?;
    let rest = Rest { offset: ANSWER_CHARS_MAX, whole_bytes: answer.len() as u64 };
    *answer = answer[..end].into();
    Some(rest)
}

/// Shortens the analysis and leaves out seats' texts where a report is too large; returns the indexes of these seats.
pub(super) fn shorten(report: &mut Report) -> Vec<usize> {
    let texts: u64 =
        report.answers.iter().filter(|seat| seat.text.is_some()).map(|seat| seat.text_bytes).sum();
    // The first test spares writing out texts of megabytes only to measure them.
    let is_long = texts > RESULT_BYTES_MAX as u64
        || beyond_answer(&*report, report.answer.as_deref()) > RESULT_BYTES_MAX;
    if is_long {
        agreement::shorten(report);
    }
    leave_out_texts(report)
}

/// The report's JSON without what does not fit.
pub(super) fn slimmed(mut structured: Value) -> Value {
    for slim in SLIMMING {
        if beyond_answer(&structured, structured["answer"].as_str()) <= RESULT_BYTES_MAX {
            break;
        }
        slim(&mut structured);
    }
    structured
}

/// Leaves out the texts of seats, the longest first, until the rest fits; returns the indexes of these seats. The report is
/// measured once, after the texts that are too long for any report are gone: each may be megabytes long.
fn leave_out_texts(report: &mut Report) -> Vec<usize> {
    let with_text = report.answers.iter().enumerate().filter(|(_, seat)| seat.text.is_some());
    let mut longest_first: Vec<(u64, usize)> =
        with_text.map(|(index, seat)| (seat.text_bytes, index)).collect();
    longest_first.sort_unstable_by(|one, other| other.cmp(one));
    let too_long = longest_first.iter().take_while(|(bytes, _)| *bytes > RESULT_BYTES_MAX as u64).count();
    let mut left_out = Vec::new();
    let mut beyond = None;
    for (count, (_, index)) in longest_first.into_iter().enumerate() {
        if count >= too_long {
            let bytes = *beyond.get_or_insert_with(|| beyond_answer(&*report, report.answer.as_deref()));
            if bytes <= RESULT_BYTES_MAX {
                break;
            }
        }
        let text = report.answers[index].text.take();
        if let Some(bytes) = &mut beyond {
            // The member stays, as `null`.
            *bytes -= json_bytes(&text) - json_bytes(&None::<&str>);
        }
        left_out.push(index);
    }
    left_out.sort_unstable();
    left_out
}

/// The length of a report as JSON beyond its answer.
fn beyond_answer(report: &impl Serialize, answer: Option<&str>) -> usize {
    json_bytes(report) - json_bytes(&answer)
}

/// The length of a value as JSON, counted without keeping the JSON.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("plain data with string keys, and counting cannot fail");
    count.0
}

fn seats(structured: &mut Value) -> impl Iterator<Item = &mut Value> {
    structured["answers"].as_array_mut().into_iter().flatten()
}

/// Keeps of each seat only what shows its result.
fn leave_out_figures(structured: &mut Value) {
    const KEPT: [&str; 6] = ["seat", "model", "status", "late", "text_bytes", "error"];
    for seat in seats(structured).filter_map(Value::as_object_mut) {
        seat.retain(|name, value| KEPT.contains(&name.as_str()) && !value.is_null());
    }
}

/// Keeps of each seat's error only its code.
fn leave_out_messages(structured: &mut Value) {
    for error in seats(structured).filter_map(|seat| seat.get_mut("error")) {
        *error = json!({ "code": error["code"] });
    }
    structured["warnings"] = json!([]);
}

/// Keeps only the seats without an answer.
fn leave_out_answered(structured: &mut Value) {
    if let Some(seats) = structured["answers"].as_array_mut() {
        seats.retain(|seat| seat["status"] != "answered");
    }
}
