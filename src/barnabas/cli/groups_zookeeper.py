"""`barnabas groups --zookeeper`: groups of old consumers, stored in ZooKeeper.

Their members, owners and offsets are in the tree; log end offsets come from the brokers registered there. Offsets that
such a group has only in Kafka are shown too, and marked.

Source: cli page of 0.8.2, ConsumerOffsetChecker; kafka-consumer-groups --zookeeper of 0.9 to 1.1.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from barnabas.cli.connection import ClientSettings, connect
from barnabas.cli.output import Cell, note, print_json, print_table, say
from barnabas.clients.admin import LATEST, Admin, GroupDescription, GroupMemberDescription
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.consumer_groups import (
    ConsumerGroup,
    delete_group,
    delete_offsets,
    exists,
    group_names,
    read_group,
    read_offsets,
    write_offsets,
)
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.brokers import decode_registration
from barnabas.wire.registry.znodes.consumers import Pattern, Subscription

_PATTERNS = {Pattern.WHITE_LIST: "white list", Pattern.BLACK_LIST: "black list"}


class ZooKeeperGroupAdmin(Admin):
    """Admin client of a cluster for groups in its registry.

    Attributes:
        registry: The cluster's registry.
    """

    def __init__(self, pool: Pool, timeout_ms: int, registry: Registry) -> None:
        super().__init__(pool, timeout_ms)
        self.registry = registry

    async def names(self) -> list[str]:
        """Return the names of all groups, sorted."""
        return await group_names(self.registry)

    async def group(self, name: str) -> ConsumerGroup:
        """Read a group. Raises KafkaError if it does not exist."""
        group = await read_group(self.registry, name)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"consumer group {name} does not exist in ZooKeeper")
        return group

    async def describe_group(self, group_id: str) -> GroupDescription:
        group = await read_group(self.registry, group_id)
        members = [] if group is None else [GroupMemberDescription(each, each, "", []) for each in group.members]
        state = "Dead" if group is None else "Stable" if members else "Empty"
        return GroupDescription(group_id, state, "consumer", "", "", members)

    async def committed_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        allow_auto_topic_creation: bool = False,
    ) -> dict[TopicPartition, int]:
        stored = {each: offset.offset for each, offset in (await read_offsets(self.registry, group_id)).items()}
        return stored if partitions is None else {each: stored[each] for each in partitions if each in stored}

    async def commit_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        await write_offsets(self.registry, group_id, offsets)

    async def delete_group(self, group_id: str) -> None:
        try:
            await delete_group(self.registry, group_id)
        except NoNodeError:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id} does not exist") from None

    async def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        if not await exists(self.registry, group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id} does not exist")
        return {
            each: ErrorCode.NONE
            if await delete_offsets(self.registry, group_id, each)
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for each in partitions
        }

    async def kafka_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """Return the offsets that the group has committed to Kafka; empty if no coordinator answers."""
        try:
            return await super().committed_offsets(group_id)
        except BarnabasError:
            return {}


@contextlib.asynccontextmanager
async def zookeeper_admin(
    zookeeper: str, bootstrap_server: str | None, settings: ClientSettings
) -> AsyncIterator[ZooKeeperGroupAdmin]:
    """Open an admin client of the cluster registered in a ZooKeeper.

    Args:
        zookeeper: Address as in zookeeper.connect.
        bootstrap_server: Brokers to connect to; None for the registered ones.
        settings: The client's settings.

    Raises:
        BarnabasError: No ZooKeeper answers, or no registered broker has a suitable listener.
    """
    # Hide the client's log lines about connection attempts.
    logging.getLogger("barnabas.clients.zookeeper").setLevel(logging.CRITICAL)
    from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
    from barnabas.migration.zookeeper_login import command_options

    registry = await ZooKeeperRegistry.open(command_options(zookeeper))
    try:
        if await registry.exists(paths.ROOT) is None:
            raise BarnabasError(f"{zookeeper}: the chroot does not exist")
        servers = bootstrap_server or await registered_brokers(registry, settings)

        def admin(pool: Pool, timeout_ms: int) -> ZooKeeperGroupAdmin:
            return ZooKeeperGroupAdmin(pool, timeout_ms, registry)

        async with connect(servers, settings, admin) as opened:
            yield opened
    finally:
        await registry.close()


async def registered_brokers(registry: Registry, settings: ClientSettings) -> str:
    """Return the addresses of live brokers with the client's protocol. Raises BarnabasError if none is registered."""
    security = settings.security
    is_logged_in, is_sealed = security is not None and security.login, security is not None and security.tls
    protocol = f"{'SASL_' if is_logged_in else ''}{'SSL' if is_sealed else 'PLAINTEXT'}"
    try:
        ids = [each for each in await registry.children(paths.BROKER_IDS) if each.isdecimal()]
    except NoNodeError:
        ids = []
    found = await registry.get_many([paths.broker(int(each)) for each in ids])
    addresses = [
        f"[{endpoint.host}]:{endpoint.port}" if ":" in endpoint.host else f"{endpoint.host}:{endpoint.port}"
        for broker_id, node in zip(ids, found, strict=True)
        if node is not None
        for endpoint in decode_registration(int(broker_id), node[0]).endpoints
        if endpoint.security_protocol == protocol
    ]
    if not addresses:
        raise BarnabasError(f"no broker with a {protocol} listener is registered in ZooKeeper: add --bootstrap-server")
    return ",".join(addresses)


