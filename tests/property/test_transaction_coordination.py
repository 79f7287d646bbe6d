"""The transaction machine through every order of requests, failed appends, lost markers and crashes.

The transactions of one id are played against partitions that know their producers (`ProducerState`, the real one) and a
log from which the id is read again after a crash. What must hold is named by the checks below.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.broker.log.producers.producer_state import NEVER_OFFSET, ProducerState
from barnabas.broker.transactions.events import (
    AddPartitions,
    Answer,
    Append,
    Appended,
    AppendFailed,
    Effect,
    End,
    Event,
    Initialize,
    Loaded,
    MarkersWritten,
    NeedProducerId,
    SendMarkers,
    TimeOut,
)
from barnabas.broker.transactions.state import step
from barnabas.broker.transactions.storage import decode_value, encode_value
from barnabas.broker.transactions.transaction import LAST_EPOCH, Transaction
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import BatchHeader, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker

PLACES = [TopicPartition("t", number) for number in range(3)]
TIMEOUT_MS = 100


class Partition:
    """A log of records and markers, as readers of committed records see it.

    Attributes:
        values: Offset to value and producer, of data alone.
        hidden: What was aborted.
    """

    def __init__(self) -> None:
        self.producers = ProducerState()
        self.end_offset = 0
        self.values: dict[int, tuple[str, int]] = {}
        self.hidden: set[str] = set()
        self.highest_stable = 0

    def write(self, header: BatchHeader, value: str) -> bool:
        if self.producers.check(header) is not None:
            return False
        self.producers.update(header, self.end_offset, 0)
        self.values[self.end_offset] = (value, header.producer_id)
        self.end_offset += 1
        return True

    def mark(self, producer_id: int, epoch: int, is_commit: bool) -> E:
        marker = EndTransactionMarker(MarkerType.COMMIT if is_commit else MarkerType.ABORT, 0)
        header = read_header(build_marker(producer_id, epoch, marker, 0))
        refused = self.producers.check_own(header, marker)
        if refused is not None:
            return refused[0]
        aborted = self.producers.end_transaction(header, self.end_offset, marker)
        if aborted is not None:
            for offset, (value, writer) in self.values.items():
                if writer == aborted.producer_id and aborted.first_offset <= offset <= aborted.last_offset:
                    self.hidden.add(value)
        self.end_offset += 1
        self.producers.note_replicated(self.end_offset)
        return E.NONE

    @property
    def stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        return self.end_offset if unstable == NEVER_OFFSET else unstable

    def committed(self) -> set[str]:
        """What readers of committed records get."""
        stable = self.stable_offset
        return {value for offset, (value, _) in self.values.items() if offset < stable and value not in self.hidden}


class Coordination(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000
        self.next_producer_id = 8
        self.txn = Transaction("tx", 7)
        self.stored: bytes | None = None
        self.appending: Append | None = None
        self.markers: SendMarkers | None = None
        self.unmarked: set[TopicPartition] = set()
        self.partitions = {place: Partition() for place in PLACES}
        # The producer that was told its id last, what it added, and what it wrote since.
        self.producer: tuple[int, int] | None = None
        self.added: set[TopicPartition] = set()
        self.sequences: dict[TopicPartition, int] = {}
        self.current: set[str] = set()
        self.value_count = 0
        # By value: how its transaction ended, once that is in the log; and what clients were told.
        self.undecided: set[str] = set()
        self.decided: dict[str, bool] = {}
        self.told_committed: set[str] = set()
        self.epoch_at_start = -1

    # --- the world around

    def happen(self, event: Event) -> Answer | None:
        """Let an event happen; gives the answer where there is one at once."""
        answer = None
        for effect in step(self.txn, event, self.now_ms):
            answer = self.carry_out(effect, event) or answer
        return answer

    def carry_out(self, effect: Effect, event: Event) -> Answer | None:
        match effect:
            case Answer():
                return effect
            case Append():
                assert self.appending is None
                self.appending = effect
            case SendMarkers():
                self.markers, self.unmarked = effect, set(effect.partitions)
            case NeedProducerId():
                assert isinstance(event, Initialize)
                self.next_producer_id += 1
                return self.happen(event._replace(new_producer_id=self.next_producer_id))
        return None

    def write_pending(self) -> Answer | None:
        """What is to be appended is in the log."""
        append = self.appending
        assert append is not None
        self.appending = None
        self.stored = encode_value(append.transition)
        if append.transition.state.is_prepared:
            is_commit = append.transition.state.name == "PREPARE_COMMIT"
            for value in self.undecided:
                assert self.decided.setdefault(value, is_commit) == is_commit, "one outcome for each transaction"
            self.undecided = set()
        self.happen(Appended())
        return append.answer

    def ask(self, event: Event, is_stored: bool) -> E:
        """A request and its answer; where what it needs is not stored, an error."""
        answer = self.happen(event)
        if answer is None and self.appending is not None:
            if is_stored:
                answer = self.write_pending()
            else:
                append, self.appending = self.appending, None
                self.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE, append.is_fence))
                return E.COORDINATOR_NOT_AVAILABLE
        assert answer is not None, "every request is answered"
        if isinstance(event, Initialize) and answer.error_code is E.NONE:
            self.producer = (answer.producer_id, answer.producer_epoch)
            self.sequences, self.added, self.current = {}, set(), set()
        return answer.error_code

    # --- what can happen

    @rule(is_stored=st.sampled_from([True, True, False]), goes_on=st.booleans())
    @precondition(lambda self: self.appending is None)
    def initialize(self, is_stored: bool, goes_on: bool) -> None:
        expected = self.producer if goes_on else None
        self.ask(Initialize(TIMEOUT_MS, expected), is_stored)

    @rule(places=st.sets(st.sampled_from(PLACES), min_size=1), is_stored=st.sampled_from([True, True, False]))
    @precondition(lambda self: self.producer is not None and self.appending is None)
    def add(self, places: set[TopicPartition], is_stored: bool) -> None:
        assert self.producer is not None
        if self.ask(AddPartitions(*self.producer, frozenset(places)), is_stored) is E.NONE:
            self.added |= places

    @rule(place=st.sampled_from(PLACES))
    @precondition(lambda self: self.producer is not None)
    def produce(self, place: TopicPartition) -> None:
        if place not in self.added:
            return
        assert self.producer is not None
        sequence = self.sequences.get(place, 0)
        builder = BatchBuilder(
            producer_id=self.producer[0], producer_epoch=self.producer[1], base_sequence=sequence, is_transactional=True
        )
        value = f"v{self.value_count}"
        builder.append(0, None, value.encode())
        if self.partitions[place].write(read_header(builder.build()), value):
            self.value_count += 1
            self.sequences[place] = sequence + 1
            self.current.add(value)
            if self.txn.state.is_prepared:
                # It was fenced, and the marker that says so has not come here yet.
                assert self.txn.state.name == "PREPARE_ABORT"
                self.decided[value] = False
            else:
                self.undecided.add(value)

    @rule(is_commit=st.booleans(), is_stored=st.sampled_from([True, True, False]))
    @precondition(lambda self: self.producer is not None and self.appending is None)
    def end(self, is_commit: bool, is_stored: bool) -> None:
        assert self.producer is not None
        if self.ask(End(*self.producer, is_commit), is_stored) is E.NONE:
            if is_commit:
                self.told_committed |= self.current
            self.current, self.added = set(), set()

    @rule(place=st.sampled_from(PLACES))
    @precondition(lambda self: self.markers is not None)
    def bring_marker(self, place: TopicPartition) -> None:
        """A marker arrives, perhaps a second time, as its sender did not get the answer."""
        markers = self.markers
        assert markers is not None
        if place in markers.partitions:
            code = self.partitions[place].mark(markers.producer_id, markers.producer_epoch, markers.is_commit)
            assert code is E.NONE, "nobody else decides"
            self.unmarked.discard(place)

    @rule(is_stored=st.sampled_from([True, True, False]))
    @precondition(lambda self: self.markers is not None and not self.unmarked and self.appending is None)
    def complete(self, is_stored: bool) -> None:
        self.markers = None
        self.happen(MarkersWritten())
        while not is_stored:
            assert self.appending is not None
            self.appending = None
            self.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE))
            assert self.txn.pending is not None, "what is told everywhere is never forgotten"
            is_stored = True
        self.write_pending()

    @rule(later_ms=st.sampled_from([1, TIMEOUT_MS + 1]), is_stored=st.booleans())
    @precondition(lambda self: self.appending is None)
    def let_time_pass(self, later_ms: int, is_stored: bool) -> None:
        self.now_ms += later_ms
        self.happen(TimeOut())
        if self.appending is not None:
            if is_stored:
                self.write_pending()
            else:
                append, self.appending = self.appending, None
                self.happen(AppendFailed(E.COORDINATOR_NOT_AVAILABLE, append.is_fence))

    @rule()
    def crash(self) -> None:
        """The coordinator is gone with all it knew but what is stored; another one reads that."""
        self.appending, self.markers, self.unmarked = None, None, set()
        if self.stored is None:
            self.next_producer_id += 1
            self.txn = Transaction("tx", self.next_producer_id)
        else:
            self.txn = decode_value("tx", self.stored)
        self.happen(Loaded())

    # --- what must hold

    @invariant()
    def readers_see_what_was_committed_and_nothing_that_was_aborted(self) -> None:
        for partition in self.partitions.values():
            for value in partition.committed():
                assert self.decided.get(value) is True, f"{value} is read and was not committed"

    @invariant()
    def the_last_stable_offset_never_goes_back(self) -> None:
        for partition in self.partitions.values():
            assert partition.stable_offset >= partition.highest_stable
            partition.highest_stable = partition.stable_offset

    @invariant()
    def what_a_client_was_told_is_so(self) -> None:
        for value in self.told_committed:
            assert self.decided.get(value) is True

    @invariant()
    def epochs_stay_below_the_last(self) -> None:
        assert self.txn.producer_epoch <= LAST_EPOCH
        assert self.producer is None or self.producer[1] < LAST_EPOCH

    def teardown(self) -> None:
        """Once every outcome is told, all that was committed is read."""
        self.crash()
        self.now_ms += TIMEOUT_MS + 1
        self.let_time_pass(TIMEOUT_MS + 1, True)
        if self.markers is not None:
            for place in self.markers.partitions:
                self.bring_marker(place)
            self.complete(True)
        committed = set[str]().union(*(partition.committed() for partition in self.partitions.values()))
        assert {value for value, is_commit in self.decided.items() if is_commit} == committed
        assert all(partition.stable_offset == partition.end_offset for partition in self.partitions.values())
        assert not self.undecided


TestCoordination = Coordination.TestCase
TestCoordination.settings = settings(max_examples=3 * settings().max_examples, stateful_step_count=50, deadline=None)
