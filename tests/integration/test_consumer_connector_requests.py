"""What an old consumer asks brokers for, as its settings say, and what it does when they refuse or do not answer."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from barnabas.api import ConsumerConnector
from barnabas.api.connector import OffsetCommitError
from barnabas.api.errors import ClosedError
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.testing import ReceivedRequest
from tests.integration.old_group import Site
from tests.patience import PATIENCE_S, until

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def name(site: Site) -> str:
    """Of a topic and a group that no other test has; ten messages are in its one partition."""
    name = f"test{next(_NUMBERS)}"
    site.create(name, 1)
    site.write(name, range(10), 1)
    return name


def connector(site: Site, group_id: str, **others: object) -> ConsumerConnector:
    config = {"zookeeper.connect": site.connect, "group.id": group_id, "auto.offset.reset": "smallest"}
    return ConsumerConnector({**config, **{name.replace("_", "."): value for name, value in others.items()}})


def test_a_fetch_is_what_the_settings_say(site: Site, name: str) -> None:
    others = {"fetch_wait_max_ms": 77, "fetch_min_bytes": 3, "fetch_message_max_bytes": 5_000, "client_id": "me"}
    with site.broker.on("Fetch", topic=name).watch() as seen, connector(site, name, **others) as consumer:
        next(consumer.create_message_streams({name: 1})[name][0])
    request = seen.requests[0]
    message = request.message
    assert (request.client_id, message.max_wait_ms, message.min_bytes, message.max_bytes) == ("me", 77, 3, 5_000)
    assert message.topics[0].partitions[0].partition_max_bytes == 5_000


def test_the_clients_name_is_the_groups_where_none_is_given(site: Site, name: str) -> None:
    with site.broker.on("Fetch", topic=name).watch() as seen, connector(site, name) as consumer:
        next(consumer.create_message_streams({name: 1})[name][0])
    assert {request.client_id for request in seen.requests} == {name}


def test_a_stream_that_is_not_read_is_not_fetched_for(site: Site, name: str) -> None:
    """Of chunks of one batch each, one more than may wait is fetched, and none while nothing is taken."""
    for value in range(10, 40):
        site.write(name, range(value, value + 1), 1)
    others = {"fetch_message_max_bytes": 100, "queued_max_message_chunks": 3}
    with site.broker.on("Fetch", topic=name).watch() as seen, connector(site, name, **others) as consumer:
        (stream,) = consumer.create_message_streams({name: 1})[name]
        until(lambda: seen.count >= 3)
        # What is asked for from here on is asked for because a chunk was taken.
        assert seen.count == 3
        assert [next(stream).offset for _ in range(40)] == list(range(40))


def test_an_error_of_a_moment_is_waited_out(site: Site, name: str) -> None:
    with (
        site.broker.on("Fetch", topic=name).fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2) as refused,
        site.broker.on("ListOffsets", topic=name).fail(ErrorCode.LEADER_NOT_AVAILABLE, times=1) as unknown,
        connector(site, name, refresh_leader_backoff_ms=10) as consumer,
    ):
        (stream,) = consumer.create_message_streams({name: 1})[name]
        assert [next(stream).offset for _ in range(10)] == list(range(10))
    assert sum(request.is_taken for request in refused.requests) == 2
    assert sum(request.is_taken for request in unknown.requests) == 1


def test_a_broker_that_does_not_answer_is_asked_again(site: Site, name: str) -> None:
    with (
        site.broker.on("Fetch", topic=name).drop(times=1),
        connector(site, name, socket_timeout_ms=300, refresh_leader_backoff_ms=10) as consumer,
    ):
        (stream,) = consumer.create_message_streams({name: 1})[name]
        assert [next(stream).offset for _ in range(10)] == list(range(10))


def test_an_offset_that_goes_while_it_is_read_is_reset(site: Site, name: str) -> None:
    with (
        site.broker.on("Fetch", topic=name).fail(ErrorCode.OFFSET_OUT_OF_RANGE, times=1),
        connector(site, name) as consumer,
    ):
        (stream,) = consumer.create_message_streams({name: 1})[name]
        assert [next(stream).offset for _ in range(10)] == list(range(10))


def test_an_offset_that_goes_is_not_reset_before_the_messages_below_it_were_read(site: Site, name: str) -> None:
    def is_at_the_end(request: ReceivedRequest) -> bool:
        return any(part.fetch_offset == 10 for topic in request.message.topics for part in topic.partitions)

    with (
        site.broker.on("Fetch", topic=name, where=is_at_the_end).fail(
            ErrorCode.OFFSET_OUT_OF_RANGE, times=3
        ) as refused,
        connector(site, name, refresh_leader_backoff_ms=10) as consumer,
    ):
        (stream,) = consumer.create_message_streams({name: 1})[name]
        # The fourth is answered.
        refused.wait_for(4)
        assert [next(stream).offset for _ in range(10)] == list(range(10))
        site.write(name, range(10, 11), 1)
        assert next(stream).offset == 10


KAFKA = {"offsets_storage": "kafka", "dual_commit_enabled": False, "offsets_channel_backoff_ms": 10}


def test_a_commit_is_tried_again_and_an_automatic_one_is_not(site: Site, name: str) -> None:
    others = {**KAFKA, "offsets_commit_max_retries": 2, "auto_commit_enable": False}
    with connector(site, name, **others) as consumer:
        (stream,) = consumer.create_message_streams({name: 1})[name]
        next(stream)
        with site.broker.on("OffsetCommit", group=name).fail(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=2) as seen:
            consumer.commit_offsets()
        assert seen.count == 3
        assert site.admin(lambda admin: admin.committed_offsets(name)) == {TopicPartition(name, 0): 1}
        with (
            site.broker.on("OffsetCommit", group=name).fail(ErrorCode.NOT_COORDINATOR) as seen,
            pytest.raises(OffsetCommitError, match=name),
        ):
            consumer.commit_offsets()
        assert seen.count == 3
        (commit,) = seen.requests[:1]
        assert (commit.message.generation_id, commit.message.member_id) == (-1, "")


def test_a_shutdown_ends_a_commit_that_is_tried_again(site: Site, name: str) -> None:
    others = {**KAFKA, "offsets_channel_backoff_ms": 600_000, "auto_commit_enable": False}
    # The coordinator is known and has loaded the group.
    site.admin(lambda admin: admin.commit_offsets(name, {TopicPartition(name, 0): 0}))
    consumer = connector(site, name, **others)
    next(consumer.create_message_streams({name: 1})[name][0])
    errors: list[BaseException] = []

    def commit() -> None:
        with pytest.raises(ClosedError) as raised:
            consumer.commit_offsets()
        errors.append(raised.value)

    with site.broker.on("OffsetCommit", group=name).fail(ErrorCode.NOT_COORDINATOR) as seen:
        thread = threading.Thread(target=commit, daemon=True)
        thread.start()
        seen.wait_for(1)
        consumer.shutdown()
        thread.join(PATIENCE_S)
    assert len(errors) == 1


def test_a_shutdown_that_cannot_store_says_so_and_leaves_all_the_same(site: Site, name: str) -> None:
    consumer = connector(site, name, **KAFKA)
    (stream,) = consumer.create_message_streams({name: 1})[name]
    next(stream)
    with (
        site.broker.on("OffsetCommit", group=name).fail(ErrorCode.NOT_COORDINATOR) as seen,
        pytest.raises(OffsetCommitError),
    ):
        consumer.shutdown()
    assert seen.count == 1
    assert site.group(name).consumers == []
    assert site.group(name).owners() == {}
    assert list(stream) == []


def test_a_coordinator_that_does_not_answer_is_not_waited_for(site: Site, name: str) -> None:
    others = {**KAFKA, "offsets_channel_socket_timeout_ms": 100, "offsets_commit_max_retries": 0}
    with connector(site, name, auto_commit_enable=False, **others) as consumer:
        (stream,) = consumer.create_message_streams({name: 1})[name]
        next(stream)
        with site.broker.on("OffsetCommit", group=name).hold(), pytest.raises(OffsetCommitError, match="within 100 ms"):
            consumer.commit_offsets()


def test_stored_offsets_are_waited_for_before_anything_is_read(site: Site, name: str) -> None:
    site.admin(lambda admin: admin.commit_offsets(name, {TopicPartition(name, 0): 7}))
    with (
        site.broker.on("OffsetFetch", group=name).fail(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, times=3),
        connector(site, name, **KAFKA) as consumer,
    ):
        assert next(consumer.create_message_streams({name: 1})[name][0]).offset == 7
