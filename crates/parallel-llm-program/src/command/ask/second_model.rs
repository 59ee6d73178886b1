//! What stands in the place of a model, or behind it: a list, another model without its own `-m`, or the question.

use std::ffi::OsString;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::Models;
use parallel_llm_settings::settings::split_models;

use crate::command::line::typed_line::{self, QUESTION_MARKS};

/// The signs within a name around which no blank stands.
const SIGNS: [char; 3] = ['/', ':', '*'];
/// What stands around the elements of a list in other languages.
const AROUND: [char; 8] = ['[', ']', '(', ')', '{', '}', '"', '\''];

/// Words for no synthesizer.
const NONE: [&str; 5] = ["none", "no", "off", "false", "null"];

/// Refuses what is no single model behind a `-m`. A comma only separates the options of a model.
pub(in crate::command) fn check_each(models: &[String]) -> Result<(), Failure> {
    let separates = |letter: char| letter == ',' || letter.is_whitespace();
    let is_single = |model: &String| {
        let name = model.split('@').next().unwrap_or_default().trim();
        !name.contains(separates) && !name.contains(QUESTION_MARKS) && !name.starts_with(AROUND)
    };
    let Some(list) = models.iter().find(|model| !is_single(model)) else { return Ok(()) };
    let refused =
        |message: String, next: Next| Err(Failure::new(Code::ModelInvalid, message).with_next(next));
    if list.contains(QUESTION_MARKS) {
        let message = format!("`-m` takes a model, and `{list}` is rather the question");
        return refused(message, Next::Type(without_model(list).into()));
    }
    let mut tight = list.trim().to_owned();
    for sign in SIGNS {
        tight = tight.split(sign).map(str::trim).collect::<Vec<_>>().join(&sign.to_string());
    }
    let each: Vec<&str> = tight
        .split(separates)
        .map(|model| model.trim_matches(AROUND))
        .filter(|model| !model.is_empty())
        .collect();
    // `gpt 4o` is one name.
    let is_number = |model: &&str| model.starts_with(|digit: char| digit.is_ascii_digit());
    let each = if each.iter().skip(1).any(is_number) {
        vec![each.join("-")]
    } else {
        each.into_iter().map(str::to_owned).collect()
    };
    let typed: Vec<String> = each.iter().map(|model| format!("-m {}", typed_line::quoted(model))).collect();
    let a_list = if typed.len() > 1 { "the list " } else { "" };
    refused(format!("`-m` takes one model, not {a_list}`{list}`"), Next::WriteAs(typed.join(" ").into()))
}

/// Refuses what is no single model behind `--synthesizer`: a word for none, as whether the answers are fused is up to the strategy,
/// and a list, as those of the settings come after the one that is named.
pub(in crate::command) fn check_synthesizer(named: Option<&str>) -> Result<(), Failure> {
    let Some(named) = named else { return Ok(()) };
    let (message, meant) = match split_models(named).as_slice() {
        _ if NONE.contains(&&*named.to_lowercase()) => {
            (format!("`--synthesizer` takes a model, not `{named}`"), "--strategy panel".to_owned())
        }
        [first, _, ..] => {
            let message = format!("`--synthesizer` takes one model, not the list `{named}`");
            (message, format!("--synthesizer {first}"))
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Code::ModelInvalid, message).with_next(Next::WriteAs(meant.into())))
}

/// The call with the value of `-m` as the question.
fn without_model(question: &str) -> String {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let is_model = |at: usize| {
        let next = arguments.get(at + 1).is_some_and(|next| next == question);
        next && (arguments[at] == "-m" || arguments[at] == "--model")
    };
    typed_line::again(&arguments, |at, _| is_model(at).then(Vec::new))
}

/// Refuses a word behind the value of `-m` that is the name of another model: `-m` takes one.
pub(super) async fn check(words: &[String], models: &Models) -> Result<(), Failure> {
    let mut named = Vec::new();
    for word in words {
        if models.is_name(word).await? {
            named.push(word.as_str());
        }
    }
    if named.is_empty() {
        return Ok(());
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = typed_line::again(&arguments, |_, word| {
        named.contains(&word).then(|| vec!["-m".to_owned(), typed_line::quoted(word)])
    });
    let shown = named.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("`-m` takes one model, and {shown} behind it would be sent as text");
    Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())))
}
