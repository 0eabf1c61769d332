"""Files below the state directory: the audit store, the journals, locks, source status.

The audit store (`store`) holds the job's results in one SQLite file, one transaction a batch. A
journal holds facts that cannot be read again at their source, until a batch has taken them in.
"""
