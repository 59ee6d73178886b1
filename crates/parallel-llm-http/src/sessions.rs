//! [`Sessions`]: browsers that have signed in, by a one-time code or with a token.
//!
//! In memory only. Invariants: a session's id is random and stored only as its hash; the rights of a token's holder are
//! checked anew on each request, so they end with the token; a code is used once. Secrets have types that cannot be
//! printed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio::time::Instant;

use super::check::{self, Check};
use super::cookie::Cookie;
use super::rate::Rates;

/// The most sessions. Beyond it the longest unused one ends.
const SESSIONS_MAX: usize = 1_000;
/// The most sessions of one token, so that no holder ends the sessions of others.
const OF_ONE_TOKEN_MAX: usize = 100;
/// The longest that a session lasts unused: a night.
const UNUSED_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The longest that a session lasts.
const LIFE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most wrong codes in a minute; further ones have to wait. A code has too many bits to be guessed, so the right
/// one is accepted at any time: a flood of wrong ones locks nobody out.
const WRONG_CODES_PER_MINUTE: u32 = 60;
/// Random bytes of an id and of a code.
const SECRET_BYTES: usize = 32;
/// The context of the derivation of a session's hash from its cookie.
const PURPOSE: &str = "parallel-llm-mcp 2026-11 a session of a browser";

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

#[derive(Debug)]
struct Session {
    holder: Holder,
    begun: Instant,
    used: Instant,
}

/// The sessions of one server. A clone is another handle to the same sessions.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
}

struct Shared {
    sessions: Mutex<HashMap<SessionId, Session>>,
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
        write!(out, "Sessions({})", self.shared.sessions.lock().len())
    }
}

