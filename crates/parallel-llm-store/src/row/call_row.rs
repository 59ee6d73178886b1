//! A ledger row: one request, its end and its cost.
//!
//! Its columns become known at different times, so each group has a checksum of its own.

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{PicoUsd, Usage};

use super::checksum::Checksum;
use super::event_row::slot_json;
use super::integer;
use super::ownership::Ownership;

/// The key of a call.
#[derive(Clone, Debug)]
pub(crate) struct CallKey {
    pub(crate) run_id: String,
    /// The caller's slot in JSON.
    pub(crate) slot: String,
    pub(crate) attempt: u32,
}

/// The columns known when the request is sent.
#[derive(Clone, Debug)]
pub(crate) struct SentCall {
    pub(crate) key: CallKey,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) sent_at_ms: i64,
    pub(crate) asked_by: Option<String>,
    /// The most it can cost; `None` if the price is unknown.
    pub(crate) worst_pico_usd: Option<i64>,
}

/// How the request ended.
#[derive(Clone, Debug)]
pub(crate) struct CallEnd {
    pub(crate) ended_at_ms: Option<i64>,
    pub(crate) outcome: String,
    pub(crate) code: Option<String>,
}

/// The cost of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallSpend {
    pub(crate) cost_pico_usd: Option<i64>,
    pub(crate) cost_is_estimate: bool,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) reasoning_tokens: Option<i64>,
    pub(crate) cached_tokens: Option<i64>,
}

/// The news about a request in flight.
#[derive(Clone, Debug)]
pub(crate) struct HeardCall {
    pub(crate) key: CallKey,
    pub(crate) end: CallEnd,
    pub(crate) spend: CallSpend,
    pub(crate) generation_id: Option<String>,
    /// From sending to the first text or reasoning.
    pub(crate) first_token: FirstToken,
}

/// When the first text or reasoning of a request came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FirstToken {
    /// From sending, in milliseconds; `None` if nothing came, or if nobody knows.
    pub(crate) ms: Option<i64>,
}

/// The cost of a request that its provider reported later.
#[derive(Clone, Debug)]
pub(crate) struct ReconciledCall {
    pub(crate) key: CallKey,
    pub(crate) spend: CallSpend,
}

/// A row as read from the database, with the checksums of its groups.
#[derive(Debug)]
pub(crate) struct StoredCall {
    pub(crate) sent: SentCall,
    pub(crate) sent_checksum: Option<i64>,
    pub(crate) end: CallEnd,
    pub(crate) end_checksum: Option<i64>,
    pub(crate) spend: CallSpend,
    pub(crate) spend_checksum: Option<i64>,
    pub(crate) first_token: FirstToken,
    pub(crate) first_token_checksum: Option<i64>,
}

impl StoredCall {
    /// Whether every group matches its checksum. A request without an end has empty later groups without checksums. Rows of
    /// older versions have no checksums at all.
    pub(crate) fn is_sound(&self) -> bool {
        let key = &self.sent.key;
        let is_new = self.sent_checksum.is_some();
        let is_end_sound = if self.end_checksum.is_none() && is_new {
            let is_open = ["sent", "unknown"].contains(&&*self.end.outcome);
            is_open && self.end.ended_at_ms.is_none() && self.end.code.is_none()
        } else {
            self.end.checksum(key).matches(self.end_checksum)
        };
        let is_spend_sound = if self.spend_checksum.is_none() && is_new {
            self.spend == CallSpend::default()
        } else {
            self.spend.checksum(key).matches(self.spend_checksum)
        };
        // Null for an unknown time, and for one that a migration took from the run's events.
        let is_first_token_sound = self.first_token.checksum(key).matches(self.first_token_checksum);
        self.sent.checksum().matches(self.sent_checksum)
            && is_end_sound
            && is_spend_sound
            && is_first_token_sound
    }
}

/// Known and possible costs of requests to one provider.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSpend {
    pub(crate) provider: String,
    /// The known cost of ended requests.
    pub(crate) known: PicoUsd,
    /// The most that the other ended requests can have cost.
    pub(crate) unknown_max: PicoUsd,
    /// The most that requests in flight can cost.
    pub(crate) under_way_max: PicoUsd,
}

/// The money of a day as of one moment: none is missed or counted twice on its way from a reservation to a request.
#[derive(Debug)]
pub(crate) struct DaySpend {
    /// Costs of requests, by provider.
    pub(crate) spent: Vec<ProviderSpend>,
    /// Reservations for later requests, by owner and provider.
    pub(crate) reserved: Vec<ReservedSum>,
}

/// The reservations of one process's runs at one provider.
#[derive(Clone, Debug)]
pub(crate) struct ReservedSum {
    pub(crate) ownership: Ownership,
    pub(crate) provider: String,
    pub(crate) amount: PicoUsd,
}

impl CallKey {
    pub(crate) fn of(run_id: &str, attempt: Attempt) -> Self {
        Self { run_id: run_id.to_owned(), slot: slot_json(attempt.slot), attempt: attempt.number }
    }

    /// The start of the checksum of a column group.
    fn checksum(&self, group: &str) -> Checksum {
        let sum = Checksum::of(group).text(Some(&self.run_id)).text(Some(&self.slot));
        sum.number(Some(self.attempt.into()))
    }
}

impl SentCall {
    pub(crate) fn checksum(&self) -> Checksum {
        let sum = self.key.checksum("calls: sent").text(Some(&self.provider)).text(Some(&self.model));
        let sum = sum.number(Some(self.sent_at_ms)).text(self.asked_by.as_deref());
        sum.number(self.worst_pico_usd)
    }
}

impl CallEnd {
    pub(crate) fn checksum(&self, key: &CallKey) -> Checksum {
        let sum = key.checksum("calls: end").number(self.ended_at_ms);
        sum.text(Some(&self.outcome)).text(self.code.as_deref())
    }
}

impl FirstToken {
    pub(crate) fn checksum(self, key: &CallKey) -> Checksum {
        key.checksum("calls: first token").number(self.ms)
    }
}

impl CallSpend {
    pub(crate) fn of(cost: Option<PicoUsd>, cost_is_estimate: bool, usage: &Usage) -> Self {
        Self {
            cost_pico_usd: cost.map(|cost| cost.0),
            cost_is_estimate,
            input_tokens: usage.input_tokens.map(integer),
            output_tokens: usage.output_tokens.map(integer),
            reasoning_tokens: usage.reasoning_tokens.map(integer),
            cached_tokens: usage.cached_tokens.map(integer),
        }
    }

    pub(crate) fn checksum(&self, key: &CallKey) -> Checksum {
        let sum = key.checksum("calls: spend").number(self.cost_pico_usd);
        let sum = sum.number(Some(self.cost_is_estimate.into()));
        let sum = sum.number(self.input_tokens).number(self.output_tokens);
        sum.number(self.reasoning_tokens).number(self.cached_tokens)
    }
}
