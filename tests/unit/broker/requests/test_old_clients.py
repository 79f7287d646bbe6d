"""Produce v0-2, Fetch v0-9 and ListOffsets v0: what clients from before Kafka 0.11 send and get."""

import os

import pytest

from barnabas.broker.requests import down_conversion
from barnabas.broker.requests.handlers import fetch
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import MAGIC_POSITION, Codec, batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.formats import batches_of_any_magic, is_any_crc_valid, iterate_any_records
from barnabas.wire.records.message_set import MessageSetBuilder

OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
FORMATS = ["0.9.0", "0.10.2", "2.7"]


def messages(clock, magic=1, count=3, codec=Codec.NONE, value=b"value"):
    builder = MessageSetBuilder(magic, codec)
    for index in range(count):
        builder.append(index, clock.now_ms() + index, b"key", value)
    return builder.build()


def batch(clock, count=3, codec=Codec.NONE, value=b"value", headers=()):
    builder = BatchBuilder(codec)
    for index in range(count):
        builder.append(clock.now_ms() + index, b"key", value, headers)
    return builder.build()


def records_of(data):
    return [record for each in batches_of_any_magic(data) for record in iterate_any_records(each)]


def magics(data):
    return {each[MAGIC_POSITION] for each in batches_of_any_magic(data)}


class TestProduce:
    @pytest.mark.parametrize("codec", OLD_CODECS)
    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize(("format_version", "stored"), [(FORMATS[0], 0), (FORMATS[1], 1), (FORMATS[2], 2)])
    def test_every_format_goes_into_every_topic(self, data_path, magic, codec, format_version, stored):
        data_path.create("t", message_format_version=format_version)
        for number in range(2):
            answer = data_path.produce("t", messages(data_path.clock, magic, 3, codec), version=2)
            assert (answer.error_code, answer.base_offset) == (0, 3 * number)

        found = data_path.fetch("t").records
        assert magics(found) == {stored}
        assert all(is_any_crc_valid(each) for each in batches_of_any_magic(found))
        start_ms = data_path.clock.now_ms()
        has_time = magic == 1 and stored > 0
        expected = [(offset, start_ms + offset % 3 if has_time else -1, b"key", b"value", ()) for offset in range(6)]
        assert [tuple(record) for record in records_of(found)] == expected

    @pytest.mark.parametrize("codec", list(Codec))
    @pytest.mark.parametrize("format_version", FORMATS[:2])
    def test_batches_go_into_topics_of_an_old_format(self, data_path, format_version, codec):
        data_path.create("t", message_format_version=format_version)
        answer = data_path.produce("t", batch(data_path.clock, codec=codec))
        if codec is Codec.ZSTD:
            assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            return
        assert answer.error_code == 0
        assert magics(data_path.fetch("t").records) == {0 if format_version == "0.9.0" else 1}
        assert data_path.log("t").latest_epoch == -1
        assert not (data_path.log("t").directory / "leader-epoch-checkpoint").exists()

    def test_idempotent_batches_do_not(self, data_path):
        data_path.create("t", message_format_version="0.10.2")
        builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0)
        builder.append(1, None, b"v")
        assert data_path.produce("t", builder.build()).error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT

    def test_nothing_but_batches_in_newer_requests(self, data_path):
        data_path.create("t")
        answer = data_path.produce("t", messages(data_path.clock), version=3)
        assert (answer.error_code, answer.log_start_offset) == (ErrorCode.INVALID_RECORD, -1)

    def test_a_damaged_message_is_refused(self, data_path):
        data_path.create("t", message_format_version="0.10.2")
        data = messages(data_path.clock)
        data[-1] ^= 1
        assert data_path.produce("t", data, version=2).error_code == ErrorCode.CORRUPT_MESSAGE
        assert data_path.log("t").log_end_offset == 0

    @pytest.mark.parametrize("version", [2, 3])
    @pytest.mark.parametrize("build", [messages, batch])
    def test_a_message_that_is_cut_short_is_not_acknowledged(self, data_path, build, version):
        data_path.create("t")
        assert data_path.produce("t", build(data_path.clock, count=1)[:-1], version).error_code
        assert data_path.log("t").log_end_offset == 0

    @pytest.mark.parametrize(("magic", "stamped"), [(0, -1), (1, 0)])
    def test_the_append_time(self, data_path, magic, stamped):
        version = "0.10.2" if magic else "0.9.0"
        data_path.create("t", message_format_version=version, message_timestamp_type="LogAppendTime")
        now_ms = data_path.clock.now_ms()
        answer = data_path.produce("t", messages(data_path.clock), version=2)
        assert answer.log_append_time_ms == now_ms
        expected = now_ms if magic else -1
        assert {record.timestamp_ms for record in records_of(data_path.fetch("t").records)} == {expected}


