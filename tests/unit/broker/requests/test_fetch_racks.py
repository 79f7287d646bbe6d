"""Fetches of consumers that say in which rack they are (KIP-392)."""

import pytest

from barnabas.broker.cluster.image import BrokerNode, ClusterImage
from barnabas.broker.requests.handlers import fetch
from barnabas.core.config.classes import RACK_AWARE_SELECTOR
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.unit.broker.requests.conftest import batch

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


def wanted(rack, *, offset=0, version=11, epoch=-1, session_id=0, session_epoch=-1, wait_ms=500, named=True):
    topics = [FetchTopic("t", [FetchPartition(0, epoch, offset, -1, 0, 1 << 20)])] if named else []
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=1 << 24,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        rack_id=rack,
    )


def only(answer):
    ((data,),) = (topic.partitions for topic in answer.responses)
    return data


def test_the_follower_in_the_rack_is_named_at_once_and_nothing_is_read(path):
    data = only(path.call(fetch.HANDLER, 11, wanted(FAR)))
    assert (data.preferred_read_replica, data.error_code, bytes(data.records or b"")) == (FOLLOWER, 0, b"")
    assert (data.high_watermark, data.log_start_offset) == (1, 0)


@pytest.mark.parametrize("rack", [NEAR, "", "elsewhere"])
def test_others_read_from_the_leader(path, rack):
    data = only(path.call(fetch.HANDLER, 11, wanted(rack)))
    assert data.preferred_read_replica == -1
    assert data.records


def test_without_a_selector_all_read_from_the_leader(make_data_path):
    data = only(make_led(make_data_path).call(fetch.HANDLER, 11, wanted(FAR)))
    assert data.preferred_read_replica == -1
    assert data.records


def test_what_the_follower_does_not_have_is_read_from_the_leader(path):
    path.produce("t", batch())
    assert only(path.call(fetch.HANDLER, 11, wanted(FAR, offset=1))).preferred_read_replica == FOLLOWER
    assert only(path.call(fetch.HANDLER, 11, wanted(FAR, offset=2, wait_ms=0))).preferred_read_replica == -1


def test_an_old_epoch_comes_first(path):
    data = only(path.call(fetch.HANDLER, 11, wanted(FAR, epoch=1)))
    assert (data.error_code, data.preferred_read_replica) == (ErrorCode.FENCED_LEADER_EPOCH, -1)


def test_a_session_is_told_each_time(path):
    first = path.call(fetch.HANDLER, 11, wanted(FAR, session_epoch=0))
    assert only(first).preferred_read_replica == FOLLOWER
    again = wanted(FAR, session_id=first.session_id, session_epoch=1, named=False)
    assert only(path.call(fetch.HANDLER, 11, again)).preferred_read_replica == FOLLOWER
