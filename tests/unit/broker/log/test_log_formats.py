"""Logs that hold messages of formats 0 and 1, or whose topics want another codec or format than their producers."""

import pytest

from barnabas.broker.log.file_names import file_name
from barnabas.core.config.versions import message_magic
from barnabas.core.error_code import ErrorCode
from barnabas.wire.records.batch import MAGIC_POSITION, Codec, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.formats import batches_of_any_magic, is_any_crc_valid, iterate_any_records, read_any_header
from barnabas.wire.records.message_set import MessageSetBuilder

CODEC_NAMES = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def messages(clock, magic=1, count=3, codec=Codec.NONE, value=b"value") -> memoryview:
    builder = MessageSetBuilder(magic, codec)
    for index in range(count):
        builder.append(index, clock.now_ms() + index, b"key", value)
    return memoryview(builder.build())


def stored(log, start_offset=0):
    return list(log.batches(start_offset, log.log_end_offset))


def records_of(log):
    return [record for batch in stored(log) for record in iterate_any_records(batch)]


@pytest.mark.parametrize(
    ("version", "magic"),
    [("0.8.0", 0), ("0.9.0", 0), ("0.10.0-IV0", 1), ("0.10.2", 1), ("0.11.0-IV2", 2), ("1.0", 2), ("2.7-IV2", 2)],
)
def test_format_versions(version, magic):
    assert message_magic(version) == magic


def test_the_brokers_own_records_are_kept_in_the_topics_format(open_partition_log, clock):
    log = open_partition_log(message_format_version="0.10.2", cleanup_policy="compact")
    for codec in (Codec.NONE, Codec.GZIP):
        builder = BatchBuilder(codec)
        for index in range(3):
            builder.append(clock.now_ms(), b"key %d" % index, None if index == 1 else b"value")
        assert log.append(memoryview(builder.build()), 5, is_client=False).error_code == ErrorCode.NONE
    assert {batch[MAGIC_POSITION] for batch in stored(log)} == {1}
    assert [(record.offset, record.value) for record in records_of(log)] == [
        (0, b"value"),
        (1, None),
        (2, b"value"),
        (3, b"value"),
        (4, None),
        (5, b"value"),
    ]


def test_own_records_of_a_producer_have_no_place_in_an_old_format(open_partition_log, clock):
    log = open_partition_log(message_format_version="0.10.2")
    builder = BatchBuilder(Codec.NONE, 7, 0, 0, is_transactional=True)
    builder.append(clock.now_ms(), b"key", b"value")
    refused = log.append(memoryview(builder.build()), 5, is_client=False)
    assert refused.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize("topic_codec", ["producer", "zstd", "gzip"])
