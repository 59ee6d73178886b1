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
    nearest_few(name, known.into_iter().map(|one| (one, one)), 1).pop()
}

/// The most similar of the known names, at most `count`, the most similar first. Each comes with what is returned for it.
pub fn nearest_few<'a, T>(name: &str, known: impl IntoIterator<Item = (&'a str, T)>, count: usize) -> Vec<T> {
    if name.len() > NAME_BYTES_MAX {
        return Vec::new();
    }
    let name = plain(name);
    let known = known.into_iter().map(|(one, value)| (strsim::jaro_winkler(&name, &plain(one)), value));
    let mut similar: Vec<(f64, T)> = known.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN).collect();
    // The sort is stable, so the first of equals stays first.
    similar.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    similar.into_iter().take(count).map(|(_, value)| value).collect()
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
    fn only_similar_names_are_suggested() {
        let known = ["panel", "max_tokens", "wait", "~lab/sol-latest"];
        assert_eq!(nearest("pannel", known), Some("panel"));
        assert_eq!(nearest("MaxTokens", known), Some("max_tokens"));
        assert_eq!(nearest("lab/sol-latst", known), Some("~lab/sol-latest"));
        assert_eq!(nearest("verbosity", known), None);
        let long = "panel".repeat(1_000_000);
        assert_eq!(nearest(&long, known), None);
    }
}
