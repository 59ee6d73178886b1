//! [`Client`]: calls one model, as a program of its own would.
//!
//! It is what a panel calls its seats with: pooled connections, no redirect, one request for each call and none sent twice,
//! replies checked part by part. Retries and answers of several models are left to a [`Panel`](crate::Panel). Invariants: a
//! stream that is dropped closes its connection; a closed client leaves none.

mod builder;
mod request;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::plan::Timers;
use parallel_llm_engine::port::{Call, Caller, Permit, ReplyStream};
use parallel_llm_engine::value::next::{Limit, Next};
use parallel_llm_engine::{Code, Failure, ProviderId};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::blocking::Blocking;
use crate::error::{Cause, Error};
use crate::parallel::Limiter;
use stream::Reading;

pub use crate::reply::{ChatEnd, ChatReply};
pub use builder::ClientBuilder;
pub use parallel_llm_engine::request::catalogue::{ModelInfo, Price};
pub use request::ChatRequest;
pub use stream::{ChatPart, ChatStream};

/// A client of OpenRouter, or of any other provider. Clones share connections and limits.
///
/// ```no_run
/// # async fn example() -> Result<(), parallel_llm_mcp::Error> {
/// use parallel_llm_mcp::Client;
/// use parallel_llm_mcp::client::ChatRequest;
///
/// let client = Client::builder().key("sk-or-...").build()?;
/// let reply = client.chat(ChatRequest::new("openai/gpt-6.1-sol", "Why is the sky blue?").max_tokens(500)).await?;
/// assert!(!reply.text.is_empty());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<ClientShared>);

/// What the clones share.
struct ClientShared {
    provider: parallel_llm_provider::Provider,
    id: ProviderId,
    limiter: Option<Limiter>,
    /// The output cap of a request that has none: without one a call may use the model's own, which is several times as much.
    max_tokens: u32,
    timers: Timers,
    closed: CancellationToken,
    open: OpenReplies,
    blocking: Blocking,
}

/// The replies that are being read. A reply is taken out when it ends, or when the client is closed.
#[derive(Default)]
struct OpenReplies(Mutex<Vec<std::sync::Weak<Slot>>>);

/// One reply; empty when it has ended.
type Slot = Mutex<Option<ReplyStream>>;

impl OpenReplies {
    fn add(&self, reply: ReplyStream) -> Arc<Slot> {
        let slot = Arc::new(Mutex::new(Some(reply)));
        let mut open = self.0.lock();
        open.retain(|open| open.strong_count() > 0);
        open.push(Arc::downgrade(&slot));
        slot
    }

    fn close(&self) {
        for slot in self.0.lock().drain(..).filter_map(|slot| slot.upgrade()) {
            // Dropped outside of the lock.
            let reply = slot.lock().take();
            drop(reply);
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("provider", &self.0.id.0).finish_non_exhaustive()
    }
}

impl Client {
    /// A builder of a client of OpenRouter, unless it is given another address.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Asks a model and waits for its whole reply. Fails with [`Error::Cut`], which holds what has come, if it is not whole.
    pub async fn chat(&self, request: ChatRequest) -> Result<ChatReply, Error> {
        self.stream(request).await?.whole().await
    }

    /// [`Client::chat`] for programs without an async runtime. Fails with [`Error::InsideRuntime`] inside of one, except in the
    /// closure of [`Parallel::map_blocking`](crate::parallel::Parallel::map_blocking).
    pub fn chat_blocking(&self, request: ChatRequest) -> Result<ChatReply, Error> {
        self.0.blocking.run(self.chat(request))
    }

    /// Asks a model and returns its reply part by part. The request leaves when the stream is first read. Dropping the
    /// stream closes the connection, which stops the cost at most providers.
    pub async fn stream(&self, request: ChatRequest) -> Result<ChatStream, Error> {
        let shared = &self.0;
        if shared.closed.is_cancelled() {
            return Err(Error::Closed);
        }
        let call = request.call(&shared.id, shared.max_tokens).map_err(|failure| failed(&failure))?;
        let (place, permit) = shared.admitted(call).await?;
        let reply = shared.open.add(permit.send());
        Ok(ChatStream::new(Reading::new(reply, shared.closed.clone(), shared.timers, place)))
    }

    /// The models of the provider, with their prices where it names them.
    pub async fn models(&self) -> Result<Vec<ModelInfo>, Error> {
        let listed = self.0.provider.fetch_catalogue(&self.0.id);
        let listed = self.0.closed.run_until_cancelled(listed).await.ok_or(Error::Closed)?;
        listed.map(|list| list.models().to_vec()).map_err(|failure| failed(&failure))
    }

    /// Ends every call in flight with [`Error::Closed`] and closes every connection. A second time it does nothing.
    pub async fn close(&self) {
        self.0.closed.cancel();
        self.0.open.close();
        self.0.provider.close();
        // Lets the tasks of the connections see it.
        tokio::task::yield_now().await;
    }

    /// [`Client::close`] for programs without an async runtime. Inside of one it fails and closes nothing.
    pub fn close_blocking(&self) -> Result<(), Error> {
        self.0.blocking.run(async {
            self.close().await;
            Ok(())
        })
    }
}

impl ClientShared {
    /// Waits for a place of the shared limiter, and for one of the provider's, each no longer than a call may take: whoever
    /// holds the places may be waiting for this very call.
    async fn admitted(&self, call: Call) -> Result<(Option<OwnedSemaphorePermit>, Permit), Error> {
        let place = match &self.limiter {
            Some(limiter) => {
                let why = "a `Limiter` that is also given to the `Parallel` around the call waits for itself";
                Some(
                    self.in_time(limiter.admit(), &format!("no place of its `Limiter` came free ({why})"))
                        .await?,
                )
            }
            None => None,
        };
        let permit = self.in_time(self.provider.admit(call), "no call of this client ended").await?;
        Ok((place, permit.map_err(|failure| failed(&failure))?))
    }

    /// What the wait brings, unless it takes longer than a call may, or the client is closed.
    async fn in_time<T>(&self, wait: impl Future<Output = T>, without: &str) -> Result<T, Error> {
        let ms = self.timers.call_ms;
        let waited = self.closed.run_until_cancelled(timeout(Duration::from_millis(ms), wait)).await;
        waited.ok_or(Error::Closed)?.map_err(|_| {
            let message = format!("the call was not sent within {} s: {without}", ms as f64 / 1e3);
            let raise = Next::Raise(Limit::Setting { name: "call_timeout_ms".into(), now: Some(ms) });
            failed(&Failure::new(Code::Timeout, message).with_next(raise))
        })
    }
}

fn failed(failure: &Failure) -> Error {
    Error::Call(Cause::of(failure))
}
