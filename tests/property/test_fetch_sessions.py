"""The cache of fetch sessions against a plain model: a list of all sessions, looked through from end to end.

The model knows nothing of heaps and orders of use: it follows the sentences of Kafka's eviction rules, and finds what
an answer leaves out by comparing with what the reader was told last.
"""

from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from barnabas.broker.requests.fetches.sessions import EVICTION_MS, NO_SESSION, FetchSession, FetchSessions
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.fetch import FetchPartition, PartitionData

SLOTS = 3
KEYS = [TopicPartition(topic, index) for topic in ("t", "u") for index in range(3)]
NAMED = st.lists(st.sampled_from(KEYS), unique=True, max_size=5)
# Sessions are chosen by when they began: also those that are gone.
CHOICES = st.integers(0, 5)
EPOCH_STEPS = st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1])


@dataclass
class Known:
    """A session as the model knows it."""

    id: int
    is_privileged: bool
    order: list[TopicPartition]
    created_ms: int
    used_ms: int
    epoch: int = 1
    told: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    size: int = 0
    # Whether it was older than EVICTION_MS when it was used last.
    was_old: bool = False


class Sessions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.sessions = FetchSessions(SLOTS, self.clock, Random(7))
        self.known: list[Known] = []
        self.gone: list[int] = []
        self.evicted = 0

    # --- the model

    def evictable(self, is_privileged: bool) -> list[Known]:
        return [each for each in self.known if each.was_old or (is_privileged and not each.is_privileged)]

    def make_room(self, is_privileged: bool, size: int) -> bool:
        if len(self.known) < SLOTS:
            return True
        now_ms = self.clock.monotonic_ms()
        longest_unused = min(self.known, key=lambda each: each.used_ms)
        if now_ms - longest_unused.used_ms > EVICTION_MS:
            # Of several that were used at the same time the cache may take any: it says which.
            unused = [each for each in self.known if each.used_ms == longest_unused.used_ms]
            victim = next(each for each in unused if self.sessions.get(each.id) is None)
        else:
            candidates = self.evictable(is_privileged)
            if not candidates:
                return False
            victim = min(candidates, key=lambda each: (each.is_privileged, each.size, each.id))
            if (is_privileged, size, 0) < (victim.is_privileged, victim.size, victim.id):
                return False
        self.forget(victim)
        self.evicted += 1
        return True

    def forget(self, known: Known) -> None:
        self.known.remove(known)
        self.gone.append(known.id)

    def choose(self, choice: int) -> tuple[int, Known | None]:
        if choice < len(self.known):
            return self.known[choice].id, self.known[choice]
        return (self.gone[choice % len(self.gone)] if self.gone else choice), None

    # --- what happens

    @rule(elapsed_ms=st.sampled_from([1, 1_000, EVICTION_MS // 2, EVICTION_MS, EVICTION_MS + 1]))
    def wait(self, elapsed_ms: int) -> None:
        self.clock.advance(elapsed_ms)

    @rule(named=NAMED, is_privileged=st.booleans())
    def begin(self, named: list[TopicPartition], is_privileged: bool) -> None:
        session = FetchSession({key: FetchPartition(key.partition) for key in named}, is_privileged)
        session.told = dict.fromkeys(named, (0, 0))
        session_id = self.sessions.add(session)
        if not self.make_room(is_privileged, len(named)):
            assert session_id == NO_SESSION
            return
        assert session_id > 0
        assert session_id not in [each.id for each in self.known]
        now_ms = self.clock.monotonic_ms()
        made = Known(session_id, is_privileged, list(named), now_ms, now_ms, size=len(named))
        made.told = dict.fromkeys(named, (0, 0))
        self.known.append(made)

    @rule(choice=CHOICES, epoch_step=EPOCH_STEPS, named=NAMED, forgotten=NAMED)
    def go_on(self, choice: int, epoch_step: int, named: list[TopicPartition], forgotten: list[TopicPartition]) -> None:
        session_id, known = self.choose(choice)
        epoch = (1 if known is None else known.epoch) + epoch_step
        changed = {key: FetchPartition(key.partition, fetch_offset=epoch) for key in named}
        found = self.sessions.go_on(session_id, epoch, changed, forgotten)
        if known is None:
            assert found == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            return
        if epoch != known.epoch:
            assert found == ErrorCode.INVALID_FETCH_SESSION_EPOCH
            return
        known.order += [key for key in named if key not in known.order]
        known.order = [key for key in known.order if key not in forgotten]
        for key in forgotten:
            known.told.pop(key, None)
        if not known.order:
            assert found is None
            self.forget(known)
            return
        assert isinstance(found, FetchSession)
        assert all(found.wanted[key].fetch_offset == epoch for key in named if key not in forgotten)
        known.epoch += 1
        known.size = len(known.order)
        known.used_ms = self.clock.monotonic_ms()
        known.was_old = known.used_ms - known.created_ms > EVICTION_MS

    @rule(choice=CHOICES, high_watermark=st.integers(0, 2), with_records=st.sets(st.sampled_from(KEYS)))
    def answer(self, choice: int, high_watermark: int, with_records: set[TopicPartition]) -> None:
        session_id, known = self.choose(choice)
        session = self.sessions.get(session_id)
        if known is None:
            assert session is None
            return
        assert session is not None
        answered = []
        for key in list(known.order):
            data = PartitionData(key.partition, 0, high_watermark, 0, 0, records=b"x" if key in with_records else b"")
            answered.append((key, data))
            known.told[key] = (high_watermark, 0)
            if key in with_records:
                known.order.remove(key)
                known.order.append(key)
        session.has_answered(answered)

    @rule(choice=CHOICES)
    def close(self, choice: int) -> None:
        session_id, known = self.choose(choice)
        self.sessions.close(session_id)
        if known is not None:
            self.forget(known)

    # --- what holds

    @invariant()
    def the_same_sessions(self) -> None:
        assert len(self.sessions) == len(self.known) <= SLOTS
        for known in self.known:
            session = self.sessions.get(known.id)
            assert session is not None
            assert list(session.wanted) == known.order
            assert session.told == known.told
            assert session.epoch == known.epoch
        assert self.sessions.partition_count == sum(known.size for known in self.known)
        assert self.sessions.eviction_count == self.evicted


TestSessions = Sessions.TestCase
