//! Secrets in the lines of any text: a value set under the name of a secret, in an address, in a header, or after a flag.
//!
//! Code, scripts, logs and manuals name secrets on every page, so how strong a value must be depends on how it is written.
//! A line that configures a program (`ENV`, `export`, a list of variables, a flag, a connection) needs no more than a
//! password that is no usual placeholder; a line of code needs a value that a machine made, or a password of several kinds
//! of characters. What always holds: each line is judged alone, but for a value below its name; reading takes linear time.

use super::records::Records;
use super::set::{How, Set, clipped, value_of};
use super::{calls, commands};
use crate::attachment::secret::formats::tables::Table;
use crate::attachment::secret::judgement::names::{Name, NameOfSecret};
use crate::attachment::secret::judgement::randomness::{is_made_up, looks_made_by_machine};
use crate::attachment::secret::judgement::strength::{
    KEY_BYTES_MIN, VALUE_BYTES_MAX, configures, is_app_password, is_basic, is_mixed, is_password, is_strong,
    is_uuid_of_secret, without_scheme,
};
use crate::attachment::secret::judgement::value::{is_made_of_words, is_usual};
use crate::attachment::secret::judgement::words::spelled_out;

/// The longest name of a variable, in bytes. A longer word is data.
const NAME_BYTES_MAX: usize = 80;

/// Parts of names that may be those of secrets. A name without any is passed over quickly.
const STEMS: &[&str] = &[
    "pass", "pwd", "pw", "kennwort", "psk", "secret", "token", "key", "auth", "cred", "session", "sid", "sig",
];

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

/// What is before the session of a user, in cookies, logs and commands.
const SESSIONS: &[&str] = &["cookie", "sessid", "sessionid", "session_id", "connect.sid", " -b '", " -b \""];
/// Words of a line that says how one signs in.
const LOGINS: &[&str] = &[
    "login",
    "log in",
    "logon",
    "sign in",
    "credential",
    "account",
    "user",
    "access",
    "zugang",
    "anmeld",
    "admin",
];
/// The most pairs of a line that are read.
const PAIRS_MAX: usize = 16;
/// Names of the words of a wallet.
const SEEDS: &[&str] = &["mnemonic", "seed phrase", "recovery phrase", "seed_phrase", "seed words"];
/// The least words of a wallet, and the letters of its shortest word.
const SEED_WORDS_MIN: usize = 12;
const SEED_LETTERS_MIN: usize = 3;

/// Words of SQL after which a password stands in quotes.
const CLAUSES: &[&str] = &["identified by ", " password ", "identified with mysql_native_password by "];

