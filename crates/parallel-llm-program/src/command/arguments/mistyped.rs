//! Arguments of a question that are hardly meant as words of it, and would be paid for as such: a flag behind a long dash,
//! the name of a file, a model without its `-m`.
//!
//! They are refused only where a person cannot have meant the text: a question may mention files and flags.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use parallel_llm_engine::value::invisible::is_invisible;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::lone_word;
use crate::called;
use crate::command::ask::question::Ask;
use crate::command::line::typed_line::{END_OF_FLAGS, is_flag_of_ask, needs_value, takes_value, words};
use crate::command::line::{amount, help, typed_line};
use crate::command::{Arguments, Command, Work};

/// The most files that a message names.
const NAMED_MAX: usize = 3;
/// The most dashes of a flag: `—-` is one too many already.
const DASHES_MAX: usize = 3;
/// The bytes of a flag of one letter, such as `-m`.
const SHORT_FLAG_LEN: usize = 2;

/// Refuses flags that begin with another dash than the one on the keyboard, or behind a blank that is none: word processors
/// and messengers write them. Only a question takes such a word without an error.
pub(super) fn check_dashes(arguments: &[OsString]) -> Result<(), Failure> {
    let words = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    let mut words = words.take_while(|word| word != END_OF_FLAGS);
    let Some((argument, rest)) = words.find_map(|word| {
        let rest = behind_other_dash(&word)?.to_owned();
        Some((word.into_owned(), rest))
    }) else {
        return Ok(());
    };
    let commands = help::command();
    let first = arguments.get(1).and_then(|first| first.to_str());
    let is_other = first.is_some_and(|first| first != "ask" && commands.find_subcommand(first).is_some());
    let Some(ask) = commands.find_subcommand("ask").filter(|_| !is_other) else { return Ok(()) };
    let mut ask = ask.clone();
    ask.build();
    let longs: Vec<&str> = ask.get_arguments().filter_map(clap::Arg::get_long).chain(["version"]).collect();
    let shorts: Vec<char> = ask.get_arguments().filter_map(clap::Arg::get_short).collect();
    let end = rest.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(rest.len());
    let (name, value) = rest.split_at(end);
    let mut letters = name.chars();
    let short = letters.next().filter(|letter| letters.next().is_none() && shorts.contains(letter));
    let meant = if let Some(letter) = short {
        Some(format!("-{letter}{value}"))
    } else {
        // A sentence may begin with a dash; a single word behind one is a flag, known or not.
        let is_word = !rest.contains(char::is_whitespace);
        let exact = longs.iter().copied().find(|long| *long == name);
        let long = exact.or_else(|| nearest(name, longs.iter().copied()).filter(|_| is_word));
        long.map(|name| format!("--{name}{value}"))
    };
    if meant.is_none() && rest.contains(char::is_whitespace) {
        return Ok(());
    }
    let shown = typed_line::shown(&argument);
    let message = format!("`{shown}` does not begin with the hyphen of a flag, and would be sent as text");
    let failure = Failure::new(Code::Usage, message);
    Err(match meant {
        Some(meant) => failure.with_next(Next::Meant(typed_line::shown(&meant).into())),
        None => failure.with_next(Next::See(format!("{} ask --help", called::name()).into())),
    })
}

/// Refuses the name of a flag behind one hyphen: `-model x` would be the model `odel`, and a question about x.
pub(super) fn check_hyphens(arguments: &[OsString]) -> Result<(), Failure> {
    let words = words(arguments);
    // Another word stands for a command, known or not.
    let is_other = |word: &String| !word.starts_with('-') && !word.contains(char::is_whitespace);
    if words.get(1).is_some_and(|word| word != "ask" && is_other(word)) {
        return Ok(());
    }
    let is_name = |at: usize| {
        let word = &words[at];
        let is_long = word.starts_with('-') && !word.starts_with("--") && word.len() > SHORT_FLAG_LEN;
        // `-help` is `-h`, as the parser reads it.
        is_long
            && word != "-help"
            && is_flag_of_ask(&format!("-{word}").into())
            && !needs_value(&words[at - 1])
    };
    let Some(at) = (1..words.len()).find(|at| is_name(*at)) else { return Ok(()) };
    let line = typed_line::again(arguments, |place, word| {
        (place < words.len() && is_name(place)).then(|| vec![typed_line::quoted(&format!("-{word}"))])
    });
    let message =
        format!("`{}` has one hyphen, and the name of a flag has two", typed_line::shown(&words[at]));
    Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())))
}

