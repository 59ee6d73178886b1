//! `runs search`: the runs whose question, answers or final text have these words.

use parallel_llm_engine::Failure;
use serde_json::{Value, json};

use super::{LIST_DEFAULT, how_many};
use crate::command::CommandContext;
use crate::exit;
use crate::terminal::console::Tone;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::age;
use parallel_llm_service::{Found, FoundIn, Matches};
use parallel_llm_settings::clock;

/// The version of the shape of the JSON.
const SCHEMA: u32 = 1;
/// The columns before the excerpt: the id, the age and where it was found.
const COLUMNS_BEFORE: usize = 58;
/// An excerpt shows at least so many characters, however narrow the terminal.
const EXCERPT_CHARS_MIN: usize = 40;

/// Find runs by words of their questions, answers and final texts
///
/// New runs are indexed while nothing else is written. A search gives that a second more, then searches what is indexed and
/// says how many runs are not.
///
/// Example: parallel-llm-mcp runs search online migration
#[derive(Debug, clap::Args)]
pub struct Search {
    /// Words that all stand in one text
    #[arg(required = true)]
    words: Vec<String>,
    /// How many at most
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = LIST_DEFAULT, value_parser = how_many)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Does the command.
pub(super) async fn run(context: &CommandContext<'_>, search: &Search) -> Result<u8, Failure> {
    let asked = search.words.join(" ");
    let Matches { found, unindexed, is_cut } = context.service.runs.search(&asked, search.limit).await?;
    if search.json {
        let found: Vec<Value> = found.iter().map(json).collect();
        let object =
            json!({"schema": SCHEMA, "words": asked, "found": found, "unindexed": unindexed, "cut": is_cut});
        context.console.data(&format!("{object:#}"));
    } else if !found.is_empty() {
        let lines: Vec<String> = found.iter().map(|found| line(context, found)).collect();
        context.console.page(&lines.join("\n"));
    }
    if found.is_empty() {
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

fn json(found: &Found) -> Value {
    let (place, number) = words(found.place);
    json!({
        "run_id": found.run_id,
        "created_at_ms": found.created_at_ms,
        "place": place,
        "number": number,
        "excerpt": found.excerpt,
    })
}

fn line(context: &CommandContext<'_>, found: &Found) -> String {
    let room = context.console.columns().saturating_sub(COLUMNS_BEFORE).max(EXCERPT_CHARS_MIN);
    let (place, number) = words(found.place);
    let ago = clock::unix_ms().saturating_sub(u64::try_from(found.created_at_ms).unwrap_or(0));
    format!(
        "{}  {:>7} ago  {:<14}  {}",
        found.run_id,
        age(ago),
        number.map_or_else(|| place.to_owned(), |number| format!("{place} {number}")),
        safe::excerpt(&found.excerpt, room)
    )
}

/// Where it was found: the word for the place, and which of them.
fn words(place: FoundIn) -> (&'static str, Option<u16>) {
    match place {
        FoundIn::Question => ("question", None),
        FoundIn::Answer => ("answer", None),
        FoundIn::Seat(number) => ("seat", Some(number.0.into())),
        FoundIn::Synthesizer(number) => ("synthesizer", Some(number.0.into())),
        FoundIn::Step(number) => ("step", Some(number.0)),
    }
}
