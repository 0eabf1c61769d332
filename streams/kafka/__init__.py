"""The Kafka client: connections, framing, requests, errors; for controllers and brokers."""
