"""Resetting offsets: within what the logs hold, of groups without members, and only when it is said."""

import pytest

from barnabas.cli.groups_describe import describe_groups
from barnabas.cli.groups_reset import reset_offsets
from barnabas.clients.admin import EARLIEST, Admin
from barnabas.clients.offset_resets import Reset
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchResponse
from tests.unit.clients.memory_broker import MemoryBroker

T0 = TopicPartition("t", 0)
FIRST, END = 10, 20


def list_offsets(request):
    """The log holds offsets from 10 up to 20."""
    offset = FIRST if request.topics[0].partitions[0].timestamp == EARLIEST else END
    return ListOffsetsResponse(0, [ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(0, offset=offset)])])


@pytest.fixture
def reset():
    """Reset partition t-0 of the group g, which is in some state; what was committed, None where nothing was."""

    def run(to_offset, *, state="Empty", execute=True):
        broker = MemoryBroker(
            {
                ApiKey.DESCRIBE_GROUPS: lambda request: DescribeGroupsResponse(0, [DescribedGroup(0, "g", state)]),
                ApiKey.OFFSET_FETCH: lambda request: OffsetFetchResponse(),
                ApiKey.LIST_OFFSETS: list_offsets,
                ApiKey.OFFSET_COMMIT: lambda request: OffsetCommitResponse(
                    0, [OffsetCommitResponseTopic("t", [OffsetCommitResponsePartition(0, 0)])]
                ),
            }
        )

        async def use(pool):
            to = Reset(to_offset, False, False, False, None, None, None)
            await reset_offsets(Admin(pool), ["g"], ["t:0"], to, execute=execute, output="csv")

        try:
            broker.run(use)
        finally:
            commits = broker.requests[ApiKey.OFFSET_COMMIT]
        return commits[0].topics[0].partitions[0].committed_offset if commits else None

    return run


@pytest.mark.parametrize(("wanted", "becomes"), [(9, FIRST), (10, 10), (15, 15), (20, END), (21, END)])
def test_an_offset_outside_of_the_log_becomes_its_nearest_end(reset, wanted, becomes):
    assert reset(wanted) == becomes


def test_nothing_is_done_until_it_is_said(reset, capsys):
    assert reset(15, execute=False) is None
    assert "15" in capsys.readouterr().out


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance", "CompletingRebalance"])
def test_a_group_with_members_is_left_as_it_is(reset, state):
    with pytest.raises(BarnabasError, match=f"group g is {state}: stop its consumers"):
        reset(15, state=state)


def test_a_group_without_offsets_is_not_described_by_nothing(capsys):
    group = DescribedGroup(0, "g", "Stable", "connect", "sessioned")
    broker = MemoryBroker(
        {
            ApiKey.DESCRIBE_GROUPS: lambda request: DescribeGroupsResponse(0, [group]),
            ApiKey.OFFSET_FETCH: lambda request: OffsetFetchResponse(),
        }
    )
    broker.run(lambda pool: describe_groups(Admin(pool), ["g"], "offsets", is_verbose=False, as_json=False))
    note = "Group 'g' (protocol type connect) has no committed offsets and no assigned partitions.\n"
    assert capsys.readouterr() == ("", note)
