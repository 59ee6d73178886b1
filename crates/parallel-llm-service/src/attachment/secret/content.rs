//! Detects secrets by content: the formats in which keys, passwords and tokens are stored.
//!
//! Only whole files of such a format count: a page that mentions a password passes, a file whose lines mostly set
//! secrets does not. The exception is the header of a private key, which counts anywhere.

use std::path::Path;

use serde_json::Value;

use super::is_template;

/// The longest text checked for formats, in bytes. Files of credentials are a few kB; the header of a key is searched
/// in any length.
const FORMAT_BYTES_MAX: usize = 256 * 1024;
/// The shortest value that may be a password, in characters.
const PASSWORD_CHARS_MIN: usize = 4;
/// The shortest value that may be a token, in characters.
const TOKEN_CHARS_MIN: usize = 8;
/// The shortest value that may be a key, in characters: a shorter one is probably a word.
const KEY_CHARS_MIN: usize = 16;
/// Of each five lines with content, at most one may deviate from the format.
const FORMAT_LINES: usize = 5;

/// Headers of private keys in formats other than PEM.
const KEY_HEADS: &[&str] = &["PuTTY-User-Key-File-", "AGE-SECRET-KEY-1"];
/// The first line of our own file of keys.
const OWN_KEYS: &str = "# Written by `parallel-llm-mcp keys`";

/// JSON fields whose text is a secret.
const JSON_SECRETS: &[&str] = &[
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
/// Words in names of variables that hold a password.
const PASSWORD_WORDS: &[&str] = &["password", "passwd", "passwort", "pwd", "pass", "passphrase", "pw"];
/// Words in names of variables that hold a token.
const TOKEN_WORDS: &[&str] = &["secret", "token", "credential", "credentials", "auth"];
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
/// Prefixes of tokens of well-known services.
const TOKEN_HEADS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "akia",
    "aiza",
    "hf_",
    "plm_",
];

/// What a file seems to hold by its content; `None` if nothing secret.
pub(in super::super) fn by_content(path: &Path, bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let what = if pem_labels(text).any(|label| label.contains("PRIVATE KEY"))
        || KEY_HEADS.iter().any(|head| text.contains(head))
    {
        Some("a private key")
    } else if text.len() <= FORMAT_BYTES_MAX {
        known_format(path, text)
    } else {
        None
    };
    what.map(|what| format!("it holds {what}"))
}

fn known_format(path: &Path, text: &str) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| has_content(line)).collect();
    if text.contains(OWN_KEYS) {
        return Some("kept keys of providers");
    }
    if json_secret(text) || kubernetes(&lines) || holds_npm_token(text.as_bytes()) || is_netrc(&lines) {
        return Some("credentials");
    }
    if mostly(&lines, |line| is_pgpass(line) || is_url_with_password(line) || is_htpasswd(line)) {
        return Some("passwords");
    }
    let pairs: Vec<(&str, &str)> = lines.iter().filter_map(|line| pair(line)).collect();
    let is_secret = |(name, value): &(&str, &str)| is_secret(name, value);
    let is_random = |(_, value): &(&str, &str)| looks_random(value) || is_url_with_password(value);
    let sections = lines.iter().filter(|line| line.starts_with('[') && line.ends_with(']')).count();
    // In a template only values that were filled in count.
    let found = if is_template(&name) {
        pairs.iter().any(|pair| is_secret(pair) && is_random(pair))
    } else {
        pairs.iter().any(is_secret)
    };
    (found && !pairs.is_empty() && allows(pairs.len() + sections, lines.len()))
        .then_some("variables with secrets")
}

fn has_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(['#', ';']) && !line.starts_with("//=")
}

/// Whether enough of all lines fit a format.
const fn allows(fitting: usize, all: usize) -> bool {
    fitting > 0 && all - fitting <= all / FORMAT_LINES
}

fn mostly(lines: &[&str], fits: impl Fn(&str) -> bool) -> bool {
    allows(lines.iter().filter(|line| fits(line)).count(), lines.len())
}

/// The labels between `-----BEGIN ` and the next dashes.
fn pem_labels(text: &str) -> impl Iterator<Item = &str> {
    text.split("BEGIN ").skip(1).filter_map(|rest| rest.split_once("---")).map(|(label, _)| label).filter(
        |label| {
            label.len() <= 64
                && label.chars().all(|letter| letter.is_ascii_uppercase() || " 0123456789".contains(letter))
        },
    )
}

/// Whether the file holds PEM and only public parts.
pub(super) fn is_public_pem(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut labels = pem_labels(&text).peekable();
    let is_public = |label: &str| {
        ["CERTIFICATE", "PUBLIC KEY", "CRL", "PARAMETERS", "PKCS7", "CMS"]
            .iter()
            .any(|word| label.contains(word))
    };
    labels.peek().is_some() && labels.all(is_public)
}

