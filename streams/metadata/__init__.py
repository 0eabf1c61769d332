"""The live follower: copies the committed metadata log of a running quorum into a spool.

In: FETCH and FETCH_SNAPSHOT replies of the active controller. Out: files in Kafka's own layout
(`spool.py`), and a position that Spark may read up to (`follower.py`). The modules:

- the next request and its receiver: `cursor.py`, a state machine without I/O;
- the requests and replies: `streams.kafka.messages` (values), `streams.kafka.connection` (bytes);
- the files on disk and their durability: `spool.py`;
- the thread that connects these parts, and its status: `follower.py`;
- the bytes of a log, live or finished, that make one micro-batch: `plan.py`, which uses `index.py`;
- the interface between a log and the Spark source: `feed.py`, `live_feed.py`.

This module imports nothing, so that code that needs only the file names does not load the network
client.
"""
