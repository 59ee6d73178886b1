//! Tokens in the database. The writing functions work inside the writer's transaction.

use parallel_llm_engine::{Code, Failure, PicoUsd};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::Admission;
use super::read::unread;
use crate::fault;
use crate::row::checksum::Checksum;
use crate::tokens::{NewToken, Token};

/// The most tokens there may be, revoked ones included: a new one for every day of twenty-seven years.
const TOKENS_MAX: i64 = 10_000;
/// How long the moment of the last use stands before it is written anew. A holder that asks all day costs a write a
/// minute.
pub(crate) const USED_MS: i64 = 60 * 1_000;

/// All columns, as [`token`] reads them.
macro_rules! columns {
    () => {
        "token_id, name, last_four, scopes, budget_day_pico_usd, requests_per_minute, created_at_ms, expires_at_ms, \
         revoked_at_ms, last_used_at_ms, hash, checksum"
    };
}

/// Writes a new token. Refuses a name that was ever given to another.
pub(crate) async fn create(
    connection: &mut SqliteConnection,
    new: &NewToken,
    now_ms: i64,
) -> Result<Admission<Token>, sqlx::Error> {
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM tokens").fetch_one(&mut *connection).await?;
    if count >= TOKENS_MAX {
        let message = format!("there are {TOKENS_MAX} tokens already, revoked ones included");
        return Ok(Err(fault::refused(message).with_next("use one of them, or another data folder")));
    }
    let sql = concat!(
        "INSERT INTO tokens (name, hash, last_four, scopes, budget_day_pico_usd, requests_per_minute, ",
        "created_at_ms, expires_at_ms, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ",
        columns!()
    );
    let scopes = serde_json::to_string(&new.scopes).expect("words are plain data");
    let sum = sum((&new.name, &new.hash), (&new.last_four, &scopes))
        .number(new.budget_day.map(|budget| budget.0))
        .number(new.requests_per_minute.map(i64::from))
        .number(Some(now_ms))
        .number(new.expires_at_ms);
    let row = sqlx::query(sql)
        .bind(&*new.name)
        .bind(new.hash.as_slice())
        .bind(&*new.last_four)
        .bind(&*scopes)
        .bind(new.budget_day.map(|budget| budget.0))
        .bind(new.requests_per_minute)
        .bind(now_ms)
        .bind(new.expires_at_ms)
        .bind(sum.finish())
        .fetch_optional(connection)
        .await?;
    let taken = || {
        let message = format!("there is a token `{}` already, or there was one", new.name);
        Failure::new(Code::Usage, message)
            .with_next("choose another name: the runs of that one's holder are found by it")
    };
    row.as_ref().map(token).transpose().map(|made| made.ok_or_else(taken))
}

/// Revokes a token; one that was revoked before stays as it was. `None` where there is none of this number.
pub(crate) async fn revoke(
    connection: &mut SqliteConnection,
    token_id: i64,
    now_ms: i64,
) -> Result<Option<Token>, sqlx::Error> {
    let sql = concat!(
        "UPDATE tokens SET revoked_at_ms = COALESCE(revoked_at_ms, ?) WHERE token_id = ? RETURNING ",
        columns!()
    );
    let row = sqlx::query(sql).bind(now_ms).bind(token_id).fetch_optional(connection).await?;
    row.as_ref().map(token).transpose()
}

/// Notes that a token was used, unless that was noted a moment ago.
pub(crate) async fn note_use(
    connection: &mut SqliteConnection,
    token_id: i64,
    now_ms: i64,
) -> Result<(), sqlx::Error> {
    let sql = "UPDATE tokens SET last_used_at_ms = ?1 WHERE token_id = ?2 AND IFNULL(last_used_at_ms, 0) <= ?1 - ?3";
    sqlx::query(sql).bind(now_ms).bind(token_id).bind(USED_MS).execute(connection).await.map(drop)
}

/// Every token, the oldest first.
pub(crate) async fn list(readers: &SqlitePool) -> Result<Vec<Token>, Failure> {
    let mut connection = readers.acquire().await.map_err(unread)?;
    all(&mut connection).await
}

/// As [`list`], on this connection.
pub(super) async fn all(connection: &mut SqliteConnection) -> Result<Vec<Token>, Failure> {
    let sql = concat!("SELECT ", columns!(), " FROM tokens ORDER BY token_id");
    let rows = sqlx::query(sql).fetch_all(connection).await.map_err(unread)?;
    rows.iter().map(|row| token(row).map_err(unreadable)).collect()
}

/// The token of this hash: one look into an index, whether there is one or not.
pub(crate) async fn find(readers: &SqlitePool, hash: [u8; 32]) -> Result<Option<Token>, Failure> {
    let sql = concat!("SELECT ", columns!(), " FROM tokens WHERE hash = ?");
    let row = sqlx::query(sql).bind(hash.as_slice()).fetch_optional(readers).await.map_err(unread)?;
    row.as_ref().map(token).transpose().map_err(unreadable)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` takes")]
fn unreadable(cause: sqlx::Error) -> Failure {
    fault::unreadable("a token", &cause)
}

/// The beginning of a token's checksum: its name and hash, its last characters and its scopes.
fn sum((name, hash): (&str, &[u8]), (last_four, scopes): (&str, &str)) -> Checksum {
    let hash = hash.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    Checksum::of("tokens").text(Some(name)).text(Some(&hash)).text(Some(last_four)).text(Some(scopes))
}

/// Reads a token. One that is damaged lets nobody in: what it allows may be more than it was made for.
fn token(row: &SqliteRow) -> Result<Token, sqlx::Error> {
    let scopes: &str = row.try_get(3)?;
    let stored: Option<i64> = row.try_get(11)?;
    let (name, hash, last_four) = (row.try_get(1)?, row.try_get(10)?, row.try_get(2)?);
    let sum = [4, 5, 6, 7].into_iter().try_fold(sum((name, hash), (last_four, scopes)), |sum, column| {
        Ok::<_, sqlx::Error>(sum.number(row.try_get(column)?))
    })?;
    if !sum.holds(stored) {
        return Err(sqlx::Error::Decode("it does not match its checksum".into()));
    }
    Ok(Token {
        token_id: row.try_get(0)?,
        name: row.try_get(1)?,
        last_four: row.try_get(2)?,
        scopes: serde_json::from_str(scopes).map_err(|cause| sqlx::Error::Decode(cause.into()))?,
        budget_day: row.try_get::<Option<i64>, _>(4)?.map(PicoUsd),
        requests_per_minute: row.try_get(5)?,
        created_at_ms: row.try_get(6)?,
        expires_at_ms: row.try_get(7)?,
        revoked_at_ms: row.try_get(8)?,
        last_used_at_ms: row.try_get(9)?,
    })
}
