//! What can be typed at a place of the command line.
//!
//! Invariant: a candidate has only letters that no shell expands, because some come from the lists of providers.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Arg, Command};
use parallel_llm_engine::request::strategy::{AUTO, Strategy};
use parallel_llm_engine::{Code, Effort, Failure};
use parallel_llm_service::RunFilter;

use crate::command::ask::template;
use crate::command::context::CommandContext;

/// The most runs that are offered.
const RUNS_MAX: usize = 50;

/// A kind of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Presets,
    Models,
    Strategies,
    Runs,
    Batches,
    Providers,
    Templates,
    Flows,
    Codes,
    Efforts,
    /// These words and no others.
    Words(Vec<String>),
    /// Files, which the shell completes itself, or nothing.
    Other,
}

impl Kind {
    /// The kinds that a script asks for, by their words.
    const ASKED: [(&'static str, Self); 10] = [
        ("presets", Self::Presets),
        ("models", Self::Models),
        ("strategies", Self::Strategies),
        ("runs", Self::Runs),
        ("batches", Self::Batches),
        ("providers", Self::Providers),
        ("templates", Self::Templates),
        ("flows", Self::Flows),
        ("codes", Self::Codes),
        ("efforts", Self::Efforts),
    ];

    pub(super) fn by_word(word: &str) -> Option<Self> {
        Self::ASKED.into_iter().find(|(known, _)| *known == word).map(|(_, kind)| kind)
    }

    pub(super) fn word(&self) -> Option<&'static str> {
        Self::ASKED.iter().find(|(_, kind)| kind == self).map(|(word, _)| *word)
    }

    /// The kind of the values of an argument.
    pub(super) fn of(argument: &Arg) -> Self {
        let words: Vec<String> =
            argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let takes_values = argument.get_action().takes_values();
        match (argument.get_id().as_str(), argument.is_positional()) {
            _ if !takes_values => Self::Other,
            _ if !words.is_empty() => Self::Words(words),
            ("preset", _) => Self::Presets,
            ("models" | "synthesizer", _) => Self::Models,
            ("strategy", _) => Self::Strategies,
            ("template", _) => Self::Templates,
            ("effort", _) => Self::Efforts,
            ("provider" | "providers", _) => Self::Providers,
            ("continued" | "before" | "run" | "runs", _) => Self::Runs,
            ("batch", true) => Self::Batches,
            ("flow", true) => Self::Flows,
            ("code", true) => Self::Codes,
            _ => Self::Other,
        }
    }
}

/// All values of a kind.
pub(super) async fn values(context: &CommandContext<'_>, kind: &Kind) -> Result<Vec<String>, Failure> {
    let service = context.service;
    let settings = &service.settings;
    let names: Vec<String> = match kind {
        Kind::Presets => {
            let presets = settings.presets.keys().cloned();
            presets.chain(settings.flows.keys().cloned()).collect()
        }
        Kind::Models => {
            let names = service.models.cached_names().await?;
            names.into_iter().map(|name| name.trim_start_matches('~').to_owned()).collect()
        }
        Kind::Strategies => {
            let named = Strategy::ALL.iter().map(|strategy| strategy.name());
            named.chain([AUTO]).map(str::to_owned).collect()
        }
        Kind::Runs => {
            let filter = RunFilter { limit: RUNS_MAX, before: None, status: None };
            let runs = service.runs.list(filter).await?;
            let ids = runs.iter().map(|run| run.run_id.to_string());
            std::iter::once("@".to_owned()).chain(ids).collect()
        }
        Kind::Batches => service.batches.list().await?.iter().map(|batch| batch.id.to_string()).collect(),
        Kind::Providers => settings.providers.iter().map(|provider| provider.id.to_string()).collect(),
        Kind::Templates => template::all(settings),
        Kind::Flows => settings.flows.keys().cloned().collect(),
        Kind::Codes => Code::ALL.iter().map(|code| code.as_str().to_owned()).collect(),
        Kind::Efforts => Effort::ALL.iter().map(|effort| effort.word().to_owned()).collect(),
        Kind::Words(words) => words.clone(),
        Kind::Other => Vec::new(),
    };
    let mut seen = BTreeSet::new();
    Ok(names.into_iter().filter(|name| is_plain(name) && seen.insert(name.clone())).collect())
}

/// Whether no shell reads anything into a name.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:@+-".contains(&byte);
    !name.is_empty() && name.bytes().all(is_letter)
}

/// What fits the last of these words, of which the first is the program.
pub(super) async fn of_words(
    context: &CommandContext<'_>,
    root: &Command,
    words: &[OsString],
) -> Result<Vec<String>, Failure> {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let (current, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (*last, before));
    let mut command = root;
    for word in before {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let value_of = before.last().and_then(|flag| option(command, flag));
    let found = match value_of {
        Some(argument) => values(context, &Kind::of(argument)).await?,
        None if current.starts_with('-') => offered(command).filter(|word| word.starts_with('-')).collect(),
        None => {
            let positional = command.get_positionals().next().map(Kind::of);
            let mut found: Vec<String> = offered(command).filter(|word| !word.starts_with('-')).collect();
            if let Some(kind) = positional {
                found.extend(values(context, &kind).await?);
            }
            found
        }
    };
    Ok(found.into_iter().filter(|word| word.starts_with(current)).collect())
}

/// The option that this word is, if it takes a value that may follow as the next word.
fn option<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_it = |argument: &&Arg| flags(argument).any(|flag| flag == word);
    command.get_arguments().find(is_it).filter(|argument| argument.get_action().takes_values())
}

/// The commands below a command and its flags that are shown.
pub(super) fn offered(command: &Command) -> impl Iterator<Item = String> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let long = shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    below.map(|command| command.get_name().to_owned()).chain(long)
}

/// The flags of an option as they are typed.
pub(super) fn flags(argument: &Arg) -> impl Iterator<Item = String> {
    let short = argument.get_short().map(|letter| format!("-{letter}"));
    let long = argument.get_long().map(|name| format!("--{name}"));
    short.into_iter().chain(long)
}
