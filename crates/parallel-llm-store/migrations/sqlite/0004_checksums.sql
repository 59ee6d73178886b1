-- Checksums, so that a flipped bit is found when a row is read; and texts on their way in pieces.
--
-- A checksum is the first eight bytes of a BLAKE3 of the table's name and the row's columns (`src/checksum.rs`). It is
-- null in rows that an older version wrote: those are read as before.

ALTER TABLE runs ADD COLUMN plan_checksum INTEGER;       -- of the plan
ALTER TABLE runs ADD COLUMN checksum INTEGER;            -- of what the list shows of the run
ALTER TABLE events ADD COLUMN checksum INTEGER;
-- The columns of a call become known at different moments, so each group has its own.
ALTER TABLE calls ADD COLUMN sent_checksum INTEGER;      -- of what is known when the request leaves
ALTER TABLE calls ADD COLUMN end_checksum INTEGER;       -- of how it ended; null until it has
ALTER TABLE calls ADD COLUMN spend_checksum INTEGER;     -- of money and tokens; null until it has ended
ALTER TABLE seats ADD COLUMN checksum INTEGER;
ALTER TABLE tokens ADD COLUMN checksum INTEGER;          -- of what never changes of it

-- Text that is still on its way: a row per piece, in the order of their first bytes, so that a long text is not written
-- anew each time it has grown; gone when the request has ended.
CREATE TABLE pieces (
    run_id   TEXT    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    place    TEXT    NOT NULL,                           -- JSON, such as {"seat":1}
    attempt  INTEGER NOT NULL,
    start    INTEGER NOT NULL,                           -- bytes of the text before it
    text     TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (run_id, place, attempt, start)
) STRICT, WITHOUT ROWID;
INSERT INTO pieces SELECT run_id, place, attempt, 0, text, at_ms, NULL FROM checkpoints;
-- The table stays for a program of an older version that is still running; nobody reads it any more.
DELETE FROM checkpoints;
