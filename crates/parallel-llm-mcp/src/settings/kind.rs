//! How the value of a setting is written, and the value it is read to.
//!
//! One text form serves the environment, flags and the table's defaults; files may also use TOML's own numbers,
//! lists and booleans. What cannot be read is told by what would have been right.

use std::fmt;
use std::path::PathBuf;

use parallel_llm_engine::code::Code;
use parallel_llm_engine::panel::{PanelEntry, ProviderId, SEATS_MAX};
use parallel_llm_engine::plan::Strategy;
use parallel_llm_engine::quorum::Wait;
use parallel_llm_engine::request::StoreMode;

use parallel_llm_engine::{Failure, PicoUsd};
use secrecy::SecretString;

use super::{invalid, nearest, wait};

/// The words for how much is stored, the loosest first.
const STORES: [(&str, StoreMode); 3] =
    [("full", StoreMode::Full), ("metadata", StoreMode::Metadata), ("none", StoreMode::None)];

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A whole number.
    Whole { min: u64, max: u64 },
    /// Any number.
    Decimal { min: f64, max: f64 },
    /// Money.
    Usd,
    /// Model references.
    Models,
    /// A strategy's name.
    Strategy,
    /// When to stop waiting.
    Wait,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// How much is stored.
    Store,
    /// On or off.
    Switch,
    /// A file or a folder.
    Path,
    /// A web address.
    Url,
    /// A key, which is never shown.
    Secret,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nobody set it, and there is no default.
    Unset,
    Whole(u64),
    Decimal(f64),
    Usd(PicoUsd),
    Models(Vec<String>),
    /// A strategy, a choice or an address, as written.
    Word(String),
    /// The rule, and how it was written.
    Wait(Wait, String),
    Store(StoreMode),
    Switch(bool),
    Path(PathBuf),
    Secret(SecretString),
}

impl Kind {
    /// Reads the text form of the value of `name`.
    pub(super) fn read(self, name: &str, text: &str) -> Result<Value, Failure> {
        let text = text.trim();
        let value = match self {
            Self::Whole { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Whole)
            }
            Self::Decimal { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Decimal)
            }
            Self::Usd => PicoUsd::from_decimal(text).map(Value::Usd),
            Self::Models => {
                let references =
                    split_models(text).iter().map(|one| read_model(one)).collect::<Result<_, _>>();
                return self.list(name, references?);
            }
            Self::Wait => wait::read(text).map(|rule| Value::Wait(rule, text.to_owned())),
            Self::Strategy | Self::Choice(_) => {
                self.words().into_iter().find(|word| *word == text).map(|word| Value::Word(word.to_owned()))
            }
            Self::Store => STORES.iter().find(|(word, _)| *word == text).map(|(_, mode)| Value::Store(*mode)),
            Self::Switch => read_switch(text).map(Value::Switch),
            Self::Url => {
                let is_web = text.starts_with("https://") || text.starts_with("http://");
                is_web.then(|| Value::Word(text.to_owned()))
            }
            Self::Path => (!text.is_empty()).then(|| Value::Path(text.into())),
            Self::Secret => (!text.is_empty()).then(|| Value::Secret(text.into())),
        };
        value.ok_or_else(|| self.misread(name, text))
    }

    /// A list of model references that were read one by one.
    pub(super) fn list(self, name: &str, references: Vec<String>) -> Result<Value, Failure> {
        match references.len() {
            0 => Err(self.mismatch(name, "an empty one")),
            1..=SEATS_MAX => Ok(Value::Models(references)),
            count => Err(self.mismatch(name, &format!("one of {count}; at most {SEATS_MAX} fit a panel"))),
        }
    }

    /// Whether TOML writes it as a number.
    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Whole { .. } | Self::Decimal { .. } | Self::Usd)
    }

    /// What was found instead of such a value.
    pub(super) fn mismatch(self, name: &str, found: &str) -> Failure {
        invalid(format!("`{name}` is {self}, not {found}"))
            .with_next("correct the value, or leave it out to have the default")
    }

    fn misread(self, name: &str, text: &str) -> Failure {
        if text.is_empty() {
            return self.mismatch(name, "blank");
        }
        let failure = self.mismatch(name, &format!("`{text}`"));
        nearest::suggest(failure, nearest::nearest(text, self.words()))
    }

    /// The words to choose from, where the value is one of a few.
    fn words(self) -> Vec<&'static str> {
        match self {
            Self::Strategy => Strategy::ALL.iter().map(|strategy| strategy.name()).collect(),
            Self::Choice(words) => words.to_vec(),
            Self::Store => STORES.iter().map(|(word, _)| *word).collect(),
            Self::Switch => vec!["on", "off"],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Kind {
    /// Completes the sentence "`name` is …".
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { min, max } => write!(out, "a whole number from {min} to {max}"),
            Self::Decimal { min, max } => write!(out, "a number from {min} to {max}"),
            Self::Usd => out.write_str("an amount in US dollars such as `3` or `0.50`"),
            Self::Models => out.write_str("a list of models, each `[provider:]model[*N][@key=value,...]`"),
            Self::Strategy | Self::Choice(_) | Self::Store | Self::Switch => {
                write!(out, "one of `{}`", self.words().join("`, `"))
            }
            Self::Wait => out.write_str("`all`, `quorum:K`, `until:DURATION` or `stragglers`"),
            Self::Path => out.write_str("a path"),
            Self::Url => out.write_str("an address that begins with `https://` or `http://`"),
            Self::Secret => out.write_str("a key"),
        }
    }
}

