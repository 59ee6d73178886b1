//! [`Sessions`]: browsers that have signed in, by a one-time code or with a token.
//!
//! Where they are kept is the service's ([`BrowserSessions`]). Invariants: a session's cookie is random and kept nowhere, only
//! a hash that finds the session; the token of a holder is kept enciphered with that cookie, so that only the holder's browser
//! can have it checked, which happens on each request: its rights end with the token; a code is used once. Secrets have types
//! that cannot be printed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, HeaderValue};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::{BrowserSessions, NewSession, Principal};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio::time::Instant;

use super::check::{self, Check};
use super::cookie::Cookie;
use super::rate::Rates;

/// The most wrong codes in a minute; further ones have to wait. A code has too many bits to be guessed, so the right
/// one is accepted at any time: a flood of wrong ones locks nobody out.
const WRONG_CODES_PER_MINUTE: u32 = 60;
/// Random bytes of a cookie and of a code.
const SECRET_BYTES: usize = 32;
/// The context of the derivation of a session's hash from its cookie.
const PURPOSE: &str = "parallel-llm-mcp 2026-11 a session of a browser";
/// The context of the derivation of a holder's name from its token.
const HOLDER: &str = "parallel-llm-mcp 2026-11 the holder of a session";
/// The context of the derivation of the key stream that enciphers a holder's token from the session's cookie.
const SEAL: &str = "parallel-llm-mcp 2026-11 the token of a session";

/// A session, known by the hash of its cookie. The gate puts it into the extensions of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(blake3::Hash);

impl SessionId {
    fn of(cookie: &str) -> Self {
        Self(blake3::Hash::from_bytes(blake3::derive_key(PURPOSE, cookie.as_bytes())))
    }

    /// The hash in hexadecimal digits. It names the session, to derive the tokens of its forms for example, and the
    /// cookie cannot be found from it.
    pub fn name(&self) -> String {
        self.0.to_hex().to_string()
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SessionId(..)")
    }
}

/// The party that a session stands for.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    Owner,
    Token(SecretString),
}

/// A session as a request names it, whether it exists or not.
pub(super) struct NamedSession {
    pub(super) id: SessionId,
    cookie: SecretString,
}

/// A session that has just begun.
#[derive(Debug)]
pub struct SignedIn {
    /// The `Set-Cookie` of the answer.
    pub set_cookie: HeaderValue,
    /// The session.
    pub session: SessionId,
    /// Whom it stands for.
    pub principal: Principal,
}

/// The sessions of one server. A clone is another handle to the same sessions.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
}

struct Shared {
    kept: BrowserSessions,
    code: watch::Sender<SecretString>,
    wrong_codes: Mutex<Rates>,
    server: OnceLock<Server>,
}

/// What sessions learn when their server has an address.
struct Server {
    cookie: Cookie,
    check: Check,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Sessions(..)")
    }
}

impl Sessions {
    /// The sessions that are kept here, and a first code. Fails if the system gives no random bytes.
    pub fn new(kept: BrowserSessions) -> Result<Self, Failure> {
        let code = watch::Sender::new(draw()?);
        let (wrong_codes, server) = (Mutex::default(), OnceLock::new());
        Ok(Self { shared: Arc::new(Shared { kept, code, wrong_codes, server }) })
    }

    /// Gives the sessions to a server, with its cookie and its check of tokens.
    pub(crate) fn begin(&self, cookie: Cookie, check: Check) -> Result<(), Failure> {
        let taken = |_| Failure::new(Code::Internal, "the sessions belong to another server");
        self.shared.server.set(Server { cookie, check }).map_err(taken)
    }

    /// The code with which the owner signs in, once. Using it replaces it.
    pub fn link_code(&self) -> String {
        self.shared.code.borrow().expose_secret().to_owned()
    }

    /// Shows each new code.
    pub fn link_codes(&self) -> watch::Receiver<SecretString> {
        self.shared.code.subscribe()
    }

    /// Begins a session of the owner if the code is the current one.
    pub async fn redeem(&self, code: &str) -> Result<SignedIn, Failure> {
        let (server, fresh) = (self.server()?, draw()?);
        let given = blake3::hash(code.as_bytes());
        // Compared by their hashes, which takes the same time for every code.
        let is_right = |current: &SecretString| blake3::hash(current.expose_secret().as_bytes()) == given;
        if !is_right(&self.shared.code.borrow()) {
            return Err(self.wrong_code());
        }
        // Whatever can fail comes before the code is used up.
        let begun = self.open(server, Holder::Owner, Principal::Owner).await?;
        let is_used = self.shared.code.send_if_modified(|current| {
            let is_right = is_right(current);
            if is_right {
                *current = fresh;
            }
            is_right
        });
        if is_used {
            return Ok(begun);
        }
        // Somebody else has used it meanwhile.
        self.end(&begun.session).await?;
        Err(self.wrong_code())
    }

