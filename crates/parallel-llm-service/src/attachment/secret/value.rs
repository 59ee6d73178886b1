//! Judges names and values: which value is a password, a token or a key, and which is a placeholder, a word or an expression.

/// The shortest value that may be a password, in characters.
const PASSWORD_CHARS_MIN: usize = 4;
/// The shortest value that may be a token, in characters.
const TOKEN_CHARS_MIN: usize = 8;
/// The shortest value that may be a key, in characters: a shorter one is probably a word.
const KEY_CHARS_MIN: usize = 16;

/// The longest number at the end of a word, in digits: a year.
const NUMBER_DIGITS_MAX: usize = 4;
/// Words in names of variables that hold a password.
const PASSWORD_WORDS: &[&str] = &["password", "passwd", "passwort", "passphrase"];
/// The same, where they are last: `trivially_copy_pass_by_ref` is none.
const LAST_PASSWORD_WORDS: &[&str] = &["pwd", "pass", "pw"];
/// Words in names of variables that hold a token.
const TOKEN_WORDS: &[&str] = &["secret", "token", "credential", "credentials", "auth", "authorization"];
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
    "pass",
    "anon",
    "secret",
    "admin",
    "test",
    "guest",
    "user",
    "root",
    "postgres",
    "mysql",
    "mariadb",
    "redis",
    "rabbit",
    "mongo",
    "minio",
    "demo",
    "foo",
    "bar",
    "baz",
    "qux",
    "hello",
    "default",
    "change",
    "local",
    "docker",
    "database",
    "service",
    "account",
    "name",
    "value",
    "string",
    "here",
    "some",
    "mine",
    "none",
    "token",
    "apikey",
    "letmein",
    "qwerty",
    "abc",
    "login",
    "github",
    "gitlab",
    "elastic",
    "grafana",
    "jenkins",
    "wordpress",
    "development",
    "develop",
    "staging",
];

/// Last words of names that describe a secret and do not hold it.
const DESCRIBING: &[&str] = &[
    "url",
    "uri",
    "endpoint",
    "path",
    "file",
    "dir",
    "name",
    "type",
    "id",
    "ref",
    "env",
    "variable",
    "header",
    "field",
    "length",
    "ttl",
    "expiry",
    "expires",
    "max",
    "min",
    "count",
    "hint",
    "label",
    "prefix",
    "policy",
    "algorithm",
    "host",
    "issuer",
    "audience",
    "method",
    "provider",
    "class",
    "color",
    "size",
    "title",
    "message",
    "description",
    "format",
    "pattern",
    "limit",
    "version",
    "hash",
];
/// Words before `key` in names of secret keys.
const KEY_WORDS: &[&str] =
    &["api", "access", "secret", "private", "account", "master", "encryption", "signing", "auth", "license"];

/// Further words before `key`, where only a value that a machine made counts.
const STRONG_KEY_WORDS: &[&str] = &[
    "session", "shared", "deploy", "jwt", "hmac", "aes", "storage", "app", "cookie", "webhook", "consumer",
    "hash",
];
/// Words in names of what is no secret, though another word says so: `next_page_token`, `csrf_token`, `public_key`.
const HARMLESS: &[&str] = &[
    "public",
    "page",
    "next",
    "continuation",
    "csrf",
    "xsrf",
    "cursor",
    "sync",
    "cancellation",
    "site",
    "publishable",
    "anon",
    "sort",
    "cache",
    "primary",
    "foreign",
    "partition",
    "idempotency",
    "tokenizer",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "digest",
    "checksum",
    "fingerprint",
    "hashed",
    "encrypted",
    "registration",
    "special",
    "bos",
    "eos",
    "pad",
    "unk",
    "mask",
    "sep",
    "cls",
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
    "akia",
    "asia",
    "aiza",
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

/// Names whose value is a secret, unless it is a placeholder.
const SECRET_NAMES: &[&str] = &[
    "private_key",
    "client_secret",
    "refresh_token",
    "refreshtoken",
    "secretaccesskey",
    "secret_access_key",
    "aws_secret_access_key",
    "identitytoken",
    "sessiontoken",
];

/// `https://user:password@host`, alone.
pub(super) fn is_url_with_password(text: &str) -> bool {
    // A variable is encoded by the parser, so it is looked for before.
    if ["${", "$(", "{{", "%(", "<"].iter().any(|mark| text.contains(mark)) {
        return false;
    }
    let Ok(url) = url::Url::parse(text) else { return false };
    url.password().is_some_and(|password| !password.is_empty() && is_literal(password) && !is_usual(password))
}

/// Whether a variable of this name and value holds a secret.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    if is_url_with_password(value) {
        return true;
    }
    if !is_literal(value) || value.starts_with(['/', '~', '.']) || value.parse::<f64>().is_ok() {
        return false;
    }
    // `login.password=Passwort`, a translation.
    if name.contains('.') && is_label(value) {
        return false;
    }
    let words = words_of(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let letters = value.chars().count();
    (name_password(&words) && letters >= PASSWORD_CHARS_MIN)
        || (has(TOKEN_WORDS) && letters >= TOKEN_CHARS_MIN)
        || (has(&["key", "apikey", "accesskey"]) && !has(&["public"]) && looks_random(value))
        || begins_like_token(value)
}

/// Whether these words name a password.
fn name_password(words: &[String]) -> bool {
    words.iter().any(|word| PASSWORD_WORDS.contains(&word.as_str()))
        || words.last().is_some_and(|last| LAST_PASSWORD_WORDS.contains(&last.as_str()))
}

/// What a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameOfSecret {
    Password,
    Token,
    Key,
}

