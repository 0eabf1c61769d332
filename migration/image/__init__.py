"""The image of one cluster (brokers, controllers, counts, phase) and its summary."""
