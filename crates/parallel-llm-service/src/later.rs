//! Something made when it is first needed, once. A failure is told to whoever needed it; the next one tries
//! again, because a full disk or a wrong permission may have been mended.

use futures_util::future::BoxFuture;
use parallel_llm_engine::Failure;
use tokio::sync::OnceCell;

/// A value that may not exist yet.
pub struct Later<T> {
    make: Box<dyn Fn() -> BoxFuture<'static, Result<T, Failure>> + Send + Sync>,
    value: OnceCell<T>,
}

impl<T> Later<T> {
    /// A value that `make` will make.
    pub fn new(make: impl Fn() -> BoxFuture<'static, Result<T, Failure>> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), value: OnceCell::new() }
    }

    /// The value, made now if need be.
    pub async fn get(&self) -> Result<&T, Failure> {
        self.value.get_or_try_init(|| (self.make)()).await
    }

    /// The value, if it was ever needed.
    pub fn made(&self) -> Option<&T> {
        self.value.get()
    }
}
