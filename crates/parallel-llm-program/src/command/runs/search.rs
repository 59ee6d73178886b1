//! `runs search`: full-text search over questions, answers and final texts.

use parallel_llm_engine::Failure;
use serde_json::{Value, json};

use super::list::{LIST_DEFAULT, how_many};
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::console::Tone;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::age;
use parallel_llm_service::{HitSource, SearchHit, SearchResults};
use parallel_llm_settings::clock;

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The columns before the excerpt: the id, the age and where it was found.
const COLUMNS_BEFORE: usize = 58;
/// The shortest excerpt, in characters, however narrow the terminal.
const EXCERPT_CHARS_MIN: usize = 40;

/// Find runs by words of their questions, answers and final texts
///
/// New runs are indexed while nothing else is written. A search allows another second for that, then searches what is
/// indexed and reports the number of runs that are not.
///
/// Example: parallel-llm-mcp runs search online migration
#[derive(Debug, clap::Args)]
pub struct Search {
    /// Words that one text must contain
    #[arg(required = true)]
    words: Vec<String>,
    /// The most results
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = LIST_DEFAULT, value_parser = how_many)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Search the runs of the demo
    #[arg(long)]
    pub(super) demo: bool,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, search: &Search) -> Result<u8, Failure> {
    let asked = search.words.join(" ");
    let SearchResults { hits, unindexed, is_cut } = context.service.runs.search(&asked, search.limit).await?;
    if search.json {
        let found: Vec<Value> = hits.iter().map(json).collect();
        let object =
            json!({"schema": SCHEMA, "words": asked, "found": found, "unindexed": unindexed, "cut": is_cut});
        context.console.data(&format!("{object:#}"));
    } else if !hits.is_empty() {
        let lines: Vec<String> = hits.iter().map(|hit| line(context, hit)).collect();
        context.console.page(&lines.join("\n"));
    }
    if hits.is_empty() {
        context.console.say("no run whose texts are kept has all of these words in one text");
    }
    if unindexed > 0 {
        let runs = if unindexed == 1 { "1 run was".to_owned() } else { format!("{unindexed} runs were") };
        let line =
            format!("{runs} not searched: their words are still being indexed, so try again in a while");
        context.console.say(&context.console.tone(Tone::Warning, &line));
    }
    if is_cut {
        let line = "older runs were not searched: the time for a search was up, so give a rarer word as well";
        context.console.say(&context.console.tone(Tone::Warning, line));
    }
    Ok(exit::ANSWER)
}

fn json(hit: &SearchHit) -> Value {
    let (place, number) = words(hit.source);
    json!({
        "run_id": hit.run_id,
        "created_at_ms": hit.created_at_ms,
        "place": place,
        "number": number,
        "excerpt": hit.excerpt,
    })
}

fn line(context: &CommandContext<'_>, hit: &SearchHit) -> String {
    let room = context.console.columns().saturating_sub(COLUMNS_BEFORE).max(EXCERPT_CHARS_MIN);
    let (place, number) = words(hit.source);
    let ago = clock::unix_ms().saturating_sub(u64::try_from(hit.created_at_ms).unwrap_or(0));
    format!(
        "{}  {:>7} ago  {:<14}  {}",
        hit.run_id,
        age(ago),
        number.map_or_else(|| place.to_owned(), |number| format!("{place} {number}")),
        safe::excerpt(&hit.excerpt, room)
    )
}

/// The name of a hit's source, and its number if there are several.
fn words(source: HitSource) -> (&'static str, Option<u16>) {
    match source {
        HitSource::Question => ("question", None),
        HitSource::Answer => ("answer", None),
        HitSource::Seat(number) => ("seat", Some(number.0.into())),
        HitSource::Synthesizer(number) => ("synthesizer", Some(number.0.into())),
        HitSource::Step(number) => ("step", Some(number.0)),
    }
}
