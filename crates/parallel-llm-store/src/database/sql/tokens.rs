//! Statements for access tokens.

use parallel_llm_engine::PicoUsd;

use super::parts::session::{Reader, Row, Session};
use super::parts::value::{damaged, values};
use crate::access::tokens::{StoredToken, Token, scopes_json};
use crate::system::error::DatabaseResult as Result;

/// All columns in the order of [`stored`].
macro_rules! columns {
    () => {
        "token_id, name, last_four, scopes, budget_day_pico_usd, requests_per_minute, created_at_ms, expires_at_ms, \
         revoked_at_ms, last_used_at_ms, hash, checksum"
    };
}

impl Reader<'_> {
    /// Every token, oldest first.
    pub(crate) fn tokens(&self) -> Result<Vec<StoredToken>> {
        self.session.rows(concat!("SELECT ", columns!(), " FROM tokens ORDER BY token_id"), &[], stored)
    }

    /// The tokens of a version that gave them no checksum.
    pub(crate) fn unsealed_tokens(&self) -> Result<Vec<StoredToken>> {
        self.session.rows(concat!("SELECT ", columns!(), " FROM tokens WHERE checksum IS NULL"), &[], stored)
    }

    /// The token of this hash, found by index.
    pub(crate) fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>> {
        self.session.first(
            concat!("SELECT ", columns!(), " FROM tokens WHERE hash = $1"),
            &values![hash],
            stored,
        )
    }

    /// The number of tokens, revoked ones included.
    pub(crate) fn count_tokens(&self) -> Result<i64> {
        self.session.value("SELECT COUNT(*) FROM tokens", &[])
    }
}

impl dyn Session + '_ {
    /// Inserts a new token; `None` if any token ever had its name.
    pub(crate) fn insert_token(&self, new: &StoredToken) -> Result<Option<StoredToken>> {
        let sql = concat!(
            "INSERT INTO tokens (name, hash, last_four, scopes, budget_day_pico_usd, requests_per_minute, ",
            "created_at_ms, expires_at_ms, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ",
            "ON CONFLICT DO NOTHING RETURNING ",
            columns!()
        );
        let token = &new.token;
        let values = values![
            &token.name,
            &new.hash,
            &token.last_four,
            scopes_json(&token.scopes),
            token.budget_day,
            token.requests_per_minute,
            token.created_at_ms,
            token.expires_at_ms,
            new.checksum,
        ];
        self.first(sql, &values, stored)
    }

    /// Revokes a token; a revoked one keeps its time. `None` if there is no such token.
    pub(crate) fn revoke_token(&self, token_id: i64, now_ms: i64) -> Result<Option<StoredToken>> {
        let sql = concat!(
            "UPDATE tokens SET revoked_at_ms = COALESCE(revoked_at_ms, $1) WHERE token_id = $2 RETURNING ",
            columns!()
        );
        self.first(sql, &values![now_ms, token_id], stored)
    }

    /// Records that a token was used, unless its last recorded use is more recent than `stands_ms`.
    pub(crate) fn note_token_use(&self, token_id: i64, now_ms: i64, stands_ms: i64) -> Result<()> {
        let sql = "UPDATE tokens SET last_used_at_ms = $1 WHERE token_id = $2 AND COALESCE(last_used_at_ms, 0) <= $3";
        self.execute(sql, &values![now_ms, token_id, now_ms - stands_ms]).map(drop)
    }
}

fn stored(row: &Row<'_>) -> Result<StoredToken> {
    Ok(StoredToken {
        token: Token {
            token_id: row.get(0)?,
            name: row.get(1)?,
            last_four: row.get(2)?,
            scopes: serde_json::from_str(row.get(3)?).map_err(damaged)?,
            budget_day: row.get::<Option<PicoUsd>>(4)?,
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
