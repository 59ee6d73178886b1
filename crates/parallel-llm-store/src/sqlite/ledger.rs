//! The ledger: what every request cost, and what runs under way still hold. Written in the transaction of the events
//! it follows from.

use std::collections::BTreeMap;

use parallel_llm_engine::run::event::{Attempt, Event};
use parallel_llm_engine::{Code, Failure, Place, Run, RunPlan, SeatStatus, Usage};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::read::unread;
use super::row::{self, count, integer, place_json};
use super::{Batch, ROWS_MAX};
use crate::costs::{CostBy, CostLine, CostQuery};
use crate::fault;
use crate::ledger::{self, Hold, Holds, Told};
use crate::row::checksum::Checksum;
use crate::row::entries::Entries;
use crate::runs::Whose;

/// Writes what these events say of requests and of money. The run has taken them in already; `demanded` is what is to
/// be held for the part of it that they begin.
pub(super) fn write(
    batch: &mut Batch,
    run: &Run,
    (entries, demanded): (&Entries, Option<Holds>),
    now_ms: i64,
) {
    let run_id = run.plan.run_id.to_string();
    if entries.reopening().is_some() {
        settle(batch, &run_id);
    }
    insert_sent(batch, &run_id, (&run.plan, entries), now_ms);
    tell(batch, &run_id, &ledger::told(&entries.events), now_ms);
    for recorded in &entries.events {
        reconcile(batch, &run_id, &recorded.event);
    }
    if entries.close() {
        // Closing tells the fold too that what was under way is unknown.
        if run.places().any(|view| view.status == SeatStatus::Unknown) {
            lose_track(batch, &run_id);
        }
        return release(batch, &run_id);
    }
    hold(batch, &run_id, held(run, entries, demanded));
}

/// Which call a row is about.
pub(super) struct CallKey<'a> {
    pub(super) run_id: &'a str,
    pub(super) place: &'a str,
    pub(super) attempt: u32,
}

impl CallKey<'_> {
    /// The beginning of the checksum of a group of its columns.
    pub(super) fn sum(&self, group: &str) -> Checksum {
        Checksum::of(group).text(Some(self.run_id)).text(Some(self.place)).number(Some(self.attempt.into()))
    }
}

/// What a call cost, as its row has it.
pub(super) struct Spend {
    pub(super) cost: Option<i64>,
    pub(super) is_estimate: bool,
    /// Input, output, reasoning, cached.
    pub(super) tokens: [Option<i64>; 4],
}

impl Spend {
    fn of(told: &Told<'_>) -> Self {
        let cost = told.cost.map(|cost| cost.0);
        Self { cost, is_estimate: told.cost_is_estimate, tokens: tokens(&told.usage) }
    }

    pub(super) fn sum(&self, key: &CallKey<'_>) -> Checksum {
        let sum = key.sum("calls: spend").number(self.cost).number(Some(self.is_estimate.into()));
        self.tokens.into_iter().fold(sum, Checksum::number)
    }
}