class TestFetch:
    @pytest.fixture(params=list(Codec)[:4], ids=lambda codec: codec.name)
    def filled(self, data_path, request):
        """Two batches of three records with headers."""
        data_path.create("t")
        for _ in range(2):
            data_path.produce("t", batch(data_path.clock, codec=request.param, headers=[("h", b"x")]))
        return data_path

    @pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (9, 2), (12, 2)])
    def test_each_version_gets_a_format_that_it_knows(self, filled, version, magic):
        answer = filled.fetch("t", version=version)
        assert (answer.error_code, answer.high_watermark) == (0, 6)
        assert magics(answer.records) == {magic}
        found = records_of(answer.records)
        assert [record.offset for record in found] == list(range(6))
        assert {record.headers for record in found} == {(("h", b"x"),) if magic == 2 else ()}
        start_ms = filled.clock.now_ms()
        assert [each.timestamp_ms for each in found] == [start_ms + n % 3 if magic else -1 for n in range(6)]

    def test_from_the_middle(self, filled):
        found = records_of(filled.fetch("t", 4, version=1).records)
        assert [record.offset for record in found if record.offset >= 4] == [4, 5]
        assert found[0].offset >= 3

    @pytest.mark.parametrize("version", [0, 1, 2])
    @pytest.mark.parametrize("max_bytes", [1, 12, 60, 100])
    def test_a_batch_that_does_not_fit_looks_like_a_message_that_does_not(self, filled, version, max_bytes):
        """With nothing at all the client would take it for the end of the log, and ask again for ever."""
        data = filled.fetch("t", version=version, max_bytes=max_bytes).records
        assert len(data) > 0
        assert list(batches_of_any_magic(data)) == []
        assert int.from_bytes(data[8:12], "big") > len(data) - 12

    def test_a_waiting_one_is_converted_too(self, filled):
        pending = filled.begin(fetch.HANDLER, 2, filled.fetch_request("t", 6, wait_ms=500))
        assert not pending.is_done
        filled.produce("t", batch(filled.clock))
        answer = filled.finish(fetch.HANDLER, 2, pending)
        assert magics(answer.responses[0].partitions[0].records) == {1}

    def test_conversion_can_be_switched_off(self, data_path):
        data_path.create("t", message_downconversion_enable="false")
        data_path.produce("t", batch(data_path.clock))
        for version in range(4):
            answer = data_path.fetch("t", version=version)
            assert (answer.error_code, answer.high_watermark) == (ErrorCode.UNSUPPORTED_VERSION, -1)
        assert data_path.fetch("t", version=4).error_code == 0

    def test_nothing_is_converted_that_is_old_enough(self, data_path):
        data_path.create("t", message_format_version="0.10.2", message_downconversion_enable="false")
        data_path.produce("t", messages(data_path.clock), version=2)
        assert data_path.fetch("t", version=2).error_code == 0
        assert data_path.fetch("t", version=1).error_code == ErrorCode.UNSUPPORTED_VERSION

    def test_without_conversion_old_formats_and_empty_answers_are_served(self, data_path):
        data_path.create("t", message_downconversion_enable="false", message_format_version="0.10.2")
        data_path.produce("t", messages(data_path.clock), version=2)
        old_end = data_path.log("t").log_end_offset
        data_path.configure("t", message_downconversion_enable="false")
        assert data_path.fetch("t", old_end, version=3).error_code == 0
        data_path.produce("t", batch(data_path.clock))
        assert magics(data_path.fetch("t", version=3).records) == {1}
        assert data_path.fetch("t", old_end, version=3).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert data_path.fetch("t", version=1).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert data_path.fetch("t", data_path.log("t").log_end_offset, version=1).error_code == 0

    def test_zstd_needs_version_10(self, data_path):
        data_path.create("zstd", compression_type="zstd")
        data_path.produce("zstd", batch(data_path.clock))
        data_path.create("t")
        data_path.produce("t", batch(data_path.clock))
        data_path.produce("t", batch(data_path.clock, codec=Codec.ZSTD))
        assert data_path.fetch("zstd", version=9).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert data_path.fetch("zstd", version=10).error_code == 0
        # What comes before a batch that can't be converted is given; who asks for it is told.
        assert [record.offset for record in records_of(data_path.fetch("t", version=3).records)] == [0, 1, 2]
        assert data_path.fetch("t", 3, version=3).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

    def test_markers_are_left_out(self, data_path):
        data_path.create("t")
        marker = build_marker(7, 0, EndTransactionMarker(MarkerType.COMMIT, 0), data_path.clock.now_ms())
        data_path.replicas.append(TopicPartition("t", 0), marker, 1, 1_000)
        # Kafka's own way to say that there is something, and nothing for this client.
        assert len(data_path.fetch("t", version=2).records) == 12
        data_path.produce("t", batch(data_path.clock))
        assert [record.offset for record in records_of(data_path.fetch("t", version=2).records)] == [1, 2, 3]

    def test_a_damaged_batch_has_its_error(self, data_path):
        data_path.create("t")
        data_path.produce("t", batch(data_path.clock))
        path = data_path.log("t").active_segment.path
        data = bytearray(path.read_bytes())
        data[61] = 0x7F
        path.write_bytes(data)
        assert data_path.fetch("t", version=2).error_code == ErrorCode.CORRUPT_MESSAGE

    def test_an_answer_is_bounded_and_never_empty(self, data_path, monkeypatch):
        monkeypatch.setattr(down_conversion, "MOST_CONVERTED_BYTES", 1_000)
        data_path.create("t")
        for _ in range(10):
            data_path.produce("t", batch(data_path.clock, 1, value=b"x" * 400))
        assert [record.offset for record in records_of(data_path.fetch("t", version=3).records)] == [0, 1]
        assert [record.offset for record in records_of(data_path.fetch("t", 2, version=3, max_bytes=1).records)] == [2]

    @pytest.mark.parametrize(("version", "size"), [(0, 100), (1, 100), (2, 100), (3, 469), (11, 469)])
    def test_before_version_3_a_limit_is_a_limit(self, data_path, version, size):
        version_of_topic = {0: "0.9.0", 1: "0.9.0", 2: "0.10.2", 3: "0.10.2", 11: "2.7"}[version]
        data_path.create("t", message_format_version=version_of_topic)
        data_path.produce("t", messages(data_path.clock, 1, 1, value=b"x" * 400), version=2)
        size = data_path.log("t").size_bytes if size > 100 else size
        assert len(data_path.fetch("t", version=version, max_bytes=100).records) == size


