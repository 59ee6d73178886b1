//! The index of words: filled when the writer has nothing better to do, and caught up with before a search.
//!
//! What always holds: only runs that keep their texts are in it. It has the words of each text by the text's number, and
//! neither the text nor where in it a word stands; so words are taken out of it by giving it the text once more.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::{Event, Failure, Message, Place, Role, RunId};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use tokio::time::Instant;

use super::read::unread;
use super::row::{self, count, integer};
use crate::fault;
use crate::row::compressed::{unpacked, unpacked_to};
use crate::runs::{LIST_MAX, Whose};
use crate::search::excerpt::{TEXT_BYTES_MAX, excerpt};
use crate::search::matches::{Found, FoundIn, Matches};
use crate::search::query::Sought;
use crate::search::word;

/// Bytes of text that are indexed in one transaction: some twenty milliseconds that others may have to wait.
pub(crate) const INDEX_BYTES: i64 = 128 * 1024;
/// What a run counts for besides its texts, so that a transaction has at most so many.
const RUN_BYTES: i64 = 1_024;
/// Pages of the index that are written anew between two looks at the clock: some three milliseconds.
const MERGE_PAGES: i64 = 8;
/// Texts of one run that are looked at for the best of them: more than a full panel with its synthesizers has.
const TEXTS_MAX: usize = 512;
/// How long a search may take. Only words that have to follow each other, and hardly ever do, take more than a moment.
const SEARCH_TIME: Duration = Duration::from_secs(10);
/// Stands for a text's hash where it is the run's plan; its words are those of the question.
const PLAN_HASH: &str = "";

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
        "is_indexed = 0 AND (closed_at_ms IS NOT NULL OR (? AND EXISTS ( \
             SELECT 1 FROM texts WHERE texts.run_id = runs.run_id AND text_id > indexed_to)))"
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
    let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id > indexed_to \
               ORDER BY text_id";
    let missing: Vec<i64> = sqlx::query_scalar(sql).bind(run_id).fetch_all(&mut *connection).await?;
    let mut newest = None;
    for text_id in &missing {
        if bytes_left <= 0 {
            break;
        }
        let line = line(connection, *text_id).await?;
        bytes_left -= integer(line.len() as u64);
        let sql = "INSERT INTO words (rowid, body) VALUES (?, ?)";
        sqlx::query(sql).bind(text_id).bind(line).execute(&mut *connection).await?;
        newest = Some(text_id);
    }
    let is_whole = newest == missing.last();
    let sql = "UPDATE runs SET indexed_to = IFNULL(?, indexed_to), is_indexed = ? AND closed_at_ms IS NOT NULL \
               WHERE run_id = ?";
    sqlx::query(sql).bind(newest).bind(is_whole).bind(run_id).execute(connection).await?;
    Ok(bytes_left)
}

/// The words of a text as the index takes them: the same each time, because a text never changes.
async fn line(connection: &mut SqliteConnection, text_id: i64) -> Result<String, sqlx::Error> {
    let sql = "SELECT hash, body FROM texts WHERE text_id = ?";
    let row = sqlx::query(sql).bind(text_id).fetch_one(connection).await?;
    Ok(word::line(&text_of(row.try_get(0)?, row.try_get(1)?)))
}

/// What of a text is searched: of the plan its question, of any other all.
fn text_of(hash: &str, body: &[u8]) -> String {
    let text = unpacked(body);
    if hash != PLAN_HASH {
        return text;
    }
    // One that cannot be read has no question; whoever opens the run is told.
    let plan = row::plan(&text).ok();
    let messages = plan.iter().flat_map(|plan| plan.messages.iter());
    let asked = messages.filter(|message| message.role != Role::System).flat_map(Message::texts);
    asked.collect::<Vec<_>>().join("\n")
}

/// How far a run was taken out of the index.
pub(super) struct Forgotten {
    pub(super) is_whole: bool,
    /// Bytes of text whose words were taken out.
    pub(super) bytes: i64,
}

