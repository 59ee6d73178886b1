//! `models`: the models on offer, their prices, and the check of configured models.

use parallel_llm_engine::request::catalogue::Inputs;
use parallel_llm_engine::{Failure, PicoUsd};
use parallel_llm_service::report::next_steps::render_next_steps;

use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::table::Column;
use crate::terminal::vocabulary::{self, COMMAND_LINE};
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::age;
use parallel_llm_service::{
    CheckedModel, FoundModels, ListLine, ModelCheck, ModelLine, ModelQuery, ModelSort, ModelState,
};

/// The longest id shown, in characters. The longest known is under 80.
const ID_CHARS_MAX: usize = 80;
/// The longest name shown, in characters.
const NAME_CHARS_MAX: usize = 36;
/// The width to which ids are cut on a narrow terminal: most are still told apart.
const ID_WIDTH_MIN: usize = 30;
/// The width to which the names of settings are cut on a narrow terminal.
const PLACES_WIDTH_MIN: usize = 12;
/// The width to which remarks are cut on a narrow terminal.
const REMARK_WIDTH_MIN: usize = 24;
/// The longest remark in a table, in characters.
const REMARK_CHARS_MAX: usize = 160;

/// Find models to ask, with their prices
///
/// Lists the models of OpenRouter, of every provider with a key, and of model servers found running on this machine. It
/// only fetches lists, which costs nothing. A key command is run only for a provider you name.
///
/// Example: parallel-llm-mcp models claude --max-price 25 --sort price
#[derive(Debug, Default, clap::Args)]
pub struct Models {
    /// Words that a model's id or name must contain
    pub search: Vec<String>,
    /// Only the models of this provider; repeat for several
    #[arg(long = "provider", value_name = "PROVIDER")]
    pub providers: Vec<String>,
    /// Only models with a context window of at least this many tokens
    #[arg(long, value_name = "TOKENS")]
    pub min_context: Option<u64>,
    /// Only models whose output costs at most this many USD for a million tokens
    #[arg(long, value_name = "USD", value_parser = price)]
    pub max_price: Option<f64>,
    /// Only models that accept pictures or documents
    #[arg(long)]
    pub attachments: bool,
    /// The order; the providers' own unless given
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<Order>,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Fetch the lists now, even if the stored ones are fresh
    #[arg(long)]
    pub refresh: bool,
    /// Check that every model of the settings is still offered; exits with 2 if one is not
    #[arg(long, conflicts_with_all = [
        "search", "providers", "min_context", "max_price", "attachments", "sort", "limit", "refresh",
    ])]
    pub check: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// An order of models.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Order {
    /// The cheapest output first.
    Price,
    /// The largest context first.
    Context,
    /// By id.
    Name,
}

fn price(text: &str) -> Result<f64, String> {
    let usd = text.parse().ok().filter(|usd: &f64| *usd >= 0.0 && PicoUsd::from_f64(*usd).is_some());
    usd.ok_or_else(|| "an amount of USD, such as 2.50".to_owned())
}

impl Models {
    fn query(&self) -> ModelQuery {
        ModelQuery {
            search: self.search.join(" "),
            providers: self.providers.clone(),
            context_min: self.min_context,
            price_max: self.max_price,
            attachments: self.attachments,
            sort: self.sort.map(|order| match order {
                Order::Price => ModelSort::Price,
                Order::Context => ModelSort::Context,
                Order::Name => ModelSort::Name,
            }),
            limit: self.limit,
            refresh: self.refresh,
        }
    }
}

/// Runs the command.
pub(in crate::command) async fn run(context: &CommandContext<'_>, models: &Models) -> Result<u8, Failure> {
    if models.check {
        let model_check = context.service.models.check().await?;
        if models.json {
            let mut described = serde_json::json!(model_check);
            render_next_steps(&mut described, &COMMAND_LINE);
            context.console.data(&pretty(&described));
        } else {
            render_roll_call(context, &model_check);
        }
        return Ok(if model_check.has_dead { exit::USAGE } else { exit::ANSWER });
    }
    let found = context.service.models.find(&models.query()).await?;
    if models.json {
        context.console.data(&pretty(&found));
    } else {
        render_found(context, &found);
    }
    Ok(exit::ANSWER)
}

fn render_found(context: &CommandContext<'_>, found: &FoundModels) {
    const COLUMNS: [Column; 8] = [
        Column::words("MODEL", ID_CHARS_MAX).cut_to(ID_WIDTH_MIN),
        // The id says nearly the same.
        Column::words("NAME", NAME_CHARS_MAX).dropped(1),
        Column::numbers("CONTEXT").dropped(5),
        Column::numbers("OUTPUT").dropped(3),
        Column::numbers("$/M IN"),
        Column::numbers("$/M OUT"),
        Column::words("FILES", 20).dropped(2),
        Column::words("EXPIRES", 10).dropped(4),
    ];
    if !found.models.is_empty() {
        let rows: Vec<Vec<String>> = found.models.iter().map(row).collect();
        context.console.table(&COLUMNS, &rows);
    }
    let shown = found.models.len();
    match found.models_total {
        0 => context.console.say(&safe::for_terminal(&nothing_fits(&found.lists))),
        total if total > shown => context.console.say(&format!("{shown} of {total} models that fit")),
        total => context.console.say(&format!("{total} {}", models_word(total))),
    }
    render_lists(context, &found.lists);
    for server in &found.servers {
        context.console.say(&safe::for_terminal(&server.offer()));
    }
}

