//! "Did you mean": finds the known name most similar to an unknown one. All suggestions come from here.

use crate::value::answer::Failure;
use crate::value::next::Next;

/// The least similarity (0 to 1) of a suggestion. Known names share words, so a lower bound would suggest unrelated names.
const SIMILARITY_MIN: f64 = 0.8;
/// The similarity of names that one mistake of the fingers explains: a letter too many, too few or wrong, or two
/// neighbours swapped. Jaro-Winkler finds `aks` and `ask` unlike, because nothing but the first letter is in its place.
const SIMILARITY_OF_ONE_MISTAKE: f64 = 0.9;
/// In a shorter name one wrong letter makes another name, as in `csh` and `zsh`; there only swapped letters count.
const ONE_MISTAKE_CHARS_MIN: usize = 4;
/// Two letters are swapped by intention more often than by mistake.
const SWAPPED_CHARS_MIN: usize = 3;
/// Longer names are not compared: they are no misspellings, and a comparison takes time quadratic in the length.
const NAME_BYTES_MAX: usize = 512;

/// The known name most similar to `name`, if one is similar enough; the first of equals. Case is ignored, and so is the
/// `~` before a model's name, which a shell may have expanded.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<(&str, &str)> = known.into_iter().map(|one| (one, one)).collect();
    nearest_few(name, known, 1).pop()
}

/// The most similar of the known names, at most `count`, the most similar first. Each comes with what is returned for it.
pub fn nearest_few<'a, T>(name: &str, known: impl IntoIterator<Item = (&'a str, T)>, count: usize) -> Vec<T> {
    if name.len() > NAME_BYTES_MAX {
        return Vec::new();
    }
    let name = plain(name);
    let known = known.into_iter().map(|(one, value)| (similarity(&name, &plain(one)), value));
    let mut similar: Vec<(f64, T)> = known.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN).collect();
    // The sort is stable, so the first of equals stays first.
    similar.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    similar.into_iter().take(count).map(|(_, value)| value).collect()
}

fn similarity(one: &str, other: &str) -> f64 {
    let similarity = strsim::jaro_winkler(one, other);
    let (length, others) = (one.chars().count(), other.chars().count());
    let shorter = length.min(others);
    // The distance takes longer to compute, and is at least the difference of the lengths.
    let is_candidate = shorter >= SWAPPED_CHARS_MIN && length.abs_diff(others) <= 1;
    if !is_candidate || strsim::osa_distance(one, other) > 1 {
        return similarity;
    }
    // Plain Levenshtein takes a swap for two mistakes.
    let is_swap = length == others && strsim::levenshtein(one, other) == 2;
    if is_swap || shorter >= ONE_MISTAKE_CHARS_MIN {
        similarity.max(SIMILARITY_OF_ONE_MISTAKE)
    } else {
        similarity
    }
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

/// Makes the known name most similar to an unknown one the next step of the failure, else the choice of all of them.
#[must_use]
pub fn suggest_or_list(failure: Failure, name: &str, known: &[&str]) -> Failure {
    match nearest(name, known.iter().copied()) {
        None if known.is_empty() => failure,
        None => failure.with_next(Next::choose_one(known)),
        meant => suggest(failure, meant),
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
        let commands = ["ask", "runs", "man", "vote", "zsh"];
        for (typed, meant) in [
            ("aks", Some("ask")),
            ("sak", Some("ask")),
            ("votes", Some("vote")),
            ("ovte", Some("vote")),
            ("rusn", Some("runs")),
            ("kas", None),
            ("csh", None),
            ("is", None),
            ("how", None),
        ] {
            assert_eq!(nearest(typed, commands), meant, "{typed}");
        }
        let long = "panel".repeat(1_000_000);
        assert_eq!(nearest(&long, known), None);
    }
}
