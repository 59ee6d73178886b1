//! What may be spent in a day, checked inside the transaction that would begin a run or a further part of one, and before
//! each request that leaves later.
//!
//! What always holds, as far as prices are known: what requests of the day have cost, plus what those under way can
//! cost, plus what runs under way still hold, plus what the run asks for, is within the limit. A request whose cost
//! nobody knows counts as its worst case. A run that was left unfinished holds nothing: to go on with it is checked
//! anew.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use parallel_llm_engine::plan::DayLimit;
use parallel_llm_engine::{Code, Failure, PicoUsd, Place, RunPlan};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::read::unread;
use super::{Admission, Stamp, row};
use crate::clock;
use crate::ledger::{self, Holds};

const MINUTE_MS: i64 = 60 * 1_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// What the requests since a moment have cost or can cost, by provider: what is known of those that are over, the most
/// that the others of them can have cost, and the most that those under way can cost. A statement each, so that each finds
/// its index.
macro_rules! sent {
    ($whose:literal) => {
        concat!(
            "SELECT provider, TOTAL(CASE WHEN outcome <> 'sent' THEN cost_pico_usd END), ",
            "TOTAL(CASE WHEN outcome <> 'sent' AND cost_pico_usd IS NULL THEN worst_pico_usd END), ",
            "TOTAL(CASE WHEN outcome = 'sent' THEN COALESCE(cost_pico_usd, worst_pico_usd) END) ",
            "FROM calls WHERE sent_at_ms >= ?1 AND ",
            $whose,
            " GROUP BY provider"
        )
    };
}

/// Money of one provider, or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// What requests are known to have cost.
    spent: PicoUsd,
    /// The most that those may have cost of which nobody knows it.
    unheard: PicoUsd,
    /// What requests and runs under way may still cost.
    held: PicoUsd,
}

impl Taken {
    fn plus(self, other: Self) -> Self {
        Self {
            spent: self.spent.plus(other.spent),
            unheard: self.unheard.plus(other.unheard),
            held: self.held.plus(other.held),
        }
    }

    /// All that counts against a limit.
    fn most(self) -> PicoUsd {
        self.spent.plus(self.unheard).plus(self.held)
    }

    /// In words: what is known, and what is only feared.
    fn told(self) -> String {
        let Self { spent, unheard, held } = self;
        let unheard = if unheard > PicoUsd::ZERO {
            format!(", up to {unheard} more by calls whose cost nobody knows")
        } else {
            String::new()
        };
        format!("{spent} are spent{unheard} and {held} held for runs under way")
    }
}

