"""Consumer groups: membership, rebalancing and committed offsets, kept in `__consumer_offsets`.

`state.py` and the modules that it calls are pure; `coordinator.py` is the shell with timers, pending responses and
storage.
"""
