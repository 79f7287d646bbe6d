"""The registry: the ZooKeeper tree with all cluster state.

`store` is the interface, `znodes` encodes and decodes Kafka's nodes. `barnabas.broker.registry` keeps the tree in the
broker's process, `barnabas.clients.zookeeper` reaches the tree of a ZooKeeper ensemble.
"""
