//! The rules of a flow: of its graph, and of what each stage may do.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    ABOUT_CHARS_MAX, Flow, FlowError, FlowPlace, FlowStage, NAME_BYTES_MAX, STAGE_CHAIN_MAX, STAGES_MAX,
    StageKey, UnreadKeys, is_name, parsed,
};
use crate::request::panel::SEATS_MAX;
use crate::request::persona;
use crate::request::strategy::{AUTO, Calls, Strategy, StrategyChoice, Weights};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::invisible;
use crate::value::nearest;
use crate::value::next::{Advice, Next};

pub(super) fn errors(flow: &Flow, unread: &UnreadKeys) -> Vec<FlowError> {
    let mut rules = Rules { flow, unread, errors: Vec::new() };
    rules.whole();
    // The rules below take time that grows with the cube of the stages.
    if flow.stages.len() > STAGES_MAX {
        return rules.errors;
    }
    for stage in 0..flow.stages.len() {
        rules.names(stage);
        rules.models(stage);
        rules.inputs(stage);
        rules.strategy(stage);
    }
    rules.seats();
    rules.circles();
    rules.ends();
    rules.errors.sort_by_key(|error| error.place);
    rules.errors
}

/// The errors of a flow so far.
struct Rules<'a> {
    flow: &'a Flow,
    unread: &'a UnreadKeys,
    errors: Vec<FlowError>,
}

