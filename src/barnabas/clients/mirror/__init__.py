"""Mirrors: copy topics of one cluster to another in whole batches, each record once.

    source's log ─► batches (`batches.py`) ─► a transaction (`writer.py`) ─► target's log
                                                     └─ place and paths ─► target's offset table (`offsets.py`)

`barnabas mirror` runs all partitions of a source in one process (`mirror.py`).
"""
