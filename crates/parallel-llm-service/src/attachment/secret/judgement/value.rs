//! Judges values: which is a password, a token or a key, and which is a placeholder, a word or an expression.

use super::names::{Name, is_always_secret};
use super::randomness::is_made_up;
use super::references::{is_published, is_reference};
use super::words::{is_number, reads_like_words, spelled_out};

/// The shortest value that may be a password, in characters.
const PASSWORD_CHARS_MIN: usize = 4;
/// The shortest value that may be a token, in characters.
const TOKEN_CHARS_MIN: usize = 8;
/// The shortest value that may be a key, in characters: a shorter one is probably a word.
const KEY_CHARS_MIN: usize = 16;

/// The longest number at the end of a word, in digits: a year.
const NUMBER_DIGITS_MAX: usize = 4;
/// The letters that may be left of a usual password without its usual words: `my`, `dev1`.
const REST_LETTERS_MAX: usize = 4;
/// Placeholders for a secret.
const PLACEHOLDERS: &[&str] = &[
    "your",
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "xxx",
    "dummy",
    "sample",
    "redacted",
    "todo",
    "insert",
    "replace",
    "...",
    "<",
    ">",
    "${",
    "$(",
    "{{",
    "***",
];
/// Words that stand where a secret would be in a form, a type or a manual.
const NO_SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "pass",
    "secret",
    "token",
    "string",
    "text",
    "required",
    "optional",
    "hidden",
    "undefined",
    "empty",
    "basic",
    "bearer",
    "default",
    "enabled",
    "disabled",
    "never",
    "always",
    "inherit",
    "keyword",
    "identifier",
];
/// Passwords that are placeholders or defaults, alone or with a number, and parts of such.
const USUAL: &[&str] = &[
    "administrator",
    "supersecret",
    "secure",
    "development",
    "artifactory",
    "postgresql",
    "localhost",
    "wordpress",
    "incorrect",
    "sqlserver",
    "raspberry",
    "password",
    "passwort",
    "postgres",
    "rabbitmq",
    "changeit",
    "database",
    "iloveyou",
    "football",
    "princess",
    "keycloak",
    "superset",
    "metabase",
    "testing",
    "mariadb",
    "mongodb",
    "default",
    "service",
    "account",
    "letmein",
    "elastic",
    "grafana",
    "jenkins",
    "develop",
    "staging",
    "correct",
    "invalid",
    "notreal",
    "welcome",
    "trustno",
    "laravel",
    "airflow",
    "vagrant",
    "passwd",
    "secret",
    "tester",
    "rabbit",
    "change",
    "docker",
    "string",
    "apikey",
    "qwerty",
    "github",
    "gitlab",
    "strong",
    "monkey",
    "dragon",
    "django",
    "oracle",
    "zabbix",
    "ubuntu",
    "admin",
    "guest",
    "mysql",
    "redis",
    "mongo",
    "minio",
    "hello",
    "local",
    "value",
    "token",
    "login",
    "wrong",
    "super",
    "rails",
    "kafka",
    "neo4j",
    "sonar",
    "nexus",
    "test",
    "user",
    "root",
    "demo",
    "name",
    "here",
    "some",
    "mine",
    "none",
    "asdf",
    "pass",
    "anon",
    "fake",
    "solr",
    "foo",
    "bar",
    "baz",
    "qux",
    "abc",
];

/// Prefixes of tokens of well-known services.
const TOKEN_HEADS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "gsk_",
    "xai-",
    "pplx-",
    "nvapi-",
    "npm_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "plm_",
];

/// `https://user:password@host`, alone.
pub(crate) fn is_url_with_password(text: &str) -> bool {
    // A variable is encoded by the parser, so it is looked for before.
    if ["${", "$(", "{{", "%(", "<"].iter().any(|mark| text.contains(mark)) {
        return false;
    }
    let Ok(url) = url::Url::parse(text) else { return false };
    url.password().is_some_and(|password| !password.is_empty() && is_literal(password) && !is_usual(password))
}

/// Whether a variable of this name and value holds a secret.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    if is_url_with_password(value) {
        return true;
    }
    if !is_literal(value) || value.starts_with(['/', '~', '.']) || is_number(value) || is_version(value) {
        return false;
    }
    if begins_like_token(value) {
        return true;
    }
    // `login.password=Passwort`, a translation.
    if name.contains('.') && is_label(value) {
        return false;
    }
    let name = Name::of(name);
    let letters = value.chars().count();
    !name.is_harmless()
        && !is_expression_of_names(value)
        && ((name.is_password() && letters >= PASSWORD_CHARS_MIN && !is_default(value))
            || (name.is_token() && letters >= TOKEN_CHARS_MIN && !is_made_up(value))
            || (name.has(&["key", "apikey", "accesskey"]) && looks_random(value)))
}

/// Whether this is a literal value, and no placeholder or expression.
pub(crate) fn is_literal(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    if is_reference(value) || is_published(value) {
        return false;
    }
    let value = value.to_lowercase();
    !value.is_empty()
        && !["true", "false", "yes", "no", "on", "off", "null", "none"].contains(&value.as_str())
        && !value.contains(|letter: char| letter.is_whitespace() || "()[]{}".contains(letter))
        && !PLACEHOLDERS.iter().any(|mark| value.contains(mark))
        && !is_variable(&value)
}

