//! Statements for access tokens.

use parallel_llm_engine::PicoUsd;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};

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
    pub(crate) fn tokens(&self) -> Result<Vec<StoredToken>, DatabaseError> {
        self.rows(concat!("SELECT ", columns!(), " FROM tokens ORDER BY token_id"), (), stored)
    }

    /// The token of this hash, found by index.
    pub(crate) fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>, DatabaseError> {
        self.first(concat!("SELECT ", columns!(), " FROM tokens WHERE hash = ?"), [hash], stored)
    }

    /// The number of tokens, revoked ones included.
    pub(crate) fn count_tokens(&self) -> Result<i64, DatabaseError> {
        self.value("SELECT COUNT(*) FROM tokens", ())
    }
}

impl Transaction {
    /// Inserts a new token; `None` if any token ever had its name.
    pub(crate) fn insert_token(&mut self, new: &StoredToken) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "INSERT INTO tokens (name, hash, last_four, scopes, budget_day_pico_usd, requests_per_minute, ",
            "created_at_ms, expires_at_ms, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ",
            columns!()
        );
        let token = &new.token;
        let values = (
            &token.name,
            &new.hash,
            &token.last_four,
            scopes_json(&token.scopes),
            token.budget_day.map(|budget| budget.0),
            token.requests_per_minute,
            token.created_at_ms,
            token.expires_at_ms,
            new.checksum,
        );
        self.reader().first(sql, values, stored)
    }

    /// Revokes a token; a revoked one keeps its time. `None` if there is no such token.
    pub(crate) fn revoke_token(
        &mut self,
        token_id: i64,
        now_ms: i64,
    ) -> Result<Option<StoredToken>, DatabaseError> {
        let sql = concat!(
            "UPDATE tokens SET revoked_at_ms = COALESCE(revoked_at_ms, ?) WHERE token_id = ? RETURNING ",
            columns!()
        );
        self.reader().first(sql, (now_ms, token_id), stored)
    }

    /// Records that a token was used, unless its last recorded use is more recent than `stands_ms`.
    pub(crate) fn note_token_use(
        &mut self,
        token_id: i64,
        now_ms: i64,
        stands_ms: i64,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE tokens SET last_used_at_ms = ?1 WHERE token_id = ?2 AND IFNULL(last_used_at_ms, 0) <= ?1 - ?3";
        self.execute(sql, (now_ms, token_id, stands_ms)).map(drop)
    }
}

/// Gives a checksum to the tokens of a version that had none.
pub(super) fn seal(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare(concat!("SELECT ", columns!(), " FROM tokens WHERE checksum IS NULL"))?;
    for token in statement.query_map((), stored)? {
        let token = token?.sealed();
        let sql = "UPDATE tokens SET checksum = ? WHERE token_id = ?";
        connection.execute(sql, (token.checksum, token.token.token_id))?;
    }
    Ok(())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredToken> {
    let scopes = row.get_ref(3)?.as_str()?;
    Ok(StoredToken {
        token: Token {
            token_id: row.get(0)?,
            name: row.get(1)?,
            last_four: row.get(2)?,
            scopes: serde_json::from_str(scopes).map_err(FromSqlError::other)?,
            budget_day: row.get::<_, Option<i64>>(4)?.map(PicoUsd),
            requests_per_minute: row.get(5)?,
            created_at_ms: row.get(6)?,
            expires_at_ms: row.get(7)?,
            revoked_at_ms: row.get(8)?,
            last_used_at_ms: row.get(9)?,
        },
        hash: row.get(10)?,
        checksum: row.get(11)?,
    })
}