/// Whether npm settings contain a token or a password.
pub(super) fn holds_npm_token(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|line| {
        let Some((name, value)) = line.trim().split_once(['=', ':']) else { return false };
        let (name, value) = match name {
            // `//registry.npmjs.org/:_authToken=...` begins with a URL.
            name if name.is_empty() || name.starts_with("//") => {
                let Some((name, value)) = line.trim().rsplit_once('=') else { return false };
                (name, value)
            }
            name => (name, value),
        };
        let named = ["_authToken", "_auth", "_password", "npmAuthToken", "npmAuthIdent"];
        named.iter().any(|known| name.ends_with(known)) && is_literal(value)
    })
}

/// Whether Docker settings hold a login. A file that cannot be parsed counts as one.
pub(super) fn holds_docker_login(bytes: &[u8]) -> bool {
    let Ok(settings) = serde_json::from_slice::<Value>(bytes) else { return true };
    let logins = settings["auths"].as_object();
    logins
        .is_some_and(|logins| logins.values().any(|login| login.as_object().is_some_and(|it| !it.is_empty())))
}

fn json_secret(text: &str) -> bool {
    let Ok(json) = serde_json::from_str::<Value>(text) else { return false };
    let is_docker = json["auths"].is_object() && holds_docker_login(text.as_bytes());
    is_docker || has_secret(&json)
}

fn has_secret(json: &Value) -> bool {
    match json {
        Value::Array(items) => items.iter().any(has_secret),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let name = name.to_lowercase();
            let text = value.as_str().unwrap_or_default();
            (JSON_SECRETS.contains(&name.as_str()) && text.len() >= TOKEN_CHARS_MIN && is_literal(text))
                || has_secret(value)
        }),
        _ => false,
    }
}

/// A Kubernetes client configuration with credentials, or a secret.
fn kubernetes(lines: &[&str]) -> bool {
    let has = |wanted: &str| lines.iter().any(|line| line.replace(' ', "") == wanted);
    let sets = |names: &[&str]| {
        lines.iter().any(|line| {
            let line = line.trim_start_matches("- ");
            line.split_once(':').is_some_and(|(name, value)| names.contains(&name) && is_literal(value))
        })
    };
    (has("kind:Config") && sets(&["client-key-data", "token", "password", "id-token", "refresh-token"]))
        || (has("kind:Secret") && (has("data:") || has("stringData:")))
}

/// `machine HOST login NAME password SECRET`, on one line or on several.
fn is_netrc(lines: &[&str]) -> bool {
    let begins = lines.first().and_then(|line| line.split_whitespace().next());
    let words = || lines.iter().flat_map(|line| line.split_whitespace());
    matches!(begins, Some("machine" | "default" | "macdef"))
        && words().any(|word| word == "login")
        && words().any(|word| word == "password")
}

/// `host:port:database:user:password`.
fn is_pgpass(line: &str) -> bool {
    let fields: Vec<&str> = line.split(':').collect();
    let is_port =
        |text: &str| text == "*" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    fields.len() >= 5
        && is_port(fields[1])
        && fields[..5].iter().all(|field| !field.is_empty())
        && !line.contains(char::is_whitespace)
}

/// `name:HASH`, the password format of Apache and Unix.
fn is_htpasswd(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else { return false };
    let hashes = ["$apr1$", "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "{SHA}", "{SSHA}"];
    !name.is_empty()
        && !name.contains(char::is_whitespace)
        && hashes.iter().any(|hash| rest.starts_with(hash))
}

/// `https://user:password@host`, alone.
fn is_url_with_password(text: &str) -> bool {
    let Ok(url) = url::Url::parse(text) else { return false };
    url.password().is_some_and(|password| !password.is_empty() && is_literal(password))
}

/// `NAME=VALUE`, with or without `export`, quotes and blanks.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = ["export ", "set ", "setenv ", "ENV "]
        .iter()
        .find_map(|word| line.strip_prefix(word))
        .unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    is_name.then(|| (name, value.trim().trim_end_matches([',', ';']).trim_matches(['"', '\''])))
}

/// Whether a variable of this name and value holds a secret.
fn is_secret(name: &str, value: &str) -> bool {
    if is_url_with_password(value) {
        return true;
    }
    if !is_literal(value) || value.starts_with(['/', '~', '.']) || value.parse::<f64>().is_ok() {
        return false;
    }
    let words = words_of(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let letters = value.chars().count();
    (has(PASSWORD_WORDS) && letters >= PASSWORD_CHARS_MIN)
        || (has(TOKEN_WORDS) && letters >= TOKEN_CHARS_MIN)
        || (has(&["key", "apikey", "accesskey"]) && !has(&["public"]) && looks_random(value))
        || begins_like_token(value)
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
fn is_literal(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']).to_lowercase();
    !value.is_empty()
        && !["true", "false", "yes", "no", "on", "off", "null", "none"].contains(&value.as_str())
        && !value.contains(|letter: char| letter.is_whitespace() || "()[]{}".contains(letter))
        && !PLACEHOLDERS.iter().any(|mark| value.contains(mark))
}

fn begins_like_token(value: &str) -> bool {
    let value = value.to_lowercase();
    value.len() >= KEY_CHARS_MIN && TOKEN_HEADS.iter().any(|head| value.starts_with(head))
}

/// Whether a value is long and mixes letters and digits, as no word does.
fn looks_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_long = value.len() >= KEY_CHARS_MIN;
    begins_like_token(value) || (is_long && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}
