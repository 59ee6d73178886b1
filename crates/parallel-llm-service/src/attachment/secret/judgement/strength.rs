//! How strong a value must be to be a secret: where a program is configured, in quotes in code, or in any text.
//!
//! What always holds: a placeholder, a usual default, a label, a path, a number and the name of another value are no secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::names::NameOfSecret;
use super::randomness::{is_made_up, is_uuid, looks_made_by_machine};
use super::value::{self, is_literal, is_made_of_words, is_usual};
use super::words::{is_number, reads_like_words, spelled_out};

/// The longest value that is judged, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 1_024;
/// The shortest key in code, in bytes.
pub(crate) const KEY_BYTES_MIN: usize = 16;
/// Longer than a name or a word: a key in quotes, in bytes.
const KEY_BYTES_MAX_OF_NAMES: usize = 24;
/// The shortest password in code or prose, in bytes.
const MIXED_BYTES_MIN: usize = 8;
/// Longer than a name of two words with a number between them, `write2Disk`, in bytes.
const LONG_BYTES_MIN: usize = 12;
/// The shortest password in a line that configures a program, in bytes.
const PASSWORD_BYTES_MIN: usize = 6;
/// The shortest token in such a line, in bytes.
const TOKEN_BYTES_MIN: usize = 8;
/// The most groups of letters of a password for a program.
const APP_GROUPS_MAX: usize = 6;
/// Signs in passwords that are not in names, paths and numbers.
const SIGNS: &[u8] = b"!#$%&*+=?^~@";

/// What a text is made of.
#[derive(Clone, Copy)]
struct Kinds {
    lower: bool,
    upper: bool,
    digit: bool,
    punctuation: bool,
    /// Signs that only passwords have.
    sign: bool,
    /// How many groups of digits there are.
    digit_groups: usize,
}

impl Kinds {
    fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
        let begins_digits =
            |at: usize| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit());
        Self {
            lower: has(u8::is_ascii_lowercase),
            upper: has(u8::is_ascii_uppercase),
            digit: has(u8::is_ascii_digit),
            punctuation: has(u8::is_ascii_punctuation),
            sign: bytes.iter().any(|byte| SIGNS.contains(byte)),
            digit_groups: (0..bytes.len()).filter(|at| begins_digits(*at)).count(),
        }
    }

    /// How many kinds of letters there are.
    fn count(self) -> usize {
        [self.lower, self.upper, self.digit, self.punctuation].into_iter().filter(|has| *has).count()
    }
}

/// Whether a value is a secret where a program is configured.
pub(crate) fn configures(name: NameOfSecret, value: &str) -> bool {
    match name {
        NameOfSecret::Password => is_password(value) || is_app_password(value),
        NameOfSecret::Token | NameOfSecret::Key => {
            value.len() >= TOKEN_BYTES_MIN
                && is_literal(value)
                && !is_expression(value)
                && !is_number(value)
                && !is_usual(value)
                && !is_made_up(value)
                && !is_made_of_words(value)
        }
    }
}

/// Whether a value is a secret in any text, such as code.
pub(crate) fn is_strong(name: NameOfSecret, value: &str, is_quoted: bool) -> bool {
    if value.len() < MIXED_BYTES_MIN {
        return false;
    }
    // Text in quotes is no expression, whatever it begins with, if a machine made it.
    if is_quoted && value.len() >= KEY_BYTES_MAX_OF_NAMES && !value.contains(' ') && !is_made_up(value) {
        let is_path =
            value.starts_with(['/', '.', '~']) || value.contains("://") || value.contains(['{', '<', '\\']);
        let is_other = is_path || super::references::is_reference(value);
        if !is_other && looks_made_by_machine(value) && !is_made_of_words(value) {
            return true;
        }
    }
    if name == NameOfSecret::Password && is_quoted && (is_mixed_in_quotes(value) || is_app_password(value)) {
        return true;
    }
    if !is_literal(value) || is_expression(value) || is_made_up(value) || is_number(value) {
        return false;
    }
    value.len() >= KEY_BYTES_MIN && looks_made_by_machine(value) && !is_made_of_words(value)
}

/// Whether the name of a key has a name by chance for its value: many services make their keys so.
pub(crate) fn is_uuid_of_secret(value: &str) -> bool {
    is_uuid(value) && !is_made_up(value) && different_digits(value) >= MIXED_BYTES_MIN
}

