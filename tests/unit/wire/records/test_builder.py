"""The builder and the reader beside Kafka's own bytes, and beside two other implementations."""

import warnings
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder

from barnabas.wire.records.batch import Codec, is_crc_valid, read_header, set_max_timestamp
from barnabas.wire.records.builder import BatchBuilder, encode_varint
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker, read_marker
from barnabas.wire.records.record import Record, RecordHeaders, iterate_records

with warnings.catch_warnings():
    # kafka-python reads its schemas in a way that Python deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

JAVA_BATCHES = dict(
    line.split("\t")
    for line in (Path(__file__).parent / "batches-java-2.7.2.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


def java_record(number: int, base_offset: int, *, has_headers: bool) -> Record:
    headers: RecordHeaders = (("trace", bytes((1, 2, number))), ("é", None)) if has_headers else ()
    return Record(
        base_offset + number,
        1_600_000_000_000 + number * 37 % 11 * 1000,
        None if number % 3 == 2 else f"key-{number}".encode(),
        None if number % 5 == 4 else f"value of record {number}, value of record {number}".encode(),
        headers,
    )


def java_batch(name: str) -> bytes:
    return bytes.fromhex(JAVA_BATCHES[name])


@pytest.mark.parametrize("codec", list(Codec))
def test_plain_batches_of_kafka(codec: Codec) -> None:
    theirs = java_batch(f"plain-{codec.name.lower()}")
    records = [java_record(number, 0, has_headers=False) for number in range(10)]
    assert is_crc_valid(theirs, 0, len(theirs))
    assert list(iterate_records(theirs)) == records
    assert_same_batch(theirs, BatchBuilder(codec), records)


@pytest.mark.parametrize("codec", list(Codec))
def test_idempotent_batches_of_kafka(codec: Codec) -> None:
    theirs = java_batch(f"idempotent-{codec.name.lower()}")
    records = [java_record(number, 10**12, has_headers=True) for number in range(6)]
    assert is_crc_valid(theirs, 0, len(theirs))
    assert list(iterate_records(theirs)) == records
    assert_same_batch(theirs, BatchBuilder(codec, 4242, 3, 2147483645, is_transactional=True), records)


def assert_same_batch(theirs: bytes, builder: BatchBuilder, records: list[Record]) -> None:
    """The same bytes without a codec; with one, the same header but for length and CRC, and the same records."""
    for record in records:
        builder.append(*record[1:])
    header = read_header(theirs)
    ours = builder.build(header.base_offset, header.leader_epoch)
    if header.codec == Codec.NONE:
        assert ours == theirs
        assert builder.uncompressed_bytes == len(theirs)
    our_header = read_header(ours)
    assert our_header._replace(batch_length=header.batch_length, crc=header.crc) == header
    assert is_crc_valid(ours, 0, len(ours))
    assert list(iterate_records(ours)) == records


def test_log_append_time_of_kafka() -> None:
    theirs = java_batch("log-append-time-none")
    ours = BatchBuilder()
    for number in range(3):
        ours.append(*java_record(number, 5, has_headers=False)[1:])
    batch = ours.build(5)
    set_max_timestamp(batch, 0, len(batch), 1_700_000_000_000, is_log_append_time=True)
    assert batch == theirs


@pytest.mark.parametrize("marker_type", list(MarkerType))
def test_markers_of_kafka(marker_type: MarkerType) -> None:
    theirs = java_batch(f"marker-{marker_type.name.lower()}")
    marker = EndTransactionMarker(marker_type, coordinator_epoch=12)
    assert build_marker(4242, 3, marker, 1_700_000_000_000, base_offset=77, leader_epoch=9) == theirs
    assert len(theirs) == 78
    (record,) = iterate_records(theirs)
    assert read_marker(record) == marker
    assert read_header(theirs).is_control


# kafka-python takes further libraries for snappy and zstd.
@pytest.mark.parametrize(
    ("other_builder", "codec"),
    [
        *((AiokafkaBuilder, codec) for codec in Codec),
        *((KafkaPythonBuilder, codec) for codec in (Codec.NONE, Codec.GZIP, Codec.LZ4)),
    ],
)
def test_the_builders_of_other_clients_agree(
    other_builder: type[AiokafkaBuilder] | type[KafkaPythonBuilder], codec: Codec
) -> None:
    records = [java_record(number, 0, has_headers=True) for number in range(10)]
    ours = BatchBuilder(codec)
    others = other_builder(2, int(codec), 0, -1, -1, -1, 1 << 20)
    for record in records:
        ours.append(*record[1:])
        others.append(record.offset, record.timestamp_ms, record.key, record.value, list(record.headers))
    theirs = bytearray(others.build())
    assert list(iterate_records(theirs)) == records
    if codec is Codec.NONE:
        # Their leader epoch is 0, a producer's is -1.
        assert ours.build(leader_epoch=read_header(theirs).leader_epoch) == theirs


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="needs a record"):
        BatchBuilder().build()


def test_a_builder_goes_on_after_a_build() -> None:
    builder = BatchBuilder()
    builder.append(1, None, b"one")
    first = builder.build()
    builder.append(2, None, b"two")
    assert [record.value for record in iterate_records(first)] == [b"one"]
    assert [record.value for record in iterate_records(builder.build())] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (2147483647, "feffffff0f"),
        (-2147483648, "ffffffff0f"),
        ((1 << 63) - 1, "feffffffffffffffff01"),
        (-(1 << 63), "ffffffffffffffffff01"),
    ],
)
def test_varints_are_zigzag(number: int, encoded: str) -> None:
    assert encode_varint(number).hex() == encoded
