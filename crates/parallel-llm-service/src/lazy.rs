//! A value that is made when it is first needed, once.
//!
//! A failure goes to the caller that needed the value, and the next caller tries again, because a full disk or a wrong
//! permission may have been fixed.

use futures_util::future::BoxFuture;
use parallel_llm_engine::Failure;
use tokio::sync::OnceCell;

/// A value that `make` makes at the first [`Lazy::get`].
pub struct Lazy<T> {
    make: Box<dyn Fn() -> BoxFuture<'static, Result<T, Failure>> + Send + Sync>,
    value: OnceCell<T>,
}

impl<T> Lazy<T> {
    /// A value that is not made yet.
    pub fn new(make: impl Fn() -> BoxFuture<'static, Result<T, Failure>> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), value: OnceCell::new() }
    }

    /// The value, made now if it was not before.
    pub async fn get(&self) -> Result<&T, Failure> {
        self.value.get_or_try_init(|| (self.make)()).await
    }

    /// The value, if it has been made.
    pub fn made(&self) -> Option<&T> {
        self.value.get()
    }
}
