//! Placeholders for what differs from run to run, so that whole outputs can be compared.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Characters of a run's id.
const RUN_ID_CHARS: usize = 26;

/// The fields of a report that differ from run to run.
const VOLATILE: [&str; 12] = [
    "run_id",
    "plan_hash",
    "elapsed_ms",
    "connected_ms",
    "first_token_ms",
    "first_text_ms",
    "extra_ms",
    "generation_id",
    "created_at_ms",
    "decided_at_ms",
    "closed_at_ms",
    "version",
];

/// The paths and addresses of a sandbox.
pub(crate) struct Placeholders {
    home: String,
    address: String,
}

impl Placeholders {
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        Self {
            home: sandbox.home().display().to_string(),
            address: sandbox.simulator().address().to_string(),
        }
    }

    /// The text with placeholders for folders, addresses, run ids and times.
    pub(crate) fn mask(&self, text: &str) -> String {
        let text = text.replace(&self.home, "<home>").replace(&self.address, "<simulator>");
        text.split_inclusive('\n').map(|line| ages(&times(&dates(&generations(&run_ids(line)))))).collect()
    }
}

/// Replaces what differs from run to run in a report by the name of its field.
pub fn report(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if VOLATILE.contains(&name.as_str()) && !field.is_null() {
                    *field = Value::String(format!("<{name}>"));
                } else {
                    report(field);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(report),
        _ => {}
    }
}

/// `01M7WGEKRDFZ7B8XMTVYJPZNPZ` becomes `<run>`.
fn run_ids(line: &str) -> String {
    replace(line, |word| {
        let is_id = word.len() == RUN_ID_CHARS
            && word.starts_with("01")
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        is_id.then_some("<run>")
    })
}

/// `gen-1795180233-o5hbOSwHVWnfA4meVmYM` becomes `<generation>`.
fn generations(line: &str) -> String {
    let Some((before, from)) = line.split_once("gen-1") else { return line.to_owned() };
    let end = from.find(|character: char| !character.is_ascii_alphanumeric() && character != '-');
    format!("{before}<generation>{}", &from[end.unwrap_or(from.len())..])
}

/// `12.3 s` becomes `<time>`, and the spaces that align `[ +12.3 s]` become one.
fn times(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(end) = rest.find(" s") {
        let (head, tail) = rest.split_at(end);
        let after = &tail[2..];
        let number = head.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
        let is_time =
            head[number.len()..].contains('.') && !after.starts_with(|next: char| next.is_alphanumeric());
        if is_time {
            match number.strip_suffix('+') {
                Some(before) => masked.push_str(&format!("{} +<time>", before.trim_end())),
                None => masked.push_str(&format!("{number}<time>")),
            }
        } else {
            masked.push_str(head);
            masked.push_str(" s");
        }
        rest = after;
    }
    masked + rest
}

/// `7 s ago` becomes `<age> ago`: how old a run is depends on the speed of the machine.
fn ages(line: &str) -> String {
    let mut pieces = line.split(" ago");
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let words: Vec<&str> = masked.rsplitn(3, ' ').collect();
        if let [unit @ ("s" | "min"), number, ..] = words[..] {
            let digits = number.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                masked.truncate(masked.len() - digits.len() - 1 - unit.len());
                masked.push_str("<age>");
            }
        }
        masked.push_str(" ago");
        masked.push_str(piece);
    }
    masked
}

/// `Sat, 21 Nov 2026 00:00:00 GMT` becomes `<date>`.
fn dates(line: &str) -> String {
    const DATE_BYTES: usize = "Sat, 21 Nov 2026 00:00:00 GMT".len();
    let end = line.find(" GMT").map(|at| at + " GMT".len());
    let Some((from, to)) = end.and_then(|to| Some((to.checked_sub(DATE_BYTES)?, to))) else {
        return line.to_owned();
    };
    format!("{}<date>{}", &line[..from], &line[to..])
}

/// Replaces words of letters and digits.
fn replace<'a>(line: &'a str, by: impl Fn(&'a str) -> Option<&'a str>) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        replaced.push_str(by(word).unwrap_or(word));
        let next = after.find(|character: char| character.is_ascii_alphanumeric()).unwrap_or(after.len());
        replaced.push_str(&after[..next]);
        rest = &after[next..];
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_masked() {
        let places = Placeholders { home: "/tmp/x1".into(), address: "127.0.0.1:4000".into() };
        let line =
            "[  +0.0 s] run 01M7WGEKRDFZ7B8XMTVYJPZNPZ in /tmp/x1/a at 127.0.0.1:4000: 5 seats, 12.3 s";
        assert_eq!(
            places.mask("asked (7 s ago, 12 min ago), long ago"),
            "asked (<age> ago, <age> ago), long ago"
        );
        assert_eq!(places.mask(line), "[ +<time>] run <run> in <home>/a at <simulator>: 5 seats, <time>");
    }
}
