//! Removes runs in steps, each a transaction of some milliseconds, so that other runs can be written in between.
//!
//! An interrupted purge can be continued by anybody.

use std::time::Duration;

use parallel_llm_engine::RunId;
use tokio::time::Instant;

use crate::database::Transaction;
use crate::search::index;
use crate::system::error::DatabaseError;
use crate::upkeep::purge::PurgeStep;

/// A step begins nothing new after this time. With work in progress and the commit, others wait for about twenty
/// milliseconds.
pub(super) const STEP_TIME: Duration = Duration::from_millis(10);
/// Bytes of text whose words one step removes from the index, mostly at commit: about three milliseconds. A single text
/// is removed at once, however long it is.
const STEP_BYTES: usize = 32 * 1024;
/// Approximate bytes written to remove a run with little text: about twenty pages, because every index is updated
/// elsewhere.
const RUN_BYTES: usize = 80 * 1024;

/// Removes the first of these runs, except those in progress, as many as fit in one step. Of a run with much text it
/// may remove only some words, and the run in a later step. Each step makes progress.
pub(super) fn purge(
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
        transaction.lock_run(&run_id.to_string())?;
        match transaction.reader().ownership(*run_id)? {
            None => {}
            Some(ownership) if !ownership.is_over(now_ms) => step.purged.under_way.push(*run_id),
            Some(_) => {
                let id = run_id.to_string();
                // Before the texts are deleted, since they determine the words to remove.
                let taken_out = index::take_out(transaction, &id, STEP_BYTES - words_bytes)?;
                words_bytes += taken_out.bytes;
                if !taken_out.is_whole {
                    break;
                }
                transaction.delete_run(&id)?;
                step.purged.runs.push(*run_id);
            }
        }
        step.done += 1;
    }
    step.bytes = words_bytes * 2 + step.purged.runs.len() * RUN_BYTES;
    Ok(step)
}
