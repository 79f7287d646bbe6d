"""Groups of our own consumers beside a broker that serves its registry: they come, go, are killed, and topics grow.

After each change the owners are those that the rule gives; every message arrives at least once; nothing arrives twice
where nobody was killed.
"""

import itertools
import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from barnabas.api import ConsumerConnector
from barnabas.api.broker_errors import OffsetOutOfRangeError
from barnabas.api.connector import (
    BlackList,
    ConsumerRebalanceFailedError,
    ConsumerTimeoutError,
    MessageStreamsExistError,
    StringDecoder,
    WhiteList,
)
from barnabas.api.errors import ClosedError
from barnabas.clients.admin_topics import NewPartitions
from barnabas.core.errors import ConfigError, StartupError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from tests.integration.old_group import Member, MemberProcess, Site, read_until_quiet
from tests.patience import until
from tools.kafka.server import free_port

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def name() -> str:
    """Of a topic and a group that no other test has."""
    return f"test{next(_NUMBERS)}"


def settings(site: Site, group_id: str, **others: object) -> dict[str, object]:
    return {
        "zookeeper.connect": site.connect,
        "group.id": group_id,
        "auto.offset.reset": "smallest",
        "rebalance.backoff.ms": 200,
        "rebalance.max.retries": 50,
        "zookeeper.session.timeout.ms": 3_000,
        "consumer.timeout.ms": -1,
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def test_members_come_and_go_and_nothing_is_lost_or_read_twice(site: Site, name: str) -> None:
    site.create(name, 5)
    group, members = site.group(name), []
    written = 0

    def write() -> None:
        nonlocal written
        site.write(name, range(written, written + 200), 5)
        written += 200

    for stream_count in (2, 1, 3):
        members.append(Member(settings(site, name), {name: stream_count}))
        write()
        group.await_rule(len(members), 5)
        write()
    for left in (2, 1):
        members[left].close()
        write()
        group.await_rule(left, 5)
        write()
    until(lambda: sum(len(each.seen) for each in members) >= written)
    members[0].close()
    seen = Counter(value for each in members for value in each.values())
    assert seen == Counter(range(written))
    assert group.owners() == {}
    assert group.consumers == []
    assert group.stored() == {TopicPartition(name, number): written // 5 for number in range(5)}


def test_each_partition_is_read_in_order(site: Site, name: str) -> None:
    site.create(name, 3)
    site.write(name, range(300), 3)
    member = Member(settings(site, name), {name: 2})
    until(lambda: len(member.seen) == 300)
    member.close()
    for number in range(3):
        assert [value for part, _, value in member.seen if part.partition == number] == list(range(number, 300, 3))


def test_a_killed_member_is_replaced_and_nothing_is_lost(site: Site, name: str) -> None:
    site.create(name, 4)
    group = site.group(name)
    process = MemberProcess(settings(site, name, **{"auto.commit.interval.ms": 100}), {name: 1})
    member = Member(settings(site, name), {name: 1})
    group.await_rule(2, 4)
    site.write(name, range(400), 4)
    until(lambda: len(process.seen) >= 100)
    process.kill()
    site.write(name, range(400, 800), 4)
    group.await_rule(1, 4)
    until(lambda: {*process.seen, *member.values()} == set(range(800)))
    member.close()
    assert group.stored() == {TopicPartition(name, number): 200 for number in range(4)}


def test_a_member_whose_session_expires_comes_back_and_no_offset_goes_back(site: Site, name: str) -> None:
    site.create(name, 4)
    group = site.group(name)
    process = MemberProcess(settings(site, name, **{"auto.commit.interval.ms": 50}), {name: 1})
    member = Member(settings(site, name, **{"auto.commit.interval.ms": 50}), {name: 1})
    group.await_rule(2, 4)
    site.write(name, range(400), 4)
    until(lambda: len(process.seen) >= 100)
    process.signal(signal.SIGSTOP)
    try:
        site.write(name, range(400, 800), 4)
        group.await_rule(1, 4)
        until(lambda: group.stored() == {TopicPartition(name, number): 200 for number in range(4)})
    finally:
        process.signal(signal.SIGCONT)
    # It may still give what it had in its queues, and stores nothing of it.
    group.await_rule(2, 4)
    assert group.stored() == {TopicPartition(name, number): 200 for number in range(4)}
    site.write(name, range(800, 1200), 4)
    until(lambda: {*process.seen, *member.values()} == set(range(1200)))
    process.close()
    member.close()
    assert group.stored() == {TopicPartition(name, number): 300 for number in range(4)}


def test_the_partitions_that_a_topic_grows_by_are_read(site: Site, name: str) -> None:
    site.create(name, 2)
    group, members = site.group(name), [Member(settings(site, name), {name: 1}) for _ in range(2)]
    group.await_rule(2, 2)
    site.write(name, range(100), 2)
    site.admin(lambda admin: admin.create_partitions({name: NewPartitions(7)}))
    group.await_rule(2, 7)
    site.write(name, range(100, 800), 7)
    until(lambda: sum(len(each.seen) for each in members) >= 800)
    for each in members:
        each.close()
    assert Counter(value for each in members for value in each.values()) == Counter(range(800))


def test_a_topic_may_come_after_its_consumer(site: Site, name: str) -> None:
    member = Member(settings(site, name), {name: 1})
    site.create(name, 1)
    site.write(name, range(10), 1)
    until(lambda: len(member.seen) == 10)
    member.close()


def test_the_protocol_may_be_in_lower_case(site: Site, name: str) -> None:
    site.create(name, 1)
    site.write(name, range(3), 1)
    member = Member(settings(site, name, security_protocol="plaintext"), {name: 1})
    until(lambda: len(member.seen) == 3)
    member.close()


def test_a_filter_meets_new_topics(site: Site, name: str) -> None:
    site.create(f"{name}-a", 2)
    group = site.group(name)
    with ConsumerConnector(settings(site, name)) as connector:
        streams = connector.create_message_streams_by_filter(WhiteList(f"{name}-.*"), 2)
        group.await_rule(1, 2, {f"{name}-a"})
        site.create(f"{name}-b", 3)
        site.create(f"x{name}-c", 1)
        group.await_rule(1, 5, {f"{name}-a", f"{name}-b"})
        site.write(f"{name}-b", range(1, 2), 3)
        # The second of three partitions is the first stream's, with two threads.
        message = next(streams[0])
        assert (message.topic, message.partition, message.message) == (f"{name}-b", 1, b"1")
        assert "white_list" in str(site.call(site.registry.get(paths.consumer_id(name, connector.consumer_id))))


def test_a_black_list_covers_everything_else(site: Site, name: str) -> None:
    site.create(f"{name}-a", 1)
    site.create(f"{name}-b", 1)
    site.write(f"{name}-b", range(1), 1)
    with ConsumerConnector(settings(site, name)) as connector:
        connector.create_message_streams_by_filter(BlackList(f"(?!{name}).*|{name}-a"))
        site.group(name).await_rule(1, 1, {f"{name}-b"})


@pytest.mark.parametrize(("reset", "count"), [("smallest", 10), ("largest", 0)])
def test_without_an_offset_it_begins_as_is_set(site: Site, name: str, reset: str, count: int) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    with ConsumerConnector(settings(site, name, auto_offset_reset=reset, consumer_timeout_ms=1_500)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        assert len(read_until_quiet(stream)) == count
        site.write(name, range(10, 15), 1)
        assert [message.offset for message in read_until_quiet(stream)] == [10, 11, 12, 13, 14]


@pytest.mark.parametrize(("reset", "count"), [("smallest", 10), ("largest", 0)])
def test_an_offset_that_is_gone_is_reset_and_replaced(site: Site, name: str, reset: str, count: int) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    site.call(create_with_parents(site.registry, paths.consumer_offset(name, name, 0), b"1000"))
    with ConsumerConnector(settings(site, name, auto_offset_reset=reset, consumer_timeout_ms=1_500)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        assert len(read_until_quiet(stream)) == count
    assert site.group(name).stored() == {TopicPartition(name, 0): 10}


@pytest.mark.parametrize("stored", [None, b"1000"])
def test_with_any_other_reset_the_stream_raises(site: Site, name: str, stored: bytes | None) -> None:
    site.create(name, 1)
    if stored is not None:
        site.call(create_with_parents(site.registry, paths.consumer_offset(name, name, 0), stored))
    with ConsumerConnector(settings(site, name, auto_offset_reset="none")) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        with pytest.raises(OffsetOutOfRangeError, match=f"{name}-0"):
            next(stream)


def test_a_stream_waits_no_longer_than_it_should_and_goes_on(site: Site, name: str) -> None:
    site.create(name, 1)
    with ConsumerConnector(settings(site, name, consumer_timeout_ms=100)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        with pytest.raises(ConsumerTimeoutError, match="100 ms"):
            next(stream)
        site.write(name, range(1), 1)
        until(lambda: read_until_quiet(stream))


def test_what_was_taken_is_stored_at_the_shutdown_and_no_more(site: Site, name: str) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    with ConsumerConnector(settings(site, name)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        taken = [next(stream).offset for _ in range(4)]
    assert taken == [0, 1, 2, 3]
    assert list(stream) == []
    assert site.group(name).stored() == {TopicPartition(name, 0): 4}
    with ConsumerConnector(settings(site, name)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        assert next(stream).offset == 4


def test_without_automatic_commits_only_commit_offsets_stores(site: Site, name: str) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    with ConsumerConnector(settings(site, name, auto_commit_enable=False)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        for _ in range(3):
            next(stream)
        connector.commit_offsets()
        assert site.group(name).stored() == {TopicPartition(name, 0): 3}
        next(stream)
    assert site.group(name).stored() == {TopicPartition(name, 0): 3}


def test_offsets_are_stored_now_and_then(site: Site, name: str) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    with ConsumerConnector(settings(site, name, auto_commit_interval_ms=50)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        for _ in range(7):
            next(stream)
        until(lambda: site.group(name).stored() == {TopicPartition(name, 0): 7})


def kafka_offsets(site: Site, group_id: str) -> dict[TopicPartition, int]:
    return site.admin(lambda admin: admin.committed_offsets(group_id))


@pytest.mark.parametrize(
    ("is_dual", "in_zookeeper"), [pytest.param(None, True, marks=pytest.mark.whole), (True, True), (False, False)]
)
def test_offsets_in_kafka_and_in_both(site: Site, name: str, is_dual: bool | None, in_zookeeper: bool) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    storage = {"offsets.storage": "kafka", "dual.commit.enabled": is_dual}
    with ConsumerConnector(settings(site, name, **storage)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        for _ in range(6):
            next(stream)
    offsets = {TopicPartition(name, 0): 6}
    assert kafka_offsets(site, name) == offsets
    assert site.group(name).stored() == (offsets if in_zookeeper else {})
    with ConsumerConnector(settings(site, name, **storage)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        assert next(stream).offset == 6


@pytest.mark.parametrize(
    ("is_dual", "kafka", "zookeeper", "first"),
    [
        (True, 3, 5, 5),
        (False, 3, 5, 3),
        *(pytest.param(True, *each, marks=pytest.mark.whole) for each in ((5, 3, 5), (None, 4, 4), (4, None, 4))),
    ],
)
def test_of_both_offsets_the_larger_is_taken(
    site: Site, name: str, is_dual: bool, kafka: int | None, zookeeper: int | None, first: int
) -> None:
    site.create(name, 1)
    site.write(name, range(10), 1)
    if kafka is not None:
        site.admin(lambda admin: admin.commit_offsets(name, {TopicPartition(name, 0): kafka}))
    if zookeeper is not None:
        site.call(create_with_parents(site.registry, paths.consumer_offset(name, name, 0), b"%d" % zookeeper))
    storage = {"offsets.storage": "kafka", "dual.commit.enabled": is_dual}
    with ConsumerConnector(settings(site, name, **storage)) as connector:
        (stream,) = connector.create_message_streams({name: 1})[name]
        assert next(stream).offset == first


def test_a_partition_that_is_never_given_up_fails_the_first_rebalance(site: Site, name: str) -> None:
    site.create(name, 2)
    owner = paths.consumer_owner(name, name, 1)
    site.call(create_with_parents(site.registry, paths.parent(owner)))
    site.call(site.registry.create(owner, b"somebody-0", ephemeral=True))
    connector = ConsumerConnector(settings(site, name, rebalance_max_retries=3, rebalance_backoff_ms=10))
    with pytest.raises(ConsumerRebalanceFailedError, match=r"after 3 tries.*somebody-0"):
        connector.create_message_streams({name: 1})
    assert list(site.group(name).owners()) == [TopicPartition(name, 1)]
    assert site.group(name).consumers == []
    with pytest.raises(ClosedError):
        connector.create_message_streams({name: 1})


def test_a_partition_that_is_given_up_late_is_read_in_the_end(site: Site, name: str) -> None:
    site.create(name, 2)
    member = Member(settings(site, name), {name: 1})
    owner = paths.consumer_owner(name, name, 5)
    site.call(site.registry.create(owner, b"somebody-0", ephemeral=True))
    site.admin(lambda admin: admin.create_partitions({name: NewPartitions(6)}))
    site.write(name, range(60), 6)
    site.call(site.registry.delete(owner))
    site.group(name).await_rule(1, 6)
    until(lambda: set(member.values()) == set(range(60)))
    member.close()


def test_a_claim_that_somebody_deletes_is_made_again_with_the_next_change(site: Site, name: str) -> None:
    site.create(name, 2)
    group, member = site.group(name), Member(settings(site, name), {name: 1})
    site.call(site.registry.delete(paths.consumer_owner(name, name, 1)))
    assert len(group.owners()) == 1
    idle = Member(settings(site, name), {f"{name}-else": 1})
    group.await_rule(2, 2)
    idle.close()
    member.close()


def test_keys_and_messages_are_decoded_when_they_are_asked_for(site: Site, name: str) -> None:
    class Failing:
        def from_bytes(self, data: bytes) -> int:
            raise ValueError(data)

    site.create(name, 1)
    site.write(name, range(1), 1)
    with ConsumerConnector(settings(site, name)) as connector:
        (stream,) = connector.create_message_streams({name: 1}, Failing(), StringDecoder())[name]
        message = next(stream)
    assert (message.key, message.message, message.raw_message) == (None, "0", b"0")
    assert message.timestamp_ms > 0
    assert repr(message) == f"MessageAndMetadata({name}-0 at 0)"


def test_streams_are_made_once_and_not_after_the_shutdown(site: Site, name: str) -> None:
    connector = ConsumerConnector(settings(site, name))
    connector.commit_offsets()
    connector.create_message_streams({name: 1})
    with pytest.raises(MessageStreamsExistError):
        connector.create_message_streams_by_filter(WhiteList("x"))
    connector.shutdown()
    connector.shutdown()
    with pytest.raises(ClosedError):
        connector.commit_offsets()
    with ConsumerConnector(settings(site, name)):
        pass


def test_a_consumer_has_the_name_that_kafka_gives_it(site: Site, name: str) -> None:
    with ConsumerConnector(settings(site, name, consumer_id="me")) as connector:
        assert connector.consumer_id == f"{name}_me"
    with ConsumerConnector({"zk.connect": site.connect, "groupid": name}) as connector:
        group, _, rest = connector.consumer_id.partition("_")
        *_, time_ms, unique = rest.split("-")
        assert (group, len(unique), int(unique, 16) >= 0, len(time_ms)) == (name, 8, True, 13)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "group.id is missing"),
        ({"group.id": "g"}, "zookeeper.connect is missing"),
        ({"group.id": "a/b", "zookeeper.connect": "127.0.0.1:1"}, "must not contain /"),
        ({"groupd.id": "g"}, "did you mean group"),
        ({"group.id": "g", "mirror.topics.whitelist": "a"}, "barnabas mirror"),
        ({"group.id": "g", "partition.assignment.strategy": "sticky"}, "range"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ConsumerConnector(config)


@pytest.mark.parametrize("topics", [{}, {"t": 0}, {"t": 1, "u": -1}])
def test_streams_need_topics_and_numbers(site: Site, name: str, topics: dict[str, int]) -> None:
    with ConsumerConnector(settings(site, name)) as connector:
        with pytest.raises(ValueError, match="1 stream or more"):
            connector.create_message_streams(topics)
        with pytest.raises(ValueError, match="1 or more"):
            connector.create_message_streams_by_filter(WhiteList("a"), 0)


def test_a_zookeeper_that_is_not_there_is_told() -> None:
    with pytest.raises(StartupError, match="no ZooKeeper answers"):
        ConsumerConnector(
            {"group.id": "g", "zookeeper.connect": f"127.0.0.1:{free_port()}", "zookeeper.connection.timeout.ms": 200}
        )


def test_a_broker_that_is_killed_takes_the_sessions_with_it_and_they_come_back(name: str) -> None:
    """Its tree is the group's: what consumers have there is gone with the process."""
    with Site() as site:
        site.create(name, 3)
        group = site.group(name)
        members = [Member(settings(site, name, auto_commit_interval_ms=50), {name: 1}) for _ in range(2)]
        group.await_rule(2, 3)
        site.write(name, range(300), 3)
        until(lambda: {*members[0].values(), *members[1].values()} == set(range(300)))
        until(lambda: group.stored() == {TopicPartition(name, number): 100 for number in range(3)})
        site.broker.kill()
        site.broker.restart()
        group.await_rule(2, 3)
        site.write(name, range(300, 600), 3)
        until(lambda: {*members[0].values(), *members[1].values()} == set(range(600)))
        for member in members:
            member.close()
        assert group.stored() == {TopicPartition(name, number): 200 for number in range(3)}
        assert Counter(members[0].values() + members[1].values()) == Counter(range(600))
