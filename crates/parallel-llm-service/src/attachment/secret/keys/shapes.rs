//! Tokens of well-known services, known by their shape wherever they stand: in code, logs, diffs and documents.
//!
//! A service gives its tokens a head so that they can be found. What always holds: a token begins where a word begins and
//! ends where it ends, so a piece of Base64 is none; a placeholder, a sequence or words are none; and reading takes linear
//! time.

use std::sync::LazyLock;

use super::services::{AFTER, ANY, Letters, PATTERNS, Piece, SHAPES, Shape};
use crate::attachment::secret::judgement::randomness::{is_made_up, is_varied, looks_made_by_machine};
use crate::attachment::secret::judgement::value::is_made_of_words;

/// The letters of a signature in the address of a webhook.
const WEBHOOK_SECRET_MIN: usize = 20;

/// The letters of a bot's token after its first.
const BOT_LETTERS: usize = 34;
/// The shortest run that is taken for Base64, in bytes. A path has points and dashes.
const BASE64_BYTES_MIN: usize = 40;
/// The shortest first part of a signed token, in bytes.
const SIGNED_HEAD_MIN: usize = 12;
/// The longest signed token that is read, in bytes.
const SIGNED_BYTES_MAX: usize = 4096;

/// The longest head that other words begin with, too, in bytes.
const SHORT_HEAD_BYTES: usize = 3;

/// The position of the first token of a known shape.
pub(crate) fn find(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = bytes[at].is_ascii_alphanumeric() && (at == 0 || !joins(bytes, at - 1));
        if begins && is_token_at(text, at) && !is_in_base64(&bytes[..at]) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Whether a long run of Base64 ends here with a slash, so that the next word is a piece of it.
fn is_in_base64(before: &[u8]) -> bool {
    let run = before.iter().rev().take(BASE64_BYTES_MIN);
    before.ends_with(b"/")
        && before.len() >= BASE64_BYTES_MIN
        && run.into_iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+'))
}

/// Whether this byte joins the next one to a longer word.
fn joins(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'_' | b'+' => true,
        // `\n` before a token in a string of code.
        letter if letter.is_ascii_alphanumeric() => {
            let is_escape = at > 0 && bytes[at - 1] == b'\\' && matches!(letter, b'n' | b't' | b'r');
            !is_escape
        }
        _ => false,
    }
}

fn is_token_at(text: &str, at: usize) -> bool {
    static BY_FIRST: LazyLock<[Vec<&Shape>; 128]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            SHAPES.iter().filter(|(head, ..)| usize::from(head.as_bytes()[0]) == byte).collect()
        })
    });
    let rest = &text[at..];
    let has_head = |(head, letters, min, max): &&Shape| {
        let Some(tail) = rest.strip_prefix(head) else { return false };
        let length = run(tail, *letters);
        // A dot or a dash at the end belongs to the sentence.
        let token = tail[..length].trim_end_matches(['.', '-']);
        (*min..=*max).contains(&token.len())
            && !is_cut(tail, token.len())
            && is_random(token, Test::of(head, *letters, *min == *max))
    };
    let has_way = |(head, letters, min, max): &&Shape| {
        let Some(tail) = rest.strip_prefix(head) else { return false };
        let length = run(tail, *letters);
        let secret = tail[length..].trim_start_matches(['/', '@', '-']);
        let whole =
            tail[length..].split(|it: char| !it.is_ascii_alphanumeric() && !"/_-@".contains(it)).next();
        (*min..=*max).contains(&length)
            && whole.is_some_and(|whole| {
                whole.len() >= WEBHOOK_SECRET_MIN && whole.split(['/', '@']).any(looks_made_by_machine)
            })
            && !secret.is_empty()
    };
    let first = rest.bytes().next().unwrap_or_default();
    let begin_so = BY_FIRST.get(usize::from(first)).into_iter().flatten();
    begin_so.copied().any(|shape| has_head(&shape))
        || AFTER.iter().any(|shape| has_way(&shape))
        || PATTERNS.iter().any(|pattern| may_begin(first, pattern) && has_parts(rest, pattern))
        || is_signed(rest)
        || is_of_bot(rest)
}

/// Whether points after a token say that its end is left out, as in a manual.
fn is_cut(tail: &str, length: usize) -> bool {
    tail[length..].starts_with("...") || tail[length..].starts_with('…')
}

