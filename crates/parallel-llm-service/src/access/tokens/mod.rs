//! Tokens: creates, lists and revokes them for the owner, and checks the token of a caller.
//!
//! If an issuer is set, [`Issuer`] checks its tokens; everything else here concerns this program's own tokens.
//!
//! Invariants: a token is shown once, when it is made, and stored nowhere; no name is used twice; and an
//! unknown, a revoked and an expired token are refused with the same message after the same database query.

mod secret;

use std::sync::Arc;

use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::{Code, Failure, PicoUsd};
use parallel_llm_store::{NewToken, Store, Token};
use secrecy::SecretString;
use serde::Serialize;

use super::{Grant, Issuer, Principal, Scope};
use crate::lazy::Lazy;
use parallel_llm_settings::settings::Settings;
use secret::Secret;
pub use secret::may_be_token;

/// The longest name of a token, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The request for a new token.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// The `asked_by` of its holder's runs: lower-case letters, digits, `.`, `_` and `-`, with a letter first.
    pub name: String,
    /// The scopes; the usual ones if empty.
    pub scopes: Vec<Scope>,
    /// The most that its holder's runs may cost in a day (UTC).
    pub budget_day: Option<PicoUsd>,
    /// The most requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// The lifetime in milliseconds; `None` until it is revoked.
    pub lifetime_ms: Option<u64>,
}

/// A new token.
#[derive(Clone, Debug)]
pub struct MadeToken {
    /// Its entry in the list of tokens.
    pub line: TokenLine,
    /// The token itself, which is shown only now.
    pub secret: SecretString,
}

/// An entry in the list of tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenLine {
    /// The token's number.
    pub id: i64,
    /// The `asked_by` of its holder's runs.
    pub name: String,
    /// The token's last four characters.
    pub last_four: String,
    /// Whether the token is accepted.
    pub state: TokenState,
    /// The names of its scopes.
    pub scopes: Vec<String>,
    /// The most that its holder's runs may cost in a day (UTC).
    #[serde(skip)]
    pub budget_day: Option<PicoUsd>,
    /// The daily budget in USD; null without a limit.
    pub budget_day_usd: Option<f64>,
    /// The most requests in a minute; null without a limit.
    pub requests_per_minute: Option<u32>,
    /// The time of creation, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The time of expiry; null if it never expires.
    pub expires_at_ms: Option<i64>,
    /// The time of revocation; null if it is not revoked.
    pub revoked_at_ms: Option<i64>,
    /// The time of its last use, to the minute; null if it was never used.
    pub last_used_at_ms: Option<i64>,
}

/// Whether a token is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenState {
    /// It is accepted.
    Active,
    /// It is refused: its lifetime has ended.
    Expired,
    /// It is refused: the owner revoked it.
    Revoked,
}

impl TokenState {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// The tokens of this server and of its issuer.
#[derive(Clone)]
pub struct Access {
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) issuer: Option<Arc<Issuer>>,
    pub(crate) principal: Principal,
}

impl Access {
    /// The principal of this token. Fails with `token_refused` if the token is not accepted. Doors call it for every
    /// request, so a revoked token is refused from the next request on.
    pub async fn check_token(&self, secret: &str) -> Result<Principal, Failure> {
        let grant = match &self.issuer {
            Some(issuer) if Issuer::is_token(secret) => issuer.check(secret).await?,
            _ => self.check_own_token(secret).await?,
        };
        Ok(Principal::TokenHolder(Arc::new(grant)))
    }

    async fn check_own_token(&self, secret: &str) -> Result<Grant, Failure> {
        let Some(secret) = Secret::parse(secret) else {
            let failure = Failure::new(Code::TokenRefused, "this is not a complete token of this server");
            return Err(failure.with_next(Advice::CopyTokenAgain));
        };
        let store = self.store.get().await?;
        let found = store.find_token(secret.hash()).await?;
        let Some(token) = found.filter(|token| token.is_in_force(Store::now_ms())) else {
            return Err(Failure::new(Code::TokenRefused, "this token is unknown, revoked or expired"));
        };
        store.note_token_use(&token);
        Ok(Grant::of_token(token))
    }

    /// Makes a token. Fails with `usage` if the name is invalid or was used before.
    pub async fn create_token(&self, request: TokenRequest) -> Result<MadeToken, Failure> {
        self.principal.check_owner()?;
        check_name(&request.name)?;
        let random = |error| {
            Failure::new(Code::Internal, format!("the system gives no random bytes for a token: {error}"))
        };
        let secret = Secret::draw().map_err(random)?;
        let scopes = if request.scopes.is_empty() { Scope::USUAL.to_vec() } else { request.scopes };
        // In the order of `Scope::ALL`, each once.
        let scopes = Scope::ALL.iter().filter(|scope| scopes.contains(scope));
        let lifetime_ms = request.lifetime_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let new = NewToken {
            name: request.name,
            hash: secret.hash(),
            last_four: secret.last_four().to_owned(),
            scopes: scopes.map(|scope| scope.word().to_owned()).collect(),
            budget_day: request.budget_day,
            requests_per_minute: request.requests_per_minute,
            expires_at_ms: lifetime_ms.map(|ms| Store::now_ms().saturating_add(ms)),
        };
        let token = self.store.get().await?.create_token(new).await?;
        Ok(MadeToken { line: TokenLine::of(token), secret: secret.into_inner() })
    }

