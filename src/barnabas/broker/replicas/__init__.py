"""Partitions as their leader sees them: in-sync replicas, the high watermark, appends and reads."""
