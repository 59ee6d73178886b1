//! Finds the marks of chat templates in a text: what a program writes around a turn, and a model only by mistake.

use super::FloorBasis;
use super::words::{head, lower};

/// Marks that end or begin a turn or a text. At the edges of a text they are cut off.
const EDGES: &[&str] = &[
    "</s>",
    "<s>",
    "<eos>",
    "<bos>",
    "<pad>",
    "<unk>",
    "<end>",
    "[end]",
    "[eos]",
    "[bos]",
    "<start_of_turn>model",
    "<start_of_turn>",
    "<end_of_turn>",
    "<end_of_text>",
    "<end_of_sentence>",
    "[/inst]",
];
/// Those of them that stand nowhere else.
const SURE: &[&str] = &["[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>", "<end_of_turn>"];
/// The longest mark between `<|` and `|>` in bytes, with these.
const MARK_BYTES_MAX: usize = 40;
/// The longest name of a speaker with what surrounds it, in bytes.
const SPEAKER_BYTES_MAX: usize = 24;
/// The names of speakers behind such a mark.
const SPEAKERS: &[&str] = &["assistant", "model", "system", "user"];

/// A text without the marks at its edges, unless the request or a candidate has such marks.
pub(super) fn without<'a>(text: &'a str, basis: &FloorBasis<'_>) -> &'a str {
    let mut rest = text.trim();
    let before_all = rest.len();
    loop {
        let before = rest.len();
        rest = without_last(without_first(rest)).trim();
        if rest.len() == before {
            break;
        }
    }
    // A turn without a word is none.
    if rest.len() < before_all && SPEAKERS.contains(&rest) {
        rest = "";
    }
    // `<s>old</s>` is struck out in a page.
    let is_struck = text.contains("<s>") && text.contains("</s>") && !text.starts_with("<s>");
    if rest.len() == text.trim().len() || is_struck || basis.material().any(has_any) { text } else { rest }
}

/// Whether a text still has such a mark outside of code, and neither the request nor a candidate has one.
pub(super) fn remain(text: &str, basis: &FloorBasis<'_>) -> bool {
    has_sure(text) && !basis.material().any(has_any)
        || text.starts_with("<think") && !basis.material().any(|known| known.contains("<think"))
        || talks(text) && !basis.material().any(talks) && !asks_for_talk(basis.request)
}

/// Whether a text has the turns of two speakers.
fn talks(text: &str) -> bool {
    let begins = |names: &[&str]| {
        text.lines().any(|line| {
            let line =
                head(line.trim_start_matches(['*', '#', ' ', '<', '[']), SPEAKER_BYTES_MAX).to_lowercase();
            names.iter().any(|name| {
                line.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches('*').starts_with(':'))
            })
        })
    };
    begins(&["user", "human", "benutzer", "nutzer", "gebruiker", "utilisateur", "usuario", "utente"])
        && begins(&[
            "assistant",
            "ai",
            "bot",
            "model",
            "chatgpt",
            "gpt",
            "assistent",
            "asistente",
            "assistente",
        ])
}

/// Whether a request may ask for turns.
fn asks_for_talk(request: &str) -> bool {
    let is_talk = |word: String| {
        matches!(word.as_str(), "dialogue" | "dialog" | "conversation" | "chat" | "chatbot" | "transcript")
    };
    lower(request).into_iter().any(is_talk)
}

fn without_last(text: &str) -> &str {
    let bytes = text.as_bytes();
    let ends = |mark: &&&str| {
        bytes
            .len()
            .checked_sub(mark.len())
            .is_some_and(|at| bytes[at..].eq_ignore_ascii_case(mark.as_bytes()))
    };
    let edge = EDGES.iter().find(ends).map(|mark| mark.len());
    let piped = || {
        let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(MARK_BYTES_MAX))..];
        let mark = &tail[tail.rfind("<|")?..];
        is_mark(mark).then_some(mark.len())
    };
    edge.or_else(piped).map_or(text, |length| &text[..text.len() - length])
}

fn without_first(text: &str) -> &str {
    let begins = |mark: &&&str| {
        text.as_bytes().get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark.as_bytes()))
    };
    if let Some(mark) = EDGES.iter().find(begins) {
        return &text[mark.len()..];
    }
    let Some(end) = first_mark(text) else { return text };
    let rest = &text[end..];
    let named = SPEAKERS.iter().find_map(|name| rest.strip_prefix(name));
    named.filter(|behind| behind.starts_with(['\n', '<'])).unwrap_or(rest)
}

/// The length of the mark that a text begins with.
fn first_mark(text: &str) -> Option<usize> {
    let end = head(text, MARK_BYTES_MAX).find("|>")? + 2;
    is_mark(&text[..end]).then_some(end)
}

/// Whether a text is one mark: `<|im_end|>`.
fn is_mark(text: &str) -> bool {
    let inner = text.strip_prefix("<|").and_then(|rest| rest.strip_suffix("|>"));
    inner.is_some_and(|inner| {
        (3..=MARK_BYTES_MAX).contains(&inner.len())
            && inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Whether a text has a mark that no text has for another reason, outside of code.
fn has_sure(text: &str) -> bool {
    let mut is_code = false;
    text.lines().any(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && !line.contains('`') && has_mark(line, SURE)
    })
}

fn has_any(text: &str) -> bool {
    has_mark(text, SURE) || has_mark(text, EDGES)
}

fn has_mark(text: &str, marks: &[&str]) -> bool {
    if !text.contains(['<', '[']) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let piped = |(at, _): (usize, &str)| first_mark(&text[at..]).is_some();
    marks.iter().any(|mark| lower.contains(mark)) || text.match_indices("<|").any(piped)
}