impl Rules<'_> {
    fn refuse(&mut self, place: FlowPlace, message: impl AsRef<str>, next: impl Into<Vec<Next>>) {
        self.errors.push(FlowError { place, failure: invalid(message).with_next(next) });
    }

    /// What holds for the flow as a whole.
    fn whole(&mut self) {
        if self.flow.stages.is_empty() {
            self.refuse(FlowPlace::Flow, "a flow has no stage", Next::WriteAs("[stages.NAME]".into()));
        }
        if let Some(about) = &self.flow.about {
            let has_line_end = about.chars().any(char::is_control) || invisible::hidden(about) > 0;
            let chars = about.chars().count();
            if about.trim().is_empty() || chars > ABOUT_CHARS_MAX || has_line_end {
                let message = format!("`about` is one line of 1 to {ABOUT_CHARS_MAX} visible characters");
                self.refuse(FlowPlace::About, message, Advice::Shorten);
            }
        }
        if self.flow.stages.len() > STAGES_MAX {
            let message = format!("a flow has at most {STAGES_MAX} stages");
            self.refuse(FlowPlace::Stage(STAGES_MAX), message, Advice::TakeOut);
        }
    }

    fn names(&mut self, stage: usize) {
        let name = &self.flow.stages[stage].name;
        if !is_name(name) {
            let message = format!(
                "the name of a stage has 1 to {NAME_BYTES_MAX} letters, digits, `-` or `_`, not `{name}`"
            );
            self.refuse(FlowPlace::Stage(stage), message, Advice::RenameStage);
        } else if self.flow.stage(name) != Some(stage) {
            self.refuse(
                FlowPlace::Stage(stage),
                format!("there are two stages `{name}`"),
                Advice::RenameStage,
            );
        }
    }

    /// The models that a stage names.
    fn models(&mut self, stage: usize) {
        for (index, reference) in self.flow.stages[stage].panel.iter().enumerate() {
            if let Err(failure) = parsed(reference) {
                let place = FlowPlace::Entry { stage, key: StageKey::Panel, index };
                self.refuse(place, failure.message.clone(), failure.next_steps().to_vec());
            }
        }
        self.synthesizers(stage);
    }

    /// The synthesizers that a stage names: each one model, asked once if those before it fail.
    fn synthesizers(&mut self, stage: usize) {
        let mut seen = BTreeSet::new();
        for (index, reference) in self.flow.stages[stage].synthesizer.iter().flatten().enumerate() {
            let place = FlowPlace::Entry { stage, key: StageKey::Synthesizer, index };
            if index == STAGE_CHAIN_MAX {
                let message = format!("a stage has at most {STAGE_CHAIN_MAX} synthesizers");
                self.refuse(place, message, Advice::TakeOut);
            }
            let read = parsed(reference).and_then(|entry| persona::refuse(&entry).map(|()| entry));
            match read {
                Err(failure) => self.refuse(place, failure.message.clone(), failure.next_steps().to_vec()),
                Ok(entry) if entry.count != 1 => {
                    let message =
                        format!("`{reference}` is a synthesizer, which is asked once; `*` is for a `panel`");
                    self.refuse(place, message, Next::WriteAs(entry.model.to_string().into()));
                }
                Ok(entry) if !seen.insert(entry.model.clone()) => {
                    self.refuse(
                        place,
                        format!("`synthesizer` names `{}` twice", entry.model),
                        Advice::TakeOut,
                    );
                }
                Ok(_) => {}
            }
        }
    }

    /// What a stage reads, or whom it asks.
    fn inputs(&mut self, stage: usize) {
        let FlowStage { name, from, panel, .. } = &self.flow.stages[stage];
        let names: Vec<&str> = self.flow.stages.iter().map(|stage| stage.name.as_str()).collect();
        let (mut are_known, mut seen) = (true, BTreeSet::new());
        for (index, read) in from.iter().enumerate() {
            let place = FlowPlace::Entry { stage, key: StageKey::From, index };
            if self.flow.stage(read).is_none() {
                let failure =
                    nearest::suggest_or_list(invalid(format!("there is no stage `{read}`")), read, &names);
                self.errors.push(FlowError { place, failure });
                are_known = false;
            } else if !seen.insert(read) {
                self.refuse(place, format!("`from` names `{read}` twice"), Advice::TakeOut);
                are_known = false;
            }
        }
        let is_unread =
            [StageKey::Panel, StageKey::From].iter().any(|key| self.unread.contains(&(stage, *key)));
        if is_unread {
            return;
        }
        match (panel.as_slice(), from.as_slice()) {
            ([], []) => {
                let message = format!("the stage `{name}` has neither `panel` nor `from`");
                self.refuse(FlowPlace::Stage(stage), message, Advice::GiveStageInputs);
            }
            ([_, ..], [_, ..]) => {
                let place = FlowPlace::Key { stage, key: StageKey::From };
                let message = format!("the stage `{name}` has `panel` and `from`; a stage has one of them");
                self.refuse(place, message, Advice::SplitStage);
            }
            ([], [_]) if are_known => {
                let message =
                    format!("the stage `{name}` reads one text and asks no model, so there is nothing to do");
                let place = FlowPlace::Key { stage, key: StageKey::From };
                self.refuse(place, message, Advice::GiveStageMoreInputs);
            }
            _ => {}
        }
    }

    /// What the strategy of a stage needs.
    fn strategy(&mut self, stage: usize) {
        let of = &self.flow.stages[stage];
        let place = FlowPlace::Key { stage, key: StageKey::Strategy };
        if self.unread.contains(&(stage, StageKey::Strategy)) {
            return;
        }
        if of.strategy() == AUTO {
            return self.at_once(stage, AUTO);
        }
        let choice = match StrategyChoice::parse(of.strategy()) {
            Ok(choice) => choice,
            Err(failure) => {
                let failure = invalid(&failure.message).with_next(failure.next_steps());
                return self.errors.push(FlowError { place, failure });
            }
        };
        if let Some(word) = steers(choice) {
            self.at_once(stage, word);
        }
        let (name, strategy) = (&of.name, choice.strategy);
        let reader = self.flow.stages.iter().find(|other| other.from.contains(name));
        if let (Strategy::Panel, Some(reader)) = (strategy, reader) {
            let message = format!("`panel` lists answers, and `{name}` is read by `{}`", reader.name);
            self.refuse(place, message, Advice::ListAtTheEnd);
        }
        let asks_none = of.panel.is_empty() && !of.from.is_empty();
        if !asks_none || self.unread.contains(&(stage, StageKey::Panel)) {
            return;
        }
        let options = choice.options;
        if asks_again(strategy) {
            let message =
                format!("`{}` asks models again, and the stage `{name}` has no `panel`", strategy.name());
            self.refuse(place, message, Advice::GiveStagePanel);
        } else if options.is_paranoid() {
            let message =
                format!("`paranoid` leaves out the answers of seats, and the stage `{name}` reads texts");
            self.refuse(place, message, Advice::LeaveItOut);
        } else if options.weights == Some(Weights::LogOdds) {
            let message =
                format!("`weights` needs the accuracy of every answer, and the stage `{name}` reads texts");
            self.refuse(place, message, Advice::LeaveWeightsOut);
        }
    }

    /// Refuses what decides who is asked first, unless the stage is alone.
    fn at_once(&mut self, stage: usize, word: &str) {
        if !self.flow.is_preset() {
            let message =
                format!("`{word}` decides who is asked first, and the stages of a flow ask all at once");
            self.refuse(FlowPlace::Key { stage, key: StageKey::Strategy }, message, Advice::LeaveItOut);
        }
    }

    /// The seats of all stages together.
    fn seats(&mut self) {
        let mut seats = 0;
        for (stage, of) in self.flow.stages.iter().enumerate() {
            let before = seats;
            seats += if of.panel.is_empty() { 0 } else { of.seats() };
            if before <= SEATS_MAX && seats > SEATS_MAX {
                let message = format!("with this stage the flow has {seats} seats; at most {SEATS_MAX}");
                self.refuse(FlowPlace::Key { stage, key: StageKey::Panel }, message, Advice::AskFewerModels);
            }
        }
    }

    /// One error for each set of stages that read each other.
    fn circles(&mut self) {
        let reaches = self.reaches();
        let mut seen = vec![false; reaches.len()];
        for start in 0..reaches.len() {
            if seen[start] || !reaches[start][start] {
                continue;
            }
            let is_in = |stage: usize| reaches[start][stage] && reaches[stage][start];
            (0..reaches.len()).filter(|stage| is_in(*stage)).for_each(|stage| seen[stage] = true);
            let from = &self.flow.stages[start].from;
            let in_circle = |name: &String| self.flow.stage(name).filter(|read| is_in(*read));
            let Some((index, first)) =
                from.iter().enumerate().find_map(|(index, name)| Some((index, in_circle(name)?)))
            else {
                continue;
            };
            let name = |stage: usize| format!("`{}`", self.flow.stages[stage].name);
            let message = if first == start {
                format!("the stage {} reads itself", name(start))
            } else {
                let path = self.path(first, start);
                let names: Vec<String> = [start].into_iter().chain(path).map(name).collect();
                format!("the stages read each other in a circle: {}", names.join(", "))
            };
            let place = FlowPlace::Entry { stage: start, key: StageKey::From, index };
            self.refuse(place, message, Advice::BreakCircle);
        }
    }

    /// Which stage reads which, directly or through others.
    fn reaches(&self) -> Vec<Vec<bool>> {
        let count = self.flow.stages.len();
        let mut reaches = vec![vec![false; count]; count];
        for (stage, reached) in reaches.iter_mut().enumerate() {
            self.flow.reads(stage).into_iter().for_each(|read| reached[read] = true);
        }
        for through in 0..count {
            for stage in 0..count {
                for read in 0..count {
                    reaches[stage][read] |= reaches[stage][through] && reaches[through][read];
                }
            }
        }
        reaches
    }

    /// A shortest way from one stage to another over what they read, both included.
    fn path(&self, first: usize, last: usize) -> Vec<usize> {
        let mut before = BTreeMap::from([(first, first)]);
        let mut queue = VecDeque::from([first]);
        while let Some(stage) = queue.pop_front() {
            for read in self.flow.reads(stage) {
                if let Entry::Vacant(new) = before.entry(read) {
                    new.insert(stage);
                    queue.push_back(read);
                }
            }
        }
        let mut path = vec![last];
        while let Some(stage) =
            path.last().filter(|stage| **stage != first).and_then(|stage| before.get(stage))
        {
            path.push(*stage);
        }
        path.reverse();
        path
    }

    /// A flow ends in one stage. The last one that nothing reads is taken for it.
    fn ends(&mut self) {
        let are_all_read =
            !(0..self.flow.stages.len()).any(|stage| self.unread.contains(&(stage, StageKey::From)));
        let is_read = |name: &String| self.flow.stages.iter().any(|other| other.from.contains(name));
        let stages = self.flow.stages.iter().enumerate();
        let ends: Vec<(usize, &FlowStage)> = stages.filter(|(_, stage)| !is_read(&stage.name)).collect();
        let Some(((_, last), others)) = ends.split_last().filter(|_| are_all_read) else { return };
        for (stage, other) in others {
            let message = format!(
                "the stage `{}` is read by no other, and neither is `{}`: a flow ends in one stage",
                other.name, last.name
            );
            self.refuse(FlowPlace::Stage(*stage), message, Advice::ReadStageOrTakeOut);
        }
    }
}

/// What in this strategy decides who is asked first.
fn steers(choice: StrategyChoice) -> Option<&'static str> {
    let StrategyChoice { strategy, options } = choice;
    let steering = [
        (strategy.needs_one() || strategy.first().is_some(), strategy.name()),
        (options.first.is_some(), "first"),
        (options.early.is_some(), "early"),
        (options.hedge_after_ms.is_some(), "hedge_after_ms"),
    ];
    steering.into_iter().find(|(steers, _)| *steers).map(|(_, word)| word)
}

/// Whether the strategy asks the models of its panel, so that it cannot do without one.
fn asks_again(strategy: Strategy) -> bool {
    matches!(strategy.calls(), Calls::Reviews | Calls::Layers)
}

fn invalid(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::SettingsInvalid, message)
}
