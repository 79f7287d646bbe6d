"""Fetch requests: what a session remembers, one pass over partitions, and waiting for data."""
