//! A panel of models with correlated errors. Each question has a hidden difficulty that all models share. A model is
//! right if the weighted sum of difficulty and its own luck stays below a limit set by its accuracy. A wrong model
//! gives either the popular wrong answer of the question or any wrong answer.
//!
//! Means over all questions are computed exactly: over all combinations of answers, weighted by their probability,
//! and over the difficulty by quadrature.

use crate::proof::normal;
use crate::proof::rng::Rng;

/// The answer of a model to a question, as an index.
pub(super) type Choice = usize;
/// The right answer. All others are wrong: first the popular one, then the rest.
pub(super) const RIGHT: Choice = 0;
pub(super) const POPULAR: Choice = 1;
/// An answer that cannot be read.
pub(super) const NOTHING: Choice = usize::MAX;

/// How the answers of a panel correlate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// The correlation of being right between two models with the accuracy of the first one.
    pub(super) errors: f64,
    /// How often two wrong models give the same answer.
    pub(super) same_wrong: f64,
    /// The number of possible answers.
    pub(super) options: usize,
}

impl Parameters {
    /// Models with independent errors.
    pub(super) const fn independent(options: usize) -> Self {
        Self { errors: 0.0, same_wrong: 1.0 / (options - 1) as f64, options }
    }

    /// The values of five flagship models of five labs on MMLU.
    pub(super) const CALIBRATED: Self = Self { errors: 0.534, same_wrong: 0.766, options: 4 };

    /// How often a wrong model gives the popular wrong answer. Otherwise it gives any wrong answer, which may be the
    /// popular one.
    fn follows(&self) -> f64 {
        let wrong = (self.options - 1) as f64;
        if self.options == 2 {
            return 1.0;
        }
        ((self.same_wrong - 1.0 / wrong) / (1.0 - 1.0 / wrong)).max(0.0).sqrt()
    }
}

#[derive(Clone, Copy, Debug)]
struct Member {
    accuracy: f64,
    follows: f64,
}

/// Models that are asked together.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    members: Vec<Member>,
    options: usize,
    /// The share of the difficulty in what decides.
    shared: f64,
    /// How often an answer cannot be read.
    unreadable: f64,
}

impl Panel {
    /// A panel of models with these accuracies.
    pub(super) fn of(accuracies: &[f64], parameters: Parameters) -> Self {
        let follows = parameters.follows();
        let members = accuracies.iter().map(|accuracy| Member { accuracy: *accuracy, follows }).collect();
        let shared = match parameters.errors {
            errors if errors <= 0.0 => 0.0,
            errors if errors >= 1.0 => 1.0,
            errors => normal::solve((0.0, 0.999), |shared| correlation(accuracies[0], shared) - errors),
        };
        Self { members, options: parameters.options, shared, unreadable: 0.0 }
    }

    /// A panel of `count` models with the same accuracy.
    pub(super) fn of_equals(count: usize, accuracy: f64, parameters: Parameters) -> Self {
        Self::of(&vec![accuracy; count], parameters)
    }

    /// The same panel with this share of unreadable answers.
    pub(super) fn unreadable(self, share: f64) -> Self {
        Self { unreadable: share, ..self }
    }

    /// The same panel with one more model, which always gives the popular wrong answer.
    pub(super) fn with_adversary(mut self) -> Self {
        self.members.push(Member { accuracy: 0.0, follows: 1.0 });
        self
    }

    pub(super) fn options(&self) -> usize {
        self.options
    }

    /// The answers of all models to one random question.
    pub(super) fn answer(&self, rng: &mut Rng) -> Vec<Choice> {
        let difficulty = rng.normal();
        let answer = |member: &Member| {
            let luck = rng.normal();
            if rng.chance(self.unreadable) {
                return NOTHING;
            }
            let felt = self.shared.sqrt() * difficulty + (1.0 - self.shared).sqrt() * luck;
            if normal::below(felt) < member.accuracy {
                RIGHT
            } else if rng.chance(member.follows) {
                POPULAR
            } else {
                1 + rng.below(self.options - 1)
            }
        };
        self.members.iter().map(answer).collect()
    }

