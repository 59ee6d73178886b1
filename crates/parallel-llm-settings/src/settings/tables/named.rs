//! What a name after `--preset` stands for: a preset, or a flow.

use std::collections::BTreeSet;

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunRequest};

use super::flow::FlowFile;
use super::flow::named_flow::{FlowErrors, NamedFlow};
use super::preset::Preset;
use crate::settings::Settings;
use crate::settings::value::failure::invalid;
use crate::settings::value::origin::Origin;

/// What a name after `--preset` stands for.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// A preset.
    Preset(&'a Preset),
    /// A flow.
    Flow(&'a NamedFlow),
}

impl Named<'_> {
    /// Applies it below the request's own options and above the settings.
    pub fn fill(&self, request: &mut RunRequest, defaults: &mut Defaults) {
        match self {
            Self::Preset(preset) => preset.fill(request, defaults),
            Self::Flow(flow) => flow.fill(defaults),
        }
    }
}

impl<'a> Named<'a> {
    /// The strategy it names. That of a flow with several stages is not one strategy.
    pub fn strategy(self) -> Option<&'a String> {
        match self {
            Self::Preset(preset) => preset.strategy.as_ref(),
            Self::Flow(named) if named.flow.is_preset() => named.flow.stages.first()?.strategy.as_ref(),
            Self::Flow(_) => None,
        }
    }
}

impl Settings {
    /// The preset or flow of this name, in any case if no other has it exactly. A flow replaces a built-in preset.
    pub fn named(&self, name: &str) -> Result<Named<'_>, Failure> {
        let name = self.in_its_case(name);
        if let Some(preset) = self.presets.get(name).filter(|preset| preset.origin != Origin::Default) {
            return Ok(Named::Preset(preset));
        }
        if let Some(file) = self.flows.get(name) {
            return file.flow.as_ref().map(Named::Flow).map_err(FlowErrors::failure);
        }
        self.presets.get(name).map(Named::Preset).ok_or_else(|| {
            let names: Vec<&str> = self.names().into_iter().collect();
            let failure = Failure::new(Code::Usage, format!("there is no preset or flow `{name}`"));
            nearest::suggest_or_list(failure, name, &names)
        })
    }

    /// The name as it is written where the preset or flow is defined.
    fn in_its_case<'n>(&'n self, name: &'n str) -> &'n str {
        if self.presets.contains_key(name) || self.flows.contains_key(name) {
            return name;
        }
        let mut names = self.presets.keys().chain(self.flows.keys());
        names.find(|known| known.eq_ignore_ascii_case(name)).map_or(name, String::as_str)
    }

    /// The names of all presets, and of the flows that can be read.
    pub fn names(&self) -> BTreeSet<&str> {
        let flows = self.flows.iter().filter(|(_, file)| file.flow.is_ok()).map(|(name, _)| name.as_str());
        self.presets.keys().map(String::as_str).chain(flows).collect()
    }

    /// The flow, refused if the user or the project has a preset of its name: a name has one meaning.
    pub(in crate::settings) fn apart_from_presets(
        &self,
        (name, file): (String, FlowFile),
    ) -> (String, FlowFile) {
        let Some(preset) = self.presets.get(&name).filter(|preset| preset.origin != Origin::Default) else {
            return (name, file);
        };
        let message = format!("there is a preset `{name}` already ({})", preset.origin);
        let file = file.refused(invalid(message).with_next(Advice::RenameFile));
        (name, file)
    }
}
