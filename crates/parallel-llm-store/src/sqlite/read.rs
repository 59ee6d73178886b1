//! Reading from the database: the list, and whole runs. Nothing here waits for the writer, and a run is read as
//! it was at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunStatus};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::row::{count, event_columns, integer, piece_sum, plan, plan_column, plan_sum, recorded, tenure};
use super::run_row::{RunRow, SHOWN_COLUMNS, shown};
use crate::clock;
use crate::damage::{self, Damages, StoredText};
use crate::fault;
use crate::row::compressed::unpacked;
use crate::row::entries;
use crate::runs::{Checkpoint, LIST_MAX, Look, RunFilter, RunSummary, StoredRun, Whose};

/// Sorts after every run id: these are digits and upper-case letters.
const AFTER_ALL: &str = "~";
/// Damaged events that are named. More say the same.
const DAMAGES_MAX: usize = 10;
/// Stands for the newest run where a prefix of an id is asked for.
const NEWEST: &str = "@";

/// What is asked of the rows; the owner's three columns come first, as [`tenure`] reads them.
macro_rules! summaries {
    ($status:literal, $whose:literal) => {
        concat!(
            "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, ",
            shown!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL) ",
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
        let cost_lacks_calls = row.try_get(3 + SHOWN_COLUMNS)?;
        Ok((RunSummary { cost_lacks_calls, ..RunRow::summary(row, 3)? }, tenure(row)?))
    };
    let (mut run, tenure) = columns().map_err(|cause| fault::unreadable("a run", &cause))?;
    if run.status == RunStatus::Running && tenure.is_interrupted(now_ms) {
        run.status = RunStatus::Interrupted;
    }
    Ok(run)
}

/// A whole run, as it was at one moment. What is damaged of it is told among the warnings of its plan.
pub(crate) async fn load(
    readers: &SqlitePool,
    whose: Whose<'_>,
    run_id: RunId,
) -> Result<Option<StoredRun>, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let sql = concat!(
        "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, epoch, ",
        plan_column!(),
        ", plan_checksum, ",
        shown!(),
        " FROM runs WHERE run_id = ?1 AND (?2 IS NULL OR +asked_by = ?2)"
    );
    let query = sqlx::query(sql).bind(run_id.to_string()).bind(whose.name());
    let found = query.fetch_optional(&mut *snapshot).await;
    let Some(row) = found.map_err(unread)? else { return Ok(None) };
    let mut damages = Damages::default();
    let columns = || Ok((tenure(&row)?, unpacked(row.try_get(4)?), row.try_get(5)?, RunRow::read(&row, 6)?));
    let (tenure, plan_json, plan_checksum, (shown, is_sound)) = columns().map_err(unread)?;
    if !is_sound {
        damages.add("what the list shows of the run".to_owned());
    }
    if !plan_sum(&run_id.to_string(), &plan_json).holds(plan_checksum) {
        damages.add("the plan of the run".to_owned());
    }
    let mut plan = plan(&plan_json)?;
    let whole = Whole { run_id, last_seq: count(shown.last_seq), keeps_texts: entries::keeps_texts(&plan) };
    let events = whole.events(&mut snapshot, &mut damages).await?;
    let checkpoints = checkpoints(&mut snapshot, run_id).await?;
    if let Some(warning) = damages.warning() {
        Arc::make_mut(&mut plan).warnings.push(warning);
    }
    let interrupted = tenure.is_interrupted(clock::now_ms());
    let epoch = count(row.try_get(3).map_err(unread)?);
    let created_at_ms = shown.created_at_ms;
    Ok(Some(StoredRun { plan, events, created_at_ms, checkpoints, interrupted, epoch }))
}

/// The epoch of a run; `None` where there is no such run.
pub(crate) async fn epoch(readers: &SqlitePool, run_id: RunId) -> Result<Option<u64>, Failure> {
    let sql = "SELECT epoch FROM runs WHERE run_id = ?";
    let query = sqlx::query_scalar::<_, i64>(sql).bind(run_id.to_string());
    query.fetch_optional(readers).await.map(|epoch| epoch.map(count)).map_err(unread)
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
    let sql = concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = ? AND seq > ? ORDER BY seq");
    let query = sqlx::query(sql).bind(&*run_id).bind(integer(after_seq));
    let rows = query.fetch_all(&mut *connection).await.map_err(unread)?;
    let mut events: Vec<Recorded> = rows.iter().map(recorded).collect::<Result<_, _>>()?;
    for recorded in &mut events {
        let Some(hash) = entries::hash_of(&recorded.event).map(ToOwned::to_owned) else { continue };
        let sql = "SELECT body FROM texts WHERE run_id = ? AND hash = ?";
        let query = sqlx::query_scalar(sql).bind(&*run_id).bind(&*hash);
        let body: Option<Vec<u8>> = query.fetch_optional(&mut *connection).await.map_err(unread)?;
        let text = body.map(|body| Arc::from(unpacked(&body)));
        damage::put_text_back(&mut recorded.event, StoredText::of(text, &hash, false));
    }
    Ok(events)
}

