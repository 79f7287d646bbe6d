"""The registry: the ZooKeeper tree with all cluster state.

`store` is the interface that the rest of the broker uses, `embedded` keeps the tree in this process and journals it to
SQLite, `znodes` encodes and decodes Kafka's nodes.
"""
