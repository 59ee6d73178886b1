//! All chance in a run, derived from its name and seed: the same plan makes the same shuffle, fences and jitter.
//!
//! Built on BLAKE3's extendable output, which needs no state and no generator crate.

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;

/// The digits of a code. That no text holds it is looked at, so it need not be beyond all guessing.
const CODE_DIGITS: usize = 8;

/// The codes that a prompt to the model of this place can carry: those to choose from, and the longer one of versions before
/// these. A model that has seen the code of its own prompt could write it into one that is read by the next, so that each
/// place has others.
pub(crate) fn codes_of(plan: &RunPlan, slot: CallerSlot) -> Vec<String> {
    let long = match slot {
        // As every synthesizer's was before there were others who read answers.
        CallerSlot::Synthesizer(_) => SeededRandom::new(plan, "synthesis").nonce(),
        _ => SeededRandom::new(plan, &format!("the code of {slot}")).nonce(),
    };
    let short = (0..long.len() / CODE_DIGITS).map(|part| &long[part * CODE_DIGITS..][..CODE_DIGITS]);
    short.map(str::to_owned).chain([long.clone()]).collect()
}

/// The code of the prompt in which the model of this place is shown these texts: the first that none of them holds.
pub(crate) fn code_of(plan: &RunPlan, slot: CallerSlot, texts: &[&str]) -> String {
    let mut codes = codes_of(plan, slot);
    let is_free = |code: &String| !texts.iter().any(|text| text.contains(code.as_str()));
    let free = codes.iter().position(is_free).unwrap_or(codes.len() - 1);
    codes.swap_remove(free)
}

/// A stream of chance for one purpose; two purposes never share bytes.
pub(crate) struct SeededRandom(blake3::OutputReader);

impl SeededRandom {
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
