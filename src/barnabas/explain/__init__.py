"""Diagnosis: rules that explain lag, offline partitions, full disks and other problems from a cluster's state.

`collector.py` collects the data of `snapshot.py`, `rules/` has one question per file, and `finding.py` is their result.
Rules are pure and use only the snapshot. Kafka's brokers report less, so fewer findings are possible; these list the
unknown parts.
"""
