//! How a failure is told: to people in three lines, to programs as the one JSON object.

use parallel_llm_engine::Failure;

use super::console::{Console, Tone};
use super::report::ErrorReport;
use super::safe;

/// A failure as the one JSON object, on one line, so that it also ends a list of events.
pub fn envelope(failure: &Failure) -> String {
    ErrorReport::of(failure).envelope().to_string()
}

/// Tells a failure and its next step.
pub fn tell(console: &Console, failure: &Failure, as_json: bool) {
    if as_json {
        console.data(&envelope(failure));
    }
    let word = console.tone(Tone::Bad, &format!("error[{}]", failure.code));
    console.insist(&format!("{word}: {}", safe::for_terminal(&failure.message)));
    console.insist(&format!("  next: {}", safe::for_terminal(failure.next_step())));
}
