-- The models of each run, and what the list of runs is filtered and counted by.

ALTER TABLE runs ADD COLUMN models TEXT;                 -- JSON: the models of the seats, each once; null in older rows
-- Whether the two tables below have the run: once it is closed and the writer is idle, until it goes on or is purged.
ALTER TABLE runs ADD COLUMN is_counted INTEGER NOT NULL DEFAULT 0;
-- Small, because most runs are counted.
CREATE INDEX runs_uncounted ON runs (run_id) WHERE is_counted = 0;

-- A row for each model of a run, and one without a model, so that every filter reads a stretch of the key. A token
-- holder's run is here twice: in the scope of all principals, which is empty, and in that of its own.
CREATE TABLE counted_runs (
    scope    TEXT NOT NULL,
    model    TEXT NOT NULL,                              -- as a user writes it; empty: whatever its models
    run_id   TEXT NOT NULL,
    status   TEXT NOT NULL,
    strategy TEXT NOT NULL,
    PRIMARY KEY (scope, model, run_id)
) STRICT, WITHOUT ROWID;

-- How many rows of `counted_runs` have these values, for each day and, where the day is empty, for all days.
CREATE TABLE run_counts (
    scope    TEXT    NOT NULL,
    day      TEXT    NOT NULL,                           -- YYYY-MM-DD in UTC, when the run began
    model    TEXT    NOT NULL,
    status   TEXT    NOT NULL,
    strategy TEXT    NOT NULL,
    runs     INTEGER NOT NULL,
    PRIMARY KEY (scope, day, model, status, strategy)
) STRICT, WITHOUT ROWID;

-- On which days are there runs of a model, a status or a strategy?
CREATE INDEX run_counts_by_model ON run_counts (scope, model, day, status, strategy, runs);
