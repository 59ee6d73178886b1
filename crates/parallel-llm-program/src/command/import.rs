//! `import`: imports the settings of the Python server that this program replaces.

use std::io::IsTerminal;
use std::path::PathBuf;

use parallel_llm_engine::Failure;
use serde_json::json;

use super::install::ask;
use super::models::pretty;
use super::{CommandContext, install, keys};
use crate::exit;
use parallel_llm_engine::text::safe;
use parallel_llm_service::{KeyImport, ModelState, OPENROUTER};

/// The longest value shown, in characters.
const VALUE_CHARS_MAX: usize = 400;

/// Import the settings of the Python server that this replaces
///
/// Reads its `mcp_config.json` and its `ai_models.txt`, shows the changes to your own settings, and asks before it
/// writes. Models that are no longer offered are reported and left out. The key is stored as by `keys set`, and never
/// shown.
///
/// Example: parallel-llm-mcp import ~/parallel-llm
#[derive(Debug, clap::Args)]
pub struct Import {
    /// The folder of the Python server, or one of the files; the current folder without one
    pub path: Option<PathBuf>,
    /// Write without asking
    #[arg(long)]
    pub yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, import: &Import) -> Result<u8, Failure> {
    let here = &install::config_paths(context)?.current_dir;
    let path = import.path.as_ref().map_or_else(|| here.clone(), |path| here.join(path));
    let found = context.service.import.read(&path).await?;
    if !import.json {
        render(context, &found);
    }
    let written = !found.is_done() && consent(context, import)?;
    let (kept, copy) = if written { found.write(&context.service.settings).await? } else { (None, None) };
    if import.json {
        let described = json!({
            "schema": 1,
            "sources": found.sources,
            "items": found.items,
            "models": found.models,
            "key": found.key,
            "path": found.path,
            "diff": found.diff(),
            "written": written,
            "copy": copy,
        });
        context.console.data(&pretty(&described));
        return Ok(exit::ANSWER);
    }
    let console = &context.console;
    match (found.is_done(), written) {
        (true, _) => console.say("nothing to do: your settings have all that can be taken over"),
        (false, false) => console.say("nothing is written; `--yes` writes it"),
        (false, true) if found.diff().is_empty() => {}
        (false, true) => console.say(&format!("taken over: {} says so now", found.path.display())),
    }
    if let Some(kept) = kept {
        keys::render_kept(context, OPENROUTER, &kept);
        console.say("next: take the key out of the old file, and run `doctor`");
    }
    if let Some(copy) = copy {
        console.say(&format!("what was there is kept in {}", copy.display()));
    }
    Ok(exit::ANSWER)
}

/// Asks whether the settings may be written.
fn consent(context: &CommandContext<'_>, import: &Import) -> Result<bool, Failure> {
    if import.yes || import.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(import.yes);
    }
    ask(context, "Take this over? [y/N]")
}

/// Shows what was found and what happens to it. Names and values are untrusted.
fn render(context: &CommandContext<'_>, found: &parallel_llm_service::Import) {
    let console = &context.console;
    for source in &found.sources {
        console.say(&format!("read {}", source.display()));
    }
    match found.key {
        KeyImport::Keep => console.say("OPENROUTER_API_KEY: goes where `keys set openrouter` keeps it"),
        KeyImport::Known => console.say(
            "OPENROUTER_API_KEY: left out, because a key is kept already; `keys set openrouter` puts another in its place",
        ),
        KeyImport::Command => console.say("OPENROUTER_API_KEY: left out, because a `key_command` gives one"),
        KeyImport::None => {}
    }
    for item in &found.items {
        let from = safe::excerpt(&item.from, VALUE_CHARS_MAX);
        let becomes = match (&item.setting, &item.left_out) {
            (Some(setting), _) => format!("becomes `{setting}`"),
            (None, why) => format!("left out: {}", why.as_deref().unwrap_or_default()),
        };
        console.say(&format!("{from}: {}", safe::excerpt(&becomes, VALUE_CHARS_MAX)));
    }
    // Models that are gone are among the items; a missing key is no news while one is imported.
    for model in found.models.iter().filter(|model| model.state == ModelState::Unknown) {
        let message = safe::excerpt(model.message.as_deref().unwrap_or_default(), VALUE_CHARS_MAX);
        console.say(&format!("{}: {message}", safe::excerpt(&model.id, VALUE_CHARS_MAX)));
    }
    let diff = found.diff();
    if !diff.is_empty() {
        console.data(&diff);
    }
}
