"""Static members and cooperative rebalancing, by the client libraries that know them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.core.error_code import ErrorCode
from tests.compat.clients import FACTORIES, Client, Consumer
from tests.compat.clients.java import JavaClientError
from tests.compat.conftest import RunningBroker
from tests.compat.raw_groups import Group
from tests.compat.reading import poll_until, read
from tests.compat.test_clients import PARTITION_COUNT, numbered

# kafka-python leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

FIRST_CLIENTS = [
    pytest.param(name, marks=[] if name in ("java-2.7.2", "librdkafka") else [pytest.mark.whole]) for name in FACTORIES
]
EVERYTHING = set(range(PARTITION_COUNT))
MOST_GENERATIONS = 100


def shared(first: Consumer, second: Consumer) -> bool:
    has_half = len(first.assignment()) == len(second.assignment()) == 2
    return has_half and first.assignment() | second.assignment() == EVERYTHING


def generation_of(broker: RunningBroker, name: str) -> int:
    """The generation of a stable group: the one that a heartbeat of any member names."""
    with ThreadPoolExecutor(1) as executor:
        group = Group(broker, name, executor)
        member_id = group.describe().members[0].member_id
        generations = range(1, MOST_GENERATIONS)
        return next(each for each in generations if group.heartbeat(member_id, each) == ErrorCode.NONE)


@pytest.mark.parametrize("client", FIRST_CLIENTS, indirect=True)
def test_a_static_member_comes_back_without_a_rebalance(cluster: RunningBroker, client: Client, name: str) -> None:
    client.create_topic(name, PARTITION_COUNT, {})
    first = client.consumer(name, name, instance="i1")
    second = client.consumer(name, name, instance="i2")
    poll_until([first, second], lambda: shared(first, second))
    poll_until([first, second], lambda: client.group_state(name) == ("stable", 2))
    mine, generation = second.assignment(), generation_of(cluster, name)
    client.produce(name, numbered(40))
    seen = read(first, 20) + read(second, 20)
    first.commit()
    second.commit()
    # It does not leave the group: it is expected back.
    second.close()
    assert client.group_state(name) == ("stable", 2)
    second = client.consumer(name, name, instance="i2")
    poll_until([first, second], lambda: second.assignment() == mine)
    assert (client.group_state(name), generation_of(cluster, name)) == (("stable", 2), generation)
    client.produce(name, numbered(40, 40))
    seen += read(first, 20) + read(second, 20)
    assert sorted(int(record.value or b"") for record in seen) == list(range(80))
    first.close()
    second.close()


def test_the_one_before_is_told_that_it_was_replaced(java: Client, name: str) -> None:
    java.create_topic(name, PARTITION_COUNT, {})
    first = java.consumer(name, name, instance="i")
    poll_until([first], lambda: first.assignment() == EVERYTHING)
    # Without a position there would be nothing to commit, and nothing is sent then.
    java.produce(name, numbered(40))
    assert len(read(first, 40)) == 40
    second = java.consumer(name, name, instance="i")
    poll_until([second], lambda: second.assignment() == EVERYTHING)
    with pytest.raises(JavaClientError, match="FencedInstanceId"):
        first.commit()
    second.close()


# kafka-python's members rebalance in the polls of one thread, a step each: minutes on a busy machine.
@pytest.mark.parametrize(
    "client_name",
    ["java-2.7.2", "librdkafka", *(pytest.param(name, marks=pytest.mark.whole) for name in ("java-4", "kafka-python"))],
)
def test_members_share_cooperatively(clients: Callable[[str], Client], client_name: str, name: str) -> None:
    client = clients(client_name)
    client.create_topic(name, PARTITION_COUNT, {})
    first = client.consumer(name, name, is_cooperative=True)
    poll_until([first], lambda: first.assignment() == EVERYTHING)
    second = client.consumer(name, name, is_cooperative=True)
    # It takes two generations: one in which the first gives up two partitions, one in which the second gets them.
    poll_until(
        [first, second], lambda: shared(first, second) and first.assignment() | second.assignment() == EVERYTHING
    )
    client.produce(name, numbered(200))
    seen = []
    while len(seen) < 200:
        seen += poll_until([first, second], iter([False, True]).__next__)
    assert sorted(int(record.value or b"") for record in seen) == list(range(200))
    first.commit()
    second.commit()
    kept = second.assignment()
    first.close()
    poll_until([second], lambda: second.assignment() == EVERYTHING)
    assert kept < second.assignment()
    client.produce(name, numbered(40, 200))
    assert sorted(int(record.value or b"") for record in read(second, 40)) == list(range(200, 240))
    second.close()
