//! Random numbers that can be repeated: SplitMix64, whose whole state is one number.

use std::f64::consts::TAU;

/// A stream of random numbers.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number from 0 up to, but not including, 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 up to, but not including, `most`.
    pub(super) fn below(&mut self, most: usize) -> usize {
        let most = u64::try_from(most).expect("it is small");
        usize::try_from(self.word() % most).expect("it is small")
    }

    /// True with the probability `chance`.
    pub(super) fn chance(&mut self, chance: f64) -> bool {
        self.unit() < chance
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A number from the standard normal distribution.
    pub(super) fn normal(&mut self) -> f64 {
        let (one, two) = (1.0 - self.unit(), self.unit());
        (-2.0 * one.ln()).sqrt() * (TAU * two).cos()
    }
}
