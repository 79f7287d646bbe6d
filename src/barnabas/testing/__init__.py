"""The kit for tests: a broker in its own process, and the clock that moves only by hand.

    from barnabas.testing import Broker

    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

With pytest, the fixtures `kafka_broker` and `kafka_broker_session` are there without an import.
"""

from barnabas.core.error_code import ErrorCode
from barnabas.testing.broker import Broker
from barnabas.testing.interception import Interception, Selection
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.seen_request import SeenRequest

__all__ = ["Broker", "ErrorCode", "Interception", "ManualClock", "SeenRequest", "Selection"]
