//! Secrets in the lines of any text: a value set under the name of a secret, in an address, in a header, or after a flag.
//!
//! Code, scripts, logs and manuals name secrets on every page, so how strong a value must be depends on how it is written.
//! A line that configures a program (`ENV`, `export`, a list of variables, a flag, a connection) needs no more than a
//! password that is no usual placeholder; a line of code needs a value that a machine made, or a password of several kinds
//! of characters. What always holds: each line is judged alone, but for a value below its name; reading takes linear time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::randomness::{is_made_up, is_uuid, looks_made_by_machine};
use super::value::{self, NameOfSecret, is_literal, is_usual};

/// The longest name of a variable, in bytes. A longer word is data.
const NAME_BYTES_MAX: usize = 80;
/// The longest value that is judged, in bytes.
const VALUE_BYTES_MAX: usize = 1_024;
/// The shortest key in code, in bytes.
const KEY_BYTES_MIN: usize = 16;
/// Longer than a name or a word: a key in quotes, in bytes.
const KEY_BYTES_MAX_OF_NAMES: usize = 24;
/// The shortest password in code, in bytes.
const STRONG_BYTES_MIN: usize = 10;
/// The shortest password in a line that configures a program, in bytes.
const PASSWORD_BYTES_MIN: usize = 6;
/// The shortest token in such a line, in bytes.
const TOKEN_BYTES_MIN: usize = 8;

/// Parts of names that may be those of secrets. A name without any is passed over quickly.
const STEMS: &[&str] =
    &["pass", "pwd", "pw", "secret", "token", "key", "auth", "cred", "session", "sid", "sig"];

/// What a connection names beside its password.
const COMPANIONS: &[&str] = &[
    "host=",
    "server=",
    "data source=",
    "dbname=",
    "accountname=",
    "endpoint=",
    "database=",
    "jdbc:",
    "://",
];
/// Flags whose value is a variable and its value.
const SETTING_FLAGS: &[&str] =
    &["--set", "--set-string", "--from-literal", "--from-literal=", "-e", "--env", "--build-arg", "-D", "-P"];

/// Words before a line's first variable when it configures a program.
const SETTERS: &[&str] = &[
    "env ",
    "arg ",
    "export ",
    "set ",
    "setx ",
    "setenv ",
    "$env:",
    "environment=",
    "declare -x ",
    "local ",
];

/// Commands and the flag after which they take a password.
const FLAGS: &[(&str, &str)] = &[
    ("sshpass", " -p"),
    ("mysql", " -p"),
    ("mariadb", " -p"),
    ("docker login", " -p"),
    ("podman login", " -p"),
    ("az login", " -p"),
    ("redis-cli", " -a"),
    ("ldapsearch", " -w"),
    ("smbclient", " -U"),
    ("curl", " -u"),
    ("curl", " --user"),
    ("wget", " --user"),
    ("http", " -a"),
];

/// Words of SQL after which a password stands in quotes.
const CLAUSES: &[&str] = &["identified by '", " password '", "identified with mysql_native_password by '"];

/// The position of the first secret; `is_settings` for a text of a kind that configures programs.
pub(super) fn find(text: &str, is_settings: bool) -> Option<usize> {
    let mut above = None;
    let mut start = 0;
    // A text in quotes has its line ends as `\n`.
    for line in text.split_inclusive('\n').flat_map(|line| line.split_inclusive("\\n")) {
        let body = line.strip_suffix("\\n").unwrap_or(line).trim_end();
        if let Some(at) = in_line(body, is_settings).or_else(|| below_its_name(above, body)) {
            return Some(start + at);
        }
        above = named(body);
        start += line.len();
    }
    None
}

fn in_line(line: &str, is_settings: bool) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    in_address(line)
        .or_else(|| after_flag(line, &lower))
        .or_else(|| in_clause(line, &lower))
        .or_else(|| in_cookie(line, &lower))
        .or_else(|| under_name(line, &lower, is_settings))
}

/// `name: DB_PASSWORD`, whose value is on the next line.
fn named(line: &str) -> Option<&str> {
    let (field, name) = line.trim_start_matches([' ', '-', '"']).split_once(':')?;
    let is_name = matches!(field.trim_end_matches('"'), "name" | "key" | "Name" | "Key");
    is_name.then(|| name.trim().trim_end_matches(',').trim_matches(['"', '\'']))
}

/// `value: hunter2` below the name of a secret.
fn below_its_name(above: Option<&str>, line: &str) -> Option<usize> {
    let name = NameOfSecret::of(above?)?;
    let (field, value) = line.trim_start_matches([' ', '"']).split_once(':')?;
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    let is_value = matches!(field.trim_end_matches('"'), "value" | "Value");
    (is_value && configures(name, without_scheme(value))).then(|| line.len() - line.trim_start().len())
}

