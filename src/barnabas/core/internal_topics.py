"""Names of the internal topics, in which brokers keep their own state; the names are Kafka's."""

GROUP_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset((GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC))


def cluster_settings(broker_count: int) -> dict[str, str]:
    """Return the replication settings of internal topics: with three brokers, two store all acknowledged state."""
    return {
        "offsets.topic.replication.factor": str(min(3, broker_count)),
        "transaction.state.log.replication.factor": str(min(3, broker_count)),
        "transaction.state.log.min.isr": str(min(2, broker_count)),
    }
