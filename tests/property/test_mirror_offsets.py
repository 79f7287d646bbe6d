"""Offsets that the table of a mirror translates, against a list of what was mirrored where."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.clients.mirror.offsets import (
    Coverage,
    MirrorOffsets,
    Place,
    Run,
    SourcePartition,
    advanced,
    extended,
    place_record,
    segment_record,
    segment_tombstone,
)

SOURCE = SourcePartition("m", "c", "t", 0)
RUNS_PER_SEGMENT = 3

# Offsets of the source: a record that is mirrored, or one that is not (a marker, aborted, compacted, of the target).
_TRANSACTION = st.lists(st.booleans(), max_size=12)
# Records of others that come into the target before each record of a transaction; how far the source is cut before it;
# whether the target was made anew before it.
_HISTORY = st.lists(
    st.tuples(
        _TRANSACTION,
        st.lists(st.integers(0, 2), min_size=12, max_size=12),
        st.integers(0, 40),
        st.integers(0, 5).map(lambda number: number == 5),
    )
)


class _Mirror:
    """Writes a table as a mirror does, with small segments, and notes what is in the target, and where."""

    def __init__(self, begin: int) -> None:
        self.table = MirrorOffsets()
        self.place = Place("t", begin, 1, (), begin)
        self.mirrored: list[tuple[int, int]] = []
        # Below it nobody needs to be translated exactly.
        self.least_begin = begin
        self._target_end = 0
        self._is_new = False

    def make_target_anew(self) -> None:
        self._target_end = 0
        self._is_new = True

    def commit(self, transaction: list[bool], others: list[int], log_start_offset: int) -> None:
        log_start_offset = min(log_start_offset, self.place.position)
        self.least_begin = max(self.least_begin, log_start_offset)
        offset, pairs = self.place.position, []
        for is_mirrored, other_count in zip(transaction, others, strict=False):
            if is_mirrored:
                # Others that have made it as long as it was can't be told from those that were there.
                self._target_end += 0 if self._is_new and not pairs else other_count
                pairs.append((offset, self._target_end))
                self._target_end += 1
            offset += 1
        # The marker.
        self._target_end += bool(pairs)
        if pairs and self._is_new:
            self._is_new = False
            if self.mirrored:
                self.mirrored = []
                self.least_begin = self.place.position
        self.mirrored += pairs
        known = self.table.segments.get(SOURCE, {})
        forgotten = {first: each.end_offset for first, each in known.items() if each.end_offset <= log_start_offset}
        self.place, segments = advanced(self.place, offset, None, _runs(pairs), forgotten.values(), RUNS_PER_SEGMENT)
        for first in forgotten:
            self.table.apply(segment_tombstone(SOURCE, first), None)
        for segment in segments:
            self.table.apply(*segment_record(SOURCE, segment))
        self.table.apply(*place_record(SOURCE, self.place))


def _runs(pairs: list[tuple[int, int]]) -> list[Run]:
    return [Run(*pair, 1) for pair in pairs]


@given(st.integers(0, 5), _HISTORY)
def test_a_translated_offset_is_that_of_the_first_mirrored_record_not_below_it(
    begin: int, history: list[tuple[list[bool], list[int], int, bool]]
) -> None:
    mirror = _Mirror(begin)
    assert mirror.table.translate(SOURCE, 0) is None
    for transaction, others, log_start_offset, is_made_anew in history:
        if is_made_anew:
            mirror.make_target_anew()
        mirror.commit(transaction, others, log_start_offset)
        held = [pair for pair in mirror.mirrored if pair[0] >= mirror.place.begin]
        for offset in range(mirror.place.position + 3):
            found = mirror.table.translate(SOURCE, offset)
            assert found is not None
            expected = next((target for source, target in held if source >= offset), None)
            if expected is None and held:
                expected = held[-1][1] + 1
            assert found.offset == expected
            if offset < mirror.place.begin:
                assert found.coverage is Coverage.BEFORE
            elif offset > mirror.place.position:
                assert found.coverage is Coverage.AHEAD
            else:
                assert found.coverage is Coverage.EXACT
        # Whoever could read on in the source is translated exactly.
        assert mirror.place.begin <= mirror.least_begin


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40), st.integers(0, 40))
def test_runs_are_all_pairs_of_offsets_and_as_few_as_can_be(gaps: list[tuple[int, int]], split: int) -> None:
    pairs, source, target = [], 0, 0
    for source_gap, target_gap in gaps:
        source, target = source + source_gap, target + target_gap
        pairs.append((source, target))
        source, target = source + 1, target + 1
    runs = extended(extended((), _runs(pairs[:split])), _runs(pairs[split:]))
    assert [(run.source_offset + n, run.target_offset + n) for run in runs for n in range(run.record_count)] == pairs
    breaks = sum(one != (0, 0) for one in gaps[1:])
    assert len(runs) == (breaks + 1 if pairs else 0)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_make_the_table_fail(key: bytes, value: bytes) -> None:
    offsets = MirrorOffsets()
    offsets.apply(key, value)
    offsets.apply(b'["place","m","c","t",0]', value)
    offsets.apply(b'["segment","m","c","t",0,0]', value)
    assert offsets.translate(SOURCE, 1) is None