/// `scheme://user:password@host`.
fn in_address(line: &str) -> Option<usize> {
    // `user:password@tcp(host)`, as Go writes it.
    let of_go = line.find("@tcp(").filter(|at| {
        let word = line[..*at].rsplit(['"', '\'', '`', ' ', '=']).next().unwrap_or_default();
        word.split_once(':').is_some_and(|(user, password)| user != password && is_password(password))
    });
    let of_url = line.match_indices("://").map(|(at, _)| at).find(|at| {
        let rest = &line[at + 3..];
        let end =
            rest.find(|it: char| it.is_whitespace() || "/?#\"'<>`\\)".contains(it)).unwrap_or(rest.len());
        let Some((user_and_password, host)) = rest[..end].rsplit_once('@') else { return false };
        let Some((user, password)) = user_and_password.split_once(':') else { return false };
        // `s3cret` on the reader's own machine is a default, too.
        let is_local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| host.starts_with(local));
        let is_default = is_local && is_usual(&spelled_out(password));
        !host.is_empty() && password != user && is_password(password) && !is_default
    });
    of_url.or(of_go)
}

/// A password after the flag of a command: `curl -u me:...`, `sshpass -p ...`.
fn after_flag(line: &str, lower: &str) -> Option<usize> {
    if !lower.contains(" -") {
        return None;
    }
    FLAGS.iter().find_map(|(command, flag)| {
        let from = lower.find(command)? + command.len();
        lower[from..].match_indices(&flag.to_ascii_lowercase()).map(|(at, _)| from + at + flag.len()).find(
            |at| {
                let rest = clipped(&line[*at..]);
                let is_glued = !rest.starts_with([' ', '=']);
                // `mysql -pSECRET` is one word, `-preview` and `-port` are others.
                if is_glued
                    && !(flag.ends_with("-p") && command.ends_with("sql"))
                    && !rest.starts_with(['\'', '"'])
                {
                    return false;
                }
                let value = value_of(rest.trim_start_matches([' ', '='])).0;
                let password = value.split_once(':').map_or(value, |(_, password)| password);
                let is_pair = matches!(*flag, " -u" | " --user" | " -U" | " -a") && value.contains(':');
                let is_alone = !matches!(*flag, " -u" | " --user" | " -U") && *command != "http";
                (is_pair || is_alone) && is_password(password) && !is_number(password)
            },
        )
    })
}

/// `IDENTIFIED BY '...'` and `WITH PASSWORD '...'`.
fn in_clause(line: &str, lower: &str) -> Option<usize> {
    CLAUSES.iter().find_map(|clause| {
        let at = lower.find(clause)? + clause.len();
        is_password(line[at..].split('\'').next().unwrap_or_default()).then_some(at)
    })
}

/// `Cookie: session=...`, where a name of a session has a value that a machine made.
fn in_cookie(line: &str, lower: &str) -> Option<usize> {
    let at = lower.find("cookie")?;
    let pairs = line[at..].split([';', ' ', '"', '\'']).filter_map(|pair| pair.split_once('='));
    let is_session = |(name, value): (&str, &str)| {
        let name = name.to_ascii_lowercase();
        ["sess", "sid", "auth", "token", "jwt"].iter().any(|part| name.contains(part))
            && !["csrf", "xsrf"].iter().any(|part| name.contains(part))
            && value.len() >= KEY_BYTES_MIN
            && looks_made_by_machine(value)
            && !is_made_up(value)
    };
    pairs.into_iter().any(is_session).then_some(at)
}

/// A value set under the name of a secret.
fn under_name(line: &str, lower: &str, is_settings: bool) -> Option<usize> {
    if !has_stem(lower) {
        return None;
    }
    let (bytes, mut at) = (line.as_bytes(), 0);
    let mut context = None;
    while at < bytes.len() {
        if !is_name_byte(bytes[at]) {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|byte| is_name_byte(**byte)).count();
        let (start, end) = (at, at + length);
        at = end;
        let word = &line[start..end];
        if length > NAME_BYTES_MAX || !has_stem(&lower[start..end]) {
            continue;
        }
        let Some(set) = Set::after(&line[end..]) else { continue };
        let Some(name) = NameOfSecret::of(word.trim_matches(['-', '.'])) else { continue };
        let context = *context.get_or_insert_with(|| Context::of(line, lower, is_settings));
        if set.value.len() <= VALUE_BYTES_MAX && is_set(line, start, name, &set, context) {
            return Some(start);
        }
    }
    None
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn has_stem(lower: &str) -> bool {
    STEMS.iter().any(|stem| lower.contains(stem))
}

/// What a line is besides its variable.
#[derive(Clone, Copy)]
struct Context {
    /// It configures a program.
    configures: bool,
    /// It names a host or a user as well.
    connects: bool,
}

impl Context {
    fn of(line: &str, lower: &str, is_settings: bool) -> Self {
        let begin = line.trim_start_matches([' ', '\t', '+', '$', '>', '%', '"', '\'', '-', '#']);
        let begins = &lower[line.len() - begin.len()..];
        Self {
            configures: is_settings || SETTERS.iter().any(|word| begins.starts_with(word)),
            connects: COMPANIONS.iter().any(|name| lower.contains(name)),
        }
    }
}

/// A value, and how it is set.
struct Set<'a> {
    value: &'a str,
    how: How,
    is_quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// `NAME=VALUE`, without blanks.
    Glued,
    /// `name = value`, `name: value`, `name => value`.
    Spaced,
    /// `("name", "value")`.
    Listed,
    /// `NAME VALUE`.
    Apart,
}

