"""The topics in which the broker keeps its own state, under Kafka's names."""

GROUP_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset((GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC))
