//! The fixed traits of each strategy: its name, its options and the calls it may make.
//!
//! The table of strategies is at the top of [`crate::strategy`].

use serde::{Deserialize, Serialize};

use super::options::{OptionName, StrategyOption};
use super::retired::RetiredStrategy;
use super::{AUTO, split, successor, unknown};
use crate::request::panel::Seat;
use crate::value::answer::Failure;

/// How many seats a cascade asks before it decides whether to ask the others. Three is the smallest panel whose agreement
/// says much: unanimous trios are right in 95 to 98 % of the cases (facts of fusing, finding 9).
const FIRST_OF_CASCADE: u8 = 3;

/// What there is to say of every strategy that is no longer offered.
const RETIRED: &str = "Stored runs have it; it is no longer offered.";

/// The traits of a strategy that do not depend on the run.
struct Traits {
    /// What a user who chooses it wants.
    situation: &'static str,
    /// Whether it asks the synthesizers for a text.
    fuses: bool,
    /// Whether the first answer is enough, whoever gives it.
    needs_one: bool,
    /// The default of the option `first`: how many seats are asked first. `None` means all of them.
    first: Option<u8>,
    /// The calls it may make besides the panel and the synthesizers.
    calls: Calls,
    /// Its options, in the order in which they are written.
    option_names: &'static [OptionName],
}

impl Traits {
    /// A strategy without options, for this situation, that chooses among the answers of the whole panel.
    const fn choosing(situation: &'static str) -> Self {
        Self { situation, fuses: false, needs_one: false, first: None, calls: Calls::None, option_names: &[] }
    }
}

/// The calls a strategy may make besides the panel and the synthesizers; [`crate::plan::step`] counts them. The calls of an
/// option, such as an analysis, are not among them: they do not depend on the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "a variant may exist before the first strategy that makes such calls, or after the last"
)]
pub(crate) enum Calls {
    /// None.
    None,
    /// A judge reads all answers, or two by two.
    Verdict,
    /// Each seat reads those of the others.
    Reviews,
    /// Each seat answers again in each further layer.
    Layers,
}

macro_rules! define {
    ($(
        #[doc = $about:literal]
        $strategy:ident = $name:literal in $file:ident,
        $traits:expr,
        prompts { $($prompts:tt)* }
    )*) => {
        /// A way of making one text of many answers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Strategy {
            $( #[doc = $about] #[serde(rename = $name)] $strategy, )*
            /// Strategies that only stored runs have.
            #[serde(untagged)]
            Retired(RetiredStrategy),
        }

        impl Strategy {
            /// Every strategy that is offered.
            pub const ALL: &[Self] = &[$( Self::$strategy, )*];

            /// The name used in flags, settings and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$strategy => $name, )*
                    Self::Retired(retired) => retired.name(),
                }
            }

            /// What it does, in a sentence.
            pub const fn about(self) -> &'static str {
                match self {
                    $( Self::$strategy => $about.trim_ascii_start(), )*
                    Self::Retired(_) => RETIRED,
                }
            }

            #[allow(clippy::enum_glob_use, reason = "a row of the table writes the names of its options without a prefix")]
            const fn traits(self) -> Traits {
                use OptionName::*;

                match self {
                    $( Self::$strategy => $traits, )*
                    Self::Retired(_) => Traits { option_names: OptionName::ALL, ..Traits::choosing(RETIRED) },
                }
            }
        }
    };
}

strategies!(define);

impl Strategy {
    /// What a user who chooses it wants.
    pub const fn situation(self) -> &'static str {
        self.traits().situation
    }

    /// Its options.
    pub fn options(self) -> impl Iterator<Item = StrategyOption> {
        self.option_names().iter().map(move |option| StrategyOption {
            name: option.name(),
            about: option.about(),
            values: option.values(),
            default: option.default_in(self),
        })
    }

    /// The synthesizers of `chain` it may ask for a text: all or none.
    pub const fn fusers(self, chain: &[Seat]) -> &[Seat] {
        if self.traits().fuses { chain } else { &[] }
    }

    /// Whether the first answer is enough, whoever gives it.
    pub(crate) const fn needs_one(self) -> bool {
        self.traits().needs_one
    }

    /// The calls it may make besides the panel and the synthesizers.
    pub(crate) const fn calls(self) -> Calls {
        self.traits().calls
    }

    /// The default of the option `first`; `None` means all seats.
    pub(in crate::request) const fn first(self) -> Option<u8> {
        self.traits().first
    }

    /// The names of its options.
    pub(super) const fn option_names(self) -> &'static [OptionName] {
        self.traits().option_names
    }

    /// The names of all strategies, and `auto`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|strategy| strategy.name()).chain([AUTO])
    }

    /// The strategy of this name, with or without options; `None` for `auto`.
    pub fn find(text: &str) -> Result<Option<Self>, Failure> {
        if text == AUTO {
            return Ok(None);
        }
        let (name, pairs) = split(text);
        Self::by_name(name, pairs).map(Some)
    }

    /// The failure for a strategy that only stored runs have, with or without options; `None` for any other text.
    pub fn retired(text: &str) -> Option<Failure> {
        let (name, pairs) = split(text);
        successor::refusal(name, pairs)
    }

    /// The strategy of this name. With its options, whoever names one that is no longer offered is told what takes its place.
    pub(super) fn by_name(name: &str, pairs: Option<&str>) -> Result<Self, Failure> {
        let named = Self::ALL.iter().copied().find(|strategy| strategy.name().eq_ignore_ascii_case(name));
        let refusal = || {
            let unknown = || unknown(format!("there is no strategy `{name}`"), name, Self::names());
            successor::refusal(name, pairs).unwrap_or_else(unknown)
        };
        named.ok_or_else(refusal)
    }
}
