"""Kafka's bytes: record batches and the 25 metadata record types of Kafka 3.9."""
