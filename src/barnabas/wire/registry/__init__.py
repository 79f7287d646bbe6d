"""The ZooKeeper tree that holds everything that says something about the cluster.

`store` is the protocol that the rest of the broker knows, `embedded` keeps the tree in this process and journals it
to SQLite, `znodes` encodes and decodes what Kafka keeps in it.
"""
