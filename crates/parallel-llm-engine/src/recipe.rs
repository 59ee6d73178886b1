//! How answers become one text, as people write it: a strategy and what is set about it, `synthesize@gate=off`.
//!
//! Parsing is total: whatever is wrong is said with what may stand there, before anything is paid.

mod knob;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::answer::Failure;
use crate::code::Code;
use crate::panel::Seat;
use knob::Knob;

pub use knob::{Gate, Knobs};

/// A way of making one text of many answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A synthesizer starts from the best answer and patches it only where it can say why.
    Synthesize,
    /// The answer that most others agree with is taken as it is.
    Vote,
    /// A judge says which answer is best, and that one is taken as it is.
    BestOfN,
}

/// What is known of a strategy before it runs.
struct Traits {
    name: &'static str,
    /// Whether it asks the synthesizers for a text.
    fuses: bool,
    knobs: &'static [Knob],
}

impl Strategy {
    /// Every strategy.
    pub const ALL: &[Self] = &[Self::Synthesize, Self::Vote, Self::BestOfN];

    const fn traits(self) -> Traits {
        match self {
            Self::Synthesize => Traits { name: "synthesize", fuses: true, knobs: &[Knob::Gate, Knob::First] },
            Self::Vote => Traits { name: "vote", fuses: false, knobs: &[Knob::First] },
            Self::BestOfN => {
                Traits { name: "best-of-n", fuses: false, knobs: &[Knob::Orders, Knob::Gate, Knob::First] }
            }
        }
    }

    /// The name used in flags, settings and JSON.
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// Those of a chain of synthesizers whom it may ask for a text: all or none.
    pub const fn fusers(self, chain: &[Seat]) -> &[Seat] {
        if self.traits().fuses { chain } else { &[] }
    }

    fn by_name(name: &str) -> Result<Self, Failure> {
        Self::ALL.iter().copied().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Self::ALL.iter().map(|strategy| strategy.name());
            unknown(format!("there is no strategy `{name}`"), names)
        })
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
            let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = strategy.traits().knobs;
            let knob = known.iter().find(|knob| knob.name() == word).ok_or_else(|| {
                let message = format!("the strategy `{name}` has no knob `{word}`");
                unknown(message, known.iter().map(|knob| knob.name()))
            })?;
            knobs.set(*knob, value)?;
        }
        Ok(Self { strategy, knobs })
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.strategy.name())?;
        let set = self.strategy.traits().knobs.iter();
        let set = set.filter_map(|knob| Some((knob.name(), self.knobs.shown(*knob)?)));
        for ((name, value), sign) in set.zip(std::iter::once('@').chain(std::iter::repeat(','))) {
            write!(out, "{sign}{name}={value}")?;
        }
        Ok(())
    }
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
        check("synthesize@first=2,gate=off", Ok("synthesize@gate=off,first=2"));
        check("vote", Ok("vote"));
    }

    #[test]
    fn every_strategy_has_one_name() {
        for strategy in Strategy::ALL {
            assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.name());
            assert_eq!(Recipe::parse(strategy.name()).unwrap().strategy, *strategy);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_may_stand_there() {
        let names: Vec<&str> = Strategy::ALL.iter().map(|strategy| strategy.name()).collect();
        let known = format!("there is no strategy `fuse`; choose one of: {}", names.join(", "));
        check("fuse", Err(&known));
        check("vote@gate=off", Err("the strategy `vote` has no knob `gate`; choose one of: first"));
        check("vote@", Err("the strategy `vote` has no knob ``; choose one of: first"));
        check("synthesize@gate", Err("the knob `gate` cannot be ``; choose one of: unanimous, off"));
        check("vote@first=1", Err("the knob `first` cannot be `1`; give a whole number from 2 to 63"));
        check("vote@first=two", Err("the knob `first` cannot be `two`; give a whole number from 2 to 63"));
    }
}
