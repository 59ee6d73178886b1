//! `runs insights`: which models of the panel mattered, and which could be left out.

use parallel_llm_engine::{Failure, PicoUsd};

use super::moment::Moment;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;
use crate::terminal::table::Column;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::counted::counted;
use parallel_llm_service::{Insights as Found, ModelInsight, Verdict};

/// The longest name of a model shown, in characters. The longest known is under 80.
const MODEL_CHARS_MAX: usize = 80;

/// The width to which names are cut on a narrow terminal: most are still told apart.
const MODEL_WIDTH_MIN: usize = 24;

/// Show which models of the panel mattered, and which could be left out
///
/// A model mattered in a run if the final text is its answer, was based on it, or shares wording with it that the base
/// lacks. The interval contains the true share with 95 % certainty.
///
/// Example: parallel-llm-mcp runs insights --since 90d
#[derive(Debug, clap::Args)]
pub struct Insights {
    /// Only runs since then: a time ago such as 90d or 12h, or a day such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Moment::read)]
    since: Option<Moment>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Learn from the runs of the demo
    #[arg(long)]
    pub(super) demo: bool,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, insights: &Insights) -> Result<u8, Failure> {
    let found = context.service.statistics.insights(insights.since.map(Moment::unix_ms)).await?;
    if insights.json {
        context.console.data(&pretty(&found));
    } else {
        render(context, insights, &found);
    }
    Ok(exit::ANSWER)
}

fn render(context: &CommandContext<'_>, insights: &Insights, found: &Found) {
    const COLUMNS: [Column; 11] = [
        Column::words("MODEL", MODEL_CHARS_MAX).cut_to(MODEL_WIDTH_MIN),
        Column::numbers("RUNS"),
        Column::numbers("ANSWERED").dropped(7),
        Column::numbers("LATE").dropped(2),
        Column::numbers("FAILED").dropped(6),
        Column::numbers("REFUSED").dropped(1),
        Column::numbers("BASE").dropped(3),
        Column::numbers("MATTERED"),
        Column::numbers("COST").dropped(5),
        Column::numbers("PER RUN"),
        Column::numbers("TIME").dropped(4),
    ];
    if found.models.is_empty() {
        let when = if insights.since.is_some() { "in this time" } else { "yet" };
        context.console.say(&format!(
            "no run {when} that tells which of its answers the text was made of: there is nothing to learn from"
        ));
        return say_uninformative(context, found);
    }
    let rows: Vec<Vec<String>> = found.models.iter().map(row).collect();
    context.console.table(&COLUMNS, &rows);
    let sentences = found.models.iter().map(|model| model.sentence.clone());
    context.console.prose(&std::iter::once(String::new()).chain(sentences).collect::<Vec<_>>(), "  ");
    context
        .console
        .say(&format!("from {} whose text was made of two answers or more", counted(found.runs, "run")));
    say_uninformative(context, found);
    if found.models.iter().any(|model| model.verdict == Verdict::LeaveOut) {
        let note = "savings count a model's own calls, of all calls of the panels it sat on; the synthesizer would have \
                    read less, too";
        context.console.say(note);
    }
}

/// Prints how many runs of two answers or more tell nothing, a line for each reason.
fn say_uninformative(context: &CommandContext<'_>, found: &Found) {
    let reasons = [
        (found.uninformative.nothing_fused, "nothing was fused or chosen"),
        (found.uninformative.no_base_named, "the synthesizer named no answer that it started from"),
        (found.uninformative.too_long, "the texts are too long to compare"),
    ];
    for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
        let tell = if count == 1 { "tells" } else { "tell" };
        let runs = counted(count, "run");
        context.console.say(&format!("{runs} of two answers or more {tell} nothing: {why}"));
    }
}

fn row(model: &ModelInsight) -> Vec<String> {
    let counts = [
        model.runs,
        model.answered,
        model.late,
        model.failed,
        model.refused,
        model.base_runs,
        model.mattered_runs,
    ];
    let usd = |usd: Option<f64>| {
        let cost = usd.and_then(PicoUsd::from_f64);
        cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string())
    };
    let mut row = vec![model.model.clone()];
    row.extend(counts.map(|count| count.to_string()));
    row.extend([usd(model.cost_usd), usd(model.cost_per_run_usd)]);
    row.push(model.mean_ms.map(seconds).unwrap_or_default());
    row
}
