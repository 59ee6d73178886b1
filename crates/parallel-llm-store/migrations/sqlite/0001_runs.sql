-- Runs, their events, and the texts that models gave.
--
-- Money is in pico-USD. `_at_ms` is the store's clock, in milliseconds since 1970; `elapsed_ms` counts from the
-- start of the run on a clock that never jumps. Once released, a migration is never edited.

-- One row per run. Everything below `plan` and `epoch` is a projection of the run's events, written in the same
-- transaction as they are, so that listing never reads them.
CREATE TABLE runs (
    run_id           TEXT    NOT NULL PRIMARY KEY,     -- a ULID: its order is the order of time
    plan             TEXT    NOT NULL,                 -- JSON; without messages where only metadata is kept
    plan_hash        TEXT    NOT NULL,                 -- BLAKE3 of the whole plan, messages included
    store_mode       TEXT    NOT NULL,                 -- full | metadata
    created_at_ms    INTEGER NOT NULL,
    owner            TEXT    NOT NULL,                 -- machine/pid/start of the process that does the run
    epoch            INTEGER NOT NULL,                 -- grows with each owner; an append with another is refused
    lease_until_ms   INTEGER NOT NULL,                 -- past this, the owner is taken for gone
    last_seq         INTEGER NOT NULL DEFAULT 0,       -- the newest event
    status           TEXT    NOT NULL DEFAULT 'running',
    question_excerpt TEXT,                             -- null where only metadata is kept
    strategy         TEXT    NOT NULL,
    seats            INTEGER NOT NULL,
    answered         INTEGER NOT NULL DEFAULT 0,
    cost_pico_usd    INTEGER NOT NULL DEFAULT 0,
    cost_is_estimate INTEGER NOT NULL DEFAULT 0,
    decided_at_ms    INTEGER,
    closed_at_ms     INTEGER
) STRICT;

CREATE INDEX runs_by_status ON runs (status, run_id);
-- What the heartbeat extends; small, because most runs are closed.
CREATE INDEX runs_open ON runs (owner) WHERE closed_at_ms IS NULL;

CREATE TABLE events (
    run_id     TEXT    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    kind       TEXT    NOT NULL GENERATED ALWAYS AS (body ->> '$.event') VIRTUAL,
    body       TEXT    NOT NULL,                       -- JSON; texts stand in `texts`, by their hash
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE texts (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    hash   TEXT NOT NULL,                              -- BLAKE3 of the body
    body   TEXT NOT NULL,
    PRIMARY KEY (run_id, hash)
) STRICT;

-- Text that is still on its way, one row per request; gone when the request has ended.
CREATE TABLE checkpoints (
    run_id  TEXT    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    place   TEXT    NOT NULL,                          -- JSON, such as {"seat":1}
    attempt INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (run_id, place, attempt)
) STRICT;
