//! Statements for access tokens.

use parallel_llm_engine::PicoUsd;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::connection::{Reader, Transaction};
use crate::error::DatabaseError;
use crate::tokens::{StoredToken, Token, scopes_json};

/// All columns in the order of [`stored`].
macro_rules! columns {
    () => {
        "token_id, name, last_four, scopes, budget_day_pico_usd, requests_per_minute, created_at_ms, expires_at_ms, \
         revoked_at_ms, last_used_at_ms, hash, checksum"
    };
}

impl Reader<'_> {
    /// Every token, oldest first.
    pub(crate) async fn tokens(&mut self) -> Result<Vec<StoredToken>, DatabaseError> {
        let sql = concat!("SELECT ", columns!(), " FROM tokens ORDER BY token_id");
        let rows = sqlx::query(sql).fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(stored).collect::<Result<_, _>>()?)
    }

    /// The token of this hash, found by index.
    pub(crate) async fn token(&mut self, hash: [u8; 32]) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!("SELECT ", columns!(), " FROM tokens WHERE hash = ?");
        let row = sqlx::query(sql).bind(hash.as_slice()).fetch_optional(&mut *self.connection).await?;
        Ok(row.as_ref().map(stored).transpose()?)
    }

    /// The number of tokens, revoked ones included.
    pub(crate) async fn count_tokens(&mut self) -> Result<i64, DatabaseError> {
        Ok(sqlx::query_scalar("SELECT COUNT(*) FROM tokens").fetch_one(&mut *self.connection).await?)
    }
}

impl Transaction {
    /// Inserts a new token; `None` if any token ever had its name.
    pub(crate) async fn insert_token(
        &mut self,
        new: &StoredToken,
    ) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "INSERT INTO tokens (name, hash, last_four, scopes, budget_day_pico_usd, requests_per_minute, ",
            "created_at_ms, expires_at_ms, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ",
            columns!()
        );
        let token = &new.token;
        let row = sqlx::query(sql)
            .bind(&*token.name)
            .bind(&*new.hash)
            .bind(&*token.last_four)
            .bind(scopes_json(&token.scopes))
            .bind(token.budget_day.map(|budget| budget.0))
            .bind(token.requests_per_minute)
            .bind(token.created_at_ms)
            .bind(token.expires_at_ms)
            .bind(new.checksum)
            .fetch_optional(&mut self.connection)
            .await?;
        Ok(row.as_ref().map(stored).transpose()?)
    }

    /// Revokes a token; a revoked one keeps its time. `None` if there is no such token.
    pub(crate) async fn revoke_token(
        &mut self,
        token_id: i64,
        now_ms: i64,
    ) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "UPDATE tokens SET revoked_at_ms = COALESCE(revoked_at_ms, ?) WHERE token_id = ? RETURNING ",
            columns!()
        );
        let row = sqlx::query(sql).bind(now_ms).bind(token_id).fetch_optional(&mut self.connection).await?;
        Ok(row.as_ref().map(stored).transpose()?)
    }

    /// Records that a token was used, unless its last recorded use is more recent than `stands_ms`.
    pub(crate) async fn note_token_use(
        &mut self,
        token_id: i64,
        now_ms: i64,
        stands_ms: i64,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE tokens SET last_used_at_ms = ?1 WHERE token_id = ?2 AND IFNULL(last_used_at_ms, 0) <= ?1 - ?3";
        sqlx::query(sql).bind(now_ms).bind(token_id).bind(stands_ms).execute(&mut self.connection).await?;
        Ok(())
    }
}

fn stored(row: &SqliteRow) -> Result<StoredToken, sqlx::Error> {
    let scopes: &str = row.try_get(3)?;
    Ok(StoredToken {
        token: Token {
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
        },
        hash: row.try_get(10)?,
        checksum: row.try_get(11)?,
    })
}
