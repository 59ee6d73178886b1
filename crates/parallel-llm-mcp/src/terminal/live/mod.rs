//! The live view: the progress of every call and the answer as it is written, on the terminal's second screen.

mod keys;
mod picture;
mod screen;

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::{CallerSlot, SeatStatus};
use tokio::time::Instant;

use super::console::Console;
pub use keys::is_in_foreground;
use keys::{Key, Keys};
use picture::{Picture, Reading};
use screen::Screen;

/// Often enough to look alive, rarely enough to cost little.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// How the view was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The run is decided.
    Decided,
    /// The user pressed the key that stops the run.
    ByKey,
}

/// Shows a run until it is decided or a key stops it.
pub async fn show(console: &Console, mut run: Run, mut watch: Watch) -> Left {
    let began = Instant::now();
    let before_ms = run.elapsed_ms;
    let mut keys = Keys::open();
    let mut screen = Screen::open(console);
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    let mut reading = None;
    let mut first_text_ms = BTreeMap::new();
    while run.status == RunStatus::Running {
        tokio::select! {
            update = watch.next() => {
                let now_ms = elapsed_ms(before_ms, began);
                if let Update::Begun(slot) | Update::Text { slot, .. } = &update {
                    first_text_ms.entry(*slot).or_insert(now_ms);
                }
                take(&mut run, update);
            }
            key = keys.next() => match key {
                Key::Leave => return Left::ByKey,
                key => reading = Reading::after(reading, key, &run, console.size()),
            },
            _ = ticks.tick() => {
                let picture = Picture {
                    run: &run,
                    now_ms: elapsed_ms(before_ms, began),
                    first_text_ms: &first_text_ms,
                    reading,
                    has_keys: keys.are_read(),
                    is_ascii: console.is_ascii(),
                };
                let size = console.size();
                screen.draw(&picture.lines(size), size);
            }
        }
    }
    Left::Decided
}

fn elapsed_ms(before_ms: u64, began: Instant) -> u64 {
    before_ms + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// When each call's first text arrived, in milliseconds from the start of the run, for the calls watched here.
type FirstTextMs = BTreeMap<CallerSlot, u64>;

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
