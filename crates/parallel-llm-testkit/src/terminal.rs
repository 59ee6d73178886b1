//! The program on a terminal: its screen, its keys and changes of its size.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio::time::Instant;

use crate::call::Call;
use crate::mask::Placeholders;
use crate::sandbox::{Sandbox, WAIT_MAX};
use crate::terminal_svg;

/// Time between two looks at the screen.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Lines kept after they have scrolled away.
const SCROLLED_MAX: usize = 10_000;

/// A terminal with the program on it.
pub struct Terminal<'a> {
    sandbox: &'a Sandbox,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl<'a> Call<'a> {
    /// Starts the program on a terminal of this size.
    pub fn on_screen(self, columns: u16, rows: u16) -> Terminal<'a> {
        let sandbox = self.sandbox();
        let plain = self.command();
        let mut command = CommandBuilder::new(plain.get_program());
        command.args(plain.get_args());
        command.env_clear();
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            }
        }
        command.cwd(plain.get_current_dir().expect("each call has a folder"));
        let pair = native_pty_system().openpty(size(columns, rows)).expect("the system has terminals");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(count(rows), count(columns), SCROLLED_MAX)));
        let mut output = pair.master.try_clone_reader().expect("a terminal can be read");
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The read fails when the program has ended.
            while let Ok(count @ 1..) = output.read(&mut piece) {
                shown.lock().process(&piece[..count]);
            }
        });
        let keyboard = pair.master.take_writer().expect("a terminal can be typed at");
        Terminal { sandbox, master: pair.master, keyboard, child, screen }
    }
}

fn count(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has a size")
}

const fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

impl Terminal<'_> {
    /// The text on the screen, without trailing spaces. A line that the terminal wrapped is one line.
    pub fn text(&self) -> String {
        let text = self.screen.lock().screen().contents();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// [`Terminal::text`] with placeholders for what differs from run to run, spinners included.
    pub fn masked(&self) -> String {
        let is_spinner = |letter: char| ('\u{2800}'..='\u{28ff}').contains(&letter);
        let text = Placeholders::of(self.sandbox).mask(&self.text());
        text.chars().map(|letter| if is_spinner(letter) { '*' } else { letter }).collect()
    }

    /// How many lines have scrolled away.
    pub fn scrolled(&self) -> usize {
        let mut screen = self.screen.lock();
        screen.screen_mut().set_scrollback(SCROLLED_MAX);
        let scrolled = screen.screen().scrollback();
        screen.screen_mut().set_scrollback(0);
        scrolled
    }

    /// The screen with its colours.
    pub fn screen(&self) -> vt100::Screen {
        self.screen.lock().screen().clone()
    }

    /// The screen as a picture, in SVG.
    pub fn svg(&self) -> String {
        terminal_svg::svg(self.screen.lock().screen())
    }

    /// Waits until the text on the screen satisfies a condition.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let end = Instant::now() + WAIT_MAX;
        loop {
            let text = self.text();
            if is_so(&text) {
                return;
            }
            assert!(Instant::now() < end, "waited in vain for: {what}\n{text}");
            self.sandbox.pause(POLL_INTERVAL);
        }
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a terminal can be typed at");
        self.keyboard.flush().expect("a terminal can be typed at");
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().screen_mut().set_size(count(rows), count(columns));
        self.master.resize(size(columns, rows)).expect("a terminal can be resized");
    }

    /// Waits for the program to exit, and returns its exit code.
    pub fn wait(&mut self) -> u32 {
        let end = Instant::now() + WAIT_MAX;
        loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                // Time to read its last output.
                self.sandbox.pause(POLL_INTERVAL * 5);
                return status.exit_code();
            }
            assert!(Instant::now() < end, "the program does not end\n{}", self.text());
            self.sandbox.pause(POLL_INTERVAL);
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
