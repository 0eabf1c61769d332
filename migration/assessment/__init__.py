"""What follows from a summary: currency, hazards, checks, waits, conditions, alerts, ETA."""