/// The message for no matches. Without a list, it is unknown whether a model matches.
fn nothing_fits(lists: &[ListLine]) -> String {
    let missing: Vec<&str> =
        lists.iter().filter(|list| list.source == "none").map(|list| list.name.as_str()).collect();
    match missing.as_slice() {
        [] => "no model fits".to_owned(),
        missing if missing.len() == lists.len() => format!("there is no list of {}", missing.join(", ")),
        missing => format!("no model fits, but there is no list of {}", missing.join(", ")),
    }
}

fn row(model: &ModelLine) -> Vec<String> {
    vec![
        model.id.clone(),
        model.name.clone(),
        model.context_tokens.map(tokens).unwrap_or_default(),
        model.output_tokens_max.map(tokens).unwrap_or_default(),
        model.input_usd_per_million.map(dollars).unwrap_or_default(),
        model.output_usd_per_million.map(dollars).unwrap_or_default(),
        model.inputs.map(files).unwrap_or_default().to_owned(),
        model.expires_on.clone().unwrap_or_default(),
    ]
}

/// A count of tokens as `131k` or `1.05M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", (count + 500) / 1_000),
        _ => {
            let hundredths = count.saturating_add(5_000) / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// A price with two decimals, or more if they matter: prices reach thousandths of a dollar.
fn dollars(usd: f64) -> String {
    let exact = format!("{usd:.4}");
    let cut = exact.trim_end_matches('0');
    let decimals = cut.len() - cut.find('.').map_or(cut.len(), |dot| dot + 1);
    if decimals < 2 { format!("{usd:.2}") } else { cut.to_owned() }
}

const fn files(inputs: Inputs) -> &'static str {
    match (inputs.image, inputs.document) {
        (true, true) => "pictures, documents",
        (true, false) => "pictures",
        (false, true) => "documents",
        (false, false) => "none",
    }
}

fn render_lists(context: &CommandContext<'_>, lists: &[ListLine]) {
    for list in lists {
        let found = match (list.age_ms, list.embedded_on) {
            (_, Some(day)) => Some(format!("the list of {day} that this program carries")),
            (Some(age_ms), _) if list.source == "kept" => Some(format!("kept {} ago", age(age_ms))),
            (Some(_), _) => Some("live".to_owned()),
            (None, None) => None,
        };
        let is_there = found.is_some();
        let found = found.map(|found| format!("{} {}, {found}", list.models, models_word(list.models)));
        let line = format!("{}: {}", list.name, found.as_deref().unwrap_or("no list"));
        context.console.say(&context.console.tone(Tone::Dim, &safe::for_terminal(&line)));
        if let Some(error) = &list.error {
            let why = if is_there { "not newer" } else { "why" };
            let line = format!("  {why}: {} (next: {})", error.message, vocabulary::describe(&error.steps));
            context.console.say(&context.console.tone(Tone::Warning, &safe::for_terminal(&line)));
        }
    }
}

const fn models_word(count: usize) -> &'static str {
    if count == 1 { "model" } else { "models" }
}

fn render_roll_call(context: &CommandContext<'_>, model_check: &ModelCheck) {
    const COLUMNS: [Column; 4] = [
        Column::words("STATE", 10),
        Column::words("MODEL", ID_CHARS_MAX).cut_to(ID_WIDTH_MIN),
        Column::words("NAMED IN", 80).cut_to(PLACES_WIDTH_MIN).dropped(1),
        Column::words("REMARK", REMARK_CHARS_MAX).cut_to(REMARK_WIDTH_MIN),
    ];
    let rows: Vec<Vec<String>> = model_check.models.iter().map(present_row).collect();
    context.console.table(&COLUMNS, &rows);
    render_lists(context, &model_check.lists);
    let dead = model_check.models.iter().filter(|model| model.state == ModelState::Dead).count();
    if dead > 0 {
        let line = format!("{dead} configured {} gone", if dead == 1 { "model is" } else { "models are" });
        context.console.say(&context.console.tone(Tone::Bad, &line));
    }
}

fn present_row(model: &CheckedModel) -> Vec<String> {
    let alias = model.alias_of.as_ref().map(|target| format!("stands for {target}"));
    let remark = [alias, model.message.clone(), model.next.as_deref().map(vocabulary::describe)];
    vec![
        model.state.word().to_owned(),
        model.id.clone(),
        model.places.join(", "),
        remark.into_iter().flatten().collect::<Vec<_>>().join("; "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_true() {
        assert_eq!([999, 131_072, 1_000_000, 1_048_576].map(tokens), ["999", "131k", "1M", "1.05M"]);
        assert_eq!([0.0, 2.0, 0.1, 4.125, 0.006].map(dollars), ["0.00", "2.00", "0.10", "4.125", "0.006"]);
    }
}
