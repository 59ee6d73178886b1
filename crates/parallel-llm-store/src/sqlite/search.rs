//! The index of words: filled when the writer has nothing better to do, and caught up with before a search.
//!
//! What always holds: only runs that keep their texts are in it; what is in it is told by `passages`, and stands in
//! the tables of texts and plans, so nothing is stored twice.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::{Event, Failure, Place, RunId};
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::read::unread;
use crate::fault;
use crate::found::{Found, FoundIn};
use crate::runs::{LIST_MAX, Whose};

/// Bytes of text that are indexed in one transaction: some twenty milliseconds that others may have to wait.
const INDEX_BYTES: i64 = 128 * 1024;
/// What a run counts for besides its texts, so that a transaction has at most so many.
const RUN_BYTES: i64 = 1_024;
/// Words of an excerpt, the found ones included: two lines of a terminal.
const EXCERPT_WORDS: i64 = 24;
/// Passages of one run that are looked at for the best of them: more than a full panel with its synthesizers has.
const PASSAGES_MAX: usize = 512;

/// Which runs to index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// All, because somebody searches.
    All,
    /// Those that are over: nothing more is to come of them.
    Closed,
}

/// The oldest run whose texts are not all in the index.
pub(crate) async fn unindexed(
    connection: &mut SqliteConnection,
    behind: Behind,
) -> Result<Option<String>, sqlx::Error> {
    // A run that is not closed is never marked, because more may come of it: its texts are looked at one by one.
    let sql = "SELECT run_id FROM runs WHERE is_indexed = 0 AND (closed_at_ms IS NOT NULL OR (? AND ( \
                   NOT EXISTS (SELECT 1 FROM passages WHERE passages.run_id = runs.run_id AND hash = '') \
                   OR EXISTS (SELECT 1 FROM texts WHERE texts.run_id = runs.run_id AND NOT EXISTS ( \
                       SELECT 1 FROM passages WHERE passages.run_id = runs.run_id AND passages.hash = texts.hash))))) \
               ORDER BY run_id LIMIT 1";
    sqlx::query_scalar(sql).bind(behind == Behind::All).fetch_optional(connection).await
}

/// Indexes what is missing, as far as one transaction goes, and tells whether there may be more.
pub(crate) async fn index(connection: &mut SqliteConnection, behind: Behind) -> Result<bool, sqlx::Error> {
    let mut bytes_left = INDEX_BYTES;
    while bytes_left > 0 {
        let Some(run_id) = unindexed(connection, behind).await? else { return Ok(false) };
        bytes_left = index_run(connection, &run_id, bytes_left - RUN_BYTES).await?;
    }
    Ok(true)
}

/// Indexes a run's texts, or as many as there are bytes left for, and gives what is left then.
async fn index_run(
    connection: &mut SqliteConnection,
    run_id: &str,
    mut bytes_left: i64,
) -> Result<i64, sqlx::Error> {
    for (hash, bytes) in missing(connection, run_id).await? {
        if bytes_left <= 0 {
            return Ok(bytes_left);
        }
        bytes_left -= bytes;
        let sql = "INSERT INTO passages (run_id, hash) VALUES (?, ?) RETURNING passage_id";
        let query = sqlx::query_scalar(sql).bind(run_id).bind(hash);
        let passage_id: i64 = query.fetch_one(&mut *connection).await?;
        let sql =
            "INSERT INTO words (rowid, body) SELECT passage_id, body FROM passage_texts WHERE passage_id = ?";
        sqlx::query(sql).bind(passage_id).execute(&mut *connection).await?;
    }
    let sql = "UPDATE runs SET is_indexed = 1 WHERE run_id = ? AND closed_at_ms IS NOT NULL";
    sqlx::query(sql).bind(run_id).execute(connection).await?;
    Ok(bytes_left)
}

/// The texts of a run that are not in the index, by hash, and how long they are. The question comes first.
async fn missing(connection: &mut SqliteConnection, run_id: &str) -> Result<Vec<(String, i64)>, sqlx::Error> {
    let sql = "SELECT '', OCTET_LENGTH(plan) FROM runs WHERE run_id = ?1 AND NOT EXISTS ( \
                   SELECT 1 FROM passages WHERE passages.run_id = ?1 AND passages.hash = '') \
               UNION ALL \
               SELECT hash, OCTET_LENGTH(body) FROM texts WHERE run_id = ?1 AND NOT EXISTS ( \
                   SELECT 1 FROM passages WHERE passages.run_id = ?1 AND passages.hash = texts.hash)";
    sqlx::query_as(sql).bind(run_id).fetch_all(connection).await
}

