-- Files of questions that are worked through, each line as a run.

CREATE TABLE batches (
    batch_id          TEXT    NOT NULL PRIMARY KEY,      -- ULID
    name              TEXT    NOT NULL,                  -- of the file, for people
    state             TEXT    NOT NULL,                  -- reading, running, paused or cancelled
    pause             TEXT,                              -- JSON: the failure that paused it; null if its user did
    budget_pico_usd   INTEGER NOT NULL,                  -- for all its runs together
    created_at_ms     INTEGER NOT NULL,
    settled_at_ms     INTEGER,                           -- when a job of it ended last
    -- Jobs by their state; those that are waiting or running are the rest.
    jobs              INTEGER NOT NULL DEFAULT 0,
    bad               INTEGER NOT NULL DEFAULT 0,
    answered          INTEGER NOT NULL DEFAULT 0,
    partial           INTEGER NOT NULL DEFAULT 0,        -- of the answered ones, those that lack a seat
    failed            INTEGER NOT NULL DEFAULT 0,
    spent_pico_usd    INTEGER NOT NULL DEFAULT 0,        -- what its jobs have cost
    reserved_pico_usd INTEGER NOT NULL DEFAULT 0         -- the worst cases of the jobs that may be running
) STRICT;

CREATE TABLE batch_jobs (
    batch_id            TEXT    NOT NULL REFERENCES batches (batch_id) ON DELETE CASCADE,
    line                INTEGER NOT NULL,                -- in the file, from 1
    custom_id           TEXT,                            -- the caller's own name for it
    state               TEXT    NOT NULL,                -- bad, waiting, running, answered or failed
    request             ANY,                             -- JSON, compressed; null if bad, or once it is answered
    checksum            INTEGER,                         -- of the request
    worst_case_pico_usd INTEGER NOT NULL DEFAULT 0,
    is_reserved         INTEGER NOT NULL DEFAULT 0,      -- whether the batch reserves its worst case
    claim               INTEGER NOT NULL DEFAULT 0,      -- how often it was claimed: a former claim ends nothing
    owner               TEXT    NOT NULL DEFAULT '',     -- the process that claimed it last
    lease_until_ms      INTEGER NOT NULL DEFAULT 0,
    not_before_ms       INTEGER NOT NULL DEFAULT 0,      -- when it may be claimed again
    attempts            INTEGER NOT NULL DEFAULT 0,      -- how often it was put off since its user asked for it
    resend              INTEGER NOT NULL DEFAULT 0,      -- whether calls that may have been paid are made again
    run_id              TEXT,
    cost_pico_usd       INTEGER NOT NULL DEFAULT 0,
    failure             TEXT,                            -- JSON: why there is no answer
    PRIMARY KEY (batch_id, line)
) STRICT;

CREATE UNIQUE INDEX batch_jobs_by_custom_id ON batch_jobs (batch_id, custom_id) WHERE custom_id IS NOT NULL;
-- What is next?
CREATE INDEX batch_jobs_waiting ON batch_jobs (batch_id, not_before_ms, line) WHERE state = 'waiting';
-- Who works, and whose lease has ended?
CREATE INDEX batch_jobs_running ON batch_jobs (batch_id, owner, lease_until_ms) WHERE state = 'running';
CREATE INDEX batch_jobs_failed ON batch_jobs (batch_id, line) WHERE state = 'failed';
CREATE INDEX batch_jobs_bad ON batch_jobs (batch_id, line) WHERE state = 'bad';
