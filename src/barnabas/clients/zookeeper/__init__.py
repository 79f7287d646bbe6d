"""The client of a ZooKeeper ensemble, on kazoo: sessions, TLS, logins and the settings of all these.

It implements `barnabas.wire.registry.store.Registry`, the interface of the tree with the cluster's state.
"""
