"""Polls the brokers' log directories: the replicas in each, and which are offline or lost."""
