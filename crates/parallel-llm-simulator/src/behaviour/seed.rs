//! Repeatable randomness: the same seed and names give the same numbers on every machine.

/// A stream of numbers derived from a seed and names.
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

    /// The next number of SplitMix64, which is good enough for words and latencies.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// A number in [0, 1).
    pub(crate) fn fraction(&mut self) -> f64 {
        const STEPS: u64 = 1 << 53;
        self.below(STEPS) as f64 / STEPS as f64
    }

    /// `count` random letters and digits.
    pub(crate) fn letters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(ALPHABET[self.below(62) as usize])).collect()
    }
}

/// The key of a simulator that was given none: well formed, and valid nowhere else.
pub(crate) fn api_key(seed: u64) -> String {
    let hash = blake3::hash(format!("simulator key {seed}").as_bytes());
    format!("sk-or-v1-{}", hash.to_hex())
}
