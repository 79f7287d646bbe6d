"""Slow requests: which are kept, and what is told of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.requests.handlers import fetch
from barnabas.broker.requests.table import Handler
from barnabas.core.pending import Pending
from barnabas.explain.answers import complaints
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from tests.unit.broker.handling import encoded
from tests.unit.broker.requests.wire import header, heartbeat, heartbeats, until, working_for

pytestmark = pytest.mark.played(by="play")

SCHEMA = json.loads((Path(__file__).parents[4] / "src/barnabas/explain/facts.json").read_text())
SLOW_MS, QUICK_MS = 700, 400


@pytest.fixture
def kept(data_path: Any) -> DiagnosticStore:
    diagnostics = data_path.services.diagnostics = DiagnosticStore(1_000_000, 0)
    return diagnostics


def rows(diagnostics: DiagnosticStore) -> list[dict[str, Any]]:
    return [json.loads(line) for line in diagnostics.requests.lines()]


@pytest.mark.parametrize("is_counted", [False, True], ids=["", "with figures"])
async def test_what_waits_for_longer_than_is_usual_of_its_api(
    connect, /, data_path: Any, kept: DiagnosticStore, is_counted: bool
) -> None:
    waiting: list[Pending[HeartbeatResponse]] = []

    def handle(ctx: Any, request: Any) -> Pending[HeartbeatResponse]:
        waiting.append(Pending())
        return waiting[-1]

    wire = connect(heartbeats(handle))
    wire.table.keep_slow_requests()
    if is_counted:
        wire.table.count_requests()
    for correlation_id, took_ms in enumerate((QUICK_MS, SLOW_MS, QUICK_MS)):
        await wire.send(heartbeat(correlation_id))
        await until(lambda: len(waiting) > correlation_id)  # noqa: B023
        data_path.clock.advance(took_ms)
        waiting[-1].complete(HeartbeatResponse(0, 0))
        assert len(await wire.answer()) == 6
    if is_counted:
        assert wire.table.times[12].count == 3
    else:
        # What was asked for once is not asked for again.
        assert wire.connection.on_sent is None
    wire.close()
    (row,) = rows(kept)
    assert complaints(row, SCHEMA["$defs"]["requests"], SCHEMA["$defs"]) == []
    assert row.pop("at_ms") == data_path.clock.now_ms() - QUICK_MS - SLOW_MS
    assert row == {
        "api": "Heartbeat",
        "version": 0,
        "user": "ANONYMOUS",
        "client_id": "me",
        "host": "10.1.2.3",
        "software": None,
        "total_ms": SLOW_MS,
        "queue_ms": 0,
        "local_ms": 0,
        "remote_ms": SLOW_MS,
        "send_ms": 0,
        "waited_for": "coordinator",
        "throttle_ms": 0,
    }


async def test_what_computes_for_long(connect, /, data_path: Any, kept: DiagnosticStore) -> None:
    wire = connect(heartbeats(working_for(data_path, SLOW_MS)))
    wire.table.keep_slow_requests()
    await wire.send(heartbeat())
    await wire.answer()
    wire.close()
    (row,) = rows(kept)
    assert (row["local_ms"], row["remote_ms"], row["waited_for"]) == (SLOW_MS, 0, None)


async def test_of_who_left_early_the_sending_is_not_known(connect, /, data_path: Any, kept: DiagnosticStore) -> None:
    def handle(ctx: Any, request: Any) -> HeartbeatResponse:
        data_path.clock.advance(SLOW_MS)
        ctx._session.send = lambda answer, now_ns: None
        return HeartbeatResponse(0, 0)

    wire = connect(heartbeats(handle))
    wire.table.keep_slow_requests()
    await wire.send(heartbeat())
    await until(lambda: wire.connection.on_sent is not None)
    wire.close()
    assert [each["send_ms"] for each in rows(kept)] == [None]


@pytest.mark.parametrize("is_left", [False, True], ids=["it takes it", "it leaves"])
async def test_a_large_answer_is_slow_where_its_peer_takes_long_for_it(
    connect, /, data_path: Any, kept: DiagnosticStore, is_left: bool
) -> None:
    def handle(ctx: Any, request: Any) -> FetchResponse:
        records = memoryview(bytes(4 << 20))
        return FetchResponse(responses=[FetchableTopicResponse("t", [PartitionData(records=records)])])

    wire = connect(Handler(FetchRequest, 0, 12, handle, fetch.refuse))
    wire.table.keep_slow_requests()
    for took_ms in (QUICK_MS, 2 * SLOW_MS):
        await wire.send(header(1, 4) + encoded(FetchRequest(replica_id=-1), 4))
        await until(lambda: wire.connection.on_sent is not None)
        data_path.clock.advance(took_ms)
        if is_left and took_ms > QUICK_MS:
            wire.connection.close()
        else:
            await wire.answer()
    wire.close()
    (row,) = rows(kept)
    assert complaints(row, SCHEMA["$defs"]["requests"], SCHEMA["$defs"]) == []
    assert (row["api"], row["local_ms"], row["send_ms"], row["total_ms"]) == ("Fetch", 0, 2 * SLOW_MS, 2 * SLOW_MS)


async def test_nothing_is_kept_unless_it_is_wanted(connect, /, data_path: Any, kept: DiagnosticStore) -> None:
    wire = connect(heartbeats(working_for(data_path, 10 * SLOW_MS)))
    await wire.send(heartbeat())
    await wire.answer()
    wire.close()
    assert rows(kept) == []


async def test_the_clients_software_stays_with_its_connection(connect, /, data_path: Any, kept: DiagnosticStore):
    wire = connect(heartbeats(working_for(data_path, SLOW_MS)))
    wire.table.keep_slow_requests()
    await wire.send(header(18, 3, is_flexible=True) + b"\x0capache-java\x062.7.2\0")
    await wire.answer()
    await wire.send(heartbeat())
    await wire.answer()
    wire.close()
    assert [each["software"] for each in rows(kept)] == ["apache-java 2.7.2"]
