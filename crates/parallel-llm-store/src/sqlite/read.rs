//! Reading from the database: the list, and whole runs. Nothing here waits for the writer, and a run is read as
//! it was at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::event::Attempt;
use parallel_llm_engine::{Code, Failure, PicoUsd, Recorded, RunId, RunStatus};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::row::{count, integer, plan, recorded, run_id, tenure, word};
use crate::clock;
use crate::fault;
use crate::projection;
use crate::runs::{Checkpoint, LIST_MAX, Look, RunFilter, RunSummary, StoredRun, Whose};

/// Sorts after every run id: these are digits and upper-case letters.
const AFTER_ALL: &str = "~";
/// Stands for the newest run where a prefix of an id is asked for.
const NEWEST: &str = "@";

/// What is asked of the rows; the owner's three columns come first, as [`tenure`] reads them.
macro_rules! summaries {
    ($status:literal, $whose:literal) => {
        concat!(
            "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, run_id, status, question_excerpt, strategy, ",
            "seats, answered, cost_pico_usd, cost_is_estimate, created_at_ms, decided_at_ms, closed_at_ms, ",
            "EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL), asked_by ",
            "FROM runs WHERE run_id < ?1 ",
            $status,
            $whose,
            " ORDER BY run_id DESC LIMIT ?2"
        )
    };
}

/// The newest two runs whose id begins as is asked for.
macro_rules! beginning {
    ($whose:literal) => {
        concat!(
            "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || ?2 AND ",
            $whose,
            " ORDER BY run_id DESC LIMIT 2"
        )
    };
}

/// A sentence's beginning for whatever goes wrong here.
#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` takes")]
pub(super) fn unread(cause: sqlx::Error) -> Failure {
    fault::database("cannot read the run database", &cause)
}

/// The runs that pass, newest first.
pub(crate) async fn list(
    readers: &SqlitePool,
    whose: Whose<'_>,
    filter: RunFilter,
) -> Result<Vec<RunSummary>, Failure> {
    let limit = filter.limit.min(LIST_MAX);
    let mut found = Vec::with_capacity(limit);
    let mut page = Page::first(filter, limit);
    // Whether a run is interrupted is not in its row, so a page of rows may give less than a page of runs.
    while found.len() < limit {
        let runs = page.read(readers, whose).await?;
        let Some(last) = runs.last() else { break };
        page.before = last.run_id.to_string();
        let passes = |run: &RunSummary| filter.status.is_none_or(|status| run.status == status);
        found.extend(runs.into_iter().filter(passes));
    }
    found.truncate(limit);
    Ok(found)
}

/// A page of rows.
struct Page {
    before: String,
    /// What the rows' own word is, where one is asked for.
    status: Option<&'static str>,
    rows: usize,
}

impl Page {
    fn first(filter: RunFilter, limit: usize) -> Self {
        let before = filter.before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string());
        match filter.status {
            Some(RunStatus::Running | RunStatus::Interrupted) => {
                Self { before, status: Some(RunStatus::Running.as_str()), rows: LIST_MAX }
            }
            status => Self { before, status: status.map(RunStatus::as_str), rows: limit },
        }
    }

    async fn read(&self, readers: &SqlitePool, whose: Whose<'_>) -> Result<Vec<RunSummary>, Failure> {
        // A statement each, so that each finds its index.
        let sql = match (self.status, whose) {
            (Some(_), Whose::All) => summaries!("AND status = ?3", " AND ?4 IS NULL"),
            (None, Whose::All) => summaries!("AND ?3 IS NULL", " AND ?4 IS NULL"),
            (Some(_), Whose::Asker(_)) => summaries!("AND +status = ?3", " AND asked_by = ?4"),
            (None, Whose::Asker(_)) => summaries!("AND ?3 IS NULL", " AND asked_by = ?4"),
        };
        let query = sqlx::query(sql).bind(&*self.before).bind(integer(self.rows as u64));
        let query = query.bind(self.status).bind(whose.name());
        let rows = query.fetch_all(readers).await.map_err(unread)?;
        let now_ms = clock::now_ms();
        rows.iter().map(|row| summary(row, now_ms)).collect()
    }
}

