"""Files below the state directory: the store, the journals, locks, source status."""
