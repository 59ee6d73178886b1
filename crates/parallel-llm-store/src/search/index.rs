//! Fills the index of words while the writer is idle, and removes purged runs from it.
//!
//! Invariants: only runs with stored texts are indexed. The words of a text never change, since the text does not.

use super::passage::searchable_text;
use super::word;
use crate::database::{Reader, Transaction};
use crate::row::text_row::{IndexScope, IndexedText};
use crate::system::error::DatabaseError;

/// Most bytes of text indexed in one transaction, which blocks others for about twenty milliseconds.
pub(crate) const INDEX_BYTES: usize = 128 * 1024;
/// Bytes that a run counts besides its texts, to limit the number of runs in a transaction.
const RUN_BYTES: usize = 1_024;

/// The progress of removing a run from the index.
pub(crate) struct TakenOut {
    pub(crate) is_whole: bool,
    /// Bytes of words removed.
    pub(crate) bytes: usize,
}

/// Indexes missing texts in one transaction, and returns whether there may be more.
pub(crate) fn fill(transaction: &mut Transaction, behind: IndexScope) -> Result<bool, DatabaseError> {
    if !transaction.may_fill()? {
        return Ok(false);
    }
    let mut bytes_left = INDEX_BYTES;
    while bytes_left > 0 {
        let Some(run_id) = transaction.reader().unindexed_run(behind)? else { return Ok(false) };
        bytes_left = fill_run(transaction, &run_id, bytes_left.saturating_sub(RUN_BYTES))?;
    }
    Ok(true)
}

/// Indexes a run's texts within the remaining bytes, and returns how many remain.
fn fill_run(
    transaction: &mut Transaction,
    run_id: &str,
    mut bytes_left: usize,
) -> Result<usize, DatabaseError> {
    // A text that is being added now would be missed, and the run be marked as indexed.
    transaction.lock_run(run_id)?;
    let missing = transaction.reader().unindexed_texts(run_id)?;
    let mut newest = None;
    for text_id in &missing {
        if bytes_left == 0 {
            break;
        }
        let text = indexed_text(&transaction.reader(), *text_id)?;
        bytes_left = bytes_left.saturating_sub(text.line.len());
        transaction.put_words(&text)?;
        newest = Some(*text_id);
    }
    let is_whole = newest == missing.last().copied();
    transaction.note_indexed(run_id, newest, is_whole)?;
    Ok(bytes_left)
}

/// Removes a run's words from the index within this many bytes, but at least one text. Needs the texts, which determine
/// the words to remove.
pub(crate) fn take_out(
    transaction: &mut Transaction,
    run_id: &str,
    bytes_max: usize,
) -> Result<TakenOut, DatabaseError> {
    if transaction.words_go_with_texts() {
        return Ok(TakenOut { is_whole: true, bytes: 0 });
    }
    let texts = transaction.reader().indexed_texts(run_id)?;
    let mut taken_out = TakenOut { is_whole: true, bytes: 0 };
    let mut words = Vec::new();
    for text_id in texts {
        if !words.is_empty() && taken_out.bytes >= bytes_max {
            taken_out.is_whole = false;
            break;
        }
        let text = indexed_text(&transaction.reader(), text_id)?;
        taken_out.bytes += text.line.len();
        words.push(text);
    }
    transaction.take_words_out(&words)?;
    if let Some(oldest) = words.last().filter(|_| !taken_out.is_whole) {
        transaction.note_taken_out(run_id, oldest.text_id)?;
    }
    Ok(taken_out)
}

fn indexed_text(reader: &Reader<'_>, text_id: i64) -> Result<IndexedText, DatabaseError> {
    let stored = reader.text_of_id(text_id, None)?;
    Ok(IndexedText { text_id, line: word::line(&searchable_text(&stored.hash, stored.text)) })
}
