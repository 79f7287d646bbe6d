"""Formats shared by clients and brokers: the protocol's bytes, records, logins, and the cluster's tree.

protocol    generated messages, primitives, headers
records     batches, old message formats, codecs
security    TLS, SASL's mechanisms, principals, ACLs
registry    the tree in ZooKeeper: paths, contents of nodes, operations on it, and the connection to ZooKeeper
"""
