//! The run that `ask --continue` goes on from. Its name may follow after a blank, where it could also be the question:
//! `ask -c 01KB "And now?"` and `ask -c "And now?"` both mean what they seem to.

use std::ffi::OsString;
use std::str::FromStr;

use clap::ArgMatches;
use parallel_llm_engine::value::next::{Next, Operation};
use parallel_llm_engine::{Code, Failure, RunId};

use super::question::Ask;
use crate::called;
use crate::command::context::CommandContext;
use crate::command::line::typed_line;

/// The newest run, which is meant without a name.
const NEWEST: &str = "@";
/// The fewest letters that are surely meant as the beginning of an id, and not as a number.
const ID_CHARS_MIN: usize = 3;
/// The fewest letters that name a run in front of a question within one text.
const ID_IN_TEXT_CHARS_MIN: usize = 6;
/// What each id begins with until the year 3084.
const ID_START: char = '0';
/// Words for the newest run in other programs, and for the one before it.
const NAMES: [(&str, &str); 10] = [
    ("last", NEWEST),
    ("latest", NEWEST),
    ("newest", NEWEST),
    ("current", NEWEST),
    ("recent", NEWEST),
    ("0", NEWEST),
    ("previous", "@~1"),
    ("prev", "@~1"),
    ("1", "@~1"),
    ("head", NEWEST),
];

impl Ask {
    /// Gives a value behind `-c` and a blank back to the question, unless it has the form of a run's name.
    pub(in crate::command) fn settle_continued(&mut self, matches: &ArgMatches, arguments: &[OsString]) {
        let Some(value) = self.continued.as_deref() else { return };
        let is_attached = |argument: &OsString| {
            let argument = argument.to_string_lossy();
            let short = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            argument.strip_prefix("--continue=").is_some_and(|rest| rest == value)
                || short.is_some_and(|rest| rest.ends_with(value) && rest.len() > value.len())
        };
        let Some(at) = matches.index_of("continued") else { return };
        let given = arguments.iter().any(|argument| argument.to_string_lossy() == value);
        if !given || (!value.is_empty() && arguments.iter().any(is_attached)) {
            return;
        }
        let before = matches.indices_of("prompt").into_iter().flatten().filter(|part| *part < at).count();
        self.parts_before_continued = Some(before);
        let name = id_of(value);
        if has_form(&name) {
            self.continued = Some(name);
        } else if self.is_name_of_none(value) {
            self.no_run = Some(value.to_owned());
        } else {
            self.give_back();
        }
    }

    /// Whether a value that has not the form of a run's name is meant as one all the same: a single word beside a question
    /// in quotes, or a word for the last run.
    fn is_name_of_none(&self, value: &str) -> bool {
        let value = value.trim();
        if value.contains(char::is_whitespace) {
            return false;
        }
        value.is_empty()
            || self.has_sentence()
            || (self.prompt.len() < 2 && (meant(value).is_some() || !value.contains(char::is_alphabetic)))
    }

    /// Whether a part of the question has several words, so that a single word beside it is no part of a sentence.
    fn has_sentence(&self) -> bool {
        self.prompt.iter().any(|part| part.to_string_lossy().trim().contains(char::is_whitespace))
    }

    /// Refuses a value behind `-c` that names no run.
    pub(in crate::command) fn check_continued(&self, arguments: &[OsString]) -> Result<(), Failure> {
        let Some(value) = self.no_run.as_deref() else { return Ok(()) };
        let meant = meant(value.trim()).unwrap_or(NEWEST);
        let line = typed_line::again(arguments, |_, word| (word == value).then(|| vec![meant.to_owned()]));
        let message = format!("`{}` behind `--continue` is no name of a run", typed_line::shown(value));
        let typed = Next::Type(line.into());
        Err(Failure::new(Code::Usage, message).with_next([typed, Next::Use(Operation::FindRun)]))
    }

    /// Makes the value behind `-c` a part of the question.
    fn give_back(&mut self) {
        if let (Some(value), Some(before)) = (self.continued.take(), self.parts_before_continued.take()) {
            self.prompt.insert(before, value.into());
            self.continued = Some(NEWEST.to_owned());
        }
    }

