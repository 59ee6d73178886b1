//! The keys of the live view. Ctrl-C still sends its signal.
//!
//! A key acts only when it is pressed alone: what was typed ahead for the shell or pasted comes in a burst and does nothing.
//! Arrows and the like act at once, because they only look.

use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};

/// The quiet time around a key that is pressed alone. Who types text presses four keys a second or more.
const ALONE: Duration = Duration::from_millis(250);

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Read the answer of this seat, from 1.
    Read(usize),
    /// Read the answer of the next seat.
    Next,
    /// Read the answer of the seat before.
    Previous,
    /// Scroll this many lines up, or down if negative.
    Up(isize),
    /// Scroll this many pages up, or down if negative.
    PagesUp(isize),
    /// Return to the run.
    Back,
    /// Decide with the answers so far.
    Hurry,
    /// Wait no longer for the seat that is read, or for the only one that has not ended.
    Skip,
    /// Save the answers so far and stop the run.
    Leave,
    /// Show what all keys do.
    Help,
    /// Yes, where a key asks once more.
    Yes,
    /// Stop the program until the shell continues it.
    Suspend,
    /// No meaning: a key without one, or one of several that came together.
    Nothing,
}

/// Reads keys for as long as it lives.
pub(super) struct Keys {
    /// `None` without a terminal to read keys from.
    events: Option<EventStream>,
    burst: Option<Burst>,
    /// Restores the terminal when dropped, after the stream.
    mode: Option<mode::KeyByKey>,
}

/// Keys that came one soon after the other.
#[derive(Clone, Copy)]
struct Burst {
    first: KeyCode,
    is_single: bool,
    ends: Instant,
}

impl Keys {
    pub(super) fn open() -> Self {
        let mode = mode::KeyByKey::set();
        Self { events: mode.is_some().then(EventStream::new), burst: None, mode }
    }

    /// Whether keys can be pressed.
    pub(super) const fn are_read(&self) -> bool {
        self.events.is_some()
    }

    /// Gives the terminal back to the shell, stops the program and its pipeline, and returns when it is continued.
    pub(super) async fn suspend(&mut self) {
        self.mode = None;
        mode::stop().await;
        self.resume();
    }

    /// Sets the terminal again, which the shell has used.
    pub(super) fn resume(&mut self) {
        self.burst = None;
        // The old mode would restore what it found when it is dropped, after the new one is set.
        self.mode = None;
        self.mode = mode::KeyByKey::set();
    }

    /// The next key with a meaning, or `Nothing` for keys that came together. Nothing is lost if it is dropped.
    pub(super) async fn next(&mut self) -> Key {
        while let Some(events) = &mut self.events {
            let ends = self.burst.map(|burst| burst.ends);
            let event = tokio::select! {
                event = events.next() => event,
                () = until(ends) => {
                    let burst = self.burst.take();
                    return burst.filter(|burst| burst.is_single).map_or(Key::Nothing, |burst| typed(burst.first));
                }
            };
            match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if let Some(key) = self.pressed(key) {
                        return key;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.events = None,
            }
        }
        std::future::pending().await
    }

    /// What a key means at once, if anything.
    fn pressed(&mut self, key: KeyEvent) -> Option<Key> {
        if let Some(meaning) = at_once(key) {
            self.burst = None;
            return Some(meaning);
        }
        let before = self.burst.map(|burst| burst.first);
        let first = before.unwrap_or(key.code);
        self.burst = Some(Burst { first, is_single: before.is_none(), ends: Instant::now() + ALONE });
        // A key to scroll that is held down.
        let meaning = typed(key.code);
        let scrolls = matches!(meaning, Key::Up(_) | Key::PagesUp(_));
        (scrolls && before == Some(key.code)).then_some(meaning)
    }
}

