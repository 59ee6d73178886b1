//! What a line of a settings file was meant to be: `budget_usd = $3` is `budget_usd = 3`, `strategy = vote` has no quotes.

use crate::settings::table::Setting;
use crate::settings::value::amount;
use crate::settings::value::kind::Kind;
use crate::settings::value::wait::{self, duration_ms};

/// What ends the name of a setting that is a time.
const OF_TIME: &str = "_ms";

/// The line that sets a setting, as TOML takes it, if this one is no TOML.
pub(super) fn line(written: &str) -> Option<String> {
    let (name, value) = written.split_once(['=', ':'])?;
    let setting = Setting::by_name(name.trim().trim_matches('"'))?;
    let value = value.split(" #").next().unwrap_or(value);
    line_of(setting.name(), setting.kind(), value)
}

/// The line that sets `name` to a value of this kind, if a person wrote it so that the program does not read it.
pub(super) fn line_of(name: &str, kind: Kind, written: &str) -> Option<String> {
    let bare = |text: &str| text.trim().trim_matches(['"', '\'']).trim().to_owned();
    let text = bare(written);
    let is_taken = |text: &str| kind.read(name, text).is_ok();
    let value = if kind.is_number() {
        let lower = text.to_lowercase();
        let number = match kind {
            Kind::Usd | Kind::Budget => amount::usd(&lower),
            Kind::Whole { .. } if name.ends_with(OF_TIME) => {
                amount::time(&lower).and_then(|time| duration_ms(&time)).map(|ms| ms.to_string())
            }
            Kind::Whole { .. } => amount::tokens(&lower).map(|count| count.to_string()),
            _ => Some(lower.replace(',', ".")),
        };
        number.filter(|number| is_taken(number))?
    } else if kind.is_list() {
        let entries: Vec<String> = text.trim_matches(['[', ']']).split(',').map(bare).collect();
        let is_entry = |entry: &String| {
            entry.contains(|letter: char| letter.is_alphabetic()) && kind.entry(name, entry).is_ok()
        };
        if !entries.iter().all(is_entry) {
            return None;
        }
        format!("[{}]", entries.iter().map(|entry| quoted(entry)).collect::<Option<Vec<_>>>()?.join(", "))
    } else {
        let text = if kind == Kind::Wait { wait::example(&text).unwrap_or(text) } else { text };
        quoted(&text).filter(|_| kind != Kind::ServerOrOff && is_taken(&text))?
    };
    Some(format!("{name} = {value}"))
}

/// A text in quotes, if it needs no signs of TOML's.
fn quoted(text: &str) -> Option<String> {
    let is_plain = |letter: char| !letter.is_control() && !['"', '\\', '`'].contains(&letter);
    text.chars().all(is_plain).then(|| format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_toml_is_repaired_if_it_has_one_meaning() {
        for (written, meant) in [
            ("budget_usd = $3", Some("budget_usd = 3")),
            ("budget_usd = 3,50 # a day", Some("budget_usd = 3.50")),
            ("budget_usd: 3 USD", Some("budget_usd = 3")),
            ("run_timeout_ms = 5m", Some("run_timeout_ms = 300000")),
            ("max_tokens = 4k", Some("max_tokens = 4000")),
            ("strategy = vote", Some("strategy = \"vote\"")),
            ("panel = [openai/gpt-6.1-sol, opus]", Some("panel = [\"openai/gpt-6.1-sol\", \"opus\"]")),
            ("wait = quorum:3", Some("wait = \"quorum:3\"")),
            ("wait = 3", Some("wait = \"quorum:3\"")),
            ("panel = 5", None),
            // It may hold a password.
            ("database_url = postgres://runs:word@host/runs", None),
            ("strategy = voting", None),
            ("budget_usd = -3", None),
            ("max_tokens = 4.000", None),
            ("max_tokens = 4 000", Some("max_tokens = 4000")),
            ("max_tokens = 1 2", None),
            ("panel = []", None),
            ("verbosity = 3", None),
            ("just words", None),
        ] {
            assert_eq!(line(written).as_deref(), meant, "{written}");
        }
    }
}