fn tokens(usage: &Usage) -> [Option<i64>; 4] {
    [usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_tokens]
        .map(|tokens| tokens.map(integer))
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
pub(super) fn settle(batch: &mut Batch, run_id: &str) {
    lose_track(batch, run_id);
    release(batch, run_id);
}

fn lose_track(batch: &mut Batch, run_id: &str) {
    batch.push("UPDATE calls SET outcome = 'unknown' WHERE outcome = 'sent' AND run_id = ").push_bind(run_id);
    batch.push("; ");
}

fn release(batch: &mut Batch, run_id: &str) {
    batch.push("DELETE FROM holds WHERE run_id = ").push_bind(run_id).push("; ");
}

fn insert_sent(batch: &mut Batch, run_id: &str, (plan, entries): (&RunPlan, &Entries), now_ms: i64) {
    let sent = entries.events.iter().filter_map(|recorded| match &recorded.event {
        Event::Sent { attempt } => Some((*attempt, plan.seat_at(attempt.place)?)),
        _ => None,
    });
    for rows in sent.collect::<Vec<_>>().chunks(ROWS_MAX) {
        batch
            .push("INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, sent_checksum) ");
        batch.push_values(rows, |mut row, (attempt, seat)| {
            let worst = plan.worst_request(attempt.place).map(|worst| worst.0);
            let place = place_json(attempt.place);
            let (provider, model) = (&*seat.model.provider.0, &*seat.model.model);
            let sum = CallKey { run_id, place: &place, attempt: attempt.number }.sum("calls: sent");
            let sum = sum.text(Some(provider)).text(Some(model)).number(Some(now_ms));
            let sum = sum.text(plan.asked_by.as_deref()).number(worst);
            row.push_bind(run_id).push_bind(place).push_bind(attempt.number);
            row.push_bind(provider).push_bind(model).push_bind(now_ms);
            row.push_bind(plan.asked_by.as_deref()).push_bind(worst).push_bind(sum.finish());
        });
        batch.push(" ON CONFLICT DO NOTHING; ");
    }
}

/// Writes what was heard of requests under way. A request ends once: what is told of it later, because a further try
/// was refused, changes nothing.
fn tell(batch: &mut Batch, run_id: &str, told: &BTreeMap<Attempt, Told<'_>>, now_ms: i64) {
    for rows in told.iter().collect::<Vec<_>>().chunks(ROWS_MAX) {
        batch.push(
            "WITH told (place, attempt, ended_at_ms, outcome, code, cost_pico_usd, cost_is_estimate, input_tokens, \
             output_tokens, reasoning_tokens, cached_tokens, generation_id, end_checksum, spend_checksum) AS (",
        );
        batch.push_values(rows, |mut row, (attempt, told)| {
            let place = place_json(attempt.place);
            let key = CallKey { run_id, place: &place, attempt: attempt.number };
            let (code, spend) = (told.code.map(Code::as_str), Spend::of(told));
            let end_sum = key.sum("calls: end").number(Some(now_ms)).text(Some(told.outcome)).text(code);
            let (end_sum, spend_sum) = (end_sum.finish(), spend.sum(&key).finish());
            row.push_bind(place.clone()).push_bind(attempt.number);
            row.push_bind(told.is_over().then_some(now_ms)).push_bind(told.outcome);
            row.push_bind(code).push_bind(spend.cost);
            row.push_bind(told.cost_is_estimate);
            for tokens in spend.tokens {
                row.push_bind(tokens);
            }
            row.push_bind(told.generation_id);
            row.push_bind(told.is_over().then_some(end_sum)).push_bind(told.is_over().then_some(spend_sum));
        });
        batch.push(
            ") UPDATE calls SET ended_at_ms = told.ended_at_ms, outcome = told.outcome, code = told.code, \
             cost_pico_usd = told.cost_pico_usd, cost_is_estimate = told.cost_is_estimate, \
             input_tokens = told.input_tokens, output_tokens = told.output_tokens, \
             reasoning_tokens = told.reasoning_tokens, cached_tokens = told.cached_tokens, \
             generation_id = COALESCE(told.generation_id, calls.generation_id), \
             end_checksum = told.end_checksum, spend_checksum = told.spend_checksum FROM told \
             WHERE calls.place = told.place AND calls.attempt = told.attempt AND calls.outcome = 'sent' \
             AND calls.run_id = ",
        );
        batch.push_bind(run_id).push("; ");
    }
}

/// Its provider has told what a request cost.
fn reconcile(batch: &mut Batch, run_id: &str, event: &Event) {
    let Event::Reconciled { attempt, cost, usage } = event else { return };
    let place = place_json(attempt.place);
    let spend = Spend { cost: Some(cost.0), is_estimate: false, tokens: tokens(usage) };
    let key = CallKey { run_id, place: &place, attempt: attempt.number };
    let sum = spend.sum(&key).finish();
    let [input, output, reasoning, cached] = spend.tokens;
    let mut set = batch.push("UPDATE calls SET cost_is_estimate = 0, ").separated(", ");
    let columns = [
        ("cost_pico_usd = ", spend.cost),
        ("input_tokens = ", input),
        ("output_tokens = ", output),
        ("reasoning_tokens = ", reasoning),
        ("cached_tokens = ", cached),
        ("spend_checksum = ", Some(sum)),
    ];
    for (column, value) in columns {
        set.push(column).push_bind_unseparated(value);
    }
    batch.push(" WHERE run_id = ").push_bind(run_id);
    batch.push(" AND place = ").push_bind(place.clone());
    batch.push(" AND attempt = ").push_bind(attempt.number).push("; ");
}

fn hold(batch: &mut Batch, run_id: &str, changed: BTreeMap<Place, Option<Hold>>) {
    let (held, given_back): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, hold)| hold.is_some());
    if !given_back.is_empty() {
        batch.push("DELETE FROM holds WHERE run_id = ").push_bind(run_id).push(" AND place IN (");
        let mut places = batch.separated(", ");
        for (place, _) in given_back {
            places.push_bind(place_json(place));
        }
        batch.push("); ");
    }
    let held: Vec<_> = held.into_iter().filter_map(|(place, hold)| Some((place, hold?))).collect();
    for rows in held.chunks(ROWS_MAX) {
        batch.push("INSERT OR REPLACE INTO holds (run_id, place, provider, pico_usd) ");
        batch.push_values(rows, |mut row, (place, hold)| {
            row.push_bind(run_id).push_bind(place_json(*place));
            row.push_bind(&*hold.provider.0).push_bind(hold.amount.0);
        });
        batch.push("; ");
    }
}

