//! Blocking calls for programs without an async runtime: a runtime on a thread of its own, made when first needed.
//!
//! It belongs to the panel or the client that made it, so that connections and late answers live on between calls.
//! Invariants: a call inside an async runtime is refused and does not panic; the runtime ends with its owner, after the
//! owner's last work.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

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
    /// Takes the last work. Dropped, it ends the runtime at once.
    last: oneshot::Sender<LastWork>,
    /// Disconnected when the runtime has ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

type LastWork = Pin<Box<dyn Future<Output = ()> + Send>>;

thread_local! {
    /// Whether this thread may block although it knows of a runtime.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` on a thread of a runtime that may block, and allows blocking calls in it. Other code cannot tell such a thread
/// from one that must not block.
pub(crate) fn allowing<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.0);
        }
    }
    let _before = Before(MAY_BLOCK.replace(true));
    work()
}

impl Blocking {
    /// Blocks this thread until the work is done. Fails inside of an async runtime.
    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        if Handle::try_current().is_ok() && !MAY_BLOCK.get() {
            return Err(Error::InsideRuntime);
        }
        let handle = self.handle().map_err(|error| {
            let failure = Failure::new(Code::Internal, format!("the runtime cannot start: {error}"));
            Error::Refused(Cause::of(&failure))
        })?;
        handle.block_on(work)
    }

    /// Ends the runtime, if there is one, once it has done this. Waits for that at most `limit`, unless this thread must not
    /// block.
    pub(crate) fn end_after(&mut self, work: impl Future<Output = ()> + Send + 'static, limit: Duration) {
        let Some(Background { last, ended, .. }) = self.runtime.take() else { return };
        let has_ended = last.send(Box::pin(work)).is_err();
        if !has_ended && Handle::try_current().is_err() {
            // An error says that it has ended, or that it takes too long.
            let _ = ended.into_inner().recv_timeout(limit);
        }
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
        let handle = runtime.handle().clone();
        let (last, last_work) = oneshot::channel::<LastWork>();
        let (ending, ended) = mpsc::sync_channel(0);
        // Dropped on this thread, because a runtime may not be dropped inside of another one.
        let drive = move || {
            runtime.block_on(async {
                if let Ok(work) = last_work.await {
                    work.await;
                }
            });
            drop(runtime);
            drop(ending);
        };
        std::thread::Builder::new().name("parallel-llm".to_owned()).spawn(drive)?;
        Ok(Self { handle, last, ended: Mutex::new(ended) })
    }
}
