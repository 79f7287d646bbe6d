"""The state of a broker, in Kafka's numbers.

Source: metrics facts, `kafka.server:type=KafkaServer,name=BrokerState`.
"""

from enum import IntEnum


class BrokerState(IntEnum):
    """The states of a broker, from its start to its end."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERING = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7
