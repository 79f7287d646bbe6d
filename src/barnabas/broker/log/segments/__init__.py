"""Segments: a log file with its indexes, and the chain of segments of a log."""
