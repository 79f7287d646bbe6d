"""The subjects of Facts: authorization and rows of each.

| subject                       | names                 | right                                                     |
| ----------------------------- | --------------------- | --------------------------------------------------------- |
| client                        | -                     | none: events about the requester's clients of this id     |
| groups                        | of groups             | DESCRIBE on each group, and on the topics of its commits  |
| ends, segments, leaders       | of topics             | DESCRIBE on each topic                                    |
| transactions                  | of transactional ids  | DESCRIBE on each                                          |
| requests, holds, full_answers | of client ids         | DESCRIBE on the cluster                                   |
| refusals                      | of users              | DESCRIBE on the cluster                                   |
| stalls, broker                | -                     | DESCRIBE on the cluster                                   |

A request without names asks for all, which needs DESCRIBE on the cluster. Names that may not be described are omitted
and counted; they are not logged as denials.

Rows of stored events are JSON lines and are filtered in a thread. All others are built here, some in each turn of the
event loop.
"""

import json
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NamedTuple

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.events import Events
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.groups.group import CommittedOffset, Phase
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.requests.broker_diagnostics import broker
from barnabas.broker.requests.diagnostic_query import DiagnosticQuery, Found
from barnabas.broker.requests.segment_diagnostics import segments
from barnabas.broker.requests.slices import MORE, Step
from barnabas.broker.transactions.transaction import Transaction, TransactionState
from barnabas.core.types import TopicPartition
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

MOST_ROWS: Final = 1_000


class Subject(NamedTuple):
    """One kind of rows.

    Attributes:
        find: Returns the rows.
        named: The resource type of the names, if each name is authorized; None: DESCRIBE on the cluster is needed.
        name: The member of a stored row that is compared with the requested names.
        is_own: It only returns data about the requester.
    """

    find: Callable[[DiagnosticQuery], Found]
    named: ResourceType | None = None
    name: str = ""
    is_own: bool = False

    def admit(self, query: DiagnosticQuery) -> Generator[Step, None, bool]:
        """Return whether a request is authorized; removes names that the principal may not see."""
        ctx, names = query.ctx, query.names
        if self.is_own:
            return True
        if self.named is None or names is None:
            return ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER)
        visible: set[str] = set()
        for name in names:
            if ctx.may_unlogged(Operation.DESCRIBE, self.named, name):
                visible.add(name)
            if ctx.is_large:
                yield MORE
        query.names = frozenset(visible)
        query.left_out = len(names) - len(visible)
        return True

    def read(self, query: DiagnosticQuery, found: Iterable[Row | bytes]) -> list[Row]:
        """Return the requested rows; for a thread."""
        rows: list[Row] = []
        for each in found:
            row: Row = json.loads(each) if isinstance(each, bytes) else each
            is_line = isinstance(each, bytes)
            if not is_line or (_last_ms(row) >= query.since_ms and self._concerns(query, row)):
                rows.append(row)
        return rows

    def _concerns(self, query: DiagnosticQuery, row: Row) -> bool:
        name = row[self.name] if self.name else None
        return not self.name or query.names is None or name in query.names


def _last_ms(row: Row) -> int:
    at_ms: int = row["last_ms"] if "last_ms" in row else row["at_ms"]
    return at_ms


def _lines_of(events: Callable[[DiagnosticStore], Events]) -> Callable[[DiagnosticQuery], Found]:
    return lambda query: iter(events(query.diagnostics).lines())


def _client(query: DiagnosticQuery) -> Found:
    """Return the events about the requesting user's clients with the requesting client id."""
    ctx, diagnostics = query.ctx, query.diagnostics
    user, client_id = ctx.connection.principal.name, ctx.client_id
    told: Row = {"user": user, "client_id": client_id, "host": ctx.connection.host}
    for kind, events in (
        ("holds", diagnostics.throttles),
        ("refusals", diagnostics.refusals),
        ("requests", diagnostics.requests),
    ):
        rows: list[Any] = []
        told[kind] = rows
        for line in events.lines():
            row = json.loads(line)
            if (row["user"], row["client_id"]) == (user, client_id) and _last_ms(row) >= query.since_ms:
                rows.append(row)
            yield MORE
        del rows[:-MOST_ROWS]
    yield told


# --- groups


