-- Who asked and under which name, what every call cost, what runs under way still hold, what became of every seat,
-- and an index of the words. What is known of earlier runs is taken from their events.

ALTER TABLE runs ADD COLUMN asked_by TEXT;
ALTER TABLE runs ADD COLUMN idempotency_key TEXT;
-- Whether nothing of it is left to put into the index of words. A run that keeps its texts is marked when it is closed,
-- and no longer when it goes on.
ALTER TABLE runs ADD COLUMN is_indexed INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET is_indexed = 1 WHERE store_mode <> 'full';

-- One run per caller and key, for as long as it is kept.
CREATE UNIQUE INDEX runs_by_key ON runs (IFNULL(asked_by, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Is the same question being answered already? Small, because few runs are under way.
CREATE INDEX runs_under_way ON runs (plan_hash, run_id) WHERE status = 'running';
-- Has the same question an answer that can be given again?
CREATE INDEX runs_answered ON runs (plan_hash, run_id)
    WHERE status IN ('complete', 'partial') AND store_mode = 'full';
CREATE INDEX runs_unindexed ON runs (run_id) WHERE is_indexed = 0;

-- The ledger: a row per upstream request. It outlives its run, and holds no text.
CREATE TABLE calls (
    run_id           TEXT    NOT NULL,
    place            TEXT    NOT NULL,                 -- JSON, such as {"seat":1}
    attempt          INTEGER NOT NULL,
    provider         TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    sent_at_ms       INTEGER NOT NULL,
    ended_at_ms      INTEGER,
    outcome          TEXT    NOT NULL DEFAULT 'sent',  -- sent | answered | cut | failed | cancelled | unknown
    code             TEXT,                             -- why it failed or was cut
    cost_pico_usd    INTEGER,                          -- null where nobody knows
    cost_is_estimate INTEGER NOT NULL DEFAULT 0,       -- computed from prices, not told by the provider
    worst_pico_usd   INTEGER,                          -- the most it can cost; null where the price is unknown
    input_tokens     INTEGER,
    output_tokens    INTEGER,
    reasoning_tokens INTEGER,
    cached_tokens    INTEGER,
    generation_id    TEXT,                             -- the provider's name for it
    PRIMARY KEY (run_id, place, attempt)
) STRICT, WITHOUT ROWID;

-- All that a day's limit asks of a call.
CREATE INDEX calls_by_time ON calls (sent_at_ms, provider, outcome, cost_pico_usd, worst_pico_usd);

-- Money that a run under way may still spend, by the place that would: it goes when the place's request leaves, and
-- the rest when the run is closed.
CREATE TABLE holds (
    run_id   TEXT    NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    place    TEXT    NOT NULL,
    provider TEXT    NOT NULL,
    pico_usd INTEGER NOT NULL,
    PRIMARY KEY (run_id, place)
) STRICT, WITHOUT ROWID;

-- What became of each seat of the runs that were decided. It outlives its run, and holds no text.
CREATE TABLE seats (
    run_id        TEXT    NOT NULL,
    seat          INTEGER NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    late          INTEGER NOT NULL,
    considered    INTEGER NOT NULL,                    -- its answer was there to choose from
    is_base       INTEGER NOT NULL,                    -- the outcome is its answer, or started from it
    drawn_from    INTEGER NOT NULL,                    -- the outcome has wording of its answer that the base's has not
    alone         INTEGER NOT NULL,                    -- its answer was the only one considered
    cost_pico_usd INTEGER,
    elapsed_ms    INTEGER,
    decided_at_ms INTEGER NOT NULL,
    outcome_kind  TEXT    NOT NULL,
    edit_ratio    REAL,                                -- how much of the outcome is not the base's: 0 to 1
    PRIMARY KEY (run_id, seat)
) STRICT, WITHOUT ROWID;

CREATE INDEX seats_by_time ON seats (decided_at_ms);

-- What can be found by its words: each text of a run, and its question, whose hash is empty.
CREATE TABLE passages (
    passage_id INTEGER NOT NULL PRIMARY KEY,
    run_id     TEXT    NOT NULL REFERENCES runs (run_id),
    hash       TEXT    NOT NULL,
    UNIQUE (run_id, hash)
) STRICT;

-- The index keeps no texts of its own; it reads them here, where they are already.
CREATE VIEW passage_texts (passage_id, run_id, body) AS
SELECT passage_id, run_id, CASE hash
    WHEN '' THEN (
        SELECT GROUP_CONCAT(part.value ->> '$.text', CHAR(10))
        FROM runs, JSON_EACH(runs.plan, '$.messages') AS message, JSON_EACH(message.value, '$.parts') AS part
        WHERE runs.run_id = passages.run_id AND message.value ->> '$.role' <> 'system'
            AND part.value ->> '$.type' = 'text')
    ELSE (SELECT texts.body FROM texts WHERE texts.run_id = passages.run_id AND texts.hash = passages.hash)
END
FROM passages;

CREATE VIRTUAL TABLE words USING fts5 (
    body, content = 'passage_texts', content_rowid = 'passage_id', tokenize = 'unicode61 remove_diacritics 2'
);
-- What is taken out of the index is overwritten, not only marked.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

-- The calls of earlier runs: each `sent`, and the first event after it that ends the same request.
WITH sent AS (
    SELECT run_id, seq, at_ms, body -> '$.attempt.place' AS place, body ->> '$.attempt.number' AS attempt,
        body ->> '$.attempt.place.seat' AS seat, body ->> '$.attempt.place.synthesizer' AS synthesizer
    FROM events WHERE kind = 'sent'
), call AS (
    SELECT sent.*, runs.closed_at_ms,
        runs.plan -> CASE WHEN seat IS NULL
            THEN '$.synthesizers[' || (synthesizer - 1) || '].model'
            ELSE '$.seats[' || (seat - 1) || '].model' END AS model,
        (SELECT MIN(ending.seq) FROM events AS ending
            WHERE ending.run_id = sent.run_id AND ending.seq > sent.seq
                AND ending.kind IN ('answered', 'cut', 'failed', 'cancelled')
                AND ending.body -> '$.attempt.place' = sent.place
                AND ending.body ->> '$.attempt.number' = sent.attempt) AS ending_seq,
        (SELECT accepted.body ->> '$.generation_id' FROM events AS accepted
            WHERE accepted.run_id = sent.run_id AND accepted.kind = 'accepted'
                AND accepted.body -> '$.attempt.place' = sent.place
                AND accepted.body ->> '$.attempt.number' = sent.attempt) AS accepted_id
    FROM sent JOIN runs USING (run_id)
)
INSERT OR IGNORE INTO calls
SELECT call.run_id, call.place, call.attempt, call.model ->> '$.provider', call.model ->> '$.model',
    call.at_ms, ending.at_ms,
    COALESCE(ending.kind, CASE WHEN call.closed_at_ms IS NULL THEN 'sent' ELSE 'unknown' END),
    ending.body ->> '$.failure.code',
    COALESCE(ending.body ->> '$.answer.cost', ending.body ->> '$.cost'),
    COALESCE(ending.body ->> '$.answer.cost_is_estimate', 0),
    NULL,
    ending.body ->> '$.answer.usage.input_tokens', ending.body ->> '$.answer.usage.output_tokens',
    ending.body ->> '$.answer.usage.reasoning_tokens', ending.body ->> '$.answer.usage.cached_tokens',
    COALESCE(ending.body ->> '$.answer.generation_id', call.accepted_id)
FROM call LEFT JOIN events AS ending ON ending.run_id = call.run_id AND ending.seq = call.ending_seq
WHERE call.model IS NOT NULL;

-- The seats of earlier runs: the newest event that ends each, and the outcome.
WITH decided AS (
    SELECT run_id, plan, closed_at_ms, decided_at_ms,
        (SELECT body -> '$.outcome' FROM events WHERE events.run_id = runs.run_id AND kind = 'decided'
            ORDER BY seq DESC LIMIT 1) AS outcome,
        (SELECT MAX(seq) FROM events WHERE events.run_id = runs.run_id AND kind = 'decided') AS decided_seq
    FROM runs WHERE decided_at_ms IS NOT NULL
), place AS (
    SELECT decided.*, seat.value ->> '$.number' AS number, seat.value -> '$.model' AS model,
        (SELECT MAX(seq) FROM events
            WHERE events.run_id = decided.run_id AND body ->> '$.attempt.place.seat' = seat.value ->> '$.number'
                AND (kind IN ('answered', 'cut', 'cancelled')
                    OR (kind = 'failed' AND body ->> '$.retry.retry' = 'never'))) AS ending_seq,
        (SELECT MIN(elapsed_ms) FROM events
            WHERE events.run_id = decided.run_id AND kind = 'sent'
                AND body ->> '$.attempt.place.seat' = seat.value ->> '$.number') AS sent_ms
    FROM decided, JSON_EACH(decided.plan, '$.seats') AS seat
    WHERE outcome IS NOT NULL
), ended AS (
    SELECT place.*, ending.elapsed_ms - place.sent_ms AS elapsed_ms,
        EXISTS (SELECT 1 FROM JSON_EACH(outcome, '$.considered') WHERE value = number) AS considered,
        CASE
            WHEN ending.kind = 'failed' AND ending.body ->> '$.failure.code' IN ('refused', 'moderated') THEN 'refused'
            WHEN ending.kind = 'failed' AND ending.body ->> '$.attempt.number' = 0 THEN 'skipped'
            WHEN ending.kind IS NOT NULL THEN ending.kind
            WHEN sent_ms IS NOT NULL AND closed_at_ms IS NOT NULL THEN 'unknown'
            ELSE 'waiting'
        END AS status
    FROM place LEFT JOIN events AS ending ON ending.run_id = place.run_id AND ending.seq = place.ending_seq
)
INSERT INTO seats
SELECT run_id, number, model ->> '$.provider', model ->> '$.model', status,
    status IN ('answered', 'cut') AND ending_seq > decided_seq
        OR status = 'answered' AND NOT considered AND outcome ->> '$.kind' <> 'none',
    considered,
    COALESCE(outcome ->> '$.base_seat' = number, 0),
    0,
    considered AND JSON_ARRAY_LENGTH(outcome, '$.considered') = 1,
    (SELECT CASE WHEN TOTAL(cost_pico_usd) > 0 OR COUNT(*) = COUNT(cost_pico_usd)
            THEN CAST(TOTAL(cost_pico_usd) AS INTEGER) END
        FROM calls WHERE calls.run_id = ended.run_id AND calls.place ->> '$.seat' = number),
    -- What a fused text drew on is not known of these runs, and without its ratio nothing is concluded from it.
    elapsed_ms, decided_at_ms, outcome ->> '$.kind', NULL
FROM ended;