impl Sessions {
    /// No sessions, and a first code. Fails if the system gives no random bytes.
    pub fn new() -> Result<Self, Failure> {
        let code = watch::Sender::new(draw()?);
        let (sessions, wrong_codes) = (Mutex::default(), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { sessions, code, wrong_codes, server: OnceLock::new() }) })
    }

    /// Gives the sessions to a server, with its cookie and its check of tokens.
    pub(super) fn begin(&self, cookie: Cookie, check: Check) -> Result<(), Failure> {
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

    /// Begins a session of the owner if the code is the current one. Returns the `Set-Cookie` of the answer.
    pub fn redeem(&self, code: &str) -> Result<HeaderValue, Failure> {
        // Whatever can fail comes before the code is used up.
        let (server, fresh, secret) = (self.server()?, draw()?, draw()?);
        let given = blake3::hash(code.as_bytes());
        let is_right = self.shared.code.send_if_modified(|current| {
            // Compared by their hashes, which takes the same time for every code.
            let is_right = blake3::hash(current.expose_secret().as_bytes()) == given;
            if is_right {
                *current = fresh;
            }
            is_right
        });
        if is_right { Ok(self.open(server, Holder::Owner, &secret)) } else { Err(self.wrong_code()) }
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

    /// Begins a session of the holder of a token, if the token is valid. Returns the `Set-Cookie` of the answer.
    pub async fn sign_in(&self, token: String) -> Result<HeaderValue, Failure> {
        let token = SecretString::from(token);
        let server = self.server()?;
        (server.check)(token.expose_secret().to_owned()).await.map_err(check::presentable)?;
        Ok(self.open(server, Holder::Token(token), &draw()?))
    }

    /// Ends a session. Returns the `Set-Cookie` that removes its cookie.
    pub fn sign_out(&self, session: &SessionId) -> Result<HeaderValue, Failure> {
        self.end(session);
        Ok(self.server()?.cookie.set("", 0))
    }

    /// The `Set-Cookie` that removes the cookie of a session, if the request brings one.
    pub(super) fn removal(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let cookie = &self.shared.server.get()?.cookie;
        cookie.values(headers).next().map(|_| cookie.set("", 0))
    }

    /// The session that a request names, whether it exists or not.
    pub(super) fn named(&self, headers: &HeaderMap) -> Option<SessionId> {
        let mut values = self.shared.server.get()?.cookie.values(headers);
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        Some(SessionId::of(value))
    }

    /// The holder of a session, which counts as used now; `None` if it has ended.
    pub(super) fn holder(&self, session: &SessionId) -> Option<Holder> {
        let now = Instant::now();
        let mut sessions = self.shared.sessions.lock();
        let found = sessions.get_mut(session)?;
        if !found.is_in_force(now) {
            sessions.remove(session);
            return None;
        }
        found.used = now;
        Some(found.holder.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &SessionId) {
        self.shared.sessions.lock().remove(session);
    }

    fn open(&self, server: &Server, holder: Holder, secret: &SecretString) -> HeaderValue {
        let now = Instant::now();
        let mut sessions = self.shared.sessions.lock();
        make_room(&mut sessions, &holder, now);
        sessions.insert(SessionId::of(secret.expose_secret()), Session { holder, begun: now, used: now });
        server.cookie.set(secret.expose_secret(), LIFE_MAX.as_secs())
    }

    fn server(&self) -> Result<&Server, Failure> {
        let none = || Failure::new(Code::Internal, "the sessions belong to no server yet");
        self.shared.server.get().ok_or_else(none)
    }
}

impl Session {
    fn is_in_force(&self, now: Instant) -> bool {
        now - self.used <= UNUSED_MAX && now - self.begun <= LIFE_MAX
    }
}

impl Holder {
    /// Whether both hold the same token, compared in constant time.
    fn has_token_of(&self, other: &Self) -> bool {
        let (Self::Token(token), Self::Token(other)) = (self, other) else { return false };
        let hash = |token: &SecretString| blake3::hash(token.expose_secret().as_bytes());
        hash(token) == hash(other)
    }
}

/// Makes room for a session of this holder: drops ended sessions, then the longest unused of too many.
fn make_room(sessions: &mut HashMap<SessionId, Session>, holder: &Holder, now: Instant) {
    sessions.retain(|_, session| session.is_in_force(now));
    let of_token = sessions.iter().filter(|(_, session)| session.holder.has_token_of(holder));
    let of_token: Vec<_> = of_token.map(|(id, session)| (session.used, *id)).collect();
    let crowded = if of_token.len() >= OF_ONE_TOKEN_MAX {
        of_token
    } else if sessions.len() >= SESSIONS_MAX {
        sessions.iter().map(|(id, session)| (session.used, *id)).collect()
    } else {
        Vec::new()
    };
    if let Some((_, id)) = crowded.into_iter().min_by_key(|(used, _)| *used) {
        sessions.remove(&id);
    }
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

    use axum::http::header;
    use parallel_llm_service::{Grant, Principal};

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

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
        let sessions = Sessions::new().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 8930));
        sessions.begin(Cookie::new(address, false), check).unwrap();
        sessions
    }

    /// The session of a `Set-Cookie`.
    fn named(sessions: &Sessions, set: &HeaderValue) -> SessionId {
        let pair = set.to_str().unwrap().split(';').next().unwrap().parse().unwrap();
        sessions.named(&[(header::COOKIE, pair)].into_iter().collect()).unwrap()
    }

    fn owner(sessions: &Sessions) -> SessionId {
        named(sessions, &sessions.redeem(&sessions.link_code()).unwrap())
    }

    async fn holder(sessions: &Sessions, token: &str) -> SessionId {
        named(sessions, &sessions.sign_in(token.to_owned()).await.unwrap())
    }

    fn lasts(sessions: &Sessions, id: &SessionId) -> bool {
        sessions.holder(id).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_after_half_a_day_unused_and_after_a_week() {
        let sessions = sessions();
        let (used, unused) = (owner(&sessions), owner(&sessions));
        tokio::time::advance(12 * HOUR).await;
        assert!(lasts(&sessions, &used));
        tokio::time::advance(HOUR).await;
        assert!(lasts(&sessions, &used) && !lasts(&sessions, &unused));
        for _ in 0..14 {
            tokio::time::advance(11 * HOUR).await;
            assert!(lasts(&sessions, &used));
        }
        tokio::time::advance(2 * HOUR).await;
        assert!(!lasts(&sessions, &used), "169 hours after it began");
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_sessions_the_longest_unused_ends() {
        let sessions = sessions();
        let (first, second) = (owner(&sessions), owner(&sessions));
        tokio::time::advance(HOUR).await;
        assert!(lasts(&sessions, &first));
        for _ in 2..SESSIONS_MAX {
            owner(&sessions);
        }
        assert_eq!(sessions.shared.sessions.lock().len(), SESSIONS_MAX);
        let further = owner(&sessions);
        assert_eq!(sessions.shared.sessions.lock().len(), SESSIONS_MAX);
        assert!(lasts(&sessions, &first) && lasts(&sessions, &further) && !lasts(&sessions, &second));
    }

    #[tokio::test(start_paused = true)]
    async fn the_holder_of_a_token_ends_only_its_own_sessions() {
        let sessions = sessions();
        let (owner, bert) = (owner(&sessions), holder(&sessions, "bert").await);
        let first = holder(&sessions, "anna").await;
        tokio::time::advance(HOUR).await;
        for _ in 1..OF_ONE_TOKEN_MAX {
            holder(&sessions, "anna").await;
        }
        assert!(sessions.shared.sessions.lock().contains_key(&first));
        for _ in 0..SESSIONS_MAX {
            holder(&sessions, "anna").await;
        }
        assert!(!lasts(&sessions, &first) && lasts(&sessions, &owner) && lasts(&sessions, &bert));
        assert_eq!(sessions.shared.sessions.lock().len(), OF_ONE_TOKEN_MAX + 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_used_once_and_wrong_ones_have_a_rate() {
        let sessions = sessions();
        let mut codes = sessions.link_codes();
        let first = sessions.link_code();
        assert_eq!(first.len(), 64);
        assert!(sessions.redeem(&first).is_ok() && codes.has_changed().unwrap());
        let second = codes.borrow_and_update().expose_secret().to_owned();
        assert!(second != first && second == sessions.link_code());
        let refused = |code: &str| sessions.redeem(code).unwrap_err().code;
        let wrong = [first, String::new(), second[1..].to_owned(), second.to_uppercase() + "0"];
        for code in wrong.iter().cycle().take(60) {
            assert_eq!(refused(code), Code::TokenRefused);
        }
        assert_eq!(refused(&wrong[0]), Code::RateLimited);
        assert!(!codes.has_changed().unwrap());
        assert!(sessions.redeem(&second).is_ok(), "the owner is not locked out");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(refused(&second), Code::TokenRefused);
    }

    #[tokio::test]
    async fn no_secret_can_be_printed() {
        let sessions = sessions();
        let set = sessions.sign_in("sesame".to_owned()).await.unwrap();
        let id = named(&sessions, &set);
        let secret = set.to_str().unwrap().split(['=', ';']).nth(1).unwrap().to_owned();
        let refused = [
            sessions.redeem("guess").unwrap_err(),
            sessions.sign_in("revoked".to_owned()).await.unwrap_err(),
        ];
        let entries = sessions.shared.sessions.lock();
        let printed =
            format!("{set:?} {id:?} {:?} {:?} {refused:?}", sessions.link_codes(), entries.values());
        for secret in [&secret, "sesame", &sessions.link_code(), "guess", &id.name()] {
            assert!(!printed.contains(secret), "{printed}");
        }
        drop(entries);
        assert_eq!(format!("{sessions:?}"), "Sessions(1)");
    }

    #[tokio::test]
    async fn sessions_belong_to_one_server() {
        let early = Sessions::new().unwrap();
        let code = early.link_code();
        assert_eq!(early.redeem(&code).unwrap_err().code, Code::Internal);
        assert_eq!(early.link_code(), code, "the code is not used up");
        let sessions = sessions();
        let check = Arc::clone(&sessions.server().unwrap().check);
        let cookie = Cookie::new(SocketAddr::from(([127, 0, 0, 1], 8931)), false);
        assert_eq!(sessions.begin(cookie, check).unwrap_err().code, Code::Internal);
    }
}
