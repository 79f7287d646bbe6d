"""Produce where preparing takes long: order, what may change meanwhile, and that everybody is answered."""

import contextlib
import gc
from collections.abc import Iterator

import pytest

from barnabas.broker.log import partition_log
from barnabas.broker.log.appends.record_validation import AT_ONCE_BYTES
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.retention import delete_segments
from barnabas.broker.replicas import append_queues
from barnabas.broker.requests.handlers import produce
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import UnanswerableError
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.records import precheck
from barnabas.wire.records.batch import Codec, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.replacing import replaces
from tests.unit.broker.requests.conftest import produce_request

NEWEST = 8
LONG_COUNT = 1_000  # more than the loop prepares itself


def batch(count=1, codec=Codec.NONE, **producer):
    builder = BatchBuilder(codec, **producer)
    for _ in range(count):
        builder.append(1_600_000_000_000, b"key", b"value" * 5)
    return builder.build()


def messages(count, magic=1, codec=Codec.NONE):
    builder = MessageSetBuilder(magic, codec)
    for offset in range(count):
        builder.append(offset, 1_600_000_000_000, b"key", b"value" * 5)
    return builder.build()


@pytest.fixture
def path(data_path):
    """A topic whose batches are looked into, and preparing that waits for the test."""
    data_path.create("t", cleanup_policy="compact", max_message_bytes=10_000_000)
    data_path.preparing.is_holding = True
    return data_path


def begin(path, records, *, version=NEWEST, acks=1, topic="t"):
    pending = path.begin(produce.HANDLER, version, produce_request({topic: records}, acks))
    assert isinstance(pending, Pending)
    return pending


def said(pending):
    (topic,) = pending.value.responses
    (answer,) = topic.partition_responses
    return answer.error_code, answer.base_offset


