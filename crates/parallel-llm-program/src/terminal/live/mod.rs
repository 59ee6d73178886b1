//! The live view: the progress of every call and the answer as it is written, on the terminal's second screen.

mod keys;
mod notes;
mod picture;
mod screen;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parallel_llm_engine::call::hub::Update;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::{CallerSlot, SeatNumber};
use parallel_llm_service::RunHandle;
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
pub async fn show(console: &Console, handle: &RunHandle) -> Left {
    let (mut run, mut watch) = handle.watch();
    let began = Instant::now();
    let before_ms = run.elapsed_ms;
    let mut keys = Keys::open();
    let mut screen = Screen::open(console);
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    let mut reading = None;
    let mut steering = Steering::default();
    let mut first_text_ms = BTreeMap::new();
    while run.status == RunStatus::Running {
        tokio::select! {
            update = watch.next() => {
                let now_ms = elapsed_ms(before_ms, began);
                if let Update::Begun(slot) | Update::Text { slot, .. } = &update {
                    first_text_ms.entry(*slot).or_insert(now_ms);
                }
                update.apply_to(&mut run);
            }
            key = keys.next() => match key {
                Key::Leave => return Left::ByKey,
                Key::Hurry | Key::Skip => steering.take(key, reading, &run, handle),
                key => reading = Reading::after(reading, key, &run, console.size()),
            },
            _ = ticks.tick() => {
                let picture = Picture {
                    run: &run,
                    now_ms: elapsed_ms(before_ms, began),
                    first_text_ms: &first_text_ms,
                    reading,
                    steering: &steering,
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

/// What the user asked of the run.
#[derive(Default)]
struct Steering {
    is_hurried: bool,
    skipped: BTreeSet<SeatNumber>,
}

impl Steering {
    /// Carries out a key that is about the run.
    fn take(&mut self, key: Key, reading: Option<Reading>, run: &Run, handle: &RunHandle) {
        match key {
            Key::Hurry => self.is_hurried |= handle.hurry(),
            Key::Skip => {
                let seat = skippable(reading, run);
                self.skipped.extend(seat.filter(|seat| handle.skip(*seat)));
            }
            _ => {}
        }
    }
}

/// The seat that the key to skip is about: the one that is read, or the only one that has not ended.
fn skippable(reading: Option<Reading>, run: &Run) -> Option<SeatNumber> {
    let mut open = run.seats.iter().zip(&run.plan.seats).filter(|(view, _)| !view.status.is_final());
    let seat = match reading {
        Some(reading) => open.find(|(_, seat)| seat.number.index() == reading.seat),
        None => open.next().filter(|_| open.next().is_none()),
    };
    seat.map(|(_, seat)| seat.number)
}

fn elapsed_ms(before_ms: u64, began: Instant) -> u64 {
    before_ms + u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// When each call's first text arrived, in milliseconds from the start of the run, for the calls watched here.
type FirstTextMs = BTreeMap<CallerSlot, u64>;
