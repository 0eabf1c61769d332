"""The brokers' disks, asked for again and again: what lies where, what is cut off, what is lost.

    requests.db -> poller -> asking (a thread a broker) -> client -> the broker
                     |          `-> local: the broker's own host, when it is this one
                     v
                   compare (pure: what was known, an answer -> facts, what is known now)
                     v
                   memory (disks.db, with an outbox) -> append
                     v
                   snapshots (when) -> content (pure: all disks, dealt out to shards) -> append

`client` serves others as well: it asks one broker and gives plain values back.
"""
