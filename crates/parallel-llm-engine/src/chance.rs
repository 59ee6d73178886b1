//! All chance in a run, derived from its name and seed: the same plan makes the same shuffle, fences and jitter.
//!
//! Built on BLAKE3's extendable output, which needs no state and no generator crate.

use crate::place::Place;
use crate::plan::RunPlan;

/// The code of the prompt that the model of this place is sent. A model that has seen the code of its own prompt could
/// write it into one that is read by the next, so that each has another.
pub(crate) fn code_of(plan: &RunPlan, place: Place) -> String {
    match place {
        // As every synthesizer's was before there were others who read answers.
        Place::Synthesizer(_) => Chance::new(plan, "synthesis").nonce(),
        _ => Chance::new(plan, &format!("the code of {place}")).nonce(),
    }
}

/// A stream of chance for one purpose; two purposes never share bytes.
pub(crate) struct Chance(blake3::OutputReader);

impl Chance {
    /// The chance this run has for `purpose`.
    pub(crate) fn new(plan: &RunPlan, purpose: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("parallel-llm-mcp 2026 chance in a run");
        hasher.update(&plan.seed.to_le_bytes());
        hasher.update(plan.run_id.to_string().as_bytes());
        hasher.update(purpose.as_bytes());
        Self(hasher.finalize_xof())
    }

    /// A number from 0 up to, not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sixteen bytes as lower-case hexadecimal, for fences nobody can guess.
    pub(crate) fn nonce(&mut self) -> String {
        format!("{:016x}{:016x}", self.word(), self.word())
    }

    /// Puts the items in an order that says nothing about where they came from.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The bias of the remainder is below 2⁻⁵⁷ for at most 64 items.
            let chosen = usize::try_from(self.word() % (last as u64 + 1)).unwrap_or(last);
            items.swap(last, chosen);
        }
    }

    fn word(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
