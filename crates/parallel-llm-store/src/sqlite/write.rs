//! What the writer does to the database. Every function works inside the writer's transaction.
//!
//! A refusal is an answer, not an error of the database: the outer `Result` says whether the database did as it
//! was told, and then the whole transaction stands or falls; the inner one says whether this piece of work was
//! let in, and leaves its neighbours alone.

use std::sync::Arc;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Code, Failure, Recorded, Run, RunId};
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::row::{
    count, event_columns, event_sum, integer, piece_sum, place_json, plan, plan_column, plan_sum, recorded,
    tenure,
};
use super::run_row::{self, RunRow, shown};
use super::{Admission, Batch, ROWS_MAX, Stamp, ledger, limits, repeats, seats};
use crate::damage;
use crate::fault;
use crate::ledger::Holds;
use crate::row::compressed::unpacked;
use crate::row::entries::{Entries, NewRun, ends_attempt, keeps_texts, mode_word};

/// The epoch of a run that nobody has taken over.
pub(crate) const EPOCH_FIRST: u64 = 1;

/// A run as the writer knows it between two appends.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) run: Run,
    pub(crate) epoch: u64,
    /// What the list shows of it.
    pub(crate) row: RunRow,
}

impl Known {
    /// A run nothing has happened in.
    pub(crate) fn new(new: &NewRun, now_ms: i64) -> Self {
        let run = Run::new(Arc::clone(&new.plan));
        Self { row: RunRow::new(&run, new.question_excerpt.clone(), now_ms), run, epoch: EPOCH_FIRST }
    }

    /// Takes in events that are about to be written.
    pub(crate) fn apply(&mut self, entries: &Entries, now_ms: i64) {
        entries.events.iter().for_each(|recorded| self.run.apply(recorded));
        self.row.follow(&self.run);
        if entries.decide() {
            self.row.decided_at_ms = Some(now_ms);
        }
        if entries.close() {
            self.row.closed_at_ms = Some(now_ms);
        }
    }

    /// Refuses events of an owner that was overtaken, and events that do not follow those that are there.
    pub(crate) fn check(&self, lease: Lease, entries: &Entries) -> Admission<()> {
        if lease.epoch != self.epoch {
            return Err(overtaken(lease.run_id));
        }
        if !entries.follow(self.run.seq) {
            let message =
                format!("events of the run {} do not follow its event {}", lease.run_id, self.run.seq);
            return Err(Failure::new(Code::Internal, message));
        }
        Ok(())
    }
}

/// Decides whether events may be written that begin a run or a further part of one; other events may. Gives the money
/// that is to be held for what they begin. Nothing is written yet, so a refusal leaves nothing behind.
pub(crate) async fn admit(
    connection: &mut SqliteConnection,
    known: &Known,
    (new, entries): (Option<&NewRun>, &Entries),
    stamp: &Stamp,
) -> Result<Admission<Option<Holds>>, sqlx::Error> {
    if let Some(new) = new
        && let Err(refusal) = repeats::check(connection, new, stamp).await?
    {
        return Ok(Err(refusal));
    }
    let plan = &known.run.plan;
    let Some(demanded) = crate::ledger::demanded(&known.run, &entries.events) else { return Ok(Ok(None)) };
    // Those in force now, which may not have been when the run began.
    let limits = entries.reopening().map_or(&plan.limits, |reopening| &reopening.limits);
    let admission = limits::check(connection, (plan, limits), &demanded, stamp).await?;
    Ok(admission.map(|()| Some(demanded)))
}

/// Lets go of a run that nobody here writes any more: it stands as its newest event left it, for whoever wants to go on
/// with it. One that was taken over meanwhile is somebody else's.
pub(crate) async fn let_go(connection: &mut SqliteConnection, lease: Lease) -> Result<(), sqlx::Error> {
    let run_id = lease.run_id.to_string();
    let was = run_row::look_up(connection, &run_id).await?;
    let sql = "UPDATE runs SET owner = '', lease_until_ms = 0, closed_at_ms = ( \
                   SELECT at_ms FROM events WHERE events.run_id = runs.run_id AND seq = last_seq AND kind = 'closed') \
               WHERE run_id = ? AND epoch = ?";
    sqlx::query(sql).bind(&*run_id).bind(integer(lease.epoch)).execute(&mut *connection).await?;
    run_row::seal(connection, was).await
}

