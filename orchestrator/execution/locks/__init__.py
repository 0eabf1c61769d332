"""The locks that let one orchestrator at a time act on a cluster."""
