-- The part of what a batch has spent that is only known as a bound: calls whose cost nobody told.
ALTER TABLE batches ADD COLUMN unknown_pico_usd BIGINT NOT NULL DEFAULT 0;
ALTER TABLE batch_jobs ADD COLUMN unknown_pico_usd BIGINT NOT NULL DEFAULT 0;
