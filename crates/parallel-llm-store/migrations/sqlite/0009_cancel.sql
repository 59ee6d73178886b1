-- Giving up a run that another process does.

-- The epoch whose process was asked to; that of a later epoch was not asked.
ALTER TABLE runs ADD COLUMN cancel_epoch INTEGER;