/// Writes a new run's row. Refuses one that is there already.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
    new: &NewRun,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    let sql = "INSERT INTO runs (run_id, plan, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, \
               question_excerpt, strategy, seats, asked_by, idempotency_key, is_indexed, plan_checksum) \
               VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING; \
               INSERT INTO texts (run_id, hash, body) VALUES (?, '', ?) ON CONFLICT DO NOTHING";
    let plan = &*new.plan;
    let run_id = plan.run_id.to_string();
    let done = sqlx::query(sql)
        .bind(&*run_id)
        .bind(&*plan.plan_hash)
        .bind(mode_word(plan.store))
        .bind(stamp.now_ms)
        .bind(&*stamp.owner)
        .bind(integer(EPOCH_FIRST))
        .bind(stamp.lease_until_ms)
        .bind(new.question_excerpt.as_deref())
        .bind(plan.strategy.name())
        .bind(integer(plan.seats.len() as u64))
        .bind(plan.asked_by.as_deref())
        .bind(plan.idempotency_key.as_deref())
        .bind(!keeps_texts(plan))
        .bind(plan_sum(&run_id, &new.plan_json).finish())
        .bind(&*run_id)
        .bind(new.plan_packed.clone())
        .execute(connection)
        .await?;
    let exists = || fault::refused(format!("the run {} exists already", plan.run_id));
    Ok((done.rows_affected() > 0).then_some(()).ok_or_else(exists))
}

/// Writes events that the run has already taken in, and what follows from them; `demanded` is what [`admit`] gave.
/// Refused, and nothing of it written, where another process has the run now.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    known: &Known,
    (entries, demanded): (&Entries, Option<Holds>),
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    if !advance(connection, known, entries, stamp).await? {
        return Ok(Err(overtaken(known.run.plan.run_id)));
    }
    consequences(known, (entries, demanded), stamp).build().execute(connection).await?;
    Ok(Ok(()))
}

/// Everything that is written of events once the run's row has moved to them.
fn consequences(known: &Known, (entries, demanded): (&Entries, Option<Holds>), stamp: &Stamp) -> Batch {
    let mut batch = Batch::default();
    let run_id = known.run.plan.run_id.to_string();
    insert_events(&mut batch, &run_id, entries, stamp.now_ms);
    if keeps_texts(&known.run.plan) {
        insert_texts(&mut batch, &run_id, entries);
    }
    ledger::write(&mut batch, &known.run, (entries, demanded), stamp.now_ms);
    if entries.decide() || entries.close() {
        seats::write(&mut batch, &known.run);
    }
    forget_checkpoints(&mut batch, &run_id, entries);
    batch
}

/// Moves the run's row to its newest event, if nobody else has moved it or taken it over.
async fn advance(
    connection: &mut SqliteConnection,
    known: &Known,
    entries: &Entries,
    stamp: &Stamp,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE runs SET last_seq = ?, status = ?, strategy = ?, seats = ?, answered = ?, cost_pico_usd = ?, \
               cost_is_estimate = ?, lease_until_ms = ?, decided_at_ms = ?, closed_at_ms = ?, checksum = ? \
               WHERE run_id = ? AND epoch = ? AND last_seq = ?";
    let row = &known.row;
    let done = sqlx::query(sql)
        .bind(row.last_seq)
        .bind(&*row.status)
        .bind(&*row.strategy)
        .bind(row.seats)
        .bind(row.answered)
        .bind(row.cost_pico_usd)
        .bind(row.cost_is_estimate)
        .bind(stamp.lease_until_ms)
        .bind(row.decided_at_ms)
        .bind(row.closed_at_ms)
        .bind(row.checksum())
        .bind(&*row.run_id)
        .bind(integer(known.epoch))
        .bind(row.last_seq - integer(entries.events.len() as u64))
        .execute(connection)
        .await?;
    Ok(done.rows_affected() == 1)
}

