//! A flow as written: stages that ask models or read the texts of earlier stages, and the rules they must keep.
//!
//! The rules are pure and name the place of each error in the flow; the reader of a file knows its line and column.
//! Invariant: a flow without errors has no circle and ends in exactly one stage.

mod rules;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::request::panel::{DEFAULT_PROVIDER, PanelEntry, ProviderId};
use crate::request::strategy::{AUTO, StrategyChoice};
use crate::value::answer::Failure;

/// The most stages of a flow. The longest flow anyone draws on paper has about six.
pub const STAGES_MAX: usize = 16;
/// The most synthesizers of one stage: all chains of a flow are numbered together, and there are 255 numbers.
pub const STAGE_CHAIN_MAX: usize = 8;
/// The longest name of a flow or stage in bytes, as of a preset: it is typed by hand and shown in lists.
pub const NAME_BYTES_MAX: usize = 40;
/// The longest description of a flow in characters: one line of a list.
const ABOUT_CHARS_MAX: usize = 200;

/// A flow as written, its stages in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name: that of its file.
    pub name: String,
    /// What it is for, in one line.
    pub about: Option<String>,
    /// The stages.
    pub stages: Vec<FlowStage>,
}

/// A stage of a flow as written. `None` means the value of the settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowStage {
    /// Its name.
    pub name: String,
    /// The names of the stages whose texts it reads.
    pub from: Vec<String>,
    /// The models that answer, as written.
    pub panel: Vec<String>,
    /// The strategy that makes one text; `None` is `synthesize`, whatever the settings say, so that a file means the same
    /// everywhere.
    pub strategy: Option<String>,
    /// The synthesizers, as written.
    pub synthesizer: Option<Vec<String>>,
    /// The sampling temperature of its panel.
    pub temperature: Option<f64>,
    /// The output cap of its calls in tokens.
    pub max_tokens: Option<u32>,
}

/// The strategy of a stage that names none.
pub const STAGE_STRATEGY: &str = "synthesize";

/// A key of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKey {
    /// The models that answer.
    Panel,
    /// The stages whose texts it reads.
    From,
    /// How several texts become one.
    Strategy,
    /// Who fuses or judges.
    Synthesizer,
    /// The sampling temperature.
    Temperature,
    /// The output cap.
    MaxTokens,
}

impl StageKey {
    /// Every key, in the order of the manual.
    pub const ALL: [Self; 6] =
        [Self::Panel, Self::From, Self::Strategy, Self::Synthesizer, Self::Temperature, Self::MaxTokens];

    /// Its name in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panel => "panel",
            Self::From => "from",
            Self::Strategy => "strategy",
            Self::Synthesizer => "synthesizer",
            Self::Temperature => "temperature",
            Self::MaxTokens => "max_tokens",
        }
    }

    /// The key of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// The place of an error in a flow. Stages and entries count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowPlace {
    /// The flow as a whole.
    Flow,
    /// The description of the flow.
    About,
    /// The name of a stage.
    Stage(usize),
    /// The value of a key.
    Key {
        /// The stage.
        stage: usize,
        /// The key.
        key: StageKey,
    },
    /// An entry of a list.
    Entry {
        /// The stage.
        stage: usize,
        /// The key of the list.
        key: StageKey,
        /// The entry.
        index: usize,
    },
}

impl FlowPlace {
    /// This place, and those around it: of an entry its key, and of a key its stage.
    pub fn outward(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |place| match *place {
            Self::Entry { stage, key, .. } => Some(Self::Key { stage, key }),
            Self::Key { stage, .. } => Some(Self::Stage(stage)),
            Self::Stage(_) | Self::About => Some(Self::Flow),
            Self::Flow => None,
        })
    }
}

/// An error of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowError {
    /// Where it is.
    pub place: FlowPlace,
    /// What is wrong, and what to do about it.
    pub failure: Failure,
}

/// Keys whose values could not be read. The rules are silent about them, because one mistake gets one error.
pub type UnreadKeys = BTreeSet<(usize, StageKey)>;