/// What stands behind the dashes of such an argument, if it is a word.
fn behind_other_dash(argument: &str) -> Option<&str> {
    let is_blank = |letter: char| letter.is_whitespace() || is_invisible(letter);
    let text = argument.trim_start_matches(is_blank);
    let rest = text.trim_start_matches(is_dash);
    let dashes = &text[..text.len() - rest.len()];
    let is_usual = text.len() == argument.len() && dashes.is_ascii();
    let is_flag = !is_usual && (1..=DASHES_MAX).contains(&dashes.chars().count());
    (is_flag && rest.starts_with(|letter: char| letter.is_ascii_alphabetic())).then_some(rest)
}

/// Whether a character is a hyphen, a dash or a minus.
const fn is_dash(letter: char) -> bool {
    matches!(letter, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

/// Refuses what is hardly meant as a part of a question.
pub(super) fn check(read: &mut Arguments, arguments: &[OsString]) -> Result<(), Failure> {
    let Some(Command::Work(Work::Ask(ask))) = &mut read.command else { return Ok(()) };
    ask.check_continued(arguments)?;
    check_system(ask, arguments)?;
    check_behind_end(ask, arguments)?;
    amount::check_units(&ask.prompt, arguments)?;
    check_files(ask, arguments)?;
    lone_word::check(ask, arguments)?;
    ask.behind_models = behind_models(ask, arguments);
    Ok(())
}

/// The single words right behind the value of `-m`, if they are no part of a sentence that was typed without quotes.
fn behind_models(ask: &Ask, arguments: &[OsString]) -> Vec<String> {
    let words = words(arguments);
    let is_single = |word: &&String| {
        let is_part = ask.prompt.iter().any(|part| part.to_str() == Some(word));
        is_part && !word.is_empty() && !word.starts_with('@') && !word.contains(char::is_whitespace)
    };
    let is_flag = |word: &str| ["-m", "--model"].contains(&word);
    let mut found = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| is_flag(word)) {
        let behind: Vec<&String> = words.iter().skip(at + 2).take_while(is_single).collect();
        let next = words.get(at + 2 + behind.len());
        let is_sentence = next.is_none_or(|next| next.starts_with('-')) && behind.len() > 1;
        let is_certain = |word: &&&String| !is_sentence || word.contains(|one: char| !one.is_alphabetic());
        found.extend(behind.iter().filter(is_certain).map(|word| (*word).clone()));
    }
    found
}

/// `--system` takes a text: `@FILE` and `-` have no meaning there, and the name of a file is no instruction.
fn check_system(ask: &Ask, arguments: &[OsString]) -> Result<(), Failure> {
    let Some(system) = ask.system.as_deref().map(str::trim) else { return Ok(()) };
    let file =
        system.strip_prefix('@').filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
    let file = file.or_else(|| Path::new(system).is_file().then_some(system));
    if file.is_none() && system != "-" {
        return Ok(());
    }
    let text = file.map_or_else(
        || "\"$(cat)\"".to_owned(),
        |file| {
            let file = typed_line::quoted(file);
            // Double quotes within `$(...)` are quotes of their own.
            format!("\"$(cat {file})\"")
        },
    );
    let line = typed_line::again(arguments, |_, argument| match argument.strip_prefix("--system=") {
        Some(_) => Some(vec![format!("--system={text}")]),
        None => (argument.trim() == system).then(|| vec![text.clone()]),
    });
    let message = format!("`--system` takes a text, and `{system}` would be sent as these characters");
    Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())))
}

/// Refuses flags behind the sign that ends the flags: they would be sent as text, and the usual panel would be paid. A
/// single word there is meant as it is.
fn check_behind_end(ask: &Ask, arguments: &[OsString]) -> Result<(), Failure> {
    let Some(end) = arguments.iter().position(|argument| argument == END_OF_FLAGS) else { return Ok(()) };
    let (before, behind) = (&arguments[..end], &arguments[end + 1..]);
    let Some(first) = behind.iter().find(|word| is_flag_of_ask(word)).filter(|_| behind.len() > 1) else {
        return Ok(());
    };
    let (mut line, mut texts) = (before.to_vec(), Vec::new());
    let mut words = behind.iter();
    while let Some(word) = words.next() {
        if !is_flag_of_ask(word) {
            texts.push(word.clone());
            continue;
        }
        line.push(word.clone());
        if word.to_str().is_some_and(takes_value) {
            line.extend(words.next().cloned());
        }
    }
    let message = format!("`{}` behind `--` would be sent as text", first.to_string_lossy());
    let text = behind.join(OsStr::new(" "));
    let (is_empty, has_text) = (texts.is_empty(), ask.prompt.len() > behind.len());
    line.extend(Some(END_OF_FLAGS.into()).filter(|_| !is_empty).into_iter().chain(texts));
    let again = |line: &[OsString]| typed_line::again(line, |_, _| None);
    let moved = again(&line) + if is_empty && !has_text { " \"QUESTION\"" } else { "" };
    let whole = again(&[before, &[END_OF_FLAGS.into(), text]].concat());
    Err(Failure::new(Code::Usage, message).with_next([Next::Type(moved.into()), Next::Type(whole.into())]))
}

