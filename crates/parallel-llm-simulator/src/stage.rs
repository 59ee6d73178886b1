//! Which script is on: by the request's scenario, by model, for all models, or the default behaviour.
//!
//! It counts how often a fault was met, for `fail_first`. It does not know what a fault does.

use std::collections::{BTreeMap, HashMap};

use crate::fault::{Fault, UnknownFault};
use crate::script::{AFTER_TOKENS, Behaviour, Script};

/// The slug under which a script for every model is kept.
pub(crate) const EVERY_MODEL: &str = "*";

/// Scenarios counted for `fail_first`; beyond that their fault is met every time.
const SCENARIOS_MAX: usize = 10_000;

/// What one request is to meet: a script with nothing left open.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    pub(crate) behaviour: Behaviour,
    pub(crate) fault: Option<Fault>,
    pub(crate) retry_after: Option<String>,
    pub(crate) after_tokens: u32,
}

/// All scripts, and how often each fault was met.
#[derive(Debug)]
pub(crate) struct Stage {
    behaviour: Behaviour,
    scripts: HashMap<String, Running>,
    scenarios: HashMap<String, u32>,
}

/// A script and the requests its fault has met.
#[derive(Debug)]
struct Running {
    script: Script,
    met: u32,
}

impl Stage {
    pub(crate) fn new(behaviour: &Behaviour, scripts: &BTreeMap<String, Script>) -> Self {
        let mut stage =
            Self { behaviour: behaviour.clone(), scripts: HashMap::new(), scenarios: HashMap::new() };
        for (slug, script) in scripts {
            stage.set(slug, script.clone());
        }
        stage
    }

    /// Puts a script on for this slug, from its first line.
    pub(crate) fn set(&mut self, slug: &str, script: Script) {
        self.scripts.insert(slug.to_owned(), Running { script, met: 0 });
    }

    /// What a request for `asked`, which `served` answers, is to meet. A scenario wins over scripts; its behaviour is
    /// still the model's.
    pub(crate) fn act(
        &mut self,
        scenario: Option<&str>,
        asked: &str,
        served: &str,
    ) -> Result<Act, UnknownFault> {
        let slug = [asked, served, EVERY_MODEL].into_iter().find(|slug| self.scripts.contains_key(*slug));
        let running = slug.and_then(|slug| self.scripts.get_mut(slug));
        let behaviour = running.as_ref().and_then(|running| running.script.behaviour.as_ref());
        let behaviour = behaviour.unwrap_or(&self.behaviour).clone();
        if let Some(scenario) = scenario {
            let met = count(&mut self.scenarios, scenario, asked);
            return Ok(scenario.parse::<Script>()?.act(behaviour, met));
        }
        let Some(running) = running else { return Ok(Script::default().act(behaviour, 0)) };
        let met = running.met;
        running.met = running.met.saturating_add(1);
        Ok(running.script.act(behaviour, met))
    }
}

/// How often this scenario was played for this slug before.
fn count(scenarios: &mut HashMap<String, u32>, scenario: &str, slug: &str) -> u32 {
    let key = format!("{scenario} {slug}");
    if scenarios.len() >= SCENARIOS_MAX && !scenarios.contains_key(&key) {
        return 0;
    }
    let met = scenarios.entry(key).or_insert(0);
    *met = met.saturating_add(1);
    *met - 1
}

impl Script {
    fn act(&self, behaviour: Behaviour, met: u32) -> Act {
        Act {
            behaviour,
            fault: self.fault.filter(|_| self.fail_first.is_none_or(|count| met < count)),
            retry_after: self.retry_after.clone(),
            after_tokens: self.after_tokens.unwrap_or(AFTER_TOKENS),
        }
    }
}
