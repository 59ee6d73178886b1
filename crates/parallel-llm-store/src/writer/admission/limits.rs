//! Enforces daily spending limits before a run begins or continues, and before every later request.
//!
//! The check for a run happens inside the transaction that begins it. Invariant: the day's
//! costs, plus the worst case of requests in flight, plus the reservations of runs in progress, plus the new demand,
//! stay within the limit. A request of unknown cost counts as its worst case. An interrupted run has no reservation:
//! continuing it is checked again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use parallel_llm_engine::plan::{DayLimit, worst_case};
use parallel_llm_engine::value::next::{Advice, Limit, Next};
use parallel_llm_engine::{CallerSlot, Code, Failure, ModelRef, PicoUsd, RunId, RunPlan};

use crate::database::{Database, Reader};
use crate::ledger::Demanded;
use crate::row::call_row::ProviderSpend;
use crate::system::error::DatabaseError;
use crate::writer::job::Admission;

const MINUTE_MS: i64 = 60 * 1_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Spending at one provider, or at all.
#[derive(Clone, Copy, Debug, Default)]
struct DayUse {
    /// The known cost of requests.
    spent: PicoUsd,
    /// The most that requests of unknown cost can have cost; [`PicoUsd::MAX`] if nobody knows.
    unknown_max: PicoUsd,
    /// The most that requests and runs in progress may still cost.
    open: PicoUsd,
}

impl DayUse {
    fn plus(self, other: Self) -> Self {
        Self {
            spent: self.spent.plus(other.spent),
            unknown_max: self.unknown_max.plus(other.unknown_max),
            open: self.open.plus(other.open),
        }
    }

    /// Everything that counts against a limit.
    fn most(self) -> PicoUsd {
        self.spent.plus(self.unknown_max).plus(self.open)
    }

    /// The message for people: the known spending, and what may be added.
    fn description(self) -> String {
        let Self { spent, unknown_max, open } = self;
        let unknown = match unknown_max {
            PicoUsd::ZERO => String::new(),
            PicoUsd::MAX => ", the cost and the price of some calls are unknown,".to_owned(),
            most => format!(", up to {most} more by calls whose cost is unknown"),
        };
        let open = match open {
            PicoUsd::MAX => "an unknown amount".to_owned(),
            open => open.to_string(),
        };
        format!("{spent} is spent{unknown} and {open} held for runs under way")
    }
}

/// A demand on the day's limits.
struct Demand<'a> {
    plan: &'a RunPlan,
    /// Its noun in messages: `run` or `call`.
    what: &'static str,
    demanded: &'a Demanded,
    now_ms: i64,
}

