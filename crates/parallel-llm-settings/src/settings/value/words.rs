//! Splits a command line into words like a shell, without any other shell syntax.

/// The words of a line; `None` if a quote is not closed. Single quotes keep everything, double quotes keep white space.
/// A backslash keeps the next character, inside double quotes only `"`, `\`, `$` and `` ` ``.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        match (quote, character) {
            (Some(open), close) if close == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                // Empty quotes are a word too.
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

/// The first shell syntax outside of quotes: a second program, a redirection, a variable. `None` for `sh -c 'a | b'`.
pub(super) fn shell_syntax(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut is_first_of_word = true;
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        let rest = &line[at..];
        let was_first =
            std::mem::replace(&mut is_first_of_word, quote.is_none() && letter.is_ascii_whitespace());
        match (quote, letter) {
            (Some(open), close) if close == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None | Some('"'), '\\') => drop(letters.next()),
            (None | Some('"'), '`') => return Some("`"),
            (None | Some('"'), '$') if is_expansion(rest) => return Some("$"),
            (None, _) => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                // `a=<b` or `--x=a>b` may be an argument; a redirection such as `2>&1` or `>file` begins a word.
                let begins = was_first || matches!(letter, '|' | ';' | '&');
                if let Some(sign) = sign.filter(|_| begins) {
                    return Some(sign);
                }
            }
            _ => {}
        }
    }
    None
}

/// Operators that join programs or redirect streams, longer ones first.
const SIGNS: &[&str] = &["||", "|", "&&", "&", ";", "2>", "1>", ">>", ">", "<<", "<"];

/// Whether a dollar sign begins an expansion: `$HOME`, `${HOME}`, `$(date)`, `$1`.
fn is_expansion(rest: &str) -> bool {
    rest[1..].starts_with(|next: char| next.is_ascii_alphanumeric() || "_{(?@*#!".contains(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_syntax_is_found_outside_of_quotes() {
        for (line, sign) in [
            ("grep -q X | cat", Some("|")),
            ("a|b", Some("|")),
            ("a || b", Some("||")),
            ("a && b", Some("&&")),
            ("a; b", Some(";")),
            ("a &", Some("&")),
            ("a > out", Some(">")),
            ("a 2>&1", Some("2>")),
            ("a >>out", Some(">>")),
            ("a < in", Some("<")),
            ("test \"$(cat)\" = 4", Some("$")),
            ("a $HOME/x", Some("$")),
            ("a `b`", Some("`")),
            ("sh -c 'a | b > c; $d'", None),
            ("sh -c \"a | b\"", None),
            ("grep -qE '^(a|b)$'", None),
            ("grep -q a\\|b", None),
            ("grep -q X$", None),
            ("awk '{print $1}'", None),
            ("curl http://a/?b=c", None),
            ("check --min=3 --out=a>b", None),
        ] {
            assert_eq!(shell_syntax(line), sign, "{line}");
        }
    }

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
