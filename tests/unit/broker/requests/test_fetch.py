"""Fetch over real logs: what is read, what is refused, and when an answer waits."""

import pytest

from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.log.retention import delete_segments
from barnabas.broker.requests.handlers import fetch
from barnabas.broker.requests.slices import SLICE_STEPS
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.records.batch import MAGIC_POSITION, batches, read_header
from tests.unit.broker.requests.conftest import batch, wanted
from tests.unit.broker.requests.conftest import fetch_request as request

NO_FLEXIBLE = 11
DIVERGING = 12


@pytest.fixture
def path(data_path):
    data_path.create("t")
    return data_path


def offsets(data):
    return [read_header(each).base_offset for each in batches(bytearray(data.records))]


def test_what_was_produced_is_read(path):
    path.produce("t", batch(2))
    path.produce("t", batch(3))
    data = path.fetch("t")
    assert (data.error_code, data.high_watermark, data.last_stable_offset, data.log_start_offset) == (0, 5, 5, 0)
    assert offsets(data) == [0, 2]


def test_a_read_begins_with_the_batch_that_holds_the_offset(path):
    path.produce("t", batch(2))
    path.produce("t", batch(3))
    assert offsets(path.fetch("t", 3)) == [2]


@pytest.mark.parametrize("version", range(4, fetch.HANDLER.max_version + 1))
def test_every_version_reads(path, version):
    path.produce("t", batch(2))
    assert offsets(path.fetch("t", version=version)) == [0]


def test_at_the_end_there_is_nothing_to_read(path):
    path.produce("t", batch(2))
    data = path.fetch("t", 2)
    assert (data.error_code, data.high_watermark, bytes(data.records)) == (0, 2, b"")


@pytest.mark.parametrize("offset", [-1, 3, 1 << 62])
def test_offsets_outside_of_the_log_are_refused(path, offset):
    path.produce("t", batch(2))
    data = path.fetch("t", offset)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)
    assert bytes(data.records) == b""


def test_offsets_below_the_log_start_are_refused(path):
    path.produce("t", batch(2))
    path.log("t").log_start_offset = 1
    assert path.fetch("t", 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert path.fetch("t", 1).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("topic", "index"), [("unknown", 0), ("t", 1), ("t", -1)])
def test_unknown_partitions_are_refused(path, topic, index):
    made = request(wanted(partition=index), topics=[topic], max_wait_ms=1_000, max_bytes=100)
    # An error is an answer: it does not wait.
    data = path.fetched(path.begin(fetch.HANDLER, NO_FLEXIBLE, made))
    assert (data.partition_index, data.error_code) == (index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert data.high_watermark == -1


def test_consumers_read_below_the_high_watermark(path):
    path.produce("t", batch(2))
    path.produce("t", batch(2))
    path.partition("t").high_watermark = 2
    data = path.fetch("t")
    assert (offsets(data), data.high_watermark) == ([0], 2)
    # Above the high watermark and within the log: nothing, without an error.
    data = path.fetch("t", 3)
    assert (data.error_code, bytes(data.records)) == (0, b"")


# --- limits


def test_the_first_batch_comes_whole_however_large(path):
    path.produce("t", batch(1, b"x" * 5_000))
    path.produce("t", batch(1, b"x" * 5_000))
    data = path.fetch("t", max_bytes=10, total=10)
    assert offsets(data) == [0]
    assert len(data.records) > 5_000


def test_only_the_first_partition_with_data_may_go_beyond_the_limits(path):
    path.create("u")
    path.produce("t", batch(1, b"x" * 5_000))
    path.produce("u", batch(1, b"x" * 5_000))
    made = request(wanted(), topics=["t", "u"], max_bytes=100)
    first, second = path.call(fetch.HANDLER, NO_FLEXIBLE, made).responses
    assert offsets(first.partitions[0]) == [0]
    assert bytes(second.partitions[0].records) == b""
    assert second.partitions[0].high_watermark == 1


def test_partitions_are_read_up_to_their_own_limit(path):
    for _ in range(3):
        path.produce("t", batch(1, b"x" * 1_000))
    assert offsets(path.fetch("t", max_bytes=2_500)) == [0, 1]


def test_what_is_small_is_copied_up_to_a_bound_and_the_rest_is_slices_of_files(path):
    names = ("t", "u", "v", "w")
    for name in names:
        if name != "t":
            path.create(name)
        path.produce(name, batch(1, b"x" * (20_000 if name == "u" else 9_000)))
    made = request(wanted(), topics=names, max_bytes=1 << 20)
    answer = path.begin(fetch.HANDLER, NO_FLEXIBLE, made)
    kinds = [type(topic.partitions[0].records) for topic in answer.responses]
    assert kinds == [bytes, FileSlice, FileSlice, FileSlice]
    # Before version 10 records may have to be converted, from files.
    old = path.begin(fetch.HANDLER, 9, made)
    assert {type(topic.partitions[0].records) for topic in old.responses} == {FileSlice}


def test_negative_limits_read_one_batch(path):
    path.produce("t", batch())
    path.produce("t", batch())
    assert offsets(path.fetch("t", max_bytes=-1, total=-1)) == [0]


# --- waiting


def test_a_fetch_waits_for_data(path):
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, path.fetch_request("t", wait_ms=500))
    assert not pending.is_done
    path.produce("t", batch(2))
    assert offsets(path.fetched(pending)) == [0]