impl NameOfSecret {
    /// The kind of secret that has this name; `None` if it is the name of none.
    pub(super) fn of(name: &str) -> Option<Self> {
        let words = words_of(name);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let ends = |known: &[&str]| words.iter().any(|word| known.iter().any(|end| word.ends_with(end)));
        if words.last().is_none_or(|last| DESCRIBING.contains(&last.as_str())) || has(HARMLESS) {
            return None;
        }
        if name_password(&words) || ends(&["password", "passwd", "passphrase", "passwort"]) {
            return Some(Self::Password);
        }
        let is_key = words.windows(2).any(|pair| {
            pair[1] == "key"
                && [KEY_WORDS, STRONG_KEY_WORDS].iter().any(|all| all.contains(&pair[0].as_str()))
        });
        if is_key || ends(&["apikey", "accesskey", "secretkey", "privatekey"]) {
            return Some(Self::Key);
        }
        (has(TOKEN_WORDS) || ends(&["token", "secret"])).then_some(Self::Token)
    }
}

/// The words of a variable's name, which may be written `API_KEY`, `api-key` or `apiKey`.
fn words_of(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if was_lower && letter.is_ascii_uppercase() {
            spaced.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        spaced.push(letter.to_ascii_lowercase());
    }
    spaced.split(['_', '-', '.']).map(str::to_owned).collect()
}

/// Whether this is a literal value, and no placeholder or expression.
pub(super) fn is_literal(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']).to_lowercase();
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
    let value = value.to_lowercase();
    value.len() >= KEY_CHARS_MIN && TOKEN_HEADS.iter().any(|head| value.starts_with(head))
}

/// Whether a value is long and mixes letters and digits, as no word does.
pub(super) fn looks_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_long = value.len() >= KEY_CHARS_MIN;
    begins_like_token(value) || (is_long && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

/// Whether a field of a document holds a secret. Documents name things that a file of variables does not: translations,
/// types and colours. So the value must look like one.
pub(super) fn declares_secret(name: &str, value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    let value =
        ["Bearer ", "Basic ", "token "].iter().find_map(|head| value.strip_prefix(head)).unwrap_or(value);
    if is_url_with_password(value) || is_connection_with_password(value) || is_token(value) {
        return true;
    }
    // A path, or a reference to another value.
    if !is_literal(value) || value.starts_with(['/', '~', '.', '!', '&', '*', '|']) {
        return false;
    }
    let words = words_of(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let describes = words.last().is_some_and(|last| DESCRIBING.contains(&last.as_str()));
    let letters = value.chars().count();
    // `adminPasswordKey` names the field of another document.
    let is_reference = matches!(words.as_slice(), [.., before, last] if last == "key" && PASSWORD_WORDS.contains(&before.as_str()));
    if describes || has(HARMLESS) || is_reference || is_word(&words, value) {
        return false;
    }
    let is_key = words.iter().any(|word| word.ends_with("apikey") || word.ends_with("accesskey"))
        || words.windows(2).any(|pair| KEY_WORDS.contains(&pair[0].as_str()) && pair[1] == "key");
    let is_named = SECRET_NAMES.contains(&name.to_lowercase().as_str());
    (name_password(&words) && letters >= PASSWORD_CHARS_MIN)
        || (is_named && letters >= TOKEN_CHARS_MIN)
        || ((is_key || has(TOKEN_WORDS)) && letters >= TOKEN_CHARS_MIN && !is_made_of_words(value))
}

/// A token of a well-known service, or a signed one such as a JWT.
pub(super) fn is_token(value: &str) -> bool {
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
    let is_password = |(name, value): &(String, &str)| name_password(&words_of(name)) && is_literal(value);
    has(&["server", "data source", "host", "address", "addr", "network address"])
        && pairs.iter().any(is_password)
}

/// Whether the value of a name is a word of a language: a label, a type, or the name of another value.
fn is_word(words: &[String], value: &str) -> bool {
    let lower = value.to_lowercase();
    let is_expression = value.contains('.') && is_made_of_words(value);
    // `db-secret`, the name of one.
    let parts = || lower.split(['-', '_']);
    let is_name = parts().count() > 1
        && parts().all(|part| part.bytes().all(|byte| byte.is_ascii_lowercase()))
        && parts().any(|part| NO_SECRETS.contains(&part) || part == "credentials");
    is_name
        || words.contains(&lower)
        || NO_SECRETS.contains(&lower.as_str())
        || is_label(value)
        || is_expression
}

/// Whether a value is a word as it stands in a form or a menu: `Passwort`.
pub(super) fn is_label(value: &str) -> bool {
    let is_capital = value.starts_with(char::is_uppercase);
    let rest = || value.chars().skip(1);
    let is_foreign = value.chars().all(|letter| !letter.is_ascii()) && value.chars().all(char::is_alphabetic);
    is_foreign || (is_capital && rest().all(|letter| letter.is_lowercase() || letter == '-'))
}

/// Whether a password is made of usual words in letters, with a number behind them at most.
pub(super) fn is_usual(value: &str) -> bool {
    let value = value.replace("%20", "-");
    let stem = value
        .trim_end_matches(|it: char| it.is_ascii_digit() || it.is_ascii_punctuation())
        .to_ascii_lowercase();
    let is_of_letters =
        stem.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.'));
    is_of_letters && (stem.len() < 3 || USUAL.iter().any(|word| stem.contains(word)))
}

/// Whether each part of a value is letters, with a short number at the end: `oauth2/token`, `blue-500`, `docs.example.org`.
pub(super) fn is_made_of_words(value: &str) -> bool {
    let mut parts = value.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.all(|part| {
        let word = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        part.len() - word.len() <= NUMBER_DIGITS_MAX && !word.contains(|letter: char| letter.is_ascii_digit())
    })
}