fn different_digits(value: &str) -> usize {
    "0123456789abcdef".chars().filter(|digit| value.to_ascii_lowercase().contains(*digit)).count()
}

/// Whether a password in quotes is no word and no name such as `aes-256-gcm`: letters and digits, or several kinds.
fn is_mixed_in_quotes(value: &str) -> bool {
    let kinds = Kinds::of(value);
    let is_word_with_number = kinds.count() == 2 && (kinds.lower || kinds.upper);
    let has_kinds =
        kinds.count() >= 3 && ((kinds.lower && kinds.upper) || kinds.sign || !is_made_of_words(value));
    kinds.digit && is_of_a_password(value) && (has_kinds || is_word_with_number) || is_mixed(value)
}

/// Whether a password mixes kinds of characters as no word and no name does, so that it needs no quotes.
pub(crate) fn is_mixed(value: &str) -> bool {
    let kinds = Kinds::of(value);
    if !(kinds.digit || kinds.lower && kinds.upper) || !is_of_a_password(value) {
        return false;
    }
    let has_letters = kinds.lower || kinds.upper;
    let is_long = value.len() >= LONG_BYTES_MIN;
    let is_unreadable = !reads_like_words(value) || (is_long && looks_made_by_machine(value));
    let is_scattered =
        kinds.digit && !is_made_of_words(value) && (kinds.digit_groups >= 2 || is_unreadable) && has_letters;
    is_scattered
        || (kinds.sign && kinds.digit && has_letters)
        || kinds.count() == 4
        || (kinds.lower && kinds.upper && !reads_like_words(value))
}

/// Whether a value may be a password of a person in any text.
fn is_of_a_password(value: &str) -> bool {
    value.len() >= MIXED_BYTES_MIN
        && is_password(value)
        && !is_number(value)
        && !is_usual(&spelled_out(value))
        && !is_member(value)
}

/// Whether a password is one, and not a placeholder, a default or an expression.
pub(crate) fn is_password(value: &str) -> bool {
    value.len() >= PASSWORD_BYTES_MIN
        && value.len() <= VALUE_BYTES_MAX
        && is_literal(value)
        && !is_expression(value)
        && !is_usual(value)
        && !is_made_up(value)
        && !is_constant(value)
        && !value::is_label(value)
}

/// `abcd efgh ijkl mnop`: groups of four by chance, as mail services make them for programs.
pub(crate) fn is_app_password(value: &str) -> bool {
    let groups: Vec<&str> = value.split(' ').take(APP_GROUPS_MAX + 1).collect();
    let is_group = |group: &&str| group.len() == 4 && group.bytes().all(|it| it.is_ascii_alphanumeric());
    (4..=APP_GROUPS_MAX).contains(&groups.len())
        && groups.iter().all(is_group)
        && !reads_like_words(&groups.concat())
}

/// A path, an address, a reference, or the name of another value.
pub(super) fn is_expression(value: &str) -> bool {
    value.starts_with(['/', '~', '.', '!', '&', '*', '|', '$', '%', '@', ':'])
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.contains('\\')
        || value::is_expression_of_names(value)
}

/// `request.body2.passWord`.
fn is_member(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && part.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    value.contains('.') && value.split(['.', '?']).all(is_name)
}

/// `CURLOPT_PASSWORD`, the name of a constant.
fn is_constant(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// A value without the scheme of an authorization.
pub(crate) fn without_scheme(value: &str) -> &str {
    let schemes = ["Bearer ", "bearer ", "token ", "Token ", "Basic ", "Bearer%20", "SSWS ", "token="];
    schemes.iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value).trim()
}

/// `Basic` and the Base64 of a user and a password.
pub(crate) fn is_basic(value: &str) -> bool {
    let Some(pair) = value.strip_prefix("Basic ").or_else(|| value.strip_prefix("basic ")) else {
        return false;
    };
    // A log ends the line in its own way: `==[\r][\n]`.
    let pair = pair.trim_start();
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "+/=".contains(one);
    let end = pair.find(|one| !is_letter(one)).unwrap_or(pair.len());
    let pair = STANDARD.decode(&pair[..end]).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    pair.is_some_and(|pair| pair.split_once(':').is_some_and(|(_, password)| is_password(password)))
}
