//! The ledger: what every request cost, and what runs under way still hold. Written in the transaction of the events
//! it follows from.

use std::collections::BTreeMap;

use parallel_llm_engine::event::{Attempt, Event};
use parallel_llm_engine::run::worst_request;
use parallel_llm_engine::{Code, Failure, Place, Run, RunPlan, SeatStatus};
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _};

use super::ROWS_MAX;
use super::read::unread;
use super::row::{self, count, integer, place_json};
use crate::costs::{CostBy, CostLine, CostQuery};
use crate::fault;
use crate::ledger::{self, Ending, Hold, Holds};
use crate::projection::Entries;

/// Writes what these events say of requests and of money. The run has taken them in already; `demanded` is what is to
/// be held for the part of it that they begin.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    run: &Run,
    (entries, demanded): (&Entries, Option<Holds>),
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let run_id = run.plan.run_id.to_string();
    if entries.reopening().is_some() {
        settle(connection, &run_id).await?;
    }
    insert_sent(connection, &run_id, (&run.plan, entries), now_ms).await?;
    for recorded in &entries.events {
        match &recorded.event {
            Event::Accepted { attempt, generation_id } => {
                name(connection, &run_id, *attempt, generation_id).await?;
            }
            Event::Reconciled { .. } => reconcile(connection, &run_id, &recorded.event).await?,
            event => {
                if let Some((attempt, ending)) = ledger::ending(event) {
                    end(connection, &run_id, (attempt, &ending), now_ms).await?;
                }
            }
        }
    }
    if entries.close() {
        // Closing tells the fold too that what was under way is unknown.
        if run.seats.iter().chain(&run.synthesizers).any(|view| view.status == SeatStatus::Unknown) {
            lose_track(connection, &run_id).await?;
        }
        return release(connection, &run_id).await;
    }
    hold(connection, &run_id, held(run, entries, demanded)).await
}

/// What is to be held, or no longer held, after these events.
fn held(run: &Run, entries: &Entries, demanded: Option<Holds>) -> BTreeMap<Place, Option<Hold>> {
    let changed = ledger::holds_changed(&run.plan, &entries.events);
    let Some(demanded) = demanded else { return changed };
    let mut held: BTreeMap<_, _> = demanded.into_iter().map(|(place, hold)| (place, Some(hold))).collect();
    held.extend(changed);
    // Nothing is held yet of a part that begins here, so there is nothing to give back.
    held.retain(|_, hold| hold.is_some());
    held
}

/// Nobody will hear of requests still under way, and nothing more is held.
pub(super) async fn settle(connection: &mut SqliteConnection, run_id: &str) -> Result<(), sqlx::Error> {
    lose_track(connection, run_id).await?;
    release(connection, run_id).await
}

async fn lose_track(connection: &mut SqliteConnection, run_id: &str) -> Result<(), sqlx::Error> {
    let sql = "UPDATE calls SET outcome = 'unknown' WHERE run_id = ? AND outcome = 'sent'";
    sqlx::query(sql).bind(run_id).execute(connection).await.map(drop)
}

async fn release(connection: &mut SqliteConnection, run_id: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM holds WHERE run_id = ?").bind(run_id).execute(connection).await.map(drop)
}

async fn insert_sent(
    connection: &mut SqliteConnection,
    run_id: &str,
    (plan, entries): (&RunPlan, &Entries),
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let sent = entries.events.iter().filter_map(|recorded| match &recorded.event {
        Event::Sent { attempt } => Some((*attempt, ledger::seat_at(plan, attempt.place)?)),
        _ => None,
    });
    for rows in sent.collect::<Vec<_>>().chunks(ROWS_MAX) {
        let mut sql = QueryBuilder::new(
            "INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, worst_pico_usd) ",
        );
        sql.push_values(rows, |mut row, (attempt, seat)| {
            row.push_bind(run_id).push_bind(place_json(attempt.place)).push_bind(attempt.number);
            row.push_bind(&*seat.model.provider.0).push_bind(&*seat.model.model).push_bind(now_ms);
            row.push_bind(worst_request(plan, attempt.place, seat).map(|worst| worst.0));
        });
        sql.push(" ON CONFLICT DO NOTHING").build().execute(&mut *connection).await?;
    }
    Ok(())
}

async fn name(
    connection: &mut SqliteConnection,
    run_id: &str,
    attempt: Attempt,
    generation_id: &str,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE calls SET generation_id = ? WHERE run_id = ? AND place = ? AND attempt = ?";
    let query = sqlx::query(sql).bind(generation_id).bind(run_id).bind(place_json(attempt.place));
    query.bind(attempt.number).execute(connection).await.map(drop)
}

