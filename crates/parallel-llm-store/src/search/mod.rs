//! Searches stored texts by words and picks what to show of each run.

mod excerpt;
pub(crate) mod index;
mod passage;
pub(crate) mod query;
pub(crate) mod results;
mod word;

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_engine::{CallerSlot, Event, Failure, RunId};
use tokio::time::Instant;

use crate::database::Reader;
use crate::error;
use crate::row::event_batch::text_of;
use crate::row::text_row::Passage;
use crate::runs::LIST_MAX;

use excerpt::{TEXT_BYTES_MAX, excerpt};
use passage::{PLAN_HASH, searchable_text};
use query::SearchQuery;
use results::{HitSource, SearchHit, SearchResults};

/// Most texts examined per run: more than a full panel with its synthesizers has.
const TEXTS_MAX: usize = 512;
/// Longest search. Only adjacent words that rarely occur together take more than a moment.
const SEARCH_TIME: Duration = Duration::from_secs(10);

/// The passages of a search, by run.
#[derive(Default)]
struct Passages {
    runs: BTreeMap<String, Vec<Passage>>,
    /// Whether the time was up before all passages were examined.
    is_cut: bool,
}

/// The indexed runs with all words in one text, newest first.
pub(crate) fn search(
    reader: &Reader<'_>,
    asked_by: Option<&str>,
    query: &SearchQuery,
    limit: usize,
) -> Result<SearchResults, Failure> {
    let mut hits = Vec::new();
    let passages = matching(reader, asked_by, query, limit.min(LIST_MAX))?;
    for passages in passages.runs.into_values() {
        hits.extend(best(reader, passages, query)?);
    }
    hits.sort_by_key(|hit: &SearchHit| std::cmp::Reverse(hit.run_id));
    let unindexed = reader.count_unindexed(asked_by)?;
    Ok(SearchResults { hits, unindexed, is_cut: passages.is_cut })
}

/// The matching passages by run, those of the newest runs first, as the index returns them.
fn matching(
    reader: &Reader<'_>,
    asked_by: Option<&str>,
    query: &SearchQuery,
    limit: usize,
) -> Result<Passages, Failure> {
    let until = Instant::now() + SEARCH_TIME;
    let mut passages = Passages::default();
    let take = |mut passage: Passage| {
        let is_new = !passages.runs.contains_key(&passage.run_id);
        passages.is_cut = Instant::now() >= until;
        if passages.is_cut || (is_new && passages.runs.len() >= limit) {
            return false;
        }
        let text = passage.text.take();
        if text.is_none_or(|text| query.matches(&searchable_text(&passage.hash, text))) {
            let of_run = passages.runs.entry(passage.run_id.clone()).or_default();
            if of_run.len() < TEXTS_MAX {
                of_run.push(passage);
            }
        }
        true
    };
    reader.passages(query.phrases(), asked_by, take)?;
    Ok(passages)
}

/// The best passage of a run.
fn best(
    reader: &Reader<'_>,
    passages: Vec<Passage>,
    query: &SearchQuery,
) -> Result<Option<SearchHit>, Failure> {
    let Some(first) = passages.first() else { return Ok(None) };
    let unreadable = |cause: String| error::unreadable("a run", &cause);
    let run_id: RunId = first.run_id.parse().map_err(unreadable)?;
    let sources = sources(reader, run_id)?;
    let located = passages.into_iter().filter_map(|passage| {
        let source = *sources.get(&passage.hash)?;
        Some((source, passage))
    });
    let Some((source, passage)) = located.min_by_key(|(source, _)| *source) else { return Ok(None) };
    // A plan is read whole, since its question may be anywhere in it.
    let bytes_max = (source != HitSource::Question).then_some(TEXT_BYTES_MAX);
    let stored = reader.text_of_id(passage.text_id, bytes_max)?;
    let excerpt = excerpt(&searchable_text(&stored.hash, stored.text), query);
    Ok(Some(SearchHit { run_id, created_at_ms: passage.created_at_ms, source, excerpt }))
}

/// The source of each text of a run by hash. Identical texts count for the first source.
fn sources(reader: &Reader<'_>, run_id: RunId) -> Result<BTreeMap<String, HitSource>, Failure> {
    let mut sources = BTreeMap::from([(PLAN_HASH.to_owned(), HitSource::Question)]);
    for row in reader.events(run_id, 0)? {
        let event: Event =
            serde_json::from_str(&row.body).map_err(|cause| error::unreadable("an event", &cause))?;
        let Some(text) = text_of(&event) else { continue };
        let source = match event.attempt().map(|attempt| attempt.slot) {
            None => HitSource::Answer,
            Some(CallerSlot::Seat(number)) => HitSource::Seat(number),
            Some(CallerSlot::Synthesizer(number)) => HitSource::Synthesizer(number),
            Some(CallerSlot::Step(number)) => HitSource::Step(number),
        };
        let known = sources.entry(text.hash.to_owned()).or_insert(source);
        *known = source.min(*known);
    }
    Ok(sources)
}
