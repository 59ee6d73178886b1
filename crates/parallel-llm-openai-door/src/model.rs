//! The name of a model: `panel/NAME`, which stands for a panel and the way its answers become one.
//!
//! `NAME` is a preset or a flow of the settings, a strategy with its options, or models joined by `+`. Invariant: a name
//! has one meaning or none; nothing is guessed.

use parallel_llm_engine::request::strategy::{AUTO, ResolvedStrategy, Strategy};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::{Advice, Name, Next, Operation};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::settings::{Named, Settings};

/// How the name of every model begins.
pub(crate) const PREFIX: &str = "panel/";
/// What joins the models of a panel that is named by them.
const JOIN: char = '+';
/// How a `+` in the name of a model is written.
const ESCAPED_JOIN: &str = "%2B";
/// The longest quoted name in a message, in characters.
const QUOTED_CHARS: usize = 80;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// The preset or flow.
    pub(crate) preset: Option<String>,
    /// The models of the panel.
    pub(crate) models: Option<Vec<String>>,
    /// The strategy with its options.
    pub(crate) strategy: Option<String>,
    /// What kind of name it is.
    pub(crate) kind: Kind,
}

/// The kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Preset,
    Flow,
    Strategy,
    Models,
}

impl Kind {
    /// Its word, which the list of models gives as the owner.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Preset => "preset",
            Self::Flow => "flow",
            Self::Strategy => "strategy",
            Self::Models => "models",
        }
    }
}

impl Model {
    const fn of(kind: Kind) -> Self {
        Self { preset: None, models: None, strategy: None, kind }
    }

    /// Reads a name.
    pub(crate) fn read(settings: &Settings, text: &str) -> Result<Self, Failure> {
        let Some(name) = text.strip_prefix(PREFIX) else { return Err(unknown(settings, text)) };
        let base = name.split_once('@').map_or(name, |(base, _)| base);
        let (is_strategy, preset) = (is_strategy(base), settings.names().contains(base));
        match (is_strategy, preset) {
            (true, true) => Err(ambiguous(base)),
            (true, false) => {
                ResolvedStrategy::check(name)?;
                Ok(Self { strategy: Some(name.to_owned()), ..Self::of(Kind::Strategy) })
            }
            (false, false) if let Some(retired) = Strategy::retired(name) => Err(with_prefix(retired)),
            (false, true) if base != name => {
                let message = format!("`{base}` is a panel, and options belong to a strategy or a model");
                let options = name.strip_prefix(base).unwrap_or_default().to_owned();
                Err(Failure::new(Code::ModelInvalid, message).with_next(Next::LeaveOut(options.into())))
            }
            (false, _) if is_plain(name) => {
                Self::named(settings, name).map_err(|failure| match failure.code {
                    Code::Usage => unknown(settings, text),
                    _ => failure,
                })
            }
            (false, _) => Ok(Self { models: Some(joined(settings, text, name)?), ..Self::of(Kind::Models) }),
        }
    }

    fn named(settings: &Settings, name: &str) -> Result<Self, Failure> {
        let kind = match settings.named(name)? {
            Named::Preset(_) => Kind::Preset,
            Named::Flow(_) => Kind::Flow,
        };
        Ok(Self { preset: Some(name.to_owned()), ..Self::of(kind) })
    }

    /// Every name but those of panels named by their models, with its kind.
    pub(crate) fn all(settings: &Settings) -> Vec<(String, Kind)> {
        let named = settings.names().into_iter().filter(|name| !is_strategy(name));
        let named = named.filter_map(|name| Some((name, Self::named(settings, name).ok()?.kind)));
        let strategies = strategies().filter(|name| !settings.names().contains(name));
        let all = named.chain(strategies.map(|name| (name, Kind::Strategy)));
        all.map(|(name, kind)| (format!("{PREFIX}{name}"), kind)).collect()
    }
}

/// The models of a name that joins them.
fn joined(settings: &Settings, text: &str, name: &str) -> Result<Vec<String>, Failure> {
    if !name.contains([JOIN, '/', ':']) {
        return Err(unknown(settings, text));
    }
    let models: Vec<String> = name.split(JOIN).map(|model| unescaped(model.trim())).collect();
    if models.iter().any(String::is_empty) {
        let shown = excerpt(text, QUOTED_CHARS);
        let message = format!(
            "`{shown}` has no model on one side of a `{JOIN}`; one in the name of a model is written `{ESCAPED_JOIN}`"
        );
        return Err(Failure::new(Code::ModelInvalid, message).with_next(Next::WriteAs(example())));
    }
    Ok(models)
}

/// The failure for a strategy that only stored runs have, with what takes its place as the name of a model.
fn with_prefix(retired: Failure) -> Failure {
    let prefixed = |name: Name| Name::from(format!("{PREFIX}{name}"));
    let next = retired.next.iter().cloned().map(|next| match next {
        Next::WriteAs(name) => Next::WriteAs(prefixed(name)),
        Next::ChooseOne(names) => Next::ChooseOne(names.into_iter().map(prefixed).collect()),
        next => next,
    });
    let next: Vec<Next> = next.collect();
    retired.with_next(next)
}

fn example() -> Name {
    Name::from("panel/~openai/gpt-sol-latest+~google/gemini-pro-latest")
}

/// The name of a model with its `+`.
fn unescaped(model: &str) -> String {
    model.replace(ESCAPED_JOIN, "+").replace("%2b", "+")
}

/// Whether a name can only be that of a preset, a flow or a strategy.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn strategies() -> impl Iterator<Item = &'static str> {
    Strategy::names().filter(|name| *name != AUTO).chain([AUTO])
}

fn is_strategy(name: &str) -> bool {
    strategies().any(|strategy| strategy == name)
}

fn ambiguous(name: &str) -> Failure {
    let message = format!("`{PREFIX}{name}` is both a strategy and a preset or a flow of the settings");
    let strategy = format!("{{\"parallel_llm\": {{\"strategy\": \"{name}\"}}}}");
    let next = [Next::Example(strategy.into()), Next::Do(Advice::RenamePreset)];
    Failure::new(Code::ModelInvalid, message).with_next(next)
}

/// The failure for a name without a meaning.
fn unknown(settings: &Settings, text: &str) -> Failure {
    let shown = excerpt(text, QUOTED_CHARS);
    let failure = Failure::new(Code::ModelUnknown, format!("there is no model `{shown}` here"));
    let all = Model::all(settings);
    let name = text.strip_prefix(PREFIX).unwrap_or(text);
    let names = all.iter().filter_map(|(id, _)| id.strip_prefix(PREFIX));
    match nearest(name, names) {
        Some(meant) => failure.with_next(Next::Meant(format!("{PREFIX}{meant}").into())),
        None => failure.with_next(Operation::ListModels),
    }
}
