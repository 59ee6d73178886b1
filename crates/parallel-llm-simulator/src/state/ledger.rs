//! The total charged, and the charge of each generation, in whole pico-dollars that add up exactly.

use std::collections::VecDeque;

use super::catalogue::Rate;

/// Most charges kept for `/generation`; the oldest is dropped first.
const CHARGES_MAX: usize = 100_000;

/// A snapshot of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerView {
    /// Everything charged since the start, in pico-dollars.
    pub charged_pico_usd: i64,
    /// The charges still kept, oldest first.
    pub charges: Vec<Charge>,
}

impl LedgerView {
    /// The charge for one generation.
    pub fn charge(&self, generation_id: &str) -> Option<&Charge> {
        self.charges.iter().find(|charge| charge.generation_id == generation_id)
    }
}

/// The charge for one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The `id` of the reply.
    pub generation_id: String,
    /// The slug that answered.
    pub model: String,
    /// The provider that answered.
    pub provider: String,
    /// Tokens billed as prompt.
    pub prompt_tokens: u64,
    /// Tokens billed as completion, reasoning included.
    pub completion_tokens: u64,
    /// The charge, in pico-dollars.
    pub cost_pico_usd: i64,
    /// Whether the client hung up before the end.
    pub cancelled: bool,
    /// Whether the reply was streamed.
    pub streamed: bool,
    /// Why the model stopped; `None` if the reply broke off.
    pub finish_reason: Option<String>,
    /// The provider's own finish reason.
    pub native_finish_reason: Option<String>,
    /// When the reply ended, in microseconds since the simulator started.
    pub ended_us: u64,
}

/// The price of a complete reply, and the rules for charging a part.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    pub(crate) generation_id: String,
    pub(crate) model: String,
    pub(crate) provider: &'static str,
    pub(crate) rate: Rate,
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    /// Whether a client that hangs up pays only for the tokens sent.
    pub(crate) stops_billing: bool,
    pub(crate) streamed: bool,
    pub(crate) finish: &'static str,
    pub(crate) native_finish: String,
    /// Whether the reply breaks off, so that a clean end of the body is not the end of the answer.
    pub(crate) breaks: bool,
}

/// How a reply ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) tokens_sent: u64,
    pub(crate) complete: bool,
    pub(crate) cancelled: bool,
    pub(crate) at_us: u64,
}

impl Bill {
    /// A client that hangs up pays for the whole answer, unless it was a stream from a provider that stops billing. A
    /// reply that broke before its first token is free.
    fn charge(self, ending: Ending) -> Charge {
        let sent = ending.tokens_sent.min(self.completion_tokens);
        let goes_on = ending.cancelled && !(self.streamed && self.stops_billing);
        let whole = (ending.complete && !self.breaks) || goes_on;
        let completion_tokens = if whole { self.completion_tokens } else { sent };
        let insured = !whole && completion_tokens == 0;
        let prompt_tokens = if insured { 0 } else { self.prompt_tokens };
        Charge {
            cost_pico_usd: cost_pico(self.rate, prompt_tokens, completion_tokens),
            generation_id: self.generation_id,
            model: self.model,
            provider: self.provider.to_owned(),
            prompt_tokens,
            completion_tokens,
            cancelled: ending.cancelled,
            streamed: self.streamed,
            finish_reason: whole.then(|| self.finish.to_owned()),
            native_finish_reason: whole.then_some(self.native_finish),
            ended_us: ending.at_us,
        }
    }
}

/// The exact cost of these tokens.
pub(crate) fn cost_pico(rate: Rate, prompt_tokens: u64, completion_tokens: u64) -> i64 {
    let cost = |pico: i64, tokens: u64| pico.saturating_mul(i64::try_from(tokens).unwrap_or(i64::MAX));
    cost(rate.prompt_pico, prompt_tokens).saturating_add(cost(rate.completion_pico, completion_tokens))
}

/// The ledger of the account.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    charged_pico: i64,
    charges: VecDeque<Charge>,
}

impl Ledger {
    pub(crate) fn charged_pico(&self) -> i64 {
        self.charged_pico
    }

    /// Charges a reply that has ended.
    pub(crate) fn charge(&mut self, bill: Bill, ending: Ending) {
        let charge = bill.charge(ending);
        self.charged_pico += charge.cost_pico_usd;
        if self.charges.len() == CHARGES_MAX {
            self.charges.pop_front();
        }
        self.charges.push_back(charge);
    }

    pub(crate) fn find(&self, generation_id: &str) -> Option<&Charge> {
        self.charges.iter().rev().find(|charge| charge.generation_id == generation_id)
    }

    pub(crate) fn view(&self) -> LedgerView {
        LedgerView { charged_pico_usd: self.charged_pico, charges: self.charges.iter().cloned().collect() }
    }
}