def test_a_fetch_waits_for_data_that_flush_messages_wants_on_disk(path):
    path.create("u", flush_messages=1)
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, path.fetch_request("u", wait_ms=500))
    path.writing.is_holding = True
    answer = path.replicas.append(TopicPartition("u", 0), batch(2), 1, 1_000)
    path.run_due()
    assert (answer.is_done, pending.is_done) == (False, False)
    path.writing.run_all()
    assert answer.is_done
    assert offsets(path.fetched(pending)) == [0]


def test_a_fetch_that_waited_long_enough_is_answered_empty(path):
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, path.fetch_request("t", wait_ms=500))
    path.clock.advance(499)
    assert not pending.is_done
    path.clock.advance(1)
    assert bytes(path.fetched(pending).records) == b""


def test_a_fetch_waits_for_min_bytes(path):
    path.produce("t", batch(1, b"x" * 100))
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, request(wanted(), min_bytes=500, max_wait_ms=500))
    assert not pending.is_done
    path.produce("t", batch(1, b"x" * 100))
    path.run_due()
    assert not pending.is_done
    path.produce("t", batch(1, b"x" * 400))
    assert offsets(path.fetched(pending)) == [0, 1, 2]


def waits(path, *partitions, **changes):
    """Whether a fetch of a great many bytes is not answered at once; then its pending answer."""
    made = request(*partitions, min_bytes=1 << 20, max_wait_ms=30_000, **changes)
    answer = path.begin(fetch.HANDLER, NO_FLEXIBLE, made)
    return None if not isinstance(answer, Pending) or answer.is_done else answer


def test_what_an_older_segment_holds_is_not_waited_for(path):
    path.produce("t", batch())
    path.produce("t", batch())
    assert waits(path, wanted(0))
    path.log("t").roll()
    assert not waits(path, wanted(0))
    assert waits(path, wanted(2))
    path.produce("t", batch())
    assert not waits(path, wanted(1))
    assert waits(path, wanted(2))
    assert waits(path, wanted(3))


def test_one_partition_in_an_older_segment_is_enough(path):
    path.create("u")
    for _ in range(2):
        path.produce("u", batch())
        path.log("u").roll()
    made = request(wanted(), topics=["t", "u"], max_wait_ms=30_000, min_bytes=1 << 20)
    first, second = path.call(fetch.HANDLER, NO_FLEXIBLE, made).responses
    assert bytes(first.partitions[0].records) == b""
    assert offsets(second.partitions[0]) == [0]


def test_a_segment_that_ends_while_a_fetch_waits_in_it_ends_the_wait(path):
    path.produce("t", batch())
    in_it, at_its_end = (waits(path, wanted(offset)) for offset in (0, 1))
    path.log("t").roll()
    path.produce("t", batch())
    for pending, found in ((in_it, [0]), (at_its_end, [1])):
        assert offsets(path.fetched(pending)) == found


