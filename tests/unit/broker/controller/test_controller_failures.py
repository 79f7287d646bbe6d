"""The controller where the registry fails, says nonsense, or was written by somebody else."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.broker.administration.topics import NewTopic
from barnabas.broker.controller.controller import RECONNECT_BACKOFF_MS, TAKE_OVER_BACKOFF_MS
from barnabas.broker.controller.sender import RETRY_BACKOFF_MS
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.patience import PatientRegistry
from barnabas.wire.registry.store import (
    ConnectionLostError,
    CreateOp,
    DeleteOp,
    EventType,
    RegistryError,
    SessionState,
    SetOp,
    WatchEvent,
)
from barnabas.wire.registry.znodes.brokers import encode_registration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, encode_partition_state
from tests.unit.broker.controller.harness import Cluster, play, registration, settle, until
from tests.unit.broker.controller.test_controller import leaders_of, put_led_topic, put_topic

pytestmark = pytest.mark.played(by=play)


class Failing:
    """One operation of the registry that fails once, before it is carried out or after."""

    def __init__(
        self, real: Callable[..., Awaitable[Any]], error: Exception, is_carried_out: bool, fails_at: Callable[..., bool]
    ) -> None:
        self._real = real
        self._error: Exception | None = error
        self._is_carried_out = is_carried_out
        self._fails_at = fails_at

    @property
    def has_failed(self) -> bool:
        return self._error is None

    async def __call__(self, *args: Any) -> Any:
        if self._error is None or not self._fails_at(*args):
            return await self._real(*args)
        error, self._error = self._error, None
        if self._is_carried_out:
            await self._real(*args)
        raise error


def fail_once(
    cluster: Cluster,
    operation: str,
    error: Exception,
    is_carried_out: bool = False,
    fails_at: Callable[..., bool] = lambda *args: True,
) -> Failing:
    failing = Failing(getattr(cluster.registry, operation), error, is_carried_out, fails_at)
    setattr(cluster.registry, operation, failing)
    return failing


LOST = ConnectionLostError("/")


def is_about(pattern: str) -> Callable[..., bool]:
    def matches(what: object, *_: object) -> bool:
        each = what if isinstance(what, list) else [what]
        return any(re.search(pattern, str(getattr(op, "path", op))) for op in each)

    return matches


async def until_after_pauses(cluster: Cluster, condition: Callable[[], bool]) -> None:
    for _ in range(20):
        await settle()
        if condition():
            return
        cluster.clock.advance(RECONNECT_BACKOFF_MS)
    raise AssertionError("it did not come to that")


async def put_isr(cluster: Cluster, topic: str, node: PartitionStateNode) -> None:
    """What a leader does when its in-sync replicas change."""
    path = paths.partition_state(topic, 0)
    _, stat = await cluster.registry.get(path)
    await cluster.registry.set(path, encode_partition_state(node), stat.version)


async def test_a_leader_that_wrote_its_isr_does_not_end_the_controller(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.add_broker(2)
    await put_topic(cluster, "t", {0: [1, 2, 0]})
    await put_topic(cluster, "other", {0: [1, 2]})
    await until(lambda: cluster.view.image.has_leaders("t", 1) and cluster.view.image.has_leaders("other", 1))
    await put_isr(cluster, "t", PartitionStateNode(1, 0, (1, 0), 1))
    await cluster.remove_broker(1)
    await settle()
    assert cluster.controller.epoch == 1
    # Broker 2 was not in sync any more.
    assert await cluster.state("t", 0) == PartitionStateNode(0, 1, (0,), 1)
    assert await cluster.state("other", 0) == PartitionStateNode(2, 1, (2,), 1)
    assert cluster.view.image.topics["t"][0].leader == 0
    assert leaders_of(cluster.replicas.requests[-1]) == {("t", 0): (0, 1, False)}
    assert leaders_of(cluster.links[2].of(LeaderAndIsrRequest)[-1])[("t", 0)] == (0, 1, False)


async def test_a_state_that_already_is_what_follows_is_told_to_all(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0, 1]})
    await put_isr(cluster, "t", PartitionStateNode(0, 1, (0,), 1))
    await cluster.remove_broker(1)
    await settle()
    assert await cluster.state("t", 0) == PartitionStateNode(0, 1, (0,), 1)
    assert leaders_of(cluster.replicas.requests[-1]) == {("t", 0): (0, 1, False)}


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":2,"partitions":{"x":[0]}}',
        b'{"version":2,"partitions":{"0":[0],"\xd9\xa3":[0]}}',
        b'{"version":2,"partitions":{"0":["a"]}}',
        b'{"version":2,"partitions":{"0":7}}',
        b'{"version":2,"partitions":[]}',
        b"nonsense",
        b"\xff\xfe",
        b"[1]",
    ],
)
async def test_a_topic_that_makes_no_sense_is_left_out(
    cluster: Cluster, /, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.registry.create(paths.topic("broken"), data)
    await settle()
    assert cluster.controller.is_active
    await put_led_topic(cluster, "t", {0: [0]})
    assert (await cluster.registry.get(paths.topic("broken")))[0] == data
    await cluster.restart()
    assert cluster.view.image.has_leaders("t", 1)
    assert "broken" not in cluster.view.image.topics
    assert "topic broken skipped: /brokers/topics/broken is malformed" in caplog.text


@pytest.mark.parametrize("data", [b"", b"{}", b"nonsense", b'{"leader":"x","leader_epoch":0,"controller_epoch":1}'])
async def test_a_partition_state_that_makes_no_sense_is_left_alone(
    cluster: Cluster, /, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await put_led_topic(cluster, "t", {0: [0], 1: [0]})
    await cluster.restart()
    path = paths.partition_state("t", 0)
    await cluster.registry.set(path, data)
    await cluster.restart()
    assert metadata_topics_of(cluster)["t"] == {1: 0}
    await cluster.add_broker(1)
    await cluster.remove_broker(1)
    await put_led_topic(cluster, "new", {0: [0]})
    assert cluster.controller.epoch == 3
    assert (await cluster.registry.get(paths.partition_state("t", 0)))[0] == data
    assert "partition t-0 skipped: /brokers/topics/t/partitions/0/state is malformed" in caplog.text


async def test_what_is_wrong_with_a_partition_is_told_when_it_changes(
    cluster: Cluster, /, caplog: pytest.LogCaptureFixture
) -> None:
    nobody, nonsense = "partition t-0 has no leader: none of its replicas is alive", "is malformed"
    await put_topic(cluster, "t", {0: [5]})
    await cluster.registry.create(paths.topic("broken"), b"nonsense")
    for name in ("a", "b", "c"):
        await put_led_topic(cluster, name, {0: [0]})
    assert (caplog.text.count(nobody), caplog.text.count(nonsense)) == (1, 1)
    await cluster.add_broker(5)
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    await cluster.registry.delete(paths.topic("broken"))
    await settle()
    await put_topic(cluster, "again", {0: [6]})
    await cluster.registry.create(paths.topic("broken"), b"nonsense")
    await put_led_topic(cluster, "d", {0: [0]})
    assert "partition again-0 has no leader" in caplog.text
    assert (caplog.text.count(nobody), caplog.text.count(nonsense)) == (1, 2)
    await cluster.restart()
    await cluster.registry.set(paths.partition_state("t", 0), b"nonsense")
    await cluster.restart()
    for name in ("e", "f", "g"):
        await put_led_topic(cluster, name, {0: [0]})
    assert caplog.text.count("partition t-0 skipped") == 1


def metadata_topics_of(cluster: Cluster) -> dict[str, dict[int, int]]:
    return {
        topic: {index: state.leader for index, state in partitions.items()}
        for topic, partitions in cluster.view.image.topics.items()
    }


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize(
    ("operation", "fails_at"),
    [
        ("children", is_about("^/brokers/topics$")),
        ("get_many", is_about("^/brokers/topics/t$")),
        ("get_many", is_about("^/brokers/topics/t/partitions$")),
        ("multi", is_about("/state$")),
    ],
)
async def test_a_lost_connection_is_waited_for(
    cluster: Cluster, /, operation: str, fails_at: Callable[..., bool], is_carried_out: bool
) -> None:
    failing = fail_once(cluster, operation, LOST, is_carried_out, fails_at)
    await put_topic(cluster, "t", {0: [0]})
    await until_after_pauses(cluster, lambda: cluster.view.image.has_leaders("t", 1))
    assert failing.has_failed
    # It is still the same controller: nobody else was elected meanwhile.
    assert cluster.controller.epoch == 1
    assert leaders_of(cluster.replicas.requests[-1])[("t", 0)][:2] == (0, 0)


@pytest.mark.parametrize("is_carried_out", [False, True])
async def test_a_connection_lost_while_brokers_fail_leaves_nobody_behind(cluster: Cluster, /, is_carried_out: bool):
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [1, 0]})
    fail_once(cluster, "multi", LOST, is_carried_out, is_about("/state$"))
    await cluster.registry.delete(paths.broker(1))
    await until_after_pauses(cluster, lambda: cluster.view.image.topics["t"][0].leader == 0)
    assert await cluster.state("t", 0) == PartitionStateNode(0, 1, (0,), 1)
    assert leaders_of(cluster.replicas.requests[-1])[("t", 0)] == (0, 1, False)
    assert cluster.controller.epoch == 1


@pytest.mark.parametrize("is_carried_out", [False, True])
async def test_a_connection_lost_in_the_middle_of_an_election(cluster: Cluster, /, is_carried_out: bool) -> None:
    failing = fail_once(cluster, "multi", LOST, is_carried_out, is_about("^/controller$"))
    await cluster.registry.delete(paths.CONTROLLER)
    await until_after_pauses(cluster, lambda: failing.has_failed and cluster.controller.is_active)
    assert cluster.controller.epoch == 2
    await put_led_topic(cluster, "t", {0: [0]})


async def test_a_controller_node_that_no_session_owns_is_replaced(cluster: Cluster, /) -> None:
    data = b'{"version":1,"brokerid":7,"timestamp":"1"}'
    await cluster.registry.multi([DeleteOp(paths.CONTROLLER), CreateOp(paths.CONTROLLER, data)])
    await until(lambda: cluster.controller.epoch == 2 and cluster.controller.is_active)
    _, stat = await cluster.registry.get(paths.CONTROLLER)
    assert stat.ephemeral_owner == cluster.registry.session_id


async def test_a_session_that_expired_ends_the_term_and_another_begins(cluster: Cluster, /) -> None:
    # The old session's node is still there: it is not this session's, whatever broker it names.
    cluster.registry._session_id += 1
    data, _ = await cluster.registry.get(paths.CONTROLLER)
    await cluster.registry.set(paths.CONTROLLER, data)
    await until(lambda: not cluster.controller.is_active)
    await cluster.registry.delete(paths.CONTROLLER)
    await until(lambda: cluster.controller.is_active)
    assert cluster.controller.epoch == 2
    await put_led_topic(cluster, "t", {0: [0]})


async def test_an_error_of_ours_leaves_the_controller_at_work(cluster: Cluster, /, caplog: pytest.LogCaptureFixture):
    fail_once(cluster, "children", ZeroDivisionError(), fails_at=is_about("^/admin/delete_topics$"))
    await put_topic(cluster, "t", {0: [0]})
    await cluster.registry.create(paths.delete_topic("t"))
    await settle()
    await put_led_topic(cluster, "new", {0: [0]})
    assert "failed to handle Signal.DELETIONS_CHANGED" in caplog.text


async def test_a_take_over_that_fails_is_tried_again(cluster: Cluster, /) -> None:
    for _ in range(2):
        fail_once(cluster, "children", RegistryError("/"), fails_at=is_about("^/brokers/topics$"))
    await cluster.registry.delete(paths.CONTROLLER)
    await settle()
    assert not cluster.controller.is_active
    # Another broker may try.
    assert await cluster.registry.exists(paths.CONTROLLER) is None
    for _ in range(2):
        cluster.clock.advance(TAKE_OVER_BACKOFF_MS)
        await settle()
    assert cluster.controller.is_active
    assert cluster.controller.epoch == 4


@pytest.mark.parametrize("error", [LOST, RegistryError("/config/topics/t")])
def test_settings_that_can_not_be_read_hold_up_nothing_for_good(error: RegistryError) -> None:
    errors: list[object] = []

    async def story(cluster: Cluster) -> None:
        cluster.spawner._on_error = errors.append
        failing = fail_once(cluster, "get", error, fails_at=is_about("^/config/topics/t$"))
        await put_topic(cluster, "t", {0: [0]})
        await settle()
        assert failing.has_failed
        cluster.clock.advance(RETRY_BACKOFF_MS)
        await until(lambda: cluster.view.image.has_leaders("t", 1))
        await put_led_topic(cluster, "u", {0: [0]})

    play(story)
    assert errors == [error]


@pytest.mark.parametrize("data", [b"first", b"\xff", b"-1", b"2147483647", b"9" * 5_000])
async def test_an_epoch_that_is_none_is_passed_over(cluster: Cluster, /, data: bytes, caplog: pytest.LogCaptureFixture):
    before = cluster.controller.epoch
    await cluster.registry.multi([SetOp(paths.CONTROLLER_EPOCH, data)])
    await cluster.restart()
    assert before < cluster.controller.epoch
    assert "/controller_epoch is malformed (no controller epoch)" in caplog.text


def lose_watches(cluster: Cluster) -> None:
    """What happens to them when the connection breaks: they are told so, and are gone."""
    watched = [*cluster.registry._child_watches.values(), *cluster.registry._data_watches.values()]
    watches = dict.fromkeys(watch for some in watched for watch in some)
    cluster.registry._child_watches.clear()
    cluster.registry._data_watches.clear()
    for watch in watches:
        watch(WatchEvent(EventType.NONE, ""))


async def test_within_a_session_a_lost_connection_keeps_the_controller(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0]})
    cluster.registry._session_listeners.tell(SessionState.SUSPENDED)
    assert cluster.controller.is_active
    before = len(cluster.replicas.requests)
    await put_topic(cluster, "meanwhile", {0: [0]})
    lose_watches(cluster)
    cluster.registry._session_listeners.tell(SessionState.CONNECTED)
    await until(lambda: cluster.view.image.has_leaders("meanwhile", 1))
    # Of all others nobody was told anything again.
    assert len(cluster.replicas.requests) == before + 1
    await until(lambda: cluster.view.image.has_leaders("meanwhile", 1))
    assert cluster.controller.epoch == 1
    await put_led_topic(cluster, "later", {0: [0]})


async def test_a_topic_that_is_created_without_a_connection_is_there_after_it(
    cluster: Cluster, /, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(*_: object) -> list[str]:
        raise LOST

    monkeypatch.setattr(cluster.registry, "children", lose)
    cluster.registry._session_listeners.tell(SessionState.SUSPENDED)
    cluster.topics._registry = PatientRegistry(cluster.registry, cluster.clock)
    created = asyncio.create_task(cluster.topics.create([NewTopic("t", 1, 1)], timeout_ms=100))
    for _ in range(20):
        await settle()
        cluster.clock.advance(RECONNECT_BACKOFF_MS)
    assert cluster.topics.is_controller
    assert not created.done()
    monkeypatch.undo()
    cluster.registry._session_listeners.tell(SessionState.CONNECTED)
    await until_after_pauses(cluster, created.done)
    assert [each.error_code for each in created.result()] == [ErrorCode.NONE]
    assert cluster.controller.epoch == 1


async def test_in_another_session_the_broker_is_registered_before_it_stands_for_election(cluster: Cluster, /) -> None:
    steps = []

    async def register() -> None:
        steps.append(await cluster.registry.exists(paths.CONTROLLER) is not None)

    await settle()
    cluster.controller._register = register
    cluster.registry._session_listeners.tell(SessionState.SUSPENDED)
    lose_watches(cluster)
    cluster.registry._session_id += 1
    await cluster.registry.delete(paths.CONTROLLER)
    cluster.registry._session_listeners.tell(SessionState.EXPIRED)
    cluster.registry._session_listeners.tell(SessionState.CONNECTED)
    await until(lambda: cluster.controller.is_active)
    assert cluster.controller.epoch == 2
    assert False in steps


async def test_a_broker_that_is_not_admitted_is_none(cluster: Cluster, /) -> None:
    cluster.controller._admits = lambda broker_id: broker_id != 1
    await cluster.registry.create(paths.broker(1), encode_registration(registration(1)), ephemeral=True)
    await cluster.add_broker(2)
    await put_led_topic(cluster, "t", {0: [1, 2]})
    assert sorted(cluster.view.image.brokers) == [0, 2]
    assert await cluster.state("t", 0) == PartitionStateNode(2, 0, (2,), 1)
    assert 1 not in cluster.links


async def test_a_deletion_that_was_asked_for_without_a_connection_is_told_to_all(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0, 1]})
    cluster.registry._session_listeners.tell(SessionState.SUSPENDED)
    lose_watches(cluster)
    await cluster.registry.create(paths.delete_topic("t"))
    cluster.registry._session_listeners.tell(SessionState.CONNECTED)
    await until(lambda: "t" not in cluster.view.image.topics)
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None
