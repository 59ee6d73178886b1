//! Readiness: whether the server can take a question now, for load balancers that ask without a token.
//!
//! Invariant: it costs little however often it is asked, is bounded in time, and names nothing of the owner's.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::Store;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::lazy::Lazy;
use crate::redaction::redacted;
use crate::runs::Runs;

/// How long a verdict is used. Load balancers ask every few seconds, each for itself.
const VERDICT_MAX: Duration = Duration::from_secs(1);
/// The longest look at the store. A question would wait longer, but a server that keeps everyone waiting is not ready.
const STORE_MAX: Duration = Duration::from_secs(2);

/// The reasons why no question can be taken now; never empty.
pub type Unready = Vec<Failure>;

/// The newest verdict, and when it was given. Locked while one is found, so that many askers share it.
pub(crate) type Verdicts = Mutex<Option<(Instant, Result<(), Unready>)>>;

/// Whether a question can be taken.
#[derive(Clone)]
pub struct Readiness {
    pub(crate) live: Arc<Lazy<Runs>>,
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) verdicts: Arc<Verdicts>,
}

impl Readiness {
    /// Whether a question can be taken: the store opens and writes, and there is room for a run. The reasons are for everybody.
    pub async fn check(&self) -> Result<(), Unready> {
        let mut newest = self.verdicts.lock().await;
        if let Some((at, verdict)) = &*newest
            && at.elapsed() < VERDICT_MAX
        {
            return verdict.clone();
        }
        let (store, room) = (self.check_store().await, self.check_room());
        let reasons: Unready = [store, room].into_iter().filter_map(Result::err).map(redacted).collect();
        let verdict = if reasons.is_empty() { Ok(()) } else { Err(reasons) };
        *newest = Some((Instant::now(), verdict.clone()));
        verdict
    }

    async fn check_store(&self) -> Result<(), Failure> {
        let checking = async { self.store.get().await?.check_writable().await };
        let late = || Err(Failure::new(Code::Storage, "the run database did not answer in time"));
        timeout(STORE_MAX, checking).await.unwrap_or_else(|_| late())
    }

    fn check_room(&self) -> Result<(), Failure> {
        self.live.made().map_or(Ok(()), |runs| runs.check_room(None))
    }
}
