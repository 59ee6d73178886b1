//! A panel whose models err together, in two parameters. Of each question there is a hidden difficulty that all of them share;
//! a model is right where its share of that and its own luck stay below what its accuracy allows. Who is wrong says what
//! is popular among the wrong answers of that question, or any of them.
//!
//! What a panel comes to on average is computed exactly: all ways to answer, times how often each comes, summed over
//! the difficulty by quadrature.

use crate::proof::normal;
use crate::proof::rng::Rng;

/// What a model says of a question, in its own terms.
pub(super) type Choice = usize;
/// The right answer. The others are wrong: first the popular one, then the rest.
pub(super) const RIGHT: Choice = 0;
pub(super) const POPULAR: Choice = 1;
/// Nothing that can be read.
pub(super) const NOTHING: Choice = usize::MAX;

/// How the answers of a panel hang together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// How much being right correlates between two models that are as often right as the first of the panel.
    pub(super) errors: f64,
    /// How often two models that are both wrong say the same.
    pub(super) same_wrong: f64,
    /// Answers a question has.
    pub(super) options: usize,
}

impl Parameters {
    /// Models that know nothing of each other.
    pub(super) const fn independent(options: usize) -> Self {
        Self { errors: 0.0, same_wrong: 1.0 / (options - 1) as f64, options }
    }

    /// As five flagships of five labs were on MMLU.
    pub(super) const CALIBRATED: Self = Self { errors: 0.534, same_wrong: 0.766, options: 4 };

    /// How often whoever is wrong follows the crowd, else saying any wrong answer, the popular one included.
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

/// Models asked together.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    members: Vec<Member>,
    options: usize,
    /// How much of what decides is shared.
    shared: f64,
    /// How often an answer cannot be read.
    unreadable: f64,
}

impl Panel {
    /// Models with these accuracies.
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

    /// So many models of one accuracy.
    pub(super) fn of_equals(count: usize, accuracy: f64, parameters: Parameters) -> Self {
        Self::of(&vec![accuracy; count], parameters)
    }

    /// Of whose answers so many cannot be read.
    pub(super) fn unreadable(self, share: f64) -> Self {
        Self { unreadable: share, ..self }
    }

    /// With one more that always says what is popular and wrong.
    pub(super) fn with_adversary(mut self) -> Self {
        self.members.push(Member { accuracy: 0.0, follows: 1.0 });
        self
    }

    pub(super) fn options(&self) -> usize {
        self.options
    }

    /// What each says of one question.
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

    /// The mean of what is made of the answers, over all questions there are.
    pub(super) fn mean(&self, of: impl Fn(&[Choice]) -> f64) -> f64 {
        let points = if self.shared > 0.0 { normal::QUADRATURE.clone() } else { vec![(0.0, 1.0)] };
        let right = |member: &Member| {
            let limit = normal::quantile(member.accuracy);
            points.iter().map(|(difficulty, _)| given(limit, self.shared, *difficulty)).collect()
        };
        let right: Vec<Vec<f64>> = self.members.iter().map(right).collect();
        let mut walk = Walk { panel: self, right, said: Vec::new(), sum: 0.0, of: &of };
        walk.on(0, &points.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
        walk.sum
    }
}

/// How often a model is right on questions of one difficulty.
fn given(limit: f64, shared: f64, difficulty: f64) -> f64 {
    normal::below((limit - shared.sqrt() * difficulty) / (1.0 - shared).max(1e-12).sqrt())
}

/// How much being right correlates between two models of one accuracy.
fn correlation(accuracy: f64, shared: f64) -> f64 {
    let limit = normal::quantile(accuracy);
    let both =
        normal::QUADRATURE.iter().map(|(at, weight)| weight * given(limit, shared, *at).powi(2)).sum::<f64>();
    (both - accuracy * accuracy) / (accuracy * (1.0 - accuracy))
}

/// All ways to answer, one model after the other. Of the wrong answers that are not popular only the order in which they
/// are first said tells one from another, so ways that differ in their names alone are counted together.
struct Walk<'a, F: Fn(&[Choice]) -> f64> {
    panel: &'a Panel,
    right: Vec<Vec<f64>>,
    said: Vec<Choice>,
    sum: f64,
    of: &'a F,
}

impl<F: Fn(&[Choice]) -> f64> Walk<'_, F> {
    /// `others` of the wrong answers that are not popular have been said, and `mass` is how often that comes at each
    /// difficulty.
    fn on(&mut self, others: usize, mass: &[f64]) {
        let index = self.said.len();
        let Some(member) = self.panel.members.get(index).copied() else {
            self.sum += mass.iter().sum::<f64>() * (self.of)(&self.said);
            return;
        };
        let heard = 1.0 - self.panel.unreadable;
        let right = self.right[index].clone();
        let any = (1.0 - member.follows) / (self.panel.options - 1) as f64;
        self.say(RIGHT, others, &times(mass, |at| heard * right[at]));
        let wrong = times(mass, |at| heard * (1.0 - right[at]));
        self.say(POPULAR, others, &times(&wrong, |_| member.follows + any));
        for other in 0..others {
            self.say(2 + other, others, &times(&wrong, |_| any));
        }
        let left = self.panel.options.saturating_sub(2 + others) as f64;
        self.say(2 + others, others + 1, &times(&wrong, |_| any * left));
        self.say(NOTHING, others, &times(mass, |_| self.panel.unreadable));
    }

    fn say(&mut self, said: Choice, others: usize, mass: &[f64]) {
        if mass.iter().all(|mass| *mass == 0.0) {
            return;
        }
        self.said.push(said);
        self.on(others, mass);
        self.said.pop();
    }
}

fn times(mass: &[f64], by: impl Fn(usize) -> f64) -> Vec<f64> {
    mass.iter().enumerate().map(|(at, mass)| mass * by(at)).collect()
}

/// Who wins where several are level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// Each as often.
    Fair,
    /// That which the first of them says, as votes do.
    First,
    /// The same also where no two say the same: in a panel sorted by strength, the strongest.
    Strongest,
}

/// The most that say the same.
pub(super) fn most(said: &[Choice]) -> usize {
    said.iter().map(|one| votes(said, *one)).max().unwrap_or(0)
}

fn votes(said: &[Choice], what: Choice) -> usize {
    if what == NOTHING { 0 } else { said.iter().filter(|one| **one == what).count() }
}

/// How often what most say is right. In a vote it is any of them where no two say the same: which, depends on their
/// wording alone.
pub(super) fn plurality(said: &[Choice], tie: Tie) -> f64 {
    let most = most(said);
    let mut level: Vec<Choice> = said.iter().copied().filter(|one| votes(said, *one) == most).collect();
    if tie == Tie::Strongest || (tie == Tie::First && most > 1) {
        level.truncate(1);
    }
    level.iter().filter(|one| **one == RIGHT).count() as f64 / level.len() as f64
}

/// Whether any is right.
pub(super) fn oracle(said: &[Choice]) -> f64 {
    f64::from(said.contains(&RIGHT))
}
