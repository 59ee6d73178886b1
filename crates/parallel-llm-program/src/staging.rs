//! The stage of the demo: a simulated provider, and a data folder of its own, which each demo empties.

use std::path::Path;

use parallel_llm_app::wire;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::Dialect;
use parallel_llm_service::Services;
use parallel_llm_settings::settings::{Origin, ProviderKey, ProviderSettings, Settings};
use parallel_llm_simulator::{Simulator, SimulatorConfig};
use secrecy::SecretString;

/// The program against a simulated provider that it starts itself, under the demo's settings, in an emptied data
/// folder.
pub(crate) async fn stage_demo(settings: &Settings) -> Result<(Simulator, Services), Failure> {
    empty(&settings.data_dir)?;
    stage_models(settings).await
}

/// The program against a simulated provider that it starts itself, with the runs of the last demo.
pub(crate) async fn stage_models(settings: &Settings) -> Result<(Simulator, Services), Failure> {
    let simulator = Simulator::start(SimulatorConfig::demo()).await.map_err(|error| {
        Failure::new(Code::OutputUnwritable, format!("the demo cannot use a local port: {error}"))
    })?;
    let pretend = ProviderSettings {
        base_url: Some(simulator.base_url()),
        dialect: Dialect::of_base_url(&simulator.base_url()),
        key: ProviderKey::Set { key: SecretString::from(simulator.api_key()), origin: Origin::Default },
        ..settings.default_provider().clone()
    };
    let service = wire(&Settings { providers: vec![pretend], ..settings.clone() });
    Ok((simulator, service))
}

/// Where the data of an earlier demo goes before it is removed.
const ASIDE: &str = ".demo-removed";

/// Removes the data of an earlier demo. Fails for a folder of that name that is not a demo's.
fn empty(folder: &Path) -> Result<(), Failure> {
    let unusable = |why: &str| {
        let message = format!("the demo cannot use `{}`: {why}", folder.display());
        let next = [Next::Do(Advice::SetDataFolder), Next::Do(Advice::MoveAway)];
        Failure::new(Code::OutputUnwritable, message).with_next(next)
    };
    let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    let is_empty = match std::fs::read_dir(folder) {
        Err(error) if is_missing(&error) => return Ok(()),
        entries => entries.map_err(|error| unusable(&error.to_string()))?.next().is_none(),
    };
    // A demo always leaves its database, because that is opened first.
    if !is_empty && !folder.join("runs.db.lock").exists() {
        return Err(unusable("there is something in it that no demo has left"));
    }
    // A demo whose window was closed may still write. Removed in place, what it leaves would pass for somebody else's.
    let aside = folder.with_file_name(ASIDE);
    let removed = || match std::fs::remove_dir_all(&aside) {
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    };
    removed().and_then(|()| std::fs::rename(folder, &aside)).map_err(|error| unusable(&error.to_string()))?;
    // The next demo removes what remains.
    let _ = removed();
    Ok(())
}
