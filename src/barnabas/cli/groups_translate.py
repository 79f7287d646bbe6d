"""`barnabas groups translate`: translates a group's offsets to a cluster that mirrors the group's cluster.

Committed offsets of the source are looked up in the target's offset table (`clients/mirror/offsets.py`). If the target
is mirrored back into the same topic of the source, the two clusters order records differently. Then the group resumes
before the first record that is unread in either cluster, and reads some records again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    Option,
    TimeoutMs,
    flag,
    paragraphs,
    run_async,
)
from barnabas.cli.output import Cell, note, print_json, print_table
from barnabas.clients.admin import EARLIEST, LATEST, Admin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.mirror.offsets import TABLE_TOPIC, Coverage, MirrorOffsets, Place, SourcePartition
from barnabas.clients.mirror.table_reader import read_table
from barnabas.clients.offset_resets import parse_topics, within_logs
from barnabas.clients.pool import TopicMetadata
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

HELP = paragraphs(
    """Translate a group's offsets to a mirrored cluster.

Reads the group's offsets at --bootstrap-server and the offset table of the mirror at --target-bootstrap-server, and
shows the offsets at which the group would resume in the target. No record is skipped, and no committed record is read
again. --execute commits these offsets in the target, where the group must have no running consumers. Stop its consumers
at the source first. Records that the group has committed and that are not mirrored yet would be read again: --wait
gives the mirror time to copy them.

Examples:

  barnabas groups translate --group report --target-bootstrap-server other:9092

  barnabas groups translate --group report --target-bootstrap-server other:9092 --wait 60 --execute
"""
)

_LOOK_AGAIN_S: Final = 0.5


@dataclass(slots=True)
class _Row:
    """The translation of one partition of the group.

    Attributes:
        offset: Committed offset of the group at the source.
        target: The partition in the target.
        new_offset: Offset to commit in the target.
        coverage: How the table covers `offset`.
        position: Offset of the source up to which the mirror has copied.
        begin: First offset of the source in the table.
        is_both_ways: Whether the target is mirrored back into the same partition.
    """

    source: TopicPartition
    offset: int
    target: TopicPartition
    new_offset: int
    coverage: Coverage
    position: int
    begin: int
    is_both_ways: bool
    to_be_mirrored: int = 0


def groups_translate(
    target_bootstrap_server: Annotated[
        str, Option("--target-bootstrap-server", metavar="HOST:PORT,...", help="Brokers of the target cluster.")
    ],
    group: Annotated[str, Option("--group", metavar="NAME", help="Name of the group.")],
    to_group: Annotated[
        str | None, Option("--to-group", metavar="NAME", help="Name of the group in the target, if different.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        Option(
            "--topic",
            metavar="NAME[:0,1]",
            help="Topic of the source, or some of its partitions (default: all with offsets of the group). May be "
            "repeated.",
        ),
    ] = None,
    mirror: Annotated[
        str | None, Option("--mirror", metavar="NAME", help="Name of the mirror, if several mirror the same topic.")
    ] = None,
    wait: Annotated[
        int,
        Option(
            "--wait",
            min=0,
            max=86_400,
            metavar="S",
            help="Longest time to wait for the mirror to reach the group's offsets.",
        ),
    ] = 0,
    dry_run: Annotated[bool, flag("--dry-run", "Only show the offsets (the default).")] = False,
    execute: Annotated[bool, flag("--execute", "Commit the offsets in the target.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    source_config: Annotated[
        str | None,
        Option(
            "--source-config",
            metavar="FILE",
            help="Properties file of the source: security.protocol, ssl.*, sasl.*, ...",
        ),
    ] = None,
    target_config: Annotated[
        str | None, Option("--target-config", metavar="FILE", help="Properties file of the target.")
    ] = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    if dry_run and execute:
        raise BarnabasError("--dry-run and --execute exclude each other")
    source_settings = client_settings("barnabas-groups", source_config, timeout)
    target_settings = client_settings("barnabas-groups", target_config, timeout)
    name = to_group or group

    async def work() -> None:
        async with (
            connect(bootstrap_server, source_settings, Admin) as source,
            connect(target_bootstrap_server, target_settings, Admin) as target,
        ):
            committed = await _committed(source, group, topic)
            translator = _Translator(source, target, mirror)
            await _check_members(source, target, group, name)
            rows = await translator.translate(committed, wait, is_strict=bool(topic))
            new_offsets = await within_logs(target, {row.target: row.new_offset for row in rows}, note)
            for row in rows:
                row.new_offset = new_offsets[row.target]
            replaced = await target.committed_offsets(name, new_offsets)
            if execute:
                await target.commit_offsets(name, new_offsets)
            _show(name, rows, as_json)
            _warn(rows, replaced)
            if not execute:
                note("Nothing was changed. Add --execute to commit the offsets.")

    run_async(work())


async def _committed(admin: Admin, group: str, topics: Sequence[str] | None) -> dict[TopicPartition, int]:
    """Return a group's committed offsets of some or all topics. Raises BarnabasError if none exist."""
    committed = await admin.committed_offsets(group)
    if not committed:
        raise BarnabasError(f"group {group} has no offsets at the source; barnabas groups --list shows the groups")
    if topics is None:
        return committed
    wanted = parse_topics(topics)
    chosen = {
        partition: offset
        for partition, offset in committed.items()
        if partition.topic in wanted and partition.partition in (wanted[partition.topic] or (partition.partition,))
    }
    for name, indexes in wanted.items():
        missing = [index for index in indexes or () if TopicPartition(name, index) not in chosen]
        if missing or not any(partition.topic == name for partition in chosen):
            where = f"partition {name}-{missing[0]}" if missing else f"topic {name}"
            raise BarnabasError(f"group {group} has no offset of {where} at the source")
    return chosen


