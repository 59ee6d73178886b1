-- Browsers that have signed in to the page, so that a restart of the server signs nobody out.

-- The cookie of a session is nowhere: its hash finds the row. A holder's token is enciphered with the cookie, so that nobody
-- reads it here.
CREATE TABLE sessions (
    hash        BLOB    NOT NULL PRIMARY KEY,      -- derived from the cookie, 32 bytes
    holder      BLOB,                              -- derived from the holder's token, 32 bytes; null for the owner
    sealed      BLOB,                              -- that token, enciphered; null for the owner
    begun_at_ms INTEGER NOT NULL,
    used_at_ms  INTEGER NOT NULL                   -- to the minute
) STRICT;

-- Whose is the one that was used least recently?
CREATE INDEX sessions_by_use ON sessions (used_at_ms);
CREATE INDEX sessions_by_holder ON sessions (holder, used_at_ms) WHERE holder IS NOT NULL;

-- The key that forms of the page are marked with, the same for every server of this database.
CREATE TABLE form_key (
    key BLOB NOT NULL                              -- 32 random bytes, in the only row
) STRICT;
INSERT INTO form_key (key) VALUES (randomblob(32));
