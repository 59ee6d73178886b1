//! `presets`: the named panels of the settings and the built-in ones, and the flows.

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::{Failure, RunRequest};
use parallel_llm_settings::settings::{Flows, Named, NamedFlow, Preset, Settings};
use serde::Serialize;

use super::flow;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// Show the named panels
///
/// Example: parallel-llm-mcp presets
///
/// Example: parallel-llm-mcp presets quick
///
/// What a preset leaves out comes from the settings. Add your own as `[presets.NAME]` in the settings file. Flows, which
/// compose stages, are listed as well; `flow show NAME` draws a preset or flow with its cost.
#[derive(Debug, clap::Args)]
pub struct Presets {
    /// Show everything about this preset or flow; all without one
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
    /// `None` if there is no limit.
    budget_usd: Option<f64>,
    /// `None` leaves it to each provider.
    temperature: Option<f64>,
}

/// Runs the command.
pub(in crate::command) async fn run(context: &CommandContext<'_>, presets: &Presets) -> Result<u8, Failure> {
    let settings = &context.service.settings;
    let shown: Vec<Effective> = match &presets.preset {
        Some(name) => match settings.named(name)? {
            Named::Preset(preset) => vec![effective(settings, name, preset)],
            Named::Flow(_) => return flow::show(context, name, presets.json).await,
        },
        None => settings.presets.iter().map(|(name, preset)| effective(settings, name, preset)).collect(),
    };
    let is_whole = presets.preset.is_some();
    let flows: &Flows = if is_whole { &Flows::new() } else { &settings.flows };
    if presets.json {
        let mut json = serde_json::json!({ "schema": SCHEMA, "presets": shown });
        if !is_whole {
            json["flows"] = flow::list(settings);
        }
        context.console.data(&pretty(&json));
        return Ok(exit::ANSWER);
    }
    let width = context.console.page_columns();
    let mut pages: Vec<String> = shown.iter().map(|preset| page(preset, is_whole, width)).collect();
    pages.extend(
        flows.iter().filter_map(|(name, file)| Some(flow_page(name, file.flow.as_ref().ok()?, width))),
    );
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
        origin: flow::origin(preset),
        panel,
        synthesizer: synthesizers,
        strategy,
        max_tokens,
        budget_usd: budget.limit_as_usd(),
        temperature: request.temperature,
    }
}

/// A flow among the presets.
fn flow_page(name: &str, NamedFlow { flow, .. }: &NamedFlow, width: usize) -> String {
    let mut lines = vec![format!("{name} (flow)")];
    lines.extend(flow.about.iter().flat_map(|about| field("about", about, width)));
    let stages: Vec<&str> = flow.stages.iter().map(|stage| stage.name.as_str()).collect();
    lines.extend(field("stages", &stages.join(", "), width));
    lines.join("\n")
}

/// A name and its value in lines.
fn field(name: &str, value: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width)
        .initial_indent("  ")
        .subsequent_indent("               ")
        .break_words(false)
        // A model's name is copied, so it stays whole.
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(&format!("{name:<13}{value}"), options).into_iter().map(String::from).collect()
}

fn page(preset: &Effective, is_whole: bool, width: usize) -> String {
    let mut lines = vec![format!("{} ({})", preset.name, preset.origin)];
    let mut add = |name: &str, value: &str| lines.extend(field(name, value, width));
    add("panel", &preset.panel.join(", "));
    add("synthesizer", &preset.synthesizer.join(", "));
    if is_whole {
        add("strategy", &preset.strategy);
        add("max_tokens", &preset.max_tokens.to_string());
        let budget = preset.budget_usd.map(|usd| usd.to_string());
        add("budget_usd", budget.as_deref().unwrap_or("none"));
        let temperature = preset.temperature.map(|temperature| temperature.to_string());
        add("temperature", temperature.as_deref().unwrap_or("left to each provider"));
    }
    lines.join("\n")
}
