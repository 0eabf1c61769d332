"""The live follower: mirrors the committed metadata log of a running quorum into a spool.

In: FETCH and FETCH_SNAPSHOT replies of the active controller. Out: files in Kafka's own layout
(`spool.py`), and a position that Spark may read up to (`follower.py`). Where to start, by errand:

- who is asked what, and when: `cursor.py`, a state machine without I/O;
- what goes over the wire: `streams.kafka.messages` (values), `streams.kafka.connection` (bytes);
- what lies on disk, and what survives a power cut: `spool.py`;
- the thread that joins them, and its status: `follower.py`;
- which bytes of a log, live or finished, make one micro-batch: `plan.py`, on the `index.py`;
- what brings a log to the Spark source: `feed.py`, `live_feed.py`.

Nothing is imported here: whoever needs only the file names must not pay for the network client.
"""
