"""Why a group is behind, a topic offline, a disk full: rules that read what brokers tell, and say what follows.

`gather.py` asks, `seen.py` is what was seen at one moment, `rules/` has one question in each file, and `finding.py` is
what they answer. Rules are pure, and know nothing that is not in what was seen: of a Kafka, which tells less, they
answer with less, and say what can't be known.
"""
