//! The run that `ask --continue` goes on from. Its name may follow after a blank, where it could also be the question:
//! `ask -c 01KB "And now?"` and `ask -c "And now?"` both mean what they seem to.

use std::ffi::OsString;
use std::str::FromStr;

use clap::ArgMatches;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunId};

use super::CommandContext;
use super::ask::Ask;
use crate::called;

/// The newest run, which is meant without a name.
const NEWEST: &str = "@";
/// The fewest letters that are surely meant as the beginning of an id, and not as a word or a number.
const ID_CHARS_MIN: usize = 6;
/// What each id begins with until the year 3084.
const ID_START: char = '0';

impl Ask {
    /// Gives a value behind `-c` and a blank back to the question, unless it has the form of a run's name.
    pub(super) fn settle_continued(&mut self, matches: &ArgMatches, arguments: &[OsString]) {
        let Some(value) = self.continued.as_deref() else { return };
        let is_attached = |argument: &OsString| {
            let argument = argument.to_string_lossy();
            let short = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            argument.strip_prefix("--continue=").is_some_and(|rest| rest == value)
                || short.is_some_and(|rest| rest.ends_with(value) && rest.len() > value.len())
        };
        let Some(at) = matches.index_of("continued") else { return };
        let given = arguments.iter().any(|argument| argument.to_string_lossy() == value);
        if !given || arguments.iter().any(is_attached) {
            return;
        }
        let before = matches.indices_of("prompt").into_iter().flatten().filter(|part| *part < at).count();
        self.parts_before_continued = Some(before);
        if !has_form(value) {
            self.give_back();
        }
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
        if let (Some(name), Some(_)) = (self.continued.as_deref(), self.parts_before_continued)
            && name.len() < ID_CHARS_MIN
            && let Err(failure) = context.service.runs.run_id(name).await
            && failure.code == Code::RunNotFound
            && !name.starts_with(NEWEST)
        {
            self.give_back();
        }
        for part in &self.prompt {
            let Some(id) = part.to_str().filter(|part| RunId::from_str(&part.to_ascii_uppercase()).is_ok())
            else {
                continue;
            };
            if self.continued.is_some() || context.service.runs.run_id(id).await.is_ok() {
                return Err(misplaced(id));
            }
        }
        Ok(())
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

fn misplaced(id: &str) -> Failure {
    let message = format!("`{id}` is the id of a run, and no question");
    let goes_on = format!("{} ask -c {id} \"QUESTION\"", called::name());
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
