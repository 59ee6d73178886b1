//! One closure over many items at once: a bound, results in the order of the items, and a failure of its own for each.
//!
//! What it leaves to others: the retries and timers of a model's call, which a [`Panel`](crate::Panel) has.
//!
//! Invariants: every item gets exactly one result, at its own place; the closure runs at most once for an item; an item
//! that has not begun does not begin after the work was cancelled or its future dropped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::Either;
use futures_util::{FutureExt, StreamExt, future, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::blocking;

/// The message of a panic whose value is no text.
const WORDLESS: &str = "a panic without a message";

/// Why an item has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failed<E> {
    /// The closure returned this error.
    #[error("the work on this item failed")]
    Error(#[source] E),
    /// The closure panicked, with this message. The other items are not affected.
    #[error("the work on this item panicked: {0}")]
    Panicked(String),
    /// The work was cancelled before it began on this item.
    #[error("the work was cancelled before it began on this item")]
    NotBegun,
}

/// A bound that several calls share: clones count together.
///
/// Give it to [`Parallel`] or to the [`Client`](crate::Client) that its closure uses, not to both: each item would hold a
/// place while its call waits for another one, and once all places are held by items, none comes free until the
/// `call_timeout` of the calls ends them.
///
/// ```
/// use parallel_llm_mcp::parallel::{Limiter, Parallel};
///
/// let both = Limiter::new(8);
/// let (questions, checks) = (Parallel::new(5).within(&both), Parallel::new(5).within(&both));
/// # drop((questions, checks));
/// ```
#[derive(Clone, Debug)]
pub struct Limiter(Arc<Semaphore>);

impl Limiter {
    /// At most this many at once. 0 counts as 1, because nothing would ever begin.
    pub fn new(at_once_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once_max.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a place, which is free again when the permit is dropped.
    pub(crate) async fn admit(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("a limiter is never closed")
    }
}

/// How many items are worked on at once, and what can stop it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use parallel_llm_mcp::parallel::{Failed, Parallel};
///
/// let lengths = Parallel::new(4)
///     .map(["one", "three", ""], async |word: &str| {
///         if word.is_empty() { Err("there is no word") } else { Ok(word.len()) }
///     })
///     .await;
/// assert_eq!(lengths, [Ok(3), Ok(5), Err(Failed::Error("there is no word"))]);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Parallel {
    at_once_max: usize,
    limiter: Option<Limiter>,
    cancel: CancellationToken,
}

impl Parallel {
    /// Works on at most this many items at once. 0 counts as 1, because nothing would ever begin.
    pub fn new(at_once_max: usize) -> Self {
        Self { at_once_max: at_once_max.max(1), limiter: None, cancel: CancellationToken::new() }
    }

    /// Also keeps to a bound that other calls share. A [`Client`](crate::Client) used inside must not have the same one; see
    /// [`Limiter`].
    #[must_use]
    pub fn within(mut self, limiter: &Limiter) -> Self {
        self.limiter = Some(limiter.clone());
        self
    }

    /// Begins on no further item once this token is cancelled. Items that have begun are finished.
    #[must_use]
    pub fn until(mut self, cancel: &CancellationToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Calls an async closure with each item, and returns the results in the order of the items; for no items an empty
    /// list.
    ///
    /// Everything runs in the task that awaits it: neither closure nor items need to be `Send` or `'static`. Dropping the
    /// future drops the work that has begun, and begins no other.
    pub async fn map<I, T, E, F>(self, items: I, work: impl Fn(I::Item) -> F) -> Vec<Result<T, Failed<E>>>
    where
        I: IntoIterator,
        F: Future<Output = Result<T, E>>,
    {
        let work = &work;
        self.each(items, move |item, permit| async move {
            let begun = catch_unwind(AssertUnwindSafe(|| work(item)));
            let done = match begun {
                Ok(future) => AssertUnwindSafe(future).catch_unwind().await,
                Err(panic) => Err(panic),
            };
            drop(permit);
            settle(done)
        })
        .await
    }

    /// Calls a blocking closure with each item, each exactly once and on a thread that may block, and returns the results
    /// in the order of the items; for no items an empty list.
    ///
    /// Dropping the future begins on no further item; closures that have begun cannot be stopped, and end on their
    /// threads. Blocking calls, such as [`Client::chat_blocking`](crate::Client::chat_blocking), work in the closure; an async
    /// closure of [`Parallel::map`] does the same without a thread for each item.
    ///
    /// # Panics
    /// Outside of a tokio runtime, whose threads it uses.
    pub async fn map_blocking<I, T, E>(
        self,
        items: I,
        work: impl Fn(I::Item) -> Result<T, E> + Send + Sync + 'static,
    ) -> Vec<Result<T, Failed<E>>>
    where
        I: IntoIterator<Item: Send + 'static>,
        T: Send + 'static,
        E: Send + 'static,
    {
        let (work, cancel) = (&Arc::new(work), &self.cancel);
        self.each(items, move |item, permit| async move {
            let (work, cancel) = (Arc::clone(work), cancel.clone());
            let running = tokio::task::spawn_blocking(move || {
                // Held until the closure ends, also if no one waits for it any more.
                let _permit = permit;
                // It may have waited long for this thread.
                let may_begin = !cancel.is_cancelled();
                may_begin.then(|| catch_unwind(AssertUnwindSafe(|| blocking::allowing(|| work(item)))))
            });
            // A closure whose thread has not come to it yet is not called when this is dropped.
            match AbortOnDropHandle::new(running).await {
                Ok(Some(done)) => settle(done),
                // It was cancelled, or the runtime is being shut down.
                Ok(None) | Err(_) => Err(Failed::NotBegun),
            }
        })
        .await
    }

    /// Calls `one` with each item that may begin.
    async fn each<I, T, E, F>(
        &self,
        items: I,
        one: impl Fn(I::Item, Option<OwnedSemaphorePermit>) -> F,
    ) -> Vec<Result<T, Failed<E>>>
    where
        I: IntoIterator,
        F: Future<Output = Result<T, Failed<E>>>,
    {
        let one = &one;
        let numbered = move |(index, item)| async move {
            let done = match self.begin().await {
                Some(permit) => one(item, permit).await,
                None => Err(Failed::NotBegun),
            };
            (index, done)
        };
        // Not in order: a slow item must not hold back those after it.
        let working =
            stream::iter(items.into_iter().enumerate()).map(numbered).buffer_unordered(self.at_once_max);
        let mut done: Vec<(usize, Result<T, Failed<E>>)> = working.collect().await;
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// Waits for a place among all that share the limiter; `None` if the work was cancelled first.
    async fn begin(&self) -> Option<Option<OwnedSemaphorePermit>> {
        let admitted = async {
            match &self.limiter {
                Some(limiter) => Some(limiter.admit().await),
                None => None,
            }
        };
        // The token is looked at first, so that nothing begins once it is cancelled.
        match future::select(std::pin::pin!(self.cancel.cancelled()), std::pin::pin!(admitted)).await {
            Either::Left(_) => None,
            Either::Right((permit, _)) => Some(permit),
        }
    }
}

/// The result of a closure that may have panicked.
fn settle<T, E>(done: Result<Result<T, E>, Box<dyn Any + Send>>) -> Result<T, Failed<E>> {
    match done {
        Ok(result) => result.map_err(Failed::Error),
        Err(panic) => Err(Failed::Panicked(message_of(&*panic))),
    }
}

/// The text of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or(WORDLESS).to_owned()
}
