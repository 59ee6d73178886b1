//! Yes and no: a bare word, or one with a clause that repeats the whole asking sentence.
//!
//! `Yes, with food` is another answer than `Yes`.

use super::sentences::words;

/// The words in each pair, the affirming one first.
const PAIRS: [[&str; 2]; 2] = [["yes", "no"], ["true", "false"]];
/// Verbs that a question for one of the words begins with.
const AUXILIARIES: &[&str] =
    &["is", "are", "was", "were", "do", "does", "did", "can", "could", "will", "would", "has", "have", "had"];

/// The word of a piece that only affirms or denies, in lower case. `asking` is the sentence that asks.
///
/// A word in capitals may be a name or a formula, unless the sentence asks for yes or no.
pub(super) fn bare(piece: &str, asking: &str) -> Option<&'static str> {
    if !asks(&asking.to_lowercase()) {
        return None;
    }
    let lower = piece.trim().to_lowercase();
    let (first, clause) = lower.split_once([',', '.', ':', ';', '!', '\n', '–', '—']).unwrap_or((&lower, ""));
    let first = first.trim_matches(|one: char| one.is_whitespace() || "*_`".contains(one));
    let (word, affirms) = PAIRS.iter().find_map(|[yes, no]| match first {
        first if first == *yes => Some((*yes, true)),
        first if first == *no => Some((*no, false)),
        _ => None,
    })?;
    let clause = clause.trim_matches(|one: char| one.is_whitespace() || "*_`.!".contains(one));
    (clause.is_empty() || repeats(clause, affirms, asking)).then_some(word)
}

/// Whether a text is one of the words.
pub(super) fn is_word(text: &str) -> bool {
    PAIRS.iter().flatten().any(|word| *word == text)
}

/// Whether a sentence asks for one of the words.
fn asks(asking: &str) -> bool {
    // `Is the symbol No or NO?` asks for one of two things.
    let plain = asking.replace("yes or no", "").replace("true or false", "");
    if words(&plain).any(|word| word == "or") {
        return false;
    }
    let first = words(asking).next().unwrap_or_default();
    AUXILIARIES.contains(&first) || words(asking).any(|word| matches!(word, "yes" | "true"))
}

/// Whether a clause is the asking sentence as a statement: its verb stands behind the subject, with `not` if it denies, and every
/// other word and sign is where it was.
fn repeats(clause: &str, affirms: bool, asking: &str) -> bool {
    let asking = asking.to_lowercase();
    let is_mark = |one: char| "*_`\"“”?.!".contains(one);
    let pieces = |text: &str| -> Vec<String> {
        let apart = text.replace("n't", " not").replace("n’t", " not");
        apart.split_whitespace().map(|piece| piece.trim_matches(is_mark).to_owned()).collect()
    };
    let (own, asked) = (pieces(clause), pieces(&asking));
    let [verb, rest @ ..] = &asked[..] else { return false };
    let verb: &[&str] = if affirms { &[verb] } else { &[verb, "not"] };
    let stated = |at: usize| {
        let (subject, predicate) = rest.split_at(at);
        subject
            .iter()
            .map(String::as_str)
            .chain(verb.iter().copied())
            .chain(predicate.iter().map(String::as_str))
    };
    // `5 > 3` needs no verb.
    AUXILIARIES.contains(&verb[0])
        && (affirms && own == rest || (1..rest.len()).any(|at| stated(at).eq(own.iter().map(String::as_str))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_makes_another_answer_unless_it_repeats_the_question() {
        let prime = "Is 7 a prime number?";
        for piece in
            ["Yes", "yes.", "**Yes**", "Yes!", "Yes, 7 is a prime number.", "yes: 7 is a prime number"]
        {
            assert_eq!(bare(piece, prime), Some("yes"), "{piece}");
        }
        for piece in ["No", "No.", "No, 7 is not a prime number.", "No, 7 isn't a prime number"] {
            assert_eq!(bare(piece, prime), Some("no"), "{piece}");
        }
        for piece in [
            "Yes, it is.",
            "Yes, 7 is",
            "Yes, 7 is not a prime number",
            "No, 7 is a prime number",
            "Yes, 8 is a prime number",
            "Yes, 7 is a prime number, but 9 is too",
            "Yes and no",
            "Yesterday",
            "yes, a number 7 is prime",
            "",
            "Probably",
            "Yes (with food)",
        ] {
            assert_eq!(bare(piece, prime), None, "{piece}");
        }
        assert_eq!(bare("Yes, it is safe with alcohol.", "Is it safe unless taken with alcohol?"), None);
        assert_eq!(bare("Yes, Italy beat Brazil.", "Did Brazil beat Italy?"), None);
        assert_eq!(bare("Yes, there is no cure.", "Is there no cure?"), Some("yes"));
        assert_eq!(bare("Yes, there is a cure.", "Is there no cure?"), None);
        assert_eq!(bare("Yes, there is no limit.", "Is there a limit?"), None);
        assert_eq!(bare("Yes, 5 < 3", "Is 5 > 3?"), None);
        assert_eq!(bare("Yes, 5 > 3.", "Is 5 > 3?"), Some("yes"));
        assert_eq!(bare("No, -2 is not an integer", "Is 2 an integer?"), None);
        assert_eq!(bare("Yes, $5 is enough", "Is €5 enough?"), None);
        assert_eq!(bare("Yes, Anna is older than Bob.", "Is Anna older than Bob?"), Some("yes"));
        assert_eq!(bare("Yes, Bob is older than Anna.", "Is Anna older than Bob?"), None);
        assert_eq!(bare("Yes, Pluto was a planet.", "Is Pluto a planet?"), None);
        assert_eq!(bare("No", "Is the symbol No or NO?"), None);
        assert_eq!(bare("FALSE", "True or false: 7 is prime?"), Some("false"));
    }
}
