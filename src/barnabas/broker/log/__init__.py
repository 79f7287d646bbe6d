"""Kafka's log directory: segments, indexes, checkpoints, recovery and retention.

Start at `manager.LogManager` (all partitions of a broker) and `partition_log.PartitionLog` (one of them).

Source: design page, log; implementation page, log.
"""