/// What was spent, added up.
pub(crate) async fn costs(
    readers: &SqlitePool,
    whose: Whose<'_>,
    query: CostQuery,
) -> Result<Vec<CostLine>, Failure> {
    let (group, order) = match query.by {
        CostBy::Model => ("provider, model", "8 DESC, 1, 2"),
        CostBy::Provider => ("provider, ''", "8 DESC, 1"),
        CostBy::Asker => ("IFNULL(asked_by, ''), ''", "8 DESC, 1"),
        CostBy::Day => ("strftime('%Y-%m-%d', sent_at_ms / 1000, 'unixepoch'), ''", "1 DESC"),
    };
    let of_asker = match whose {
        Whose::All => "?2 IS NULL",
        Whose::Asker(_) => "asked_by = ?2",
    };
    // Only words of our own make up the statement.
    let sql = format!(
        "SELECT {group}, COUNT(DISTINCT run_id), COUNT(*), SUM(outcome = 'failed'), SUM(cost_pico_usd IS NULL), \
         SUM(cost_pico_usd IS NOT NULL AND cost_is_estimate), TOTAL(cost_pico_usd), \
         CAST(TOTAL(input_tokens) AS INTEGER), CAST(TOTAL(output_tokens) AS INTEGER), \
         TOTAL(CASE WHEN cost_pico_usd IS NULL THEN worst_pico_usd END) \
         FROM calls WHERE sent_at_ms >= ?1 AND {of_asker} GROUP BY 1, 2 ORDER BY {order}"
    );
    let since_ms = query.since_ms.unwrap_or(i64::MIN);
    let query_rows = sqlx::query(AssertSqlSafe(sql)).bind(since_ms).bind(whose.name());
    let rows = query_rows.fetch_all(readers).await.map_err(unread)?;
    let line = |row| cost_line(row, query.by).map_err(|cause| fault::unreadable("a cost", &cause));
    rows.iter().map(line).collect()
}

fn cost_line(row: &SqliteRow, by: CostBy) -> Result<CostLine, sqlx::Error> {
    let counted = |column: usize| row.try_get::<i64, _>(column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => row::model(row, 0)?.to_string(),
            CostBy::Asker | CostBy::Day | CostBy::Provider => row.try_get(0)?,
        },
        runs: counted(2)?,
        calls: counted(3)?,
        failed: counted(4)?,
        calls_of_unknown_cost: counted(5)?,
        calls_of_estimated_cost: counted(6)?,
        cost: row::sum(row, 7)?,
        input_tokens: counted(8)?,
        output_tokens: counted(9)?,
        unknown_cost_max: row::sum(row, 10)?,
    })
}