/// Takes a run out of the index, or as much of it as there are bytes for, and one text at least. Its texts must still be
/// there: they say what to take out. The words are marked as deleted, until [`overwrite_some`] has gone over all of them.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    run_id: &str,
    bytes_max: i64,
) -> Result<Forgotten, sqlx::Error> {
    let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id <= indexed_to \
               ORDER BY text_id DESC";
    let texts: Vec<i64> = sqlx::query_scalar(sql).bind(run_id).fetch_all(&mut *connection).await?;
    if !texts.is_empty() && !are_words_marked(connection).await? {
        set_secure(connection, false).await?;
    }
    let mut forgotten = Forgotten { is_whole: true, bytes: 0 };
    for text_id in texts {
        if forgotten.bytes >= bytes_max {
            // This one and those before it are left, and nobody is to put back what has been taken out.
            let sql = "UPDATE runs SET indexed_to = ?, is_indexed = 1 WHERE run_id = ?";
            sqlx::query(sql).bind(text_id).bind(run_id).execute(connection).await?;
            forgotten.is_whole = false;
            break;
        }
        let line = line(connection, text_id).await?;
        forgotten.bytes += integer(line.len() as u64);
        let sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)";
        sqlx::query(sql).bind(text_id).bind(line).execute(&mut *connection).await?;
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
    text_id: i64,
    run_id: String,
    hash: String,
    created_at_ms: i64,
}

/// The passages of a search, by run.
#[derive(Default)]
struct Passages {
    runs: BTreeMap<String, Vec<Passage>>,
    /// The time was up before all were looked at.
    is_cut: bool,
}

/// The runs in which all words stand in one text, newest first, as far as they are indexed.
pub(crate) async fn search(
    readers: &SqlitePool,
    whose: Whose<'_>,
    (sought, limit): (&Sought, usize),
) -> Result<Matches, Failure> {
    let mut snapshot = readers.begin().await.map_err(unread)?;
    let mut found = Vec::new();
    let matching = matching(&mut snapshot, whose, (sought, limit.min(LIST_MAX))).await.map_err(unread)?;
    for passages in matching.runs.into_values() {
        found.extend(best(&mut snapshot, (passages, sought)).await?);
    }
    found.sort_by_key(|found: &Found| std::cmp::Reverse(found.run_id));
    let unindexed = count_unindexed(&mut snapshot, whose).await.map_err(unread)?;
    Ok(Matches { found, unindexed, is_cut: matching.is_cut })
}

/// The passages that match, by run: those of the newest first, as they come from the index.
async fn matching(
    connection: &mut SqliteConnection,
    whose: Whose<'_>,
    (sought, limit): (&Sought, usize),
) -> Result<Passages, sqlx::Error> {
    // The words lead, whoever asks: an asker's own runs would be looked through one by one.
    let sql = "SELECT text_id, texts.run_id, hash, created_at_ms, CASE WHEN ? THEN texts.body END \
               FROM words CROSS JOIN texts ON texts.text_id = words.rowid \
               CROSS JOIN runs ON runs.run_id = texts.run_id \
               WHERE words MATCH ? AND (? IS NULL OR +runs.asked_by = ?) ORDER BY words.rowid DESC";
    let until = Instant::now() + SEARCH_TIME;
    let query = sqlx::query(sql).bind(sought.has_phrases()).bind(sought.query());
    let mut rows = query.bind(whose.name()).bind(whose.name()).fetch(connection);
    let mut passages = Passages::default();
    while let Some(row) = rows.try_next().await? {
        let (text_id, run_id, hash) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let passage = Passage { text_id, run_id, hash, created_at_ms: row.try_get(3)? };
        let is_new = !passages.runs.contains_key(&passage.run_id);
        passages.is_cut = Instant::now() >= until;
        if passages.is_cut || (is_new && passages.runs.len() >= limit) {
            break;
        }
        let body: Option<&[u8]> = row.try_get(4)?;
        if body.is_some_and(|body| !sought.stands_in(&text_of(&passage.hash, body))) {
            continue;
        }
        let of_run = passages.runs.entry(passage.run_id.clone()).or_default();
        if of_run.len() < TEXTS_MAX {
            of_run.push(passage);
        }
    }
    Ok(passages)
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
    let sql = "SELECT body FROM texts WHERE text_id = ?";
    let row = sqlx::query(sql).bind(passage.text_id).fetch_one(connection).await.map_err(unread)?;
    let body: &[u8] = row.try_get(0).map_err(unread)?;
    let text = if place == FoundIn::Question {
        text_of(&passage.hash, body)
    } else {
        unpacked_to(body, TEXT_BYTES_MAX as u64)
    };
    Ok(Some(Found { run_id, created_at_ms: passage.created_at_ms, place, excerpt: excerpt(&text, sought) }))
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
    let mut places = BTreeMap::from([(PLAN_HASH.to_owned(), FoundIn::Question)]);
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
