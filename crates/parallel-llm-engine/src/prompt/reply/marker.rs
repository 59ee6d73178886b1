//! Finds the markers of the form in a reply: `<<analysis CODE>>`, `<<answer CODE>>`, `<<end answer CODE>>` and variants.
//!
//! A marker with the code of the prompt is the model's own, because no candidate has seen the code. A marker without it may
//! be a quotation.

/// The longest recognized marker in bytes. The longest proper marker with the longest code has sixty.
pub(super) const MARKER_BYTES_MAX: usize = 96;
/// Markdown characters that may surround a marker.
const DECORATION: &[char] = &['*', '_', '`', '#', '>', '|', '-', '~', ' ', '\t'];
/// Those that are on both sides of it.
pub(super) const EMPHASIS: &[char] = &['*', '_', '`'];
/// The words of proper markers, and words that models add.
const WORDS: &[&str] = &["answer", "analysis", "end", "of", "the", "final"];

/// The meaning of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerKind {
    /// The analysis begins.
    Analysis,
    /// The answer begins.
    Answer,
    /// Something ends.
    End,
    /// Another marker with the code: the model copied a block of the prompt.
    Other,
}

/// A marker in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) kind: MarkerKind,
    /// Whether it has the code of the prompt.
    pub(super) is_coded: bool,
    /// Whether only Markdown or the end of an object precedes it.
    pub(super) is_first: bool,
    /// The byte of the line where it begins, with its emphasis.
    pub(super) start: usize,
    /// The byte of the line after it.
    pub(super) end: usize,
}

/// The markers of a line.
pub(super) fn markers(line: &str, codes: &[String]) -> impl Iterator<Item = Marker> {
    line.match_indices("<<").filter_map(|(at, _)| marker(line, at, codes))
}

fn marker(line: &str, at: usize, codes: &[String]) -> Option<Marker> {
    let inside = &line[at + 2..line.floor_char_boundary(at + MARKER_BYTES_MAX)];
    let inside = &inside[..inside.find(">>")?];
    let lower = inside.to_lowercase();
    let words: Vec<&str> =
        lower.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_coded = words.iter().any(|word| codes.iter().any(|code| code == word));
    // A marker without the right code may hold only known words, and perhaps a wrongly copied code.
    let is_code = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = words.iter().all(|word| WORDS.contains(word) || is_code(word));
    (is_coded || is_ours).then_some(())?;
    let kind = match &words {
        _ if inside.trim_start().starts_with('/') || words.contains(&"end") => MarkerKind::End,
        words if words.contains(&"analysis") => MarkerKind::Analysis,
        words if words.contains(&"answer") => MarkerKind::Answer,
        _ if is_coded => MarkerKind::Other,
        _ => return None,
    };
    let (before, behind) = (&line[..at], &line[at + 2 + inside.len() + 2..]);
    let open = &before[before.trim_end_matches(EMPHASIS).len()..];
    let close: String = open.chars().rev().collect();
    let rest = behind.strip_prefix(close.as_str()).unwrap_or(behind);
    let start = if rest.len() < behind.len() { at - open.len() } else { at };
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let before = before.trim_end_matches(DECORATION);
    let is_first = before.is_empty() || before.ends_with('}');
    Some(Marker { kind, is_coded, is_first, start, end: line.len() - rest.len() })
}

/// Whether a text is only Markdown decoration.
pub(super) fn is_decoration(text: &str) -> bool {
    text.trim_start_matches(DECORATION).is_empty()
}

/// Whether an unfinished line may still turn out to begin with a marker.
pub(super) fn may_begin(line: &str) -> bool {
    let rest = line.trim_start_matches(DECORATION);
    if line.len() - rest.len() > MARKER_BYTES_MAX {
        return false;
    }
    rest.is_empty() || "<<".starts_with(rest) || rest.starts_with("<<") && rest.len() < MARKER_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the first marker, with `!` if it has no code, and the text before and after it.
    fn check(line: &str, expected: &str) {
        let rendered = markers(line, &["5eed".to_owned()]).next().map_or("none".to_owned(), |marker| {
            let code = if marker.is_coded { "" } else { "!" };
            let position = if marker.is_first { "first" } else { "within" };
            format!("{code}{:?} {position} [{}|{}]", marker.kind, &line[..marker.start], &line[marker.end..])
        });
        assert_eq!(rendered, expected, "{line}");
    }

    #[test]
    fn markers_are_recognised_in_every_notation() {
        for line in [
            "<<answer 5eed>>",
            "**<<answer 5eed>>**",
            "`<<answer 5eed>>`:",
            "*<<Answer 5EED>>*",
            "<< answer  5eed >>",
        ] {
            check(line, "Answer first [|]");
        }
        check("### <<answer 5eed>> Hi", "Answer first [### | Hi]");
        check("| <<final answer 5eed>>", "Answer first [| |]");
        check("<<answer 5eed>>**Yes.** So", "Answer first [|**Yes.** So]");
        check("{\"base\": \"A\"} <<answer 5eed>>", "Answer first [{\"base\": \"A\"} |]");
        check("then the line <<answer 5eed>> and", "Answer within [then the line | and]");
        for line in [
            "<<end answer 5eed>>",
            "<</answer 5eed>>",
            "<<answer end 5eed>>",
            "<<end 5eed>>",
            "<<end of answer 5eed>>",
        ] {
            check(line, "End first [|]");
        }
        check("done. **<<end answer 5eed>>**", "End within [done. |]");
        check("<<candidate A 5eed>>", "Other first [|]");
        check("<<answer>>", "!Answer first [|]");
        check("<<end answer 0123abcd>>", "!End first [|]");
        for none in [
            "<<5ee>>",
            "cout << answer << endl >> x",
            "<<answer the question>>",
            "<answer 5eed>",
            "<<answer 5eed",
        ] {
            check(none, "none");
        }
    }
}
