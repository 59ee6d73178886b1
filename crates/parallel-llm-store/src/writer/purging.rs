//! Taking runs away in steps, each a transaction of some milliseconds, so that runs under way are written between them.
//! Whoever continues after an interruption finds what is still to be done.

use std::time::Duration;

use parallel_llm_engine::RunId;
use tokio::time::Instant;

use crate::database::Transaction;
use crate::error::DatabaseError;
use crate::purge::PurgeStep;
use crate::search::index;

/// A step begins nothing more after this. With what is under way then, and the commit, everybody else waits for it some
/// twenty milliseconds.
pub(super) const STEP_TIME: Duration = Duration::from_millis(10);
/// Bytes of text whose words one step takes out of the index, which does most of it when it is committed: some three
/// milliseconds. A single text is taken out at once, however long it is.
const STEP_BYTES: usize = 32 * 1024;
/// About what it writes to take a run of little text away: some twenty pages, because each index is written elsewhere.
const RUN_BYTES: usize = 80 * 1024;

/// Takes the first of these runs away, all but those that are under way, as many as one step does; of one with much text
/// perhaps only a part of its words, and the run itself with a later step. At least something is done.
pub(super) async fn purge(
    transaction: &mut Transaction,
    runs: &[RunId],
    now_ms: i64,
) -> Result<PurgeStep, DatabaseError> {
    let until = Instant::now() + STEP_TIME;
    let mut step = PurgeStep::default();
    let mut words_bytes = 0;
    for run_id in runs {
        if step.done > 0 && (words_bytes >= STEP_BYTES || Instant::now() >= until) {
            break;
        }
        match transaction.reader().ownership(*run_id).await? {
            None => {}
            Some(ownership) if !ownership.is_over(now_ms) => step.purged.under_way.push(*run_id),
            Some(_) => {
                let id = run_id.to_string();
                // Before the texts go: they say which words to take out.
                let taken_out = index::take_out(transaction, &id, STEP_BYTES - words_bytes).await?;
                words_bytes += taken_out.bytes;
                if !taken_out.is_whole {
                    break;
                }
                transaction.delete_run(&id).await?;
                step.purged.runs.push(*run_id);
            }
        }
        step.done += 1;
    }
    step.bytes = words_bytes * 2 + step.purged.runs.len() * RUN_BYTES;
    Ok(step)
}
