"""What the generated classes promise beside the golden bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.core.errors import EncodeError, ProtocolError
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.wire.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import REQUEST_ELEMENT_LIMIT, Budget, Message, WireBuffer


def encoded(message: Message, version: int) -> memoryview:
    out = WireBuffer()
    message.encode(version, out)
    return memoryview(out)


class FileRegion:
    """Bytes of a file that nobody reads here."""

    fd = 3
    position = 100
    length = 1_000


def test_defaults_are_the_schemas_and_belong_to_one_instance() -> None:
    one, other = PartitionData(), PartitionData()
    assert (one.last_stable_offset, one.log_start_offset, one.preferred_read_replica) == (-1, -1, -1)
    assert one.aborted_transactions == []
    assert one.records is None
    assert one.diverging_epoch == EpochEndOffset(-1, -1)
    assert one.diverging_epoch is not other.diverging_epoch
    assert one.aborted_transactions is not other.aborted_transactions
    assert PartitionData(aborted_transactions=None).aborted_transactions is None


def test_messages_are_equal_by_value_and_say_what_they_hold() -> None:
    assert HeartbeatRequest("g", 1, "m") == HeartbeatRequest("g", 1, "m")
    assert HeartbeatRequest("g", 1, "m") != HeartbeatRequest("g", 2, "m")
    assert HeartbeatRequest("g") != ApiVersionsRequest()
    assert "group_id='g'" in repr(HeartbeatRequest("g"))


def test_decoded_records_are_slices_of_the_frame() -> None:
    request = ProduceRequest(None, -1, 1, [TopicProduceData("t", partition_data=[PartitionProduceData(0, b"abc")])])
    frame = bytearray(encoded(request, 8))
    decoded, _ = ProduceRequest.decode(8, memoryview(frame))
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert not records.readonly
    records[0] = ord("z")
    assert frame.endswith(b"zbc")


def test_region_of_a_fetch_response_is_noted_where_its_bytes_belong() -> None:
    region = FileRegion()
    partitions = [PartitionData(0, records=region), PartitionData(1, records=b"xyz")]
    out = WireBuffer()
    FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)]).encode(11, out)
    ((position, found),) = out.regions
    assert found is region
    assert out.total_bytes() == len(out) + 1_000
    whole = out[:position] + bytes(1_000) + out[position:]
    decoded, end = FetchResponse.decode(11, memoryview(whole))
    assert end == len(whole)
    assert [partition.records for partition in decoded.responses[0].partitions] == [bytes(1_000), b"xyz"]


def test_bytes_after_the_body_are_left_alone() -> None:
    body = bytes(encoded(HeartbeatRequest("g", 1, "m"), 0))
    assert HeartbeatRequest.decode(0, memoryview(body + b"more"))[1] == len(body)


def test_body_may_start_anywhere() -> None:
    body = bytes(encoded(HeartbeatRequest("g", 1, "m", "i"), 4))
    assert HeartbeatRequest.decode(4, memoryview(b"head" + body), 4) == (
        HeartbeatRequest("g", 1, "m", "i"),
        4 + len(body),
    )


@pytest.mark.parametrize("version", [-1, 5, 32_767])
def test_version_that_does_not_exist_is_refused(version: int) -> None:
    with pytest.raises(ProtocolError, match="version"):
        HeartbeatRequest.decode(version, memoryview(b""))
    with pytest.raises(EncodeError, match="version"):
        HeartbeatRequest().encode(version, WireBuffer())


def test_value_that_the_version_has_no_field_for_is_refused_unless_ignorable() -> None:
    with pytest.raises(EncodeError, match="transactional_id"):
        encoded(ProduceRequest("transaction"), 2)
    with pytest.raises(EncodeError, match="group_instance_id"):
        encoded(HeartbeatRequest("g", 1, "m", "instance"), 2)
    assert encoded(FetchResponse(throttle_time_ms=5), 0) == encoded(FetchResponse(), 0)


def test_null_that_the_version_cannot_say_is_refused() -> None:
    with pytest.raises(EncodeError, match="topics"):
        encoded(MetadataRequest(None), 0)
    assert encoded(MetadataRequest(None), 1) == b"\xff\xff\xff\xff"


@pytest.mark.parametrize("message", [ProduceRequest(acks=1 << 20), HeartbeatRequest("x" * 40_000)])
def test_value_out_of_range_is_refused(message: Message) -> None:
    with pytest.raises(EncodeError, match="cannot encode"):
        encoded(message, 3)


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(EncodeError, match="cannot encode"):
        encoded(HeartbeatRequest("\ud800"), 0)
    with pytest.raises(ProtocolError, match="malformed HeartbeatRequest v0"):
        HeartbeatRequest.decode(0, memoryview(b"\x00\x02\xc3\x28" + bytes(10)))


def test_request_with_too_many_elements_is_refused_and_produce_is_not() -> None:
    topics = [MetadataRequestTopic(name="t")] * (REQUEST_ELEMENT_LIMIT + 1)
    with pytest.raises(ProtocolError, match="too many"):
        MetadataRequest.decode(1, encoded(MetadataRequest(topics), 1))
    assert MetadataRequest.decode(1, encoded(MetadataRequest(topics[1:]), 1))
    partitions = [PartitionProduceData(0, b"")] * REQUEST_ELEMENT_LIMIT
    request = ProduceRequest(None, 1, 1, [TopicProduceData("t", partition_data=partitions)])
    assert ProduceRequest.decode(3, encoded(request, 3))[0] == request


def test_budget_that_is_given_counts_nested_elements() -> None:
    partitions = [PartitionProduceData(0, b"")] * 3
    body = encoded(ProduceRequest(None, 1, 1, [TopicProduceData("t", partition_data=partitions)] * 2), 3)
    budget = Budget(8)
    ProduceRequest.decode(3, body, 0, budget)
    assert budget.elements_left == 0
    with pytest.raises(ProtocolError, match="too many"):
        ProduceRequest.decode(3, body, 0, Budget(7))


def test_count_of_two_thousand_million_builds_nothing() -> None:
    body = memoryview(bytes.fromhex("ffff0001000000017fffffff") + bytes(1_000))
    with pytest.raises(ProtocolError, match="array of 2147483647 elements"):
        ProduceRequest.decode(3, body)


def test_tagged_field_is_read_in_any_order_and_only_at_its_size() -> None:
    plain = bytes(encoded(FetchRequest(), 12))
    assert plain.endswith(b"\x00")
    unordered = plain[:-1] + bytes.fromhex("020901ff0003036964")
    assert FetchRequest.decode(12, memoryview(unordered))[0].cluster_id == "id"
    with pytest.raises(ProtocolError):
        FetchRequest.decode(12, memoryview(unordered[:-1]))
    with pytest.raises(ProtocolError, match="tagged field ends"):
        FetchRequest.decode(12, memoryview(plain[:-1] + bytes.fromhex("010004036964ff")))


def test_request_classes_load_on_first_use() -> None:
    program = (
        "import sys, barnabas.wire.protocol.header\n"
        "from barnabas.wire.protocol.api_keys import ApiKey, request_class, response_class\n"
        "loaded = [name for name in sys.modules if name.startswith('barnabas.wire.protocol.messages')]\n"
        "assert loaded == [], loaded\n"
        "assert request_class(ApiKey.FETCH).__name__ == 'FetchRequest'\n"
        "assert response_class(ApiKey.FETCH).__name__ == 'FetchResponse'\n"
    )
    source = Path(__file__).resolve().parents[4] / "src"
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": str(source)})
