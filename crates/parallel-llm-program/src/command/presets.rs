//! `presets`: the named panels of the settings and the built-in ones.

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::{Failure, RunRequest};
use parallel_llm_settings::settings::{Origin, Preset, Settings};
use serde::Serialize;

use super::CommandContext;
use super::models::pretty;
use crate::exit;

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The width of a page in columns.
const COLUMNS: usize = 80;

/// Show the named panels
///
/// Example: parallel-llm-mcp presets
///
/// Example: parallel-llm-mcp presets quick
///
/// What a preset leaves out comes from the settings. Add your own as `[presets.NAME]` in the settings file.
#[derive(Debug, clap::Args)]
pub struct Presets {
    /// Show everything about this preset; all presets without one
    pub preset: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What a question with a preset runs with.
#[derive(Debug, Serialize)]
struct Effective {
    name: String,
    origin: String,
    panel: Vec<String>,
    synthesizer: Vec<String>,
    strategy: String,
    max_tokens: u32,
    budget_usd: f64,
    /// `None` leaves it to each provider.
    temperature: Option<f64>,
}

/// Runs the command.
pub(super) fn run(context: &CommandContext<'_>, presets: &Presets) -> Result<u8, Failure> {
    let settings = &context.service.settings;
    let shown: Vec<Effective> = match &presets.preset {
        Some(name) => vec![effective(settings, name, settings.preset(name)?)],
        None => settings.presets.iter().map(|(name, preset)| effective(settings, name, preset)).collect(),
    };
    if presets.json {
        let json = serde_json::json!({ "schema": SCHEMA, "presets": shown });
        context.console.data(&pretty(&json));
        return Ok(exit::ANSWER);
    }
    let is_whole = presets.preset.is_some();
    let pages: Vec<String> = shown.iter().map(|preset| page(preset, is_whole)).collect();
    context.console.page(&pages.join("\n\n"));
    if !is_whole {
        context.console.say("\nUse one with `ask --preset NAME`; `presets NAME` shows everything about it.");
    }
    Ok(exit::ANSWER)
}

/// The preset over the settings.
fn effective(settings: &Settings, name: &str, preset: &Preset) -> Effective {
    let (mut request, mut defaults) = (RunRequest::default(), settings.defaults());
    preset.fill(&mut request, &mut defaults);
    let Defaults { panel, synthesizers, strategy, max_tokens, budget, .. } = defaults;
    Effective {
        name: name.to_owned(),
        origin: match &preset.origin {
            Origin::Default => "built in".to_owned(),
            origin => origin.to_string(),
        },
        panel,
        synthesizer: synthesizers,
        strategy,
        max_tokens,
        budget_usd: budget.as_usd(),
        temperature: request.temperature,
    }
}

fn page(preset: &Effective, is_whole: bool) -> String {
    let mut lines = vec![format!("{} ({})", preset.name, preset.origin)];
    let mut add = |name: &str, value: &str| {
        let options = textwrap::Options::new(COLUMNS)
            .initial_indent("  ")
            .subsequent_indent("               ")
            .break_words(false)
            // A model's name is copied, so it stays whole.
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        lines.extend(textwrap::wrap(&format!("{name:<13}{value}"), options).into_iter().map(String::from));
    };
    add("models", &preset.panel.join(", "));
    add("synthesizer", &preset.synthesizer.join(", "));
    if is_whole {
        add("strategy", &preset.strategy);
        add("max_tokens", &preset.max_tokens.to_string());
        add("budget_usd", &preset.budget_usd.to_string());
        let temperature = preset.temperature.map(|temperature| temperature.to_string());
        add("temperature", temperature.as_deref().unwrap_or("left to each provider"));
    }
    lines.join("\n")
}
