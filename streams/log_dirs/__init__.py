"""Polls the brokers' log directories: the replicas in each, and which are offline or lost.

    requests.db -> poller -> poll (a thread per broker) -> streams.kafka.node -> the broker
                     |         `-> local_host: the broker's own host, when it is this one
                     v
                   compare (pure: the stored state, a reply -> facts, the new state)
                     v
                   memory (disks.db, with an outbox) -> append
                     v
                   content_snapshots (when) -> content (pure: by shard) -> append

`append` writes to the journal of the data source.
"""
