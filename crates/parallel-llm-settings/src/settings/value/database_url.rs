//! The address of a database server: a secret, because it may hold a password, and shown without it.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// The schemes of PostgreSQL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// The address of the PostgreSQL server that holds the runs. Whatever is in its query is the driver's to read.
#[derive(Clone, Debug)]
pub struct DatabaseUrl {
    secret: SecretString,
    shown: String,
}

impl DatabaseUrl {
    /// Reads an address; `None` if it is none of a PostgreSQL server.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut url = Url::parse(text).ok().filter(|url| SCHEMES.contains(&url.scheme()))?;
        // It fails for an address without a host, which has no password either.
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        Some(Self { secret: SecretString::from(text.to_owned()), shown: url.to_string() })
    }

    /// The whole address, with its password.
    pub fn expose(&self) -> &str {
        self.secret.expose_secret()
    }
}

impl fmt::Display for DatabaseUrl {
    /// The address without its password and its options.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            (
                "postgres://runs:s3cret@db.example.com:6432/runs?sslmode=require",
                "postgres://runs@db.example.com:6432/runs",
            ),
            ("postgresql:///runs?host=/run/pg&password=s3cret", "postgresql:///runs"),
        ] {
            let url = DatabaseUrl::read(text).expect("it is an address");
            assert_eq!((url.to_string().as_str(), url.expose()), (shown, text));
            assert!(!format!("{url:?}").contains("s3cret"));
        }
        for text in ["", "runs.db", "mysql://runs@db/runs", "https://db.example.com"] {
            assert!(DatabaseUrl::read(text).is_none(), "{text}");
        }
    }
}
