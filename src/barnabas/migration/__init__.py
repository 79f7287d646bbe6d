"""Migration: adopts data directories that Kafka wrote, and returns them to Kafka.

`directories.py`, `version_requirements.py` and `tree_copy.py` read the present state. `adoption.py` and `release.py`
make plans (pure functions and data), with `three_states.py` (origin of changes) and `kafka_versions.py` (capabilities
of Kafka versions). `apply.py`, with `compatibility.py`, carries a plan out, and `read_back.py` verifies the tree
afterwards. `offsets/` watches groups whose offsets move from ZooKeeper to Kafka. Nothing here prints or prompts.
"""