    /// The mean of a function of the answers, over all questions.
    pub(super) fn mean(&self, of: impl Fn(&[Choice]) -> f64) -> f64 {
        let points = if self.shared > 0.0 { normal::QUADRATURE.clone() } else { vec![(0.0, 1.0)] };
        let right = |member: &Member| {
            let limit = normal::quantile(member.accuracy);
            points.iter().map(|(difficulty, _)| accuracy_at(limit, self.shared, *difficulty)).collect()
        };
        let right: Vec<Vec<f64>> = self.members.iter().map(right).collect();
        let mut enumeration = Enumeration { panel: self, right, choices: Vec::new(), sum: 0.0, of: &of };
        enumeration.extend(0, &points.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
        enumeration.sum
    }
}

/// How often a model is right on questions of one difficulty.
fn accuracy_at(limit: f64, shared: f64, difficulty: f64) -> f64 {
    normal::below((limit - shared.sqrt() * difficulty) / (1.0 - shared).max(1e-12).sqrt())
}

/// The correlation of being right between two models of the same accuracy.
fn correlation(accuracy: f64, shared: f64) -> f64 {
    let limit = normal::quantile(accuracy);
    let both = normal::QUADRATURE
        .iter()
        .map(|(at, weight)| weight * accuracy_at(limit, shared, *at).powi(2))
        .sum::<f64>();
    (both - accuracy * accuracy) / (accuracy * (1.0 - accuracy))
}

/// Enumerates all combinations of answers, one model after the other. Unpopular wrong answers differ only in the
/// order in which they first occur, so combinations that only rename them are counted together.
struct Enumeration<'a, F: Fn(&[Choice]) -> f64> {
    panel: &'a Panel,
    right: Vec<Vec<f64>>,
    choices: Vec<Choice>,
    sum: f64,
    of: &'a F,
}

impl<F: Fn(&[Choice]) -> f64> Enumeration<'_, F> {
    /// `others` is the number of distinct unpopular wrong answers so far, and `mass` the probability of these answers
    /// at each difficulty.
    fn extend(&mut self, others: usize, mass: &[f64]) {
        let index = self.choices.len();
        let Some(member) = self.panel.members.get(index).copied() else {
            self.sum += mass.iter().sum::<f64>() * (self.of)(&self.choices);
            return;
        };
        let heard = 1.0 - self.panel.unreadable;
        let right = self.right[index].clone();
        let any = (1.0 - member.follows) / (self.panel.options - 1) as f64;
        self.branch(RIGHT, others, &scaled(mass, |at| heard * right[at]));
        let wrong = scaled(mass, |at| heard * (1.0 - right[at]));
        self.branch(POPULAR, others, &scaled(&wrong, |_| member.follows + any));
        for other in 0..others {
            self.branch(2 + other, others, &scaled(&wrong, |_| any));
        }
        let left = self.panel.options.saturating_sub(2 + others) as f64;
        self.branch(2 + others, others + 1, &scaled(&wrong, |_| any * left));
        self.branch(NOTHING, others, &scaled(mass, |_| self.panel.unreadable));
    }

    fn branch(&mut self, choice: Choice, others: usize, mass: &[f64]) {
        if mass.iter().all(|mass| *mass == 0.0) {
            return;
        }
        self.choices.push(choice);
        self.extend(others, mass);
        self.choices.pop();
    }
}

fn scaled(mass: &[f64], by: impl Fn(usize) -> f64) -> Vec<f64> {
    mass.iter().enumerate().map(|(at, mass)| mass * by(at)).collect()
}

/// How a tie is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// Each of the tied answers equally often.
    Fair,
    /// By the first model, as votes do.
    First,
    /// The same, also if no two models agree: in a panel sorted by strength, the strongest.
    Strongest,
}

/// The size of the largest group of equal answers.
pub(super) fn most(choices: &[Choice]) -> usize {
    choices.iter().map(|one| votes(choices, *one)).max().unwrap_or(0)
}

fn votes(choices: &[Choice], what: Choice) -> usize {
    if what == NOTHING { 0 } else { choices.iter().filter(|one| **one == what).count() }
}

/// How often the plurality is right. If no two models agree, a vote picks any of the answers, depending on their
/// wording.
pub(super) fn plurality(choices: &[Choice], tie: Tie) -> f64 {
    let most = most(choices);
    let mut level: Vec<Choice> = choices.iter().copied().filter(|one| votes(choices, *one) == most).collect();
    if tie == Tie::Strongest || (tie == Tie::First && most > 1) {
        level.truncate(1);
    }
    level.iter().filter(|one| **one == RIGHT).count() as f64 / level.len() as f64
}

/// Whether any model is right.
pub(super) fn oracle(choices: &[Choice]) -> f64 {
    f64::from(choices.contains(&RIGHT))
}
