"""The offset table of a mirror: what its records look like, and which offsets it translates into which."""

from dataclasses import replace

import pytest

from barnabas.clients.mirror.offsets import (
    RUNS_PER_SEGMENT,
    BatchMark,
    Coverage,
    MirrorOffsets,
    Owner,
    Place,
    ProducerPath,
    Run,
    Segment,
    SourcePartition,
    Translation,
    advanced,
    extended,
    owner_record,
    path_record,
    path_tombstone,
    place_record,
    runs_of,
    segment_record,
    segment_tombstone,
    split_runs,
)

SOURCE = SourcePartition("m", "c-1", "views", 2)
BATCH = BatchMark(29, 1_700_000_000_001, 77)
PLACE = Place("eu.views", 30, 7, (Run(10, 100, 5), Run(16, 106, 4)), 8, BATCH)
OWN_PATH = ProducerPath(SOURCE, ("c-0", "c-1"))
OWNER = Owner("m", "eu", 7, "c-1", "host", 42, 1_700_000_000_000)


def known(*records: tuple[bytes, bytes | None]) -> MirrorOffsets:
    offsets = MirrorOffsets()
    for key, value in records:
        offsets.apply(key, value)
    return offsets


def test_what_is_written_is_json_that_a_person_can_read() -> None:
    assert place_record(SOURCE, PLACE) == (
        b'["place","m","c-1","views",2]',
        b'{"target":"eu.views","position":30,"begin":8,"generation":7,"runs":[10,100,5,1,1,4],'
        b'"batch":[29,1700000000001,77]}',
    )
    assert path_record(9, OWN_PATH) == (b'["path","m","c-1","views",2,9]', b'{"path":["c-0","c-1"],"end":null}')
    assert path_record(9, OWN_PATH._replace(end_offset=7)) == (
        path_tombstone(9, OWN_PATH),
        b'{"path":["c-0","c-1"],"end":7}',
    )
    assert segment_record(SOURCE, Segment("eu.views", 9, (Run(0, 90, 9),))) == (
        b'["segment","m","c-1","views",2,0]',
        b'{"target":"eu.views","end":9,"runs":[0,90,9]}',
    )
    assert owner_record(OWNER) == (
        b'["owner","m","eu"]',
        b'{"generation":7,"cluster":"c-1","host":"host","pid":42,"started_ms":1700000000000}',
    )


def test_what_was_written_is_read() -> None:
    segment = Segment("eu.views", 9, (Run(0, 90, 9),))
    without_mark = Place("eu.views", 0, 7, ())
    other = SOURCE._replace(partition=0)
    offsets = known(
        segment_record(SOURCE, segment),
        place_record(SOURCE, PLACE),
        place_record(other, without_mark),
        path_record(9, OWN_PATH),
        owner_record(OWNER),
    )
    assert (offsets.producers, offsets.places) == ({9: OWN_PATH}, {SOURCE: PLACE, other: without_mark})
    assert (offsets.segments, offsets.owners) == ({SOURCE: {0: segment}}, {("m", "eu"): OWNER})
    assert offsets.runs(SOURCE) == [Run(0, 90, 9), *PLACE.runs]
    assert offsets.runs(other) == []


def test_the_last_record_of_a_key_counts_and_a_tombstone_takes_it_away() -> None:
    later = Place("eu.views", 40, 8, ())
    segment = Segment("eu.views", 9, (Run(0, 90, 9),))
    offsets = known(
        place_record(SOURCE, PLACE),
        place_record(SOURCE, later),
        segment_record(SOURCE, segment),
        (segment_tombstone(SOURCE, 0), None),
    )
    assert (offsets.places, offsets.segments) == ({SOURCE: later}, {SOURCE: {}})


def test_the_latest_owner_is_that_of_the_name_or_of_the_cluster() -> None:
    renamed = replace(OWNER, alias="europe", generation=8)
    moved = replace(OWNER, alias="us", cluster_id="c-2", generation=9)
    offsets = known(
        *(owner_record(each) for each in (OWNER, renamed, moved, replace(OWNER, mirror="n", generation=99)))
    )
    assert offsets.latest_owner("m", "eu", "c-1") == renamed
    assert offsets.latest_owner("m", "eu", "c-3") == OWNER
    assert offsets.latest_owner("m", "eu", "c-2") == moved
    assert offsets.latest_owner("m", "asia", "c-3") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"", b"{}"),
        (b"no JSON", b"{}"),
        (b"[" * 100_000, b"{}"),
        (b'["place","m","c-1","views"]', place_record(SOURCE, PLACE)[1]),
        (b'["rank","m","c-1","views",2]', b"{}"),
        (b'["place","m","c-1","views",2]', b"no JSON"),
        (
            b'["place","m","c-1","views",2]',
            b'{"target":"t","position":1,"begin":0,"generation":1,"runs":[1],"mark":null}',
        ),
        (b'["place","m","c-1","views",2]', b'{"target":"t","position":1,"begin":0,"generation":1,"runs":[0,0,0]}'),
        (b'["segment","m","c-1","views",2,0]', b'{"target":"t","end":1,"runs":[]}'),
        (b'["segment","m","c-1","views",2,0]', b'{"target":"t","end":1,"runs":[-1,0,1]}'),
        (b'["segment","m","c-1","views",2,0]', b'{"target":"t","end":1,"runs":["1",0,1]}'),
        (b'["owner","m","eu"]', b"[]"),
        (b'["path","m","c-1","views",2,9]', b'{"path":["c-0",1],"end":null}'),
        (b'["path","m","c-1","views",2,9]', b'{"path":["c-0"],"end":"7"}'),
        (b'["path","m","c-1","views",2,9]', None),
    ],
)
def test_what_is_no_record_of_the_table_is_passed_over(key: bytes | None, value: bytes | None) -> None:
    offsets = known((key or b"", value)) if key is not None else MirrorOffsets()
    offsets.apply(key, value)
    assert (offsets.places, offsets.owners, offsets.producers) == ({}, {}, {})
    assert not any(offsets.segments.values())