impl Value {
    /// Whether it allows more than the other: more money, more work, more kept.
    pub(super) fn is_looser_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Usd(mine), Self::Usd(theirs)) => mine > theirs,
            (Self::Whole(mine), Self::Whole(theirs)) => mine > theirs,
            (Self::Store(mine), Self::Store(theirs)) => strictness(*mine) < strictness(*theirs),
            (Self::Switch(mine), Self::Switch(theirs)) => *mine && !*theirs,
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    /// The text form; a secret shows only that it is there.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => out.write_str("not set"),
            Self::Whole(number) => number.fmt(out),
            Self::Decimal(number) => number.fmt(out),
            Self::Usd(amount) => amount.as_usd().fmt(out),
            Self::Models(references) => out.write_str(&references.join(" ")),
            Self::Word(word) | Self::Wait(_, word) => out.write_str(word),
            Self::Store(mode) => out.write_str(STORES[strictness(*mode)].0),
            Self::Switch(on) => out.write_str(if *on { "on" } else { "off" }),
            Self::Path(path) => path.display().fmt(out),
            Self::Secret(_) => out.write_str("set"),
        }
    }
}

/// Reads one model reference. Which providers there are is not known here, and makes no difference to whether
/// a reference can be read.
pub(super) fn read_model(text: &str) -> Result<String, Failure> {
    let anyone = ProviderId("any".into());
    match PanelEntry::parse(text, &anyone, |_| false) {
        Ok(_) => Ok(text.trim().to_owned()),
        Err(failure) => Err(invalid(&failure.message).with_next(Code::ModelInvalid.next())),
    }
}

/// Takes a list apart at white space and commas. A comma inside an entry's options does not end the entry:
/// `a/b@temperature=1,max_tokens=9` is one.
fn split_models(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut has_options = false;
        for piece in word.split(',').filter(|piece| !piece.is_empty()) {
            match entries.last_mut() {
                Some(entry) if has_options && piece.contains('=') && !piece.contains('@') => {
                    entry.push(',');
                    entry.push_str(piece);
                }
                _ => {
                    has_options = piece.contains('@');
                    entries.push(piece.to_owned());
                }
            }
        }
    }
    entries
}

fn read_switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

/// A mode's place in [`STORES`].
const fn strictness(mode: StoreMode) -> usize {
    match mode {
        StoreMode::Full => 0,
        StoreMode::Metadata => 1,
        StoreMode::None => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text form of what is read, or what is said about it.
    fn check(kind: Kind, text: &str, expected: &str) {
        let shown = match kind.read("it", text) {
            Ok(value) => value.to_string(),
            Err(failure) => format!("{} | {}", failure.message, failure.next_step()),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn values_read_to_their_text_form() {
        check(Kind::Whole { min: 1, max: 9 }, " 9 ", "9");
        check(Kind::Decimal { min: 0.0, max: 1.0 }, "0.60", "0.6");
        check(Kind::Usd, "3.50", "3.5");
        check(Kind::Wait, "until:90s", "until:90s");
        check(Kind::Store, "metadata", "metadata");
        check(Kind::Switch, "true", "on");
        check(Kind::Secret, "sk-or-1", "set");
        check(Kind::Url, "https://a.b/v1", "https://a.b/v1");
    }

    #[test]
    fn lists_are_split_but_options_are_not() {
        check(Kind::Models, "a/b, c/d*2,,e/f", "a/b c/d*2 e/f");
        check(
            Kind::Models,
            "a/b@temperature=1,max_tokens=9,c/d\ne/f",
            "a/b@temperature=1,max_tokens=9 c/d e/f",
        );
    }

    #[test]
    fn what_cannot_be_read_says_what_would_be_right() {
        let or_default = "correct the value, or leave it out to have the default";
        check(
            Kind::Whole { min: 1, max: 9 },
            "10",
            &format!("`it` is a whole number from 1 to 9, not `10` | {or_default}"),
        );
        check(
            Kind::Decimal { min: 0.0, max: 1.0 },
            "NaN",
            &format!("`it` is a number from 0 to 1, not `NaN` | {or_default}"),
        );
        check(
            Kind::Usd,
            "-1",
            &format!("`it` is an amount in US dollars such as `3` or `0.50`, not `-1` | {or_default}"),
        );
        check(
            Kind::Store,
            "metdata",
            "`it` is one of `full`, `metadata`, `none`, not `metdata` | did you mean `metadata`?",
        );
        check(Kind::Path, " ", &format!("`it` is a path, not blank | {or_default}"));
        check(
            Kind::Models,
            " , ",
            &format!(
                "`it` is a list of models, each `[provider:]model[*N][@key=value,...]`, not an empty one | {or_default}"
            ),
        );
        check(
            Kind::Models,
            "a/b*65",
            "cannot read the model `a/b*65`: the number after `*` is between 1 and 64 | write it as `vendor/model`, for example `~openai/gpt-sol-latest`",
        );
    }

    #[test]
    fn looser_means_more() {
        let looser = |kind: Kind, mine: &str, theirs: &str| {
            kind.read("it", mine).unwrap().is_looser_than(&kind.read("it", theirs).unwrap())
        };
        assert!(looser(Kind::Usd, "3.01", "3") && !looser(Kind::Usd, "3", "3"));
        assert!(looser(Kind::Store, "full", "metadata") && !looser(Kind::Store, "none", "full"));
        assert!(looser(Kind::Switch, "on", "off") && !looser(Kind::Switch, "off", "on"));
    }
}
