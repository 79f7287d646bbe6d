from barnabas.clients.mirror.offsets import RUNS_PER_SEGMENT, BatchMark, Place, Run, Segment
from barnabas.clients.mirror.places import advanced, split_runs

PLACE = Place("t", 20, 3, (Run(10, 100, 5),), 8, BatchMark(19, 7, 7))


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
    assert advanced(PLACE, 25, mark, [Run(20, 106, 2)], [9]) == (
        Place("t", 25, 3, (Run(10, 100, 5), Run(20, 106, 2)), 9, mark),
        [],
    )
    assert advanced(PLACE, 25, None, []) == (Place("t", 25, 3, PLACE.runs, 8, PLACE.batch), [])


def test_offsets_of_a_target_that_was_made_anew_are_forgotten():
    made = Place("t", 30, 3, (Run(22, 0, 3),), 20, PLACE.batch)
    assert advanced(PLACE, 30, None, [Run(22, 0, 2), Run(24, 2, 1)]) == (made, [])
    # What is mirrored next is in step with that.
    assert advanced(made, 31, None, [Run(30, 4, 1)])[0].runs == (Run(22, 0, 3), Run(30, 4, 1))
