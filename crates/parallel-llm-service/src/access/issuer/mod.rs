//! Tokens of an outside issuer, an organisation's own identity server.
//!
//! The issuer is trusted only to identify callers, and only with keys that it publishes itself. Invariants: a
//! token is accepted only with a signature by an algorithm of [`jws::Algorithm`], with this server as its audience, and
//! before its expiry; nothing in a token makes this program fetch a URL.

mod claims;
mod jws;
mod key;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex as SyncMutex;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use jws::Jws;
use key::PublicKey;

use crate::access::Grant;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::IssuerSettings;

/// The age at which the keys are fetched again in the background while they stay in use: issuers announce new keys
/// longer than this in advance.
const KEYS_FRESH: Duration = Duration::from_secs(60 * 60);
/// The age up to which keys are valid if they cannot be fetched again; after that, a withdrawn key is no longer
/// trusted.
const KEYS_MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);
/// The shortest time between two fetches, if a token names an unknown key or the last fetch failed. Strangers choose
/// the key that a token names.
const REFETCH_AFTER: Duration = Duration::from_secs(60);

/// The well-known documents that describe an issuer: of RFC 8414, and of the older `OpenID` Connect discovery.
const DESCRIPTIONS: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];

/// Fetches a public document.
pub type ReadDocument = Box<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, Failure>> + Send + Sync>;

/// An outside issuer of tokens.
pub struct Issuer {
    terms: IssuerSettings,
    read: ReadDocument,
    kept: SyncMutex<Option<FetchedKeys>>,
    /// Held while the keys are fetched, so that waiting callers share one fetch.
    turn: Arc<Mutex<()>>,
    /// Fetches keys in the background. Nothing waits for it, because it only changes `kept`.
    renewing: TaskTracker,
}

/// The result of fetching the keys.
#[derive(Clone)]
struct FetchedKeys {
    /// The time of the last fetch.
    fetched_at: Instant,
    /// The time at which these keys, or this failure, arrived.
    arrived: Instant,
    keys: Result<Arc<[PublicKey]>, Failure>,
}

impl Issuer {
    /// The issuer with these settings, whose documents `read` fetches.
    pub fn new(terms: IssuerSettings, read: ReadDocument) -> Arc<Self> {
        Arc::new(Self {
            terms,
            read,
            kept: SyncMutex::default(),
            turn: Arc::default(),
            renewing: TaskTracker::new(),
        })
    }

    /// The settings that its tokens are checked against.
    pub const fn terms(&self) -> &IssuerSettings {
        &self.terms
    }

    /// Whether the text has the form of a signed token.
    pub fn is_token(secret: &str) -> bool {
        secret.split('.').count() == jws::PARTS
    }

    /// The grant of the token. Fails with `token_refused`, or if the issuer's keys cannot be fetched.
    pub async fn check(self: &Arc<Self>, secret: &str) -> Result<Grant, Failure> {
        let jws = Jws::read(secret).map_err(refused)?;
        if !self.is_signed(&jws).await? {
            return Err(refused("no key of the issuer has signed it"));
        }
        claims::grant(jws.payload(), &self.terms, clock::unix_ms() / 1000).map_err(refused)
    }

    /// Whether a key of the issuer signed the token. A token with a known key never waits for a fetch, because
    /// strangers can cause fetches by naming unknown keys.
    async fn is_signed(self: &Arc<Self>, jws: &Jws<'_>) -> Result<bool, Failure> {
        if let Some(kept) = self.kept().filter(|kept| kept.serves(jws)) {
            if kept.are_stale() {
                self.renew_in_background();
            }
            return kept.has_signed(jws);
        }
        let _turn = self.turn.lock().await;
        let kept = match self.kept() {
            // The previous holder of the lock has fetched them.
            Some(kept) if kept.serves(jws) => kept,
            earlier => self.renew(earlier).await,
        };
        kept.has_signed(jws)
    }

    /// Fetches the keys again in the background, unless a fetch is in progress.
    fn renew_in_background(self: &Arc<Self>) {
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else { return };
        let issuer = Arc::clone(self);
        self.renewing.spawn(async move {
            if issuer.renew(issuer.kept()).await.arrived.elapsed() >= KEYS_FRESH {
                tracing::warn!(
                    "the keys of the token issuer cannot be read; the cached ones are used a while longer"
                );
            }
            drop(turn);
        });
    }

