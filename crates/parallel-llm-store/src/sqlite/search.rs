//! The index of words: filled when the writer has nothing better to do, and caught up with before a search.
//!
//! What always holds: only runs that keep their texts are in it; what is in it is told by `passages`, and stands in
//! the tables of texts and plans, so nothing is stored twice.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::{Event, Failure, Place, RunId};
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::read::unread;
use super::row::{count, integer};
use crate::excerpt::{Sought, TEXT_BYTES_MAX, excerpt};
use crate::fault;
use crate::found::{Found, FoundIn, Matches, Query};
use crate::runs::{LIST_MAX, Whose};

/// Bytes of text that are indexed in one transaction: some twenty milliseconds that others may have to wait.
pub(crate) const INDEX_BYTES: i64 = 128 * 1024;
/// What a run counts for besides its texts, so that a transaction has at most so many.
const RUN_BYTES: i64 = 1_024;
/// Pages of the index that are written anew between two looks at the clock: some three milliseconds.
const MERGE_PAGES: i64 = 8;
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

/// Which rows of `runs` have texts that are not in the index; bound is whether those under way count.
macro_rules! unindexed {
    () => {
        // A run that is not closed is never marked, because more may come of it: its texts are looked at one by one.
        "is_indexed = 0 AND (closed_at_ms IS NOT NULL OR (? AND ( \
             NOT EXISTS (SELECT 1 FROM passages WHERE passages.run_id = runs.run_id AND hash = '') \
             OR EXISTS (SELECT 1 FROM texts WHERE texts.run_id = runs.run_id AND NOT EXISTS ( \
                 SELECT 1 FROM passages WHERE passages.run_id = runs.run_id AND passages.hash = texts.hash)))))"
    };
}

/// The oldest run whose texts are not all in the index.
pub(crate) async fn unindexed(
    connection: &mut SqliteConnection,
    behind: Behind,
) -> Result<Option<String>, sqlx::Error> {
    let sql = concat!("SELECT run_id FROM runs WHERE ", unindexed!(), " ORDER BY run_id LIMIT 1");
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

/// How far a run was taken out of the index.
pub(super) struct Forgotten {
    pub(super) is_whole: bool,
    /// Bytes of text whose words were taken out.
    pub(super) bytes: i64,
}

/// Takes a run out of the index, or as much of it as there are bytes for, and one text at least. Its texts must still be
/// there: the index finds by them what to take out. The words are marked as deleted, until [`overwrite_some`] has gone
/// over all of them.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    run_id: &str,
    bytes_max: i64,
) -> Result<Forgotten, sqlx::Error> {
    let sql = "SELECT passage_id, IFNULL(OCTET_LENGTH(body), 0) FROM passage_texts WHERE run_id = ?";
    let passages: Vec<(i64, i64)> = sqlx::query_as(sql).bind(run_id).fetch_all(&mut *connection).await?;
    if !passages.is_empty() && !are_words_marked(connection).await? {
        set_secure(connection, false).await?;
    }
    let mut forgotten = Forgotten { is_whole: true, bytes: 0 };
    for (passage_id, bytes) in passages {
        if forgotten.bytes >= bytes_max {
            forgotten.is_whole = false;
            break;
        }
        let sql = "INSERT INTO words (words, rowid, body) SELECT 'delete', passage_id, body FROM passage_texts \
                   WHERE passage_id = ?";
        sqlx::query(sql).bind(passage_id).execute(&mut *connection).await?;
        let sql = "DELETE FROM passages WHERE passage_id = ?";
        sqlx::query(sql).bind(passage_id).execute(&mut *connection).await?;
        forgotten.bytes += bytes;
    }
    if !forgotten.is_whole {
        // Nobody is to put back what has been taken out.
        let sql = "UPDATE runs SET is_indexed = 1 WHERE run_id = ?";
        sqlx::query(sql).bind(run_id).execute(connection).await?;
    }
    Ok(forgotten)
}

