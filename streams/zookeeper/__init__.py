"""What a real ZooKeeper shows: its znodes watched, and every notification read or counted.

In: a connection string and what is already known. Out: facts (`migration.observations`), in the
order they were learned. Where to start, by errand:

- the thread that joins everything, and when it is blind: `watcher.py`;
- what is emitted of what was read: `ledger.py`, with `beacon.py` for what can wait;
- which notifications were missed: `notifications.py`, with the arithmetic in `sequence.py`;
- every other znode: `tree.py`, `paths.py`;
- what goes through kazoo, and what kazoo does not do: `link.py`, `session.py`;
- what a watcher starts again from: `known.py`;
- the reading of all content, for a comparison with the metadata log: `content.py`, when it makes
  sense `content_when.py`, one reading `content_reading.py` with its requests in
  `content_gathering.py`, the znodes' payloads `content_payloads.py`, the facts `content_facts.py`.

Nothing is imported here: whoever needs only `known.py` must not pay for the network client.
"""
