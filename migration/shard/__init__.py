"""The state of the replicas of one shard, and its report of each batch."""
