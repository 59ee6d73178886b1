//! The budget of the day, and what was spent of it hour by hour.

use parallel_llm_engine::PicoUsd;
use parallel_llm_store::HourSpend;
use serde::Serialize;

use super::period::DAY_MS;

const HOUR_MS: i64 = DAY_MS / 24;

/// The budget of the day (UTC), and what was spent of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetDay {
    /// The start of the day, in milliseconds since 1970.
    pub day_start_ms: i64,
    /// The most that may be spent in the day, in USD: `budget_day_usd` of the settings, or the budget of the token; null
    /// without a limit.
    pub limit_usd: Option<f64>,
    /// The known cost of the day so far, in USD; null if there were calls and no cost is known.
    pub spent_usd: Option<f64>,
    /// What is left of the limit after that, in USD; null without a limit or a known cost.
    pub left_usd: Option<f64>,
    /// Calls whose cost is unknown, for good or for now.
    pub calls_of_unknown_cost: u64,
    /// The most that those calls can have cost, in USD; null if nobody knows, because a call had no known price.
    pub unknown_cost_max_usd: Option<f64>,
    /// Every hour of the day so far, the current one included.
    pub hours: Vec<BudgetHour>,
}

/// The day at the end of one hour.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BudgetHour {
    /// The hour, from 0 to 23.
    pub hour: u32,
    /// The known cost from the start of the day to the end of this hour, in USD; null if no cost of any call is known.
    pub spent_usd: Option<f64>,
    /// The most that calls of unknown cost can have added by then, in USD; null if nobody knows.
    pub unknown_cost_max_usd: Option<f64>,
}

/// The start of the day of this moment, in UTC like the limit.
pub(super) const fn day_start_ms(now_ms: i64) -> i64 {
    now_ms.div_euclid(DAY_MS) * DAY_MS
}

impl BudgetDay {
    pub(super) fn of(limit: Option<PicoUsd>, spent: &[HourSpend], now_ms: i64) -> Self {
        let day_start_ms = day_start_ms(now_ms);
        let now_hour = u32::try_from((now_ms - day_start_ms) / HOUR_MS).unwrap_or_default();
        let mut total = HourSpend::default();
        let mut hours = Vec::new();
        for hour in 0..=now_hour {
            for spend in spent.iter().filter(|spend| spend.hour == hour) {
                total.cost = total.cost.plus(spend.cost);
                total.calls_of_unknown_cost += spend.calls_of_unknown_cost;
                total.unknown_cost_max = total.unknown_cost_max.plus(spend.unknown_cost_max);
            }
            hours.push(BudgetHour {
                hour,
                spent_usd: known(&total).map(PicoUsd::as_usd),
                unknown_cost_max_usd: total.unknown_cost_max.limit_as_usd(),
            });
        }
        let left = limit.zip(known(&total)).map(|(limit, spent)| limit.minus(spent));
        Self {
            day_start_ms,
            limit_usd: limit.map(PicoUsd::as_usd),
            spent_usd: known(&total).map(PicoUsd::as_usd),
            left_usd: left.map(PicoUsd::as_usd),
            calls_of_unknown_cost: total.calls_of_unknown_cost,
            unknown_cost_max_usd: total.unknown_cost_max.limit_as_usd(),
            hours,
        }
    }
}

/// The known cost; `None` if nothing is known, which is not zero.
fn known(spend: &HourSpend) -> Option<PicoUsd> {
    spend.cost.unless_unknown(spend.calls_of_unknown_cost > 0)
}
