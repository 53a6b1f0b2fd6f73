-- The tables of a ledger. A change of a table is a new format (FORMAT).
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, model TEXT NOT NULL, request BLOB NOT NULL, text TEXT NOT NULL,
  finish_reason TEXT NOT NULL, reasoning TEXT NOT NULL, served_model TEXT, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, cost_usd REAL, latency REAL NOT NULL,
  attempts INTEGER NOT NULL, answered_at TEXT NOT NULL, logprobs TEXT, failed_before TEXT, checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, version TEXT NOT NULL, settings TEXT NOT NULL, learned TEXT NOT NULL,
  started_at TEXT NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS groups (
  run INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL, group_id TEXT NOT NULL, source BLOB NOT NULL,
  result TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (run, position)
);
CREATE TABLE IF NOT EXISTS asks (
  run INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL,
  cause TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT, detail TEXT NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (run, position, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS learned (
  endpoint TEXT NOT NULL, model TEXT NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (endpoint, model)
);
CREATE TABLE IF NOT EXISTS failed_calls (
  run INTEGER NOT NULL REFERENCES runs(id), position INTEGER NOT NULL, number INTEGER NOT NULL, call INTEGER NOT NULL,
  key TEXT NOT NULL, kind TEXT NOT NULL, metered INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, cost_usd REAL, failed_at TEXT NOT NULL,
  checksum INTEGER NOT NULL, PRIMARY KEY (run, position, number, call)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS groups_by_name ON groups (group_id);
CREATE INDEX IF NOT EXISTS failed_calls_by_key ON failed_calls (key);
CREATE INDEX IF NOT EXISTS asks_without_verdict ON asks (key) WHERE outcome IN ('rejected', 'partial');