fn insert_events(batch: &mut Batch, run_id: &str, entries: &Entries, now_ms: i64) {
    let rows: Vec<_> = entries.events.iter().zip(&entries.bodies).collect();
    for rows in rows.chunks(ROWS_MAX) {
        batch.push("INSERT INTO events (run_id, seq, elapsed_ms, at_ms, body, checksum) ");
        batch.push_values(rows, |mut row, (recorded, body)| {
            let (seq, elapsed_ms) = (integer(recorded.seq), integer(recorded.elapsed_ms));
            row.push_bind(run_id).push_bind(seq).push_bind(elapsed_ms).push_bind(now_ms);
            row.push_bind(body.as_str())
                .push_bind(event_sum(run_id, [seq, elapsed_ms, now_ms], body).finish());
        });
        batch.push("; ");
    }
}

/// Keeps the texts that events carry, once per run however often they are carried.
fn insert_texts(batch: &mut Batch, run_id: &str, entries: &Entries) {
    let texts: Vec<_> = entries.texts.iter().collect();
    for texts in texts.chunks(ROWS_MAX) {
        batch.push("INSERT INTO texts (run_id, hash, body) ");
        batch.push_values(texts, |mut row, (hash, packed)| {
            row.push_bind(run_id).push_bind(hash.as_str()).push_bind((*packed).clone());
        });
        batch.push(" ON CONFLICT DO NOTHING; ");
    }
}

/// The texts on their way of requests that have ended are not needed any more, and none of a run that is closed.
fn forget_checkpoints(batch: &mut Batch, run_id: &str, entries: &Entries) {
    if entries.close() {
        batch.push("DELETE FROM pieces WHERE run_id = ").push_bind(run_id).push("; ");
        return;
    }
    let ended = entries.events.iter().filter(|recorded| ends_attempt(&recorded.event));
    let ended: Vec<_> = ended.filter_map(|recorded| recorded.event.attempt()).collect();
    for rows in ended.chunks(ROWS_MAX) {
        batch.push("DELETE FROM pieces WHERE run_id = ").push_bind(run_id);
        batch.push(" AND (place, attempt) IN (").push_values(rows, |mut row, attempt| {
            row.push_bind(place_json(attempt.place)).push_bind(attempt.number);
        });
        batch.push("); ");
    }
}

/// Keeps what a text on its way has grown by since it was last kept, and gives how many bytes that is. The whole text each
/// second would be gigabytes in the write-ahead log for a long one.
pub(crate) async fn checkpoint(
    connection: &mut SqliteConnection,
    lease: Lease,
    (attempt, text): (Attempt, &str),
    stamp: &Stamp,
) -> Result<Admission<usize>, sqlx::Error> {
    let (run_id, place) = (lease.run_id.to_string(), place_json(attempt.place));
    let sql = "SELECT start + OCTET_LENGTH(text) FROM pieces WHERE run_id = ? AND place = ? AND attempt = ? \
               ORDER BY start DESC LIMIT 1";
    let query = sqlx::query_scalar(sql).bind(&*run_id).bind(&*place).bind(attempt.number);
    let kept: Option<i64> = query.fetch_optional(&mut *connection).await?;
    let start = kept.unwrap_or_default();
    // A text only grows; whatever else is said of it was said too late.
    let Some(piece) = text.get(count(start) as usize..).filter(|piece| !piece.is_empty()) else {
        return Ok(Ok(0));
    };
    let sql = "INSERT INTO pieces (run_id, place, attempt, start, text, at_ms, checksum) \
               SELECT run_id, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ? AND epoch = ? AND closed_at_ms IS NULL \
               AND store_mode = 'full'";
    let done = sqlx::query(sql)
        .bind(&*place)
        .bind(attempt.number)
        .bind(start)
        .bind(piece)
        .bind(stamp.now_ms)
        .bind(piece_sum(&run_id, (&place, attempt.number), (start, piece)).finish())
        .bind(&*run_id)
        .bind(integer(lease.epoch))
        .execute(connection)
        .await?;
    Ok((done.rows_affected() == 1).then_some(piece.len()).ok_or_else(|| overtaken(lease.run_id)))
}

