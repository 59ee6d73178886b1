//! How a failure is told: to people in three lines, to programs as the one JSON object.

use parallel_llm_engine::Failure;

use super::console::{Console, Tone};
use super::report::ErrorReport;
use super::safe;

/// Tells a failure and its next step.
pub fn tell(console: &Console, failure: &Failure, as_json: bool) {
    if as_json {
        // One line, so that it also ends a list of events.
        console.data(&ErrorReport::of(failure).envelope().to_string());
    }
    let word = console.tone(Tone::Bad, &format!("error[{}]", failure.code));
    console.insist(&format!("{word}: {}", safe::for_terminal(&failure.message)));
    console.insist(&format!("  next: {}", safe::for_terminal(failure.next_step())));
}