    fn wrong_code(&self) -> Failure {
        let taken = self.shared.wrong_codes.lock().take("", WRONG_CODES_PER_MINUTE, Instant::now());
        match taken {
            Ok(()) => Failure::new(Code::TokenRefused, "the sign-in code is wrong, or was used already")
                .with_next(Advice::UseNewestLink),
            Err(wait) => Failure::new(Code::RateLimited, "too many sign-in codes were wrong")
                .with_retry_after(Some(wait))
                .with_next(Advice::WaitRetryAfter),
        }
    }

    /// Begins a session of the holder of a token, if the token is valid.
    pub async fn sign_in(&self, token: String) -> Result<SignedIn, Failure> {
        let token = SecretString::from(token);
        let server = self.server()?;
        let checked = (server.check)(token.expose_secret().to_owned()).await;
        let principal = checked.map_err(check::presentable)?;
        self.open(server, Holder::Token(token), principal).await
    }

    /// Ends a session. Returns the `Set-Cookie` that removes its cookie.
    pub async fn sign_out(&self, session: &SessionId) -> Result<HeaderValue, Failure> {
        self.end(session).await?;
        Ok(self.server()?.cookie.set("", 0))
    }

    /// The `Set-Cookie` that removes the cookie of a session, if the request brings one.
    pub(super) fn removal(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let cookie = &self.shared.server.get()?.cookie;
        cookie.values(headers).next().map(|_| cookie.set("", 0))
    }

    /// The session that a request names, whether it exists or not.
    pub(super) fn named(&self, headers: &HeaderMap) -> Option<NamedSession> {
        let mut values = self.shared.server.get()?.cookie.values(headers);
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        Some(NamedSession { id: SessionId::of(value), cookie: SecretString::from(value) })
    }

    /// The holder of a session, which counts as used now; `None` if it has ended.
    pub(super) async fn holder(&self, named: &NamedSession) -> Result<Option<Holder>, Failure> {
        let found = self.shared.kept.find(*named.id.0.as_bytes()).await?;
        let holder = |sealed: Option<Vec<u8>>| match sealed {
            None => Some(Holder::Owner),
            Some(sealed) => {
                let token = String::from_utf8(enciphered(&named.cookie, &sealed)).ok()?;
                Some(Holder::Token(SecretString::from(token)))
            }
        };
        Ok(found.and_then(|session| holder(session.sealed)))
    }

    /// Ends a session.
    pub(super) async fn end(&self, session: &SessionId) -> Result<(), Failure> {
        self.shared.kept.end(*session.0.as_bytes()).await
    }

    async fn open(&self, server: &Server, holder: Holder, principal: Principal) -> Result<SignedIn, Failure> {
        let cookie = draw()?;
        let session = SessionId::of(cookie.expose_secret());
        let token = match &holder {
            Holder::Owner => None,
            Holder::Token(token) => Some(token.expose_secret().as_bytes()),
        };
        let new = NewSession {
            hash: *session.0.as_bytes(),
            holder: token.map(|token| blake3::derive_key(HOLDER, token)),
            sealed: token.map(|token| enciphered(&cookie, token)),
        };
        self.shared.kept.begin(new).await.map_err(check::presentable)?;
        let set_cookie = server.cookie.set(cookie.expose_secret(), BrowserSessions::LIFE_SECONDS_MAX);
        Ok(SignedIn { set_cookie, session, principal })
    }

    fn server(&self) -> Result<&Server, Failure> {
        let none = || Failure::new(Code::Internal, "the sessions belong to no server yet");
        self.shared.server.get().ok_or_else(none)
    }
}

/// A token enciphered with the cookie of its session, or deciphered with it. Each cookie enciphers one token, so no part of
/// the key stream is used twice; a text that was changed is no token that passes its check.
fn enciphered(cookie: &SecretString, text: &[u8]) -> Vec<u8> {
    let mut stream = vec![0; text.len()];
    let mut hasher = blake3::Hasher::new_derive_key(SEAL);
    hasher.update(cookie.expose_secret().as_bytes()).finalize_xof().fill(&mut stream);
    stream.iter().zip(text).map(|(key, byte)| key ^ byte).collect()
}

