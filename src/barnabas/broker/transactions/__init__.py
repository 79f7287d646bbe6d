"""Transactions: who may write in a transactional id's name, what its transaction touched, and how it ended.

`state.py` is pure; `coordinator.py` is the shell that owns storage, timers and waiting answers; `markers.py` brings the
outcome to every partition.
"""
