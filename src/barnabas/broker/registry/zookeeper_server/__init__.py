"""ZooKeeper server: serves the embedded registry to ZooKeeper clients.

    socket ─► acceptor (limits, four-letter words) ─► connection ─► messages ─► registry.embedded
                                                          └─► sessions, watches

This package is imported only if `barnabas.registry.listeners` is set.
"""