/// Whether there may be words that are only marked as deleted. The index itself remembers it: it overwrites what it
/// deletes except while it is told not to, which is from the first mark to the end of the overwriting.
pub(super) async fn are_words_marked(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let sql = "SELECT COUNT(*) = 0 FROM words_config WHERE k = 'secure-delete' AND v = 1";
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn set_secure(connection: &mut SqliteConnection, is_secure: bool) -> Result<(), sqlx::Error> {
    let sql = "INSERT INTO words (words, rank) VALUES ('secure-delete', ?)";
    sqlx::query(sql).bind(is_secure).execute(connection).await.map(drop)
}

/// Writes some pages of the index anew, without what is marked as deleted; the pages they replace are overwritten. Gives
/// how many it may have written. The first call begins, the others go on; the last one notes that no mark is left.
pub(super) async fn overwrite_some(
    connection: &mut SqliteConnection,
    begins: bool,
) -> Result<usize, sqlx::Error> {
    let before = changes(connection).await?;
    // A negative number gathers everything there is; a positive one goes on with what was gathered.
    let pages = if begins { -MERGE_PAGES } else { MERGE_PAGES };
    let sql = "INSERT INTO words (words, rank) VALUES ('merge', ?)";
    sqlx::query(sql).bind(pages).execute(&mut *connection).await?;
    // Told by SQLite (sqlite.org/fts5.html, the `merge` command): it changes nothing but its own row where it is done.
    if changes(connection).await? - before < 2 {
        set_secure(connection, true).await?;
    }
    Ok(count(MERGE_PAGES * 2) as usize)
}

async fn changes(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT TOTAL_CHANGES()").fetch_one(connection).await
}

/// A text in which the words stand.
struct Passage {
    id: i64,
    run_id: String,
    hash: String,
    created_at_ms: i64,
}

/// The runs in which all words of a query stand in one text, newest first, as far as they are indexed.
pub(crate) async fn search(
    readers: &SqlitePool,
    whose: Whose<'_>,
    (query, limit): (&Query, usize),
) -> Result<Matches, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let mut found = Vec::new();
    let matching =
        matching(&mut snapshot, whose, (&query.index, limit.min(LIST_MAX))).await.map_err(unread)?;
    for passages in matching {
        found.extend(best(&mut snapshot, (passages, &query.sought)).await?);
    }
    found.sort_by_key(|found: &Found| std::cmp::Reverse(found.run_id));
    let unindexed = count_unindexed(&mut snapshot, whose).await.map_err(unread)?;
    Ok(Matches { found, unindexed })
}

/// The passages that match, by run: those of the newest first, as they come from the index.
async fn matching(
    connection: &mut SqliteConnection,
    whose: Whose<'_>,
    (query, limit): (&str, usize),
) -> Result<Vec<Vec<Passage>>, sqlx::Error> {
    // The words lead, whoever asks: an asker's own runs would be looked through one by one.
    let sql = "SELECT passages.passage_id, passages.run_id, passages.hash, runs.created_at_ms \
               FROM words CROSS JOIN passages ON passages.passage_id = words.rowid \
               CROSS JOIN runs ON runs.run_id = passages.run_id \
               WHERE words MATCH ? AND (? IS NULL OR +runs.asked_by = ?) ORDER BY words.rowid DESC";
    let query = sqlx::query_as(sql).bind(query).bind(whose.name()).bind(whose.name());
    let mut rows = query.fetch(connection);
    let mut runs: BTreeMap<String, Vec<Passage>> = BTreeMap::new();
    while let Some((id, run_id, hash, created_at_ms)) = rows.try_next().await? {
        let passage = Passage { id, run_id, hash, created_at_ms };
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
async fn best(
    connection: &mut SqliteConnection,
    (passages, sought): (Vec<Passage>, &Sought),
) -> Result<Option<Found>, Failure> {
    let Some(first) = passages.first() else { return Ok(None) };
    let unreadable = |cause: String| fault::unreadable("a run", &cause);
    let run_id: RunId = first.run_id.parse().map_err(unreadable)?;
    let places = places(connection, &first.run_id).await?;
    let placed = passages.into_iter().filter_map(|passage| {
        let place = *places.get(&passage.hash)?;
        Some((place, passage))
    });
    let Some((place, passage)) = placed.min_by_key(|(place, _)| *place) else { return Ok(None) };
    // A character has up to four bytes, and is counted by SQLite once.
    let sql = "SELECT SUBSTR(body, 1, ?) FROM passage_texts WHERE passage_id = ?";
    let query = sqlx::query_scalar(sql).bind(integer(TEXT_BYTES_MAX as u64)).bind(passage.id);
    let text: Option<String> = query.fetch_one(connection).await.map_err(unread)?;
    let excerpt = excerpt(text.as_deref().unwrap_or_default(), sought);
    Ok(Some(Found { run_id, created_at_ms: passage.created_at_ms, place, excerpt }))
}

/// How many runs have texts that are not in the index.
async fn count_unindexed(connection: &mut SqliteConnection, whose: Whose<'_>) -> Result<u64, sqlx::Error> {
    let sql = concat!("SELECT COUNT(*) FROM runs WHERE ", unindexed!(), " AND (? IS NULL OR asked_by = ?)");
    let query = sqlx::query_scalar(sql).bind(true).bind(whose.name()).bind(whose.name());
    query.fetch_one(connection).await.map(count)
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
