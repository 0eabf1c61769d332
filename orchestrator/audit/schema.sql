BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS entries (
    sequence INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, cluster TEXT NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX IF NOT EXISTS entries_of_kind ON entries (cluster, kind, sequence);
CREATE TRIGGER IF NOT EXISTS entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_are_never_removed BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_follow_each_other BEFORE INSERT ON entries
WHEN NEW.sequence IS NOT (SELECT ifnull(max(sequence), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'the audit log has no gaps'); END;
PRAGMA user_version = 1;
COMMIT;
