//! Writes who may come in: the sessions of browsers, and tokens.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use crate::database::Transaction;
use crate::error::{self, DatabaseError};
use crate::sessions::SessionWork;
use crate::tokens::{self, NewToken, StoredToken, Token};
use crate::writer::job::Admission;

/// Begins or ends a session, or records that it is used.
pub(super) fn change_session(
    transaction: &mut Transaction,
    work: &SessionWork,
    now_ms: i64,
) -> Result<(), DatabaseError> {
    match work {
        SessionWork::Begin(new, limits) => {
            transaction.make_room_for_session(new.holder, limits, now_ms)?;
            transaction.insert_session(new, now_ms)
        }
        SessionWork::End(hash) => transaction.delete_session(*hash),
        SessionWork::NoteUse(hash) => transaction.note_session_use(*hash, now_ms),
    }
}

/// Writes a new token. Refuses a name that any token ever had.
pub(super) fn create_token(
    transaction: &mut Transaction,
    new: &NewToken,
    now_ms: i64,
) -> Result<Admission<Token>, DatabaseError> {
    let tokens_max = tokens::TOKENS_MAX;
    if transaction.reader().count_tokens()? >= tokens_max {
        let message = format!("there are {tokens_max} tokens already, revoked ones included");
        return Ok(Err(error::refused(message).with_next(Advice::UseOneOfThem)));
    }
    let created = match transaction.insert_token(&StoredToken::of(new, now_ms))? {
        // It may be there because it was written and the server could not say so.
        None => transaction.reader().token(new.hash)?.filter(|known| known.token.name == new.name),
        created => created,
    };
    let Some(created) = created else {
        let message = format!("there is a token `{}` already, or there was one", new.name);
        return Ok(Err(Failure::new(Code::Usage, message).with_next(Advice::NameAnotherToken)));
    };
    Ok(created.checked())
}
