"""How facts arrive: the Kafka wire, the Spark data source, the one Structured Streaming job and its sinks."""
