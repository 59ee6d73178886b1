//! Reads a line from the terminal without echo.

use std::io::{BufRead, Read};

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use parallel_llm_settings::keys;

/// The longest line read, in bytes: one byte more than the longest key, to notice longer ones.
pub(super) const LINE_BYTES_MAX: u64 = keys::KEY_BYTES_MAX as u64 + 1;

/// Reads a line from the terminal on stdin; `None` after Ctrl-C. `ask` prompts for it once the echo is off.
#[cfg(unix)]
pub(super) fn read_line(ask: impl FnOnce()) -> Result<Option<String>, Failure> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    /// The byte of Ctrl-C in a mode without signals.
    const CTRL_C: u8 = 3;

    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Code::Usage, format!("nothing can be typed unseen: {error}"))
            .with_next(Advice::PipeKeyIn)
    };
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(|error| failed(&error))?;
    let mut unseen = before.clone();
    unseen.local_modes.remove(LocalModes::ECHO);
    // A signal would end the program before the terminal is restored, so Ctrl-C ends the line instead.
    unseen.local_modes.remove(LocalModes::ISIG);
    unseen.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
    tcsetattr(&stdin, OptionalActions::Flush, &unseen).map_err(|error| failed(&error))?;
    ask();
    let mut line = Vec::new();
    let read = until_end(stdin.lock().take(LINE_BYTES_MAX), CTRL_C, &mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(|error| failed(&error))?;
    read.map_err(|error| failed(&error))?;
    if line.last() == Some(&CTRL_C) {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Reads up to the end of the line or the `give_up` byte.
#[cfg(unix)]
fn until_end(mut source: impl BufRead, give_up: u8, line: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let bytes = source.fill_buf()?;
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n' || *byte == give_up) else {
            let count = bytes.len();
            line.extend_from_slice(bytes);
            source.consume(count);
            match count {
                0 => return Ok(()),
                _ => continue,
            }
        };
        line.extend_from_slice(&bytes[..=end]);
        source.consume(end + 1);
        return Ok(());
    }
}

/// Not supported on other systems yet.
#[cfg(not(unix))]
pub(super) fn read_line(_: impl FnOnce()) -> Result<Option<String>, Failure> {
    Err(Failure::new(Code::Usage, "nothing can be typed unseen here").with_next(Advice::PipeKeyIn))
}
