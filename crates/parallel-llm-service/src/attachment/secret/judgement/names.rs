//! Judges the names of variables, fields and columns: which says that its value is a password, a token or a key.
//!
//! What always holds: a name that describes a secret, such as its length or its address, is not that of a secret.

/// Words in names of variables that hold a password.
const PASSWORD_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "kennwort",
    "passcode",
    "sshpass",
    "requirepass",
    "masterauth",
    "storepass",
    "keypass",
];
/// The same, where they are last: `trivially_copy_pass_by_ref` is none.
const LAST_PASSWORD_WORDS: &[&str] = &["pwd", "pass", "pw", "psk"];
/// Words in names of variables that hold a token.
const TOKEN_WORDS: &[&str] = &["secret", "token", "credential", "credentials", "auth", "authorization"];
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
    "arn",
    "address",
    "addr",
    "encoder",
    "decoder",
    "encoding",
    "encryption",
    "rule",
    "rules",
    "regex",
    "validator",
    "validation",
    "strength",
    "requirement",
    "requirements",
    "minute",
    "minutes",
    "second",
    "seconds",
    "hour",
    "hours",
    "day",
    "days",
    "duration",
    "timeout",
    "interval",
    "age",
    "scope",
    "scopes",
    "realm",
    "domain",
    "role",
    "user",
    "username",
    "mode",
    "status",
    "state",
    "manager",
    "factory",
    "builder",
    "handler",
    "helper",
    "reset",
    "error",
    "errors",
    "text",
    "placeholder",
    "prompt",
    "input",
    "selector",
    "page",
    "route",
    "link",
    "table",
    "column",
    "index",
    "cost",
    "rounds",
    "iterations",
    "template",
    "schema",
    "strategy",
    "scheme",
    "backend",
    "plugin",
    "bucket",
    "space",
    "symbol",
    "decimals",
    "balance",
    "supply",
    "mint",
    "position",
    "offset",
    "kind",
    "created",
    "updated",
    "at",
    "timestamp",
    "until",
    "delimiter",
    "splitter",
    "counter",
    "budget",
    "usage",
    "price",
    "rate",
    "model",
    "vocab",
    "required",
    "enabled",
    "disabled",
    "expired",
    "expiration",
    "valid",
    "invalid",
    "rotation",
    "store",
    "region",
    "algo",
    "alg",
    "hasher",
    "generator",
    "checker",
    "service",
    "server",
    "client",
];
/// First words of names of functions that read a secret or ask for it.
const READING: &[&str] = &[
    "get", "fetch", "read", "load", "find", "lookup", "resolve", "require", "prompt", "ask", "check",
    "verify", "validate", "parse", "has", "is", "with_env", "env", "expect",
];
/// Words before `key` in names of secret keys.
const KEY_WORDS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "account",
    "master",
    "encryption",
    "signing",
    "auth",
    "license",
    "application",
    "client",
    "admin",
    "service",
    "root",
    "rest",
    "write",
    "ingest",
    "subscription",
    "project",
    "server",
];
/// Further words before `key`, where only a value that a machine made counts.
const STRONG_KEY_WORDS: &[&str] = &[
    "session",
    "shared",
    "deploy",
    "jwt",
    "hmac",
    "aes",
    "storage",
    "app",
    "cookie",
    "webhook",
    "consumer",
    "hash",
    "ssh",
    "integration",
    "integrations",
    "user",
    "crypto",
    "cipher",
    "database",
    "db",
    "mistral",
    "openai",
    "anthropic",
    "cohere",
    "groq",
    "stripe",
    "sendgrid",
    "algolia",
    "mailgun",
    "google",
    "aws",
    "azure",
    "gemini",
    "deepseek",
    "twilio",
];
/// Words in names of what is no secret, though another word says so: `next_page_token`, `public_key`. A password is one nevertheless.
const HARMLESS: &[&str] = &[
    "public",
    "page",
    "next",
    "continuation",
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
    "registration",
    "bos",
    "eos",
    "pad",
    "unk",
    "mask",
    "sep",
    "cls",
    "device",
    "push",
    "invite",
    "document",
    "design",
    "css",
    "theme",
    "dedupe",
    "dedup",
    "routing",
    "translation",
    "i18n",
    "group",
];
/// The same, for a password as well: `hashed_password`.
const HASHED: &[&str] = &[
    "csrf",
    "xsrf",
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
    "special",
    "tokenizer",
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

/// What a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOfSecret {
    Password,
    Token,
    Key,
}

