//! Where a prompt comes from: arguments, files named with `@`, or stdin. Bounded, and exact to the byte.
//!
//! Stdin is read only where it is asked for or there is nothing else: a pipe that a script left open would
//! otherwise hold the question for ever.

use std::io::{IsTerminal, Read};
use std::path::Path;

use parallel_llm_engine::{Code, Failure};

/// The most that is read. The setting `prompt_chars_max` goes up to 16 Mi characters of up to four bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the prompt. Its parts stand apart by an empty line.
pub(super) fn read(parts: &[String]) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    match parts {
        [] if stdin.is_terminal() => Err(Failure::new(Code::PromptEmpty, "no prompt was given")),
        [] => read_all(stdin.lock(), "stdin"),
        parts => Ok(parts.iter().map(|part| read_part(part)).collect::<Result<Vec<_>, _>>()?.join("\n\n")),
    }
}

fn read_part(part: &str) -> Result<String, Failure> {
    match part.strip_prefix('@') {
        Some(path) => read_file(Path::new(path)),
        None if part == "-" => read_all(std::io::stdin().lock(), "stdin"),
        None => Ok(part.to_owned()),
    }
}

fn read_file(path: &Path) -> Result<String, Failure> {
    let file = std::fs::File::open(path).map_err(|error| {
        Failure::new(Code::Usage, format!("the prompt file `{}` cannot be read: {error}", path.display()))
            .with_next("name a readable file after `@`, or put the prompt in quotes if it begins with `@`")
    })?;
    read_all(file, &format!("`{}`", path.display()))
}

fn read_all(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| {
        Failure::new(Code::Usage, format!("the prompt cannot be read from {name}: {error}"))
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::new(Code::PromptTooLong, format!("{name} holds more than {BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::new(
            Code::PromptNotUtf8,
            format!("{name} is not UTF-8: the byte at offset {offset} is wrong"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_is_named() {
        let failure = read_all(&b"caf\xe9 au lait"[..], "stdin").unwrap_err();
        assert_eq!(failure.code, Code::PromptNotUtf8);
        assert_eq!(failure.message, "stdin is not UTF-8: the byte at offset 3 is wrong");
    }
}