def test_zstd_needs_a_kafka_that_reads_it(open_partition_log, env, clock, topic_codec):
    env.has_zstd = False
    log = open_partition_log(compression_type=topic_codec)
    builder = BatchBuilder(Codec.ZSTD)
    builder.append(clock.now_ms(), b"key", b"value")
    result = log.append(memoryview(builder.build()), 0)
    is_taken = topic_codec == "gzip"
    assert result.error_code == (ErrorCode.NONE if is_taken else ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    assert log.log_end_offset == is_taken


class TestOldFormats:
    @pytest.fixture(params=[0, 1], ids=["magic0", "magic1"])
    def config(self, request):
        return {"message_format_version": ("0.9.0", "0.10.2")[request.param], "index_interval_bytes": 100}

    @pytest.fixture
    def filled(self, open_partition_log, clock, config):
        """Thirty records in several segments, compressed and not."""
        log = open_partition_log(**config, segment_bytes=400)
        for number in range(10):
            codec = (Codec.NONE, Codec.GZIP)[number % 2]
            result = log.append(messages(clock, log.magic, 3, codec), 0, is_any_format=True)
            assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 3 * number)
            clock.advance(100)
        return log

    def test_every_record_is_there(self, filled):
        assert [record.offset for record in records_of(filled)] == list(range(30))
        assert {batch[MAGIC_POSITION] for batch in stored(filled)} == {filled.magic}
        assert len(filled.segments) > 2

    def test_reads_begin_with_the_message_that_holds_the_offset(self, filled):
        for offset in range(30):
            part = filled.read(offset, 1 << 20, 30)
            first = next(batches_of_any_magic(part.read()))
            offsets = [record.offset for record in iterate_any_records(first)]
            assert offset in offsets
            assert len(offsets) in (1, 3)

    @pytest.mark.parametrize("was_clean", [False, True])
    def test_it_is_read_back(self, filled, open_partition_log, config, was_clean):
        before = [bytes(batch) for batch in stored(filled)]
        if was_clean:
            filled.close()
        else:
            del filled
        log = open_partition_log(was_clean=was_clean, **config)
        assert [bytes(batch) for batch in stored(log)] == before
        assert log.log_end_offset == 30

    def test_recovery_makes_the_same_time_lookups(self, filled, open_partition_log, config, clock):
        targets = [clock.now_ms() - delta_ms for delta_ms in range(0, 1_100, 50)]
        before = [filled.offset_for_timestamp(target) for target in targets]
        log = open_partition_log(**config)
        assert [log.offset_for_timestamp(target) for target in targets] == before
        if log.magic == 1:
            assert [each[1] for each in before if each is not None][-1] == 0

    def test_a_damaged_message_is_cut_and_what_follows_goes(self, filled, open_partition_log, config):
        path = filled.segments[1].path
        base_offset = filled.segments[1].base_offset
        data = bytearray(path.read_bytes())
        first_size = len(next(batches_of_any_magic(data)))
        data[first_size + 20] ^= 1
        path.write_bytes(data)
        log = open_partition_log(**config)
        assert base_offset < log.log_end_offset <= base_offset + 3
        assert len(log.segments) == 2

    @pytest.mark.parametrize("offset", [3, 7, 15, 29])
    def test_truncation(self, filled, offset, clock):
        filled.truncate(offset)
        assert max(record.offset for record in records_of(filled)) < offset
        assert filled.log_end_offset == offset
        filled.append(messages(clock, filled.magic), 0, is_any_format=True)
        assert records_of(filled)[-1].offset == offset + 2

    def test_there_are_no_leader_epochs(self, filled, directory):
        filled.begin_leader_epoch(7)
        assert filled.latest_epoch == -1
        assert not (directory / "leader-epoch-checkpoint").exists()

    def test_an_unclean_stop_reads_no_more_than_needed(self, filled, open_partition_log, config, directory):
        first = filled.segments[0]
        filled.flush()
        index = (directory / file_name(first.base_offset, ".index")).read_bytes()
        marked = index + b"\0\0\0\x63\0\0\x0f\xff"
        (directory / file_name(first.base_offset, ".index")).write_bytes(marked)
        log = open_partition_log(**config, recovery_point=filled.recovery_point)
        assert log.log_end_offset == 30
        assert (directory / file_name(first.base_offset, ".index")).read_bytes() == marked


class TestUpgrade:
    def test_a_log_may_hold_all_formats(self, open_partition_log, topic_config, clock, make_batch):
        log = open_partition_log(message_format_version="0.9.0")
        log.append(messages(clock, 0), 0, is_any_format=True)
        log.update_config(topic_config(message_format_version="0.10.2"))
        log.append(messages(clock, 0), 0, is_any_format=True)
        log.update_config(topic_config())
        log.append(messages(clock, 1), 3, is_any_format=True)
        log.append(make_batch(3), 3)

        assert [batch[MAGIC_POSITION] for batch in stored(log)] == [0] * 3 + [1] * 3 + [2, 2]
        assert [record.offset for record in records_of(log)] == list(range(12))
        assert log.epochs.entries == ((3, 6),)
        again = open_partition_log()
        assert [record.offset for record in records_of(again)] == list(range(12))
        assert again.epochs.entries == ((3, 6),)

    def test_the_epochs_go_with_a_downgrade(self, open_partition_log, topic_config, make_batch, directory):
        log = open_partition_log()
        log.append(make_batch(1), 3)
        log.update_config(topic_config(message_format_version="0.10.2"))
        assert log.latest_epoch == -1
        assert not (directory / "leader-epoch-checkpoint").exists()
        log.close()
        reopened = open_partition_log(was_clean=True, message_format_version="0.10.2")
        assert not (directory / "leader-epoch-checkpoint").exists()
        assert reopened.log_end_offset == 1


