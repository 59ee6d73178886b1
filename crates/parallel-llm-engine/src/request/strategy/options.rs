//! The options of strategies. An option has the same name and meaning in every strategy that has it.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::extractor::{Extractor, LLM};
use super::retired::RetiredOptions;
use super::{Strategy, unknown};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Advice, Next};

/// Defines enums of the words an option takes; the first is the default.
macro_rules! words {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$about:meta])* $variant:ident = $word:literal, )* } )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $( $(#[$about])* #[serde(rename = $word)] $variant, )*
        }

        impl $name {
            const ALL: &[(&str, Self)] = &[$( ($word, Self::$variant), )*];
            const WORDS: &[&str] = &[$( $word, )*];
        }

        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0].1
            }
        }
    )* };
}

words! {
    /// When several answers are not fused.
    Gate {
        /// When their texts are equal.
        Off = "off",
        /// When their short answers are equal, too.
        #[serde(alias = "unanimous")]
        On = "on",
    }
    /// The weight of an answer in a vote.
    Weights {
        /// All answers weigh the same.
        Equal = "equal",
        /// The log odds of the accuracy the user gives for the seat.
        LogOdds = "log-odds",
    }
    /// In which call a synthesizer compares the answers before it writes.
    AnalysisCall {
        /// In the reply that holds the text.
        Inline = "inline",
        /// In a call of its own, checked before the text is written.
        Separate = "separate",
    }
    /// Who says which answer is best.
    By {
        /// A judge, who ranks all of them.
        Judge = "judge",
        /// A judge, who compares two at a time; the loser is out.
        Pairs = "pairs",
        /// A judge, who compares each with each other one.
        League = "league",
        /// A judge, who says which one the others support most.
        Consistency = "consistency",
        /// The user's own check command, which is given each of them.
        Check = "check",
    }
    /// A switch.
    Switch {
        /// No.
        Off = "off",
        /// Yes.
        On = "on",
    }
}

/// The fewest answers that can be left out one by one: two must remain to be compared.
pub(crate) const CONTROLLED_MIN: usize = 3;

/// The description of a strategy's option for users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrategyOption {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// The values it takes: words, or a range such as `2..63`.
    pub values: Vec<String>,
    /// The value that holds unless another is given; `None` if there is none.
    pub default: Option<String>,
}

/// Defines the options with their names in one list, so that no match can miss one.
macro_rules! options {
    ($( #[doc = $about:literal] $option:ident = $name:literal, )*) => {
        /// The name of an option.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum OptionName { $( #[doc = $about] $option, )* }

        impl OptionName {
            pub(super) const ALL: &[Self] = &[$( Self::$option, )*];

            pub(super) const fn name(self) -> &'static str {
                match self { $( Self::$option => $name, )* }
            }

            /// Its meaning.
            pub(super) const fn about(self) -> &'static str {
                match self { $( Self::$option => $about.trim_ascii_start(), )* }
            }
        }
    };
}

options! {
    /// Ask for short answers; fuse nothing if all agree.
    Gate = "gate",
    /// Ask so many first, the others only if these differ.
    First = "first",
    /// Who picks: judges, or your `--check`.
    By = "by",
    /// In how many orders a judge sees the answers.
    Orders = "orders",
    /// Milliseconds until the next seat is asked, too.
    HedgeAfterMs = "hedge_after_ms",
    /// Layers of answers, the panel included.
    Layers = "layers",
    /// Count all alike, or by the `@accuracy` of seats.
    Weights = "weights",
    /// Compare short answers, or a value in JSON.
    Extractor = "extractor",
    /// The least share of all that wins, in percent.
    MinShare = "min_share",
    /// Compare the answers in the same call, or before it.
    Analysis = "analysis",
    /// Also make the text without each answer in turn.
    Paranoid = "paranoid",
    /// Begin to write with this many answers.
    Early = "early",
    /// Cut each answer for readers at so many tokens.
    ShownTokensMax = "shown_tokens_max",
}

