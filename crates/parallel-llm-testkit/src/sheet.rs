//! A run report as a few lines, so that a test can compare all of it.

use serde_json::Value;

/// Each seat on a line: its number, model, status, error code, attempts and the length of its text.
///
/// ```text
/// 1 openai/gpt-6.1-sol answered x1 9 bytes
/// 2 x-ai/grok-4.7 failed upstream x3
/// ```
pub fn seats(report: &Value) -> String {
    let seats = report["answers"].as_array().expect("a report has answers");
    seats.iter().map(seat).collect::<Vec<_>>().join("\n")
}

fn seat(seat: &Value) -> String {
    let word = |value: &Value| value.as_str().map(|word| format!(" {word}")).unwrap_or_default();
    let late = if seat["late"] == true { " late" } else { "" };
    let text = seat["text"].as_str().map(|text| format!(" {} bytes", text.len())).unwrap_or_default();
    format!(
        "{}{}{}{late}{} x{}{text}",
        seat["seat"],
        word(&seat["model"]),
        word(&seat["status"]),
        word(&seat["error"]["code"]),
        seat["attempts"],
    )
}

/// The run's status, and how its text was made: `complete fused by google/gemini-4-argon`.
pub fn synthesis(report: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let synthesis = &report["synthesis"];
    format!("{} {} by {}", word(&report["status"]), word(&synthesis["kind"]), word(&synthesis["by"]))
}
