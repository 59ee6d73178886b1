//! How the final text was made: its kind and author, what it considered, and what fusing added.

use std::sync::Arc;

use parallel_llm_engine::run::outcome::{Round, Suspicion};
use parallel_llm_engine::{Outcome, OutcomeKind, PicoUsd, SeatNumber};
use schemars::JsonSchema;
use serde::Serialize;

/// How the final text was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Synthesis {
    /// `fused`: written by a synthesizer. `selected`: chosen among several. `verbatim`: one answer, word for word.
    /// `listed`: all answers one after the other. `none`: there is no text.
    pub kind: String,
    /// The model that wrote the text.
    pub by: Option<String>,
    /// The seats whose answers were considered.
    pub considered: Vec<u8>,
    /// Considered seats whose answers the synthesizer or judge was not shown. Only runs of older versions have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
    /// The number of the call that wrote the text or its base, if that is a later answer of a seat and not the one in
    /// `answers`; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_step: Option<u16>,
    /// Why the text was made this way.
    pub reason: String,
    /// Answers of which the reader saw only a part.
    pub shortened: Vec<ShortenedReport>,
    /// The seat whose answer was excluded because the text would have depended on it alone; else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_without: Option<u8>,
    /// Seats whose models share a vendor with a model that read the answers; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "kin")]
    pub same_vendor: Vec<u8>,
}

impl Synthesis {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let kind = match outcome.kind {
            OutcomeKind::Fused => "fused",
            OutcomeKind::Selected => "selected",
            OutcomeKind::Verbatim => "verbatim",
            OutcomeKind::Listed => "listed",
            OutcomeKind::None => "none",
        };
        let shortened = outcome.shortened.iter().map(|cut| ShortenedReport {
            seat: cut.seat.0,
            from_chars: cut.from_chars,
            to_chars: cut.to_chars,
        });
        Self {
            kind: kind.to_owned(),
            by: outcome.by.as_ref().map(ToString::to_string),
            considered: outcome.considered.iter().map(|seat| seat.0).collect(),
            unshown: outcome.unshown.iter().map(|seat| seat.0).collect(),
            base_step: outcome.base_step.map(|step| step.0),
            reason: outcome.reason.clone(),
            shortened: shortened.collect(),
            stands_without: outcome
                .leave_one_out
                .as_ref()
                .and_then(|described| described.stands_without)
                .map(|seat| seat.0),
            same_vendor: outcome.same_vendor.iter().map(|seat| seat.0).collect(),
        }
    }
}

/// A text that a better or newer one replaced.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EarlierReport {
    /// The text; null if there was none or it is not kept.
    pub answer: Option<Arc<str>>,
    /// How it was made.
    pub synthesis: Synthesis,
}

impl EarlierReport {
    pub(super) fn of(outcome: &Outcome) -> Self {
        Self { answer: outcome.text.clone(), synthesis: Synthesis::of(outcome) }
    }
}

/// An answer that was shortened, to fit its reader's context or because the reader wanted no more.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShortenedReport {
    /// The seat.
    pub seat: u8,
    /// Its full length in characters.
    pub from_chars: u64,
    /// The length shown, in characters.
    pub to_chars: u64,
}

/// What fusing added and cost.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorthReport {
    /// The seat whose answer was the synthesizer's base.
    pub base_seat: u8,
    /// The share of the final text that differs from the base: 0 the same, 1 nothing in common.
    pub edit_ratio: Option<f64>,
    /// The cost of fusing beyond the panel, in USD.
    pub extra_cost_usd: Option<f64>,
    /// The time that fusing took beyond the panel, in milliseconds.
    pub extra_ms: u64,
}

impl WorthReport {
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        outcome.worth.as_ref().map(|worth| Self {
            base_seat: worth.base_seat.0,
            edit_ratio: worth.edit_ratio,
            extra_cost_usd: worth.extra_cost.map(PicoUsd::as_usd),
            extra_ms: worth.extra_ms,
        })
    }
}

/// An answer that may have tried to instruct the model that read it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspicionReport {
    /// The seat.
    pub seat: u8,
    /// The signs: `override`, `praise`, `turn`, `fence`, `form`, `hidden`, `reordered`, `encoded`, `tool`, `verdict` or `unrendered`, found in its text;
    /// `reader`, reported by a model that read it; `decides`, the result depended on it alone.
    pub signs: Vec<String>,
}

impl SuspicionReport {
    pub(super) fn of(suspicion: &Suspicion) -> Self {
        Self {
            seat: suspicion.seat.0,
            signs: suspicion.signs.iter().map(|sign| sign.as_str().to_owned()).collect(),
        }
    }
}

/// A round in which each seat was asked again and saw the answers of the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundReport {
    /// The number of the layer, where the panel is the first.
    pub round: u16,
    /// Seats that answered again; a seat that did not keeps its earlier answer.
    pub answered: Vec<u8>,
    /// Seats among them that changed their answer.
    pub changed: Vec<u8>,
    /// Changed seats that took over the earlier majority's answer: the known way to lose a right answer.
    pub followed: Vec<u8>,
    /// Seats among `answered` for which a change cannot be determined.
    #[serde(rename = "untold")]
    pub undetermined: Vec<u8>,
    /// The size of the largest group of equal answers afterwards; 0 if it cannot be determined.
    pub equal: usize,
    /// The number of answers compared.
    pub of: usize,
    /// Seats whose earlier answer nobody was shown. Only runs of older versions have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
}

impl RoundReport {
    pub(super) fn of(round: &Round) -> Self {
        let seats = |seats: &[SeatNumber]| seats.iter().map(|seat| seat.0).collect();
        Self {
            round: round.round,
            answered: seats(&round.answered),
            changed: seats(&round.changed),
            followed: seats(&round.followed),
            undetermined: seats(&round.undetermined),
            equal: round.equal,
            of: round.of,
            unshown: seats(&round.unshown),
        }
    }
}
