"""Observes a ZooKeeper ensemble: watches its znodes, and reads or counts each notification.

Input: a connection string and the known state. Output: facts (`migration.observed.facts`) in the
order in which they were learned. Modules by task:

- the thread that joins everything, and when its view is lost: `watcher.py`; what it watches in one
  session: `all_znodes.py`;
- which facts it emits for what it read: `emitter.py`, with `topic_changes.py` for changes of a
  topic;
- which notifications were missed: `notifications.py`, with the arithmetic in `sequence.py`; the
  process that reads them before they are deleted: `notification_process.py`, which `read_ahead.py`
  starts;
- topics and their settings: `topics.py`, below recursive watches, whose events `watch_events.py`
  reduces to names and counts;
- every other znode: `tree.py`;
- the configuration of an ensemble: `ensemble.py`; its clients: `client.py`, with their connections
  in `dialing.py`; the errors of requests: `errors.py`;
- requests that end within a time limit, for the checks, the lock and the lab: `calls.py`; the
  watcher's requests: `session.py`;
- the state from which a watcher resumes: `known.py`;
- the reading of content, for a comparison with the metadata log: `content/reader.py`; the topics to
  read soon: `dirty_topics.py`; one reading: `content/reading.py`, with its requests in
  `content/gathering.py`; its facts: `content/facts.py`;
- the content of znodes: `migration.observed.znode_codec`; digests of configs: `config_digests.py`;
- the checks before the window: `probe.py`.

This module imports nothing: a user of `known.py` alone must not load the network client.
"""