class TestCompressionType:
    @pytest.mark.parametrize("sent", list(Codec), ids=lambda codec: codec.name)
    @pytest.mark.parametrize("wanted", CODEC_NAMES)
    def test_batches_are_kept_in_the_topics_codec(self, open_partition_log, make_batch, wanted, sent):
        log = open_partition_log(compression_type=wanted)
        for number in range(2):
            batch = make_batch(5, b"value" * 100, codec=sent)
            result = log.append(batch, leader_epoch=4)
            assert (result.error_code, result.base_offset, result.last_offset) == (0, 5 * number, 5 * number + 4)

        for number, batch in enumerate(stored(log)):
            header = read_header(batch)
            assert (header.codec, header.base_offset, header.leader_epoch) == (CODEC_NAMES[wanted], 5 * number, 4)
            assert is_any_crc_valid(batch)
        assert [record.offset for record in records_of(log)] == list(range(10))
        assert {record.value for record in records_of(log)} == {b"value" * 100}

    def test_a_batch_in_the_right_codec_stays_as_it_is(self, open_partition_log, make_batch):
        log = open_partition_log(compression_type="lz4")
        sent = bytes(make_batch(5, codec=Codec.LZ4))
        log.append(memoryview(bytearray(sent)), 0)
        (batch,) = stored(log)
        assert bytes(batch[16:]) == sent[16:]

    def test_producers_stay_known(self, open_partition_log, make_batch):
        log = open_partition_log(compression_type="gzip")
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        assert log.append(make_batch(5, **fields), 0).base_offset == 0
        repeated = log.append(make_batch(5, **fields), 0)
        assert (repeated.is_duplicate, repeated.base_offset) == (True, 0)
        late = log.append(make_batch(5, **{**fields, "base_sequence": 7}), 0)
        assert late.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert log.log_end_offset == 5

    def test_the_size_counts_after_recompression_too(self, open_partition_log, make_batch):
        packed = make_batch(5, b"v" * 1000, codec=Codec.GZIP)
        log = open_partition_log(compression_type="uncompressed", max_message_bytes=2000)
        result = log.append(packed, 0)
        assert (result.error_code, result.log_start_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
        small = open_partition_log(compression_type="uncompressed", segment_bytes=2000)
        assert small.append(make_batch(5, b"v" * 1000, codec=Codec.GZIP), 0).error_code == (
            ErrorCode.RECORD_LIST_TOO_LARGE
        )
        assert log.log_end_offset == small.log_end_offset == 0

    def test_with_the_append_time(self, open_partition_log, make_batch, clock):
        log = open_partition_log(compression_type="gzip", message_timestamp_type="LogAppendTime")
        result = log.append(make_batch(3, timestamp_ms=5), 0)
        assert result.append_time_ms == clock.now_ms()
        assert {record.timestamp_ms for record in records_of(log)} == {clock.now_ms()}
        assert log.offset_for_timestamp(clock.now_ms()) == (clock.now_ms(), 0, 0)

    def test_damaged_data_is_found_by_taking_it_apart(self, open_partition_log, make_batch):
        log = open_partition_log(compression_type="gzip")
        batch = make_batch(3, codec=Codec.LZ4)
        batch[-5:] = b"xxxxx"
        from barnabas.wire.records.batch import set_crc

        set_crc(batch, 0, len(batch))
        assert log.append(batch, 0).error_code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_RECORD)
        assert log.size_bytes == 0


def test_several_uncompressed_batches_become_one(open_partition_log, clock):
    log = open_partition_log()
    data = bytes(messages(clock, 1, 3))
    log.append(memoryview(bytearray(data)), 0, is_any_format=True)
    (batch,) = stored(log)
    header = read_any_header(batch)
    assert (header.magic, header.record_count, header.last_offset) == (2, 3, 2)


def test_an_old_client_without_a_whole_message_is_refused(log, clock):
    result = log.append(messages(clock, 1)[:20], 0, is_any_format=True)
    assert (result.error_code, result.base_offset, log.log_end_offset) == (ErrorCode.INVALID_RECORD, -1, 0)


def test_full_validation_puts_a_wrong_largest_timestamp_right(env, open_partition_log, clock):
    env.validates_records = True
    builder = BatchBuilder()
    builder.append(1_000, b"k", b"v")
    log = open_partition_log()
    log.append(memoryview(builder.build()), 0)
    assert log.active_segment.max_timestamp_ms == 1_000
