//! The keys of the live view. Ctrl-C still sends its signal.

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind};
use futures_util::StreamExt;

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
}

/// Reads keys for as long as it lives.
pub(super) struct Keys {
    /// `None` without a terminal to read keys from.
    events: Option<EventStream>,
    /// Restores the terminal when dropped, after the stream.
    _mode: Option<mode::KeyByKey>,
}

impl Keys {
    pub(super) fn open() -> Self {
        let mode = mode::KeyByKey::set();
        Self { events: mode.is_some().then(EventStream::new), _mode: mode }
    }

    /// Whether keys can be pressed.
    pub(super) const fn are_read(&self) -> bool {
        self.events.is_some()
    }

    /// The next key with a meaning.
    pub(super) async fn next(&mut self) -> Key {
        while let Some(events) = &mut self.events {
            match events.next().await {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if let Some(key) = meant(key.code) {
                        return key;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.events = None,
            }
        }
        std::future::pending().await
    }
}

fn meant(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Char(digit @ '1'..='9') => Key::Read(usize::try_from(digit.to_digit(10)?).ok()?),
        KeyCode::Tab | KeyCode::Right => Key::Next,
        KeyCode::BackTab | KeyCode::Left => Key::Previous,
        KeyCode::Up | KeyCode::Char('k') => Key::Up(1),
        KeyCode::Down | KeyCode::Char('j') => Key::Up(-1),
        KeyCode::PageUp => Key::PagesUp(1),
        KeyCode::PageDown | KeyCode::Char(' ') => Key::PagesUp(-1),
        KeyCode::Esc | KeyCode::Char('0') => Key::Back,
        KeyCode::Enter => Key::Hurry,
        KeyCode::Char('s') => Key::Skip,
        KeyCode::Char('q') => Key::Leave,
        _ => return None,
    })
}

/// Whether this process is in the foreground, and so may draw on the terminal and read its keys.
pub use mode::is_in_foreground;

#[cfg(unix)]
mod mode {
    use std::fs::File;

    use rustix::process::getpgrp;
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

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
            // A program stopped by Ctrl-Z would leave its drawing on the screen. Zero means that no key does it.
            mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
            tcsetattr(&terminal, OptionalActions::Now, &mode).ok()?;
            Some(Self { terminal, before })
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

    pub(super) struct KeyByKey;

    impl KeyByKey {
        pub(super) const fn set() -> Option<Self> {
            None
        }
    }
}
