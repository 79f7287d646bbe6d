"""Transactions: transactional ids, their producers, the partitions they wrote to, and their outcomes.

`state.py` is pure; `coordinator.py` is the shell that owns storage, timers and waiting answers; `markers.py` sends the
outcome to every partition.
"""