/// `$NAME` or `%NAME%`.
fn is_variable(value: &str) -> bool {
    let name = value.strip_prefix('$').or_else(|| value.strip_prefix('%')?.strip_suffix('%'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

fn begins_like_token(value: &str) -> bool {
    value.len() >= KEY_CHARS_MIN
        && TOKEN_HEADS.iter().any(|head| value.starts_with(head))
        && !is_made_of_words(value)
}

/// Whether a value is long and mixes letters and digits, as no word does.
pub(crate) fn looks_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_long = value.len() >= KEY_CHARS_MIN;
    begins_like_token(value) || (is_long && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

/// Whether a field of a document holds a secret. Documents name things that a file of variables does not: translations,
/// types and colours. So the value must look like one.
pub(crate) fn declares_secret(name: &str, value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    let value =
        ["Bearer ", "token ", "SSWS "].iter().find_map(|head| value.strip_prefix(head)).unwrap_or(value);
    if is_url_with_password(value) || is_connection_with_password(value) || is_token(value) {
        return true;
    }
    // A path, or a reference to another value.
    if !is_literal(value) || value.starts_with(['/', '~', '.', '!', '&', '*', '|']) || is_version(value) {
        return false;
    }
    let is_named = is_always_secret(name);
    let name = Name::of(name);
    if name.is_harmless() || name.is_reference() || is_word(&name, value) {
        return false;
    }
    let letters = value.chars().count();
    (name.is_password() && letters >= PASSWORD_CHARS_MIN && !is_default(value))
        || (is_named && letters >= TOKEN_CHARS_MIN)
        || ((name.is_key_of_document() || name.is_token())
            && letters >= TOKEN_CHARS_MIN
            && !is_made_up(value)
            && !is_made_of_words(value))
}

/// `0.5.0`, `^1.7`, `2.0.0-rc1`.
fn is_version(value: &str) -> bool {
    let value = value.trim_start_matches(['^', '~', '=', 'v']);
    let number = value.split(['-', '+']).next().unwrap_or_default();
    number.contains('.')
        && number.split('.').all(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
}

/// A token of a well-known service, or a signed one such as a JWT.
pub(crate) fn is_token(value: &str) -> bool {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_plain && is_literal(value) && !is_made_of_words(value) && (begins_like_token(value) || is_jwt(value))
}

/// Three parts in Base64, of which the first begins with `{"`.
fn is_jwt(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    parts.len() == 3 && parts[0].starts_with("eyJ") && parts.iter().all(|part| part.len() >= TOKEN_CHARS_MIN)
}

/// `Server=db;User Id=app;Password=hunter2`.
fn is_connection_with_password(text: &str) -> bool {
    let pairs: Vec<(String, &str)> = text
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim()))
        .collect();
    let has = |known: &[&str]| pairs.iter().any(|(name, _)| known.contains(&name.as_str()));
    let is_password = |(name, value): &(String, &str)| Name::of(name).is_password() && is_literal(value);
    has(&["server", "data source", "host", "address", "addr", "network address"])
        && pairs.iter().any(is_password)
}

/// Whether the value of a name is a word of a language: a label, a type, or the name of another value.
fn is_word(name: &Name, value: &str) -> bool {
    let lower = value.to_lowercase();
    // `db-secret`, the name of one.
    let parts = || lower.split(['-', '_']);
    let is_name = parts().count() > 1
        && parts().all(|part| part.bytes().all(|byte| byte.is_ascii_lowercase()))
        && parts().any(|part| NO_SECRETS.contains(&part) || part == "credentials");
    is_name
        || name.has_word(&lower)
        || NO_SECRETS.contains(&lower.as_str())
        || is_label(value)
        || is_expression_of_names(value)
}

/// `server.token`, the value of another name.
pub(super) fn is_expression_of_names(value: &str) -> bool {
    value.contains('.') && is_made_of_words(value)
}

/// Whether a value is a word as it stands in a form or a menu: `Passwort`.
pub(super) fn is_label(value: &str) -> bool {
    let is_capital = value.starts_with(char::is_uppercase);
    let rest = || value.chars().skip(1);
    let is_foreign = value.chars().all(|letter| !letter.is_ascii()) && value.chars().all(char::is_alphabetic);
    is_foreign || (is_capital && rest().all(|letter| letter.is_lowercase() || letter == '-'))
}

/// Whether a password is made of usual words in letters, with a number behind them at most.
pub(crate) fn is_usual(value: &str) -> bool {
    let value = value.replace("%20", "-");
    let stem = value
        .trim_end_matches(|it: char| it.is_ascii_digit() || it.is_ascii_punctuation())
        .to_ascii_lowercase();
    let is_of_letters =
        stem.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.'));
    is_of_letters && (stem.len() < 3 || is_made_of_usual(&stem))
}

/// The same, also with digits and signs in place of letters: `P@ssw0rd`.
fn is_default(value: &str) -> bool {
    is_usual(value) || is_usual(&spelled_out(value))
}

/// Whether little is left of a text without its usual words: `mysecretpassword`, and no `barracuda`.
fn is_made_of_usual(stem: &str) -> bool {
    let mut left = stem.replace(['-', '_', '.'], "");
    let before = left.len();
    for word in USUAL {
        left = left.replace(word, "");
    }
    left.len() < before && left.len() <= REST_LETTERS_MAX
}

/// Whether each part of a value is letters, with a short number at the end: `oauth2/token`, `blue-500`, `docs.example.org`.
pub(crate) fn is_made_of_words(value: &str) -> bool {
    let mut parts = value.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.all(|part| {
        let word = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        part.len() - word.len() <= NUMBER_DIGITS_MAX && !word.contains(|letter: char| letter.is_ascii_digit())
    }) && reads_like_words(value)
}
