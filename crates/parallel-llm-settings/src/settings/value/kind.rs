//! The kinds of settings: how a value is written and parsed.
//!
//! The environment, flags and defaults share one text form; files may also use TOML's numbers, lists and booleans. An
//! error about a value says what would be accepted.

use std::fmt;
use std::path::PathBuf;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::panel::{DEFAULT_PROVIDER, PanelEntry, ProviderId, SEATS_MAX};
use parallel_llm_engine::request::strategy::{ResolvedStrategy, Strategy};
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Failure, PicoUsd, request::file_names, value::nearest};

use super::database_url::DatabaseUrl;
use super::failure::invalid;
use super::{command, wait};

/// Turns off a value that would be sent otherwise. In a file, an empty string does too; a blank variable counts as
/// unset.
pub(in crate::settings) const OFF: &str = "off";
/// Leaves a choice to the program.
pub(in crate::settings) const AUTO: &str = "auto";
/// No limit, as a budget.
pub const NO_LIMIT: &str = "none";
/// Longest word in bytes: several times the longest provider name.
const WORD_BYTES_MAX: usize = 100;
/// Longest header text in bytes; it is sent with every call.
const TEXT_BYTES_MAX: usize = 200;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::settings) enum Kind {
    /// A whole number.
    Whole { min: u64, max: u64 },
    /// A number.
    Decimal { min: f64, max: f64 },
    /// An amount of money.
    Usd,
    /// An amount of money, or `none` for no limit.
    Budget,
    /// Model references.
    Models,
    /// One model reference, `auto` or `off`.
    ModelOrWord,
    /// A list of words, such as provider names.
    Words,
    /// One word of a provider's vocabulary.
    Word,
    /// A strategy with its options.
    Strategy,
    /// A wait rule.
    Wait,
    /// One of these words, the loosest first if a project may only tighten it.
    Choice(&'static [&'static str]),
    /// A store mode.
    Store,
    /// On or off, and which of them is stricter.
    Switch { strict: bool },
    /// A path of a file or folder.
    Path,
    /// Paths of folders; in one text they are separated as in `PATH`.
    Paths,
    /// A name for a run's file.
    FileName(FileNameOf),
    /// A program and its arguments.
    Command,
    /// One line for a header, or `off`.
    TextOrOff,
    /// A web address, or `off`.
    UrlOrOff,
    /// The address of a database server, or `off`.
    ServerOrOff,
}

/// The kind of file to name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::settings) enum FileNameOf {
    /// An answer, named by a pattern.
    Answer,
    /// The final text.
    FinalText,
}

/// A parsed value.
#[derive(Clone, Debug)]
pub(in crate::settings) enum Value {
    /// Not set, and without a default.
    Unset,
    Whole(u64),
    Decimal(f64),
    Usd(PicoUsd),
    /// Models or words, as written.
    List(Vec<String>),
    /// A strategy, choice, text or address, as written.
    Word(String),
    /// The rule, and its text as written.
    Wait(Wait, String),
    Store(StoreMode),
    Switch(bool),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    Server(DatabaseUrl),
    /// A program and its arguments, never empty.
    Command(Vec<String>),
    /// Turned off.
    Off,
}