/// A request ends once: what is told of it later, because a further try was refused, changes nothing.
async fn end(
    connection: &mut SqliteConnection,
    run_id: &str,
    (attempt, ending): (Attempt, &Ending<'_>),
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE calls SET ended_at_ms = ?, outcome = ?, code = ?, cost_pico_usd = ?, cost_is_estimate = ?, \
               input_tokens = ?, output_tokens = ?, reasoning_tokens = ?, cached_tokens = ?, \
               generation_id = COALESCE(?, generation_id) \
               WHERE run_id = ? AND place = ? AND attempt = ? AND outcome = 'sent'";
    sqlx::query(sql)
        .bind(now_ms)
        .bind(ending.outcome)
        .bind(ending.code.map(Code::as_str))
        .bind(ending.cost.map(|cost| cost.0))
        .bind(ending.cost_is_estimate)
        .bind(ending.usage.input_tokens.map(integer))
        .bind(ending.usage.output_tokens.map(integer))
        .bind(ending.usage.reasoning_tokens.map(integer))
        .bind(ending.usage.cached_tokens.map(integer))
        .bind(ending.generation_id)
        .bind(run_id)
        .bind(place_json(attempt.place))
        .bind(attempt.number)
        .execute(connection)
        .await
        .map(drop)
}

/// Its provider has told what a request cost.
async fn reconcile(
    connection: &mut SqliteConnection,
    run_id: &str,
    event: &Event,
) -> Result<(), sqlx::Error> {
    let Event::Reconciled { attempt, cost, usage } = event else { return Ok(()) };
    let sql = "UPDATE calls SET cost_pico_usd = ?, cost_is_estimate = 0, input_tokens = ?, output_tokens = ?, \
               reasoning_tokens = ?, cached_tokens = ? WHERE run_id = ? AND place = ? AND attempt = ?";
    sqlx::query(sql)
        .bind(cost.0)
        .bind(usage.input_tokens.map(integer))
        .bind(usage.output_tokens.map(integer))
        .bind(usage.reasoning_tokens.map(integer))
        .bind(usage.cached_tokens.map(integer))
        .bind(run_id)
        .bind(place_json(attempt.place))
        .bind(attempt.number)
        .execute(connection)
        .await
        .map(drop)
}

async fn hold(
    connection: &mut SqliteConnection,
    run_id: &str,
    changed: BTreeMap<Place, Option<Hold>>,
) -> Result<(), sqlx::Error> {
    let mut held = Vec::new();
    for (place, hold) in changed {
        if let Some(hold) = hold {
            held.push((place, hold));
            continue;
        }
        let sql = "DELETE FROM holds WHERE run_id = ? AND place = ?";
        sqlx::query(sql).bind(run_id).bind(place_json(place)).execute(&mut *connection).await?;
    }
    for rows in held.chunks(ROWS_MAX) {
        let mut sql = QueryBuilder::new("INSERT OR REPLACE INTO holds (run_id, place, provider, pico_usd) ");
        sql.push_values(rows, |mut row, (place, hold)| {
            row.push_bind(run_id).push_bind(place_json(*place));
            row.push_bind(&*hold.provider.0).push_bind(hold.amount.0);
        });
        sql.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// What was spent, added up.
pub(crate) async fn costs(readers: &SqlitePool, query: CostQuery) -> Result<Vec<CostLine>, Failure> {
    let (group, order) = match query.by {
        CostBy::Model => ("provider, model", "8 DESC, 1, 2"),
        CostBy::Provider => ("provider, ''", "8 DESC, 1"),
        CostBy::Day => ("strftime('%Y-%m-%d', sent_at_ms / 1000, 'unixepoch'), ''", "1 DESC"),
    };
    // Only words of our own make up the statement.
    let sql = format!(
        "SELECT {group}, COUNT(DISTINCT run_id), COUNT(*), SUM(outcome = 'failed'), SUM(cost_pico_usd IS NULL), \
         SUM(cost_pico_usd IS NOT NULL AND cost_is_estimate), TOTAL(cost_pico_usd), \
         CAST(TOTAL(input_tokens) AS INTEGER), CAST(TOTAL(output_tokens) AS INTEGER) \
         FROM calls WHERE sent_at_ms >= ? GROUP BY 1, 2 ORDER BY {order}"
    );
    let since_ms = query.since_ms.unwrap_or(i64::MIN);
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(since_ms).fetch_all(readers).await.map_err(unread)?;
    let line = |row| cost_line(row, query.by).map_err(|cause| fault::unreadable("a cost", &cause));
    rows.iter().map(line).collect()
}

fn cost_line(row: &SqliteRow, by: CostBy) -> Result<CostLine, sqlx::Error> {
    let counted = |column: usize| row.try_get::<i64, _>(column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => row::model(row, 0)?.to_string(),
            CostBy::Day | CostBy::Provider => row.try_get(0)?,
        },
        runs: counted(2)?,
        calls: counted(3)?,
        failed: counted(4)?,
        calls_of_unknown_cost: counted(5)?,
        calls_of_estimated_cost: counted(6)?,
        cost: row::sum(row, 7)?,
        input_tokens: counted(8)?,
        output_tokens: counted(9)?,
    })
}
