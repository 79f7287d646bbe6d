"""A group's offsets on their way from ZooKeeper into Kafka and back, seen from outside, without the consumers' help.

    watch.py       reads both sides again and again (I/O)
    evidence.py    who commits where, by what moved (pure)
    migration_state.py    where the group stands, what comes next, and whether that is safe (pure)

Source: design document of 0.8.2, offset management, migrating offsets from ZooKeeper to Kafka; Kafka 0.8.2.2,
ZookeeperConsumerConnector, commitOffsets and fetchOffsets.
"""