impl Kind {
    /// Parses the text form of the setting `name`.
    pub(in crate::settings) fn read(self, name: &str, text: &str) -> Result<Value, Failure> {
        let text = text.trim();
        let value = match self {
            Self::Whole { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Whole)
            }
            Self::Decimal { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Decimal)
            }
            Self::Budget if text.eq_ignore_ascii_case(NO_LIMIT) => Some(Value::Usd(PicoUsd::UNLIMITED)),
            Self::Usd | Self::Budget => PicoUsd::from_decimal(text).map(Value::Usd),
            Self::Models => {
                let references =
                    split_models(text).iter().map(|one| read_model(one)).collect::<Result<_, _>>();
                return self.list(name, references?);
            }
            Self::Words => {
                let words = text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
                let words = words.map(|word| read_word(word).ok_or_else(|| self.misread(name, word)));
                return self.list(name, words.collect::<Result<_, _>>()?);
            }
            Self::Paths => {
                let paths = std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty());
                return self.list(name, paths.map(|path| path.to_string_lossy().into_owned()).collect());
            }
            Self::ModelOrWord if is_word(text, AUTO) || is_word(text, OFF) => {
                Some(Value::Word(text.to_ascii_lowercase()))
            }
            Self::ModelOrWord => Some(Value::Word(read_model(text)?)),
            Self::Command => return command::of_text(name, text).map(Value::Command),
            Self::Word => read_word(text).map(Value::Word),
            Self::Wait => {
                let text = text.to_ascii_lowercase();
                wait::read(&text).map(|rule| Value::Wait(rule, text))
            }
            Self::Strategy if let Some(retired) = Strategy::retired(text) => {
                return Err(invalid(retired.message).with_next(retired.next));
            }
            Self::Strategy => ResolvedStrategy::check(text).ok().map(|()| Value::Word(text.to_owned())),
            Self::Choice(_) => self
                .words()
                .into_iter()
                .find(|word| is_word(text, word))
                .map(|word| Value::Word(word.to_owned())),
            Self::Store => StoreMode::by_word(text).map(Value::Store),
            Self::Switch { .. } => read_switch(text).map(Value::Switch),
            Self::TextOrOff | Self::UrlOrOff | Self::ServerOrOff if text.is_empty() || is_word(text, OFF) => {
                Some(Value::Off)
            }
            Self::TextOrOff => is_header_text(text).then(|| Value::Word(text.to_owned())),
            Self::UrlOrOff => {
                let is_web = text.starts_with("https://") || text.starts_with("http://");
                (is_web && is_header_text(text)).then(|| Value::Word(text.to_owned()))
            }
            Self::ServerOrOff => {
                // Not repeated in the message: a typing error may hide where its password begins.
                let url = DatabaseUrl::read(text).ok_or_else(|| self.mismatch(name, "this text"))?;
                Some(Value::Server(url))
            }
            Self::Path => (!text.is_empty()).then(|| Value::Path(text.into())),
            Self::FileName(file) => {
                file.check(text).map_err(|why| self.mismatch(name, &format!("`{text}`: {why}")))?;
                Some(Value::Word(text.to_owned()))
            }
        };
        value.ok_or_else(|| self.misread(name, text))
    }

    /// Makes a list of parsed entries.
    pub(in crate::settings) fn list(self, name: &str, entries: Vec<String>) -> Result<Value, Failure> {
        match entries.len() {
            0 => Err(self.mismatch(name, "an empty one")),
            1..=SEATS_MAX if self == Self::Paths => {
                Ok(Value::Paths(entries.into_iter().map(PathBuf::from).collect()))
            }
            1..=SEATS_MAX => Ok(Value::List(entries)),
            count if self == Self::Models => {
                Err(self.mismatch(name, &format!("one of {count}; at most {SEATS_MAX} fit a panel")))
            }
            count => Err(self.mismatch(name, &format!("one of {count}; at most {SEATS_MAX} are read"))),
        }
    }

    /// Parses one entry of a list.
    pub(in crate::settings) fn entry(self, name: &str, text: &str) -> Result<String, Failure> {
        match self {
            Self::Models => read_model(text),
            Self::Paths if text.trim().is_empty() => Err(self.misread(name, "")),
            Self::Paths => Ok(text.to_owned()),
            _ => read_word(text).ok_or_else(|| self.misread(name, text)),
        }
    }

    /// Whether values of this kind are lists.
    pub(in crate::settings) const fn is_list(self) -> bool {
        matches!(self, Self::Models | Self::Words | Self::Paths)
    }

    /// Whether `mine` allows more than `theirs`: more money, work, storage or recipients. If `theirs` is unset, nothing
    /// is known to be allowed, and only the strictest choice is not looser.
    pub(in crate::settings) fn is_looser(self, mine: &Value, theirs: &Value) -> bool {
        let rank = |value: &Value| self.words().iter().position(|word| *word == value.to_string());
        match (self, mine, theirs) {
            (Self::Choice(words), mine, Value::Unset) => rank(mine) != Some(words.len() - 1),
            (Self::Choice(_), mine, theirs) => rank(mine) < rank(theirs),
            (Self::Store, Value::Store(mine), Value::Store(theirs)) => mine < theirs,
            (Self::Switch { strict }, Value::Switch(mine), Value::Switch(theirs)) => {
                mine != theirs && *mine != strict
            }
            (Self::Switch { strict }, Value::Switch(mine), Value::Unset) => *mine != strict,
            (_, Value::Usd(mine), Value::Usd(theirs)) => mine > theirs,
            (_, Value::Whole(mine), Value::Whole(theirs)) => mine > theirs,
            _ => false,
        }
    }

    /// Whether TOML writes it as a number.
    pub(in crate::settings) const fn is_number(self) -> bool {
        matches!(self, Self::Whole { .. } | Self::Decimal { .. } | Self::Usd | Self::Budget)
    }

    /// The failure for a value of another form.
    pub(in crate::settings) fn mismatch(self, name: &str, found: &str) -> Failure {
        invalid(format!("`{name}` is {self}, not {found}")).with_next(Advice::CorrectOrDefault)
    }

    fn misread(self, name: &str, text: &str) -> Failure {
        if text.is_empty() {
            return self.mismatch(name, "blank");
        }
        let failure = self.mismatch(name, &format!("`{text}`"));
        if let Some(example) = wait::example(text).filter(|_| self == Self::Wait) {
            return failure.with_next(Next::WriteAs(example.into()));
        }
        nearest::suggest(failure, nearest::nearest(text, self.words()))
    }

    /// The accepted words, if there are only a few.
    fn words(self) -> Vec<&'static str> {
        match self {
            Self::Strategy => Strategy::names().collect(),
            Self::Choice(words) => words.to_vec(),
            Self::Store => StoreMode::ALL.iter().map(|mode| mode.word()).collect(),
            Self::Switch { .. } => vec!["on", "off"],
            Self::Wait => wait::WORDS.to_vec(),
            _ => Vec::new(),
        }
    }
}

