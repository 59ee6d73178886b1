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
use crate::history::runs::LIST_MAX;
use crate::row::event_batch::text_of;
use crate::row::text_row::{Passage, WordMatching};
use crate::system::error;

use excerpt::{TEXT_BYTES_MAX, excerpt};
use passage::{PLAN_HASH, searchable_text};
use query::SearchQuery;
use results::{HitSource, SearchHit, SearchResults};

/// Most texts examined per run: more than a full panel with its synthesizers has.
const TEXTS_MAX: usize = 512;
/// Longest search. Only adjacent words that rarely occur together take more than a moment.
const SEARCH_TIME: Duration = Duration::from_secs(10);

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchBounds {
    /// The most runs found.
    pub(crate) runs: usize,
    /// The most texts with all words, the newest.
    pub(crate) texts: u64,
    /// The most time.
    pub(crate) time: Duration,
}

/// The passages of a search, by run.
#[derive(Default)]
pub(crate) struct Passages {
    pub(crate) runs: BTreeMap<String, Vec<Passage>>,
    /// The number of texts examined.
    pub(crate) examined: u64,
    /// Whether older texts were not examined, for lack of time or because there are too many.
    pub(crate) is_cut: bool,
}

/// The indexed runs with all words in one text, newest first.
pub(crate) fn search(
    reader: &Reader<'_>,
    asked_by: Option<&str>,
    query: &SearchQuery,
    limit: usize,
) -> Result<SearchResults, Failure> {
    let mut hits = Vec::new();
    let bounds = SearchBounds { runs: limit.min(LIST_MAX), texts: u64::MAX, time: SEARCH_TIME };
    let passages = matching(reader, asked_by, query, WordMatching::Beginnings, bounds)?;
    for passages in passages.runs.into_values() {
        hits.extend(best(reader, passages, query)?);
    }
    hits.sort_by_key(|hit: &SearchHit| std::cmp::Reverse(hit.run_id));
    let unindexed = reader.count_unindexed(asked_by)?;
    Ok(SearchResults { hits, unindexed, is_cut: passages.is_cut })
}

/// The matching passages by run, those of the newest runs first, as the index returns them.
pub(crate) fn matching(
    reader: &Reader<'_>,
    asked_by: Option<&str>,
    query: &SearchQuery,
    matching: WordMatching,
    bounds: SearchBounds,
) -> Result<Passages, Failure> {
    let until = Instant::now() + bounds.time;
    let mut passages = Passages::default();
    let take = |mut passage: Passage| {
        passages.is_cut = Instant::now() >= until || passages.examined >= bounds.texts;
        // Nobody is told how many texts others have.
        let is_visible = asked_by.is_none() || passage.asked_by.as_deref() == asked_by;
        let is_new = is_visible && !passages.runs.contains_key(&passage.run_id);
        if passages.is_cut || (is_new && passages.runs.len() >= bounds.runs) {
            return false;
        }
        passages.examined += u64::from(is_visible);
        let text = passage.text.take();
        if is_visible && text.is_none_or(|text| query.matches(&searchable_text(&passage.hash, text))) {
            let of_run = passages.runs.entry(passage.run_id.clone()).or_default();
            if of_run.len() < TEXTS_MAX {
                of_run.push(passage);
            }
        }
        true
    };
    reader.passages(query.phrases(), matching, take)?;
    Ok(passages)
}

/// The best passage of a run.
pub(crate) fn best(
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
    let marks = query.marks(&excerpt);
    Ok(Some(SearchHit { run_id, created_at_ms: passage.created_at_ms, source, excerpt, marks }))
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