async def _check_members(source: Admin, target: Admin, group: str, name: str) -> None:
    """Check that the target's group has no members. Raises BarnabasError if it has."""
    state = (await target.describe_group(name)).state
    if state not in ("Empty", "Dead"):
        raise BarnabasError(f"group {name} is {state} in the target: stop its consumers there first")
    state = (await source.describe_group(group)).state
    if state not in ("Empty", "Dead"):
        note(f"Warning: group {group} is {state} at the source: records that it commits from now on are read again.")


class _Translator:
    """Translates offsets by the offset tables of both clusters."""

    def __init__(self, source: Admin, target: Admin, mirror: str | None) -> None:
        self._source = source
        self._target = target
        self._mirror = mirror
        self._offsets = MirrorOffsets()
        self._read_to = 0
        self._back_offsets = MirrorOffsets()
        self._back_read_to = 0
        self._source_id = ""
        self._target_id = ""

    async def translate(self, committed: Mapping[TopicPartition, int], wait_s: float, *, is_strict: bool) -> list[_Row]:
        """Return the rows of mirrored partitions.

        Args:
            committed: The group's offsets at the source.
            wait_s: Longest time to wait for the mirror to reach these offsets.
            is_strict: Treat a partition that is not mirrored as an error; otherwise leave it out.

        Raises:
            BarnabasError: No partition is mirrored, or one is mirrored several times.
        """
        self._source_id, self._target_id = await _cluster_id(self._source), await _cluster_id(self._target)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        has_noted = False
        while True:
            rows, missing = await self._look(committed)
            behind = [_distance(row) for row in rows if row.coverage is Coverage.AHEAD]
            # Do not wait for topics without any mirrored partition, unless no topic has one.
            topics = {row.source.topic for row in rows} or {partition.topic for partition in missing}
            behind += [f"{partition} is not mirrored yet" for partition in missing if partition.topic in topics]
            if not behind or loop.time() >= deadline:
                break
            if not has_noted:
                note(f"Waiting up to {wait_s:g} s for the mirror: {', '.join(behind)}")
                has_noted = True
            await asyncio.sleep(_LOOK_AGAIN_S)
        self._check(rows, missing, is_strict)
        ends = await self._source.offsets([row.source for row in rows], LATEST)
        for row in rows:
            row.to_be_mirrored = max(ends[row.source] - row.position, 0)
        return rows

    async def _look(self, committed: Mapping[TopicPartition, int]) -> tuple[list[_Row], list[TopicPartition]]:
        """Read the tables; return the rows, and the partitions that are not mirrored."""
        self._read_to = await read_table(self._target.pool, self._offsets, self._read_to)
        self._back_read_to = await read_table(self._source.pool, self._back_offsets, self._back_read_to)
        await self._add_places([each for each in committed if self._find(each) is None])
        rows, missing = [], []
        for partition, offset in sorted(committed.items()):
            place = self._find(partition)
            if place is None:
                missing.append(partition)
            else:
                rows.append(await self._row(place, offset))
        return rows, missing

    async def _add_places(self, partitions: Sequence[TopicPartition]) -> None:
        """Add places of partitions without a mirrored record, if the mirror has records of their topic.

        Partitions that do not exist in both clusters are left out.
        """
        topics = {
            place._replace(partition=0): known.target_topic
            for place, known in self._offsets.places.items()
            if place.cluster_id == self._source_id
        }
        wanted = {
            place._replace(partition=each.partition): TopicPartition(target_topic, each.partition)
            for each in partitions
            for place, target_topic in topics.items()
            if place.topic == each.topic
        }
        if not wanted:
            return
        sources, targets = await self._source.topics(), await self._target.topics()
        found = {
            place: TopicPartition(place.topic, place.partition)
            for place, target in wanted.items()
            if _exists(sources, TopicPartition(place.topic, place.partition)) and _exists(targets, target)
        }
        starts = await self._source.offsets(set(found.values()), EARLIEST)
        for place, partition in found.items():
            self._offsets.places[place] = Place(wanted[place].topic, starts[partition], 0, ())

    def _check(self, rows: Sequence[_Row], missing: Sequence[TopicPartition], is_strict: bool) -> None:
        if not self._offsets.places:
            raise BarnabasError(
                f"the target is no mirror: it has no topic {TABLE_TOPIC} with offsets, which barnabas mirror writes"
            )
        for partition in missing:
            if is_strict:
                raise BarnabasError(f"partition {partition} of the source is not mirrored into the target")
            note(f"Left out: partition {partition} is not mirrored into the target.")
        if not rows:
            raise BarnabasError("none of the partitions with offsets of the group is mirrored into the target")

    def _find(self, partition: TopicPartition) -> SourcePartition | None:
        """Find the mirror of a partition. Raises BarnabasError if there are several."""
        found = [
            place
            for place in self._offsets.places
            if place[1:] == (self._source_id, *partition) and self._mirror in (None, place.mirror)
        ]
        if len(found) > 1:
            names = ", ".join(sorted(place.mirror for place in found))
            raise BarnabasError(f"partition {partition} is mirrored by {names}: choose one with --mirror NAME")
        return found[0] if found else None

    async def _row(self, place: SourcePartition, offset: int) -> _Row:
        source = TopicPartition(place.topic, place.partition)
        known = self._offsets.places[place]
        translation = self._offsets.translate(place, offset)
        assert translation is not None
        target = TopicPartition(known.target_topic, place.partition)
        new_offset, coverage = translation
        if new_offset is None:
            # Future records are appended after the present ones, and the group has read none of the present ones.
            (new_offset,) = (await self._target.offsets([target], EARLIEST)).values()
        back_offset = self._yet_to_be_read(target, source, offset)
        if back_offset is not None:
            new_offset = back_offset if translation.offset is None else min(new_offset, back_offset)
        if coverage is Coverage.AHEAD and not await _has_records(self._source, source, known.position, offset):
            coverage = Coverage.EXACT
        return _Row(source, offset, target, new_offset, coverage, known.position, known.begin, back_offset is not None)

    def _yet_to_be_read(self, target: TopicPartition, source: TopicPartition, offset: int) -> int | None:
        """Return the target's first offset not mirrored below an offset of the source; None without a mirror."""
        found = [
            self._back_offsets.source_offset(place, offset)
            for place, known in self._back_offsets.places.items()
            if place[1:] == (self._target_id, *target) and known.target_topic == source.topic
        ]
        return min((each for each in found if each is not None), default=None)