impl OptionName {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|option| option.name() == name)
    }

    /// The words it takes, the default first; none for a number.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Gate => Gate::WORDS,
            Self::By => By::WORDS,
            Self::Weights => Weights::WORDS,
            Self::Extractor => &Extractor::FORMS,
            Self::Analysis => AnalysisCall::WORDS,
            Self::Paranoid => Switch::WORDS,
            _ => &[],
        }
    }

    /// The numbers it takes; none for a word.
    const fn range(self) -> RangeInclusive<u32> {
        match self {
            // One answer has nothing to agree with, is not fused, and one seat of the 64 must remain for later.
            Self::First | Self::Early => 2..=63,
            Self::Orders => 1..=2,
            // Ten minutes: by then most calls have ended.
            Self::HedgeAfterMs => 1..=600_000,
            // Each layer costs more than the panel. Three layers have been published.
            Self::Layers => 2..=3,
            Self::MinShare => 1..=100,
            // A shorter piece would say too little, and no model reads more.
            Self::ShownTokensMax => 200..=1_000_000,
            _ => 0..=0,
        }
    }

    /// The values it takes, as people write them.
    pub(super) fn values(self) -> Vec<String> {
        match self.words() {
            [] => vec![format!("{}..{}", self.range().start(), self.range().end())],
            words => words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    /// The value that holds in a strategy unless another is given.
    pub(super) fn default_in(self, strategy: Strategy) -> Option<String> {
        let unset = StrategyOptions::default();
        match self {
            Self::First => strategy.first().map(|count| count.to_string()),
            Self::Orders => Some(unset.orders().to_string()),
            Self::Layers => Some(unset.layers().to_string()),
            _ => self.words().first().map(|word| (*word).to_owned()),
        }
    }
}

/// The options of a strategy. `None` means the default. Each strategy has some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyOptions {
    /// When no synthesizer is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// How many seats are asked first. The others are asked only if these do not settle the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u8>,
    /// Who says which answer is best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// In how many orders a judge is shown the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<u8>,
    /// How long one seat may take before the next is asked as well, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_after_ms: Option<u32>,
    /// How many layers of answers precede the fusion, including the panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u8>,
    /// The weight of an answer in a vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// How the value of an answer is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<Extractor>,
    /// The least share of the answers, in percent, that an answer needs to win a vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_share: Option<u8>,
    /// In which call a synthesizer compares the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<AnalysisCall>,
    /// Whether texts are also made with each answer left out, so that no single answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paranoid: Option<Switch>,
    /// With how many answers a synthesizer begins while the others are awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<u8>,
    /// How much of each answer a reader is shown, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_tokens_max: Option<u32>,
    /// What only stored runs have.
    #[serde(flatten)]
    pub retired: RetiredOptions,
}

impl StrategyOptions {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the user's own check command says which answer is best.
    pub fn is_checked(&self) -> bool {
        self.by == Some(By::Check)
    }

    /// How many layers of answers there are, including the panel.
    pub fn layers(&self) -> u8 {
        self.layers.unwrap_or(2)
    }

    /// Who says which answer is best.
    pub(crate) fn by(&self) -> By {
        self.by.unwrap_or_default()
    }

    /// In how many orders a judge is shown the answers. With a single order, the position in the list may decide. It does not
    /// where the value of an answer is read.
    pub(crate) fn orders(&self) -> u16 {
        self.orders.unwrap_or(if self.by() == By::Consistency { 1 } else { 2 }).into()
    }

    /// How the value of an answer is found.
    pub fn extractor(&self) -> Extractor {
        self.extractor.unwrap_or_default()
    }

    /// Whether texts are also made with each answer left out.
    pub fn is_paranoid(&self) -> bool {
        self.paranoid == Some(Switch::On)
    }

    /// How many tokens of an answer a reader is shown.
    pub fn shown_tokens(&self, answer_tokens: u32) -> u64 {
        self.shown_tokens_max.map_or(answer_tokens, |most| answer_tokens.min(most)).into()
    }

    /// Whether a separate call compares the answers.
    pub fn is_analysis_separate(&self) -> bool {
        self.analysis == Some(AnalysisCall::Separate)
    }

    /// Sets an option to the value a person wrote. The word of the default sets nothing.
    pub(super) fn set(&mut self, option: OptionName, value: &str) -> Result<(), Failure> {
        match option {
            OptionName::Gate => self.gate = word(option, value, Gate::ALL)?,
            OptionName::First => self.first = Some(count(option, value)?),
            OptionName::By => self.by = word(option, value, By::ALL)?,
            OptionName::Orders => self.orders = Some(count(option, value)?),
            OptionName::HedgeAfterMs => self.hedge_after_ms = Some(count(option, value)?),
            OptionName::Layers => self.layers = Some(count(option, value)?),
            OptionName::Weights => self.weights = word(option, value, Weights::ALL)?,
            OptionName::Extractor => self.extractor = extractor(option, value)?,
            OptionName::MinShare => self.min_share = Some(count(option, value)?),
            OptionName::Analysis => self.analysis = word(option, value, AnalysisCall::ALL)?,
            OptionName::Paranoid => self.paranoid = word(option, value, Switch::ALL)?,
            OptionName::Early => self.early = Some(count(option, value)?),
            OptionName::ShownTokensMax => self.shown_tokens_max = Some(count(option, value)?),
        }
        Ok(())
    }

