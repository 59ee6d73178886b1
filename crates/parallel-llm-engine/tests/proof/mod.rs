//! Proofs: known results about panels, compared with runs of the whole engine.
//!
//! Questions are drawn from a panel with known parameters ([`panel`]), written as models write ([`writing`]), and
//! asked of the engine like any other. The results of thousands of runs are compared with calculations for the same
//! panel, and the calculations with published figures ([`golden`]). None of this says anything about real models: it
//! says that the engine does what its strategies promise.
//!
//! | result | shown in |
//! |---|---|
//! | more models are better if they are mostly right and independent | [`plurality`] |
//! | more models are worse if they are mostly wrong in the same way | [`plurality`] |
//! | models with identical errors are worth one | [`plurality`] |
//! | a vote is never right if no model is | [`plurality`] |
//! | shuffle, names, times and order do not matter; position bias cancels out if a judge sees both orders |
//! [`invariance`] |
//! | copies of a model add no votes | [`copies`] |
//! | weighted votes follow the rule of Bayes if errors are independent | [`weights`] |
//! | no rule waits past the deadline; decision times are those of order statistics | [`waiting`] |
//! | the cost of a run is what its calls used, however they ended | [`cost`] |
//! | no answer leaves its block | `src/prompt/mod.rs`, `tests/hostile.rs` |
//! | equal answers are read by no model | [`savings`] |
//! | if every synthesizer fails, the closest answer is returned and labelled as such | [`fallback`] |
//!
//! Figures: panels in [`golden`], savings by escalation and by the gate in [`savings`], costs of strategies in
//! [`multiple`], break-even judges in [`judge`].

#![allow(clippy::print_stdout, reason = "prints what was measured next to what was calculated")]

mod copies;
mod cost;
mod fallback;
mod flow;
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

/// The default number of questions for each panel: some thousands in total, within seconds, unoptimized.
const QUESTIONS: usize = 200;
/// The environment variable that sets another number of questions.
const QUESTIONS_VARIABLE: &str = "PROOF_ITEMS";
/// The largest deviation of a measured share from the calculated one, in standard errors. By chance one share in
/// 16,000 deviates more, and all randomness here is seeded.
const DEVIATIONS_MAX: f64 = 4.0;

/// The number of questions for each panel.
fn question_count() -> usize {
    #[allow(
        clippy::disallowed_methods,
        reason = "the number of questions can only be set through the environment"
    )]
    let wanted = std::env::var(QUESTIONS_VARIABLE).ok();
    wanted.map_or(QUESTIONS, |wanted| wanted.parse().expect("the number of questions is a whole number"))
}

/// Asserts that a measured share matches the expected one.
fn check_share(what: &str, (times, of): (usize, usize), expected: f64) {
    let share = times as f64 / of as f64;
    let error = (expected * (1.0 - expected) / of as f64).sqrt();
    let off = (share - expected).abs();
    println!("{what}: {share:.4} of {of}, expected {expected:.4} ± {error:.4}");
    // An expected share of 0 or 1 has no standard error, only that of the calculation.
    assert!(off <= DEVIATIONS_MAX * error + 1e-9, "{what}: {share} is not {expected}");
}
