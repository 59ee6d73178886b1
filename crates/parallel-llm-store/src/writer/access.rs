//! Writes who may come in: the sessions of browsers, and tokens.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use crate::access::sessions::{NewSession, SessionLimits};
use crate::access::tokens::{self, NewToken, StoredToken, Token};
use crate::database::Transaction;
use crate::system::error::{self, DatabaseError};
use crate::writer::job::Admission;

/// Begins a session, for which others end if there are too many.
pub(crate) fn begin_session(
    transaction: &mut Transaction,
    new: &NewSession,
    limits: &SessionLimits,
    now_ms: i64,
) -> Result<Admission<()>, DatabaseError> {
    transaction.make_room_for_session(new.holder, limits, now_ms)?;
    transaction.insert_session(new, now_ms)?;
    Ok(Ok(()))
}

/// Writes a new token. Refuses a name that any token ever had.
pub(crate) fn create_token(
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

/// Revokes a token; `None` if there is no such token.
pub(crate) fn revoke_token(
    transaction: &mut Transaction,
    token_id: i64,
    now_ms: i64,
) -> Result<Admission<Option<Token>>, DatabaseError> {
    let revoked = transaction.revoke_token(token_id, now_ms)?;
    Ok(revoked.map(StoredToken::checked).transpose())
}
