-- Runs, their events and texts, the ledger, the facts of seats, tokens, the index of words, and the counts of the list:
-- all that the other dialect has after its migration of this number, with which this one begins. Once released, a
-- migration is never edited.
--
-- Money is in pico-USD. `_at_ms` is the server's clock, in milliseconds since 1970; `elapsed_ms` counts from the start of
-- the run on a clock that never jumps. Checksums are the same as in the other dialect (`src/row/checksum.rs`).
--
-- Text is compared byte by byte (COLLATE "C"), so that ids sort by time on every server. A text that a stranger may have
-- written is BYTEA, because TEXT holds no zero byte.

-- One row per run. Everything below `epoch` is a projection of the run's events, written in the same transaction.
CREATE TABLE runs (
    run_id           TEXT    COLLATE "C" NOT NULL PRIMARY KEY, -- a ULID: its order is the order of time
    plan_hash        TEXT    COLLATE "C" NOT NULL,     -- BLAKE3 of the whole plan, messages included
    plan_checksum    BIGINT  NOT NULL,
    store_mode       TEXT    COLLATE "C" NOT NULL,     -- full | metadata
    created_at_ms    BIGINT  NOT NULL,
    asked_by         TEXT    COLLATE "C",              -- null for the owner
    idempotency_key  BYTEA,
    owner            TEXT    COLLATE "C" NOT NULL,     -- machine/pid/start of the process that does the run
    epoch            BIGINT  NOT NULL,                 -- grows with each owner; an append with another is refused
    lease_until_ms   BIGINT  NOT NULL,                 -- past this, the owner is taken for gone
    last_seq         BIGINT  NOT NULL DEFAULT 0,       -- the newest event
    status           TEXT    COLLATE "C" NOT NULL DEFAULT 'running',
    question_excerpt BYTEA,                            -- null where only metadata is kept
    strategy         TEXT    COLLATE "C" NOT NULL,
    seats            BIGINT  NOT NULL,
    answered         BIGINT  NOT NULL DEFAULT 0,
    cost_pico_usd    BIGINT  NOT NULL DEFAULT 0,
    cost_is_estimate BOOLEAN NOT NULL DEFAULT FALSE,
    decided_at_ms    BIGINT,
    closed_at_ms     BIGINT,
    models           TEXT    COLLATE "C",              -- JSON: the models of the seats, each once
    checksum         BIGINT,                           -- of what the list shows of the run; null before its first event
    indexed_to       BIGINT  NOT NULL DEFAULT 0,       -- the newest of its texts that is in the index of words
    is_indexed       BOOLEAN NOT NULL DEFAULT FALSE,   -- whether nothing of it is left to be indexed
    is_counted       BOOLEAN NOT NULL DEFAULT FALSE    -- whether `counted_runs` and `run_counts` have it
);

