"""The wire: Kafka's bytes against Kafka's own words for them."""