/// Refuses a run, or a further part of one, that could spend more than a day's limit leaves.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    (plan, limits): (&RunPlan, &[DayLimit]),
    demanded: &Holds,
    stamp: &Stamp,
) -> Result<Admission<()>, sqlx::Error> {
    let mut by_asker: BTreeMap<Option<&str>, BTreeMap<String, Taken>> = BTreeMap::new();
    for limit in limits {
        let asked_by = limit.asked_by.as_deref();
        let taken = match by_asker.entry(asked_by) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(room) => room.insert(taken(connection, (plan, asked_by), stamp.now_ms).await?),
        };
        if let Some(refusal) = refusal((plan, limit, "run"), taken, demanded, stamp.now_ms) {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// Refuses one more request of a run that has begun, where what all requests of the day have cost, and those under way
/// can cost, leaves no room for it within a limit. What runs still hold is left out: each of their requests comes here by
/// itself, and what the run was let in with is not refused for what others may do.
pub(crate) async fn check_call(
    readers: &SqlitePool,
    (plan, place): (&RunPlan, Place),
) -> Result<(), Failure> {
    let now_ms = clock::now_ms();
    let demanded: Holds = ledger::hold(plan, place).map(|hold| (place, hold)).into_iter().collect();
    let mut connection = readers.acquire().await.map_err(unread)?;
    for limit in &plan.limits {
        let taken = sent(&mut connection, limit.asked_by.as_deref(), now_ms).await.map_err(unread)?;
        if let Some(refusal) = refusal((plan, limit, "call"), &taken, &demanded, now_ms) {
            return Err(refusal);
        }
    }
    Ok(())
}

fn refusal(
    (plan, limit, what): (&RunPlan, &DayLimit, &str),
    taken: &BTreeMap<String, Taken>,
    demanded: &Holds,
    now_ms: i64,
) -> Option<Failure> {
    let counts = |provider: &str| limit.provider.as_ref().is_none_or(|wanted| wanted.0 == provider);
    let counted = taken.iter().filter(|(provider, _)| counts(provider));
    let total = counted.fold(Taken::default(), |total, (_, taken)| total.plus(*taken));
    let wanted: PicoUsd =
        demanded.values().filter(|hold| counts(&hold.provider.0)).map(|hold| hold.amount).sum();
    if total.most().plus(wanted) <= limit.usd {
        return None;
    }
    let mut whose = limit.provider.as_ref().map(|provider| format!(" for `{provider}`")).unwrap_or_default();
    if limit.asked_by.is_some() {
        whose.push_str(" of this token");
    }
    let message = if plan.asked_by.is_some() && limit.asked_by.is_none() {
        // What others have spent is not told to somebody who may not see their runs.
        format!("the {what} may cost up to {wanted}, more than the owner's limit{whose} leaves of this day")
    } else {
        format!(
            "the {what} may cost up to {wanted}; of the day's limit of {}{whose}, {}",
            limit.usd,
            total.told()
        )
    };
    let minutes = (DAY_MS - now_ms.rem_euclid(DAY_MS)) / MINUTE_MS;
    let raise = match limit.asked_by {
        Some(_) => "have the owner make a token with a higher limit of the day".to_owned(),
        None => format!("raise the setting `{}`", limit.setting),
    };
    let next = format!(
        "{raise}, or wait until the day ends at 00:00 UTC, in {} h {} min",
        minutes / 60,
        minutes % 60
    );
    Some(Failure::new(Code::Budget, message).with_next(next))
}

/// What the day has taken so far, of everybody's runs or of one asker's, by provider. What the run itself holds is about to be replaced.
async fn taken(
    connection: &mut SqliteConnection,
    (plan, asked_by): (&RunPlan, Option<&str>),
    now_ms: i64,
) -> Result<BTreeMap<String, Taken>, sqlx::Error> {
    let mut taken = sent(&mut *connection, asked_by, now_ms).await?;
    // Runs of one process are judged together, apart from those whose lease is over: that counts where nobody can see
    // the process.
    let sql = "SELECT owner, MAX(lease_until_ms), FALSE, provider, TOTAL(pico_usd) FROM holds JOIN runs USING (run_id) \
               WHERE run_id <> ?1 AND closed_at_ms IS NULL AND (?3 IS NULL OR asked_by = ?3) \
               GROUP BY owner, lease_until_ms < ?2, provider";
    let query = sqlx::query(sql).bind(plan.run_id.to_string()).bind(now_ms).bind(asked_by);
    for found in query.fetch_all(connection).await? {
        if !row::tenure(&found)?.is_interrupted(now_ms) {
            let entry = taken.entry(found.try_get(3)?).or_default();
            entry.held = entry.held.plus(row::sum(&found, 4)?);
        }
    }
    Ok(taken)
}

/// What the requests of the day have cost or can cost, by provider.
async fn sent(
    connection: &mut SqliteConnection,
    asked_by: Option<&str>,
    now_ms: i64,
) -> Result<BTreeMap<String, Taken>, sqlx::Error> {
    let sql = if asked_by.is_some() { sent!("asked_by = ?2") } else { sent!("?2 IS NULL") };
    let midnight_ms = now_ms - now_ms.rem_euclid(DAY_MS);
    let mut taken: BTreeMap<String, Taken> = BTreeMap::new();
    for found in sqlx::query(sql).bind(midnight_ms).bind(asked_by).fetch_all(connection).await? {
        let entry = taken.entry(found.try_get(0)?).or_default();
        *entry =
            Taken { spent: row::sum(&found, 1)?, unheard: row::sum(&found, 2)?, held: row::sum(&found, 3)? };
    }
    Ok(taken)
}
