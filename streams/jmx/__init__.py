"""Polls the JMX numbers that operators already collect."""
