//! "Did you mean": the known name most like an unknown one, for models, settings, arguments and codes alike.

use crate::value::answer::Failure;
use crate::value::next::Next;

/// Below this likeness (0 to 1) a name is no suggestion. Known names share words, so less would suggest strangers.
const LIKENESS_MIN: f64 = 0.8;
/// A longer name is no misspelling of any that is known, and to compare it would take its length squared.
const NAME_BYTES_MAX: usize = 512;

/// The known name most like `name`, where one is alike enough to be meant; the first of equals. Neither case counts nor
/// the `~` before a model's name, which a shell may have taken away.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = plain(name);
    let mut best: Option<(f64, &str)> = None;
    for one in known {
        let likeness = strsim::jaro_winkler(&name, &plain(one));
        if likeness >= LIKENESS_MIN && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, one));
        }
    }
    best.map(|(_, one)| one)
}

fn plain(name: &str) -> String {
    name.trim_start_matches('~').to_lowercase()
}

/// Asks for the name that was meant as the failure's next step, where there is one.
#[must_use]
pub fn suggest(failure: Failure, meant: Option<impl std::fmt::Display>) -> Failure {
    match meant {
        Some(meant) => failure.with_next(Next::Meant(meant.to_string().into())),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alike_is_suggested() {
        let known = ["panel", "max_tokens", "wait", "~lab/sol-latest"];
        assert_eq!(nearest("pannel", known), Some("panel"));
        assert_eq!(nearest("MaxTokens", known), Some("max_tokens"));
        assert_eq!(nearest("lab/sol-latst", known), Some("~lab/sol-latest"));
        assert_eq!(nearest("verbosity", known), None);
        let long = "panel".repeat(1_000_000);
        assert_eq!(nearest(&long, known), None);
    }
}