impl Flow {
    /// Fails with every error, in the order of the file as far as the flow knows it.
    pub fn check(&self) -> Result<(), Vec<FlowError>> {
        let errors = self.errors(&UnreadKeys::new());
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Every error, except those about keys that could not be read.
    pub fn errors(&self, unread: &UnreadKeys) -> Vec<FlowError> {
        rules::errors(self, unread)
    }

    /// Whether it is one stage, which is the same as a preset.
    pub const fn is_preset(&self) -> bool {
        self.stages.len() == 1
    }

    /// The models of all panels, as written.
    pub fn panels(&self) -> impl Iterator<Item = &String> {
        self.stages.iter().flat_map(|stage| &stage.panel)
    }

    /// The models and synthesizers of all stages, as written.
    pub fn references(&self) -> impl Iterator<Item = &String> {
        self.stages.iter().flat_map(|stage| stage.panel.iter().chain(stage.synthesizer.iter().flatten()))
    }

    /// As [`Flow::references`] with their places, to write them in full.
    pub fn references_mut(&mut self) -> impl Iterator<Item = (FlowPlace, &mut String)> {
        let entry = |stage: usize, key: StageKey| {
            move |(index, reference)| (FlowPlace::Entry { stage, key, index }, reference)
        };
        self.stages.iter_mut().enumerate().flat_map(move |(index, stage)| {
            let synthesizers = stage.synthesizer.iter_mut().flatten().enumerate();
            let panel = stage.panel.iter_mut().enumerate().map(entry(index, StageKey::Panel));
            panel.chain(synthesizers.map(entry(index, StageKey::Synthesizer)))
        })
    }

    /// Whether a stage runs its answers through the check command.
    pub fn is_checked(&self) -> bool {
        self.stages.iter().filter_map(FlowStage::choice).any(|choice| choice.options.is_checked())
    }

    /// The index of the stage of this name.
    pub fn stage(&self, name: &str) -> Option<usize> {
        self.stages.iter().position(|stage| stage.name == name)
    }

    /// The indices of the stages that a stage reads. Unknown names are left out.
    pub fn reads(&self, stage: usize) -> Vec<usize> {
        self.stages[stage].from.iter().filter_map(|name| self.stage(name)).collect()
    }

    /// The indices of the stages, each after those it reads, and between free ones in the order of the file. So the stage in
    /// which the flow ends comes last. Stages in a circle are left out.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::with_capacity(self.stages.len());
        let is_free = |order: &[usize], stage: &usize| {
            !order.contains(stage) && self.reads(*stage).iter().all(|read| order.contains(read))
        };
        while let Some(next) = (0..self.stages.len()).find(|stage| is_free(&order, stage)) {
            order.push(next);
        }
        order
    }
}

impl FlowStage {
    /// The strategy as written.
    pub fn strategy(&self) -> &str {
        self.strategy.as_deref().unwrap_or(STAGE_STRATEGY)
    }

    /// The strategy; `None` if it is wrong or depends on the question.
    pub(crate) fn choice(&self) -> Option<StrategyChoice> {
        Some(self.strategy()).filter(|text| *text != AUTO).and_then(|text| StrategyChoice::parse(text).ok())
    }

    /// How many seats its panel has, as far as its entries can be read.
    pub fn seats(&self) -> usize {
        let entries: Vec<PanelEntry> =
            self.panel.iter().filter_map(|reference| parsed(reference).ok()).collect();
        entries.iter().map(|entry| entry.count).sum()
    }
}

/// A reference, read without knowing the providers, which do not affect its syntax.
fn parsed(reference: &str) -> Result<PanelEntry, Failure> {
    PanelEntry::parse(reference, &ProviderId(DEFAULT_PROVIDER.to_owned()), |_| false)
}

