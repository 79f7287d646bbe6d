"""Moving in and out: a directory that Kafka wrote becomes this broker's, and goes back to Kafka.

`directories.py` and `tree_copy.py` read what is there; `adoption.py` and `release.py` plan, as data and pure;
`apply.py` carries a plan out. Nothing here talks to a person.
"""
