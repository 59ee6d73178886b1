-- Conditions are worded as in the other dialect, so that a statement has one wording and uses the index of either.

DROP INDEX runs_by_key;
CREATE UNIQUE INDEX runs_by_key ON runs (COALESCE(asked_by, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;
DROP INDEX runs_unindexed;
CREATE INDEX runs_unindexed ON runs (run_id) WHERE NOT is_indexed;
DROP INDEX runs_uncounted;
CREATE INDEX runs_uncounted ON runs (run_id) WHERE NOT is_counted;

-- The plan of a run is one of its texts. Programs of the versions that read it here are gone.
INSERT INTO texts (run_id, hash, body) SELECT run_id, '', plan FROM runs WHERE plan <> '' ON CONFLICT DO NOTHING;
ALTER TABLE runs DROP COLUMN plan;
