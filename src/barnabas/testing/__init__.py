"""Test kit: brokers in processes of their own, single or as a cluster, and a clock that only a test moves.

    from barnabas.testing import Broker

    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

With pytest, the fixtures `kafka_broker`, `kafka_broker_session` and `kafka_cluster` are available without an import.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.testing.broker import Broker
from barnabas.testing.cluster import Cluster
from barnabas.testing.interception import Interception, Selection
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.received_request import ReceivedRequest
from barnabas.testing.registry import Registry

__all__ = ["Broker", "Cluster", "ErrorCode", "Interception", "ManualClock", "ReceivedRequest", "Registry", "Selection"]
