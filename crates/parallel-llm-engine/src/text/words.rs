//! Words, with the blanks between them.

/// The words of a text and the blanks between them, which together are the text.
pub fn words_and_blanks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_blank = rest.chars().next()?.is_whitespace();
        let end = rest.find(|next: char| next.is_whitespace() != is_blank).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_blanks_alternate() {
        let pieces = |text| words_and_blanks(text).collect::<Vec<_>>();
        assert_eq!(
            pieces(" one two,\n\n drei\u{a0}四"),
            [" ", "one", " ", "two,", "\n\n ", "drei", "\u{a0}", "四"]
        );
        assert!(pieces("").is_empty());
    }
}
