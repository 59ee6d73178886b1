//! Picks the part of a text around the words of a search, on one line.
//!
//! A text is read once, up to [`TEXT_BYTES_MAX`]: comparing every hit with every other would take quadratic time.

use super::query::SearchQuery;

/// Most bytes of a text examined. If the words come later, the excerpt is the beginning.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 20;
/// Words of an excerpt, including the hits: two lines of a terminal.
const EXCERPT_WORDS: usize = 24;
/// Words before the first hit.
const WORDS_BEFORE: usize = 8;

/// The position of a word that matches words of the query, and a bit for each of those.
struct Hit {
    word: usize,
    which: u64,
}

/// The excerpt with most of the query's words; the beginning of the text if it has none.
pub(crate) fn excerpt(text: &str, query: &SearchQuery) -> String {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let hits: Vec<Hit> = text
        .split_whitespace()
        .enumerate()
        .map(|(word, text)| Hit { word, which: query.which(text) })
        .filter(|hit| hit.which != 0)
        .collect();
    let last_start = text.split_whitespace().count().saturating_sub(EXCERPT_WORDS);
    let first = best(&hits).saturating_sub(WORDS_BEFORE).min(last_start);
    let mut words = text.split_whitespace().skip(first);
    let mut excerpt = if first > 0 { "…".to_owned() } else { String::new() };
    for (number, word) in words.by_ref().take(EXCERPT_WORDS).enumerate() {
        if number > 0 {
            excerpt.push(' ');
        }
        excerpt.push_str(word);
    }
    if words.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// The position after which most of the query's words follow within one excerpt.
fn best(hits: &[Hit]) -> usize {
    let (mut best, mut most) = (0, 0);
    for (number, hit) in hits.iter().enumerate() {
        let near =
            hits[number..].iter().take_while(|next| next.word < hit.word + EXCERPT_WORDS - WORDS_BEFORE);
        let kinds = near.fold(0, |which, next| which | next.which).count_ones();
        if kinds > most {
            (best, most) = (hit.word, kinds);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, typed: &str) -> String {
        excerpt(text, &SearchQuery::of(typed).expect("these are words"))
    }

    fn numbered(words: usize) -> String {
        (0..words).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(shown(" Silber  und\n\tZink ", "zink"), "Silber und Zink");
        assert_eq!(shown("", "zink"), "");
    }

    #[test]
    fn an_excerpt_of_a_long_text_has_most_of_the_words() {
        let text = format!("gold {} gold and silver {}", numbered(50), numbered(50));
        let before = (42..50).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
        assert!(shown(&text, "silver gold").starts_with(&format!("…{before} gold and silver w0")), "{text}");
        assert_eq!(shown(&text, "silver gold").split(' ').count(), EXCERPT_WORDS);
        assert!(shown(&text, "gold").starts_with("gold w0"));
        assert!(shown(&text, "silv").ends_with('…'));
        assert!(shown(&format!("{} end", numbered(50)), "end").ends_with("w49 end"));
        assert!(shown(&text, "copper").starts_with("gold w0 w1"), "its beginning where there is none");
    }

    #[test]
    fn case_and_accents_do_not_matter() {
        for (text, typed) in [
            ("Zaunkönig", "zaunkonig"),
            ("zaunko\u{308}nig", "ZAUNKÖNIG"),
            ("(NEAR)", "near"),
            ("a-b_c", "b"),
            ("ÉTÉ", "e\u{301}te"),
            ("潮騒", "潮"),
            ("Việt", "viet"),
        ] {
            let text = format!("{} {text}", numbered(60));
            assert!(shown(&text, typed).starts_with("…w37"), "{text} {typed}");
        }
        assert!(shown(&format!("{} copper", numbered(60)), "opper").starts_with("w0"));
    }

    #[test]
    fn a_text_beyond_the_bound_is_cut_between_characters() {
        let text = "é".repeat(TEXT_BYTES_MAX);
        assert_eq!(shown(&text, "e").len(), TEXT_BYTES_MAX);
    }
}
