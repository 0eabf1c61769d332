"""Small types and functions that all packages share: durations, timestamps, bounds, digests."""
