-- Format 5: servers find groups by name, and gather the rollouts of a group together. Names may be longer than an index of
-- another kind takes.
CREATE INDEX groups_by_name ON groups USING hash (group_id);
-- A group whose rollouts arrive at one or more servers; key is a digest of its name. worker is the one that judges it, and
-- NULL while rollouts arrive. ended says why it was not judged; it is forgotten at ends_at, which is the deadline before.
CREATE TABLE gatherings (
  key BYTEA PRIMARY KEY, name TEXT NOT NULL, size BIGINT NOT NULL, seen BYTEA NOT NULL, shared BYTEA NOT NULL,
  ends_at TIMESTAMPTZ NOT NULL, worker BIGINT, ended TEXT, number BIGINT GENERATED ALWAYS AS IDENTITY
);
-- Its rollouts. seen is a digest of the messages as they were sent; a lost rollout has no body.
CREATE TABLE gathered (
  key BYTEA NOT NULL, place BIGINT NOT NULL, seen BYTEA NOT NULL, body BYTEA, PRIMARY KEY (key, place)
);
