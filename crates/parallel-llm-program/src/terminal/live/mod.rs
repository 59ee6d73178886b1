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
use tokio::time::{Instant, MissedTickBehavior};

use super::console::Console;
pub use keys::is_in_foreground;
use keys::{Continued, Key, Keys};
use picture::{Picture, Reading};
use screen::Screen;

/// Often enough to look alive, rarely enough to cost little.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// How the view was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The run is decided.
    Decided,
    /// The user did not wait for every seat, and the run is decided.
    Hurried,
    /// The user pressed the key that stops the run.
    ByKey,
    /// The shell uses the terminal now: the program was stopped and goes on in the background.
    ToBackground,
}

/// Shows a run until it is decided or a key stops it.
pub async fn show(console: &Console, handle: &RunHandle) -> Left {
    let (mut run, mut watch) = handle.watch();
    let began = Instant::now();
    let before_ms = run.elapsed_ms;
    let mut continued = Continued::listen();
    let mut keys = Keys::open();
    let mut screen = Screen::open(console);
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
            key = keys.next() => {
                if key == Key::Suspend {
                    let id = run.plan.run_id;
                    screen.leave(&format!("run {id} waits with this program: `fg` goes on")).await;
                    keys.suspend().await;
                    if !is_in_foreground() {
                        return Left::ToBackground;
                    }
                    screen.enter();
                } else if steering.take(key, reading, &run, handle) == Taken::Leave {
                    return Left::ByKey;
                } else {
                    reading = Reading::after(reading, key, &run, console.size());
                }
                ticks.reset_immediately();
            }
            () = continued.next() => {
                if !is_in_foreground() {
                    return Left::ToBackground;
                }
                // The shell has used the terminal since.
                keys.resume();
                screen.enter();
                ticks.reset_immediately();
            }
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
    if steering.is_hurried || !steering.skipped.is_empty() { Left::Hurried } else { Left::Decided }
}

/// What the user asked of the run.
#[derive(Default)]
struct Steering {
    is_hurried: bool,
    skipped: BTreeSet<SeatNumber>,
    /// What is done if the user says so once more.
    asked: Option<Asked>,
    /// Whether all keys are explained.
    shows_help: bool,
}

/// What a key does that costs answers, and is therefore asked once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Hurry,
    Skip(SeatNumber),
    /// A seat must be chosen first.
    Choose,
    Leave,
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It is about what is shown, or about nothing.
    Nothing,
    Leave,
}

impl Steering {
    /// Carries out a key that is about the run: at first it asks, and the same key or `y` does it. Any other key, and so
    /// any text, takes the question back.
    fn take(&mut self, key: Key, reading: Option<Reading>, run: &Run, handle: &RunHandle) -> Taken {
        let before = self.asked.take();
        self.shows_help = key == Key::Help && !self.shows_help;
        let meant = match key {
            Key::Hurry if is_gathering(run) && !self.is_hurried => Asked::Hurry,
            Key::Skip if is_gathering(run) => skippable(reading, run).map_or(Asked::Choose, Asked::Skip),
            Key::Leave => Asked::Leave,
            Key::Yes => match before {
                Some(asked) => asked,
                None => return Taken::Nothing,
            },
            _ => return Taken::Nothing,
        };
        if before != Some(meant) {
            self.asked = Some(meant);
            return Taken::Nothing;
        }
        match meant {
            Asked::Hurry => self.is_hurried |= handle.hurry(),
            Asked::Skip(seat) => self.skipped.extend(handle.skip(seat).then_some(seat)),
            Asked::Choose => {}
            Asked::Leave => return Taken::Leave,
        }
        Taken::Nothing
    }
}

/// Whether the run still waits for seats, and nothing has been asked to make one text of the answers.
fn is_gathering(run: &Run) -> bool {
    let has_open = run.seats.iter().any(|seat| !seat.status.is_final());
    has_open && run.called().next().is_none()
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
