//! Runs work that waits for the disk on a thread that may wait.

use parallel_llm_engine::{Code, Failure};

use super::reply::Reply;

/// Runs the work on one of tokio's blocking threads. It is done even if the caller has left.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    run(Box::new(move || work().map(Reply::new))).await.map(Reply::take)
}

async fn run(work: Box<dyn FnOnce() -> Result<Reply, Failure> + Send>) -> Result<Reply, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|cause| {
        Err(Failure::new(Code::Internal, format!("work on the run database was abandoned: {cause}")))
    })
}
