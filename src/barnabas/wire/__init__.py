"""What clients and brokers both know: the bytes of the protocol and of records, logins, and the cluster's tree.

protocol    generated messages, primitives, headers
records     batches, old message formats, codecs
security    TLS, SASL's mechanisms, principals, what an ACL says
registry    the tree in ZooKeeper: paths, what its nodes hold, operations on it, and the way to a ZooKeeper
"""