impl NameOfSecret {
    /// The kind of secret that has this name; `None` if it is the name of none.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Name::of(name).kind()
    }
}

/// The words of a name, in lower case.
pub(crate) struct Name {
    words: Vec<String>,
}

impl Name {
    /// The words of a variable's name, which may be written `API_KEY`, `api-key` or `apiKey`.
    pub(crate) fn of(name: &str) -> Self {
        let mut spaced = String::new();
        let mut was_lower = false;
        for letter in name.chars() {
            if was_lower && letter.is_ascii_uppercase() {
                spaced.push('_');
            }
            was_lower = letter.is_ascii_lowercase();
            spaced.push(letter.to_ascii_lowercase());
        }
        let mut words: Vec<String> =
            spaced.split(['_', '-', '.', ' ']).map(|word| unnumbered(word).to_owned()).collect();
        // `API_KEY_2`.
        while words.len() > 1
            && words.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
        {
            words.pop();
        }
        Self { words }
    }

    /// The kind of secret that has this name; `None` if it is the name of none.
    fn kind(&self) -> Option<NameOfSecret> {
        let ends = |known: &[&str]| self.words.iter().any(|word| known.iter().any(|end| word.ends_with(end)));
        let is_password = self.is_password() || ends(PASSWORD_WORDS);
        if self.describes() || self.has(HASHED) || (!is_password && self.has(HARMLESS)) {
            return None;
        }
        if is_password {
            return Some(NameOfSecret::Password);
        }
        if self.is_key(&[KEY_WORDS, STRONG_KEY_WORDS])
            || ends(&["apikey", "accesskey", "secretkey", "privatekey"])
        {
            return Some(NameOfSecret::Key);
        }
        (self.is_token() || ends(&["token", "secret"])).then_some(NameOfSecret::Token)
    }

    pub(super) fn has(&self, known: &[&str]) -> bool {
        self.words.iter().any(|word| known.contains(&word.as_str()))
    }

    /// Whether one of the words is this.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|it| it == word)
    }

    /// Whether these words name a password.
    pub(super) fn is_password(&self) -> bool {
        self.has(PASSWORD_WORDS)
            || self.words.last().is_some_and(|last| LAST_PASSWORD_WORDS.contains(&last.as_str()))
    }

    pub(super) fn is_token(&self) -> bool {
        self.has(TOKEN_WORDS)
    }

    /// Whether a word and `key` name a key.
    fn is_key(&self, before: &[&[&str]]) -> bool {
        self.words
            .windows(2)
            .any(|pair| pair[1] == "key" && before.iter().any(|all| all.contains(&pair[0].as_str())))
    }

    /// Whether a field of a document has the name of a key.
    pub(super) fn is_key_of_document(&self) -> bool {
        self.is_key(&[KEY_WORDS])
            || self.words.iter().any(|word| word.ends_with("apikey") || word.ends_with("accesskey"))
    }

    /// Whether the name describes a secret, or something beside it.
    pub(super) fn describes(&self) -> bool {
        self.words.last().is_none_or(|last| DESCRIBING.contains(&last.as_str()))
    }

    /// Whether the name is that of no secret, though a word says so.
    pub(super) fn is_harmless(&self) -> bool {
        self.describes() || self.has(HASHED) || (!self.is_password() && self.has(HARMLESS))
    }

    /// `adminPasswordKey` names the field of another document.
    pub(super) fn is_reference(&self) -> bool {
        matches!(self.words.as_slice(), [.., before, last] if last == "key" && PASSWORD_WORDS.contains(&before.as_str()))
    }

    /// Whether a function of this name reads a secret or asks for it.
    pub(crate) fn reads(&self) -> bool {
        self.words.first().is_some_and(|first| READING.contains(&first.as_str()))
    }

    /// Whether the last word says what the value is: a key, a token or a secret.
    pub(crate) fn ends_with_secret(&self) -> bool {
        let ends = |last: &String| ["key", "token", "secret"].iter().any(|end| last.ends_with(end));
        self.words.last().is_some_and(ends)
    }
}

/// `password2` is a password, and `sha256` no `sha`.
fn unnumbered(word: &str) -> &str {
    let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let names = ["password", "passwd", "passwort", "pass", "pwd", "token", "secret", "key"];
    if names.iter().any(|name| stem.ends_with(name)) { stem } else { word }
}

/// Whether the value of this name is a secret, unless it is a placeholder.
pub(super) fn is_always_secret(name: &str) -> bool {
    SECRET_NAMES.contains(&name.to_lowercase().as_str())
}
