//! Passwords and keys that code gives to a function by their place: `login("me", "PASSWORD")`, `createHmac("sha256", "KEY")`.
//!
//! What always holds: only texts in quotes count, as many of them as a call has.

use super::set::clipped;
use crate::attachment::secret::judgement::randomness::{is_made_up, looks_made_by_machine};
use crate::attachment::secret::judgement::references::is_reference;
use crate::attachment::secret::judgement::strength::is_mixed;
use crate::attachment::secret::judgement::value::{is_literal, is_made_of_words};

/// The most calls of a line, and the most texts of a call, that are read.
const CALLS_MAX: usize = 16;
const TEXTS_MAX: usize = 4;
/// The shortest key that a call takes, in bytes: 128 bits.
const KEY_BYTES_MIN: usize = 16;
/// The shortest token that a client takes, in bytes. A shorter text may be the name of a resource.
const TOKEN_BYTES_MIN: usize = 32;

/// What a function takes.
#[derive(Clone, Copy)]
enum Takes {
    Password,
    Key,
    Token,
}

/// Ends of names of functions and of arguments, in lower case, and what they take.
const CALLEES: &[(&str, Takes)] = &[
    ("login(", Takes::Password),
    ("authenticate(", Takes::Password),
    ("auth(", Takes::Password),
    ("auth=(", Takes::Password),
    ("auth: [", Takes::Password),
    ("networkcredential(", Takes::Password),
    ("credentials(", Takes::Password),
    ("credential(", Takes::Password),
    ("passwordauthentication(", Takes::Password),
    ("passwordauthenticationtoken(", Takes::Password),
    ("drivermanager.getconnection(", Takes::Password),
    ("new mysqli(", Takes::Password),
    ("mysqli_connect(", Takes::Password),
    ("new pdo(", Takes::Password),
    ("jwt.sign(", Takes::Key),
    ("jwt.verify(", Takes::Key),
    ("jwt.encode(", Takes::Key),
    ("jwt.decode(", Takes::Key),
    ("createhmac(", Takes::Key),
    ("createcipheriv(", Takes::Key),
    ("createdecipheriv(", Takes::Key),
    ("hmac.new(", Takes::Key),
    ("hash_hmac(", Takes::Key),
    ("fernet(", Takes::Key),
    ("aes.new(", Takes::Key),
    ("secretkeyspec(", Takes::Key),
    ("signwith(", Takes::Key),
    ("newcipher(", Takes::Key),
    ("hmacsha256(", Takes::Key),
    ("accounts: [", Takes::Token),
    ("client(", Takes::Token),
    ("api(", Takes::Token),
    ("apikey(", Takes::Token),
    ("settoken(", Takes::Token),
    ("bearer(", Takes::Token),
];

/// The position of a call that takes a secret in quotes.
pub(super) fn find(line: &str, lower: &str) -> Option<usize> {
    if !line.contains(['"', '\'', '`']) {
        return None;
    }
    let bytes = lower.as_bytes();
    let ends = (0..bytes.len()).filter(|at| matches!(bytes[*at], b'(' | b'[')).map(|at| at + 1);
    ends.take(CALLS_MAX).find(|at| {
        let callee = CALLEES.iter().find(|(callee, _)| bytes[..*at].ends_with(callee.as_bytes()));
        callee.is_some_and(|(_, takes)| texts(clipped(&line[*at..])).any(|text| is_taken(text, *takes)))
    })
}

/// The texts in quotes.
fn texts(mut rest: &str) -> impl Iterator<Item = &str> {
    let next = move || {
        let at = rest.find(['"', '\'', '`'])?;
        let quote = rest[at..].chars().next()?;
        let (text, after) = rest[at + 1..].split_once(quote)?;
        rest = after;
        Some(text)
    };
    std::iter::from_fn(next).take(TEXTS_MAX)
}

fn is_taken(text: &str, takes: Takes) -> bool {
    let is_random = |bytes_min: usize| {
        text.len() >= bytes_min
            && is_literal(text)
            && !is_reference(text)
            && !is_made_up(text)
            && looks_made_by_machine(text)
            && !is_made_of_words(text)
    };
    match takes {
        Takes::Password => is_mixed(text) && !text.contains("://") || is_random(KEY_BYTES_MIN),
        Takes::Key => is_random(KEY_BYTES_MIN),
        Takes::Token => is_random(TOKEN_BYTES_MIN),
    }
}