/// The position of the first secret; `is_settings` for a text of a kind that configures programs.
pub(crate) fn find(text: &str, is_settings: bool) -> Option<usize> {
    let mut above = None;
    let (mut table, mut records) = (Table::default(), Records::default());
    let mut start = 0;
    // A text in quotes has its line ends as `\n`.
    for line in text.split_inclusive('\n').flat_map(|line| line.split_inclusive("\\n")) {
        let body = line.strip_suffix("\\n").unwrap_or(line).trim_end();
        if body.is_empty() {
            above = None;
            start += line.len();
            continue;
        }
        let of_one = in_line(body, is_settings).or_else(|| below_its_name(above, body));
        // Both keep what is above.
        let (is_row, is_record) = (table.holds_secret(body), records.hold_secret(body));
        if let Some(at) = of_one.or_else(|| (is_row || is_record).then_some(0)) {
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
        .or_else(|| commands::find(line, &lower))
        .or_else(|| in_clause(line, &lower))
        .or_else(|| in_cookie(line, &lower))
        .or_else(|| calls::find(line, &lower))
        .or_else(|| beside_login(line, &lower))
        .or_else(|| in_seed(line, &lower))
        .or_else(|| under_name(line, &lower, is_settings))
}

/// `name: DB_PASSWORD` or `<key>password</key>`, whose value is on the next line.
fn named(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t', '-', '+', '"']);
    let in_tag = ["<key>", "<name>"].iter().find_map(|tag| line.strip_prefix(tag));
    if let Some(name) = in_tag {
        return name.split('<').next();
    }
    let (field, name) = line.split_once(':')?;
    let is_name = matches!(field.trim_end_matches('"'), "name" | "key" | "Name" | "Key");
    is_name.then(|| name.trim().trim_end_matches(',').trim_matches(['"', '\'']))
}

/// `value: hunter2` below the name of a secret.
fn below_its_name(above: Option<&str>, line: &str) -> Option<usize> {
    let name = NameOfSecret::of(above?)?;
    let begin = line.trim_start_matches([' ', '\t', '+', '"']);
    let in_tag = ["<string>", "<value>"].iter().find_map(|tag| begin.strip_prefix(tag));
    let value = in_tag.and_then(|rest| rest.split('<').next()).or_else(|| {
        let (field, value) = begin.split_once(':')?;
        matches!(field.trim_end_matches('"'), "value" | "Value").then_some(value)
    })?;
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    configures(name, without_scheme(value)).then(|| line.len() - begin.len())
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

/// `IDENTIFIED BY '...'` and `WITH PASSWORD '...'`. Double quotes are those of prose as well.
fn in_clause(line: &str, lower: &str) -> Option<usize> {
    CLAUSES.iter().find_map(|clause| {
        let at = lower.find(clause)? + clause.len();
        let (value, is_quoted) = value_of(clipped(&line[at..]));
        let is_of_sql = line[at..].starts_with('\'') && is_password(value);
        (is_of_sql || (is_quoted && is_mixed(value))).then_some(at)
    })
}

/// `Cookie: session=...` and `JSESSIONID=...`, where a name of a session has a value that a machine made.
fn in_cookie(line: &str, lower: &str) -> Option<usize> {
    let at = SESSIONS.iter().filter_map(|word| lower.find(word)).min()?;
    let pairs = line[at..].split([';', ' ', '"', '\'']).filter_map(|pair| pair.split_once('='));
    let is_session = |(name, value): (&str, &str)| {
        let name = name.to_ascii_lowercase();
        ["sess", "sid", "auth", "token", "jwt"].iter().any(|part| name.contains(part))
            && !["csrf", "xsrf"].iter().any(|part| name.contains(part))
            && value.len() >= KEY_BYTES_MIN
            && looks_made_by_machine(value)
            && !is_made_of_words(value)
            && !is_made_up(value)
    };
    pairs.into_iter().any(is_session).then_some(at)
}

/// `Login: admin / PASSWORD`, as people note it.
fn beside_login(line: &str, lower: &str) -> Option<usize> {
    LOGINS.iter().find(|word| lower.contains(**word))?;
    let is_pair = |at: &usize| {
        let value = line[*at + 3..].trim_start_matches(['`', '"', '\'', '*']);
        let end = value.find(|it: char| it.is_whitespace() || "`\"'*),;".contains(it)).unwrap_or(value.len());
        is_mixed(value[..end].trim_end_matches('.'))
    };
    line.match_indices(" / ").map(|(at, _)| at).take(PAIRS_MAX).find(is_pair)
}

/// `seed phrase: ...`: the words from which a wallet makes its keys.
fn in_seed(line: &str, lower: &str) -> Option<usize> {
    let at = SEEDS.iter().find_map(|name| Some(lower.find(name)? + name.len()))?;
    let words = line[at..].split(|it: char| !it.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // `is` and `the` stand before the words, and never among them.
    let words = words.skip_while(|word| word.len() < SEED_LETTERS_MIN || *word == "the");
    let is_of_seed = |word: &&str| {
        (SEED_LETTERS_MIN..=8).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_lowercase())
    };
    let words: Vec<&str> = words.take_while(is_of_seed).take(2 * SEED_WORDS_MIN).collect();
    let different: std::collections::HashSet<&&str> = words.iter().collect();
    (words.len() >= SEED_WORDS_MIN && different.len() > SEED_WORDS_MIN / 2).then_some(at)
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
        // `arn:aws:secretsmanager:...:secret:NAME` is the address of one.
        let is_in_address = line[..start].ends_with(':') && line[end..].starts_with(':');
        if length > NAME_BYTES_MAX || is_in_address || !has_stem(&lower[start..end]) {
            continue;
        }
        let Some(name) = NameOfSecret::of(word.trim_matches(['-', '.'])) else { continue };
        let Some(set) = Set::after(&line[end..]) else { continue };
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

/// Whether a name is set to a secret here.
fn is_set(line: &str, start: usize, name: NameOfSecret, set: &Set<'_>, context: Context) -> bool {
    let value = without_scheme(set.value);
    if set.value.starts_with("Basic ") || set.value.starts_with("basic ") {
        return is_basic(set.value);
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
        How::Tagged => set.is_quoted,
        How::Called | How::Said => false,
        // `--password options` is prose.
        How::Apart => (is_flag && !is_lower_word(value)) || (context.configures && is_variable),
    };
    if configures_here && configures(name, value) {
        return true;
    }
    let full_name = Name::of(&line[start..start + name_length(&line[start..])]);
    if is_uuid_of_secret(value) && full_name.ends_with_secret() {
        return true;
    }
    // `password of` and `token abc` are prose, `aws_secret_access_key abc` is a command, `-Password "abc"` a flag,
    // `requirepass abc` a line of settings.
    let is_flag_of_shell = word_begins_flag(line, start) && set.is_quoted;
    let is_alone = before.is_empty() && line.trim_end().ends_with(set.value);
    let is_directive = is_alone && is_mixed(value);
    let is_prose = set.how == How::Apart && !word.contains('_') && !is_flag_of_shell && !is_directive;
    let is_question = set.how == How::Called && full_name.reads();
    // `password: abc` alone on its line, as people note it.
    let is_note = set.how == How::Spaced && is_alone;
    let is_of_app = || is_app_password(line.rsplit(['=', ':']).next().unwrap_or_default().trim());
    let is_plain_password = name == NameOfSecret::Password && (is_mixed(value) || is_of_app());
    // A list of words in quotes is none of names and values.
    let is_in_quotes = is_note || (set.is_quoted && (set.how != How::Listed || is_variable));
    !is_prose && !is_question && (is_plain_password || is_strong(name, value, is_in_quotes))
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_name_byte(*byte)).count()
}

/// `-Password`, as PowerShell writes flags.
fn word_begins_flag(line: &str, start: usize) -> bool {
    line[start..].starts_with('-') && (start == 0 || line[..start].ends_with(' '))
}

fn is_lower_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}