/// Takes a run out of the index. Its texts must still be there: the index finds by them what to take out.
pub(super) async fn forget(connection: &mut SqliteConnection, run_id: &str) -> Result<(), sqlx::Error> {
    let sql = "SELECT passage_id FROM passages WHERE run_id = ?";
    let passages: Vec<i64> = sqlx::query_scalar(sql).bind(run_id).fetch_all(&mut *connection).await?;
    for passage_id in passages {
        let sql = "INSERT INTO words (words, rowid, body) SELECT 'delete', passage_id, body FROM passage_texts \
                   WHERE passage_id = ?";
        sqlx::query(sql).bind(passage_id).execute(&mut *connection).await?;
    }
    sqlx::query("DELETE FROM passages WHERE run_id = ?").bind(run_id).execute(connection).await.map(drop)
}

/// A text in which the words stand.
struct Passage {
    run_id: String,
    hash: String,
    created_at_ms: i64,
    excerpt: String,
}

/// The runs in which all words of a query stand in one text, newest first, as far as they are indexed.
pub(crate) async fn search(
    readers: &SqlitePool,
    whose: Whose<'_>,
    (query, limit): (&str, usize),
) -> Result<Vec<Found>, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let mut found = Vec::new();
    let matching = matching(&mut snapshot, whose, (query, limit.min(LIST_MAX))).await.map_err(unread)?;
    for passages in matching {
        found.extend(best(&mut snapshot, passages).await?);
    }
    found.sort_by_key(|found: &Found| std::cmp::Reverse(found.run_id));
    Ok(found)
}

/// The passages that match, by run: those of the newest first, as they come from the index.
async fn matching(
    connection: &mut SqliteConnection,
    whose: Whose<'_>,
    (query, limit): (&str, usize),
) -> Result<Vec<Vec<Passage>>, sqlx::Error> {
    // The words lead, whoever asks: an asker's own runs would be looked through one by one.
    let sql = "SELECT passages.run_id, passages.hash, runs.created_at_ms, \
               SNIPPET(words, 0, '', '', '…', ?) AS excerpt \
               FROM words CROSS JOIN passages ON passages.passage_id = words.rowid \
               CROSS JOIN runs ON runs.run_id = passages.run_id \
               WHERE words MATCH ? AND (? IS NULL OR +runs.asked_by = ?) ORDER BY words.rowid DESC";
    let query = sqlx::query_as(sql).bind(EXCERPT_WORDS).bind(query).bind(whose.name()).bind(whose.name());
    let mut rows = query.fetch(connection);
    let mut runs: BTreeMap<String, Vec<Passage>> = BTreeMap::new();
    while let Some((run_id, hash, created_at_ms, excerpt)) = rows.try_next().await? {
        let passage = Passage { run_id, hash, created_at_ms, excerpt };
        if runs.len() >= limit && !runs.contains_key(&passage.run_id) {
            break;
        }
        let passages = runs.entry(passage.run_id.clone()).or_default();
        if passages.len() < PASSAGES_MAX {
            passages.push(passage);
        }
    }
    Ok(runs.into_values().collect())
}

/// The best of a run's passages.
async fn best(connection: &mut SqliteConnection, passages: Vec<Passage>) -> Result<Option<Found>, Failure> {
    let Some(first) = passages.first() else { return Ok(None) };
    let unreadable = |cause: String| fault::unreadable("a run", &cause);
    let run_id: RunId = first.run_id.parse().map_err(unreadable)?;
    let places = places(connection, &first.run_id).await?;
    let placed = passages.into_iter().filter_map(|passage| {
        let place = *places.get(&passage.hash)?;
        Some((place, passage))
    });
    let best = placed.min_by_key(|(place, _)| *place);
    Ok(best.map(|(place, passage)| Found {
        run_id,
        created_at_ms: passage.created_at_ms,
        place,
        excerpt: passage.excerpt.split_whitespace().collect::<Vec<_>>().join(" "),
    }))
}

/// Whose each text of a run is, by its hash. The same words of two are the first one's.
async fn places(
    connection: &mut SqliteConnection,
    run_id: &str,
) -> Result<BTreeMap<String, FoundIn>, Failure> {
    let sql =
        "SELECT body FROM events WHERE run_id = ? AND kind IN ('answered', 'cut', 'cancelled', 'decided')";
    let bodies: Vec<String> =
        sqlx::query_scalar(sql).bind(run_id).fetch_all(connection).await.map_err(unread)?;
    let mut places = BTreeMap::from([(String::new(), FoundIn::Question)]);
    for body in bodies {
        let event = serde_json::from_str(&body).map_err(|cause| fault::unreadable("an event", &cause))?;
        if let Some((hash, place)) = place_of(event) {
            let known = places.entry(hash).or_insert(place);
            *known = place.min(*known);
        }
    }
    Ok(places)
}

fn place_of(event: Event) -> Option<(String, FoundIn)> {
    if let Event::Decided { outcome } = event {
        return Some((outcome.text_hash?, FoundIn::Answer));
    }
    let place = match event.attempt()?.place {
        Place::Seat(number) => FoundIn::Seat(number),
        Place::Synthesizer(number) => FoundIn::Synthesizer(number),
        Place::Step(number) => FoundIn::Step(number),
    };
    Some((event.answer()?.text_hash.clone(), place))
}