async def list_zookeeper_groups(admin: ZooKeeperGroupAdmin, with_state: bool, as_json: bool) -> None:
    """Print the names of the groups."""
    names = await admin.names()
    states = {name: (await admin.describe_group(name)).state for name in names} if with_state or as_json else {}
    if as_json:
        print_json([{"group": name, "state": states[name]} for name in names])
    elif with_state:
        print_table(["group", "state"], [[name, states[name]] for name in names])
    else:
        for name in names:
            say(name)
    if not names and not as_json:
        note("ZooKeeper has no groups.")


async def describe_zookeeper_groups(admin: ZooKeeperGroupAdmin, names: Sequence[str], what: str, as_json: bool) -> None:
    """Print groups.

    Args:
        admin: Admin client of the cluster.
        names: Names of the groups.
        what: `offsets`, `members` or `state`.
        as_json: Print JSON.

    Raises:
        KafkaError: A group does not exist, ...
    """
    shown: list[object] = []
    for index, name in enumerate(names):
        group = await admin.group(name)
        state = "Stable" if group.members else "Empty"
        rows = await _rows(admin, group, what)
        if as_json:
            shown.append({"group": name, "state": state, what: rows} if what != "state" else rows[0])
            continue
        if index:
            say()
        if what != "state" and not group.members:
            note(f"Consumer group '{name}' has no active members.")
        if rows:
            print_table([column.replace("_", " ") for column in rows[0]], [list(row.values()) for row in rows])
        for problem in group.problems:
            note(f"Left out: {problem}")
    if as_json:
        print_json(shown)


async def _rows(admin: ZooKeeperGroupAdmin, group: ConsumerGroup, what: str) -> list[dict[str, Cell]]:
    if what == "state":
        state = "Stable" if group.members else "Empty"
        return [{"group": group.name, "coordinator": "zookeeper", "state": state, "members": len(group.members)}]
    if what == "members":
        return [
            {
                "group": group.name,
                "consumer_id": consumer,
                "subscription": None if subscription is None else subscription_text(subscription),
                "partitions": sum(consumer_of(owner) == consumer for owner in group.owners.values()),
            }
            for consumer, subscription in group.members.items()
        ]
    in_kafka = await admin.kafka_offsets(group.name)
    topics = {each.topic for each in (*group.offsets, *group.owners, *in_kafka)}
    topics |= {
        topic
        for subscription in group.members.values()
        if subscription is not None and subscription.pattern is Pattern.STATIC
        for topic in subscription.streams
    }
    known = await admin.topics(sorted(topics)) if topics else {}
    there = {TopicPartition(topic, index) for topic, each in known.items() for index in each.partitions}
    # As `groups --describe` without ZooKeeper: a partition without a leader does not hide the others.
    led = [each for each in there if known[each.topic].partitions[each.partition].leader_id >= 0]
    ends = await admin.offsets(led, LATEST)
    rows: list[dict[str, Cell]] = []
    for partition in sorted({*there, *group.offsets, *group.owners}):
        stored, end = group.offsets.get(partition), ends.get(partition)
        current = in_kafka.get(partition) if stored is None else stored.offset
        rows.append(
            {
                "group": group.name,
                "topic": partition.topic,
                "partition": partition.partition,
                "current_offset": current,
                "log_end_offset": end,
                "lag": None if current is None or end is None else max(end - current, 0),
                "owner": group.owners.get(partition),
                "storage": None if current is None else "kafka" if stored is None else "zookeeper",
            }
        )
    return rows


def consumer_of(owner: str) -> str:
    """Return the consumer id of an owning thread."""
    return owner.rpartition("-")[0]


def subscription_text(subscription: Subscription) -> str:
    """Describe a consumer's subscription in a few words."""
    parts = ", ".join(f"{topic}:{count}" for topic, count in subscription.streams.items())
    return f"{_PATTERNS[subscription.pattern]} {parts}" if subscription.pattern in _PATTERNS else parts
