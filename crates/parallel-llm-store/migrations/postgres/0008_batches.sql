-- Files of questions that are worked through, each line as a run.

CREATE TABLE batches (
    batch_id          TEXT   COLLATE "C" NOT NULL PRIMARY KEY, -- ULID
    name              TEXT   NOT NULL,                 -- of the file, for people
    state             TEXT   COLLATE "C" NOT NULL,     -- reading, running, paused or cancelled
    pause             TEXT,                            -- JSON: the failure that paused it; null if its user did
    budget_pico_usd   BIGINT NOT NULL,                 -- for all its runs together
    created_at_ms     BIGINT NOT NULL,
    settled_at_ms     BIGINT,                          -- when a job of it ended last
    -- Jobs by their state; those that are waiting or running are the rest.
    jobs              BIGINT NOT NULL DEFAULT 0,
    bad               BIGINT NOT NULL DEFAULT 0,
    answered          BIGINT NOT NULL DEFAULT 0,
    partial           BIGINT NOT NULL DEFAULT 0,       -- of the answered ones, those that lack a seat
    failed            BIGINT NOT NULL DEFAULT 0,
    spent_pico_usd    BIGINT NOT NULL DEFAULT 0,       -- what its jobs have cost
    reserved_pico_usd BIGINT NOT NULL DEFAULT 0        -- the worst cases of the jobs that may be running
);

CREATE TABLE batch_jobs (
    batch_id            TEXT    COLLATE "C" NOT NULL REFERENCES batches (batch_id) ON DELETE CASCADE,
    line                BIGINT  NOT NULL,              -- in the file, from 1
    custom_id           TEXT    COLLATE "C",           -- the caller's own name for it
    state               TEXT    COLLATE "C" NOT NULL,  -- bad, waiting, running, answered or failed
    request             BYTEA,                         -- JSON, compressed; null if bad, or once it is answered
    checksum            BIGINT,                        -- of the request
    worst_case_pico_usd BIGINT  NOT NULL DEFAULT 0,
    is_reserved         BOOLEAN NOT NULL DEFAULT FALSE, -- whether the batch reserves its worst case
    claim               BIGINT  NOT NULL DEFAULT 0,    -- how often it was claimed: a former claim ends nothing
    owner               TEXT    COLLATE "C" NOT NULL DEFAULT '', -- the process that claimed it last
    lease_until_ms      BIGINT  NOT NULL DEFAULT 0,
    not_before_ms       BIGINT  NOT NULL DEFAULT 0,    -- when it may be claimed again
    attempts            BIGINT  NOT NULL DEFAULT 0,    -- how often it was put off since its user asked for it
    resend              BOOLEAN NOT NULL DEFAULT FALSE, -- whether calls that may have been paid are made again
    run_id              TEXT    COLLATE "C",
    cost_pico_usd       BIGINT  NOT NULL DEFAULT 0,
    failure             TEXT,                          -- JSON: why there is no answer
    PRIMARY KEY (batch_id, line)
);

CREATE UNIQUE INDEX batch_jobs_by_custom_id ON batch_jobs (batch_id, custom_id) WHERE custom_id IS NOT NULL;
-- What is next?
CREATE INDEX batch_jobs_waiting ON batch_jobs (batch_id, not_before_ms, line) WHERE state = 'waiting';
-- Who works, and whose lease has ended?
CREATE INDEX batch_jobs_running ON batch_jobs (batch_id, owner, lease_until_ms) WHERE state = 'running';
CREATE INDEX batch_jobs_failed ON batch_jobs (batch_id, line) WHERE state = 'failed';
CREATE INDEX batch_jobs_bad ON batch_jobs (batch_id, line) WHERE state = 'bad';

-- A history that is copied from a file may have rows of versions that wrote no checksums.
ALTER TABLE runs   ALTER COLUMN plan_checksum DROP NOT NULL;
ALTER TABLE events ALTER COLUMN checksum      DROP NOT NULL;
ALTER TABLE pieces ALTER COLUMN checksum      DROP NOT NULL;
ALTER TABLE calls  ALTER COLUMN sent_checksum DROP NOT NULL;
ALTER TABLE seats  ALTER COLUMN checksum      DROP NOT NULL;
ALTER TABLE tokens ALTER COLUMN checksum      DROP NOT NULL;