CREATE INDEX runs_by_status ON runs (status, run_id);
CREATE INDEX runs_by_asker ON runs (asked_by, run_id) WHERE asked_by IS NOT NULL;
-- What the heartbeat extends; small, because most runs are closed.
CREATE INDEX runs_open ON runs (owner) WHERE closed_at_ms IS NULL;
-- One run per caller and key, for as long as it is kept.
CREATE UNIQUE INDEX runs_by_key ON runs (COALESCE(asked_by, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Is the same question being answered already? Small, because few runs are under way.
CREATE INDEX runs_under_way ON runs (plan_hash, run_id) WHERE status = 'running';
-- Has the same question an answer that can be given again?
CREATE INDEX runs_answered ON runs (plan_hash, run_id)
    WHERE status IN ('complete', 'partial') AND store_mode = 'full';
CREATE INDEX runs_unindexed ON runs (run_id) WHERE NOT is_indexed;
CREATE INDEX runs_uncounted ON runs (run_id) WHERE NOT is_counted;

CREATE TABLE events (
    run_id     TEXT   COLLATE "C" NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    seq        BIGINT NOT NULL,
    elapsed_ms BIGINT NOT NULL,
    at_ms      BIGINT NOT NULL,
    body       TEXT   COLLATE "C" NOT NULL,            -- JSON; texts stand in `texts`, by their hash
    checksum   BIGINT NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- A text, or the plan of a run. Compressed already where that makes it smaller, hence not again.
CREATE TABLE texts (
    text_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- grows with time
    run_id  TEXT   COLLATE "C" NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    hash    TEXT   COLLATE "C" NOT NULL,               -- BLAKE3 of the text; empty for the run's plan
    body    BYTEA  NOT NULL,                           -- UTF-8 as it is, or a frame of zstd
    UNIQUE (run_id, hash)
);
ALTER TABLE texts ALTER COLUMN body SET STORAGE EXTERNAL;

-- Text that is still on its way: a row per piece, in the order of their first bytes; gone when the request has ended.
CREATE TABLE pieces (
    run_id   TEXT   COLLATE "C" NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    place    TEXT   COLLATE "C" NOT NULL,              -- JSON, such as {"seat":1}
    attempt  BIGINT NOT NULL,
    start    BIGINT NOT NULL,                          -- bytes of the text before it
    text     BYTEA  NOT NULL,
    at_ms    BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (run_id, place, attempt, start)
);

-- The ledger: a row per upstream request. It outlives its run, and holds no text. The columns of a call become known at
-- different moments, so each group has its own checksum, which is null until it has ended.
CREATE TABLE calls (
    run_id               TEXT    COLLATE "C" NOT NULL,
    place                TEXT    COLLATE "C" NOT NULL, -- JSON, such as {"seat":1}
    attempt              BIGINT  NOT NULL,
    provider             TEXT    COLLATE "C" NOT NULL,
    model                TEXT    COLLATE "C" NOT NULL,
    sent_at_ms           BIGINT  NOT NULL,
    asked_by             TEXT    COLLATE "C",
    worst_pico_usd       BIGINT,                       -- the most it can cost; null where the price is unknown
    sent_checksum        BIGINT  NOT NULL,
    ended_at_ms          BIGINT,
    outcome              TEXT    COLLATE "C" NOT NULL DEFAULT 'sent', -- sent | answered | cut | failed | cancelled | unknown
    code                 TEXT    COLLATE "C",          -- why it failed or was cut
    end_checksum         BIGINT,
    cost_pico_usd        BIGINT,                       -- null where nobody knows
    cost_is_estimate     BOOLEAN NOT NULL DEFAULT FALSE, -- computed from prices, not told by the provider
    input_tokens         BIGINT,
    output_tokens        BIGINT,
    reasoning_tokens     BIGINT,
    cached_tokens        BIGINT,
    spend_checksum       BIGINT,
    generation_id        BYTEA,                        -- the provider's name for it
    first_token_ms       BIGINT,                       -- from sending to the first text or reasoning
    first_token_checksum BIGINT,
    PRIMARY KEY (run_id, place, attempt)
);

-- All that a day's limit and the figures ask of a call.
CREATE INDEX calls_by_time ON calls (sent_at_ms) INCLUDE (provider, outcome, cost_pico_usd, worst_pico_usd, model, code,
    ended_at_ms, first_token_ms, cost_is_estimate);
CREATE INDEX calls_by_asker ON calls (asked_by, sent_at_ms) INCLUDE (provider, outcome, cost_pico_usd, worst_pico_usd,
    model, code, ended_at_ms, first_token_ms, cost_is_estimate) WHERE asked_by IS NOT NULL;

-- Money that a run under way may still spend, by the place that would: it goes when the place's request leaves, and the
-- rest when the run is closed.
CREATE TABLE holds (
    run_id   TEXT   COLLATE "C" NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    place    TEXT   COLLATE "C" NOT NULL,
    provider TEXT   COLLATE "C" NOT NULL,
    pico_usd BIGINT NOT NULL,
    PRIMARY KEY (run_id, place)
);

-- What became of each seat of the runs that were decided. It outlives its run, and holds no text.
CREATE TABLE seats (
    run_id          TEXT    COLLATE "C" NOT NULL,
    seat            BIGINT  NOT NULL,
    provider        TEXT    COLLATE "C" NOT NULL,
    model           TEXT    COLLATE "C" NOT NULL,
    status          TEXT    COLLATE "C" NOT NULL,
    late            BOOLEAN NOT NULL,
    considered      BOOLEAN NOT NULL,                  -- its answer was there to choose from
    is_base         BOOLEAN NOT NULL,                  -- the outcome is its answer, or started from it
    drawn_from      BOOLEAN NOT NULL,                  -- the outcome has wording of its answer that the base's has not
    alone           BOOLEAN NOT NULL,                  -- its answer was the only one considered
    cost_pico_usd   BIGINT,
    elapsed_ms      BIGINT,
    decided_at_ms   BIGINT  NOT NULL,
    outcome_kind    TEXT    COLLATE "C" NOT NULL,
    edit_ratio      DOUBLE PRECISION,                  -- how much of the outcome is not the base's: 0 to 1
    asked_by        TEXT    COLLATE "C",
    checksum        BIGINT  NOT NULL,
    agreement_group BIGINT,                            -- from 1, the largest first; null if it was not compared
    PRIMARY KEY (run_id, seat)
);

CREATE INDEX seats_by_time ON seats (decided_at_ms);
CREATE INDEX seats_by_asker ON seats (asked_by, decided_at_ms) WHERE asked_by IS NOT NULL;

-- A token lets its holder in. The token itself is nowhere; rows are never taken away, because the name is what the
-- holder's runs are asked by, and nobody else may come by it.
CREATE TABLE tokens (
    token_id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                TEXT   COLLATE "C" NOT NULL UNIQUE,
    hash                BYTEA  NOT NULL UNIQUE,        -- BLAKE3 of the token, 32 bytes
    last_four           TEXT   COLLATE "C" NOT NULL,   -- its last characters, by which a person knows it again
    scopes              TEXT   COLLATE "C" NOT NULL,   -- JSON: a list of words
    budget_day_pico_usd BIGINT,                        -- what its runs may cost in a day (UTC); null without a limit
    requests_per_minute BIGINT,                        -- null without a limit
    created_at_ms       BIGINT NOT NULL,
    expires_at_ms       BIGINT,                        -- null where it holds until it is revoked
    revoked_at_ms       BIGINT,
    last_used_at_ms     BIGINT,                        -- to the minute
    checksum            BIGINT NOT NULL                -- of what never changes of it
);

-- A row per indexed text: its words, in lower case and without accents, without their places in it. What a word is, is
-- decided by `src/search/word.rs` alone.
CREATE TABLE words (
    text_id BIGINT   NOT NULL PRIMARY KEY REFERENCES texts (text_id) ON DELETE CASCADE,
    words   TSVECTOR NOT NULL
);
CREATE INDEX words_by_word ON words USING GIN (words);

-- A row for each model of a run, and one without a model, so that every filter reads a stretch of the key. A token
-- holder's run is here twice: in the scope of all principals, which is empty, and in that of its own.
CREATE TABLE counted_runs (
    scope    TEXT COLLATE "C" NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,                -- as a user writes it; empty: whatever its models
    run_id   TEXT COLLATE "C" NOT NULL,
    status   TEXT COLLATE "C" NOT NULL,
    strategy TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, model, run_id)
);

-- How many rows of `counted_runs` have these values, for each day and, where the day is empty, for all days.
CREATE TABLE run_counts (
    scope    TEXT   COLLATE "C" NOT NULL,
    day      TEXT   COLLATE "C" NOT NULL,              -- YYYY-MM-DD in UTC, when the run began
    model    TEXT   COLLATE "C" NOT NULL,
    status   TEXT   COLLATE "C" NOT NULL,
    strategy TEXT   COLLATE "C" NOT NULL,
    runs     BIGINT NOT NULL,
    PRIMARY KEY (scope, day, model, status, strategy)
);

-- On which days are there runs of a model, a status or a strategy?
CREATE INDEX run_counts_by_model ON run_counts (scope, model, day) INCLUDE (status, strategy, runs);
