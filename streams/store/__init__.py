"""The audit store: what the job found out, in one SQLite file, one transaction a batch."""

from streams.store.store import Store, StoreError

__all__ = ["Store", "StoreError"]
