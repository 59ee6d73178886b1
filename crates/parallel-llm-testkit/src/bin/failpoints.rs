//! The real program with failpoints in its journal: it kills itself at the n-th moment before or after a journal
//! operation. Its folder of files can also be frozen: no file is written while a test wants that.
//!
//! The program does not know. It is assembled as usual, with this journal around its own. Without a number, or with one
//! that is never reached, it is the program as shipped.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parallel_llm_app::{Own, wire_around};
use parallel_llm_engine::PicoUsd;
use parallel_llm_engine::port::{Journal, Lease};
use parallel_llm_engine::run::event::{Attempt, Recorded};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{CallerSlot, Failure, RunId, RunPlan};
use parallel_llm_program::program;
use parallel_llm_testkit::{FREEZE_FILES, KILL_AT, KILLED};

/// How often to check whether a folder is still frozen.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let (fuse, frost) = (Fuse::read(), Frost::read());
    program::run(move |settings| {
        let (fuse, frost) = (fuse.clone(), frost.clone());
        let wrap = move |journal| Arc::new(Failpoints { journal, fuse: fuse.clone() }) as Arc<dyn Journal>;
        let around_files = move |_: &Path, write: &mut dyn FnMut() -> io::Result<()>| {
            frost.thaws();
            write()
        };
        wire_around(settings, wrap, Own { around_files: Some(Arc::new(around_files)), ..Own::default() })
    })
}

/// Freezes the folder of files: nothing is written to it while a file with this name exists.
#[derive(Clone)]
struct Frost(Option<PathBuf>);

impl Frost {
    #[expect(clippy::disallowed_methods, reason = "the tester's own variable; the program never looks at it")]
    fn read() -> Self {
        Self(std::env::var_os(FREEZE_FILES).map(PathBuf::from))
    }

    /// Returns when the folder is not frozen any more, on a thread that may block.
    #[expect(clippy::disallowed_methods, reason = "a system call that does not come back sleeps like this")]
    fn thaws(&self) {
        while self.0.as_ref().is_some_and(|sign| sign.exists()) {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// A journal that may kill the program.
struct Failpoints {
    journal: Arc<dyn Journal>,
    fuse: Fuse,
}

impl Failpoints {
    /// Runs an operation between two failpoints: before it nothing is durable, after it everything is, but no caller has
    /// the result.
    fn between<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&dyn Journal) -> BoxFuture<'static, T> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let (journal, fuse) = (Arc::clone(&self.journal), self.fuse.clone());
        async move {
            fuse.burn("before", what);
            let done = work(&*journal).await;
            fuse.burn("after", what);
            done
        }
        .boxed()
    }
}

impl Journal for Failpoints {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.between("open", |journal| journal.open(plan))
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.between("reopen", move |journal| journal.reopen(run_id, seq))
    }

    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.journal.check_day(plan, slot, worst_case)
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        self.between("append", move |journal| journal.append(lease, events))
    }

    fn may_send(&self, lease: Lease) -> bool {
        self.journal.may_send(lease)
    }

    fn overtaken(&self, lease: Lease) -> BoxFuture<'static, ()> {
        self.journal.overtaken(lease)
    }

    fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.journal.notice(run_id)
    }

    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.between("checkpoint", move |journal| journal.checkpoint(lease, attempt, text))
    }
}

/// Counts down to the failpoint that kills. All clones share the counter.
#[derive(Clone)]
struct Fuse {
    passed: Arc<AtomicU32>,
    /// The failpoint that kills, from 1; `None` for none.
    kill_at: Option<u32>,
}

impl Fuse {
    #[expect(clippy::disallowed_methods, reason = "the tester's own variable; the program never looks at it")]
    fn read() -> Self {
        let number = |text: String| text.parse().expect("the failpoint is a number");
        Self { passed: Arc::default(), kill_at: std::env::var(KILL_AT).ok().map(number) }
    }

    fn burn(&self, when: &str, what: &str) {
        let number = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        if self.kill_at == Some(number) {
            #[expect(clippy::print_stderr, reason = "last words, so that a test knows where it was")]
            {
                eprintln!("{KILLED}{when} {what}");
            }
            die();
        }
    }
}

/// Ends the process as `kill -9` does: nothing is dropped, flushed or printed.
fn die() -> ! {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
