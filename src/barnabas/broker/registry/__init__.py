"""The registry that a broker keeps itself instead of ZooKeeper, and the ZooKeeper server for other users of it."""
