-- Texts that may be compressed, plans among them, and a smaller index of words.
--
-- A run of five answers of 1 kB took 37 kB before this, and takes half of it now.

DROP TABLE words;
DROP VIEW passage_texts;
DROP TABLE passages;

CREATE TABLE packed_texts (
    text_id INTEGER NOT NULL PRIMARY KEY,                -- grows with time; the index of words knows the text by it
    run_id  TEXT    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    hash    TEXT    NOT NULL,                            -- BLAKE3 of the text; empty for the run's plan
    body    ANY     NOT NULL,                            -- TEXT as it is, or BLOB: a frame of zstd
    UNIQUE (run_id, hash)
) STRICT;
INSERT INTO packed_texts (run_id, hash, body)
SELECT run_id, '', plan FROM runs UNION ALL SELECT run_id, hash, body FROM texts ORDER BY 1, 2;
DROP TABLE texts;
ALTER TABLE packed_texts RENAME TO texts;
-- The column stays for a program of an older version that is still running: a plan that it writes is read there.
UPDATE runs SET plan = '';

-- The newest of the run's texts that is in the index of words: all before it are, and the plan's question.
ALTER TABLE runs ADD COLUMN indexed_to INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET is_indexed = (store_mode <> 'full');

-- A row per text, by its `text_id`: its words, in lower case and without accents, a space between them. What a word is
-- is decided by `src/word.rs` alone; the index only parts what it is given at the spaces. It keeps no texts and no places
-- in them: what is to stand together is looked for in the text itself.
CREATE VIRTUAL TABLE words USING fts5 (body, content = '', detail = none, columnsize = 0, tokenize = 'ascii');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
