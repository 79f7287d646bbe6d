"""Migration of a group's offsets from ZooKeeper to Kafka and back, observed without the consumers' help.

    watch.py       reads both sides repeatedly (I/O)
    evidence.py    infers where consumers commit from offset movements (pure)
    migration_state.py    decides the group's phase, the next step, and whether that step is safe (pure)

Source: design document of 0.8.2, offset management, migrating offsets from ZooKeeper to Kafka; Kafka 0.8.2.2,
ZookeeperConsumerConnector, commitOffsets and fetchOffsets.
"""
