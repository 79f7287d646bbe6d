"""The embedded registry, served to ZooKeeper's own clients.

    socket ─► acceptor (limits, four-letter words) ─► connection ─► messages ─► registry.embedded
                                                          └─► sessions, watches

Nothing here is imported unless `barnabas.registry.listeners` is set.
"""