fn summary(row: &SqliteRow, now_ms: i64) -> Result<RunSummary, Failure> {
    let columns = || -> Result<_, sqlx::Error> {
        let run = RunSummary {
            run_id: run_id(row, 3)?,
            status: word(row, 4, serde_json::from_value)?,
            question_excerpt: row.try_get(5)?,
            asked_by: row.try_get(15)?,
            strategy: row.try_get(6)?,
            seats: count(row.try_get(7)?),
            answered: count(row.try_get(8)?),
            cost: PicoUsd(row.try_get(9)?),
            cost_is_estimate: row.try_get(10)?,
            cost_lacks_calls: row.try_get(14)?,
            created_at_ms: row.try_get(11)?,
            decided_at_ms: row.try_get(12)?,
            closed_at_ms: row.try_get(13)?,
        };
        Ok((run, tenure(row)?))
    };
    let (mut run, tenure) = columns().map_err(|cause| fault::unreadable("a run", &cause))?;
    if run.status == RunStatus::Running && tenure.is_interrupted(now_ms) {
        run.status = RunStatus::Interrupted;
    }
    Ok(run)
}

/// A whole run, as it was at one moment.
pub(crate) async fn load(
    readers: &SqlitePool,
    whose: Whose<'_>,
    run_id: RunId,
) -> Result<Option<StoredRun>, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, plan, created_at_ms FROM runs \
               WHERE run_id = ?1 AND (?2 IS NULL OR +asked_by = ?2)";
    let query = sqlx::query(sql).bind(run_id.to_string()).bind(whose.name());
    let found = query.fetch_optional(&mut *snapshot).await;
    let Some(row) = found.map_err(unread)? else { return Ok(None) };
    let columns = || Ok((tenure(&row)?, row.try_get::<&str, _>(3)?, row.try_get(4)?));
    let (tenure, plan_json, created_at_ms) = columns().map_err(unread)?;
    let events = events(&mut snapshot, run_id).await?;
    let checkpoints = checkpoints(&mut snapshot, run_id).await?;
    let interrupted = tenure.is_interrupted(clock::now_ms());
    Ok(Some(StoredRun { plan: plan(plan_json)?, events, created_at_ms, checkpoints, interrupted }))
}

/// Whether nobody is at a run any more. Nobody is at one that is not there.
pub(crate) async fn is_over(readers: &SqlitePool, run_id: RunId) -> Result<bool, Failure> {
    let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL FROM runs WHERE run_id = ?";
    let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(readers).await.map_err(unread)?;
    let Some(row) = found else { return Ok(true) };
    Ok(tenure(&row).map_err(unread)?.is_over(clock::now_ms()))
}

/// What has happened in a run after its event of this number, and the texts on their way.
pub(crate) async fn follow(
    readers: &SqlitePool,
    run_id: RunId,
    after_seq: u64,
) -> Result<Option<Look>, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, last_seq FROM runs WHERE run_id = ?";
    let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(&mut *snapshot).await;
    let Some(row) = found.map_err(unread)? else { return Ok(None) };
    let columns = || Ok((tenure(&row)?, count(row.try_get(3)?)));
    let (tenure, last_seq) = columns().map_err(unread)?;
    let events =
        if last_seq > after_seq { events_after(&mut snapshot, run_id, after_seq).await? } else { Vec::new() };
    let checkpoints = checkpoints(&mut snapshot, run_id).await?;
    Ok(Some(Look { events, checkpoints, interrupted: tenure.is_interrupted(clock::now_ms()) }))
}

/// Looks up each text by itself: there are few new ones, and those before may be many.
async fn events_after(
    connection: &mut SqliteConnection,
    run_id: RunId,
    after_seq: u64,
) -> Result<Vec<Recorded>, Failure> {
    let run_id = run_id.to_string();
    let sql = "SELECT seq, elapsed_ms, body FROM events WHERE run_id = ? AND seq > ? ORDER BY seq";
    let query = sqlx::query(sql).bind(&*run_id).bind(integer(after_seq));
    let rows = query.fetch_all(&mut *connection).await.map_err(unread)?;
    let mut events: Vec<Recorded> = rows.iter().map(recorded).collect::<Result<_, _>>()?;
    for recorded in &mut events {
        let Some(hash) = projection::hash_of(&recorded.event) else { continue };
        let sql = "SELECT body FROM texts WHERE run_id = ? AND hash = ?";
        let query = sqlx::query_scalar(sql).bind(&*run_id).bind(hash);
        let text: Option<String> = query.fetch_optional(&mut *connection).await.map_err(unread)?;
        let text: Option<Arc<str>> = text.map(Arc::from);
        projection::put_text_back(&mut recorded.event, |_| text.clone());
    }
    Ok(events)
}

