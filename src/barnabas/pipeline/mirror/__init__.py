"""Mirroring: topics of one cluster into another, each record once, with its key, headers, timestamp and partition."""
