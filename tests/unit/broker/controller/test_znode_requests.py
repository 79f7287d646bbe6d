"""Elections and reassignments that old tools ask for by nodes."""

import pytest

from barnabas.broker.controller.events import Kind
from barnabas.broker.controller.partition_states import write_states
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.admin_requests import decode_election, decode_reassignment, encode_reassignment
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import PartitionStateNode
from tests.unit.broker.controller.harness import Cluster, moving, play, settle, until
from tests.unit.broker.controller.test_controller import put_led_topic
from tests.unit.broker.controller.test_leaders import admin_of

pytestmark = pytest.mark.played(by=play)

ELECTION = b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"none","partition":7}]}'


async def gone(cluster: Cluster, path: str) -> None:
    for _ in range(20):
        await settle()
        if await cluster.registry.exists(path) is None:
            return
    raise AssertionError(f"{path} is still there")


async def led_by_1(cluster: Cluster) -> None:
    """Topic t, whose preferred leader 0 does not lead."""
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0, 1]})
    await cluster.controller.carry_out(Kind.MANUAL_LEADER_BALANCE, _let_1_lead)
    assert (await cluster.state("t", 0)).leader == 1


async def _let_1_lead(term):
    partition = TopicPartition("t", 0)

    def decide(_, now):
        return PartitionStateNode(1, now.leader_epoch + 1, now.isr, 1)

    await write_states(term, [partition], decide)


async def test_preferred_leaders_are_elected_and_the_request_is_gone(cluster: Cluster, /) -> None:
    await led_by_1(cluster)
    for _ in range(2):
        # Again, too: the second one finds nothing to do.
        await cluster.registry.create(paths.PREFERRED_ELECTION, ELECTION)
        await gone(cluster, paths.PREFERRED_ELECTION)
        assert (await cluster.state("t", 0)).leader == 0
    await until(lambda: cluster.view.image.topics["t"][0].leader == 0)


async def test_what_was_asked_for_while_nobody_was_controller_is_done_at_the_start(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0]})
    await cluster.controller.close()
    await cluster.registry.create(paths.PREFERRED_ELECTION, ELECTION)
    await cluster.registry.create(paths.REASSIGNMENT, encode_reassignment({TopicPartition("t", 0): [0]}))
    await cluster.restart()
    await gone(cluster, paths.PREFERRED_ELECTION)
    await gone(cluster, paths.REASSIGNMENT)


async def test_a_reassignment_is_carried_out_and_what_is_refused_is_dropped(
    cluster: Cluster, /, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0, 1], 1: [0]})
    wanted = {TopicPartition("t", 0): [1], TopicPartition("t", 1): [9], TopicPartition("none", 0): [0]}
    await cluster.registry.create(paths.REASSIGNMENT, encode_reassignment(wanted))
    await gone(cluster, paths.REASSIGNMENT)
    assert (await cluster.state("t", 0)).leader == 1
    assert (await cluster.state("t", 1)).leader == 0
    assert "partition t-1: Replica assignment has brokers that are not alive" in caplog.text
    assert "partition none-0: The partition does not exist." in caplog.text


async def test_a_reassignment_that_goes_on_stays_and_is_not_begun_twice(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0], 1: [0]})
    # Broker 1 is never in sync: nobody replicates here.
    there = TopicPartition("t", 0)
    wanted = {there: [1], TopicPartition("t", 1): [0]}
    await cluster.registry.create(paths.REASSIGNMENT, encode_reassignment(wanted))
    await until(lambda: there in moving(cluster))
    await settle()
    data, _ = await cluster.registry.get(paths.REASSIGNMENT)
    assert decode_reassignment(data) == {there: [1]}
    before = (await cluster.registry.get(paths.topic("t")))[1].version
    await cluster.registry.set(paths.REASSIGNMENT, data)
    await settle()
    assert (await cluster.registry.get(paths.topic("t")))[1].version == before


async def test_a_refused_change_of_a_reassignment_that_goes_on_is_dropped(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0]})
    there = TopicPartition("t", 0)
    await admin_of(cluster).reassign({there: [0, 1]})
    await until(lambda: there in moving(cluster))
    await cluster.registry.create(paths.REASSIGNMENT, encode_reassignment({there: [0, 1, 9]}))
    await gone(cluster, paths.REASSIGNMENT)
    assert moving(cluster)[there].target == [0, 1]


@pytest.mark.parametrize(
    ("replacing", "is_replaced"),
    [([9], False), ([], False), ([0], True), (None, True)],
    ids=["to-a-dead-broker", "to-none", "back", "cancelled"],
)
async def test_a_request_by_the_protocol_replaces_that_of_the_node_unless_it_is_refused(
    cluster: Cluster, /, replacing: list[int] | None, is_replaced: bool
) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0]})
    there = TopicPartition("t", 0)
    await cluster.registry.create(paths.REASSIGNMENT, encode_reassignment({there: [1]}))
    await until(lambda: there in moving(cluster))
    await settle()
    result = (await admin_of(cluster).reassign({there: replacing}))[there]
    assert (result.error_code == ErrorCode.NONE) is is_replaced
    assert (await cluster.registry.exists(paths.REASSIGNMENT) is None) is is_replaced


@pytest.mark.parametrize("path", [paths.PREFERRED_ELECTION, paths.REASSIGNMENT])
@pytest.mark.parametrize("data", [None, b"", b"nonsense", b"[]", b"{}", b'{"partitions":7}'])
async def test_what_makes_no_sense_is_dropped(
    cluster: Cluster, /, path: str, data: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.registry.create(path, data)
    await gone(cluster, path)
    await put_led_topic(cluster, "t", {0: [0]})
    assert f"{path} ignored" in caplog.text


@pytest.mark.parametrize(
    "entry",
    ["7", "{}", '{"topic":"t"}', '{"topic":"t","partition":"0"}', '{"topic":"t","partition":true}', '{"partition":0}'],
)
def test_an_entry_that_is_none_is_refused(entry: str) -> None:
    data = f'{{"partitions":[{entry}]}}'.encode()
    for decode in (decode_election, decode_reassignment):
        with pytest.raises(MalformedError):
            decode(data)
    with pytest.raises(MalformedError, match="the replicas of t-0 are no brokers"):
        decode_reassignment(b'{"partitions":[{"topic":"t","partition":0,"replicas":["x"]}]}')