fn may_begin(first: u8, pattern: &[Piece]) -> bool {
    match pattern.first() {
        Some(Piece::Text(text)) => text.as_bytes()[0] == first,
        Some(Piece::Run(letters, ..)) => letters.hold(first),
        None => false,
    }
}

/// Whether a token of several parts begins here.
fn has_parts(rest: &str, pattern: &[Piece]) -> bool {
    let (mut tail, mut last) = (rest, "");
    for piece in pattern {
        let length = match piece {
            Piece::Text(text) if tail.starts_with(text) => text.len(),
            Piece::Run(letters, min, max) => {
                let length = tail.bytes().take(*max).take_while(|byte| letters.hold(*byte)).count();
                if length < *min {
                    return false;
                }
                last = &tail[..length];
                length
            }
            Piece::Text(_) => return false,
        };
        tail = &tail[length..];
    }
    let whole = &rest[..rest.len() - tail.len()];
    let has_end = !tail.starts_with(|it: char| it.is_ascii_alphanumeric()) || last.len() == ANY;
    // Other words follow `Bearer`, too.
    let is_named = !whole.contains("earer ") || (looks_made_by_machine(last) && !is_made_of_words(last));
    has_end && is_named && !last.contains("...") && !is_cut(tail, 0) && !is_made_up(whole)
}

/// How many bytes at the beginning are such letters.
fn run(text: &str, letters: Letters) -> usize {
    text.bytes().take(ANY).take_while(|byte| letters.hold(*byte)).count()
}

/// What the letters after a head must be, besides no placeholder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Test {
    /// Anything: the head and the exact length say enough.
    Any,
    /// No words.
    NoWords,
    /// Made by a machine: other words have that head, too.
    Machine,
}

impl Test {
    const fn of(head: &str, letters: Letters, is_exact: bool) -> Self {
        if head.len() <= SHORT_HEAD_BYTES {
            Self::Machine
        } else if is_exact && !letters.hold(b'-') {
            Self::Any
        } else {
            Self::NoWords
        }
    }
}

/// Whether the letters after a head are those of a token.
fn is_random(tail: &str, test: Test) -> bool {
    let fits = || match test {
        Test::Any => true,
        Test::NoWords => !is_made_of_words(tail) || looks_made_by_machine(tail),
        Test::Machine => looks_made_by_machine(tail),
    };
    !is_made_up(tail) && is_varied(tail) && fits()
}

/// A signed token: three parts in Base64, of which the first two begin with `{"`.
fn is_signed(rest: &str) -> bool {
    if !rest.starts_with("eyJ") {
        return false;
    }
    // Most words that begin so are no token; their ends need not be looked for.
    let head = rest.bytes().take(SIGNED_BYTES_MAX).take_while(|byte| Letters::Words.hold(*byte)).count();
    if head < SIGNED_HEAD_MIN || !rest[head..].starts_with(".eyJ") {
        return false;
    }
    let length = rest.bytes().take(SIGNED_BYTES_MAX).take_while(|byte| Letters::Dotted.hold(*byte)).count();
    let token = &rest[..length];
    let mut parts = token.trim_end_matches('.').split('.');
    let (Some(_), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    payload.starts_with("eyJ")
        && !is_made_up(payload)
        && payload.len() >= 16
        && signature.len() >= 20
        && looks_made_by_machine(signature)
        && !is_made_up(signature)
}

/// The token of a bot: `123456789:AA...` at Telegram, three parts beginning with `M`, `N` or `O` at Discord.
fn is_of_bot(rest: &str) -> bool {
    // `api.telegram.org/bot123456789:AA...`.
    let rest = rest.strip_prefix("bot").unwrap_or(rest);
    let digits = rest.bytes().take(11).take_while(u8::is_ascii_digit).count();
    if (8..=10).contains(&digits)
        && let Some(tail) = rest[digits..].strip_prefix(":A")
    {
        return run(tail, Letters::Words) == BOT_LETTERS && is_random(&tail[..BOT_LETTERS], Test::Any);
    }
    if !rest.starts_with(['M', 'N', 'O']) {
        return false;
    }
    let token = &rest[..run(rest, Letters::Dotted)];
    let mut parts = token.split('.');
    let lengths = [parts.next(), parts.next(), parts.next()].map(|part| part.map_or(0, str::len));
    parts.next().is_none()
        && matches!(lengths, [23..=28, 6, 27..=38])
        && !is_made_up(token)
        && token.split('.').next().is_some_and(|user| is_varied(user) && !is_made_of_words(user))
}