def test_records_that_are_in_step_become_one_run() -> None:
    runs = extended((), [Run(3, 100, 2), Run(6, 102, 1), Run(7, 104, 1), Run(8, 105, 1)])
    assert runs == (Run(3, 100, 2), Run(6, 102, 1), Run(7, 104, 2))
    assert extended(runs, [Run(9, 106, 2)]) == (*runs[:2], Run(7, 104, 4))
    assert extended(runs, []) == runs
    assert extended((), runs_of([4, 5, 8], 20)) == (Run(4, 20, 2), Run(8, 22, 1))
    assert list(runs_of(range(4, 9), 20)) == [Run(4, 20, 5)]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, (100, Coverage.BEFORE)),
        (8, (100, Coverage.EXACT)),
        (10, (100, Coverage.EXACT)),
        (14, (104, Coverage.EXACT)),
        # Nothing of the source stands at 15: the next record is meant.
        (15, (106, Coverage.EXACT)),
        (19, (109, Coverage.EXACT)),
        (20, (110, Coverage.EXACT)),
        (30, (110, Coverage.EXACT)),
        (31, (110, Coverage.AHEAD)),
    ],
)
def test_an_offset_becomes_that_of_the_first_mirrored_record_that_is_not_below_it(
    offset: int, expected: tuple[int, Coverage]
) -> None:
    assert known(place_record(SOURCE, PLACE)).translate(SOURCE, offset) == Translation(*expected)


def test_segments_are_searched_as_well() -> None:
    first, second = Segment("t", 5, (Run(0, 0, 3),)), Segment("t", 9, (Run(6, 4, 2),))
    place = Place("t", 12, 1, ())
    offsets = known(*(segment_record(SOURCE, each) for each in (second, first)), place_record(SOURCE, place))
    found = [offsets.translate(SOURCE, offset) for offset in range(13)]
    assert [each.offset for each in found if each] == [0, 1, 2, 4, 4, 4, 4, 5, 6, 6, 6, 6, 6]
    assert {each.coverage for each in found if each} == {Coverage.EXACT}


def test_what_is_not_mirrored_has_no_translation() -> None:
    offsets = known(place_record(SOURCE, Place("t", 4, 1, ())))
    assert offsets.translate(SOURCE, 3) == Translation(None, Coverage.EXACT)
    assert offsets.translate(SOURCE._replace(mirror="other"), 3) is None


BUSY_PLACE = Place("t", 20, 3, (Run(10, 100, 5),), 8, BatchMark(19, 7, 7))


def runs(count: int) -> tuple[Run, ...]:
    return tuple(Run(10 * index, 11 * index, 5) for index in range(count))


def test_a_place_keeps_so_many_runs():
    assert split_runs(runs(RUNS_PER_SEGMENT), "t") == (runs(RUNS_PER_SEGMENT), [])


def test_older_runs_become_segments_that_speak_up_to_the_next_run():
    made = runs(2 * RUNS_PER_SEGMENT + 1)
    kept, segments = split_runs(made, "t")
    assert kept == made[-1:]
    assert segments == [
        Segment("t", made[RUNS_PER_SEGMENT].source_offset, made[:RUNS_PER_SEGMENT]),
        Segment("t", made[-1].source_offset, made[RUNS_PER_SEGMENT:-1]),
    ]


def test_a_place_is_behind_what_was_mirrored():
    mark = BatchMark(24, 8, 8)
    assert advanced(BUSY_PLACE, 25, mark, [Run(20, 106, 2)], [9]) == (
        Place("t", 25, 3, (Run(10, 100, 5), Run(20, 106, 2)), 9, mark),
        [],
    )
    assert advanced(BUSY_PLACE, 25, None, []) == (Place("t", 25, 3, BUSY_PLACE.runs, 8, BUSY_PLACE.batch), [])


def test_offsets_of_a_target_that_was_made_anew_are_forgotten():
    made = Place("t", 30, 3, (Run(22, 0, 3),), 20, BUSY_PLACE.batch)
    assert advanced(BUSY_PLACE, 30, None, [Run(22, 0, 2), Run(24, 2, 1)]) == (made, [])
    # What is mirrored next is in step with that.
    assert advanced(made, 31, None, [Run(30, 4, 1)])[0].runs == (Run(22, 0, 3), Run(30, 4, 1))
