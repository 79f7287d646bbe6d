"""The pipeline: its runs and their limits, dead letters with reasons, and alerts.

Runs are read from the files of `barnabas pipeline status` in the page's checkpoint directory (`DIR/**/status.json`).
Users see the runs whose topics they may see. Dead letters and alerts are records, read with the user's own rights:
dead letters from topics `*.dlq`, with the reason in a header, and alerts as the last record of each key of topic
`alerts`.

Source: pipeline/sources/run_status.py, pipeline/runner/dead_letters.py; docs/pipeline/operations.md (alerts).
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.page.messages.json_text import parse_json
from barnabas.page.messages.masks import masked
from barnabas.page.messages.reading import named_right, read_back, spans, with_leaders
from barnabas.page.messages.state import MessageState
from barnabas.page.view import Asked, View, ViewKind
from barnabas.wire.records.record import Record

_LETTERS: Final = ".dlq"
_ALERTS: Final = "alerts"
_MOST_RUNS: Final = 200
_MOST_FILE_BYTES: Final = 1 << 20
_MOST_PARTITIONS: Final = 20
_MOST_RECORDS: Final = 100
_COUNTS: Final = ("record", "dead_letter", "late_row", "restart")
# A run writes every two seconds.
_SILENT_S: Final = 30


class RunRow(NamedTuple):
    """A run; times are None if it has read no records yet, or none in the last minute. `topics` are its sources."""

    name: str
    state: str
    topics: tuple[str, ...]
    lag: int
    records_per_s: float
    record_count: int
    dead_letter_count: int
    late_row_count: int
    restart_count: int
    last_batch_ms: int | None
    fresh_p99_ms: int | None
    limited_by: str


class LettersRow(NamedTuple):
    """The dead letters of a topic with the same reason, counted among the last ones."""

    topic: str
    reason: str
    record_count: int


class AlertRow(NamedTuple):
    """An alert, as recorded."""

    state: str
    alert: str
    subject: str
    since: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline(View):
    """Runs, dead letters and alerts; runs with problems and firing alerts come first."""

    runs: tuple[RunRow, ...]
    letters: tuple[LettersRow, ...]
    alerts: tuple[AlertRow, ...]


def kind(state: MessageState, directory: Path) -> ViewKind:
    """Return the view of the runs in a checkpoint directory."""

    async def build(asked: Asked) -> Pipeline:
        admin = asked.cluster.admin(OffsetAdmin)
        topics = (await admin.pool.metadata(None)).topics
        told = await asyncio.to_thread(lambda: list(run_rows(directory)))
        # A run that has read no records yet has no topics, so rights cannot be checked.
        runs = [each for each in told if topics.keys() >= set(each.topics) and (each.topics or not asked.cluster.user)]
        not_told = [f"{len(told) - len(runs)} runs: their topics may not be seen"] if len(runs) < len(told) else []
        if not await asyncio.to_thread(directory.is_dir):
            not_told.append(f"runs: directory {directory} does not exist (--pipeline)")
        last: dict[str, list[Record]] = {}
        for name in sorted(name for name in topics if name.endswith(_LETTERS) or name == _ALERTS):
            led, without = with_leaders(admin.pool, topics[name], sorted(topics[name].partitions)[:_MOST_PARTITIONS])
            not_told += without
            try:
                last[name] = await _last(admin, state, name, led)
            except KafkaError as error:
                not_told.append(f"{name}: {named_right(error, name).message}")
        return Pipeline(
            now_ms=admin.pool.env.clock.now_ms(),
            silent={},
            not_told=tuple(not_told),
            runs=tuple(sorted(runs, key=lambda row: (row.state == "running", row.name))),
            letters=tuple(
                row for name, records in last.items() if name != _ALERTS for row in letter_rows(name, records)
            ),
            alerts=alert_rows(last.get(_ALERTS, [])),
        )

    return ViewKind("/pipeline", "Pipeline", "pipeline.html.jinja", build, 10, "/pipeline")


async def _last(
    admin: OffsetAdmin, state: MessageState, topic: str, partitions: Sequence[TopicPartition]
) -> list[Record]:
    """Read the last records of a topic's partitions, masked. Raises KafkaError."""
    masks, found = state.record_format(topic, {}).masks, await spans(admin, partitions)
    pages = [
        await read_back(admin, each, span.end, span, _MOST_RECORDS, is_committed=True) for each, span in found.items()
    ]
    return [masked(each.record, masks) for page in pages for each in page.found if each.is_readable]


def run_rows(directory: Path) -> Iterator[RunRow]:
    """Yield the last status of each run; skip files that are being replaced or are not status files."""
    for path in islice(sorted(directory.glob("**/status.json")), _MOST_RUNS):
        with suppress(OSError, ValueError, ArithmeticError, RecursionError, TypeError, LookupError, AttributeError):
            if path.stat().st_size <= _MOST_FILE_BYTES:
                yield run_row(json.loads(path.read_text()), time.time() - path.stat().st_mtime)


def run_row(told: Mapping[str, Any], silent_s: float) -> RunRow:
    """Return the row of a run. Raises KeyError, TypeError, ValueError, AttributeError: the status is invalid."""
    is_gone = told["state"] == "running" and silent_s > _SILENT_S
    fresh_s = told.get("fresh_p99_s")
    record, letter, late, restart = (int(told[f"{each}_count"]) for each in _COUNTS)
    return RunRow(
        str(told["run"]),
        "killed, or stuck" if is_gone else str(told["state"]),
        tuple(sorted({*told["positions"], *told["lag"]})),
        sum(int(count) for parts in told["lag"].values() for count in parts.values()),
        float(told["records_per_s"]),
        record,
        letter,
        late,
        restart,
        round(told["last_batch_time_s"] * 1_000) if told["batch_count"] else None,
        None if fresh_s is None else round(fresh_s * 1_000),
        str(told.get("limited_by", "nothing")),
    )


def letter_rows(topic: str, records: list[Record]) -> list[LettersRow]:
    """Return the number of dead letters by reason, in descending order."""
    reasons = Counter(dict(each.headers).get("reason") or b"" for each in records)
    return [LettersRow(topic, reason.decode(errors="replace")[:300], n) for reason, n in reasons.most_common(20)]


def alert_rows(records: list[Record]) -> tuple[AlertRow, ...]:
    """Return the last state of each alert; other records are skipped."""
    found: dict[bytes | None, AlertRow] = {}
    for record in sorted(records, key=lambda each: each.timestamp_ms):
        found.pop(record.key, None)
        with suppress(ValueError):
            told = parse_json((record.value or b"").decode())
            if isinstance(told, dict) and "alert" in told:
                found[record.key] = AlertRow(*(str(told.get(each) or "") for each in AlertRow._fields))
    return tuple(sorted(found.values(), key=lambda row: (row.state != "firing", row.alert, row.subject)))
