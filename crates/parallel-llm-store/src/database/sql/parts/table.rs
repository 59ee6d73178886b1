//! The tables that are copied, their columns, and how a value is the same in both databases.

use blake3::Hasher;

use super::value::Value;

use Kind::{Body, Bytes, Flag, Foreign, Integer, Real, Text};

/// What a column holds, and as what each database keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text of our own.
    Text,
    Integer,
    Real,
    /// 0 or 1 in a file, a truth value on a server.
    Flag,
    /// Text that a stranger may have written: bytes on a server, whose texts hold no zero byte.
    Foreign,
    /// A text that may be compressed: text or bytes in a file, bytes on a server.
    Body,
    Bytes,
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
    /// The unique columns that the rows are read by.
    pub(crate) key: &'static str,
}

/// A digest of rows in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Hasher);

impl Digest {
    /// Adds a row.
    pub(crate) fn add(&mut self, row: &[Value<'_>]) {
        for value in row {
            let (mark, bytes): (u8, &[u8]) = match value {
                Value::Null => (0, &[]),
                Value::Integer(number) => (1, &number.to_le_bytes()),
                Value::Real(number) => (2, &number.to_le_bytes()),
                Value::Text(text) => (3, text.as_bytes()),
                Value::Bytes(bytes) => (4, bytes),
            };
            self.0.update(&[mark]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.finalize() == other.0.finalize()
    }
}

/// The tables, those first that others refer to. What is left out is made anew: the index of words, the counts of the list,
/// what `runs` says of both, and the sessions of browsers with the key of their forms.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "runs",
        columns: &[
            ("run_id", Text),
            ("plan_hash", Text),
            ("plan_checksum", Integer),
            ("store_mode", Text),
            ("created_at_ms", Integer),
            ("asked_by", Text),
            ("idempotency_key", Foreign),
            ("owner", Text),
            ("epoch", Integer),
            ("lease_until_ms", Integer),
            ("last_seq", Integer),
            ("status", Text),
            ("question_excerpt", Foreign),
            ("strategy", Text),
            ("seats", Integer),
            ("answered", Integer),
            ("cost_pico_usd", Integer),
            ("cost_is_estimate", Flag),
            ("decided_at_ms", Integer),
            ("closed_at_ms", Integer),
            ("models", Text),
            ("checksum", Integer),
        ],
        key: "run_id",
    },
    Table {
        name: "events",
        columns: &[
            ("run_id", Text),
            ("seq", Integer),
            ("elapsed_ms", Integer),
            ("at_ms", Integer),
            ("body", Text),
            ("checksum", Integer),
        ],
        key: "run_id, seq",
    },
    Table {
        name: "texts",
        columns: &[("text_id", Integer), ("run_id", Text), ("hash", Text), ("body", Body)],
        key: "run_id, hash",
    },
    Table {
        name: "pieces",
        columns: &[
            ("run_id", Text),
            ("place", Text),
            ("attempt", Integer),
            ("start", Integer),
            ("text", Foreign),
            ("at_ms", Integer),
            ("checksum", Integer),
        ],
        key: "run_id, place, attempt, start",
    },
    Table {
        name: "calls",
        columns: &[
            ("run_id", Text),
            ("place", Text),
            ("attempt", Integer),
            ("provider", Text),
            ("model", Text),
            ("sent_at_ms", Integer),
            ("asked_by", Text),
            ("worst_pico_usd", Integer),
            ("sent_checksum", Integer),
            ("ended_at_ms", Integer),
            ("outcome", Text),
            ("code", Text),
            ("end_checksum", Integer),
            ("cost_pico_usd", Integer),
            ("cost_is_estimate", Flag),
            ("input_tokens", Integer),
            ("output_tokens", Integer),
            ("reasoning_tokens", Integer),
            ("cached_tokens", Integer),
            ("spend_checksum", Integer),
            ("generation_id", Foreign),
            ("first_token_ms", Integer),
            ("first_token_checksum", Integer),
        ],
        key: "run_id, place, attempt",
    },
    Table {
        name: "holds",
        columns: &[("run_id", Text), ("place", Text), ("provider", Text), ("pico_usd", Integer)],
        key: "run_id, place",
    },
    Table {
        name: "seats",
        columns: &[
            ("run_id", Text),
            ("seat", Integer),
            ("provider", Text),
            ("model", Text),
            ("status", Text),
            ("late", Flag),
            ("considered", Flag),
            ("is_base", Flag),
            ("drawn_from", Flag),
            ("alone", Flag),
            ("cost_pico_usd", Integer),
            ("elapsed_ms", Integer),
            ("decided_at_ms", Integer),
            ("outcome_kind", Text),
            ("edit_ratio", Real),
            ("asked_by", Text),
            ("checksum", Integer),
            ("agreement_group", Integer),
        ],
        key: "run_id, seat",
    },
    Table {
        name: "tokens",
        columns: &[
            ("token_id", Integer),
            ("name", Text),
            ("hash", Bytes),
            ("last_four", Text),
            ("scopes", Text),
            ("budget_day_pico_usd", Integer),
            ("requests_per_minute", Integer),
            ("created_at_ms", Integer),
            ("expires_at_ms", Integer),
            ("revoked_at_ms", Integer),
            ("last_used_at_ms", Integer),
            ("checksum", Integer),
        ],
        key: "token_id",
    },
    Table {
        name: "batches",
        columns: &[
            ("batch_id", Text),
            ("name", Text),
            ("state", Text),
            ("pause", Text),
            ("budget_pico_usd", Integer),
            ("created_at_ms", Integer),
            ("settled_at_ms", Integer),
            ("jobs", Integer),
            ("bad", Integer),
            ("answered", Integer),
            ("partial", Integer),
            ("failed", Integer),
            ("spent_pico_usd", Integer),
            ("unknown_pico_usd", Integer),
            ("unbounded", Integer),
            ("reserved_pico_usd", Integer),
        ],
        key: "batch_id",
    },
    Table {
        name: "batch_jobs",
        columns: &[
            ("batch_id", Text),
            ("line", Integer),
            ("custom_id", Text),
            ("state", Text),
            ("request", Body),
            ("checksum", Integer),
            ("worst_case_pico_usd", Integer),
            ("is_reserved", Flag),
            ("claim", Integer),
            ("owner", Text),
            ("lease_until_ms", Integer),
            ("not_before_ms", Integer),
            ("attempts", Integer),
            ("resend", Flag),
            ("run_id", Text),
            ("cost_pico_usd", Integer),
            ("unknown_pico_usd", Integer),
            ("unbounded", Integer),
            ("failure", Text),
        ],
        key: "batch_id, line",
    },
];

impl Table {
    /// Its columns as a list in SQL.
    pub(crate) fn column_list(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}
