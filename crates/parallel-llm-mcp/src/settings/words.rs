//! Splitting one line into a program and its arguments, the way a shell does it, and nothing else of a shell: no
//! variable, no pattern and no second program.

/// The words of a line; `None` where a quote is not closed. Single quotes keep everything, double quotes keep white
/// space, and a backslash keeps the character after it, inside double quotes only `"`, `\`, `$` and `` ` ``.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match (quote, character) {
            (Some(open), close) if close == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                // Quotes around nothing are a word too.
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(rest.next()?),
            (Some('"'), '\\') => {
                let kept = rest.next()?;
                let word = word.get_or_insert_default();
                if !matches!(kept, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(kept);
            }
            (None, blank) if blank.is_ascii_whitespace() => words.extend(word.take()),
            (_, plain) => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&[&str]>) {
        assert_eq!(
            split(line).as_deref(),
            expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).as_deref(),
            "{line}"
        );
    }

    #[test]
    fn lines_are_split_as_a_shell_would() {
        check("", Some(&[]));
        check("  pass \t show\nllm ", Some(&["pass", "show", "llm"]));
        check(r#"a 'b c' "d e" f"g"'h'"#, Some(&["a", "b c", "d e", "fgh"]));
        check(r#"'' """#, Some(&["", ""]));
        check(r#"a\ b \' "\"\\\n\$" '\n'"#, Some(&["a b", "'", r#""\\n$"#, r"\n"]));
        check("$HOME `x` | >y", Some(&["$HOME", "`x`", "|", ">y"]));
        for open in ["'a", "\"a", "a\\", "\"a\\"] {
            check(open, None);
        }
    }
}
