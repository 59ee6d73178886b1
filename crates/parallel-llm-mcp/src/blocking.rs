//! Blocking calls for programs without an async runtime: a runtime on a thread of its own, made when first needed.
//!
//! It belongs to the panel or the client that made it, so that connections and late answers live on between calls.
//! Invariant: a call inside an async runtime is refused and does not panic.

use std::sync::OnceLock;

use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

use crate::error::{Cause, Error};

/// A runtime for blocking calls, or the room for one.
#[derive(Default)]
pub(crate) struct Blocking {
    runtime: OnceLock<Background>,
    making: Mutex<()>,
}

/// A runtime that is driven on its own thread until this is dropped.
struct Background {
    handle: Handle,
    end: CancellationToken,
}

impl Blocking {
    /// Blocks this thread until the work is done. Fails inside of an async runtime.
    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        if Handle::try_current().is_ok() {
            return Err(Error::InsideRuntime);
        }
        let handle = self.handle().map_err(|error| {
            let failure = Failure::new(Code::Internal, format!("the runtime cannot start: {error}"));
            Error::Refused(Cause::of(&failure))
        })?;
        handle.block_on(work)
    }

    fn handle(&self) -> std::io::Result<Handle> {
        let _making = self.making.lock();
        if let Some(made) = self.runtime.get() {
            return Ok(made.handle.clone());
        }
        let made = Background::start()?;
        Ok(self.runtime.get_or_init(|| made).handle.clone())
    }
}

impl Background {
    fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, end) = (runtime.handle().clone(), CancellationToken::new());
        let ended = end.clone();
        // Dropped on this thread, because a runtime may not be dropped inside of another one.
        let drive = move || runtime.block_on(ended.cancelled());
        std::thread::Builder::new().name("parallel-llm".to_owned()).spawn(drive)?;
        Ok(Self { handle, end })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
