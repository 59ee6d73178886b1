-- Jobs with a call whose cost nobody told and whose price nobody knows, so that no bound holds.
ALTER TABLE batches ADD COLUMN unbounded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batch_jobs ADD COLUMN unbounded INTEGER NOT NULL DEFAULT 0;
