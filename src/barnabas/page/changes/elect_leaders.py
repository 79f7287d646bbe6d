"""Elect leaders: of one partition, or of all partitions not led by their preferred replica."""

from typing import Final

from barnabas.clients.admin_replicas import ElectionType, ReplicaAdmin
from barnabas.core.advised_commands import Word, command
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.explain.formatting import count
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, number, text
from barnabas.page.view import Asked

_KIND: Final = Field("kind", "Election type", "Unclean: the leader may lack records.", choices=("PREFERRED", "UNCLEAN"))
_TOPIC: Final = Field("topic", "Topic", "Empty, with the partition: all partitions that need it.", is_optional=True)
_PARTITION: Final = Field("partition", "Partition", is_optional=True)
_MOST_SHOWN: Final = 200


async def preview(asked: Asked) -> Plan:
    """Read the current leaders."""
    kind = ElectionType[choice(asked, _KIND)]
    topic, index = text(asked, _TOPIC.name), number(asked, _PARTITION, 0)
    if bool(topic) is (index is None):
        raise BarnabasError("name both a topic and a partition, or none")
    if kind is ElectionType.UNCLEAN and not topic:
        raise BarnabasError("an unclean election may lose records: name a partition")
    admin = asked.cluster.admin(ReplicaAdmin)
    found = (await admin.pool.metadata([topic] if topic else None)).topics
    rows = [
        Row(f"leader of {name}-{each.partition}", _leader(each.leader_id), _after(kind, each.replicas))
        for name, of_topic in sorted(found.items())
        for each in of_topic.partitions.values()
        if index in (None, each.partition)
        and (each.leader_id < 0 if kind is ElectionType.UNCLEAN else each.leader_id != each.replicas[0])
    ]
    if not rows:
        raise BarnabasError("no election is needed: the preferred replica leads, or the partition does not exist")
    partitions = None if index is None else [TopicPartition(topic, index)]

    async def carry_out() -> str:
        results = await admin.elect_leaders(kind, partitions)
        fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
        failed = [f"{each}: {result.message}" for each, result in results.items() if result.code not in fine]
        if failed:
            raise BarnabasError(f"leaders were not elected: {'; '.join(failed[:10])}")
        return f"Leaders of {count(len(results), 'partition')} were elected."

    of: list[Word] = ["--all-topic-partitions"] if index is None else [("--topic", topic), ("--partition", index)]
    more = len(rows) - _MOST_SHOWN
    return Plan(
        tuple(rows[:_MOST_SHOWN]),
        command("elect-leaders", ("--election-type", kind.name), *of),
        carry_out,
        (f"and {count(more, 'partition')} more",) if more > 0 else (),
        loses="Records that the new leader lacks are lost." if kind is ElectionType.UNCLEAN else "",
        name=topic,
    )


def _leader(broker_id: int) -> str:
    return "none" if broker_id < 0 else f"broker {broker_id}"


def _after(kind: ElectionType, replicas: list[int]) -> str:
    if kind is ElectionType.UNCLEAN:
        return f"one of {', '.join(map(str, replicas))}"
    return f"broker {replicas[0]}, if it is in sync"


CHANGE = Change("/change/elect-leaders", "Elect leaders", (_KIND, _TOPIC, _PARTITION), preview)