/// Refuses a run, or a further part of one, that could exceed a limit.
pub(crate) fn check_run(
    reader: &Reader<'_>,
    plan: &RunPlan,
    limits: &[DayLimit],
    demanded: &Demanded,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    let demand = Demand { plan, what: "run", demanded, now_ms };
    // Several limits may concern the same runs.
    let mut use_by: BTreeMap<Option<&str>, BTreeMap<String, DayUse>> = BTreeMap::new();
    for limit in limits {
        let asked_by = limit.asked_by.as_deref();
        let taken = match use_by.entry(asked_by) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(room) => room.insert(taken(reader, plan.run_id, asked_by, now_ms)?),
        };
        if let Some(refusal) = demand.refusal(limit, taken) {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// Refuses a run that has not begun if it could exceed a limit.
pub(crate) async fn check_plan(database: &Database, plan: &RunPlan) -> Result<(), Failure> {
    let plan = plan.clone();
    let demanded = Demanded::of_run(&plan, &plan.synthesizers);
    let read =
        move |reader: &Reader<'_>| Ok(check_run(reader, &plan, &plan.limits, &demanded, reader.now_ms)?);
    database.read(read).await?
}

/// Refuses a further request of a run if the day's costs and the requests in flight, of any run, leave no room for it. Reservations
/// of other runs do not count: each of their requests is checked itself, and a run that was admitted must not fail for
/// what others might do.
pub(crate) async fn check_call(
    database: &Database,
    plan: &RunPlan,
    slot: CallerSlot,
    worst_case: Option<PicoUsd>,
) -> Result<(), Failure> {
    if plan.limits.is_empty() {
        return Ok(());
    }
    let demanded = Demanded::of_call(plan, slot, worst_case);
    let principals: Vec<Option<String>> = plan.limits.iter().map(|limit| limit.asked_by.clone()).collect();
    let read = move |reader: &Reader<'_>| {
        let now_ms = reader.now_ms;
        let spent = |name: &Option<String>| -> Result<_, DatabaseError> {
            Ok(by_provider(reader.spent(name.as_deref(), midnight_ms(now_ms))?))
        };
        Ok((now_ms, principals.iter().map(spent).collect::<Result<Vec<_>, _>>()?))
    };
    let (now_ms, taken) = database.read(read).await?;
    let demand = Demand { plan, what: "call", demanded: &demanded, now_ms };
    let refusal = plan.limits.iter().zip(&taken).find_map(|(limit, taken)| demand.refusal(limit, taken));
    refusal.map_or(Ok(()), Err)
}

impl Demand<'_> {
    /// The refusal if this limit, with this much used, has no room for the demand.
    fn refusal(&self, limit: &DayLimit, taken: &BTreeMap<String, DayUse>) -> Option<Failure> {
        let counts = |provider: &str| limit.provider.as_ref().is_none_or(|wanted| wanted.0 == provider);
        let unpriced = self.demanded.unpriced.iter().filter(|model| counts(&model.provider.0));
        let unpriced: Vec<ModelRef> = unpriced.cloned().collect();
        if !unpriced.is_empty() {
            return Some(self.unpriced(limit, &unpriced));
        }
        let counted = taken.iter().filter(|(provider, _)| counts(provider));
        let total = counted.fold(DayUse::default(), |total, (_, taken)| total.plus(*taken));
        let reservations =
            self.demanded.reservations.values().filter(|reservation| counts(&reservation.provider.0));
        let wanted: PicoUsd = reservations.map(|reservation| reservation.amount).sum();
        if total.most().plus(wanted) <= limit.usd {
            return None;
        }
        let what = self.what;
        let provider = limit.provider.as_ref();
        let mut whose = provider.map(|provider| format!(" for `{provider}`")).unwrap_or_default();
        if limit.asked_by.is_some() {
            whose.push_str(" of this token");
        }
        let message = if self.plan.asked_by.is_some() && limit.asked_by.is_none() {
            // A caller that cannot see other runs must not learn what they have spent.
            format!(
                "the {what} may cost up to {wanted}, more than the owner's limit{whose} leaves of this day"
            )
        } else {
            let taken = total.description();
            format!("the {what} may cost up to {wanted}; of the day's limit of {}{whose}, {taken}", limit.usd)
        };
        let no_limit_helps = [total.unknown_max, total.open].contains(&PicoUsd::MAX);
        let minutes = (DAY_MS - self.now_ms.rem_euclid(DAY_MS)) / MINUTE_MS;
        let raise = match limit.asked_by {
            Some(_) => Next::Do(Advice::TokenOfHigherLimit),
            None => Next::Raise(Limit::Setting { name: limit.setting.clone().into(), now: None }),
        };
        let minutes = u64::try_from(minutes).unwrap_or_default();
        let raise = Some(raise).filter(|_| !no_limit_helps);
        let next: Vec<Next> = raise.into_iter().chain([Next::WaitForNextDay { minutes }]).collect();
        Some(Failure::new(Code::Budget, message).with_next(next))
    }
}

impl Demand<'_> {
    /// The refusal for models without a known price, which no limit could hold.
    fn unpriced(&self, limit: &DayLimit, models: &[ModelRef]) -> Failure {
        let message = format!(
            "no price is known for {}, so nobody can say what the {} adds to the day's limit `{}`",
            worst_case::names(models),
            self.what,
            limit.setting
        );
        let price = models.first().map(|model| Next::GivePrice(model.to_string().into()));
        let next = price.into_iter().chain([Next::Do(Advice::AskAnotherModel)]);
        Failure::new(Code::PriceUnknown, message).with_next(next.collect::<Vec<_>>())
    }
}

/// The day's use by provider, for all runs or those of one principal. The run's own reservations are left out, since
/// they are about to be replaced.
fn taken(
    reader: &Reader<'_>,
    run_id: RunId,
    asked_by: Option<&str>,
    now_ms: i64,
) -> Result<BTreeMap<String, DayUse>, DatabaseError> {
    let day = reader.day_spend(asked_by, midnight_ms(now_ms), run_id)?;
    let mut taken = by_provider(day.spent);
    for reserved in day.reserved {
        if !reserved.ownership.is_interrupted(now_ms) {
            let entry = taken.entry(reserved.provider).or_default();
            entry.open = entry.open.plus(reserved.amount);
        }
    }
    Ok(taken)
}

/// The known and possible costs of requests, by provider.
fn by_provider(spent: Vec<ProviderSpend>) -> BTreeMap<String, DayUse> {
    let taken = |spent: ProviderSpend| {
        let taken = DayUse { spent: spent.known, unknown_max: spent.unknown_max, open: spent.under_way_max };
        (spent.provider, taken)
    };
    spent.into_iter().map(taken).collect()
}

/// The beginning of this day.
const fn midnight_ms(now_ms: i64) -> i64 {
    now_ms - now_ms.rem_euclid(DAY_MS)
}
