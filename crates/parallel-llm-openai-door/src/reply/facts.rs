//! What an answer says beside its text: the tokens of all calls together, the cost, and who is missing.

use parallel_llm_service::report::{ErrorReport, Report, UsageReport};
use schemars::JsonSchema;
use serde::Serialize;

/// What this program adds to an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Facts {
    /// The run, by which every other door finds it.
    pub(crate) run_id: String,
    /// `complete`: every model gave a whole answer. `partial`: some did not.
    pub(crate) status: String,
    /// How the text came about: `fused`, `selected`, `verbatim` or `listed`.
    pub(crate) synthesis: Option<String>,
    /// The model that wrote the text.
    pub(crate) by: Option<String>,
    /// The cost of all calls in USD; null if it is unknown.
    pub(crate) cost_usd: Option<f64>,
    /// Whether a part of the cost is computed from prices or unknown.
    pub(crate) cost_is_estimate: bool,
    /// Whether the tokens of a call are unknown, so that their sum is a lower bound.
    pub(crate) usage_lacks_calls: bool,
    /// Milliseconds from the start to the answer.
    pub(crate) elapsed_ms: u64,
    /// The models that gave no answer, each with the code of the reason.
    pub(crate) missing: Vec<Missing>,
    /// What to know before relying on the text.
    pub(crate) warnings: Vec<Remark>,
}

/// A model without an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Missing {
    /// The model.
    model: String,
    /// What became of it: `waiting`, `streaming`, `cut`, `failed`, `refused`, `cancelled`, `skipped` or `unknown`.
    status: String,
    /// The code of the reason.
    code: Option<String>,
}

/// A warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Remark {
    /// The stable code.
    code: String,
    /// What happened, and what to do next.
    message: String,
}

/// The tokens of all calls together, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    input: u64,
    output: u64,
    reasoning: u64,
    cached: u64,
    /// Whether a call that was made reported none.
    lacks_calls: bool,
}

/// Tokens in the words of chat completions.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct ChatUsage {
    /// Tokens sent to all models.
    prompt_tokens: u64,
    /// Tokens received from all, reasoning included.
    completion_tokens: u64,
    /// Both together.
    total_tokens: u64,
    /// Of those sent.
    prompt_tokens_details: InputDetails,
    /// Of those received.
    completion_tokens_details: OutputDetails,
    /// The cost of all calls in USD; null if it is unknown.
    cost: Option<f64>,
}

/// Tokens in the words of responses.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct ResponseUsage {
    /// Tokens sent to all models.
    input_tokens: u64,
    /// Of these.
    input_tokens_details: InputDetails,
    /// Tokens received from all, reasoning included.
    output_tokens: u64,
    /// Of these.
    output_tokens_details: OutputDetails,
    /// Both together.
    total_tokens: u64,
}

/// Tokens sent.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct InputDetails {
    /// Read from a provider's cache.
    cached_tokens: u64,
}

/// Tokens received.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct OutputDetails {
    /// Of hidden reasoning.
    reasoning_tokens: u64,
}

impl Facts {
    /// The facts of a report, whose tokens have this sum.
    pub(super) fn of(report: &Report, usage: Usage) -> Self {
        let missing = report.seats(&report.seats_missing).map(|seat| Missing {
            model: seat.who(),
            status: seat.status.clone(),
            code: seat.error.as_ref().map(|error| error.code.clone()),
        });
        Self {
            run_id: report.run_id.clone(),
            status: report.status.clone(),
            synthesis: report.synthesis.as_ref().map(|synthesis| synthesis.kind.clone()),
            by: report.synthesis.as_ref().and_then(|synthesis| synthesis.by.clone()),
            cost_usd: report.cost_usd,
            cost_is_estimate: report.cost_is_estimate,
            usage_lacks_calls: usage.lacks_calls,
            elapsed_ms: report.elapsed_ms,
            missing: missing.collect(),
            warnings: report.warnings.iter().map(Remark::of).collect(),
        }
    }
}

impl Remark {
    fn of(error: &ErrorReport) -> Self {
        Self { code: error.code.clone(), message: format!("{}: {}", error.message, error.next) }
    }
}

impl Usage {
    /// This sum; `None` if no call reported any tokens, which is not the same as zero.
    pub(super) fn known(self) -> Option<Self> {
        (self != Self { lacks_calls: self.lacks_calls, ..Self::default() }).then_some(self)
    }

    /// The tokens of all calls of a run.
    pub(super) fn sum(report: &Report) -> Self {
        let seats = report.answers.iter().map(|seat| (&seat.usage, seat.attempts));
        let calls = report.calls.iter().map(|call| (&call.usage, call.attempts));
        let mut sum = Self::default();
        for (usage, attempts) in seats.chain(calls) {
            sum.add(usage, attempts);
        }
        sum
    }

    fn add(&mut self, usage: &UsageReport, attempts: u32) {
        self.input += usage.input_tokens.unwrap_or_default();
        self.output += usage.output_tokens.unwrap_or_default();
        self.reasoning += usage.reasoning_tokens.unwrap_or_default();
        self.cached += usage.cached_tokens.unwrap_or_default();
        self.lacks_calls |= attempts > 0 && (usage.input_tokens.is_none() || usage.output_tokens.is_none());
    }

    const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    const fn input_details(self) -> InputDetails {
        InputDetails { cached_tokens: self.cached }
    }

    const fn output_details(self) -> OutputDetails {
        OutputDetails { reasoning_tokens: self.reasoning }
    }

    /// In the words of chat completions.
    pub(crate) const fn chat(self, cost: Option<f64>) -> ChatUsage {
        ChatUsage {
            prompt_tokens: self.input,
            completion_tokens: self.output,
            total_tokens: self.total(),
            prompt_tokens_details: self.input_details(),
            completion_tokens_details: self.output_details(),
            cost,
        }
    }

    /// In the words of responses.
    pub(crate) const fn response(self) -> ResponseUsage {
        ResponseUsage {
            input_tokens: self.input,
            input_tokens_details: self.input_details(),
            output_tokens: self.output,
            output_tokens_details: self.output_details(),
            total_tokens: self.total(),
        }
    }
}