async fn events(connection: &mut SqliteConnection, run_id: RunId) -> Result<Vec<Recorded>, Failure> {
    let texts = texts(connection, run_id).await?;
    let sql = "SELECT seq, elapsed_ms, body FROM events WHERE run_id = ? ORDER BY seq";
    let rows = sqlx::query(sql).bind(run_id.to_string()).fetch_all(connection).await.map_err(unread)?;
    let mut events: Vec<Recorded> = rows.iter().map(recorded).collect::<Result<_, _>>()?;
    for recorded in &mut events {
        projection::put_text_back(&mut recorded.event, |hash| texts.get(hash).map(Arc::clone));
    }
    Ok(events)
}

async fn texts(
    connection: &mut SqliteConnection,
    run_id: RunId,
) -> Result<BTreeMap<String, Arc<str>>, Failure> {
    let sql = "SELECT hash, body FROM texts WHERE run_id = ?";
    let query = sqlx::query_as(sql).bind(run_id.to_string());
    let rows: Vec<(String, String)> = query.fetch_all(connection).await.map_err(unread)?;
    Ok(rows.into_iter().map(|(hash, body)| (hash, Arc::from(body))).collect())
}

async fn checkpoints(connection: &mut SqliteConnection, run_id: RunId) -> Result<Vec<Checkpoint>, Failure> {
    // One that was kept too late, after its request had ended, says nothing.
    let sql = "SELECT place, attempt, text, at_ms FROM checkpoints WHERE run_id = ? AND NOT EXISTS ( \
                   SELECT 1 FROM calls WHERE calls.run_id = checkpoints.run_id AND calls.place = checkpoints.place \
                   AND calls.attempt = checkpoints.attempt AND calls.outcome NOT IN ('sent', 'unknown')) \
               ORDER BY place, attempt";
    let query = sqlx::query_as(sql).bind(run_id.to_string());
    let rows: Vec<(String, u32, String, i64)> = query.fetch_all(connection).await.map_err(unread)?;
    let checkpoint = |(place, number, text, at_ms): (String, _, _, _)| {
        let place =
            serde_json::from_str(&place).map_err(|cause| fault::unreadable("a checkpoint", &cause))?;
        Ok(Checkpoint { attempt: Attempt { place, number }, text, at_ms })
    };
    rows.into_iter().map(checkpoint).collect()
}

/// The one run whose id begins like this.
pub(crate) async fn find(readers: &SqlitePool, whose: Whose<'_>, prefix: &str) -> Result<RunId, Failure> {
    let newest = prefix == NEWEST;
    let start = if newest { String::new() } else { prefix.to_ascii_uppercase() };
    let sql = match whose {
        Whose::All => beginning!("?3 IS NULL"),
        Whose::Asker(_) => beginning!("asked_by = ?3"),
    };
    let query = sqlx::query_scalar(sql).bind(start).bind(AFTER_ALL).bind(whose.name());
    let found: Vec<String> = query.fetch_all(readers).await.map_err(unread)?;
    match found.as_slice() {
        [] if newest => Err(Failure::new(Code::RunNotFound, "there are no runs yet")),
        [run_id, others @ ..] if newest || (others.is_empty() && !prefix.is_empty()) => {
            run_id.parse().map_err(|cause: String| fault::unreadable("a run", &cause))
        }
        [_, _, ..] => {
            let message = format!("more than one run has an id that begins with `{prefix}`");
            Err(Failure::new(Code::Usage, message).with_next("give more of the id; see `runs list`"))
        }
        _ => Err(Failure::new(Code::RunNotFound, format!("no run has an id that begins with `{prefix}`"))),
    }
}
