"""Hosted partitions: replication, in-sync replicas, the high watermark, appends and reads."""