impl<'a> Set<'a> {
    /// What is set after a name.
    fn after(rest: &'a str) -> Option<Self> {
        let rest = clipped(rest);
        let unquoted = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ')']);
        let is_name_quoted = rest[..rest.len() - unquoted.len()].contains(['"', '\'', '`']);
        let sign = unquoted.trim_start();
        let is_apart = sign.len() < unquoted.len();
        let (how, rest) = if let Some(rest) = sign.strip_prefix("=>").or_else(|| sign.strip_prefix(":=")) {
            (How::Spaced, rest)
        } else if sign.starts_with("==") {
            return None;
        } else if let Some(rest) = sign.strip_prefix('=') {
            (if is_apart || rest.starts_with(' ') { How::Spaced } else { How::Glued }, rest)
        } else if let Some(rest) = sign.strip_prefix(':') {
            (How::Spaced, rest)
        } else if let Some(rest) = sign.strip_prefix(',').filter(|_| is_name_quoted) {
            // `{"name": "Authorization", "value": "..."}`, and not the arguments of a call.
            let listed = rest.trim_start();
            let of_pair = listed.trim_start_matches(['"', '\\']).strip_prefix("value");
            let of_pair =
                of_pair.and_then(|rest| rest.trim_start_matches(['"', '\\', ' ']).strip_prefix(':'));
            (How::Listed, of_pair.unwrap_or(listed))
        } else if is_apart {
            (How::Apart, sign)
        } else {
            return None;
        };
        let (value, is_quoted) = value_of(rest.trim_start());
        if how == How::Listed && !is_quoted {
            return None;
        }
        let tail = &rest[rest.find(value).map_or(rest.len(), |at| at + value.len())..];
        // `password: str = "..."`.
        if !is_quoted && how == How::Spaced && tail.trim_start().starts_with("= ") {
            return Self::after(tail);
        }
        (!value.is_empty()).then_some(Self { value, how, is_quoted })
    }
}

/// The beginning of a text, as much as a value may take with what is around it.
fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(text.len().min(2 * VALUE_BYTES_MAX))]
}

/// The value at the beginning of a text, and whether it is in quotes.
fn value_of(rest: &str) -> (&str, bool) {
    let plain = rest.trim_start_matches(|it: char| "bfr@\\".contains(it));
    let begins = if plain.starts_with(['"', '\'', '`']) { plain } else { rest };
    if let Some(quote) = begins.chars().next().filter(|it| ['"', '\'', '`'].contains(it)) {
        let inner = begins[1..].trim_start_matches(quote);
        let value = &inner[..inner.find(quote).unwrap_or(inner.len())];
        return (value.trim_end_matches('\\'), true);
    }
    let scheme = ["Bearer ", "Basic ", "bearer ", "basic ", "token ", "Token "]
        .iter()
        .find(|word| rest.starts_with(**word));
    let skip = scheme.map_or(0, |word| word.len());
    let ends = |it: char| it.is_whitespace() || "\"'`,;)]}<>&|\\".contains(it);
    let end = rest[skip..].find(ends).map_or(rest.len(), |at| skip + at);
    (&rest[..end], false)
}

