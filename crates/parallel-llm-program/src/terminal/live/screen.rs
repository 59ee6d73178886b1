//! The terminal's second screen, used while a run is in progress.
//!
//! Invariant: dropping [`Screen`] restores what the terminal showed before.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};

use super::super::console::{Console, Size};
use super::super::line::Line;

/// The second screen and what is drawn on it.
pub(super) struct Screen<'c> {
    console: &'c Console,
    drawn: Drawn,
    is_entered: bool,
}

/// What the screen shows.
#[derive(Default)]
struct Drawn {
    rows: Vec<String>,
    size: Size,
}

impl<'c> Screen<'c> {
    pub(super) fn open(console: &'c Console) -> Self {
        let mut screen = Self { console, drawn: Drawn::default(), is_entered: false };
        screen.enter();
        screen
    }

    /// Takes the second screen, to draw everything anew.
    pub(super) fn enter(&mut self) {
        self.console.write(&commands(|bytes| queue!(bytes, EnterAlternateScreen, Hide)));
        self.drawn = Drawn::default();
        self.is_entered = true;
    }

    /// Shows what the terminal showed before, and says this there.
    pub(super) async fn leave(&mut self, message: &str) {
        self.restore();
        self.console.say(message);
        self.console.flushed().await;
    }

    fn restore(&mut self) {
        if std::mem::take(&mut self.is_entered) {
            self.console.write(&commands(|bytes| queue!(bytes, LeaveAlternateScreen, Show)));
        }
    }

    /// Draws these lines from the top: only changed rows, or all after a resize. Skipped while the terminal has not yet
    /// taken the last drawing.
    pub(super) fn draw(&mut self, lines: &[Line], size: Size) {
        let is_coloured = self.console.is_coloured();
        let rows: Vec<String> = (0..size.rows)
            .map(|row| lines.get(row).map(|line| line.render(is_coloured)).unwrap_or_default())
            .collect();
        let is_new = size != self.drawn.size;
        let bytes = commands(|bytes| {
            queue!(bytes, BeginSynchronizedUpdate)?;
            if is_new {
                queue!(bytes, Clear(ClearType::All))?;
            }
            for (row, text) in rows.iter().enumerate() {
                if is_new || self.drawn.rows.get(row) != Some(text) {
                    queue!(bytes, MoveTo(0, u16::try_from(row).unwrap_or(u16::MAX)))?;
                    bytes.extend_from_slice(text.as_bytes());
                    queue!(bytes, Clear(ClearType::UntilNewLine))?;
                }
            }
            queue!(bytes, EndSynchronizedUpdate)
        });
        if self.console.draw(&bytes) {
            self.drawn = Drawn { rows, size };
        }
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.restore();
    }
}

/// The escape codes of these commands.
fn commands(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory can be written");
    String::from_utf8(bytes).expect("commands are ASCII, and rows are text")
}
