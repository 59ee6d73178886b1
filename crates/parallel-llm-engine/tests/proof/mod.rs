//! The proofs: what is known of panels by calculation, run through the whole engine.
//!
//! Questions are drawn from a panel with known parameters ([`panel`]), written out as models write ([`writing`]), and asked of
//! the engine like any other. What comes of thousands of runs is held against what the same panel comes to by
//! calculation; the calculation is held against published figures ([`golden`]). Nothing here says anything of real
//! models: it says that the engine does what its strategies promise.
//!
//! | what always holds of panels and of the engine | shown in |
//! |---|---|
//! | models that are mostly right and err alone are better the more there are | [`plurality`] |
//! | models that are mostly wrong in the same way are worse the more there are | [`plurality`] |
//! | models that err as one are worth one | [`plurality`] |
//! | a vote is right no more often than any of the panel | [`plurality`] |
//! | neither shuffle, names, times nor order decide; a judge's bias for a place does not where it sees both orders | [`invariance`] |
//! | copies of a model add no vote | [`copies`] |
//! | weights are the rule of Bayes where models err alone | [`weights`] |
//! | nobody waits past the deadline; moments are those of order statistics | [`waiting`] |
//! | what a run costs is what its calls used, whatever became of them | [`cost`] |
//! | no answer leaves its block | `src/prompt.rs`, `tests/hostile.rs` |
//! | where all say the same nobody reads them | [`savings`] |
//! | where nobody can fuse the closest answer stands and is called so | [`fallback`] |
//!
//! Figures: what panels come to in [`golden`], what two waves and the gate spare in [`savings`], what a strategy costs in
//! [`multiple`], how good a judge must be in [`judge`].

#![allow(clippy::print_stdout, reason = "what was measured is told beside what was calculated")]

mod copies;
mod cost;
mod fallback;
mod golden;
mod invariance;
mod item;
mod judge;
mod multiple;
mod normal;
mod panel;
mod plurality;
mod rng;
mod savings;
mod waiting;
mod weights;
mod writing;

/// Questions asked of each panel by default: some thousands together, in seconds, unoptimized.
const QUESTIONS: usize = 200;
/// Asks for another number of questions.
const QUESTIONS_VARIABLE: &str = "PROOF_ITEMS";
/// How far a measured share may be from the calculated one, in standard errors. By chance alone one in 16,000 is further
/// off, and all chance here can be repeated.
const DEVIATIONS_MAX: f64 = 4.0;

/// Questions asked of each panel.
fn question_count() -> usize {
    #[allow(clippy::disallowed_methods, reason = "whoever wants more questions has no other way to say so")]
    let wanted = std::env::var(QUESTIONS_VARIABLE).ok();
    wanted.map_or(QUESTIONS, |wanted| wanted.parse().expect("the number of questions is a whole number"))
}

/// Holds a share that was measured against the one that is expected.
fn check_share(what: &str, (times, of): (usize, usize), expected: f64) {
    let share = times as f64 / of as f64;
    let error = (expected * (1.0 - expected) / of as f64).sqrt();
    let off = (share - expected).abs();
    println!("{what}: {share:.4} of {of}, expected {expected:.4} ± {error:.4}");
    // What is expected to the last one has no error but that of the calculation.
    assert!(off <= DEVIATIONS_MAX * error + 1e-9, "{what}: {share} is not {expected}");
}
