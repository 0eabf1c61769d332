"""How facts arrive: the Kafka wire, the Spark data source, the one streaming job, its sinks."""
