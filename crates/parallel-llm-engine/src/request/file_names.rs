//! The names of the answer files of a run and of its final text.
//!
//! Invariants: no name leaves its folder or is hidden in it, and no two files of a run have the same name, not even on file
//! systems that ignore case.

use serde::{Deserialize, Serialize};

use crate::request::panel::{SEATS_MAX, SeatNumber};

/// The placeholder for the seat number.
const SEAT: &str = "{seat}";
/// The placeholder for the model of a seat.
const MODEL: &str = "{model}";
/// The ending, before the extension, of the name of a cut answer.
const CUT: &str = "_cut";
/// The longest name or pattern in bytes. With the name of a model in it, it stays below the 255 bytes of file systems.
const NAME_BYTES_MAX: usize = 100;
/// The names of the other files of a run; the first of the earlier texts stands for all of them.
const TAKEN: [&str; 3] = ["prompt.md", "run.json", "earlier_best_1.md"];

/// The names of the answer files of a run and of its final text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct FileNames {
    /// The pattern of answer files, with `{seat}` and optionally `{model}`.
    answer: String,
    /// The name of the final text.
    final_text: String,
}

/// File names as stored, before they are checked.
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
    /// File names from a pattern for answers and a name for the final text. The error is a sentence.
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

    /// The name of the answer file of a seat. `model` is the model as a part of a file name.
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

/// Checks a pattern for answer files. The error is a sentence.
pub fn check_answer(pattern: &str) -> Result<(), String> {
    let Some((before, after)) = pattern.split_once(SEAT) else {
        return Err(format!("answers would share a name: put `{SEAT}` into it"));
    };
    if after.contains(SEAT) || pattern.matches(MODEL).count() > 1 {
        return Err(format!("it must contain `{SEAT}` once, and `{MODEL}` at most once"));
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

/// Checks the name of the final text. The error is a sentence.
pub fn check_final_text(name: &str) -> Result<(), String> {
    check_name(name)?;
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("earlier_best_") || TAKEN.contains(&lower.as_str()) {
        return Err(format!("`{name}` is another file of the run"));
    }
    Ok(())
}

/// Fails unless the name is valid on every system and has an extension.
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

/// Whether the answer of some seat and model, whole or cut, has this name under the pattern.
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
    fn names_of_the_python_server_can_be_kept() {
        let names = FileNames::new("test_llm_{seat}.txt".into(), "test_final_best.md".into()).unwrap();
        assert_eq!(names.answer(SeatNumber(3), "a-b", false), "test_llm_3.txt");
        assert_eq!(names.answer(SeatNumber(3), "a-b", true), "test_llm_3_cut.txt");
        assert_eq!(names.final_text(), "test_final_best.md");
    }

    #[test]
    fn an_ambiguous_or_invalid_name_is_refused() {
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
