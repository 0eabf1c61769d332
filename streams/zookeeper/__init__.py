"""What a real ZooKeeper shows: its znodes watched, and every notification read or counted.

In: a connection string and what is already known. Out: facts (`migration.observed.facts`), in the
order they were learned. Where to start, by errand:

- the thread that joins everything, and when it is blind: `watcher.py`; what it watches in one
  session: `watched.py`;
- what is emitted of what was read: `ledger.py`, with `beacon.py` for what can wait and
  `topic_changes.py` for what happened to a topic;
- which notifications were missed: `notifications.py`, with the arithmetic in `sequence.py`;
- topics and their settings: `topics.py`, below recursive watches, whose events become
  names and counts in `marks.py`;
- every other znode: `tree.py`;
- which ZooKeeper: `ensemble.py`; every client of one: `client.py`, with its connections in
  `dialing.py`; what goes through a client: `link.py`, `session.py`, `pipeline.py`;
- what a watcher starts again from: `known.py`;
- the reading of content, for a comparison with the metadata log: `content/reader.py`, when it makes
  sense `content/when.py`, of which topics it is wanted soon `dirty.py`, one reading
  `content/reading.py` with its requests in `content/gathering.py`, the facts `content/facts.py`;
- the content of znodes: `migration.observed.znode_codec`; digests of configs: `config_digests.py`;
- the checks before the window: `probe.py`, each server by itself `servers.py`.

Nothing is imported here: whoever needs only `known.py` must not pay for the network client.
"""