/// Whether this can be the name of a flow or stage.
pub fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of stages written as `name: entries / strategy`, where entries with a `/` or `*` are models and others stages.
    fn flow(stages: &[&str]) -> Flow {
        let stage = |text: &&str| {
            let (name, rest) = text.split_once(": ").unwrap();
            let (entries, strategy) =
                rest.split_once(" / ").map_or((rest, None), |(all, how)| (all, Some(how)));
            let words = || entries.split_whitespace().map(str::to_owned);
            let is_model = |word: &String| word.contains(['/', '*']);
            FlowStage {
                name: name.to_owned(),
                panel: words().filter(is_model).collect(),
                from: words().filter(|word| !is_model(word)).collect(),
                strategy: strategy.map(str::to_owned),
                ..FlowStage::default()
            }
        };
        Flow { name: "it".into(), about: None, stages: stages.iter().map(stage).collect() }
    }

    fn check(stages: &[&str], expected: &[&str]) {
        let errors = flow(stages).check().err().unwrap_or_default();
        let rendered: Vec<String> = errors
            .iter()
            .map(|error| {
                let place = match error.place {
                    FlowPlace::Flow => "flow".to_owned(),
                    FlowPlace::About => "about".to_owned(),
                    FlowPlace::Stage(stage) => format!("{stage}"),
                    FlowPlace::Key { stage, key } => format!("{stage}.{}", key.name()),
                    FlowPlace::Entry { stage, key, index } => format!("{stage}.{}[{index}]", key.name()),
                };
                format!("{place}: {}; {}", error.failure.message, error.failure.next_step())
            })
            .collect();
        assert_eq!(rendered, expected, "{stages:?}");
    }

    #[test]
    fn a_flow_that_holds_together_is_accepted() {
        check(&["answer: a/x b/y / vote"], &[]);
        check(&["answer: a/x*3 / race"], &[]);
        check(&["answer: a/x*3 / auto"], &[]);
        check(&["a: a/x*3 / best-of-n", "b: b/y*2 / best-of-n", "merge: a b"], &[]);
        check(&["merge: b a / vote", "b: a/x*3 / moa", "a: a/x*2 / synthesize@paranoid=on"], &[]);
        check(&["a: a/x", "b: b/y", "c: a b", "d: a b / best-of-n@by=consistency", "end: c d / panel"], &[]);
        check(&["a: a/x*16", "b: b/y*48", "end: a b"], &[]);
    }

    #[test]
    fn the_order_puts_every_stage_after_those_it_reads() {
        let order = |stages: &[&str]| flow(stages).order();
        assert_eq!(order(&["merge: b a", "b: a/x*3", "a: a/x*2"]), [1, 2, 0]);
        assert_eq!(order(&["end: c d", "d: a b", "a: a/x", "b: b/y", "c: a b"]), [2, 3, 1, 4, 0]);
        assert_eq!(order(&["a: b b/x", "b: a b/x", "c: c/x"]), [2]);
    }

    #[test]
    fn an_error_names_its_place() {
        check(&[], &["flow: a flow has no stage; write it like `[stages.NAME]`"]);
        check(
            &["a b: a/x"],
            &["0: the name of a stage has 1 to 40 letters, digits, `-` or `_`, not `a b`; rename the stage"],
        );
        check(
            &["draft: a/x*3", "b: b/x", "end: dratf b"],
            &[
                "0: the stage `draft` is read by no other, and neither is `end`: a flow ends in one stage; name it in the \
                 `from` of another stage, or take it out",
                "2.from[0]: there is no stage `dratf`; did you mean `draft`?",
            ],
        );
        check(&["a: a/x", "b: b/x", "end: a b a"], &["2.from[2]: `from` names `a` twice; take it out"]);
        check(
            &["a: a/x", "end: a"],
            &[
                "1.from: the stage `end` reads one text and asks no model, so there is nothing to do; name another stage in \
               `from`, or give it a `panel` instead",
            ],
        );
        check(
            &["a: a/x", "b: b/y", "c: a b c/z"],
            &["2.from: the stage `c` has `panel` and `from`; a stage has one of them; make two stages of it"],
        );
        check(
            &["a: a/x*40", "b: b/y*30", "c: a b"],
            &["1.panel: with this stage the flow has 70 seats; at most 64; ask fewer or cheaper models"],
        );
        check(
            &["a: a/x*0", "b: b/y", "c: a b"],
            &[
                "0.panel[0]: cannot read the model `a/x*0`: the number after `*` is between 1 and 64; write it like `a/x*3`",
            ],
        );
    }

    #[test]
    fn a_circle_is_one_error() {
        check(
            &["a: a b", "b: b/x", "end: a b"],
            &["0.from[0]: the stage `a` reads itself; take one of these names out of its `from`"],
        );
        check(
            &["x: a/x", "a: x c", "b: a x", "c: b x", "end: c x"],
            &[
                "1.from[1]: the stages read each other in a circle: `a`, `c`, `b`, `a`; take one of these names out of its \
               `from`",
            ],
        );
    }

    #[test]
    fn a_strategy_needs_what_its_stage_has() {
        let at = |how: &str, expected: &[&str]| {
            check(&["a: a/x*2", "b: b/y*2", &format!("end: a b / {how}")], expected);
        };
        for how in ["synthesize", "vote", "best-of-n@by=pairs", "best-of-n@by=league", "panel"] {
            at(how, &[]);
        }
        for how in ["moa", "council"] {
            at(
                how,
                &[&format!(
                    "2.strategy: `{how}` asks models again, and the stage `end` has no `panel`; choose another strategy, or \
                     give the stage a `panel`"
                )],
            );
        }
        at(
            "synthesize@paranoid=on",
            &[
                "2.strategy: `paranoid` leaves out the answers of seats, and the stage `end` reads texts; leave it out",
            ],
        );
        at(
            "vote@weights=log-odds",
            &[
                "2.strategy: `weights` needs the accuracy of every answer, and the stage `end` reads texts; leave `weights` \
               out",
            ],
        );
        for (how, word) in [
            ("race", "race"),
            ("cascade", "cascade"),
            ("auto", "auto"),
            ("vote@first=2", "first"),
            ("synthesize@early=2", "early"),
        ] {
            check(
                &[&format!("a: a/x*2 / {how}"), "b: b/y", "end: a b"],
                &[&format!(
                    "0.strategy: `{word}` decides who is asked first, and the stages of a flow ask all at once; leave it out"
                )],
            );
        }
        check(
            &["a: a/x*2 / panel", "b: b/y", "end: a b"],
            &[
                "0.strategy: `panel` lists answers, and `a` is read by `end`; list answers in the last stage only",
            ],
        );
        at(
            "fuse",
            &[&format!(
                "2.strategy: there is no strategy `fuse`; choose one of: {}",
                crate::request::strategy::Strategy::names().collect::<Vec<_>>().join(", ")
            )],
        );
    }
}