def _groups(query: DiagnosticQuery) -> Found:
    groups = query.ctx.services.groups
    names = query.names if query.names is not None else [each.group_id for each in groups.groups]
    for group_id in names:
        _, group = groups.describe(group_id)
        rebalances = [
            _copied(row)
            for row in query.diagnostics.rebalances.rows(group_id)
            if row["outcome"] is None or row["began_ms"] >= query.since_ms
        ]
        commits: list[Row] = []
        # A group may have commits for very many partitions, so let other work run in between.
        for partition, committed in [] if group is None else list(group.offsets.items()):
            # Who asks for all groups may describe the cluster, and so all topics.
            if query.names is None or query.ctx.may_unlogged(Operation.DESCRIBE, ResourceType.TOPIC, partition.topic):
                commits.append(_commit(query, group_id, partition, committed))
            else:
                query.left_out += 1
            yield MORE
        # For a group that another broker coordinates, report only rebalances that happened here.
        if group is not None or rebalances:
            yield {
                "group": group_id,
                "state": Phase.DEAD.value if group is None else group.phase.value,
                "generation": -1 if group is None else group.generation,
                "protocol": None if group is None else group.protocol_name,
                "member_count": 0 if group is None else len(group.members),
                "loaded_ms": query.diagnostics.rebalances.loaded_ms(group_id),
                "rebalances": [*rebalances],
                "commits": commits,
            }
        yield MORE


def _copied(row: Row) -> Row:
    """Return a copy of an unfinished row, which changes while a thread encodes it."""
    return {name: [*value] if isinstance(value, list) else value for name, value in row.items()}


def _commit(query: DiagnosticQuery, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> Row:
    points = query.diagnostics.commits.points((group_id, partition), query.tick)
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": committed.offset,
        "at_ms": committed.commit_timestamp_ms,
        "offsets": query.points(points),
    }


# --- partitions


def _ends(query: DiagnosticQuery) -> Found:
    for partition in query.hosted():
        if not partition.is_leader:
            continue
        topic, index = partition.topic_partition
        log = partition.log
        yield {
            "topic": topic,
            "partition": index,
            "leader_epoch": partition.leader_epoch,
            "log_start": log.log_start_offset,
            "last_stable": partition.last_stable_offset,
            "high_watermark": partition.high_watermark,
            "end": log.log_end_offset,
            "ends": query.points(query.diagnostics.ends.points(partition.topic_partition, query.tick)),
            "unstable": _unstable(log.producers),
        }
        yield MORE


def _unstable(producers: ProducerState) -> Any:
    """Describe the earliest open transaction of this partition."""
    for producer_id, first_offset in producers.open_transactions():
        entry = producers.get(producer_id)
        # The log knows the times of a producer's last five batches; only the coordinator knows the start time.
        batches = [] if entry is None else entry.batches
        since_ms = next((each.timestamp_ms for each in batches if each.first_offset == first_offset), None)
        return {"producer_id": producer_id, "first_offset": first_offset, "since_ms": since_ms}
    return None


# --- transactions


def _transactions(query: DiagnosticQuery) -> Found:
    unended = list(query.ctx.services.transactions.unended(query.names))
    owing = {(txn.transactional_id, txn.producer_id): txn for txn in unended if txn.state.is_prepared}
    for row in query.diagnostics.aborts.rows(query.names, query.since_ms):
        txn = owing.pop((str(row["transactional_id"]), row["producer_id"]), None)
        yield {**row, "markers_owed": 0 if txn is None else len(txn.partitions)}
    for txn in unended:
        if not txn.state.is_prepared or (txn.transactional_id, txn.producer_id) in owing:
            yield _transaction(txn)
        yield MORE


def _transaction(txn: Transaction) -> Row:
    outcomes = {TransactionState.PREPARE_COMMIT: "committed", TransactionState.PREPARE_ABORT: "aborted"}
    return {
        "at_ms": txn.update_timestamp_ms,
        "first_ms": txn.update_timestamp_ms,
        "count": 1,
        "began_ms": txn.start_timestamp_ms,
        "transactional_id": txn.transactional_id,
        "producer_id": txn.producer_id,
        "producer_epoch": txn.producer_epoch,
        "timeout_ms": txn.timeout_ms,
        "outcome": outcomes.get(txn.state, "open"),
        "reason": None,
        "client_id": None,
        "host": None,
        "partition_count": len(txn.partitions),
        "markers_owed": len(txn.partitions) if txn.state.is_prepared else 0,
    }


SUBJECTS: Final = {
    "client": Subject(_client, is_own=True),
    "groups": Subject(_groups, ResourceType.GROUP),
    "ends": Subject(_ends, ResourceType.TOPIC),
    "leaders": Subject(_lines_of(lambda diagnostics: diagnostics.leaders), ResourceType.TOPIC, "topic"),
    "transactions": Subject(_transactions, ResourceType.TRANSACTIONAL_ID),
    "requests": Subject(_lines_of(lambda diagnostics: diagnostics.requests), name="client_id"),
    "holds": Subject(_lines_of(lambda diagnostics: diagnostics.throttles), name="client_id"),
    "full_answers": Subject(_lines_of(lambda diagnostics: diagnostics.full_answers), name="client_id"),
    "refusals": Subject(_lines_of(lambda diagnostics: diagnostics.refusals), name="user"),
    "segments": Subject(segments, ResourceType.TOPIC),
    "broker": Subject(broker),
    "stalls": Subject(_lines_of(lambda diagnostics: diagnostics.stalls)),
}
