"""The registry that a broker keeps itself where there is no ZooKeeper, and the door by which others may use it."""