class TestLargeBatches:
    """Batches that unpack to more than a usual one: one at a time, and nobody else waits for them."""

    @pytest.fixture(autouse=True)
    def small_is_usual(self, monkeypatch):
        monkeypatch.setattr(down_conversion, "USUAL_UNPACKED_BYTES", 10_000)

    @pytest.fixture
    def filled(self, data_path):
        """Topics `usual` and `large`, each with a batch."""
        for topic, size in (("usual", 5_000), ("large", 20_000)):
            data_path.create(topic)
            data_path.produce(topic, batch(data_path.clock, 1, Codec.GZIP, value=bytes(size)))
        return data_path

    def begin(self, data_path, *topics):
        """A fetch of version 2 that is under way."""
        request = data_path.fetch_request(topics[0])
        request.topics += [each for topic in topics[1:] for each in data_path.fetch_request(topic).topics]
        return data_path.begin(fetch.HANDLER, 2, request)

    def test_they_wait_for_each_other_and_nobody_for_them(self, filled):
        large = filled.conversions.large
        large.is_holding = True
        waiting = [self.begin(filled, "large") for _ in range(3)]
        assert large.waiting_count == 3
        assert [record.offset for record in records_of(filled.fetch("usual", version=2).records)] == [0]
        assert not any(each.is_done for each in waiting)
        waiting.pop().cancel()
        large.run_all()
        for each in waiting:
            assert [len(record.value) for record in records_of(each.value.responses[0].partitions[0].records)] == [
                20_000
            ]

    def test_an_answer_is_for_a_large_batch_alone_and_all_partitions_have_their_turn(self, filled):
        seen = set()
        for _ in range(30):
            answer = self.begin(filled, "usual", "large").value
            given = tuple(len(records_of(each.partitions[0].records)) for each in answer.responses)
            assert given in {(1, 0), (0, 1)}
            seen.add(given)
        assert seen == {(1, 0), (0, 1)}

    def test_partitions_for_which_there_is_no_room_have_their_turn(self, data_path, monkeypatch):
        monkeypatch.setattr(down_conversion, "MOST_CONVERTED_BYTES", 1_000)
        names = [f"t{number}" for number in range(4)]
        for topic in names:
            data_path.create(topic)
            data_path.produce(topic, batch(data_path.clock, 1, value=bytes(700)))
        seen = set()
        for _ in range(50):
            answer = self.begin(data_path, *names).value
            given = {each.topic for each in answer.responses if each.partitions[0].records}
            assert len(given) == 2
            seen |= given
        assert seen == set(names)


