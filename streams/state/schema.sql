CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- One row a batch and cluster: what was applied, so that a repeated batch changes nothing.
CREATE TABLE IF NOT EXISTS batches (
    batch_id INTEGER NOT NULL, cluster TEXT NOT NULL, place TEXT NOT NULL,
    committed_ms INTEGER NOT NULL, PRIMARY KEY (batch_id, cluster)
) STRICT;
CREATE TABLE IF NOT EXISTS clusters (
    cluster TEXT PRIMARY KEY, batch_id INTEGER NOT NULL, image BLOB NOT NULL, summary TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS brokers (
    cluster TEXT NOT NULL, id INTEGER NOT NULL, summary TEXT NOT NULL, PRIMARY KEY (cluster, id)
) STRICT;
CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, batch_id INTEGER NOT NULL,
    source TEXT NOT NULL, metadata_offset INTEGER, timestamp_ms INTEGER, seen_ms INTEGER NOT NULL,
    kind TEXT NOT NULL, broker INTEGER, fields TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_of_cluster ON events (cluster, sequence);
-- Event.moment_ms: the axis of every timeline.
CREATE INDEX IF NOT EXISTS events_by_moment ON events (cluster, coalesce(timestamp_ms, seen_ms));
-- The Parquet files of replica transitions that belong to a committed batch; others are remains.
CREATE TABLE IF NOT EXISTS transition_files (
    path TEXT PRIMARY KEY, cluster TEXT NOT NULL, batch_id INTEGER NOT NULL, rows INTEGER NOT NULL
) STRICT;