    /// Fails if two options exclude each other.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let is_early = self.early.is_some();
        let against = [
            (
                self.early.zip(self.first).is_some_and(|(early, first)| early < first),
                "early",
                "first",
                "it must not be smaller, because a text of fewer answers skips seats that are not asked yet",
            ),
            (
                is_early && self.is_paranoid(),
                "early",
                "paranoid=on",
                "of several texts none can be shown early",
            ),
            (
                is_early && self.is_analysis_separate(),
                "early",
                "analysis=separate",
                "what is written after an analysis cannot be shown early",
            ),
            (
                self.by() == By::Consistency && self.orders.is_some(),
                "orders",
                "by=consistency",
                "what an answer comes to does not depend on where it stands",
            ),
        ];
        let of_judges = [OptionName::Orders, OptionName::Gate, OptionName::First, OptionName::ShownTokensMax];
        let beside_check = of_judges.into_iter().map(|option| {
            let is_set = self.is_checked() && self.written(option).is_some();
            (
                is_set,
                option.name(),
                "by=check",
                "a check reads every answer, whole and once, whatever they agree in",
            )
        });
        let mut against = against.into_iter().chain(beside_check);
        let Some((_, one, other, why)) = against.find(|(is_set, ..)| *is_set) else { return Ok(()) };
        let message = format!("`{one}` cannot go with `{other}`: {why}");
        Err(Failure::new(Code::Usage, message).with_next(Advice::ShortenOptions))
    }

    /// The value of an option as people write it; `None` if it is not set.
    pub(super) fn written(self, option: OptionName) -> Option<String> {
        match option {
            OptionName::Gate => self.gate.and_then(|gate| written(gate, Gate::ALL)),
            OptionName::First => self.first.map(|count| count.to_string()),
            OptionName::By => self.by.and_then(|by| written(by, By::ALL)),
            OptionName::Orders => self.orders.map(|count| count.to_string()),
            OptionName::HedgeAfterMs => self.hedge_after_ms.map(|ms| ms.to_string()),
            OptionName::Layers => self.layers.map(|count| count.to_string()),
            OptionName::Weights => self.weights.and_then(|weights| written(weights, Weights::ALL)),
            OptionName::Extractor => self.extractor.map(|extractor| extractor.to_string()),
            OptionName::MinShare => self.min_share.map(|percent| percent.to_string()),
            OptionName::Analysis => self.analysis.and_then(|analysis| written(analysis, AnalysisCall::ALL)),
            OptionName::Paranoid => self.paranoid.and_then(|paranoid| written(paranoid, Switch::ALL)),
            OptionName::Early => self.early.map(|count| count.to_string()),
            OptionName::ShownTokensMax => self.shown_tokens_max.map(|tokens| tokens.to_string()),
        }
    }
}

fn word<T: Copy + PartialEq + Default>(
    option: OptionName,
    value: &str,
    all: &[(&'static str, T)],
) -> Result<Option<T>, Failure> {
    let known = all.iter().find(|(word, _)| *word == value).map(|(_, known)| *known);
    let known = known.ok_or_else(|| {
        let message = format!("the option `{}` cannot be `{value}`", option.name());
        unknown(message, value, all.iter().map(|(word, _)| *word))
    })?;
    Ok(Some(known).filter(|known| *known != T::default()))
}

fn extractor(option: OptionName, value: &str) -> Result<Option<Extractor>, Failure> {
    if value == LLM {
        let message = "`extractor=llm` is gone: the setting `equivalence_model` names the model that compares short answers";
        return Err(Failure::new(Code::Usage, message).with_next(Advice::LeaveItOut));
    }
    let read = Extractor::parse(value).ok_or_else(|| {
        let message = format!("the option `{}` cannot be `{value}`", option.name());
        unknown(message, value, Extractor::FORMS.into_iter())
    })?;
    let read = read.map_err(|wrong| {
        let message = format!("the option `{}` cannot be `{value}`: {wrong}", option.name());
        Failure::new(Code::Usage, message).with_next(Advice::WriteJsonPointer)
    })?;
    Ok(Some(read).filter(|read| *read != Extractor::default()))
}

fn count<T: TryFrom<u32>>(option: OptionName, value: &str) -> Result<T, Failure> {
    let range = option.range();
    let count = value.parse().ok().filter(|count| range.contains(count));
    count.and_then(|count| T::try_from(count).ok()).ok_or_else(|| {
        let message = format!("the option `{}` cannot be `{value}`", option.name());
        let next = Next::WholeNumber { from: (*range.start()).into(), to: (*range.end()).into() };
        Failure::new(Code::Usage, message).with_next(next)
    })
}

fn written<T: Copy + PartialEq>(value: T, all: &[(&'static str, T)]) -> Option<String> {
    all.iter().find(|(_, known)| *known == value).map(|(word, _)| (*word).to_owned())
}
