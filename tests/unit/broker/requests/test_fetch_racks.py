"""Fetches of consumers that say in which rack they are (KIP-392)."""

import pytest

from barnabas.broker.cluster.image import BrokerNode, ClusterImage
from barnabas.broker.requests.handlers import fetch
from barnabas.core.config.classes import RACK_AWARE_SELECTOR
from barnabas.core.error_code import ErrorCode
from tests.unit.broker.requests.conftest import batch, fetch_request
from tests.unit.broker.requests.conftest import wanted as partition

NEAR, FAR, FOLLOWER = "near", "far", 2


def make_led(make_data_path, **settings):
    """Broker 1 in one rack leads one record that broker 2 in another one has."""
    path = make_data_path(**settings)
    path.create("t")
    leader = path.replicas._broker_id
    assert path.leadership("t", leader, [leader, FOLLOWER]) == 0
    path.produce("t", batch())
    racks = {leader: NEAR, FOLLOWER: FAR}
    brokers = {each: BrokerNode(each, {"PLAINTEXT": ("here", each)}, rack) for each, rack in racks.items()}
    path.services.cluster.image = ClusterImage("cluster", leader, brokers, {})
    path.replicas.leader_replicas.note_fetch(path.partition("t"), FOLLOWER, 1, 0)
    return path


@pytest.fixture
def path(make_data_path):
    return make_led(make_data_path, **{"replica.selector.class": RACK_AWARE_SELECTOR})


def wanted(rack, *, offset=0, epoch=-1, session_id=0, session_epoch=-1, wait_ms=500, named=True):
    return fetch_request(
        partition(offset, current_leader_epoch=epoch, log_start_offset=0),
        topics=["t"] if named else [],
        max_wait_ms=wait_ms,
        session_id=session_id,
        session_epoch=session_epoch,
        rack_id=rack,
    )


def read(path, *args, **options):
    """The one partition's answer."""
    return path.fetched(path.begin(fetch.HANDLER, 11, wanted(*args, **options)))


def test_the_follower_in_the_rack_is_named_at_once_and_nothing_is_read(path):
    data = read(path, FAR)
    assert (data.preferred_read_replica, data.error_code, bytes(data.records or b"")) == (FOLLOWER, 0, b"")
    assert (data.high_watermark, data.log_start_offset) == (1, 0)


@pytest.mark.parametrize("rack", [NEAR, "", "elsewhere"])
def test_others_read_from_the_leader(path, rack):
    data = read(path, rack)
    assert data.preferred_read_replica == -1
    assert data.records


def test_without_a_selector_all_read_from_the_leader(make_data_path):
    data = read(make_led(make_data_path), FAR)
    assert data.preferred_read_replica == -1
    assert data.records


def test_what_the_follower_does_not_have_is_read_from_the_leader(path):
    path.produce("t", batch())
    assert read(path, FAR, offset=1).preferred_read_replica == FOLLOWER
    assert read(path, FAR, offset=2, wait_ms=0).preferred_read_replica == -1


def test_an_old_epoch_comes_first(path):
    data = read(path, FAR, epoch=1)
    assert (data.error_code, data.preferred_read_replica) == (ErrorCode.FENCED_LEADER_EPOCH, -1)


def test_a_session_is_told_each_time(path):
    first = path.call(fetch.HANDLER, 11, wanted(FAR, session_epoch=0))
    assert first.responses[0].partitions[0].preferred_read_replica == FOLLOWER
    again = read(path, FAR, session_id=first.session_id, session_epoch=1, named=False)
    assert again.preferred_read_replica == FOLLOWER
