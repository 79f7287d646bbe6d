"""Moving in and out: a directory that Kafka wrote becomes this broker's, and goes back to Kafka.

`directories.py`, `version_requirements.py` and `tree_copy.py` read what is there. `adoption.py` and `release.py` plan,
as data and pure, with `three_states.py` (who changed a node) and `kafka_versions.py` (which Kafka reads what).
`apply.py`, with `compatibility.py`, carries a plan out, and `read_back.py` says what a tree holds afterwards. Nothing
here talks to a person.
"""
