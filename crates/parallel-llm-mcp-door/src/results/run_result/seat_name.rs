//! The names of seats in a result.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::Report;

/// The longest model name in a reply, in characters. A name can come from a caller.
pub(super) const NAME_CHARS: usize = 80;

/// The name of a seat: its model, with persona and stance, and with its number where another seat has the same.
pub(super) fn name(report: &Report, seat: u8) -> String {
    let Some(named) = report.answers.iter().find(|one| one.seat == seat) else {
        return format!("seat {seat}");
    };
    let who = excerpt(&named.who(), NAME_CHARS);
    let is_shared = report.answers.iter().any(|one| one.seat != seat && one.who() == named.who());
    if is_shared { format!("{who} (seat {seat})") } else { who }
}