    /// Finds out whether the value behind `-c` is a run, and refuses the id of a run as a part of the question.
    pub(super) async fn resolve_continued(&mut self, context: &CommandContext<'_>) -> Result<(), Failure> {
        let runs = &context.service.runs;
        if let (Some(name), Some(_)) = (self.continued.as_deref(), self.parts_before_continued)
            && self.may_be_text(name)
            && let Err(failure) = runs.run_id(name).await
            && failure.code == Code::RunNotFound
        {
            self.give_back();
        }
        for part in &self.prompt {
            let Some((id, question)) = part.to_str().and_then(split_id) else { continue };
            let is_whole = RunId::from_str(&id).is_ok();
            if (is_whole && self.continued.is_some()) || runs.run_id(&id).await.is_ok() {
                return Err(misplaced(&id, question));
            }
        }
        Ok(())
    }

    /// Whether a name of a run may be a number in a sentence that was typed without quotes.
    fn may_be_text(&self, name: &str) -> bool {
        let is_short =
            name.len() < ID_CHARS_MIN || self.prompt.len() > 1 && name.len() < ID_IN_TEXT_CHARS_MIN;
        !name.starts_with(NEWEST) && is_short && !self.has_sentence()
    }
}

/// Whether a word has the form of a run's name: `@`, `@~1`, or the beginning of an id.
fn has_form(word: &str) -> bool {
    if let Some(back) = word.strip_prefix(NEWEST) {
        let number = back.strip_prefix('~');
        return back.is_empty() || number.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    }
    word.starts_with(ID_START) && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// What a word without the form of a run's name means in other programs: `last`, `-1`, `#1`, `~1`.
fn meant(word: &str) -> Option<&'static str> {
    let word = word.trim_start_matches(['-', '#', '~', '@']).to_ascii_lowercase();
    NAMES.iter().find(|(name, _)| *name == word).map(|(_, run)| *run)
}

/// A word without the signs that a sentence puts around it, and with a zero where an id cannot have a letter.
fn id_of(word: &str) -> String {
    let is_around = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '@' | '~');
    let word = word.trim().trim_matches(is_around);
    match word.strip_prefix(['o', 'O']) {
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_digit()) => format!("{ID_START}{rest}"),
        _ => word.to_owned(),
    }
}

/// Whether a word is the id of a run, or enough of one to be nothing else.
pub(in crate::command) fn is_id(word: &str) -> bool {
    let is_long = word.len() >= ID_IN_TEXT_CHARS_MIN && word.contains(|letter: char| letter.is_alphabetic());
    is_long && word.starts_with(ID_START) && has_form(word)
}

/// Whether a word names a run.
pub(in crate::command) fn is_run(word: &str) -> bool {
    is_id(word) || (word.starts_with(NEWEST) && has_form(word))
}

/// The id that a text begins with, perhaps behind the word `run`, and the rest of it.
fn split_id(text: &str) -> Option<(String, &str)> {
    let text = text.trim();
    let split = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let (first, rest) = text.split_at(split(text));
    let (word, rest) = match first.to_ascii_lowercase().as_str() {
        "run" | "id" => rest.trim_start().split_at(split(rest.trim_start())),
        _ => (first, rest),
    };
    let id = id_of(word).to_ascii_uppercase();
    let is_id = id.len() >= ID_IN_TEXT_CHARS_MIN && id.starts_with(ID_START) && has_form(&id);
    is_id.then_some((id, rest.trim()))
}

fn misplaced(id: &str, question: &str) -> Failure {
    let message = format!("`{id}` is the id of a run, and no question");
    let question = if question.is_empty() { "\"QUESTION\"".to_owned() } else { typed_line::quoted(question) };
    let goes_on = format!("{} ask -c {id} {question}", called::name());
    Failure::new(Code::Usage, message).with_next(Next::Type(goes_on.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_runs_have_their_form() {
        for name in ["@", "@~", "@~12", "01KB", "01kb7x2e", "0"] {
            assert!(has_form(name), "{name}");
        }
        for word in ["And now?", "@notes.md", "rust", "what", "@~x", "1st", ""] {
            assert!(!has_form(word), "{word}");
        }
    }
}
