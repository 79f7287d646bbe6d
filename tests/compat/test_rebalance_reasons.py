"""Why a group rebalanced, told by us and by the log of Kafka 2.7.2, after the same requests.

Kafka writes `(reason: ...)` into its log and keeps nothing; we tell it to who asks (`Facts`).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.facts import FactsRequest
from tests.clusters import Member
from tests.compat.raw import ask
from tests.compat.raw_groups import RANGE, Group
from tests.patience import until
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

CONFIG: Final = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "100"}
OTHER: Final = {"range": b"\0\0\0\0\0\0\0\0\0\1x"}
SESSION_MS: Final = 400

# What Kafka says, by what we do.
KAFKAS_WORDS: Final = {
    "joined": r"Adding new member (.*) with group instance id .*",
    "left": r"removing member (.*) on LeaveGroup",
    "removed": r"removing member (.*) on LeaveGroup",
    "session_expired": r"removing member (.*) on heartbeat expiration",
    "leader_rejoined": r"leader (.*) re-joining group during Stable",
    # Kafka looks whether it is the leader first.
    "subscription_changed": r"(?:leader (.*) re-joining group|Updating metadata for member (.*)) during .*",
    "static_replaced": r"Updating metadata for static member (.*) with instance id .*",
    "too_many_members": r"Freshly-loaded group is over capacity .*",
}


def pair(group: Group) -> tuple[str, str]:
    """Two members of a stable group of generation 2; the first leads it."""
    first = group.become_member()
    given = group.join()
    joined = group.join_later(given.member_id)
    group.wait_for("PreparingRebalance")
    again = group.join(first)
    assert (again.error_code, joined.result().generation_id) == (0, 2)
    waiting = group.sync_later(given.member_id, 2)
    assert group.sync(first, 2, assigned=[first, given.member_id]).error_code == 0
    assert waiting.result().error_code == 0
    return first, str(given.member_id)


def a_member_joins(group: Group) -> list[str]:
    first, second = pair(group)
    return [first, second]


def the_leader_asks_again(group: Group) -> list[str]:
    first = group.become_member()
    group.join(first)
    return [first, first]


def the_leader_reads_other_topics(group: Group) -> list[str]:
    first = group.become_member()
    group.join(first, protocols=OTHER)
    return [first, first]


def a_member_reads_other_topics(group: Group) -> list[str]:
    first, second = pair(group)
    waiting = group.join_later(second, protocols=OTHER)
    group.wait_for("PreparingRebalance")
    group.join(first)
    waiting.result()
    return [first, second, second]


def a_member_leaves(group: Group) -> list[str]:
    first, second = pair(group)
    group.leave((second, None))
    return [first, second, second]


def the_last_member_leaves(group: Group) -> list[str]:
    first = group.become_member()
    group.leave((first, None))
    return [first, first]


def a_session_expires(group: Group) -> list[str]:
    first = group.become_member(session_timeout_ms=SESSION_MS)
    group.wait_for("Empty")
    return [first, first]


def a_static_member_leaves(group: Group) -> list[str]:
    first = group.become_member("i")
    group.leave(("", "i"))
    return [first, first]


def a_static_leader_comes_back_while_it_assigns(group: Group) -> list[str]:
    first = group.join(instance="i")
    second = group.join(instance="i")
    assert (first.generation_id, second.generation_id) == (1, 2)
    return [first.member_id, second.member_id]


def a_static_member_comes_back_to_a_stable_group(group: Group) -> list[str]:
    first = group.become_member("i")
    assert group.join(instance="i").error_code == 0
    return [first]


def a_new_member_while_the_leader_assigns(group: Group) -> list[str]:
    given = group.join()
    first = group.join(given.member_id)
    assert first.generation_id == 1
    second = group.join()
    waiting = group.join_later(second.member_id)
    group.wait_for("PreparingRebalance")
    group.join(first.member_id)
    waiting.result()
    return [first.member_id, second.member_id]


Script = Callable[[Group], list[str]]
SCRIPTS: Final[dict[Script, list[str]]] = {
    a_member_joins: ["joined", "joined"],
    the_leader_asks_again: ["joined", "leader_rejoined"],
    the_leader_reads_other_topics: ["joined", "subscription_changed"],
    a_member_reads_other_topics: ["joined", "joined", "subscription_changed"],
    a_member_leaves: ["joined", "joined", "left"],
    the_last_member_leaves: ["joined", "left"],
    a_session_expires: ["joined", "session_expired"],
    a_static_member_leaves: ["joined", "left"],
    a_static_leader_comes_back_while_it_assigns: ["joined", "static_replaced"],
    a_static_member_comes_back_to_a_stable_group: ["joined"],
    a_new_member_while_the_leader_assigns: ["joined", "joined"],
}


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as executor:
        yield executor


@pytest.fixture(scope="module")
def ours() -> Iterator[Broker]:
    with Broker(config={**ONE_BROKER, **CONFIG}) as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[QuickKafkaServer]:
    with QuickKafkaServer(config=CONFIG) as server:
        yield server


def told_by_us(broker: Member, group_id: str) -> list[dict]:
    answer = ask(broker.bootstrap_servers, FactsRequest("groups", [group_id], -1), 0)
    assert (answer.error_code, answer.error_message) == (0, None)
    return [rebalance for row in json.loads(answer.answer)["groups"] for rebalance in row["rebalances"]]


def told_by_kafka(servers: Iterable[Member], group_id: str, count: int) -> list[str]:
    """The reasons in the logs, one after another; the last of them may not be there yet."""
    said = re.compile(rf"Preparing to rebalance group {group_id} .*\(reason: (.*)\) \(kafka")

    def found() -> list[str]:
        return [each for server in servers for each in said.findall(server.log_text())]

    until(lambda: len(found()) >= count, found)
    return found()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_we_say_what_kafkas_log_says(
    script: Script, ours: Broker, kafka: QuickKafkaServer, executor: ThreadPoolExecutor
) -> None:
    reasons = SCRIPTS[script]
    members = script(Group(ours, script.__name__, executor))
    rows = told_by_us(ours, script.__name__)
    assert [(row["reason"], row["member"]) for row in rows] == list(zip(reasons, members, strict=True))
    members = script(Group(kafka, script.__name__, executor))
    said = told_by_kafka([kafka], script.__name__, len(reasons))
    assert len(said) == len(reasons)
    for reason, member, words in zip(reasons, members, said, strict=True):
        named = re.fullmatch(KAFKAS_WORDS[reason], words)
        assert named, (reason, words)
        # It does not know whom it removes where an instance id alone is given.
        assert {member, ""} & set(named.groups())


def test_a_member_that_somebody_else_removes(ours: Broker, executor: ThreadPoolExecutor) -> None:
    """Kafka's log says the same for both."""
    group = Group(ours, "removed", executor)
    first = group.become_member("i", protocols=RANGE)
    request = group.leave_request(("", "i"))
    assert ask(ours.bootstrap_servers, request, 4, client_id=b"admin").error_code == 0
    row = told_by_us(ours, "removed")[-1]
    assert (row["reason"], row["member"], row["instance"], row["outcome"]) == ("removed", first, "i", "empty")
