"""What a watch tells of a consumer is what it does, or nothing: however its commits and the samples are interleaved."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.types import TopicPartition
from barnabas.migration.offsets.evidence import Commits, Sample, partition_evidence
from barnabas.wire.registry.consumer_groups import StoredOffset

T0 = TopicPartition("t", 0)


class Sides:
    """Both sides of one partition, written and read step by step."""

    def __init__(self, zookeeper: int | None, kafka: int | None) -> None:
        self.zookeeper = None if zookeeper is None else StoredOffset(zookeeper, 0, 0)
        self.kafka = kafka
        self.samples: list[Sample] = []
        self.owner = "c"
        # A consumer's first commit is made also where nothing has changed.
        self.is_first = True
        self._seen: StoredOffset | None = None
        self._seen_owner = ""

    def write(self, side: str, offset: int) -> None:
        if side == "kafka":
            self.kafka = offset
        elif self.zookeeper is None or self.zookeeper.offset != offset or self.is_first:
            self.is_first = False
            version = 0 if self.zookeeper is None else self.zookeeper.version + 1
            self.zookeeper = StoredOffset(offset, version, 0)

    def read(self, side: str) -> None:
        if side == "zookeeper":
            self._seen_owner, self._seen = self.owner, self.zookeeper
            return
        stored = {} if self._seen is None else {T0: self._seen}
        self.samples.append(Sample({T0: self._seen_owner}, stored, {} if self.kafka is None else {T0: self.kafka}))


SIDES: dict[Commits, list[tuple[str, ...]]] = {
    Commits.ZOOKEEPER: [("zookeeper",)],
    Commits.KAFKA: [("kafka",)],
    # As Kafka does it, and the other way round.
    Commits.BOTH: [("kafka", "zookeeper"), ("zookeeper", "kafka")],
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[Commits, list[Sample]]:
    """A partition whose owner always commits in one way, watched; before it may have had another owner."""
    mode = draw(st.sampled_from(list(SIDES.keys())))
    order = draw(st.sampled_from(SIDES[mode]))
    offset = draw(st.integers(0, 20))
    if mode is Commits.BOTH:
        # It began with the larger of both, and has committed that.
        sides = Sides(offset, offset)
    else:
        held_elsewhere = st.none() | st.integers(0, 60)
        own, other = offset, draw(held_elsewhere)
        sides = Sides(own, other) if mode is Commits.ZOOKEEPER else Sides(other, own)
    if draw(st.booleans()):
        sides.owner = "before"
        for each in draw(st.lists(st.integers(0, 5), max_size=4)):
            sides.read("zookeeper")
            sides.read("kafka")
            for side in draw(st.sampled_from([("zookeeper",), ("kafka",), ("kafka", "zookeeper")])):
                sides.write(side, offset + each)
        sides.owner, sides.is_first = "c", True
        held = [sides.zookeeper.offset if sides.zookeeper else 0, sides.kafka or 0]
        offset = {Commits.BOTH: max(held), Commits.ZOOKEEPER: held[0], Commits.KAFKA: held[1]}[mode]
        if mode is Commits.BOTH:
            sides.write("kafka", offset)
            sides.write("zookeeper", offset)
    for action in draw(st.lists(st.sampled_from(["sample", "commit", "overlap"]), min_size=2, max_size=12)):
        if action != "sample":
            offset += draw(st.integers(0, 5))
        writes = [] if action == "sample" else [("write", side) for side in order]
        reads = [] if action == "commit" else [("read", "zookeeper"), ("read", "kafka")]
        # One sample at most falls into a commit: it takes less than the time between two.
        while writes or reads:
            from_writes = bool(writes) and (not reads or draw(st.booleans()))
            kind, side = (writes if from_writes else reads).pop(0)
            if kind == "write":
                sides.write(side, offset)
            else:
                sides.read(side)
    sides.read("zookeeper")
    sides.read("kafka")
    return mode, sides.samples


@given(histories())
def test_a_watch_is_right_or_silent(history: tuple[Commits, list[Sample]]) -> None:
    mode, samples = history
    (found,) = partition_evidence(samples)
    assert found.commits in (mode, Commits.SILENT)
    if mode is Commits.BOTH and len(samples) > 1:
        assert not found.is_behind_in_kafka
        assert not found.is_behind_in_zookeeper
