//! "Did you mean": finds the known name most similar to an unknown one.

use crate::value::answer::Failure;
use crate::value::next::Next;

/// The least similarity (0 to 1) of a suggestion. Known names share words, so a lower bound would suggest unrelated names.
const SIMILARITY_MIN: f64 = 0.8;
/// Longer names are not compared: they are no misspellings, and a comparison takes time quadratic in the length.
const NAME_BYTES_MAX: usize = 512;

/// The known name most similar to `name`, if one is similar enough; the first of equals. Case is ignored, and so is the
/// `~` before a model's name, which a shell may have expanded.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = plain(name);
    let mut best: Option<(f64, &str)> = None;
    for one in known {
        let similarity = strsim::jaro_winkler(&name, &plain(one));
        if similarity >= SIMILARITY_MIN && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, one));
        }
    }
    best.map(|(_, one)| one)
}

fn plain(name: &str) -> String {
    name.trim_start_matches('~').to_lowercase()
}

/// Makes "did you mean `meant`?" the next step of the failure, if there is a suggestion.
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
