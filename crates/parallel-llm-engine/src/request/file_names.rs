//! The names of a run's files, as far as they can be chosen: those of its answers and of its final text.
//!
//! What always holds: no name leaves its folder or hides in it, and no two files of a run share one, also where capitals
//! do not count.

use serde::{Deserialize, Serialize};

use crate::request::panel::{SEATS_MAX, SeatNumber};

/// Stands for a seat's number.
const SEAT: &str = "{seat}";
/// Stands for the name of a seat's model.
const MODEL: &str = "{model}";
/// What the name of an answer ends with, before its extension, that stopped before its end.
const CUT: &str = "_cut";
/// The longest name or pattern, in bytes: with a model's name in it, it stays below the 255 that file systems take.
const NAME_BYTES_MAX: usize = 100;
/// The names of a run's other files. Of those for earlier texts the first stands for all.
const TAKEN: [&str; 3] = ["prompt.md", "run.json", "earlier_best_1.md"];

/// What a run's answers and its final text are called as files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct FileNames {
    /// The name of an answer, with `{seat}` and, where it is to stand there, `{model}`.
    answer: String,
    /// The name of the final text.
    final_text: String,
}

/// The same as it is written, before it is checked.
#[derive(Deserialize)]
struct Written {
    answer: String,
    final_text: String,
}

impl TryFrom<Written> for FileNames {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        Self::new(written.answer, written.final_text)
    }
}

impl Default for FileNames {
    fn default() -> Self {
        Self { answer: "answer_{seat}_{model}.md".to_owned(), final_text: "final_best.md".to_owned() }
    }
}

impl FileNames {
    /// Takes a pattern for answers and the name of the final text. Fails with a sentence that says what is wrong.
    pub fn new(answer: String, final_text: String) -> Result<Self, String> {
        check_answer(&answer)?;
        check_final_text(&final_text)?;
        if could_be(&answer, &final_text) {
            return Err(format!(
                "an answer named by `{answer}` could be called `{final_text}`, like the final text"
            ));
        }
        Ok(Self { answer, final_text })
    }

    /// The name of a seat's answer. `model` is the model's name as a part of a file name.
    pub fn answer(&self, seat: SeatNumber, model: &str, is_cut: bool) -> String {
        let (stem, extension) = split_extension(&self.answer).expect("a pattern has an extension");
        let stem = stem.replace(SEAT, &seat.0.to_string()).replace(MODEL, model);
        let ending = if is_cut { CUT } else { "" };
        format!("{stem}{ending}.{extension}")
    }

    /// The name of the final text.
    pub fn final_text(&self) -> &str {
        &self.final_text
    }
}

/// Checks a pattern for the names of answers by itself. Fails with a sentence that says what is wrong.
pub fn check_answer(pattern: &str) -> Result<(), String> {
    let Some((before, after)) = pattern.split_once(SEAT) else {
        return Err(format!("answers would share a name: put `{SEAT}` into it"));
    };
    if after.contains(SEAT) || pattern.matches(MODEL).count() > 1 {
        return Err(format!("`{SEAT}` stands in it once, and `{MODEL}` at most once"));
    }
    check_name(&pattern.replacen(SEAT, "1", 1).replacen(MODEL, "m", 1))?;
    if split_extension(pattern).is_none_or(|(_, extension)| extension.contains(['{', '}'])) {
        return Err(format!("it ends with a plain extension such as `.md`, not with `{SEAT}` or `{MODEL}`"));
    }
    let touches = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_digit() || b"{}".contains(byte));
    if touches(before.as_bytes().last()) || touches(after.as_bytes().first()) {
        return Err(format!("put something other than a digit between `{SEAT}` and what is beside it"));
    }
    match TAKEN.iter().find(|name| could_be(pattern, name)) {
        Some(name) => Err(format!("an answer could be called `{name}`, which is another file of the run")),
        None => Ok(()),
    }
}

/// Checks the name of the final text by itself. Fails with a sentence that says what is wrong.
pub fn check_final_text(name: &str) -> Result<(), String> {
    check_name(name)?;
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("earlier_best_") || TAKEN.contains(&lower.as_str()) {
        return Err(format!("`{name}` is another file of the run"));
    }
    Ok(())
}

/// Whether it can be a file's name on any system, and says what kind of file it is.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !name.bytes().all(is_plain) {
        return Err("letters, digits, dots, dashes and underscores make up a file name".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("it is longer than {NAME_BYTES_MAX} characters"));
    }
    if name.starts_with(['.', '-']) {
        return Err("a file name begins with a letter, a digit or an underscore".to_owned());
    }
    match split_extension(name) {
        Some(_) => Ok(()),
        None => Err("a file name ends with an extension such as `.md`".to_owned()),
    }
}

fn split_extension(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(stem, extension)| !stem.is_empty() && !extension.is_empty())
}

/// Whether an answer named by this pattern may have this name, whole or cut, for some seat and some model.
fn could_be(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let whole = name.replacen(&format!("{CUT}."), ".", 1);
    (1..=SEATS_MAX).any(|seat| {
        let named = pattern.replace(SEAT, &seat.to_string());
        [&name, &whole].into_iter().any(|name| match named.split_once(MODEL) {
            None => named == *name,
            Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_original_can_be_kept() {
        let names = FileNames::new("test_llm_{seat}.txt".into(), "test_final_best.md".into()).unwrap();
        assert_eq!(names.answer(SeatNumber(3), "a-b", false), "test_llm_3.txt");
        assert_eq!(names.answer(SeatNumber(3), "a-b", true), "test_llm_3_cut.txt");
        assert_eq!(names.final_text(), "test_final_best.md");
    }

    #[test]
    fn a_name_that_could_be_two_files_or_none_is_refused() {
        for pattern in [
            "",
            "answer.md",
            "{model}.md",
            "{seat}{model}.md",
            "{model}{seat}.md",
            "a1{seat}.md",
            "{seat}2.md",
            "{model}_{model}_{seat}.md",
            "{seat}_{seat}.md",
            "../{seat}.md",
            "a/{seat}.md",
            "a\\{seat}.md",
            ".{seat}.md",
            "{seat}",
            "a.{seat}",
            "a_{seat}.",
            "a_{seat}.{model}",
            "a {seat}.md",
            "a_{seat}_{nobody}.md",
            "earlier_best_{seat}.md",
            "Earlier_Best_{seat}.MD",
            "{model}_{seat}\u{202e}.md",
            "a\n{seat}.md",
        ] {
            assert!(check_answer(pattern).is_err(), "{pattern:?}");
        }
        for name in
            ["", "a", ".md", "prompt.md", "RUN.json", "earlier_best_12.md", "a/b.md", "a_{seat}.md", "-a.md"]
        {
            assert!(check_final_text(name).is_err(), "{name:?}");
        }
        for (answer, final_text) in
            [("a_{seat}.md", "A_7.md"), ("a_{seat}.md", "a_7_cut.md"), ("{seat}_{model}.md", "1_best.md")]
        {
            assert!(FileNames::new(answer.into(), final_text.into()).is_err(), "{answer} {final_text}");
        }
        for answer in ["{seat}.md", "{model}-{seat}.md", "{seat}_{model}.md"] {
            assert!(FileNames::new(answer.into(), "best.md".into()).is_ok(), "{answer}");
        }
    }
}