def test_a_committed_read_waits_within_the_segment_of_the_last_stable_offset(path):
    path.produce("t", batch())
    path.produce("t", batch())
    path.log("t").roll()
    path.produce("t", batch())
    path.log("t").producers.first_unstable_offset = 1
    assert waits(path, wanted(0), isolation_level=1)
    assert not waits(path, wanted(0))
    path.log("t").producers.first_unstable_offset = 2
    assert not waits(path, wanted(0), isolation_level=1)


def test_a_reader_in_a_later_segment_than_the_end_is_answered(path):
    path.produce("t", batch())
    path.log("t").roll()
    path.produce("t", batch())
    path.partition("t").high_watermark = 0
    assert not waits(path, wanted(2)), "as after a cut of the log"
    assert waits(path, wanted(0)), "at the high watermark"


def test_a_reader_in_a_gap_at_the_end_waits(path):
    path.produce("t", batch())
    path.produce("t", batch())
    log = path.log("t")
    log.roll()
    # As compaction leaves it: nothing from offset 1 on, and the segment that follows is empty.
    log.segments[0].truncate_at(log.segments[0].size // 2, 1)
    assert offsets(path.fetch("t", 0)) == [0]
    pending = waits(path, wanted(1))
    path.produce("t", batch())
    path.run_due()
    assert not pending.is_done, "it waits in the segment that its data is in"


def test_more_min_bytes_than_max_bytes_are_no_reason_to_wait(path):
    path.produce("t", batch(1, b"x" * 1_000))
    made = request(wanted(), min_bytes=1 << 30, max_bytes=500, max_wait_ms=500)
    assert offsets(path.fetched(path.begin(fetch.HANDLER, NO_FLEXIBLE, made))) == [0]


def test_a_fetch_without_partitions_is_answered_at_once(path):
    assert path.call(fetch.HANDLER, NO_FLEXIBLE, FetchRequest(max_wait_ms=500, min_bytes=1)).responses == []


def test_a_fetch_that_waits_is_answered_when_the_partition_goes(path):
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, path.fetch_request("t", wait_ms=500))
    path.stop_replica("t", is_deleted=True)
    assert path.fetched(pending).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_who_left_is_forgotten(path):
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, path.fetch_request("t", wait_ms=500))
    assert len(path.services.fetches) == 1
    pending.cancel()
    assert len(path.services.fetches) == 0
    path.produce("t", batch())
    path.run_due()
    assert path.errors == []


def test_a_partition_that_is_named_again_is_read_once_as_it_was_asked_for_last(path):
    path.produce("t", batch())
    path.produce("t", batch())
    again = [*[wanted(offset=7)] * 1_000, wanted(offset=1)]
    data = path.fetched(path.begin(fetch.HANDLER, NO_FLEXIBLE, request(*again)))
    assert (data.error_code, data.records) == (0, path.fetch("t", 1).records)


def test_a_partition_that_is_named_again_is_waited_for(path):
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, request(*[wanted()] * 1_000, max_wait_ms=500))
    path.run_due()
    assert not pending.is_done
    path.produce("t", batch())
    assert path.fetched(pending).records


# --- epochs


