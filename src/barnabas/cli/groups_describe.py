"""`barnabas groups --list` and `--describe`: groups, their members, offsets and lag.

Source: cli page, kafka-consumer-groups.
"""

from collections.abc import Collection, Mapping, Sequence

from barnabas.cli.output import Cell, note, print_json, print_table, say
from barnabas.clients.admin import LATEST, Admin, GroupDescription
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition


async def list_groups(admin: Admin, states: Collection[str], with_state: bool, as_json: bool) -> None:
    """Print the names of all groups, or of those in some states. Raises KafkaError."""
    known = await admin.groups(states)
    if as_json:
        print_json([{"group": name, "state": state, "protocol_type": kind} for name, (state, kind) in known.items()])
    elif with_state:
        print_table(["group", "state"], [[name, state] for name, (state, _) in known.items()])
    else:
        for name in known:
            say(name)
    if not known and not as_json:
        note("No groups are in these states." if states else "The cluster has no groups.")


async def describe_groups(admin: Admin, names: Sequence[str], what: str, is_verbose: bool, as_json: bool) -> None:
    """Print groups.

    Args:
        admin: Admin client of the cluster.
        names: Names of the groups.
        what: `offsets`, `members` or `state`.
        is_verbose: Show the partitions of each member (JSON always does).
        as_json: Print JSON.

    Raises:
        KafkaError: A group does not exist, ...
    """
    shown = []
    for index, name in enumerate(names):
        described = await admin.describe_group(name)
        committed = await admin.committed_offsets(name)
        if described.state == "Dead" and not committed:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"consumer group {name} does not exist",
            )
        rows = await _rows(admin, described, committed, what)
        if as_json:
            shown.append({"group": name, "state": described.state, what: rows} if what != "state" else rows[0])
            continue
        if index:
            say()
        if what != "state" and described.state in ("Empty", "Dead"):
            note(f"Consumer group '{name}' has no active members.")
        elif what != "state" and described.state in ("PreparingRebalance", "CompletingRebalance"):
            note(f"Warning: Consumer group '{name}' is rebalancing.")
        elif not rows:
            kind = described.protocol_type
            note(f"Group '{name}' (protocol type {kind}) has no committed offsets and no assigned partitions.")
        if what == "members":
            rows = [_without_details(row, is_verbose, described) for row in rows]
        if rows:
            print_table([column.replace("_", " ") for column in rows[0]], [list(row.values()) for row in rows])
    if as_json:
        print_json(shown)


async def _rows(
    admin: Admin, described: GroupDescription, committed: Mapping[TopicPartition, int], what: str
) -> list[dict[str, Cell]]:
    if what == "state":
        return [
            {
                "group": described.group_id,
                "coordinator": described.coordinator,
                "assignor": described.assignor or None,
                "state": described.state,
                "members": len(described.members),
            }
        ]
    if what == "members":
        return [
            {
                "group": described.group_id,
                "consumer_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "host": member.host,
                "client_id": member.client_id,
                "partitions": len(member.assignment),
                "assignment": _assigned(member.assignment) or None,
            }
            for member in described.members
        ]
    owners = {part: member for member in described.members for part in member.assignment}
    partitions = sorted(committed.keys() | owners.keys())
    ends = await _ends(admin, partitions)
    rows: list[dict[str, Cell]] = []
    for partition in partitions:
        current, end, owner = committed.get(partition), ends.get(partition), owners.get(partition)
        rows.append(
            {
                "group": described.group_id,
                "topic": partition.topic,
                "partition": partition.partition,
                "current_offset": current,
                "log_end_offset": end,
                "lag": None if current is None or end is None else max(end - current, 0),
                "consumer_id": owner.member_id if owner else None,
                "host": owner.host if owner else None,
                "client_id": owner.client_id if owner else None,
            }
        )
    return rows


def _without_details(row: dict[str, Cell], is_verbose: bool, described: GroupDescription) -> dict[str, Cell]:
    """Return a member's row as Kafka shows it: with instance ids if any exist, with assignments if asked for."""
    left_out = set() if is_verbose else {"assignment"}
    if not any(member.group_instance_id for member in described.members):
        left_out.add("group_instance_id")
    return {name: cell for name, cell in row.items() if name not in left_out}


async def _ends(admin: Admin, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return log end offsets, without those of deleted topics and of partitions without a leader."""
    known = await admin.topics(sorted({part.topic for part in partitions})) if partitions else {}
    # differs from Kafka (groups-offline-partition): Kafka's tool fails if one partition has no leader.
    led = {
        TopicPartition(topic.name, index)
        for topic in known.values()
        for index, part in topic.partitions.items()
        if part.leader_id >= 0
    }
    return await admin.offsets(led.intersection(partitions), LATEST)


def _assigned(partitions: Sequence[TopicPartition]) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(str(partition))
    return ", ".join(f"{topic}({','.join(indexes)})" for topic, indexes in by_topic.items())
