"""Fetch requests: sessions, passes over partitions, and waiting for data."""