@contextlib.contextmanager
def garbage() -> Iterator[list[object]]:
    """Nothing is collected within; what a collection at the end finds is in the list afterwards."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.garbage.clear()


def test_a_long_append_is_prepared_elsewhere(path):
    appended = begin(path, batch(LONG_COUNT))
    assert not appended.is_done
    assert (path.log("t").log_end_offset, path.kept_frames) == (0, 1)

    path.preparing.run_next()

    assert said(appended) == (0, 0)
    assert (path.log("t").log_end_offset, path.kept_frames) == (LONG_COUNT, 0)


@pytest.mark.parametrize("acks", [0, 1])
def test_what_was_received_goes_without_a_collection(path, acks):
    # Compiled, functions within a generator hold each other, and the frame: those of 50 MB stayed until the collector
    # ran, which counts objects and not bytes.
    records = batch(LONG_COUNT)
    with garbage() as found:
        appended = begin(path, records, acks=acks)
        path.preparing.run_next()
        assert appended.is_done
        del appended
    assert [each for each in found if isinstance(each, memoryview) and len(each) >= len(records)] == []
    assert path.log("t").log_end_offset == LONG_COUNT


def test_nothing_of_an_answered_request_is_garbage(path):
    request = produce_request({"t": batch(1)})
    path.begin(produce.HANDLER, NEWEST, request)
    with garbage() as found:
        assert path.begin(produce.HANDLER, NEWEST, request).responses[0].partition_responses[0].error_code == 0
    assert [type(each).__name__ for each in found] == []


def test_two_long_appends_of_a_request_are_answered_together(path):
    path.create("u", cleanup_policy="compact", max_message_bytes=10_000_000)
    request = produce_request(dict.fromkeys(("t", "u"), batch(LONG_COUNT)))
    appended = path.begin(produce.HANDLER, NEWEST, request)

    path.preparing.run_next()
    assert not appended.is_done
    assert path.kept_frames > 0

    path.preparing.run_next()
    assert [topic.partition_responses[0].error_code for topic in appended.value.responses] == [0, 0]
    assert [path.log(name).log_end_offset for name in ("t", "u")] == [LONG_COUNT, LONG_COUNT]
    assert path.kept_frames == 0


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_is_small_but_unpacks_to_much_is_long(path, codec):
    builder = BatchBuilder(codec)
    builder.append(1_600_000_000_000, b"key", bytes(200_000))
    records = builder.build()
    assert len(records) < 32_000

    appended = begin(path, records)
    path.preparing.run_next()

    assert said(appended) == (0, 0)


def test_what_nobody_looks_into_is_never_long(path):
    path.create("plain", max_message_bytes=10_000_000)
    assert path.produce("plain", batch(LONG_COUNT, Codec.ZSTD)).error_code == 0
    assert not path.preparing.waiting_count


def test_short_appends_wait_behind_a_long_one(path):
    path.create("other", cleanup_policy="compact")
    long = begin(path, batch(LONG_COUNT))
    short = [begin(path, batch(count)) for count in (1, 2, 3, 1, 1, 1)]
    assert path.produce("other", batch()).base_offset == 0
    assert path.preparing.waiting_count == 1

    path.preparing.run_next()

    assert said(long) == (0, 0)
    assert [said(each)[1] - LONG_COUNT for each in short] == [0, 1, 3, 6, 7, 8]
    assert path.kept_frames == 0


def test_long_appends_are_prepared_one_after_the_other(path):
    first, second = begin(path, batch(LONG_COUNT)), begin(path, batch(LONG_COUNT))
    assert path.preparing.waiting_count == 1
    path.preparing.run_next()
    assert (said(first), second.is_done) == ((0, 0), False)
    path.preparing.run_next()
    assert said(second) == (0, LONG_COUNT)


def test_a_repeated_batch_that_comes_while_the_first_is_prepared_is_a_duplicate(path):
    records = batch(LONG_COUNT, producer_id=7, producer_epoch=0, base_sequence=0)
    first, again = begin(path, records), begin(path, records)
    next_one = begin(path, batch(1, producer_id=7, producer_epoch=0, base_sequence=LONG_COUNT))
    path.preparing.run_all()

    assert [said(each) for each in (first, again, next_one)] == [(0, 0), (0, 0), (0, LONG_COUNT)]
    assert path.log("t").log_end_offset == LONG_COUNT + 1


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_old_messages_are_numbered_for_the_place_that_they_get(path, magic, codec):
    path.create("old", message_format_version="0.9.0" if magic == 0 else "0.10.0", max_message_bytes=10_000_000)
    first = begin(path, messages(LONG_COUNT, magic, codec), version=2, topic="old")
    second = begin(path, messages(LONG_COUNT, magic, codec), version=2, topic="old")
    path.preparing.run_all()

    assert [said(each) for each in (first, second)] == [(0, 0), (0, LONG_COUNT)]
    log = path.log("old")
    assert log.log_end_offset == 2 * LONG_COUNT
    last = log.read(2 * LONG_COUNT - 1, 1 << 20, log.log_end_offset)
    assert last is not None


class TestMeanwhile:
    """What may happen while an append is prepared."""

    def test_a_newer_leader_epoch_refuses_what_came_before(self, path):
        waiting = [begin(path, batch(LONG_COUNT)), begin(path, batch())]
        path.create("t", cleanup_policy="compact")  # leads again, in the next epoch
        path.preparing.run_all()

        assert [said(each) for each in waiting] == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)] * 2
        assert path.log("t").log_end_offset == 0
        assert path.produce("t", batch()).error_code == 0

    def test_another_leader(self, path):
        waiting = begin(path, batch(LONG_COUNT))
        path.follow("t")
        path.preparing.run_all()
        assert said(waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    def test_the_partition_goes(self, path):
        waiting = [begin(path, batch(LONG_COUNT)), begin(path, batch())]
        log = path.log("t")
        path.stop_replica("t", is_deleted=True)
        path.preparing.run_all()

        assert [said(each)[0] for each in waiting] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
        assert log.log_end_offset == 0

    def test_the_log_is_closed(self, path):
        waiting = begin(path, batch(LONG_COUNT))
        path.log("t").close()
        path.preparing.run_all()
        assert said(waiting) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)

    def test_the_log_is_cut(self, path):
        path.create("old", message_format_version="0.10.0", max_message_bytes=10_000_000)
        path.preparing.is_holding = False
        assert path.produce("old", messages(3), 2).error_code == 0
        path.preparing.is_holding = True
        waiting = begin(path, messages(LONG_COUNT), version=2, topic="old")
        path.log("old").truncate(1)
        path.preparing.run_all()

        assert said(waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        assert path.log("old").log_end_offset == 1

    def test_the_settings_change(self, path):
        """What has begun ends by the settings that it began with; what waits behind it goes by the new ones."""
        first, second = begin(path, batch(LONG_COUNT)), begin(path, batch(2, Codec.LZ4))
        path.log("t").update_config(path.topic_config("t").with_overrides({"compression.type": "gzip"}))
        path.preparing.run_all()

        assert [said(each) for each in (first, second)] == [(0, 0), (0, LONG_COUNT)]
        (kept, rewritten) = path.log("t").batches(0, LONG_COUNT + 2)
        assert (read_header(kept).codec, read_header(rewritten).codec) == (Codec.NONE, Codec.GZIP)

    def test_a_segment_becomes_too_small(self, path):
        waiting = begin(path, batch(LONG_COUNT))
        path.log("t").update_config(path.topic_config("t").with_overrides({"segment.bytes": "1000"}))
        path.preparing.run_all()
        assert said(waiting) == (ErrorCode.RECORD_LIST_TOO_LARGE, -1)

    def test_the_disk_fails(self, path):
        waiting = begin(path, batch(LONG_COUNT))
        path.disk.free_bytes = 0
        path.preparing.run_all()
        assert said(waiting) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)

    @replaces("barnabas.broker.log.appends.record_validation")
    def test_preparing_raises(self, path, monkeypatch, caplog):
        waiting = [begin(path, batch(LONG_COUNT)), begin(path, batch())]
        whole = precheck.needs_no_walk

        def broken(records, *args):
            if len(records) > AT_ONCE_BYTES:
                raise RuntimeError("a bug")
            return whole(records, *args)

        monkeypatch.setattr(precheck, "needs_no_walk", broken)
        path.preparing.run_all()

        assert [said(each) for each in waiting] == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1), (0, 0)]
        assert "a bug" in caplog.text

    def test_very_many_wait_already(self, path, monkeypatch):
        """Whoever leaves and comes again can't have ever more of them wait."""
        monkeypatch.setattr(append_queues, "MOST_WAITING", 2)
        waiting = [begin(path, batch(LONG_COUNT)), begin(path, batch())]
        assert path.produce("t", batch()).error_code == ErrorCode.REQUEST_TIMED_OUT
        path.preparing.run_all()
        assert [said(each) for each in waiting] == [(0, 0), (0, LONG_COUNT)]
        assert path.produce("t", batch()).base_offset == LONG_COUNT + 1
        # Who has his answer waits no longer.
        late = begin(path, batch(LONG_COUNT))
        path.preparing.run_all()
        assert said(late) == (0, LONG_COUNT + 2)

    def test_the_broker_stops(self, path):
        waiting = [begin(path, batch(LONG_COUNT)), begin(path, batch())]
        path.replicas.stop_appends()
        assert [said(each) for each in waiting] == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)] * 2
        path.preparing.run_all()
        assert path.log("t").log_end_offset == 0
        assert path.produce("t", batch(LONG_COUNT)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    def test_a_broker_that_stops_appends_nothing_short_either(self, path):
        """A large request may be decoded only then; the logs are being closed."""
        path.replicas.stop_appends()
        assert path.produce("t", batch()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert path.log("t").log_end_offset == 0

    @replaces("barnabas.broker.replicas.partition")
    def test_an_append_to_another_partition_raises(self, path, monkeypatch, caplog):
        """It fails alone, and the request's bytes are kept no longer than those of others."""
        path.create("u", cleanup_policy="compact")
        prepare = PartitionLog.prepare

        def broken(log, *args):
            if log.topic_partition.topic == "u":
                raise MemoryError
            return prepare(log, *args)

        monkeypatch.setattr(PartitionLog, "prepare", broken)
        request = produce_request(dict.fromkeys(("t", "u"), batch(LONG_COUNT)))
        waiting = path.begin(produce.HANDLER, NEWEST, request)
        path.preparing.run_all()
        answered = [topic.partition_responses[0].error_code for topic in waiting.value.responses]
        assert answered == [ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR]
        assert (path.log("t").log_end_offset, path.kept_frames) == (LONG_COUNT, 0)
        assert "an append to u-0 failed" in caplog.text

    def test_the_client_leaves(self, path):
        waiting = begin(path, batch(LONG_COUNT))
        waiting.cancel()
        path.preparing.run_all()
        assert (path.log("t").log_end_offset, path.kept_frames) == (LONG_COUNT, 0)


def test_a_refusal_in_the_executor_is_the_usual_one(path):
    builder = BatchBuilder()
    for _ in range(LONG_COUNT):
        builder.append(1_600_000_000_000, None, b"value" * 5)
    waiting = begin(path, builder.build())
    path.preparing.run_all()

    (topic,) = waiting.value.responses
    assert topic.partition_responses[0].error_code == ErrorCode.INVALID_RECORD
    assert len(topic.partition_responses[0].record_errors) == LONG_COUNT


def test_without_acks_the_connection_waits_for_the_append(path):
    waiting = begin(path, batch(LONG_COUNT), acks=0)
    assert not waiting.is_done
    path.preparing.run_all()
    assert waiting.value is None
    assert path.log("t").log_end_offset == LONG_COUNT


def test_without_acks_an_error_closes_the_connection(path):
    waiting = begin(path, batch(LONG_COUNT), acks=0)
    path.follow("t")
    path.preparing.run_all()
    with pytest.raises(UnanswerableError):
        _ = waiting.value


def test_the_answer_waits_for_the_flush_too(make_data_path):
    path = make_data_path(log_flush_interval_messages="1")
    path.create("t", cleanup_policy="compact", max_message_bytes=10_000_000)
    path.preparing.is_holding = True
    waiting = begin(path, batch(LONG_COUNT))
    path.preparing.run_all()
    assert said(waiting) == (0, 0)
    assert path.log("t").recovery_point == LONG_COUNT


def test_own_appends_wait_their_turn(path):
    client = begin(path, batch(LONG_COUNT))
    own = path.replicas.append(TopicPartition("t", 0), batch(2), -1, 1_000)
    assert not own.is_done
    path.preparing.run_all()
    assert said(client) == (0, 0)
    assert (own.value.error_code, own.value.base_offset) == (0, LONG_COUNT)


def test_several_partitions_are_answered_together(path):
    path.create("plain", max_message_bytes=10_000_000)
    request = produce_request({"plain": batch(1), "t": batch(LONG_COUNT), "absent": batch(1)})
    waiting = path.begin(produce.HANDLER, NEWEST, request)
    assert path.log("plain").log_end_offset == 1
    path.preparing.run_all()
    assert [
        (topic.name, each.error_code, each.base_offset)
        for topic in waiting.value.responses
        for each in topic.partition_responses
    ] == [("plain", 0, 0), ("t", 0, 0), ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]


class TestWrittenAhead:
    """What is large is written in an executor, too, and placed when that is done."""

    @pytest.fixture
    def path(self, data_path, monkeypatch):
        monkeypatch.setattr(partition_log, "LARGE_BYTES", 10_000)
        data_path.create("t", max_message_bytes=10_000_000)
        assert data_path.produce("t", batch()).base_offset == 0
        data_path.writing.is_holding = True
        return data_path

    def bytes_in_file(self, path, topic="t"):
        return path.log(topic).active_segment.path.stat().st_size

    def test_nobody_sees_it_before_it_is_placed(self, path):
        log, large = path.log("t"), batch(LONG_COUNT)
        size = log.size_bytes
        waiting, behind = begin(path, large), begin(path, batch(2))
        assert (waiting.is_done, log.log_end_offset, log.size_bytes) == (False, 1, size)

        path.writing.run_all()

        assert [said(each) for each in (waiting, behind)] == [(0, 1), (0, 1 + LONG_COUNT)]
        assert log.log_end_offset == LONG_COUNT + 3
        assert log.size_bytes == self.bytes_in_file(path) == size + len(large) + len(batch(2))
        assert [read_header(each).base_offset for each in log.batches(0, 5_000)] == [0, 1, 1 + LONG_COUNT]

    @pytest.mark.parametrize("magic", [0, 1])
    def test_old_messages(self, path, magic):
        path.writing.is_holding = False
        path.create("old", message_format_version="0.9.0" if magic == 0 else "0.10.0", max_message_bytes=10_000_000)
        path.writing.is_holding = True
        waiting = [begin(path, messages(LONG_COUNT, magic), version=2, topic="old") for _ in range(2)]
        path.writing.run_all()
        assert [said(each) for each in waiting] == [(0, 0), (0, LONG_COUNT)]
        assert path.log("old").size_bytes == self.bytes_in_file(path, "old") == 2 * len(messages(LONG_COUNT, magic))

    def test_a_repeated_batch_is_a_duplicate(self, path):
        records = batch(LONG_COUNT, producer_id=7, producer_epoch=0, base_sequence=0)
        waiting = [begin(path, records), begin(path, records)]
        path.writing.run_all()
        assert [said(each) for each in waiting] == [(0, 1), (0, 1)]
        assert path.log("t").log_end_offset == 1 + LONG_COUNT

    def test_the_disk_fails_half_way(self, path):
        size = self.bytes_in_file(path)
        waiting = begin(path, batch(LONG_COUNT))
        log = path.log("t")
        path.disk.free_bytes = 5_000
        path.writing.run_all()
        assert said(waiting) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert (log.log_end_offset, log.active_segment.path.stat().st_size) == (1, size)

    def refused(self, path, change):
        """What becomes of a large append while which something changes."""
        log, size = path.log("t"), self.bytes_in_file(path)
        waiting = begin(path, batch(LONG_COUNT))
        change()
        path.writing.run_all()
        assert log.log_end_offset == 1
        assert [each.stat().st_size for each in log.directory.parent.glob("t-0*/*0.log")] == [size]
        return said(waiting)[0]

    def test_another_leader(self, path):
        assert self.refused(path, lambda: path.follow("t")) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    def test_a_newer_leader_epoch(self, path):
        """The next batch is of that epoch, which began where this one would have stood."""
        again = lambda: path.create("t", max_message_bytes=10_000_000)  # noqa: E731
        assert self.refused(path, again) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        path.writing.is_holding = False
        assert path.produce("t", batch()).base_offset == 1
        assert len(list(path.log("t").batches(0, 10))) == 2

    def test_the_broker_stops(self, path):
        assert self.refused(path, path.replicas.stop_appends) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    def test_the_partition_goes(self, path):
        goes = lambda: path.stop_replica("t", is_deleted=True)  # noqa: E731
        assert self.refused(path, goes) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def test_a_partition_that_was_stopped_and_comes_back_waits_for_it(self, path):
        first = begin(path, batch(LONG_COUNT))
        path.stop_replica("t", is_deleted=False)
        path.create("t", max_message_bytes=10_000_000)
        second = begin(path, batch(2))
        path.writing.run_all()
        assert [said(first)[0] != 0, said(second)] == [True, (0, 1)]
        assert [read_header(each).record_count for each in path.log("t").batches(0, 10)] == [1, 2]

    def test_all_segments_go_only_after_it(self, path):
        """Retention would begin a new segment, and what is being written would end up behind it."""
        log = path.log("t")
        delete_segments(log, 1)
        waiting = begin(path, batch(LONG_COUNT))
        path.writing.run_all()
        assert said(waiting) == (0, 1)
        assert (log.log_start_offset, len(log.segments)) == (0, 1)

    def test_a_log_is_settled_once_it_is_placed(self, path):
        begin(path, batch(LONG_COUNT))
        settled = path.log("t").settled()
        assert not settled.is_done
        path.writing.run_all()
        assert settled.is_done
        assert path.log("t").log_end_offset == 1 + LONG_COUNT

    def test_after_a_kill_the_log_ends_where_it_did_or_behind_it(self, path):
        log = path.log("t")
        begin(path, batch(LONG_COUNT))
        file, size = log.active_segment.path, self.bytes_in_file(path)
        path.writing.run_all()
        whole = file.read_bytes()
        for kept in (size + 1, size + 5_000, len(whole) - 1, len(whole)):
            file.write_bytes(whole[:kept])
            path.disk.kill()
            path.writing.is_holding = False
            path.start()
            expected = 1 + LONG_COUNT if kept == len(whole) else 1
            assert path.log("t").log_end_offset == expected
