//! What the list shows of a run: the columns of its row that follow from its events, and their checksum.

use parallel_llm_engine::{PicoUsd, Run};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::row::{count, integer, run_id, word};
use crate::row::checksum::Checksum;
use crate::row::entries::Projection;
use crate::runs::RunSummary;

/// The columns in the order in which [`RunRow::read`] takes them; the checksum comes last.
macro_rules! shown {
    () => {
        "run_id, status, question_excerpt, strategy, seats, answered, cost_pico_usd, cost_is_estimate, created_at_ms, \
         decided_at_ms, closed_at_ms, asked_by, last_seq, checksum"
    };
}
pub(super) use shown;

/// How many columns that are.
pub(super) const SHOWN_COLUMNS: usize = 14;

/// The columns as they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRow {
    pub(crate) run_id: String,
    pub(crate) status: String,
    pub(crate) question_excerpt: Option<String>,
    pub(crate) strategy: String,
    pub(crate) seats: i64,
    pub(crate) answered: i64,
    pub(crate) cost_pico_usd: i64,
    pub(crate) cost_is_estimate: i64,
    pub(crate) created_at_ms: i64,
    pub(crate) decided_at_ms: Option<i64>,
    pub(crate) closed_at_ms: Option<i64>,
    pub(crate) asked_by: Option<String>,
    pub(crate) last_seq: i64,
}

impl RunRow {
    /// The row of a run nothing has happened in.
    pub(crate) fn new(run: &Run, question_excerpt: Option<String>, now_ms: i64) -> Self {
        let mut row = Self {
            run_id: run.plan.run_id.to_string(),
            status: String::new(),
            question_excerpt,
            strategy: String::new(),
            seats: 0,
            answered: 0,
            cost_pico_usd: 0,
            cost_is_estimate: 0,
            created_at_ms: now_ms,
            decided_at_ms: None,
            closed_at_ms: None,
            asked_by: run.plan.asked_by.clone(),
            last_seq: 0,
        };
        row.follow(run);
        row
    }

    /// Brings the columns to where the run is now.
    pub(crate) fn follow(&mut self, run: &Run) {
        let columns = Projection::of(run);
        columns.status.clone_into(&mut self.status);
        columns.strategy.clone_into(&mut self.strategy);
        self.seats = integer(columns.seats as u64);
        self.answered = integer(columns.answered as u64);
        self.cost_pico_usd = columns.cost_pico_usd;
        self.cost_is_estimate = columns.cost_is_estimate.into();
        self.last_seq = integer(columns.last_seq);
    }

    pub(crate) fn checksum(&self) -> i64 {
        self.sum().finish()
    }

    fn sum(&self) -> Checksum {
        Checksum::of("runs")
            .text(Some(&self.run_id))
            .text(Some(&self.status))
            .text(self.question_excerpt.as_deref())
            .text(Some(&self.strategy))
            .number(Some(self.seats))
            .number(Some(self.answered))
            .number(Some(self.cost_pico_usd))
            .number(Some(self.cost_is_estimate))
            .number(Some(self.created_at_ms))
            .number(self.decided_at_ms)
            .number(self.closed_at_ms)
            .text(self.asked_by.as_deref())
            .number(Some(self.last_seq))
    }

    /// Reads the columns of [`shown`] from this one on, and tells whether they are as they were written.
    pub(super) fn read(row: &SqliteRow, first: usize) -> Result<(Self, bool), sqlx::Error> {
        let this = Self {
            run_id: row.try_get(first)?,
            status: row.try_get(first + 1)?,
            question_excerpt: row.try_get(first + 2)?,
            strategy: row.try_get(first + 3)?,
            seats: row.try_get(first + 4)?,
            answered: row.try_get(first + 5)?,
            cost_pico_usd: row.try_get(first + 6)?,
            cost_is_estimate: row.try_get(first + 7)?,
            created_at_ms: row.try_get(first + 8)?,
            decided_at_ms: row.try_get(first + 9)?,
            closed_at_ms: row.try_get(first + 10)?,
            asked_by: row.try_get(first + 11)?,
            last_seq: row.try_get(first + 12)?,
        };
        let is_sound = this.sum().holds(row.try_get(first + 13)?);
        Ok((this, is_sound))
    }

    /// The line of the list that begins with this column.
    pub(super) fn summary(row: &SqliteRow, first: usize) -> Result<RunSummary, sqlx::Error> {
        let (shown, is_sound) = Self::read(row, first)?;
        Ok(RunSummary {
            run_id: run_id(row, first)?,
            status: word(row, first + 1, serde_json::from_value)?,
            question_excerpt: shown.question_excerpt,
            asked_by: shown.asked_by,
            strategy: shown.strategy,
            seats: count(shown.seats),
            answered: count(shown.answered),
            cost: PicoUsd(shown.cost_pico_usd),
            cost_is_estimate: shown.cost_is_estimate != 0,
            cost_lacks_calls: false,
            created_at_ms: shown.created_at_ms,
            decided_at_ms: shown.decided_at_ms,
            closed_at_ms: shown.closed_at_ms,
            is_damaged: !is_sound,
        })
    }
}

/// Reads the row of a run, and whether it is as it was written; `None` where there is none.
pub(super) async fn look_up(
    connection: &mut SqliteConnection,
    run_id: &str,
) -> Result<Option<(RunRow, bool)>, sqlx::Error> {
    let sql = concat!("SELECT ", shown!(), " FROM runs WHERE run_id = ?");
    let row = sqlx::query(sql).bind(run_id).fetch_optional(connection).await?;
    row.as_ref().map(|row| RunRow::read(row, 0)).transpose()
}

/// Writes the checksum of a row anew that was changed by a statement which does not know all of it. `was` is the row before
/// that: one that was damaged stays so.
pub(super) async fn seal(
    connection: &mut SqliteConnection,
    was: Option<(RunRow, bool)>,
) -> Result<(), sqlx::Error> {
    let Some((was, true)) = was else { return Ok(()) };
    let Some((row, _)) = look_up(connection, &was.run_id).await? else { return Ok(()) };
    let query =
        sqlx::query("UPDATE runs SET checksum = ? WHERE run_id = ?").bind(row.checksum()).bind(row.run_id);
    query.execute(connection).await.map(drop)
}