    /// Fetches the keys and keeps the result. The caller holds `turn`.
    async fn renew(&self, earlier: Option<FetchedKeys>) -> FetchedKeys {
        // Noted before the fetch, because the caller may be dropped while it waits.
        self.keep(earlier.clone().map(|kept| FetchedKeys { fetched_at: Instant::now(), ..kept }));
        let newest = FetchedKeys::next(earlier, self.fetch().await);
        self.keep(Some(newest.clone()));
        newest
    }

    /// A copy, so that no lock is held while the caller waits.
    fn kept(&self) -> Option<FetchedKeys> {
        self.kept.lock().clone()
    }

    fn keep(&self, kept: Option<FetchedKeys>) {
        *self.kept.lock() = kept;
    }

    async fn fetch(&self) -> Result<Arc<[PublicKey]>, Failure> {
        let description = self.describe().await?;
        if description.issuer != self.terms.address {
            let message =
                format!("`{}` calls itself another issuer: `{}`", self.terms.address, description.issuer);
            return Err(Failure::new(Code::SettingsInvalid, message).with_next(Advice::WriteIssuerExactly));
        }
        let document = (self.read)(description.jwks_uri).await?;
        key::read_all(&document).map(Arc::from).ok_or_else(|| unreadable("keys"))
    }

    async fn describe(&self) -> Result<Description, Failure> {
        let mut failure = None;
        for address in addresses(&self.terms.address) {
            let document = (self.read)(address).await;
            // Some servers answer any path with an HTML page.
            let read =
                document.and_then(|it| serde_json::from_slice(&it).map_err(|_| unreadable("description")));
            match read {
                Ok(description) => return Ok(description),
                // The first failure is reported: the other forms are only for issuers without the first.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| unreadable("description")))
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Issuer").field("terms", &self.terms).finish_non_exhaustive()
    }
}

impl FetchedKeys {
    /// The state after a fetch: the earlier keys if they are still valid and the fetch failed, else its result.
    fn next(earlier: Option<Self>, keys: Result<Arc<[PublicKey]>, Failure>) -> Self {
        let now = Instant::now();
        match earlier {
            Some(earlier) if keys.is_err() && earlier.are_valid() => Self { fetched_at: now, ..earlier },
            _ => Self { fetched_at: now, arrived: now, keys },
        }
    }

    fn has_signed(&self, jws: &Jws<'_>) -> Result<bool, Failure> {
        let keys = self.keys.as_ref().map_err(Clone::clone)?;
        Ok(keys.iter().any(|key| key.fits(jws) && key.verify(jws)))
    }

    fn are_valid(&self) -> bool {
        self.keys.is_ok() && self.arrived.elapsed() < KEYS_MAX_AGE
    }

    /// Whether the keys are due for another fetch although they are valid.
    fn are_stale(&self) -> bool {
        self.arrived.elapsed() >= KEYS_FRESH && self.fetched_at.elapsed() >= REFETCH_AFTER
    }

    /// Whether the kept result decides for this token, because its key is known or a new fetch is not allowed yet.
    fn serves(&self, jws: &Jws<'_>) -> bool {
        let is_among_them = || self.keys.as_ref().is_ok_and(|keys| keys.iter().any(|key| key.fits(jws)));
        self.are_valid() && is_among_them() || self.fetched_at.elapsed() < REFETCH_AFTER
    }
}

/// The part of an issuer's description that is needed here.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

/// The addresses of the description: the well-known segment before the issuer's path, and after it for the older form.
fn addresses(issuer: &str) -> Vec<String> {
    let [first, second] = DESCRIPTIONS;
    let host_end = issuer.find("://").and_then(|at| issuer[at + 3..].find('/').map(|slash| at + 3 + slash));
    let (host, path) = issuer.split_at(host_end.unwrap_or(issuer.len()));
    let path = path.trim_end_matches('/');
    vec![
        format!("{host}/.well-known/{first}{path}"),
        format!("{host}/.well-known/{second}{path}"),
        format!("{host}{path}/.well-known/{second}"),
    ]
}

fn refused(why: &str) -> Failure {
    Failure::new(Code::TokenRefused, format!("the token is refused: {why}"))
        .with_next(Advice::NewTokenOfIssuer)
}

fn unreadable(what: &str) -> Failure {
    Failure::new(Code::Protocol, format!("the {what} of the token issuer cannot be understood"))
        .with_next(Advice::CheckIssuer)
}

#[cfg(test)]
mod tests;
