"""Segments: a log file, its indexes, and the chain of them that makes a log."""
