"""Metadata requests, handled and encoded, for one topic and for very many partitions.

"first" is the cost of each topic's part after a change, before it is cached.
"""

import time
from types import SimpleNamespace

import pytest

from barnabas.broker.cluster.image import BrokerNode, ClusterImage, PartitionState
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.encoded_metadata import MetadataAnswer, TopicParts
from barnabas.broker.requests.handlers.metadata import HANDLER
from barnabas.broker.requests.slices import Slices
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.wire import WireBuffer

_VERSION = 9
_STATE = PartitionState(0, 3, (0,), (0,), ())
_BROKERS = {0: BrokerNode(0, {"PLAINTEXT": ("127.0.0.1", 9_092)}, None)}
_ONE = MetadataRequest([MetadataRequestTopic("topic-0")], False)
_UNKNOWN = MetadataRequest([MetadataRequestTopic("no")], False)
_ALL = MetadataRequest(None, False)


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "first"])
@pytest.mark.parametrize(
    ("request_", "topic_count", "partition_count"),
    [(_ONE, 50, 1), (_UNKNOWN, 50, 1), (_ALL, 100, 99), (_ALL, 9_900, 1), (_ALL, 1, 9_900)],
    ids=["one", "unknown", "100x99", "9900x1", "1x9900"],
)
def test_metadata(benchmark, request_, topic_count, partition_count, is_kept):
    topics = {f"topic-{each}": dict.fromkeys(range(partition_count), _STATE) for each in range(topic_count)}
    due = []
    services = SimpleNamespace(
        config=SimpleNamespace(auto_create_topics_enable=False),
        cluster=SimpleNamespace(image=ClusterImage("abcdefghijklmnopqrstuv", 0, _BROKERS, topics)),
        slices=Slices(Scheduler(due.append, time.monotonic_ns), time.monotonic_ns, InlineExecutor()),
        topic_parts=TopicParts(),
    )
    encode = MetadataAnswer.ENCODERS[_VERSION]

    def answer() -> WireBuffer:
        if not is_kept:
            services.topic_parts = TopicParts()
        ctx = RequestContext(services, ConnectionInfo("h", 1, "PLAINTEXT"), "client", _VERSION, 1)
        response = HANDLER.handle(ctx, request_)
        if isinstance(response, Pending):
            while not response.is_done:
                due.pop(0)()
            response = response.value
        out = WireBuffer(bytes(8))
        encode(response, out)
        return out

    assert len(benchmark(answer)) > 0