/// A random secret in hexadecimal digits.
fn draw() -> Result<SecretString, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
    })?;
    Ok(SecretString::from(blake3::Hash::from_bytes(bytes).to_hex().to_string()))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use axum::http::header;
    use parallel_llm_service::Grant;

    use super::*;

    /// Sessions of a server that knows every token but `revoked`.
    fn sessions() -> Sessions {
        let check: Check = Arc::new(|name| {
            Box::pin(async move {
                if name == "revoked" {
                    return Err(Failure::new(Code::TokenRefused, "the token is revoked"));
                }
                let grant = Grant { name, scopes: Vec::new(), budget_day: None, requests_per_minute: None };
                Ok(Principal::TokenHolder(Arc::new(grant)))
            })
        });
        let sessions = Sessions::new(BrowserSessions::in_memory()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 8930));
        sessions.begin(Cookie::new(address, false), check).unwrap();
        sessions
    }

    /// The session of a `Set-Cookie`.
    fn named(sessions: &Sessions, begun: &SignedIn) -> NamedSession {
        let pair = begun.set_cookie.to_str().unwrap().split(';').next().unwrap().parse().unwrap();
        sessions.named(&[(header::COOKIE, pair)].into_iter().collect()).unwrap()
    }

    #[tokio::test]
    async fn the_token_of_a_holder_is_read_with_its_cookie_only() {
        let sessions = sessions();
        let begun = sessions.sign_in("sesame".to_owned()).await.unwrap();
        let named = named(&sessions, &begun);
        assert_eq!(begun.principal.name(), Some("sesame"));
        let Some(Holder::Token(token)) = sessions.holder(&named).await.unwrap() else {
            panic!("it is a token's")
        };
        assert_eq!(token.expose_secret(), "sesame");
        let kept = sessions.shared.kept.find(*named.id.0.as_bytes()).await.unwrap().unwrap();
        let sealed = kept.sealed.unwrap();
        assert_ne!(sealed, b"sesame");
        assert_ne!(enciphered(&SecretString::from("another cookie"), &sealed), b"sesame");
        sessions.sign_out(&named.id).await.unwrap();
        assert!(sessions.holder(&named).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_used_once_and_wrong_ones_have_a_rate() {
        let sessions = sessions();
        let mut codes = sessions.link_codes();
        let first = sessions.link_code();
        assert_eq!(first.len(), 64);
        assert!(sessions.redeem(&first).await.is_ok() && codes.has_changed().unwrap());
        let second = codes.borrow_and_update().expose_secret().to_owned();
        assert!(second != first && second == sessions.link_code());
        let refused = async |code: &str| sessions.redeem(code).await.unwrap_err().code;
        let wrong = [first, String::new(), second[1..].to_owned(), second.to_uppercase() + "0"];
        for code in wrong.iter().cycle().take(60) {
            assert_eq!(refused(code).await, Code::TokenRefused);
        }
        assert_eq!(refused(&wrong[0]).await, Code::RateLimited);
        assert!(!codes.has_changed().unwrap());
        assert!(sessions.redeem(&second).await.is_ok(), "the owner is not locked out");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(refused(&second).await, Code::TokenRefused);
    }

    #[tokio::test]
    async fn no_secret_can_be_printed() {
        let sessions = sessions();
        let begun = sessions.sign_in("sesame".to_owned()).await.unwrap();
        let id = named(&sessions, &begun).id;
        let secret = begun.set_cookie.to_str().unwrap().split(['=', ';']).nth(1).unwrap().to_owned();
        let refused = [
            sessions.redeem("guess").await.unwrap_err(),
            sessions.sign_in("revoked".to_owned()).await.unwrap_err(),
        ];
        let printed = format!("{begun:?} {id:?} {:?} {refused:?}", sessions.link_codes());
        for secret in [&secret, &sessions.link_code(), "guess", &id.name()] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }

    #[tokio::test]
    async fn sessions_belong_to_one_server() {
        let early = Sessions::new(BrowserSessions::in_memory()).unwrap();
        let code = early.link_code();
        assert_eq!(early.redeem(&code).await.unwrap_err().code, Code::Internal);
        assert_eq!(early.link_code(), code, "the code is not used up");
        let sessions = sessions();
        let check = Arc::clone(&sessions.server().unwrap().check);
        let cookie = Cookie::new(SocketAddr::from(([127, 0, 0, 1], 8931)), false);
        assert_eq!(sessions.begin(cookie, check).unwrap_err().code, Code::Internal);
    }
}
