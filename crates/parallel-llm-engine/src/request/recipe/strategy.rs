//! What is known of each strategy before it runs: its name, what can be set about it, and which calls it may make. The rows
//! themselves are one table, at the top of [`crate::strategy`].

use serde::{Deserialize, Serialize};

use super::knob::Knob;
use super::{AUTO, unknown};
use crate::request::panel::Seat;
use crate::value::answer::Failure;

/// How many of a cascade are asked before it is known whether the others are: a trio is the smallest panel whose agreement
/// says much (facts of fusing, finding 9: right in 95 to 98 % of the cases).
const FIRST_OF_CASCADE: u8 = 3;

/// What the engine knows of a strategy before it runs.
struct Traits {
    /// Whether it asks the synthesizers for a text.
    fuses: bool,
    /// Whether one answer is enough for it, whichever comes first.
    needs_one: bool,
    /// Whether its panel is one model, asked several times.
    samples_one_model: bool,
    /// How many seats are asked before it is known whether the others are, where nothing is set; `None` for all of them.
    first: Option<u8>,
    /// In how many orders a judge is shown the answers, where nothing is set. What an answer comes to is seen from any place in
    /// the list; which of two is nicer is not.
    orders: u8,
    /// The calls it may make beside the panel and the synthesizers.
    calls: Calls,
    /// What can be set about it, in the order in which it is written.
    knobs: &'static [Knob],
}

impl Traits {
    /// A strategy that chooses among the answers of the whole panel, and about which nothing can be set.
    const PLAIN: Self = Self {
        fuses: false,
        needs_one: false,
        samples_one_model: false,
        first: None,
        orders: 2,
        calls: Calls::None,
        knobs: &[],
    };
}

/// The calls a strategy may make beside the panel and the synthesizers; [`crate::plan::step`] counts them. What comes with
/// a knob, such as an analysis, comes whatever the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "a kind of calls may be there before or after the only strategy that makes them")]
pub(crate) enum Calls {
    /// None.
    None,
    /// A judge reads all answers.
    Verdict,
    /// A judge reads them two by two.
    Matches,
    /// Each seat reads those of the others.
    Reviews,
    /// Each seat answers again in each further layer.
    Layers,
    /// Each seat keeps or changes its answer in each round.
    Revisions,
}

macro_rules! define {
    ($(
        $(#[$doc:meta])*
        $strategy:ident = $name:literal in $file:ident,
        $traits:expr,
        prompts { $($prompts:tt)* }
    )*) => {
        /// A way of making one text of many answers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Strategy {
            $( $(#[$doc])* #[serde(rename = $name)] $strategy, )*
        }

        impl Strategy {
            /// Every strategy.
            pub const ALL: &[Self] = &[$( Self::$strategy, )*];

            /// The name used in flags, settings and JSON.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$strategy => $name, )* }
            }

            #[allow(clippy::enum_glob_use, reason = "a row of the table names its knobs by their names alone")]
            const fn traits(self) -> Traits {
                use Knob::*;

                match self { $( Self::$strategy => $traits, )* }
            }
        }
    };
}

strategies!(define);

impl Strategy {
    /// Those of a chain of synthesizers whom it may ask for a text: all or none.
    pub const fn fusers(self, chain: &[Seat]) -> &[Seat] {
        if self.traits().fuses { chain } else { &[] }
    }

    /// Whether one answer is enough for it, whichever comes first: the others are then not missed.
    pub(crate) const fn needs_one(self) -> bool {
        self.traits().needs_one
    }

    /// Whether its panel is one model, asked several times.
    pub(crate) const fn samples_one_model(self) -> bool {
        self.traits().samples_one_model
    }

    /// The calls it may make beside the panel and the synthesizers.
    pub(crate) const fn calls(self) -> Calls {
        self.traits().calls
    }

    /// How many seats are asked first where nothing is set; `None` for all of them.
    pub(super) const fn first(self) -> Option<u8> {
        self.traits().first
    }

    /// In how many orders a judge is shown the answers, where nothing is set.
    pub(super) const fn orders(self) -> u8 {
        self.traits().orders
    }

    /// What can be set about it.
    pub(super) const fn knobs(self) -> &'static [Knob] {
        self.traits().knobs
    }

    /// What may stand where a strategy is named.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|strategy| strategy.name()).chain([AUTO])
    }

    pub(super) fn by_name(name: &str) -> Result<Self, Failure> {
        let named = Self::ALL.iter().copied().find(|strategy| strategy.name() == name);
        named.ok_or_else(|| unknown(format!("there is no strategy `{name}`"), Self::names()))
    }
}
