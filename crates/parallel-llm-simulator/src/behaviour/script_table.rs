//! Chooses the script of a request: by its scenario, its model, the entry for all models, or the default.
//!
//! It counts the requests of each script for `fail_first` and `fail_probability`. It does not know what a fault does.

use std::collections::HashMap;

use super::config::SimulatorConfig;
use super::fault::{Fault, UnknownFault};
use super::script::{AFTER_TOKENS, Behaviour, Script};
use super::seed::Draw;

/// The key of the script for every model.
pub(crate) const EVERY_MODEL: &str = "*";

/// Most scenarios counted for `fail_first`; those beyond play their fault every time.
const SCENARIOS_MAX: usize = 10_000;

/// A script whose choices are made for one request.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedScript {
    pub(crate) behaviour: Behaviour,
    pub(crate) fault: Option<Fault>,
    pub(crate) retry_after: Option<String>,
    pub(crate) after_tokens: u32,
}

/// All scripts, with the number of requests that used each.
#[derive(Debug)]
pub(crate) struct ScriptTable {
    seed: u64,
    behaviour: Behaviour,
    scripts: HashMap<String, Running>,
    scenarios: HashMap<String, u32>,
}

/// A script and the number of requests that used it.
#[derive(Debug)]
struct Running {
    script: Script,
    met: u32,
}

impl ScriptTable {
    pub(crate) fn new(config: &SimulatorConfig) -> Self {
        let mut table = Self {
            seed: config.seed,
            behaviour: config.behaviour.clone(),
            scripts: HashMap::new(),
            scenarios: HashMap::new(),
        };
        for (slug, script) in &config.scripts {
            table.set(slug, script.clone());
        }
        table
    }

    /// Sets the script of this slug and restarts its count.
    pub(crate) fn set(&mut self, slug: &str, script: Script) {
        self.scripts.insert(slug.to_owned(), Running { script, met: 0 });
    }

    /// The script for a request that asked for `asked` and is served by `served`. A scenario takes precedence over
    /// scripts, but the behaviour is still the model's.
    pub(crate) fn resolve(
        &mut self,
        scenario: Option<&str>,
        asked: &str,
        served: &str,
    ) -> Result<ResolvedScript, UnknownFault> {
        let slug = [asked, served, EVERY_MODEL].into_iter().find(|slug| self.scripts.contains_key(*slug));
        let running = slug.and_then(|slug| self.scripts.get_mut(slug));
        let behaviour = running.as_ref().and_then(|running| running.script.behaviour.as_ref());
        let behaviour = behaviour.unwrap_or(&self.behaviour).clone();
        if let Some(scenario) = scenario {
            let met = count(&mut self.scenarios, scenario, asked);
            return Ok(scenario.parse::<Script>()?.resolve(behaviour, met, || true));
        }
        let (Some(slug), Some(running)) = (slug, running) else {
            return Ok(Script::default().resolve(behaviour, 0, || true));
        };
        let met = running.met;
        running.met = running.met.saturating_add(1);
        let probability = running.script.fail_probability;
        let fails = || probability.is_none_or(|probability| chance(self.seed, slug, met) < probability);
        Ok(running.script.resolve(behaviour, met, fails))
    }
}

/// A number in [0, 1) for the `met`-th request of a script, drawn from the seed.
fn chance(seed: u64, slug: &str, met: u32) -> f64 {
    Draw::new(seed, &["fail", slug, &met.to_string()]).fraction()
}

/// How often this slug has played this scenario before.
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
    fn resolve(&self, behaviour: Behaviour, met: u32, fails: impl FnOnce() -> bool) -> ResolvedScript {
        let fault = self.fault.filter(|_| self.fail_first.is_none_or(|count| met < count));
        ResolvedScript {
            behaviour,
            fault: fault.filter(|_| fails()),
            retry_after: self.retry_after.clone(),
            after_tokens: self.after_tokens.unwrap_or(AFTER_TOKENS),
        }
    }
}
