//! Repeatable choices: the same seed and the same names give the same draws, on every machine.
//!
//! It knows nothing of what is chosen.

/// A stream of numbers that follows from a seed and some names.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64, names: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        for name in names {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        let mut word = [0; 8];
        hasher.finalize_xof().fill(&mut word);
        Self(u64::from_le_bytes(word))
    }

    /// The next number: SplitMix64, which is enough for choosing words and latencies.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// A number from 0 up to, but not, 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        const STEPS: u64 = 1 << 53;
        self.below(STEPS) as f64 / STEPS as f64
    }

    /// `count` letters and digits, as in a generation's id.
    pub(crate) fn letters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(ALPHABET[self.below(62) as usize])).collect()
    }
}

/// The key a simulator accepts when none was given: well formed, and worth nothing anywhere else.
pub(crate) fn api_key(seed: u64) -> String {
    let hash = blake3::hash(format!("simulator key {seed}").as_bytes());
    format!("sk-or-v1-{}", hash.to_hex())
}