async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// The meaning of a key that is no letter of a text.
fn at_once(key: KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char('z') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Suspend,
        KeyCode::Tab | KeyCode::Right => Key::Next,
        KeyCode::BackTab | KeyCode::Left => Key::Previous,
        KeyCode::Up => Key::Up(1),
        KeyCode::Down => Key::Up(-1),
        KeyCode::PageUp => Key::PagesUp(1),
        KeyCode::PageDown => Key::PagesUp(-1),
        KeyCode::Esc => Key::Back,
        _ => return None,
    })
}

/// The meaning of a key that may be a part of a text.
fn typed(code: KeyCode) -> Key {
    match code {
        KeyCode::Char('0') => Key::Back,
        KeyCode::Char(digit @ '1'..='9') => Key::Read((digit as u8 - b'0').into()),
        KeyCode::Char('k') => Key::Up(1),
        KeyCode::Char('j') => Key::Up(-1),
        KeyCode::Char(' ') => Key::PagesUp(-1),
        KeyCode::Enter => Key::Hurry,
        KeyCode::Char('s') => Key::Skip,
        KeyCode::Char('q') => Key::Leave,
        KeyCode::Char('y') => Key::Yes,
        KeyCode::Char('?') => Key::Help,
        _ => Key::Nothing,
    }
}

/// Whether this process is in the foreground, and so may draw on the terminal and read its keys.
pub use mode::is_in_foreground;

#[cfg(unix)]
mod mode {
    use std::fs::File;

    use std::time::Duration;

    use rustix::process::{Signal, getpgrp, kill_current_process_group};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// The time within which a signal to stop does so.
    const STOPPED_WITHIN: Duration = Duration::from_millis(500);

    /// The terminal, even if stdin is redirected.
    fn terminal() -> Option<File> {
        File::open("/dev/tty").ok()
    }

    pub fn is_in_foreground() -> bool {
        // Without a controlling terminal there is no background.
        terminal().is_none_or(|terminal| tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
    }

    /// The terminal in a mode that delivers each key at once and does not echo it.
    pub(super) struct KeyByKey {
        terminal: File,
        before: Termios,
    }

    impl KeyByKey {
        /// Sets the mode, if there is a terminal and this process is in its foreground: otherwise the system would stop it.
        pub(super) fn set() -> Option<Self> {
            let terminal = terminal().filter(|_| is_in_foreground())?;
            let before = tcgetattr(&terminal).ok()?;
            let mut mode = before.clone();
            mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            mode.special_codes[SpecialCodeIndex::VMIN] = 1;
            mode.special_codes[SpecialCodeIndex::VTIME] = 0;
            // The system would stop the program with its drawing on the screen, so it gets Ctrl-Z as a key.
            mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
            // What was typed before the view could be seen is not meant for it.
            tcsetattr(&terminal, OptionalActions::Flush, &mode).ok()?;
            Some(Self { terminal, before })
        }
    }

    /// Stops this process and the others of its pipeline, as Ctrl-Z does, until the shell continues them.
    pub(super) async fn stop() {
        use tokio::signal::unix::{SignalKind, signal};
        let continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()));
        if kill_current_process_group(Signal::TSTP).is_err() {
            return;
        }
        if let Ok(mut continued) = continued {
            // Without a shell to continue it, the system does not stop it at all.
            let _ = tokio::time::timeout(STOPPED_WITHIN, continued.recv()).await;
        }
    }

    impl Drop for KeyByKey {
        fn drop(&mut self) {
            // Keys that were not read must not reach the shell.
            let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
        }
    }
}

/// No keys are read on other systems.
#[cfg(not(unix))]
mod mode {
    pub const fn is_in_foreground() -> bool {
        true
    }

    pub(super) async fn stop() {}

    pub(super) struct KeyByKey;

    impl KeyByKey {
        pub(super) const fn set() -> Option<Self> {
            None
        }
    }
}

/// Hears that the program goes on after it was stopped, by whomever.
pub(super) struct Continued {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Continued {
    #[cfg(unix)]
    pub(super) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let number = rustix::process::Signal::CONT.as_raw();
        Self { signal: signal(SignalKind::from_raw(number)).ok() }
    }

    #[cfg(not(unix))]
    pub(super) const fn listen() -> Self {
        Self {}
    }

    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