impl FileNameOf {
    fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Answer => file_names::check_answer(text),
            Self::FinalText => file_names::check_final_text(text),
        }
    }
}

impl fmt::Display for Kind {
    /// Completes the sentence "`name` is …".
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { min, max } => write!(out, "a whole number from {min} to {max}"),
            Self::Decimal { min, max } => write!(out, "a number from {min} to {max}"),
            Self::Usd | Self::Budget => out.write_str("an amount in US dollars such as `3` or `0.50`"),
            Self::Models => out.write_str("a list of models, each `[provider:]model[*N][@key=value,...]`"),
            Self::ModelOrWord => {
                write!(out, "one model, `[provider:]model[@key=value,...]`, or `{AUTO}` or `{OFF}`")
            }
            Self::Strategy => {
                write!(out, "`{}`, each with its options behind `@`", self.words().join("` or `"))
            }
            Self::Choice(_) | Self::Store | Self::Switch { .. } => {
                write!(out, "one of `{}`", self.words().join("`, `"))
            }
            Self::Wait => out.write_str("`all`, `quorum:K`, `until:DURATION` or `stragglers`"),
            Self::Words => out.write_str("a list of words"),
            Self::Word => out.write_str("one word"),
            Self::Path => out.write_str("a path"),
            Self::Paths => out.write_str("a list of paths"),
            Self::FileName(FileNameOf::Answer) => {
                out.write_str("a file name with `{seat}` and, if you like, `{model}` in it")
            }
            Self::FileName(FileNameOf::FinalText) => out.write_str("a file name"),
            Self::Command => out.write_str("a program and its arguments, as a list or as one text"),
            Self::TextOrOff => write!(out, "up to {TEXT_BYTES_MAX} plain characters, or `{OFF}`"),
            Self::UrlOrOff => write!(out, "an address that begins with `https://` or `http://`, or `{OFF}`"),
            Self::ServerOrOff => {
                write!(
                    out,
                    "the address of a PostgreSQL server, `postgres://USER:PASSWORD@HOST/DATABASE`, or `{OFF}`"
                )
            }
        }
    }
}

impl fmt::Display for Value {
    /// The text form.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => out.write_str("not set"),
            Self::Whole(number) => number.fmt(out),
            Self::Decimal(number) => number.fmt(out),
            Self::Usd(amount) if amount.is_unlimited() => out.write_str(NO_LIMIT),
            Self::Usd(amount) => amount.as_usd().fmt(out),
            Self::List(entries) => out.write_str(&entries.join(" ")),
            Self::Word(word) | Self::Wait(_, word) => out.write_str(word),
            Self::Store(mode) => out.write_str(mode.word()),
            Self::Switch(on) => out.write_str(if *on { "on" } else { "off" }),
            Self::Path(path) => path.display().fmt(out),
            Self::Server(url) => url.fmt(out),
            Self::Paths(paths) => {
                // A path that cannot be joined stands in a file, which takes lists.
                let shown = |path: &PathBuf| path.display().to_string();
                let joined = std::env::join_paths(paths).map(|all| all.to_string_lossy().into_owned());
                out.write_str(
                    &joined.unwrap_or_else(|_| paths.iter().map(shown).collect::<Vec<_>>().join(" ")),
                )
            }
            // Arguments may be secrets.
            Self::Command(words) => out.write_str(&words[0]),
            Self::Off => out.write_str(OFF),
        }
    }
}

