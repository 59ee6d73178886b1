//! The address of a server: parsed once, and never shown with its password.
//!
//! The words are those of PostgreSQL's own library (postgresql.org/docs/current/libpq-connect.html), `sslmode` included:
//! what it promises is kept, and a word that is not understood is refused.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use url::Url;

use super::tls::Trust;

/// The name under which the server shows our connections.
const APPLICATION: &str = "parallel-llm";

/// The address of a PostgreSQL server with the user, the password and the database, such as
/// `postgres://runs:secret@db.example.com/runs?sslmode=verify-full`. Printed without its password.
#[derive(Clone)]
pub struct ServerUrl {
    pub(super) config: Box<Config>,
    /// Whose certificate is trusted, if the connection is encrypted.
    pub(super) trust: Trust,
    shown: String,
}

impl FromStr for ServerUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut url = Url::parse(text).map_err(|cause| misread(&cause))?;
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(misread(&"it does not begin with `postgres://`"));
        }
        let (mut mode, mut roots) = (SslWord::Prefer, None);
        let mut others = Vec::new();
        for (name, value) in url.query_pairs() {
            match &*name {
                "sslmode" => mode = SslWord::parse(&value)?,
                "sslrootcert" => roots = Some(PathBuf::from(&*value)).filter(|_| value != "system"),
                _ => others.push((name.into_owned(), value.into_owned())),
            }
        }
        // The driver decodes `%20` but not `+`.
        let query: Vec<String> =
            others.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let query = query.join("&");
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        let mut config: Config = url.as_str().parse().map_err(|cause: tokio_postgres::Error| {
            // The driver's message names the option and not its value.
            misread(&std::error::Error::source(&cause).map_or(cause.to_string(), ToString::to_string))
        })?;
        config.ssl_mode(mode.driver_mode());
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        let trust = mode.trust(roots);
        // Neither fails for an address that has a host, and a password alone is no reason to show one.
        let shown = if url.set_password(None).is_ok() { url.to_string() } else { "the server".to_owned() };
        let shown = shown.split('?').next().unwrap_or_default().to_owned();
        Ok(Self { config: Box::new(config), trust, shown })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ServerUrl({})", self.shown)
    }
}

/// The words of `sslmode` that are understood. Not among them is `allow`, which encrypts only what it need not.
#[derive(Clone, Copy)]
enum SslWord {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl SslWord {
    fn parse(word: &str) -> Result<Self, Failure> {
        Ok(match word {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                let words = ["disable", "prefer", "require", "verify-ca", "verify-full"];
                let next = Next::ChooseOne(words.map(Into::into).to_vec());
                return Err(misread(&"its `sslmode` is none that is understood").with_next([next]));
            }
        })
    }

    const fn driver_mode(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }

    /// As the library does, `require` verifies the certificate if its authority is named.
    fn trust(self, roots: Option<PathBuf>) -> Trust {
        match (self, roots) {
            (Self::VerifyFull, roots) => Trust::Host(roots),
            (Self::VerifyCa, roots) => Trust::Authority(roots),
            (Self::Require, Some(roots)) => Trust::Authority(Some(roots)),
            (Self::Disable | Self::Prefer | Self::Require, _) => Trust::Anyone,
        }
    }
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// The address itself is not in the message: a typing error may hide where its password begins.
fn misread(cause: &dyn fmt::Display) -> Failure {
    Failure::new(Code::Usage, format!("the address of the run database cannot be read: {cause}"))
        .with_next([Next::WriteAs("postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full".into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url: ServerUrl =
            "postgres://runs:s3cret@db.example.com:6432/runs?sslmode=require&options=-csearch_path%3Dllm"
                .parse()
                .expect("it is an address");
        for shown in [url.to_string(), format!("{url:?}")] {
            assert!(shown.contains("db.example.com:6432/runs") && !shown.contains("s3cret"), "{shown}");
        }
        assert_eq!(url.config.get_options(), Some("-csearch_path=llm"));
        assert_eq!(url.config.get_password(), Some("s3cret".as_bytes()));
        for wrong in
            ["postgres://runs:s3cret@db:port/runs", "postgres://a:s3cret@db/x?sslmode=s3cret", "s3cret"]
        {
            let failure = wrong.parse::<ServerUrl>().expect_err("it is no address");
            assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
        }
    }

    #[test]
    fn each_word_of_sslmode_keeps_its_promise() {
        let file = || Some(PathBuf::from("/ca.pem"));
        for (query, mode, trust) in [
            ("", SslMode::Prefer, Trust::Anyone),
            ("?sslmode=disable", SslMode::Disable, Trust::Anyone),
            ("?sslmode=prefer", SslMode::Prefer, Trust::Anyone),
            ("?sslmode=require", SslMode::Require, Trust::Anyone),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Trust::Authority(file())),
            ("?sslmode=verify-ca&sslrootcert=/ca.pem", SslMode::Require, Trust::Authority(file())),
            ("?sslmode=verify-full&sslrootcert=system", SslMode::Require, Trust::Host(None)),
            ("?sslmode=verify-full", SslMode::Require, Trust::Host(None)),
        ] {
            let url: ServerUrl = format!("postgres://u@h/d{query}").parse().expect("it is an address");
            assert_eq!((url.config.get_ssl_mode(), url.trust), (mode, trust), "{query}");
        }
        assert!("postgres://u@h/d?sslmode=allow".parse::<ServerUrl>().is_err());
        assert!("mysql://u@h/d".parse::<ServerUrl>().is_err());
        assert!("postgres://u@h/d?colour=red".parse::<ServerUrl>().is_err());
    }
}
