//! How answers become one text, as people write it: a strategy and what is set about it, `synthesize@gate=off`.
//!
//! Parsing is total: whatever is wrong is said with what may stand there, before anything is paid.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::answer::Failure;
use crate::code::Code;
use crate::panel::Seat;

/// A way of making one text of many answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A synthesizer starts from the best answer and patches it only where it can say why.
    Synthesize,
    /// The answer that most others agree with is taken as it is.
    Vote,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: &[Self] = &[Self::Synthesize, Self::Vote];

    /// The name used in flags, settings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synthesize => "synthesize",
            Self::Vote => "vote",
        }
    }

    /// Those of a chain of synthesizers whom it may ask: all or none.
    pub(crate) const fn fusers(self, chain: &[Seat]) -> &[Seat] {
        match self {
            Self::Synthesize => chain,
            Self::Vote => &[],
        }
    }

    fn by_name(name: &str) -> Result<Self, Failure> {
        Self::ALL.iter().copied().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|strategy| strategy.name());
            unknown(format!("there is no strategy `{name}`"), names)
        })
    }

    /// The knobs it has.
    const fn knobs(self) -> &'static [&'static str] {
        match self {
            Self::Synthesize => &["gate"],
            Self::Vote => &[],
        }
    }
}

/// When a synthesizer is not asked although there are several answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// Where all answers say the same: there is nothing to fuse.
    #[default]
    Unanimous,
    /// Never.
    Off,
}

impl Gate {
    const ALL: [(&'static str, Self); 2] = [("unanimous", Self::Unanimous), ("off", Self::Off)];
}

/// What is set about a strategy. Each strategy has some of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knobs {
    /// When a synthesizer is not asked.
    #[serde(default)]
    pub gate: Gate,
}

impl Knobs {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A strategy with its knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The strategy.
    pub strategy: Strategy,
    /// What is set about it.
    pub knobs: Knobs,
}

impl Recipe {
    /// Reads `strategy[@knob=value,...]`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (name, pairs) = text.split_once('@').map_or((text, None), |(name, pairs)| (name, Some(pairs)));
        let strategy = Strategy::by_name(name)?;
        let mut knobs = Knobs::default();
        for pair in pairs.into_iter().flat_map(|pairs| pairs.split(',')) {
            let (knob, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !strategy.knobs().contains(&knob) {
                let message = format!("the strategy `{name}` has no knob `{knob}`");
                return Err(unknown(message, strategy.knobs().iter().copied()));
            }
            set(&mut knobs, knob, value)?;
        }
        Ok(Self { strategy, knobs })
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.strategy.name())?;
        let gate = Gate::ALL.iter().find(|(_, gate)| *gate == self.knobs.gate && *gate != Gate::default());
        gate.map_or(Ok(()), |(word, _)| write!(out, "@gate={word}"))
    }
}

fn set(knobs: &mut Knobs, knob: &str, value: &str) -> Result<(), Failure> {
    let gate = Gate::ALL.iter().find(|(word, _)| *word == value).map(|(_, gate)| *gate);
    knobs.gate = gate.ok_or_else(|| {
        unknown(format!("the knob `{knob}` cannot be `{value}`"), Gate::ALL.iter().map(|(word, _)| *word))
    })?;
    Ok(())
}

fn unknown(message: String, known: impl Iterator<Item = &'static str>) -> Failure {
    let known: Vec<&str> = known.collect();
    let next = match known.as_slice() {
        [] => "leave it out".to_owned(),
        known => format!("choose one of: {}", known.join(", ")),
    };
    Failure::new(Code::Usage, message).with_next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let told = Recipe::parse(text).map(|recipe| recipe.to_string());
        let told = told.map_err(|failure| format!("{}; {}", failure.message, failure.next_step()));
        assert_eq!(told.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_recipe_is_a_strategy_and_its_knobs() {
        check("synthesize", Ok("synthesize"));
        check("synthesize@gate=unanimous", Ok("synthesize"));
        check("synthesize@gate=off", Ok("synthesize@gate=off"));
        check("vote", Ok("vote"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_may_stand_there() {
        check("fuse", Err("there is no strategy `fuse`; choose one of: synthesize, vote"));
        check("vote@gate=off", Err("the strategy `vote` has no knob `gate`; leave it out"));
        check(
            "synthesize@gates=off",
            Err("the strategy `synthesize` has no knob `gates`; choose one of: gate"),
        );
        check("synthesize@gate", Err("the knob `gate` cannot be ``; choose one of: unanimous, off"));
        check("synthesize@", Err("the strategy `synthesize` has no knob ``; choose one of: gate"));
    }
}