/// Refuses names of files among the words: a shell writes them in place of `*`, and `-a` takes one of them.
fn check_files(ask: &Ask, arguments: &[OsString]) -> Result<(), Failure> {
    if ask.prompt.len() + ask.attachments.len() < 2 {
        return Ok(());
    }
    let parts: Vec<&str> = ask.prompt.iter().filter_map(|part| part.to_str()).collect();
    let words = words(arguments);
    let is_there = |at: usize| words.get(at).is_some_and(|word| at > 0 && is_entry(word));
    let is_file = |at: usize| {
        let is_part = is_there(at) && parts.contains(&words[at].as_str());
        is_part && (is_there(at - 1) || is_there(at + 1) || is_hardly_a_word(&words[at]))
    };
    // The values of flags are no parts, though they may be equal to one.
    let is_value = |at: usize| at > 1 && takes_value(&words[at - 1]);
    let files: Vec<usize> = (1..words.len()).filter(|at| !is_value(*at) && is_file(*at)).collect();
    if files.is_empty() {
        return Ok(());
    }
    let named: Vec<String> =
        files.iter().take(NAMED_MAX).map(|at| format!("`{}`", typed_line::shown(&words[*at]))).collect();
    let more = files.len().saturating_sub(NAMED_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let what = match files.len() {
        1 => "is there, and its name would be sent as a word",
        _ => "are there, and their names would be sent as words",
    };
    let message = format!("{}{more} {what}", named.join(", "));
    let attached = typed_line::again(arguments, |at, word| {
        files.contains(&at).then(|| vec!["-a".to_owned(), typed_line::quoted(word)])
    });
    let is_word = |at: &usize| !is_value(*at) && parts.contains(&words[*at].as_str());
    let asked: Vec<usize> =
        (1..words.len()).filter(|at| is_word(at) && (*at > 1 || words[1] != "ask")).collect();
    let quoted = starred(&words, &asked, &files).map(|question| {
        typed_line::again(arguments, |at, _| match asked.first() {
            Some(first) if *first == at => Some(vec![typed_line::quoted(&question)]),
            _ => asked.contains(&at).then(Vec::new),
        })
    });
    let next: Vec<Next> = quoted.into_iter().chain([attached]).map(|line| Next::Type(line.into())).collect();
    Err(Failure::new(Code::Usage, message).with_next(next))
}

/// The question as it was typed, if the names of files in it are all that a shell writes in place of a lone `*`.
fn starred(words: &[String], asked: &[usize], files: &[usize]) -> Option<String> {
    let is_shown = |name: &OsString| !name.to_string_lossy().starts_with('.');
    let entries = std::fs::read_dir(".").ok()?.flatten().map(|entry| entry.file_name()).filter(is_shown);
    let there: BTreeSet<OsString> = entries.take(files.len() + 1).collect();
    let mut typed: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(place) = asked.get(at) {
        if !files.contains(place) {
            typed.push(&words[*place]);
            at += 1;
            continue;
        }
        let run = asked.get(at..at + there.len())?;
        let named: BTreeSet<OsString> = run.iter().map(|place| OsString::from(&words[*place])).collect();
        // An empty folder would be found for ever.
        if named != there || there.is_empty() {
            return None;
        }
        typed.push("*");
        at += run.len();
    }
    Some(typed.join(" "))
}

/// Whether something of this name is there that the shell would have named.
fn is_entry(word: &str) -> bool {
    !word.starts_with(['-', '@']) && Path::new(word).exists()
}

/// Whether a file's name is no word that a sentence may have.
fn is_hardly_a_word(word: &str) -> bool {
    let is_word = word.chars().all(char::is_lowercase);
    Path::new(word).is_file() && !is_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_behind_another_dash_is_a_flag() {
        for flag in
            ["—help", "–-dry-run", "−−json", "—m", "\u{a0}--dry-run", "\u{feff}-q", " --json", "—budget 1"]
        {
            assert!(behind_other_dash(flag).is_some(), "{flag}");
        }
        for text in ["--help", "-m", "— what is this?", "−40 °C", "a—b", " - a list", "————x", "-", "—"]
        {
            assert!(behind_other_dash(text).is_none(), "{text}");
        }
    }
}
