//! The proofs: what is known of panels by calculation, run through the whole engine.
//!
//! Questions are drawn from a panel with known dials ([`panel`]), written out as models write ([`writing`]), and asked of
//! the engine like any other. What comes of thousands of runs is held against what the same panel comes to by
//! calculation; the calculation is held against published figures ([`golden`]). Nothing here says anything of real
//! models: it says that the engine does what its strategies promise.

#![allow(clippy::print_stdout, reason = "what was measured is told beside what was calculated")]

mod cost;
mod draw;
mod exit;
mod fallback;
mod golden;
mod invariance;
mod normal;
mod panel;
mod plurality;
mod stage;
mod waiting;
mod weights;
mod writing;

/// Questions asked of each panel by default: some thousands together, in seconds, unoptimized.
const ITEMS: usize = 200;
/// Asks for another number of questions.
const ITEMS_WANTED: &str = "PROOF_ITEMS";
/// How far a measured share may be from the calculated one, in standard errors. By chance alone one in 16,000 is further
/// off, and all chance here can be repeated.
const DEVIATIONS_MAX: f64 = 4.0;

/// Questions asked of each panel.
fn items() -> usize {
    #[allow(clippy::disallowed_methods, reason = "whoever wants more questions has no other way to say so")]
    let wanted = std::env::var(ITEMS_WANTED).ok();
    wanted.map_or(ITEMS, |wanted| wanted.parse().expect("the number of questions is a whole number"))
}

/// Holds a share that was measured against the one that is expected.
fn measured(what: &str, (times, of): (usize, usize), expected: f64) {
    let share = times as f64 / of as f64;
    let error = (expected * (1.0 - expected) / of as f64).sqrt();
    let off = (share - expected).abs();
    println!("{what}: {share:.4} of {of}, expected {expected:.4} ± {error:.4}");
    // What is expected to the last one has no error but that of the calculation.
    assert!(off <= DEVIATIONS_MAX * error + 1e-9, "{what}: {share} is not {expected}");
}
