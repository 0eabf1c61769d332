"""The log directories of the brokers, polled: which replicas they hold, which are offline or lost.

    requests.db -> poller -> poll (a thread a broker) -> streams.kafka.node -> the broker
                     |         `-> local_host: the broker's own host, when it is this one
                     v
                   compare (pure: what is remembered, a reply -> facts, what to remember)
                     v
                   memory (disks.db, with an outbox) -> append
                     v
                   content_snapshots (when) -> content (pure: by shard) -> append

`append` writes to the journal of the data source.
"""
