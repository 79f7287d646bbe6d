"""How decisions are carried out where a broker refuses some of them."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.pipeline.enforcement.enforcer import Enforcer
from barnabas.pipeline.enforcement.entry import Entry, Verdict, read_entry
from barnabas.pipeline.enforcement.policy import Policy
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from barnabas.wire.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from tests.unit.clients.memory_broker import MemoryBroker

OURS = {"producer_byte_rate": 1024.0}
POLICY = Policy(OURS, 3_600_000, is_dry=False)
REFUSALS = [ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR]
FAILURES = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


class MemoryTopic:
    """An audit topic in memory."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes]] = []
        self.position = 0

    async def read(self) -> list[Entry]:
        new = self.entries(self.position)
        self.position = len(self.records)
        return new

    async def append(self, entries: Sequence[Entry]) -> None:
        self.records += [(entry.key(), entry.value()) for entry in entries]

    def entries(self, first: int = 0) -> list[Entry]:
        return [entry for record in self.records[first:] if (entry := read_entry(*record)) is not None]

    def steps(self) -> list[str]:
        return [f"{entry.entity.name} {entry.step.value}" for entry in self.entries()]


class Quotas:
    """The quotas of a cluster, whose answers about some users are errors.

    Attributes:
        by_user: Quotas by user and name.
        errors: By user, the code that answers a change.
        has_effect: Whether a change that is answered with an error is made all the same.
    """

    def __init__(self) -> None:
        self.by_user: dict[str, dict[str, float]] = {}
        self.errors: dict[str, ErrorCode] = {}
        self.has_effect = False

    def alter(self, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        user = request.entries[0].entity[0].entity_name or ""
        error = self.errors.get(user, ErrorCode.NONE)
        if not error or self.has_effect:
            own = self.by_user.setdefault(user, {})
            for op in request.entries[0].ops:
                own.pop(op.key, None)
                if not op.remove:
                    own[op.key] = op.value
        return AlterClientQuotasResponse(0, [AlterClientQuotasResponseEntryData(error, None)])

    def describe(self, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
        entries = [
            EntryData([EntityData("user", user)], [ValueData(name, value) for name, value in own.items()])
            for user, own in self.by_user.items()
            if own
        ]
        return DescribeClientQuotasResponse(0, 0, None, entries)


@pytest.fixture
def topic() -> MemoryTopic:
    return MemoryTopic()


@pytest.fixture
def quotas() -> Quotas:
    return Quotas()


def accuse(user: str, score: float = 1.0) -> Verdict:
    return Verdict("user", user, "spammer", score, "the same text 9 times", 0, 2_000_000_000_000, user=user)


def enforce(quotas: Quotas, play: Callable[[Pool], Awaitable[None]]) -> None:
    broker = MemoryBroker({ApiKey.ALTER_CLIENT_QUOTAS: quotas.alter, ApiKey.DESCRIBE_CLIENT_QUOTAS: quotas.describe})
    broker.run(play)


def enforcer(pool: Pool, topic: MemoryTopic) -> Enforcer:
    """Return the enforcer of a run that has just started."""
    topic.position = 0
    return Enforcer(pool, topic, POLICY, "security")  # type: ignore[arg-type]  # it has what an enforcer uses


def test_an_unknown_error_delays_no_other_limit_and_is_tried_again(quotas: Quotas, topic: MemoryTopic):
    quotas.errors["first"] = ErrorCode.UNKNOWN_SERVER_ERROR

    async def play(pool: Pool) -> None:
        one = enforcer(pool, topic)
        with pytest.raises(KafkaError):
            await one.round([accuse("first"), accuse("second", 0.6)])
        assert quotas.by_user == {"second": OURS}
        quotas.errors.clear()
        assert await one.round([accuse("first"), accuse("second", 0.6)])

    enforce(quotas, play)
    assert quotas.by_user == {"first": OURS, "second": OURS}


def test_a_refused_limit_delays_no_other(quotas: Quotas, topic: MemoryTopic):
    code = quotas.errors["first"] = ErrorCode.INVALID_REQUEST

    async def play(pool: Pool) -> None:
        one = enforcer(pool, topic)
        assert await one.round([accuse("last", 0.5)])
        for _ in range(2):
            assert await one.round([accuse("first"), accuse("second", 0.6)])

    enforce(quotas, play)
    assert quotas.by_user == {"last": {}, "second": OURS}
    first, second, lifted = (
        [step for step in topic.steps() if step.startswith(user)] for user in ("first", "second", "last")
    )
    assert first == ["first limiting", "first failed"]
    assert second == ["second limiting", "second limited"]
    assert lifted[2:] == ["last lifting", "last lifted"]
    assert code.name in next(entry.note for entry in topic.entries() if entry.step.value == "failed")


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refused_removal_delays_no_other_and_is_tried_again(quotas: Quotas, topic: MemoryTopic, code: ErrorCode):
    async def play(pool: Pool) -> None:
        one = enforcer(pool, topic)
        assert await one.round([accuse("first"), accuse("second")])
        quotas.errors["first"] = code
        with pytest.raises(KafkaError, match=code.name):
            await one.round([accuse("third")])
        assert quotas.by_user == {"first": OURS, "second": {}, "third": OURS}
        assert topic.steps()[-2:] == ["second lifted", "third limited"]
        quotas.errors.clear()
        assert await one.round([accuse("third")])

    enforce(quotas, play)
    assert quotas.by_user == {"first": {}, "second": {}, "third": OURS}


@pytest.mark.parametrize("code", FAILURES)
def test_outcomes_before_a_failure_are_recorded(quotas: Quotas, topic: MemoryTopic, code: ErrorCode):
    quotas.errors["second"] = code

    async def play(pool: Pool) -> None:
        with pytest.raises(KafkaError, match=code.name):
            await enforcer(pool, topic).round([accuse("first"), accuse("second", 0.9), accuse("third", 0.8)])
        assert topic.steps()[3:] == ["first limited"]
        quotas.errors.clear()
        assert await enforcer(pool, topic).round(None)

    enforce(quotas, play)
    assert quotas.by_user == {"first": OURS, "second": OURS, "third": OURS}
    assert topic.steps()[4:] == ["second limited", "third limited"]


def test_a_limit_that_was_set_despite_an_error_is_not_forgotten(quotas: Quotas, topic: MemoryTopic):
    quotas.errors["mallory"], quotas.has_effect = ErrorCode.UNKNOWN_SERVER_ERROR, True

    async def play(pool: Pool) -> None:
        with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
            await enforcer(pool, topic).round([accuse("mallory")])
        assert await enforcer(pool, topic).round([accuse("mallory")])

    enforce(quotas, play)
    assert topic.steps() == ["mallory limiting", "mallory limited"]
    assert topic.entries()[-1].limits == OURS
