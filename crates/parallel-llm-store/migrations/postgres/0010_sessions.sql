-- Browsers that have signed in to the page, so that a restart of the server signs nobody out.

-- The cookie of a session is nowhere: its hash finds the row. A holder's token is enciphered with the cookie, so that nobody
-- reads it here.
CREATE TABLE sessions (
    hash        BYTEA  NOT NULL PRIMARY KEY,       -- derived from the cookie, 32 bytes
    holder      BYTEA,                             -- derived from the holder's token, 32 bytes; null for the owner
    sealed      BYTEA,                             -- that token, enciphered; null for the owner
    begun_at_ms BIGINT NOT NULL,
    used_at_ms  BIGINT NOT NULL                    -- to the minute
);

-- Whose is the one that was used least recently?
CREATE INDEX sessions_by_use ON sessions (used_at_ms);
CREATE INDEX sessions_by_holder ON sessions (holder, used_at_ms) WHERE holder IS NOT NULL;

-- The key that forms of the page are marked with, the same for every server of this database.
CREATE TABLE form_key (
    key BYTEA NOT NULL                             -- 32 bytes, 30 of them random, in the only row
);
INSERT INTO form_key (key)
    VALUES (decode(replace(gen_random_uuid()::TEXT || gen_random_uuid()::TEXT, '-', ''), 'hex'));
