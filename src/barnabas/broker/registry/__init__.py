"""The embedded registry, which replaces ZooKeeper for a single broker, and the ZooKeeper server for its clients."""
