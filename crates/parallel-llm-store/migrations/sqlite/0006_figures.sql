-- What the figures about models need: the time to the first token of each call, and the groups of equal answers.

ALTER TABLE calls ADD COLUMN first_token_ms INTEGER;         -- from sending to the first text or reasoning
-- A group of its own: the older groups of a row keep the checksums that they have. Null in the rows filled below.
ALTER TABLE calls ADD COLUMN first_token_checksum INTEGER;
-- From 1, the largest group first; null where the answer could not be compared with the others.
ALTER TABLE seats ADD COLUMN agreement_group INTEGER;

-- All that a day's limit and the figures ask of a call, so that neither reads the rows themselves.
DROP INDEX calls_by_time;
CREATE INDEX calls_by_time ON calls (sent_at_ms, provider, outcome, cost_pico_usd, worst_pico_usd, model, code,
    ended_at_ms, first_token_ms, cost_is_estimate);
DROP INDEX calls_by_asker;
CREATE INDEX calls_by_asker ON calls (asked_by, sent_at_ms, provider, outcome, cost_pico_usd, worst_pico_usd, model, code,
    ended_at_ms, first_token_ms, cost_is_estimate) WHERE asked_by IS NOT NULL;

-- The calls of earlier runs, as far as the runs are kept. One pass over the events: a look-up per call would read the
-- events of a run once for each of its calls.
UPDATE calls SET first_token_ms = ending.first_token_ms
FROM (
    SELECT run_id, body -> '$.attempt.place' AS place, body ->> '$.attempt.number' AS attempt,
        body ->> '$.answer.first_token_ms' AS first_token_ms
    FROM events WHERE kind IN ('answered', 'cut', 'cancelled')
) AS ending
WHERE ending.first_token_ms IS NOT NULL AND calls.run_id = ending.run_id AND calls.place = ending.place
    AND calls.attempt = ending.attempt;

-- The seats of earlier runs. A row that changes loses its checksum, like one that an older version wrote.
UPDATE seats SET agreement_group = member.agreement_group, checksum = NULL
FROM (
    SELECT events.run_id, seat.value AS seat, cluster.key + 1 AS agreement_group
    FROM events, JSON_EACH(events.body, '$.outcome.agreement.clusters') AS cluster,
        JSON_EACH(cluster.value, '$.seats') AS seat
    WHERE kind = 'decided' AND seq = (
        SELECT MAX(newest.seq) FROM events AS newest
        WHERE newest.run_id = events.run_id AND newest.kind = 'decided')
) AS member
WHERE seats.run_id = member.run_id AND seats.seat = member.seat AND seats.considered;