/// A run of which every event is wanted.
struct Whole {
    run_id: RunId,
    last_seq: u64,
    keeps_texts: bool,
}

impl Whole {
    /// The events that are as they were written, texts put back; the others are left out and noted.
    async fn events(
        &self,
        connection: &mut SqliteConnection,
        damages: &mut Damages,
    ) -> Result<Vec<Recorded>, Failure> {
        let texts = texts(connection, self.run_id).await?;
        let sql = concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = ? ORDER BY seq");
        let rows =
            sqlx::query(sql).bind(self.run_id.to_string()).fetch_all(connection).await.map_err(unread)?;
        let mut events = Vec::with_capacity(rows.len());
        for row in &rows {
            match recorded(row) {
                Ok(recorded) => events.push(recorded),
                // Told below, with those that are not there at all.
                Err(failure) if failure.code == Code::Damaged => {}
                Err(failure) => return Err(failure),
            }
        }
        let sound: BTreeSet<u64> = events.iter().map(|recorded| recorded.seq).collect();
        for seq in (1..=self.last_seq).filter(|seq| !sound.contains(seq)).take(DAMAGES_MAX) {
            damages.add(format!("event {seq}"));
        }
        for recorded in &mut events {
            let Some(hash) = entries::hash_of(&recorded.event) else { continue };
            let is_kept = self.keeps_texts && damage::must_have_text(&recorded.event);
            let text = StoredText::of(texts.get(hash).map(Arc::clone), hash, is_kept);
            if let Some(what) = damage::put_text_back(&mut recorded.event, text) {
                damages.add(what);
            }
        }
        Ok(events)
    }
}

async fn texts(
    connection: &mut SqliteConnection,
    run_id: RunId,
) -> Result<BTreeMap<String, Arc<str>>, Failure> {
    let sql = "SELECT hash, body FROM texts WHERE run_id = ? AND hash <> ''";
    let query = sqlx::query_as(sql).bind(run_id.to_string());
    let rows: Vec<(String, Vec<u8>)> = query.fetch_all(connection).await.map_err(unread)?;
    Ok(rows.into_iter().map(|(hash, body)| (hash, Arc::from(unpacked(&body)))).collect())
}

/// A piece of a text on its way.
type Piece = (String, u32, i64, String, i64, Option<i64>);

async fn checkpoints(connection: &mut SqliteConnection, run_id: RunId) -> Result<Vec<Checkpoint>, Failure> {
    // One that was kept too late, after its request had ended, says nothing.
    let sql = "SELECT place, attempt, start, text, at_ms, checksum FROM pieces WHERE run_id = ? AND NOT EXISTS ( \
                   SELECT 1 FROM calls WHERE calls.run_id = pieces.run_id AND calls.place = pieces.place \
                   AND calls.attempt = pieces.attempt AND calls.outcome NOT IN ('sent', 'unknown')) \
               ORDER BY place, attempt, start";
    let run_id = run_id.to_string();
    let rows: Vec<Piece> = sqlx::query_as(sql).bind(&*run_id).fetch_all(connection).await.map_err(unread)?;
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for (place_json, number, start, text, at_ms, checksum) in rows {
        let place =
            serde_json::from_str(&place_json).map_err(|cause| fault::unreadable("a checkpoint", &cause))?;
        let attempt = Attempt { place, number };
        let is_sound = piece_sum(&run_id, (&place_json, number), (start, &text)).holds(checksum);
        if checkpoints.last().is_none_or(|last| last.attempt != attempt) {
            checkpoints.push(Checkpoint { attempt, text: String::new(), at_ms });
        }
        // A piece that is damaged, or does not follow the one before, ends the text: what comes after it follows nothing.
        if let Some(last) = checkpoints.last_mut()
            && is_sound
            && last.text.len() as u64 == count(start)
        {
            last.text.push_str(&text);
            last.at_ms = at_ms;
        }
    }
    checkpoints.retain(|checkpoint| !checkpoint.text.is_empty());
    Ok(checkpoints)
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
        [] if newest => {
            Err(Failure::new(Code::RunNotFound, "there are no runs yet").with_next("ask something first"))
        }
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