    /// Every token ever made, the oldest first. Does not create a database.
    pub async fn list_tokens(&self) -> Result<Vec<TokenLine>, Failure> {
        self.principal.check_owner()?;
        if !self.settings.has_database() {
            return Ok(Vec::new());
        }
        let tokens = self.store.get().await?.list_tokens().await?;
        Ok(tokens.into_iter().map(TokenLine::of).collect())
    }

    /// The token of this number or name. Fails with `usage` if there is none.
    pub async fn find_token(&self, name: &str) -> Result<TokenLine, Failure> {
        self.principal.check_owner()?;
        if name.starts_with(secret::PREFIX) {
            // The token itself was pasted by mistake: the message does not repeat it.
            let failure =
                Failure::new(Code::Usage, "a token is named by its name or number, never by itself");
            return Err(failure.with_next(Operation::ListKeys));
        }
        let tokens = self.list_tokens().await?;
        let is_meant = |token: &TokenLine| token.name == name || token.id.to_string() == name;
        tokens.into_iter().find(is_meant).ok_or_else(|| no_token(name))
    }

    /// Revokes the token of this number or name, from the next request on. A revoked token keeps its first time of
    /// revocation.
    pub async fn revoke_token(&self, name: &str) -> Result<TokenLine, Failure> {
        let token = self.find_token(name).await?;
        let revoked = self.store.get().await?.revoke_token(token.id).await?;
        revoked.map(TokenLine::of).ok_or_else(|| no_token(name))
    }
}

impl Grant {
    /// The grant of a token. A scope name that only a newer program knows grants nothing.
    fn of_token(token: Token) -> Self {
        Self {
            scopes: token.scopes.iter().filter_map(|word| Scope::by_word(word)).collect(),
            name: token.name,
            budget_day: token.budget_day,
            requests_per_minute: token.requests_per_minute,
        }
    }
}

impl TokenLine {
    fn of(token: Token) -> Self {
        let state = match token.revoked_at_ms {
            Some(_) => TokenState::Revoked,
            None if token.is_expired(Store::now_ms()) => TokenState::Expired,
            None => TokenState::Active,
        };
        Self {
            id: token.token_id,
            name: token.name,
            last_four: token.last_four,
            state,
            scopes: token.scopes,
            budget_day: token.budget_day,
            budget_day_usd: token.budget_day.map(PicoUsd::as_usd),
            requests_per_minute: token.requests_per_minute,
            created_at_ms: token.created_at_ms,
            expires_at_ms: token.expires_at_ms,
            revoked_at_ms: token.revoked_at_ms,
            last_used_at_ms: token.last_used_at_ms,
        }
    }
}

/// Fails for a name that needs quotes in a shell, looks like a token's number, or differs from another only in case.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |char: char| matches!(char, 'a'..='z' | '0'..='9' | '.' | '_' | '-');
    let begins_well =
        name.starts_with(|char: char| char.is_ascii_lowercase()) && !name.starts_with(secret::PREFIX);
    if begins_well && name.chars().all(is_plain) && name.len() <= NAME_CHARS_MAX {
        return Ok(());
    }
    // What begins like a token may be one, so it is not repeated.
    let shown = if name.starts_with(secret::PREFIX) {
        "this".to_owned()
    } else {
        format!("`{}`", parallel_llm_engine::text::safe::excerpt(name, NAME_CHARS_MAX))
    };
    let message = format!(
        "{shown} cannot be the name of a token: it is a lower-case letter, then letters, digits, `.`, `_` or `-`, {NAME_CHARS_MAX} at most"
    );
    Err(Failure::new(Code::Usage, message).with_next(Advice::NameToken))
}

fn no_token(name: &str) -> Failure {
    let name = parallel_llm_engine::text::safe::excerpt(name, NAME_CHARS_MAX);
    Failure::new(Code::Usage, format!("there is no token `{name}`")).with_next(Operation::ListKeys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let long = "a".repeat(NAME_CHARS_MAX);
        for good in ["a", "ci", "laptop-2", "a.b_c-d", &long] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "7", "-a", "Ci", "a b", "ä", "a/b", "a:b", "a\n", "plm_a", &format!("{long}a")] {
            assert_eq!(check_name(bad).unwrap_err().code, Code::Usage, "{bad}");
        }
    }
}
