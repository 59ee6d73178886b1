//! Searching by words: finding the runs whose texts have them, and what is shown of each.

mod excerpt;
pub(crate) mod index;
pub(crate) mod matches;
mod passage;
pub(crate) mod query;
mod word;

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_engine::{CallerSlot, Event, Failure, RunId};
use tokio::time::Instant;

use crate::database::{Database, Reader};
use crate::fault;
use crate::row::event_batch::text_of;
use crate::row::text_row::Passage;
use crate::runs::{LIST_MAX, Whose};

use excerpt::{TEXT_BYTES_MAX, excerpt};
use matches::{Found, FoundIn, Matches};
use passage::{PLAN_HASH, searched};
use query::SearchQuery;

/// Texts of one run that are looked at for the best of them: more than a full panel with its synthesizers has.
const TEXTS_MAX: usize = 512;
/// How long a search may take. Only words that have to follow each other, and hardly ever do, take more than a moment.
const SEARCH_TIME: Duration = Duration::from_secs(10);

/// The passages of a search, by run.
#[derive(Default)]
struct Passages {
    runs: BTreeMap<String, Vec<Passage>>,
    /// The time was up before all were looked at.
    is_cut: bool,
}

/// The runs in which all words stand in one text, newest first, as far as they are indexed.
pub(crate) async fn search(
    database: &Database,
    whose: Whose<'_>,
    query: &SearchQuery,
    limit: usize,
) -> Result<Matches, Failure> {
    let mut snapshot = database.snapshot().await?;
    let mut reader = snapshot.reader();
    let mut found = Vec::new();
    let passages = matching(&mut reader, whose, query, limit.min(LIST_MAX)).await?;
    for passages in passages.runs.into_values() {
        found.extend(best(&mut reader, passages, query).await?);
    }
    found.sort_by_key(|found: &Found| std::cmp::Reverse(found.run_id));
    let unindexed = reader.count_unindexed(whose.name()).await?;
    Ok(Matches { found, unindexed, is_cut: passages.is_cut })
}

/// The passages that match, by run: those of the newest runs first, as they come from the index.
async fn matching(
    reader: &mut Reader<'_>,
    whose: Whose<'_>,
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
        if text.is_none_or(|text| query.stands_in(&searched(&passage.hash, text))) {
            let of_run = passages.runs.entry(passage.run_id.clone()).or_default();
            if of_run.len() < TEXTS_MAX {
                of_run.push(passage);
            }
        }
        true
    };
    reader.passages(query.phrases(), whose.name(), take).await?;
    Ok(passages)
}

/// The best of a run's passages.
async fn best(
    reader: &mut Reader<'_>,
    passages: Vec<Passage>,
    query: &SearchQuery,
) -> Result<Option<Found>, Failure> {
    let Some(first) = passages.first() else { return Ok(None) };
    let unreadable = |cause: String| fault::unreadable("a run", &cause);
    let run_id: RunId = first.run_id.parse().map_err(unreadable)?;
    let places = places(reader, run_id).await?;
    let placed = passages.into_iter().filter_map(|passage| {
        let place = *places.get(&passage.hash)?;
        Some((place, passage))
    });
    let Some((place, passage)) = placed.min_by_key(|(place, _)| *place) else { return Ok(None) };
    // A plan is read whole, because its question may stand anywhere in it.
    let bytes_max = (place != FoundIn::Question).then_some(TEXT_BYTES_MAX);
    let stored = reader.text_of_id(passage.text_id, bytes_max).await?;
    let excerpt = excerpt(&searched(&stored.hash, stored.text), query);
    Ok(Some(Found { run_id, created_at_ms: passage.created_at_ms, place, excerpt }))
}

/// Whose each text of a run is, by its hash. The same words of two are the first one's.
async fn places(reader: &mut Reader<'_>, run_id: RunId) -> Result<BTreeMap<String, FoundIn>, Failure> {
    let mut places = BTreeMap::from([(PLAN_HASH.to_owned(), FoundIn::Question)]);
    for row in reader.events(run_id, 0).await? {
        let event: Event =
            serde_json::from_str(&row.body).map_err(|cause| fault::unreadable("an event", &cause))?;
        let Some(text) = text_of(&event) else { continue };
        let place = match event.attempt().map(|attempt| attempt.slot) {
            None => FoundIn::Answer,
            Some(CallerSlot::Seat(number)) => FoundIn::Seat(number),
            Some(CallerSlot::Synthesizer(number)) => FoundIn::Synthesizer(number),
            Some(CallerSlot::Step(number)) => FoundIn::Step(number),
        };
        let known = places.entry(text.hash.to_owned()).or_insert(place);
        *known = place.min(*known);
    }
    Ok(places)
}
