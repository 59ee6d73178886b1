//! Seeded randomness: the shuffles, fences and jitter of a run derive from its id and seed.
//!
//! BLAKE3's extendable output is the generator, so no further crate is needed.

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;

/// The hexadecimal digits of a code. Eight suffice, because every code is checked against the texts it fences.
const CODE_DIGITS: usize = 8;

/// The codes a prompt to this slot can have: short ones to choose from, and the long one of earlier versions. Each slot has
/// its own, because a model that saw the code of its prompt could write it into an answer that another model reads.
pub(crate) fn codes_of(plan: &RunPlan, slot: CallerSlot) -> Vec<String> {
    let long = match slot {
        // All synthesizers share one, as in the first stored runs: a resumed run must recognize its codes.
        CallerSlot::Synthesizer(_) => SeededRandom::new(plan, "synthesis").nonce(),
        _ => SeededRandom::new(plan, &format!("the code of {slot}")).nonce(),
    };
    let short = (0..long.len() / CODE_DIGITS).map(|part| &long[part * CODE_DIGITS..][..CODE_DIGITS]);
    short.map(str::to_owned).chain([long.clone()]).collect()
}

/// The code of the prompt that shows these texts to this slot: the first that occurs in none of them.
pub(crate) fn code_of(plan: &RunPlan, slot: CallerSlot, texts: &[&str]) -> String {
    let mut codes = codes_of(plan, slot);
    let is_free = |code: &String| !texts.iter().any(|text| text.contains(code.as_str()));
    let free = codes.iter().position(is_free).unwrap_or(codes.len() - 1);
    codes.swap_remove(free)
}

/// A stream of random numbers for one purpose; two purposes never share bytes.
pub(crate) struct SeededRandom(blake3::OutputReader);

impl SeededRandom {
    /// The stream of a run for `purpose`.
    pub(crate) fn new(plan: &RunPlan, purpose: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("parallel-llm-mcp 2026 chance in a run");
        hasher.update(&plan.seed.to_le_bytes());
        hasher.update(plan.run_id.to_string().as_bytes());
        hasher.update(purpose.as_bytes());
        Self(hasher.finalize_xof())
    }

    /// A number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        // The upper 53 bits, as many as a float's mantissa holds.
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sixteen bytes as lower-case hexadecimal.
    pub(crate) fn nonce(&mut self) -> String {
        format!("{:016x}{:016x}", self.word(), self.word())
    }

    /// Shuffles the items (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // For at most 64 items, the bias of the remainder is below 2⁻⁵⁷.
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
