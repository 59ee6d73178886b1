//! The live view: one stable line for each model on stderr, redrawn a few times a second.
//!
//! What always holds: rows never jump or wrap, and the cursor ends below them.

use std::time::Duration;

use parallel_llm_engine::SeatStatus;
use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, RunStatus, SeatView};
use tokio::time::Instant;

use super::columns;
use super::console::{Console, Tone};
use super::seat::SeatLine;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;

/// The interval of redrawing: short enough to look alive, long enough to cost nothing.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// The width of the column of names.
const MODEL_CHARS: usize = 32;
/// The part of it for the persona.
const PERSONA_CHARS: usize = 12;
/// The longest word for a seat's status.
const WORD_CHARS: usize = 9;

/// Shows a run until it is decided.
pub async fn show(console: &Console, mut run: Run, mut watch: Watch) {
    let began = Instant::now();
    let before_ms = run.elapsed_ms;
    let mut drawn = 0;
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    while run.status == RunStatus::Running {
        tokio::select! {
            update = watch.next() => take(&mut run, update),
            _ = ticks.tick() => {
                let now_ms = before_ms + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                let (picture, rows) = draw(console, &run, now_ms, drawn);
                // A dropped picture did not move the cursor.
                if console.draw(&picture) {
                    drawn = rows;
                }
            }
        }
    }
    console.write(&draw(console, &run, run.elapsed_ms, drawn).0);
}

/// Applies an update to a run that is being shown.
pub fn take(run: &mut Run, update: Update) {
    match update {
        Update::Event(recorded) => run.apply(&recorded),
        Update::Snapshot(newer) => *run = *newer,
        Update::Begun(slot) => {
            if let Some(seat) = run.view_mut(slot).filter(|seat| !seat.status.is_final()) {
                seat.status = SeatStatus::Streaming;
            }
        }
        Update::Text { slot, offset, text } => {
            if let Some(seat) = run.view_mut(slot).filter(|seat| !seat.status.is_final())
                && seat.partial.len() == offset
            {
                seat.status = SeatStatus::Streaming;
                seat.partial.push_str(&text);
            }
        }
    }
}

/// A picture that overwrites the `drawn` rows of the last one, and its number of rows.
fn draw(console: &Console, run: &Run, now_ms: u64, drawn: usize) -> (String, usize) {
    let views = run.seats.iter().chain(run.called());
    let mut lines: Vec<String> = views.map(|view| line(console, run.task(view.slot), view, now_ms)).collect();
    let cost = Cost::of(run).described_if_known().unwrap_or_default();
    let total = format!("{} of {} answered  {}  {cost}", run.answered(), run.seats.len(), seconds(now_ms));
    lines.push(console.tone(Tone::Dim, &total));
    let up = if drawn == 0 { String::new() } else { format!("\x1b[{drawn}A") };
    // Back to the first row, then each row is cleared and written again.
    let body: Vec<String> = lines.iter().map(|line| format!("\r\x1b[2K{line}\n")).collect();
    (format!("{up}{}", body.concat()), lines.len())
}

fn line(console: &Console, task: Option<&str>, seat: &SeatView, now_ms: u64) -> String {
    let described = SeatLine::of(seat, now_ms);
    let model = named(task, seat);
    let head = format!("{} {model:<MODEL_CHARS$} ", described.glyph);
    let tail = described.reason.or_else(|| tail_of(&seat.partial)).unwrap_or_default();
    let rest = format!(
        "{} {:<34} {tail}",
        " ".repeat(WORD_CHARS.saturating_sub(described.word.len())),
        described.figures
    );
    // One column stays free, because a full line would wrap on some terminals.
    let room = console.columns().saturating_sub(head.chars().count() + described.word.len() + 1);
    format!("{head}{}{}", console.tone(described.tone, described.word), columns::clip(&rest, room).trim_end())
}

/// The seat's name within its column. If space is short, the model is clipped first: seats of one model differ by
/// persona.
fn named(task: Option<&str>, seat: &SeatView) -> String {
    let task = task.map(|task| format!("{task}: ")).unwrap_or_default();
    let persona =
        seat.persona_prompt.as_ref().map(|prompt| safe::excerpt(&prompt.to_string(), PERSONA_CHARS));
    let persona = persona.map(|persona| format!(" ({persona})")).unwrap_or_default();
    let room = MODEL_CHARS - persona.chars().count();
    safe::excerpt(&format!("{task}{}", seat.model), room) + &persona
}

/// The end of a text in progress.
fn tail_of(text: &str) -> Option<String> {
    const CHARS: usize = 60;
    let count = text.chars().count();
    let newest: String = text.chars().skip(count.saturating_sub(CHARS)).collect();
    (count > 0).then(|| safe::excerpt(&newest, CHARS))
}
