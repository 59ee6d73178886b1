//! `strategies`: which strategy fits which situation, and the options of one.

use parallel_llm_engine::Failure;
use parallel_llm_engine::plan::call_count::CallCount;
use parallel_llm_engine::request::panel::PanelEntry;
use parallel_llm_engine::request::strategy::{AUTO, AUTO_ABOUT, AUTO_SITUATION, Strategy, StrategyOption};
use parallel_llm_settings::settings::Settings;
use serde::Serialize;

use crate::called;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;
use crate::terminal::table::{self, Column};

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The longest situation shown, in characters.
const SITUATION_CHARS_MAX: usize = 60;

/// Choose how the answers become one text
///
/// Example: parallel-llm-mcp strategies
///
/// Example: parallel-llm-mcp strategies vote
#[derive(Debug, clap::Args)]
pub struct Strategies {
    /// Describe this strategy and its options; all strategies without one
    pub strategy: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The description of a strategy for users.
#[derive(Debug, Serialize)]
struct Choice {
    name: &'static str,
    #[serde(rename = "for")]
    situation: &'static str,
    about: &'static str,
    is_default: bool,
    /// The calls for one question to the panel; `None` if they depend on the question.
    calls: Option<CallCount>,
    options: Vec<StrategyOption>,
}

/// Runs the command.
pub(in crate::command) fn run(context: &CommandContext<'_>, strategies: &Strategies) -> Result<u8, Failure> {
    let settings = &context.service.settings;
    let seats = seats(settings)?;
    let mut choices = choices(settings, seats);
    if let Some(name) = &strategies.strategy {
        let name = Strategy::find(name)?.map_or(AUTO, Strategy::name);
        choices.retain(|choice| choice.name == name);
    }
    let width = context.console.page_columns();
    if strategies.json {
        let json = serde_json::json!({ "schema": SCHEMA, "seats": seats, "strategies": choices });
        context.console.data(&pretty(&json));
    } else if strategies.strategy.is_some() {
        for choice in &choices {
            context.console.page(&page(choice, seats, width));
        }
    } else {
        context.console.page(&chooser(&choices, seats, width));
    }
    Ok(exit::ANSWER)
}

/// How many seats the panel of the settings has.
fn seats(settings: &Settings) -> Result<usize, Failure> {
    let is_provider = |name: &str| settings.providers.iter().any(|provider| provider.id.0 == name);
    let default = &settings.default_provider().id;
    let counts = settings
        .panel
        .iter()
        .map(|reference| PanelEntry::parse(reference, default, is_provider).map(|entry| entry.count));
    counts.sum()
}

/// Every strategy, in the order of the chooser.
fn choices(settings: &Settings, seats: usize) -> Vec<Choice> {
    let default = settings.strategy.split('@').next().unwrap_or_default();
    let named = Strategy::ALL.iter().map(|strategy| Choice {
        name: strategy.name(),
        situation: strategy.situation(),
        about: strategy.about(),
        is_default: strategy.name() == default,
        calls: Some(CallCount::of(*strategy, seats)),
        options: strategy.options().collect(),
    });
    let auto = Choice {
        name: AUTO,
        situation: AUTO_SITUATION,
        about: AUTO_ABOUT,
        is_default: default == AUTO,
        calls: None,
        options: Vec::new(),
    };
    named.chain([auto]).collect()
}

fn chooser(choices: &[Choice], seats: usize, width: usize) -> String {
    const COLUMNS: [Column; 4] = [
        Column::words("", 1),
        Column::words("STRATEGY", 16),
        Column::words("CALLS", 7),
        Column::words("FOR", SITUATION_CHARS_MAX),
    ];
    let rows: Vec<Vec<String>> = choices
        .iter()
        .map(|choice| {
            let mark = if choice.is_default { "*" } else { "" };
            let calls = choice.calls.map_or_else(String::new, range);
            [mark, choice.name, &calls, choice.situation].map(str::to_owned).to_vec()
        })
        .collect();
    let table = table::lines(&COLUMNS, &rows).join("\n");
    let calls = format!(
        "CALLS are those of one question to your panel of {seats}: the fewest if the first answers agree."
    );
    let notes = format!(
        "* is your default. {calls} Use one with `ask --strategy NAME`; `strategies NAME` shows its options."
    );
    format!("{table}\n\n{}", textwrap::fill(&notes, width))
}

fn range(calls: CallCount) -> String {
    let CallCount { fewest, most } = calls;
    if fewest == most { most.to_string() } else { format!("{fewest}-{most}") }
}

fn page(choice: &Choice, seats: usize, width: usize) -> String {
    let Choice { name, situation, about, .. } = choice;
    let mut lines = textwrap::wrap(about, width).into_iter().map(String::from).collect::<Vec<_>>();
    lines.push(String::new());
    lines.push(format!("For:    {situation}"));
    if let Some(calls) = choice.calls {
        lines.push(format!("Calls:  {} with your panel of {seats}", range(calls)));
    }
    lines.push(format!("Use:    {} ask --strategy {name} \"...\"", called::name()));
    if let Some(option) = choice.options.first() {
        // The first word that is not the default; of a range, its beginning.
        let value = option.values.get(1).or(option.values.first());
        let value = value.and_then(|value| value.split("..").next()).unwrap_or_default();
        let has_words = choice.options.iter().any(|option| option.values.len() > 1);
        let default = if has_words { "; the first word is the default" } else { "" };
        lines.push(format!("\nOptions, written as in `{name}@{}={value}`{default}:", option.name));
    }
    lines.extend(choice.options.iter().map(option_line));
    lines.join("\n")
}

/// An option with its values, its default if that is a number, and its meaning.
fn option_line(option: &StrategyOption) -> String {
    let default = option.default.as_ref().filter(|default| !option.values.contains(default));
    let default = default.map_or_else(String::new, |default| format!(" ({default})"));
    let values = format!("{}={}{default}", option.name, option.values.join("|"));
    format!("  {values:<24}  {}", option.about)
}