/// Gives the run to this process. Refused where another one is still at it.
pub(crate) async fn take_over(
    connection: &mut SqliteConnection,
    (run_id, seq): (RunId, Option<u64>),
    stamp: &Stamp,
) -> Result<Admission<Lease>, sqlx::Error> {
    let sql = "SELECT owner, lease_until_ms, closed_at_ms IS NOT NULL, last_seq FROM runs WHERE run_id = ?";
    let found = sqlx::query(sql).bind(run_id.to_string()).fetch_optional(&mut *connection).await?;
    let Some(row) = found else {
        return Ok(Err(Failure::new(Code::RunNotFound, format!("there is no run {run_id}"))));
    };
    let tenure = tenure(&row)?;
    let was = run_row::look_up(connection, &run_id.to_string()).await?;
    if was.as_ref().is_some_and(|(_, is_sound)| !is_sound) {
        return Ok(Err(damage::failure(&format!("the run {run_id}")).with_run(run_id)));
    }
    if !tenure.closed && tenure.owner != stamp.owner && !tenure.is_interrupted(stamp.now_ms) {
        let message = format!("another process is still doing the run {run_id}");
        return Ok(Err(Failure::new(Code::Busy, message).with_next("wait until it has ended")));
    }
    let newest = count(row.try_get(3)?);
    if seq.is_some_and(|seq| seq != newest) {
        let message = format!("somebody else has gone on with the run {run_id}");
        return Ok(Err(Failure::new(Code::Busy, message).with_next("look at it again with `runs show`")));
    }
    let sql = "UPDATE runs SET epoch = epoch + 1, owner = ?, lease_until_ms = ?, closed_at_ms = NULL, \
               is_indexed = (store_mode <> 'full') WHERE run_id = ? RETURNING epoch, last_seq + 1";
    let query = sqlx::query(sql).bind(&*stamp.owner).bind(stamp.lease_until_ms).bind(run_id.to_string());
    let row = query.fetch_one(&mut *connection).await?;
    run_row::seal(connection, was).await?;
    Ok(Ok(Lease { run_id, epoch: count(row.try_get(0)?), next_seq: count(row.try_get(1)?) }))
}

/// Extends the leases of this process's open runs, and tells how many there are.
pub(crate) async fn extend_leases(
    connection: &mut SqliteConnection,
    stamp: &Stamp,
) -> Result<u64, sqlx::Error> {
    let sql = "UPDATE runs SET lease_until_ms = ? WHERE owner = ? AND closed_at_ms IS NULL";
    let done = sqlx::query(sql).bind(stamp.lease_until_ms).bind(&*stamp.owner).execute(connection).await?;
    Ok(done.rows_affected())
}

/// A run that this writer has not at hand, folded anew from its events. Their texts are not needed for that.
pub(crate) async fn know(
    connection: &mut SqliteConnection,
    run_id: RunId,
) -> Result<Admission<Known>, sqlx::Error> {
    let id = run_id.to_string();
    let sql = concat!(
        "SELECT ",
        plan_column!(),
        ", epoch, plan_checksum, ",
        shown!(),
        " FROM runs WHERE run_id = ?"
    );
    let Some(found) = sqlx::query(sql).bind(&*id).fetch_optional(&mut *connection).await? else {
        return Ok(Err(fault::refused(format!("the run {run_id} was not opened, or too long ago"))));
    };
    let (plan_json, epoch, stored): (_, i64, _) =
        (unpacked(found.try_get(0)?), found.try_get(1)?, found.try_get(2)?);
    let (row, is_sound) = RunRow::read(&found, 3)?;
    if !is_sound || !plan_sum(&id, &plan_json).holds(stored) {
        return Ok(Err(damage::failure(&format!("the run {run_id}")).with_run(run_id)));
    }
    let sql = concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = ? ORDER BY seq");
    let rows = sqlx::query(sql).bind(&*id).fetch_all(connection).await?;
    let events: Result<Vec<Recorded>, Failure> = rows.iter().map(recorded).collect();
    let known =
        |plan, events: Vec<Recorded>| Known { run: Run::fold(plan, &events), epoch: count(epoch), row };
    Ok(plan(&plan_json).and_then(|plan| Ok(known(plan, events?))))
}

/// Somebody else may write this run now.
pub(crate) fn overtaken(run_id: RunId) -> Failure {
    fault::refused(format!("the run {run_id} has been taken over, or is closed: nothing was written"))
        .with_next("see `runs show` for how the run stands now")
}