def _exists(topics: Mapping[str, TopicMetadata], partition: TopicPartition) -> bool:
    topic = topics.get(partition.topic)
    return topic is not None and partition.partition in topic.partitions


async def _cluster_id(admin: Admin) -> str:
    """Return a cluster's id. Raises BarnabasError if it has none."""
    metadata = await admin.retry(partial(admin.pool.metadata, []))
    if metadata.cluster_id is None:
        raise BarnabasError("brokers report no cluster id: they are older than Kafka 0.10.1")
    return metadata.cluster_id


async def _has_records(admin: Admin, partition: TopicPartition, start_offset: int, end_offset: int) -> bool:
    """Return whether records other than markers exist between two offsets; the second may be above the log end."""
    (log_end_offset,) = (await admin.offsets([partition], LATEST)).values()
    end_offset = min(end_offset, log_end_offset)
    async for header, _ in read_batches(admin, partition, start_offset, end_offset):
        if not header.is_control:
            return True
    return False


def _distance(row: _Row) -> str:
    return f"{row.source} is mirrored up to offset {row.position}, the group is at {row.offset}"


def _show(group: str, rows: Sequence[_Row], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "group": group,
                    "topic": row.source.topic,
                    "partition": row.source.partition,
                    "offset": row.offset,
                    "target_topic": row.target.topic,
                    "new_offset": row.new_offset,
                    "coverage": row.coverage.value,
                    "to_be_mirrored": row.to_be_mirrored,
                }
                for row in rows
            ]
        )
        return
    columns = ["group", "topic", "partition", "offset", "target topic", "new offset", "to be mirrored"]
    cells: list[list[Cell]] = [
        [group, *row.source, row.offset, row.target.topic, row.new_offset, row.to_be_mirrored] for row in rows
    ]
    print_table(columns, cells)


def _warn(rows: Sequence[_Row], replaced: Mapping[TopicPartition, int]) -> None:
    for row in rows:
        if replaced.get(row.target, row.new_offset) != row.new_offset:
            note(f"The group's offset of {row.target} in the target was {replaced[row.target]}.")
        if row.coverage is Coverage.AHEAD:
            note(f"Warning: {_distance(row)}: the records between are read again; --wait S waits for the mirror.")
        elif row.coverage is Coverage.BEFORE:
            note(
                f"Warning: the offset table covers {row.source} from offset {row.begin} on, the group is at "
                f"{row.offset}: records between them that are in the target are skipped."
            )
        if row.is_both_ways:
            note(f"{row.source} is mirrored both ways: the group may read some records again.")
