"""A broker that stops has others lead first what it leads, and waits for nobody in vain. In the simulated world."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from barnabas.broker.server.broker_state import BrokerState
from tests.simulated_cluster import SETTINGS, Cluster, play, state_of

pytestmark = pytest.mark.played(by=play)

SOON_S = 5


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], int]]:
    """Tells how often brokers logged something."""
    logger = logging.getLogger("barnabas")
    caplog.set_level(logging.INFO, "barnabas")
    # The simulation keeps what is logged from the root.
    logger.addHandler(caplog.handler)
    yield lambda text: sum(text in message for message in caplog.messages)
    logger.removeHandler(caplog.handler)


@pytest.mark.parametrize("protocol", ["2.7", "2.3", "1.1", "0.11.0"])
@pytest.mark.parametrize("stopping", [0, 1], ids=["the controller", "another one"])
def test_others_lead_before_a_broker_ends(stopping: int, protocol: str) -> None:
    async def story(cluster: Cluster) -> None:
        host = cluster.hosts[stopping]
        broker_id = stopping + 1
        host.stop()
        led_in: dict[BrokerState | None, list[int]] = {}
        ready_in: dict[BrokerState | None, int] = {}
        while state_of(host) is not BrokerState.SHUTTING_DOWN:
            led_in[state_of(host)] = cluster.led(broker_id)
            ready_in[state_of(host)] = (await host.http.get("/ready")).status
            await asyncio.sleep(0.0001)
        # It served while others began to lead.
        assert led_in[BrokerState.RUNNING]
        assert led_in[BrokerState.PENDING_CONTROLLED_SHUTDOWN] == cluster.led(broker_id) == []
        # But clients should go elsewhere.
        assert ready_in == {BrokerState.RUNNING: 200, BrokerState.PENDING_CONTROLLED_SHUTDOWN: 503}
        if protocol == "2.7":
            # Before it leaders write by themselves who is in sync, and know of no broker that is about to stop.
            assert all(broker_id not in cluster.partition(number)["isr"] for number in range(3))
        await cluster.until(lambda: not host.is_up)
        # Back in order: its replicas are in sync, and others still lead.
        host.start()
        await cluster.until(lambda: all(len(cluster.partition(number)["isr"]) == 3 for number in range(3)))
        assert not cluster.led(broker_id)

    play(story, inter_broker_protocol_version=protocol)


def test_brokers_that_stop_together_wait_for_no_back_off() -> None:
    async def story(cluster: Cluster) -> None:
        await asyncio.gather(*map(cluster.stop, cluster.hosts))

    for count in (2, 3, 4):
        play(story, count=count)


async def test_brokers_that_stop_one_after_another_leave_the_last_one_nothing_to_ask(
    cluster: Cluster, /, said: Callable[[str], int]
) -> None:
    for host in cluster.hosts:
        assert await cluster.stop(host) < SOON_S
    assert said("begins a controlled shutdown") == 2


async def test_another_controller_is_asked_as_soon_as_it_speaks(cluster: Cluster, /, said: Callable[[str], int]):
    controller, stopping, _ = cluster.hosts
    controller.kill()
    assert await cluster.stop(stopping) < 6 + 2 * SOON_S
    assert not cluster.led(2)
    assert cluster.led(3)
    assert said("other brokers lead this broker's partitions") == 1


@pytest.mark.played(by=play, count=2, partitions=1, controlled_shutdown_retry_backoff_ms="5000")
async def test_a_replica_that_lives_and_is_behind_is_waited_for(cluster: Cluster, /, said: Callable[[str], int]):
    leader, follower = cluster.hosts
    network = cluster.simulation.network
    network.part([follower.name], [leader.name])
    await cluster.until(lambda: cluster.partition(0)["isr"] == [1])
    stopping = asyncio.ensure_future(cluster.stop(leader))
    await cluster.until(lambda: said("1 partitions have no other replica that can lead now: t-0") == 1)
    network.heal()
    await stopping
    assert cluster.led(2) == [0]


async def test_a_replica_whose_broker_is_gone_is_not_waited_for(cluster: Cluster, /, said: Callable[[str], int]):
    for host in cluster.hosts[1:]:
        await cluster.stop(host)
    stranger = cluster.simulation.add_broker("b9", {**SETTINGS, "broker.id": "9"}, cluster.ensemble)
    stranger.start()
    await cluster.until(lambda: state_of(stranger) is BrokerState.RUNNING)
    assert await cluster.stop(cluster.hosts[0]) < SOON_S
    assert said("3 partitions have no other replica that can lead now: t-0, t-1, t-2") == 1


@pytest.mark.played(by=play, count=1)
async def test_a_single_broker_asks_nobody_though_its_zookeeper_is_gone(cluster: Cluster, /) -> None:
    (host,) = cluster.hosts
    cluster.simulation.network.part([host.name], cluster.ensemble.servers)
    assert await cluster.stop(host) < SOON_S


@pytest.mark.played(by=play, count=2, controlled_shutdown_retry_backoff_ms="10000", request_timeout_ms="1000")
async def test_a_controller_that_can_not_be_asked_holds_a_broker_up_as_often_as_is_said(
    cluster: Cluster, /, said: Callable[[str], int]
) -> None:
    controller, stopping = cluster.hosts
    cluster.simulation.network.part([stopping.name], [controller.name])
    assert 23 <= await cluster.stop(stopping) < 23 + SOON_S
    assert said("cannot ask the controller") == 3
    assert said("controlled shutdown failed") == 1


@pytest.mark.played(by=play, controlled_shutdown_enable="false")
async def test_where_it_is_switched_off_nobody_is_asked(cluster: Cluster, /, said: Callable[[str], int]) -> None:
    assert await cluster.stop(cluster.hosts[1]) < SOON_S
    assert said("begins a controlled shutdown") == 0
