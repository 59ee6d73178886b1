//! Counts closed runs for the list of runs while the writer is idle, so that no run waits for it.

use parallel_llm_engine::RunPlan;

use crate::database::{Reader, Transaction};
use crate::row::counted_run::CountChanges;
use crate::row::run_row::{StoredRow, models_json};
use crate::system::error::DatabaseError;

/// Most runs counted in one transaction, which blocks others for some milliseconds.
const RUNS_MAX: usize = 200;

/// Counts runs in one transaction, and returns whether there may be more.
pub(super) fn fill(transaction: &mut Transaction) -> Result<bool, DatabaseError> {
    if !transaction.may_fill()? {
        return Ok(false);
    }
    let runs = transaction.reader().runs_to_count(RUNS_MAX)?;
    let may_be_more = runs.len() == RUNS_MAX;
    let mut changes = CountChanges::default();
    for mut stored in runs {
        add_models(&transaction.reader(), &mut stored)?;
        transaction.insert_counted(&stored, &mut changes)?;
    }
    transaction.change_counts(&changes)?;
    Ok(may_be_more)
}

/// Adds the models to a row of an older version, from the run's plan. A damaged row stays as it is.
fn add_models(reader: &Reader<'_>, stored: &mut StoredRow) -> Result<(), DatabaseError> {
    if stored.row.models.is_some() || !stored.is_sound() {
        return Ok(());
    }
    let Some(plan_json) = reader.plan_json(&stored.row.run_id)? else { return Ok(()) };
    // An unreadable plan names no models; opening the run shows the damage.
    let Ok(plan) = serde_json::from_str::<RunPlan>(&plan_json) else { return Ok(()) };
    stored.row.models = Some(models_json(plan.seats.iter().map(|seat| &seat.model), &plan));
    stored.checksum = stored.checksum.map(|_| stored.row.checksum().finish());
    Ok(())
}
