-- Who may ask over the network, and whose each cost is.

-- A token lets its holder in. The token itself is nowhere; rows are never taken away, because the name is what the
-- holder's runs are asked by, and nobody else may come by it.
CREATE TABLE tokens (
    token_id            INTEGER NOT NULL PRIMARY KEY,
    name                TEXT    NOT NULL UNIQUE,
    hash                BLOB    NOT NULL UNIQUE,       -- BLAKE3 of the token, 32 bytes
    last_four           TEXT    NOT NULL,              -- its last characters, by which a person knows it again
    scopes              TEXT    NOT NULL,              -- JSON: a list of words
    budget_day_pico_usd INTEGER,                       -- what its runs may cost in a day (UTC); null without a limit
    requests_per_minute INTEGER,                       -- null without a limit
    created_at_ms       INTEGER NOT NULL,
    expires_at_ms       INTEGER,                       -- null where it holds until it is revoked
    revoked_at_ms       INTEGER,
    last_used_at_ms     INTEGER                        -- to the minute
) STRICT;

-- The ledger and the facts of seats outlive their runs, so they say themselves whose they are.
ALTER TABLE calls ADD COLUMN asked_by TEXT;
ALTER TABLE seats ADD COLUMN asked_by TEXT;
UPDATE calls SET asked_by = runs.asked_by FROM runs WHERE runs.run_id = calls.run_id AND runs.asked_by IS NOT NULL;
UPDATE seats SET asked_by = runs.asked_by FROM runs WHERE runs.run_id = seats.run_id AND runs.asked_by IS NOT NULL;

-- What a holder asks of them. Small, because the owner's own are in none.
CREATE INDEX runs_by_asker ON runs (asked_by, run_id) WHERE asked_by IS NOT NULL;
CREATE INDEX calls_by_asker ON calls (asked_by, sent_at_ms, provider, outcome, cost_pico_usd, worst_pico_usd)
    WHERE asked_by IS NOT NULL;
CREATE INDEX seats_by_asker ON seats (asked_by, decided_at_ms) WHERE asked_by IS NOT NULL;
