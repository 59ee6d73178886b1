//! Statements for access tokens.

use parallel_llm_engine::PicoUsd;
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{damaged, get, small_or_none};
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
    pub(crate) fn tokens(&self) -> Result<Vec<StoredToken>, DatabaseError> {
        self.session.rows(concat!("SELECT ", columns!(), " FROM tokens ORDER BY token_id"), &[], stored)
    }

    /// The token of this hash, found by index.
    pub(crate) fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!("SELECT ", columns!(), " FROM tokens WHERE hash = $1");
        self.session.first(sql, &[&&hash[..]], stored)
    }

    /// The number of tokens, revoked ones included.
    pub(crate) fn count_tokens(&self) -> Result<i64, DatabaseError> {
        self.session.value("SELECT COUNT(*) FROM tokens", &[])
    }
}

impl Transaction {
    /// Inserts a new token; `None` if any token ever had its name.
    pub(crate) fn insert_token(&mut self, new: &StoredToken) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "INSERT INTO tokens (name, hash, last_four, scopes, budget_day_pico_usd, requests_per_minute, ",
            "created_at_ms, expires_at_ms, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ",
            "ON CONFLICT DO NOTHING RETURNING ",
            columns!()
        );
        let token = &new.token;
        self.session.first(
            sql,
            &[
                &token.name,
                &new.hash,
                &token.last_four,
                &scopes_json(&token.scopes),
                &token.budget_day.map(|budget| budget.0),
                &token.requests_per_minute.map(i64::from),
                &token.created_at_ms,
                &token.expires_at_ms,
                &new.checksum,
            ],
            stored,
        )
    }

    /// Revokes a token; a revoked one keeps its time. `None` if there is no such token.
    pub(crate) fn revoke_token(
        &mut self,
        token_id: i64,
        now_ms: i64,
    ) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "UPDATE tokens SET revoked_at_ms = COALESCE(revoked_at_ms, $1) WHERE token_id = $2 RETURNING ",
            columns!()
        );
        self.session.first(sql, &[&now_ms, &token_id], stored)
    }

    /// Records that a token was used, unless its last recorded use is more recent than `stands_ms`.
    pub(crate) fn note_token_use(
        &mut self,
        token_id: i64,
        now_ms: i64,
        stands_ms: i64,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE tokens SET last_used_at_ms = $1 WHERE token_id = $2 AND COALESCE(last_used_at_ms, 0) <= $3";
        self.execute(sql, &[&now_ms, &token_id, &(now_ms - stands_ms)]).map(drop)
    }
}

fn stored(row: &Row) -> Result<StoredToken, DatabaseError> {
    Ok(StoredToken {
        token: Token {
            token_id: get(row, 0)?,
            name: get(row, 1)?,
            last_four: get(row, 2)?,
            scopes: serde_json::from_str(get(row, 3)?).map_err(damaged)?,
            budget_day: get::<Option<i64>>(row, 4)?.map(PicoUsd),
            requests_per_minute: small_or_none(row, 5)?,
            created_at_ms: get(row, 6)?,
            expires_at_ms: get(row, 7)?,
            revoked_at_ms: get(row, 8)?,
            last_used_at_ms: get(row, 9)?,
        },
        hash: get(row, 10)?,
        checksum: get(row, 11)?,
    })
}
