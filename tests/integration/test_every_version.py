"""Every API in every version that is offered answers over a real connection: no version has an answer that it can't
encode.

Two kinds of requests: the golden ones, byte for byte as Kafka's own clients wrote them, whose values are random, so
that many are refused; and requests made here for a topic and a group that exist, so that the answer holds values.
Control requests go to a broker of their own: what they say of its controller counts from then on.
Produce is left out: what the golden requests hold are no record batches (tests/integration/test_old_versions.py has its
versions).
"""

from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.requests.handlers import HANDLERS
from barnabas.testing import Broker
from barnabas.wire.protocol.api_keys import ApiKey, request_class
from barnabas.wire.protocol.messages.create_acls import CreateAclsRequest
from tests.compat.raw import Peer, ask, decoded, header

TOPIC = "every-version"
CONTROL = frozenset(
    (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_ISR)
)
# One of the names in the golden requests.
GOLDEN_TOPIC = "a"
VECTORS = Path(__file__).parent.parent / "golden" / "message-vectors.tsv"

CASES = [
    (handler.api_key, version)
    for handler in HANDLERS
    for version in range(handler.min_version, handler.max_version + 1)
    if handler.api_key != ApiKey.PRODUCE and not handler.is_private
]


def golden_requests() -> dict[tuple[int, int], list[bytes]]:
    """Bodies of requests by API key and version."""
    keys = {request_class(handler.api_key).__name__: handler.api_key for handler in HANDLERS}
    found: dict[tuple[int, int], list[bytes]] = {}
    for line in VECTORS.read_text().splitlines():
        name, *fields = line.split("\t")
        if name in keys:
            version, body, _ = fields
            found.setdefault((keys[name], int(version)), []).append(b"" if body == "-" else bytes.fromhex(body))
    return found


GOLDEN = golden_requests()


@pytest.fixture(scope="module")
def brokers():
    """One for clients, and one that takes control requests."""
    with Broker() as of_clients, Broker() as of_controllers:
        for made in (of_clients, of_controllers):
            ask(made.bootstrap_servers, metadata_request(), 5)
        yield of_clients, of_controllers


@pytest.fixture
def broker(brokers, api_key):
    return brokers[api_key in CONTROL]


def metadata_request():
    from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

    return MetadataRequest([MetadataRequestTopic(name=TOPIC), MetadataRequestTopic(name=GOLDEN_TOPIC)], True)


def request_for(api_key: int, version: int):
    """A request that gets as far as an answer with values in it."""
    made: Any = request_class(api_key)()
    match api_key:
        case ApiKey.METADATA:
            made.topics = metadata_request().topics
            made.allow_auto_topic_creation = True
        case ApiKey.LIST_OFFSETS:
            from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic

            made.replica_id = -1
            made.topics = [
                ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, timestamp=-1)]),
                ListOffsetsTopic("other", [ListOffsetsPartition(0, timestamp=-2)]),
            ]
        case ApiKey.FETCH:
            from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchTopic

            made.topics = [FetchTopic(TOPIC, partitions=[FetchPartition(0, partition_max_bytes=1000)])]
        case ApiKey.OFFSET_FOR_LEADER_EPOCH:
            from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
                OffsetForLeaderPartition,
                OffsetForLeaderTopic,
            )

            made.topics = [OffsetForLeaderTopic(TOPIC, [OffsetForLeaderPartition(0, -1, 0)])]
        case ApiKey.FIND_COORDINATOR:
            made.key = "group"
        case ApiKey.OFFSET_COMMIT | ApiKey.OFFSET_FETCH | ApiKey.JOIN_GROUP | ApiKey.SYNC_GROUP:
            made.group_id = "group"
        case ApiKey.API_VERSIONS:
            made.client_software_name = made.client_software_version = "test"
    return made


class ConnectionClosedError(Exception):
    """The broker closed the connection instead of answering."""


def exchange_bytes(broker: Broker, api_key: int, version: int, body: bytes) -> object:
    """Send the bytes of one request and decode its answer."""
    with Peer(broker.bootstrap_servers) as peer:
        peer.say(header(api_key, version) + body)
        frame = peer.heard()
    if frame is None:
        raise ConnectionClosedError(broker.log_text())
    return decoded(api_key, version, frame)


@pytest.mark.parametrize(("api_key", "version"), CASES, ids=lambda value: str(int(value)))
def test_it_answers(broker, api_key, version):
    assert ask(broker.bootstrap_servers, request_for(api_key, version), version) is not None, broker.log_text()


@pytest.mark.parametrize(("api_key", "version"), CASES, ids=lambda value: str(int(value)))
def test_it_answers_the_golden_requests(broker, api_key, version):
    for body in GOLDEN[api_key, version]:
        if api_key == ApiKey.CREATE_ACLS and names_what_it_calls_unknown(version, body):
            # To Kafka, too, that is no request (tests/compat/test_acl_requests.py).
            with pytest.raises(ConnectionClosedError):
                exchange_bytes(broker, api_key, version, body)
        else:
            exchange_bytes(broker, api_key, version, body)


def names_what_it_calls_unknown(version: int, body: bytes) -> bool:
    """Whether a CreateAcls request has a code 0 where it says of what kind something is."""
    request, _ = CreateAclsRequest.decode(version, memoryview(body))
    return any(
        0 in (each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
        for each in request.creations
    )