/// Parses one model reference, without knowing the providers, which does not affect its syntax.
pub(in crate::settings) fn read_model(text: &str) -> Result<String, Failure> {
    let anyone = ProviderId("any".into());
    match PanelEntry::parse(text, &anyone, |_| false) {
        Ok(_) => Ok(text.trim().to_owned()),
        Err(failure) => Err(invalid(&failure.message).with_next(failure.next_steps().to_vec())),
    }
}

/// The provider of a model reference; the default one if it names none that exists. `None` if the reference cannot be
/// parsed.
pub(in crate::settings) fn provider_of(
    reference: &str,
    is_provider: impl Fn(&str) -> bool,
) -> Option<ProviderId> {
    entry_of(reference, is_provider).map(|entry| entry.model.provider)
}

/// The seat of a model reference, with its options.
pub(in crate::settings) fn entry_of(
    reference: &str,
    is_provider: impl Fn(&str) -> bool,
) -> Option<PanelEntry> {
    PanelEntry::parse(reference, &ProviderId(DEFAULT_PROVIDER.to_owned()), is_provider).ok()
}

/// Splits a list at white space and commas. A comma inside an entry's options does not end the entry:
/// `a/b@temperature=1,max_tokens=9` is one.
pub fn split_models(text: &str) -> Vec<String> {
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

/// Parses one word: short, visible, without separators.
fn read_word(text: &str) -> Option<String> {
    let is_word = (1..=WORD_BYTES_MAX).contains(&text.len());
    (is_word && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')).then(|| text.to_owned())
}

/// Whether the text is valid in a header.
fn is_header_text(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// Whether the text is this word of ours, in any case.
const fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

fn read_switch(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the parsed value's text form, or the failure, with `expected`.
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
        check(Kind::Switch { strict: true }, "true", "on");
        check(Kind::UrlOrOff, "https://a.b/v1", "https://a.b/v1");
        check(Kind::UrlOrOff, " ", "off");
        check(Kind::TextOrOff, "My app", "My app");
        check(Kind::TextOrOff, "off", "off");
        check(Kind::Words, "deepinfra/turbo, together", "deepinfra/turbo together");
        check(Kind::Word, "flex", "flex");
        check(Kind::Command, "'/my/check' --token secret", "/my/check");
        check(Kind::FileName(FileNameOf::Answer), "test_llm_{seat}.txt", "test_llm_{seat}.txt");
        #[cfg(unix)]
        check(Kind::Paths, "/my/notes::~/a, b", "/my/notes:~/a, b");
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
    fn an_invalid_value_is_refused_with_the_valid_form() {
        let or_default = "correct the value, or leave it out to use the default";
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
            "cannot read the model `a/b*65`: the number after `*` is between 1 and 64 | write it like `a/b*3`",
        );
    }

    #[test]
    fn a_name_that_files_cannot_have_is_refused_with_a_reason() {
        let or_default = "correct the value, or leave it out to use the default";
        check(
            Kind::FileName(FileNameOf::Answer),
            "answer.md",
            &format!(
                "`it` is a file name with `{{seat}}` and, if you like, `{{model}}` in it, not `answer.md`: answers would share a name: put `{{seat}}` into it | {or_default}"
            ),
        );
        check(
            Kind::FileName(FileNameOf::FinalText),
            "../best.md",
            &format!(
                "`it` is a file name, not `../best.md`: letters, digits, dots, dashes and underscores make up a file name | {or_default}"
            ),
        );
    }

    #[test]
    fn looser_means_more() {
        let looser = |kind: Kind, mine: &str, theirs: &str| {
            kind.is_looser(&kind.read("it", mine).unwrap(), &kind.read("it", theirs).unwrap())
        };
        let looser_than_nothing =
            |kind: Kind, mine: &str| kind.is_looser(&kind.read("it", mine).unwrap(), &Value::Unset);
        assert!(looser(Kind::Usd, "3.01", "3") && !looser(Kind::Usd, "3", "3"));
        assert!(looser(Kind::Store, "full", "metadata") && !looser(Kind::Store, "none", "full"));
        let [kept, private] = [Kind::Switch { strict: false }, Kind::Switch { strict: true }];
        assert!(looser(kept, "on", "off") && !looser(kept, "off", "on") && !looser(kept, "on", "on"));
        assert!(looser(private, "off", "on") && !looser(private, "on", "off"));
        assert!(looser_than_nothing(private, "off") && !looser_than_nothing(private, "on"));
        let choice = Kind::Choice(&["allow", "deny"]);
        assert!(looser(choice, "allow", "deny") && !looser(choice, "deny", "allow"));
        assert!(looser_than_nothing(choice, "allow") && !looser_than_nothing(choice, "deny"));
        assert!(!looser_than_nothing(Kind::Usd, "100"));
    }
}
