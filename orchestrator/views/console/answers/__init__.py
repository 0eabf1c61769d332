"""The responses to single requests: timeline, pending replicas, a gate's evidence."""