@pytest.mark.parametrize(
    ("epoch", "error_code"),
    [
        (-1, ErrorCode.NONE),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, ErrorCode.NONE),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_leader_epoch_is_checked(path, epoch, error_code):
    path.produce("t", batch())
    made = request(wanted(current_leader_epoch=epoch))
    assert path.fetched(path.begin(fetch.HANDLER, NO_FLEXIBLE, made)).error_code == error_code


def test_who_does_not_lead_answers_only_those_who_know_of_followers(path):
    path.produce("t", batch())
    path.partition("t").resign(leader=2, leader_epoch=5)
    assert path.fetch("t", version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert offsets(path.fetch("t", version=11)) == [0]
    answer = path.fetched(path.begin(fetch.HANDLER, NO_FLEXIBLE, request(wanted(), replica_id=3)))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "replicas follow the leader"


@pytest.mark.parametrize(("epoch", "error_code"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, 75), (5, 6)])
def test_the_leader_epoch_is_checked_before_who_leads(path, epoch, error_code):
    path.partition("t").resign(leader=2, leader_epoch=5)
    made = request(wanted(current_leader_epoch=epoch))
    assert path.fetched(path.begin(fetch.HANDLER, 10, made), 10).error_code == error_code


def fetch_after(path, offset, last_fetched_epoch):
    made = request(wanted(offset, last_fetched_epoch=last_fetched_epoch), max_wait_ms=500)
    return path.fetched(path.begin(fetch.HANDLER, DIVERGING, made), DIVERGING)


def test_a_reader_with_the_same_history_reads_on(path):
    path.produce("t", batch(2))
    data = fetch_after(path, 0, 1)
    assert (data.error_code, data.diverging_epoch.epoch) == (0, -1)
    assert offsets(data) == [0]


def test_a_reader_beyond_the_end_of_its_epoch_is_told_where_that_ended(path):
    """Also where the offset lies outside of this log: the log was cut, and the reader must go back, not begin anew."""
    path.produce("t", batch(2))
    data = fetch_after(path, 5, 1)
    assert data.error_code == ErrorCode.NONE
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (1, 2)
    assert (data.high_watermark, bytes(data.records)) == (2, b"")


def test_a_reader_below_the_log_is_out_of_range_whatever_its_history(path):
    path.produce("t", batch(2))
    path.log("t").log_start_offset = 1
    assert fetch_after(path, 0, 9).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    path.partition("t").leader_epoch = 3
    path.produce("t", batch(2))
    assert fetch_after(path, 0, 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch_after(path, 3, 2).diverging_epoch.end_offset == 2


def test_a_reader_of_an_epoch_that_nobody_knows_is_out_of_range(path):
    path.produce("t", batch(2))
    data = fetch_after(path, 0, 9)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.log_start_offset) == (-1, -1)


def test_what_is_no_batch_on_disk_is_an_error_of_the_partition(path):
    for _ in range(200):
        path.produce("t", batch())
    (file,) = path.log("t").directory.glob("*.log")
    with file.open("r+b") as opened:
        opened.seek(10 * (file.stat().st_size // 200) + MAGIC_POSITION)
        opened.write(b"\x09")
    assert path.fetch("t", 15, max_bytes=100).error_code == ErrorCode.CORRUPT_MESSAGE
    assert path.fetch("t", 199).error_code == ErrorCode.NONE
    assert path.errors == []


@pytest.mark.parametrize("is_large", [False, True])
def test_of_fetches_that_keep_long_names_the_longest_waiting_is_answered(path, is_large):
    path.services.fetches.most_bytes = 5_000_000
    asked = request(wanted(), max_wait_ms=2**31 - 1)
    asked.topics += [FetchTopic(f"{number}" + "x" * 30_000, partitions=[FetchPartition(0)]) for number in range(20)]
    first, second, third = (path.begin(fetch.HANDLER, NO_FLEXIBLE, asked, is_large=is_large) for _ in range(3))
    path.run_due()
    assert (first.is_done, second.is_done, third.is_done) == (True, False, False)
    codes = {each.topic[:1]: each.partitions[0].error_code for each in first.value.responses}
    assert codes["t"] == 0
    assert codes["0"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    path.produce("t", batch())
    path.run_due()
    assert second.is_done
    assert third.is_done
    assert path.services.fetches.kept_bytes == path.kept_frames == 0


def test_a_segment_that_is_deleted_between_two_slices_of_a_fetch_is_still_read(path):
    path.produce("t", batch())
    path.log("t").roll()
    path.produce("t", batch())
    topics = ["t", *(f"unknown-{number}" for number in range(SLICE_STEPS))]
    asked = request(wanted(), topics=topics, max_wait_ms=1_000, min_bytes=1_000_000)
    pending = path.begin(fetch.HANDLER, NO_FLEXIBLE, asked, is_large=True)
    while not path.partition("t").counts.fetch_requests:
        path.run_one_turn()
    assert not pending.is_done
    delete_segments(path.log("t"), 1)
    data = path.finish(fetch.HANDLER, NO_FLEXIBLE, pending).responses[0].partitions[0]
    # At once: more records would be in the next segment.
    assert (data.error_code, offsets(data)) == (ErrorCode.NONE, [0])