/// Whether a name is set to a secret here.
fn is_set(line: &str, start: usize, name: NameOfSecret, set: &Set<'_>, context: Context) -> bool {
    let value = without_scheme(set.value);
    if is_basic(set.value) {
        return true;
    }
    let word =
        line[start..].split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next().unwrap_or_default();
    let before = line[..start].trim_end_matches([' ', '"', '\'']);
    let is_flag = line[start..].starts_with("--")
        || line[start..].starts_with("-D")
        || SETTING_FLAGS
            .iter()
            .any(|flag| before.strip_suffix(flag).is_some_and(|rest| rest.is_empty() || rest.ends_with(' ')));
    let is_variable = word.len() > 3 && word.bytes().all(|byte| !byte.is_ascii_lowercase());
    let is_list = line.trim_start().starts_with("- ") && set.how == How::Glued;
    // The address of a badge has a short token for everyone; a password in an address is one.
    let connects = context.connects && name == NameOfSecret::Password;
    let configures_here = match set.how {
        How::Glued => context.configures || connects || is_flag || is_variable || is_list,
        How::Spaced => context.configures || (connects && set.is_quoted),
        How::Listed => is_variable && set.is_quoted,
        // `--password options` is prose.
        How::Apart => (is_flag && !is_lower_word(value)) || (context.configures && is_variable),
    };
    if configures_here && configures(name, value) {
        return true;
    }
    // `password of` and `token abc` are prose, `aws_secret_access_key abc` is a command.
    let is_prose = set.how == How::Apart && !word.contains('_');
    // `password: abc` alone on its line, as people note it.
    let is_note = set.how == How::Spaced && before.is_empty() && line.trim_end().ends_with(set.value);
    !is_prose && is_strong(name, value, set.is_quoted || is_note)
}

/// A value without the scheme of an authorization.
fn without_scheme(value: &str) -> &str {
    let schemes = ["Bearer ", "bearer ", "token ", "Token ", "Basic ", "Bearer%20"];
    schemes.iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value).trim()
}

/// `Basic` and the Base64 of a user and a password.
fn is_basic(value: &str) -> bool {
    let Some(pair) = value.strip_prefix("Basic ").or_else(|| value.strip_prefix("basic ")) else {
        return false;
    };
    let pair = STANDARD.decode(pair.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    pair.is_some_and(|pair| pair.split_once(':').is_some_and(|(_, password)| is_password(password)))
}

/// Whether a value is a secret where a program is configured.
fn configures(name: NameOfSecret, value: &str) -> bool {
    let is_plain = || !is_expression(value) && !is_number(value) && !is_uuid(value);
    match name {
        NameOfSecret::Password => is_password(value),
        NameOfSecret::Token | NameOfSecret::Key => {
            value.len() >= TOKEN_BYTES_MIN
                && is_literal(value)
                && is_plain()
                && !is_usual(value)
                && !is_made_up(value)
                && !value::is_made_of_words(value)
        }
    }
}

/// Whether a value is a secret in any text, such as code.
fn is_strong(name: NameOfSecret, value: &str, is_quoted: bool) -> bool {
    // Text in quotes is no expression, whatever it begins with, if a machine made it.
    if is_quoted && value.len() >= KEY_BYTES_MAX_OF_NAMES && !value.contains(' ') && !is_made_up(value) {
        let is_path =
            value.starts_with(['/', '.', '~']) || value.contains("://") || value.contains(['{', '<', '\\']);
        if !is_path && looks_made_by_machine(value) && !value::is_made_of_words(value) {
            return true;
        }
    }
    if !is_literal(value) || is_expression(value) || is_made_up(value) || is_number(value) {
        return false;
    }
    let is_random =
        value.len() >= KEY_BYTES_MIN && looks_made_by_machine(value) && !value::is_made_of_words(value);
    let is_complex = || {
        let has = |is: fn(&u8) -> bool| usize::from(value.as_bytes().iter().any(is));
        let kinds = has(u8::is_ascii_lowercase)
            + has(u8::is_ascii_uppercase)
            + has(u8::is_ascii_digit)
            + has(u8::is_ascii_punctuation);
        value.len() >= STRONG_BYTES_MIN
            && kinds >= 3
            && has(u8::is_ascii_digit) > 0
            && !is_usual(&spelled_out(value))
    };
    is_random || (name == NameOfSecret::Password && is_quoted && is_complex())
}

/// Whether a password is one, and not a placeholder, a default or an expression.
fn is_password(value: &str) -> bool {
    value.len() >= PASSWORD_BYTES_MIN
        && value.len() <= VALUE_BYTES_MAX
        && is_literal(value)
        && !is_expression(value)
        && !is_usual(value)
        && !is_made_up(value)
        && !is_constant(value)
        && !value::is_label(value)
}

/// A path, an address, a reference, or the name of another value.
fn is_expression(value: &str) -> bool {
    value.starts_with(['/', '~', '.', '!', '&', '*', '|', '$', '%', '@', ':'])
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.contains('\\')
        || (value.contains('.') && value::is_made_of_words(value))
}

fn is_lower_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// `CURLOPT_PASSWORD`, the name of a constant.
fn is_constant(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b':'))
}

/// A password with the letters that its digits and signs stand for.
fn spelled_out(value: &str) -> String {
    let letter = |it: char| match it {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    value.chars().map(letter).filter(char::is_ascii_alphabetic).collect()
}
