"""Consumer groups: membership, rebalancing and committed offsets, kept in `__consumer_offsets`.

`state.py` and what it dispatches to is pure; `coordinator.py` is the shell that owns timers, waiting answers and
storage.
"""