class TestListOffsets:
    @pytest.fixture
    def filled(self, data_path):
        """Segments from 0, 2 and 4, changed at 1, 2 and 3 s after the epoch."""
        data_path.create("t", segment_bytes=2 * len(batch(data_path.clock, 1)))
        for _ in range(5):
            data_path.produce("t", batch(data_path.clock, 1))
        for number, segment in enumerate(data_path.log("t").segments, 1):
            os.utime(segment.path, (number, number))
        return data_path

    @pytest.mark.parametrize(
        ("timestamp", "count", "offsets"),
        [
            (-1, 10, [5, 4, 2, 0]),
            (-1, 2, [5, 4]),
            (-1, 0, []),
            (-2, 10, [0]),
            (2_500, 10, [2, 0]),
            (2_500, 1, [2]),
            (999, 10, []),
            (3_000, 10, [4, 2, 0]),
        ],
    )
    def test_segments_by_time(self, filled, timestamp, count, offsets):
        answer = filled.list_offsets("t", timestamp, version=0, count=count)
        assert (answer.error_code, answer.old_style_offsets) == (0, offsets)

    def test_consumers_see_nothing_above_the_high_watermark(self, filled):
        filled.partition("t").high_watermark = 3
        assert filled.list_offsets("t", -1, version=0, count=10).old_style_offsets == [3, 2, 0]
        assert filled.list_offsets("t", -1, version=0, count=10, replica_id=-2).old_style_offsets == [5, 4, 2, 0]

    def test_the_log_start_counts(self, filled):
        filled.log("t").increment_log_start_offset(1)
        assert filled.list_offsets("t", -2, version=0, count=10).old_style_offsets == [1]

    def test_an_empty_log(self, data_path):
        data_path.create("t")
        assert data_path.list_offsets("t", -1, version=0).old_style_offsets == [0]

    def test_times_of_records(self, data_path):
        data_path.create("old", message_format_version="0.9.0")
        answer = data_path.list_offsets("old", 5)
        assert answer.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
        assert data_path.list_offsets("old", -1).error_code == 0
        data_path.create("t", message_format_version="0.10.2")
        start_ms = data_path.clock.now_ms()
        for codec in (Codec.NONE, Codec.GZIP):
            data_path.produce("t", messages(data_path.clock, 1, 3, codec), version=2)
            data_path.clock.advance(1_000)
        for offset, timestamp_ms in enumerate([0, 1, 2, 1_000, 1_001, 1_002]):
            answer = data_path.list_offsets("t", start_ms + timestamp_ms)
            assert (answer.offset, answer.timestamp, answer.leader_epoch) == (offset, start_ms + timestamp_ms, -1)


def test_old_formats_survive_stops_and_kills(data_path):
    for magic, version in enumerate(FORMATS):
        data_path.create(f"t{magic}", message_format_version=version)
        for codec in OLD_CODECS:
            data_path.produce(f"t{magic}", messages(data_path.clock, 1, 3, codec), version=2)
    before = [bytes(data_path.fetch(f"t{magic}").records) for magic in range(3)]
    data_path.stop()
    data_path.start()
    assert [bytes(data_path.fetch(f"t{magic}").records) for magic in range(3)] == before
    assert [read_header(each).base_offset for each in batches(before[2])] == [0, 3, 6, 9]
    assert data_path.produce("t0", messages(data_path.clock), version=0).base_offset == 12
