//! Tokens that somebody else issues: who an organisation's own server for identities says is asking.
//!
//! The issuer is trusted for nothing but that, and only with keys that it publishes itself. What always holds: no
//! token is believed whose signature was not checked with an algorithm of [`jws::Algorithm`], whose audience is not
//! this server, or that is over; nothing a token says makes this program read an address.

mod claims;
mod jws;
mod key;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use jws::Jws;
use key::PublicKey;

use crate::access::Grant;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::IssuerSettings;

/// How old the issuer's keys are when they are asked for again, beside the requests that they still serve: those who
/// change theirs announce the new ones for longer.
const KEYS_FRESH: Duration = Duration::from_secs(60 * 60);
/// How long they are good for where they cannot be read again; a key that was taken back is believed no longer.
const KEYS_MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);
/// How soon they are asked for again where a token names a key that is not among them, or they could not be read.
/// Strangers choose what a token names.
const REFETCH_AFTER: Duration = Duration::from_secs(60);

/// Where an issuer says what it is: RFC 8414, and what `OpenID` Connect had before it.
const DESCRIPTIONS: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];

/// Reads a document that anybody may read.
pub type ReadDocument = Box<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, Failure>> + Send + Sync>;

/// Somebody whose word on who is asking is taken.
pub struct Issuer {
    terms: IssuerSettings,
    read: ReadDocument,
    kept: RwLock<Option<FetchedKeys>>,
    /// Held while the keys are fetched, so that they are fetched once however many wait for them.
    turn: Arc<Mutex<()>>,
    /// Asks for the keys beside the requests; it is not waited for, because it changes nothing but what is kept here.
    renewing: TaskTracker,
}

/// What came of asking for the keys.
#[derive(Clone)]
struct FetchedKeys {
    /// When they were asked for last.
    asked: Instant,
    /// When that which stands here came.
    came: Instant,
    keys: Result<Arc<[PublicKey]>, Failure>,
}

impl Issuer {
    /// The issuer of these terms, whose documents are read so.
    pub fn new(terms: IssuerSettings, read: ReadDocument) -> Arc<Self> {
        Arc::new(Self {
            terms,
            read,
            kept: RwLock::default(),
            turn: Arc::default(),
            renewing: TaskTracker::new(),
        })
    }

    /// What its tokens are checked against.
    pub const fn terms(&self) -> &IssuerSettings {
        &self.terms
    }

    /// Whether this may be one of its tokens at all.
    pub fn is_token(secret: &str) -> bool {
        secret.split('.').count() == jws::PARTS
    }

    /// What the token grants. Fails with `token_refused`, or with why the issuer's keys cannot be had.
    pub async fn check(self: &Arc<Self>, secret: &str) -> Result<Grant, Failure> {
        let jws = Jws::read(secret).map_err(refused)?;
        if !self.is_signed(&jws).await? {
            return Err(refused("no key of the issuer has signed it"));
        }
        claims::grant(jws.payload(), &self.terms, clock::unix_ms() / 1000).map_err(refused)
    }

    /// Whoever brings a token of a key that is known waits for nobody: strangers choose what others bring.
    async fn is_signed(self: &Arc<Self>, jws: &Jws<'_>) -> Result<bool, Failure> {
        if let Some(kept) = self.kept().filter(|kept| kept.serves(jws)) {
            if kept.are_stale() {
                self.renew_aside();
            }
            return kept.has_signed(jws);
        }
        let _turn = self.turn.lock().await;
        let kept = match self.kept() {
            // Whoever had the turn before has brought them.
            Some(kept) if kept.serves(jws) => kept,
            earlier => self.renew(earlier).await,
        };
        kept.has_signed(jws)
    }

    /// Asks for the keys again, unless somebody does already, while nobody waits for it.
    fn renew_aside(self: &Arc<Self>) {
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else { return };
        let issuer = Arc::clone(self);
        self.renewing.spawn(async move {
            if issuer.renew(issuer.kept()).await.came.elapsed() >= KEYS_FRESH {
                tracing::warn!(
                    "the keys of the token issuer cannot be read; those at hand serve a while longer"
                );
            }
            drop(turn);
        });
    }

    /// What there is once the keys were asked for. Whoever calls it has the turn.
    async fn renew(&self, earlier: Option<FetchedKeys>) -> FetchedKeys {
        // Noted now, because whoever waits for the keys may go away before they come.
        self.keep(earlier.clone().map(|kept| FetchedKeys { asked: Instant::now(), ..kept }));
        let newest = FetchedKeys::next(earlier, self.fetch().await);
        self.keep(Some(newest.clone()));
        newest
    }

    fn kept(&self) -> Option<FetchedKeys> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, kept: Option<FetchedKeys>) {
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = kept;
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
            // Some answer any address with a page for people.
            let read =
                document.and_then(|it| serde_json::from_slice(&it).map_err(|_| unreadable("description")));
            match read {
                Ok(description) => return Ok(description),
                // The first reason is told: the second form is tried for those who do not have the first.
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
    /// What stands after the keys were asked for again: those from before where they are still good and none came.
    fn next(earlier: Option<Self>, keys: Result<Arc<[PublicKey]>, Failure>) -> Self {
        let now = Instant::now();
        match earlier {
            Some(earlier) if keys.is_err() && earlier.are_good() => Self { asked: now, ..earlier },
            _ => Self { asked: now, came: now, keys },
        }
    }

    fn has_signed(&self, jws: &Jws<'_>) -> Result<bool, Failure> {
        let keys = self.keys.as_ref().map_err(Clone::clone)?;
        Ok(keys.iter().any(|key| key.fits(jws) && key.verify(jws)))
    }

    fn are_good(&self) -> bool {
        self.keys.is_ok() && self.came.elapsed() < KEYS_MAX_AGE
    }

    /// Whether the keys are to be asked for again although they are good.
    fn are_stale(&self) -> bool {
        self.came.elapsed() >= KEYS_FRESH && self.asked.elapsed() >= REFETCH_AFTER
    }

    /// Whether there is no reason to ask anew, or not yet.
    fn serves(&self, jws: &Jws<'_>) -> bool {
        let is_among_them = || self.keys.as_ref().is_ok_and(|keys| keys.iter().any(|key| key.fits(jws)));
        self.are_good() && is_among_them() || self.asked.elapsed() < REFETCH_AFTER
    }
}

/// What an issuer says of itself, as far as it matters here.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: String,
}

/// Where descriptions are: before the path of the issuer, and behind it for those who hold to the older form.
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
