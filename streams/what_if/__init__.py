"""Gathers what `migration.what_if` starts from: the brokers' word, and the replica transitions.

Reads only. The brokers are asked as `streams.preflight` asks them.
"""
