"""The cost of decoding and encoding the hot path's messages: `python -m pytest benchmarks/micro/test_protocol.py`.

Requests and responses are as on a connection that produces to, or reads from, one partition.
"""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.wire.protocol.header import decode_request_header, encode_request_header, encode_response_header
from barnabas.wire.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.protocol.wire import Budget, WireBuffer

_EPOCH, _LEADER = EpochEndOffset(), LeaderIdAndEpoch()


class FileRegion:
    """Bytes of a file, as the log returns them."""

    fd = 3
    position = 0
    length = 16384


def test_decode_request_header(benchmark: BenchmarkFixture) -> None:
    out = WireBuffer()
    encode_request_header(out, 0, 8, 7, "producer-1")
    frame = memoryview(out)
    assert benchmark(decode_request_header, frame) == (0, 8, 7, "producer-1", len(frame))


@pytest.mark.parametrize("record_bytes", [100, 16384])
def test_decode_produce_request(benchmark: BenchmarkFixture, record_bytes: int) -> None:
    topic = TopicProduceData("activity", partition_data=[PartitionProduceData(0, bytes(record_bytes))])
    out = WireBuffer()
    ProduceRequest(None, -1, 30_000, [topic]).encode(8, out)
    frame = memoryview(out)
    decode = ProduceRequest.DECODERS[8]
    assert decode is not None
    budget = Budget(1 << 62)
    request, _ = benchmark(decode, frame, 0, budget)
    assert len(request.topic_data[0].partition_data[0].records) == record_bytes


def test_encode_produce_response(benchmark: BenchmarkFixture) -> None:
    def answer() -> WireBuffer:
        partition = PartitionProduceResponse(0, 0, 1_000, -1, 0, [], None)
        out = WireBuffer()
        encode_response_header(out, 0, 8, 7)
        encode(ProduceResponse([TopicProduceResponse("activity", [partition])]), out)
        return out

    encode = ProduceResponse.ENCODERS[8]
    assert encode is not None
    assert benchmark(answer)


@pytest.mark.parametrize("version", [11, 12])
def test_decode_fetch_request(benchmark: BenchmarkFixture, version: int) -> None:
    out = WireBuffer()
    topics = [FetchTopic("activity", partitions=[FetchPartition(0, 0, 1_000, partition_max_bytes=1 << 20)])]
    FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 26, topics=topics).encode(version, out)
    decode = FetchRequest.DECODERS[version]
    assert decode is not None
    request, end = benchmark(decode, memoryview(out), 0, Budget(1 << 62))
    assert (request.topics, end) == (topics, len(out))


@pytest.mark.parametrize("version", [11, 12])
def test_encode_fetch_response(benchmark: BenchmarkFixture, version: int) -> None:
    region = FileRegion()

    def answer() -> WireBuffer:
        partition = PartitionData(0, 0, 1_000, 1_000, 0, _EPOCH, _LEADER, None, -1, region)
        out = WireBuffer()
        encode_response_header(out, 1, version, 7)
        encode(FetchResponse(0, 0, 0, [FetchableTopicResponse("activity", [partition])]), out)
        return out

    encode = FetchResponse.ENCODERS[version]
    assert encode is not None
    assert benchmark(answer).total_bytes() > region.length
