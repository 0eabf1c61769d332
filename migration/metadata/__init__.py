"""Kafka's metadata: records, transactions, partitions, directory ids, versions, events."""
