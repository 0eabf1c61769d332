"""The Kafka client for brokers and controllers: one connection and its requests."""
