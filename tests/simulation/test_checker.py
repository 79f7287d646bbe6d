"""The checker finds each rule broken, and nothing wrong where nothing is: histories made by hand."""

from dataclasses import replace

import pytest

from tests.simulation.checker import (
    IN_THE_END,
    Append,
    Commit,
    Entry,
    Found,
    Led,
    Observed,
    Read,
    Replica,
    Transaction,
    violations,
)

P = "t-0"
ENTRIES = (Entry(0, 0, "a"), Entry(1, 0, "b"), Entry(2, 2, None), Entry(3, 2, "c"))


def replica(broker: int = 1, entries: tuple[Entry, ...] = ENTRIES, high_watermark: int = 4, end: int = 4) -> Replica:
    return Replica(broker, P, high_watermark, 0, end, entries)


def good() -> Observed:
    """Two producers, a reader, a group, a leader that changed once, two replicas."""
    return Observed(
        appends=[
            Append("p", P, "a", 0, 10, 0),
            Append("q", P, "b", 5, 20, 1),
            Append("p", P, "c", 30, None, None),
            Append("q", P, "never written", 35, None, None),
        ],
        reads=[Read("r", P, 0, "a"), Read("r", P, 1, "b"), Read("r", P, 3, "c"), Read("again", P, 0, "a")],
        commits=[Commit("g", P, 1, 10, 12), Commit("g", P, 2, 20, None), Commit("g", P, 4, 40, 41)],
        found=[Found("g", P, 0, 11, 13), Found("g", P, 1, 14, 15), Found("g", P, 2, 30, 31), Found("g", P, 4, 50, 51)],
        led=[
            Led("b1#1", 1, P, 0, 0, 0, 1),
            Led("b1#1", 1, P, 0, 2, 0, 21),
            Led("b2#1", 2, P, 2, 1, 0, 25),
            Led("b2#1", 2, P, 2, 4, 0, 40),
        ],
        replicas=[replica(1), replica(2)],
        transactions=[
            Transaction("x-0", ("a", "b"), True),
            Transaction("x-1", ("c",), None),
            Transaction("x-2", ("gone",), None),
            Transaction("x-3", ("aborted",), False),
            Transaction("x-4", (), True),
        ],
        committed=[Read("s", P, -1, "a"), *(Read(IN_THE_END, P, -1, value) for value in "abc")],
    )


def test_nothing_is_wrong_with_a_good_history() -> None:
    assert violations(good()) == []
    assert violations(Observed()) == []


def changed(**fields: object) -> Observed:
    return replace(good(), **fields)  # type: ignore[arg-type]  # named by each case


def more(name: str, *items: object) -> Observed:
    return changed(**{name: [*getattr(good(), name), *items]})


def with_log(*entries: Entry, end: int = 4) -> Observed:
    return changed(replicas=[replica(broker, entries, 4, end) for broker in (1, 2)])


BROKEN = {
    "an acknowledged record is missing": (
        with_log(ENTRIES[0], *ENTRIES[2:]),
        "b was acknowledged at t-0:1 and stands at []",
    ),
    "an acknowledged record stands elsewhere": (
        with_log(ENTRIES[0], ENTRIES[2], Entry(3, 2, "b"), Entry(4, 2, "c"), end=5),
        "b was acknowledged at t-0:1 and stands at [3]",
    ),
    "no replica is left": (changed(replicas=[]), "a was acknowledged at t-0:0 and stands at []"),
    "a record stands twice": (with_log(*ENTRIES, Entry(4, 2, "b"), end=5), "b stands in t-0 at [1, 4]"),
    "a record of nobody": (with_log(*ENTRIES, Entry(4, 2, "x"), end=5), "x stands in t-0, and nobody wrote it there"),
    "who began later stands before": (
        changed(appends=[Append("p", P, "c", 0, 1, 3), Append("q", P, "a", 2, 3, 0), Append("r", P, "b", 0, None, 1)]),
        "c was acknowledged at 1, a begun at 2, and it stands before it in t-0: 0, 3",
    ),
    "who began later stands before, and was never acknowledged": (
        changed(
            appends=[Append("p", P, "c", 0, 1, 3), Append("q", P, "a", 2, None, None), Append("r", P, "b", 0, 9, 1)]
        ),
        "c was acknowledged at 1, a begun at 2, and it stands before it in t-0: 0, 3",
    ),
    "a producer's own order": (
        changed(appends=[Append("p", P, "b", 0, 9, 1), Append("p", P, "a", 1, 9, 0), Append("q", P, "c", 2, 9, 3)]),
        "b was written by p before a, and stands behind it",
    ),
    "what was read is gone": (more("reads", Read("s", P, 4, "d")), "s read d at t-0:4, where None stands"),
    "what was read is another one": (more("reads", Read("s", P, 1, "a")), "s read a at t-0:1, where b stands"),
    "a reader skips": (more("reads", Read("s", P, 0, "a"), Read("s", P, 3, "c")), "s skipped t-0:[1]"),
    "a reader goes back": (more("reads", Read("r", P, 1, "b")), "r read t-0:1 after 3"),
    "two lead in an epoch": (more("led", Led("b1#2", 1, P, 2, 4, 0, 41)), "[1, 2] all led t-0 in epoch 2"),
    "epochs go back along a log": (
        with_log(ENTRIES[0], Entry(1, 3, "b"), *ENTRIES[2:]),
        "t-0:2 on 1 is of epoch 2, behind one of 3",
    ),
    "offsets go back along a log": (with_log(*ENTRIES, Entry(3, 2, None)), "t-0:3 on 1 stands behind 3"),
    "a high watermark goes back": (
        more("led", Led("b2#1", 2, P, 2, 3, 0, 41)),
        "high_watermark of t-0 at b2#1, epoch 2, went from 4 to 3 at 41",
    ),
    "a log start goes back": (
        more("led", Led("b2#1", 2, P, 2, 4, 1, 41), Led("b2#1", 2, P, 2, 4, 0, 42)),
        "log_start_offset of t-0 at b2#1, epoch 2, went from 1 to 0 at 42",
    ),
    "what was below a high watermark is gone": (
        more("led", Led("b2#1", 2, P, 2, 5, 0, 41)),
        "t-0 ends at 4, and b2#1 had a high watermark of 5 at 41",
    ),
    "replicas differ below the high watermark": (
        changed(replicas=[replica(1), replica(2, (ENTRIES[0], Entry(1, 1, "b"), *ENTRIES[2:]))]),
        "t-0 differs on 1 and 2, below the high watermark 4: Entry(offset=1, epoch=0, value='b'), "
        "Entry(offset=1, epoch=1, value='b')",
    ),
    "replicas differ above it": (
        changed(replicas=[replica(1, high_watermark=3), replica(2, (*ENTRIES[:3], Entry(3, 2, "d")))]),
        "t-0 differs on 1 and 2, above the high watermark 3: Entry(offset=3, epoch=2, value='c'), "
        "Entry(offset=3, epoch=2, value='d')",
    ),
    "a replica is shorter": (
        changed(replicas=[replica(1), replica(2, ENTRIES[:3], 3, 3)]),
        "t-0 ends at 4 and 3 on 1 and 2",
    ),
    "a replica has a hole at its end": (
        changed(replicas=[replica(1), replica(2, ENTRIES[:3])]),
        "t-0 has 4 and 3 records on 1 and 2",
    ),
    "a replica begins later": (
        changed(replicas=[replica(1), replica(2)._replace(log_start_offset=1)]),
        "t-0 starts at 0 and 1 on 1 and 2",
    ),
    "a last stable offset goes back": (
        changed(led=[Led("b1#1", 1, P, 0, 4, 0, 1, 3), Led("b1#1", 1, P, 0, 4, 0, 2, 2)]),
        "last_stable_offset of t-0 at b1#1, epoch 0, went from 3 to 2 at 2",
    ),
    "a transaction in part": (
        more("transactions", Transaction("x-5", ("c", "lost"), None)),
        "x-5 can be read in part: [True, False]",
    ),
    "a committed transaction is lost": (
        more("transactions", Transaction("x-5", ("lost",), True)),
        "x-5 was committed: True; can be read: False",
    ),
    "an aborted transaction can be read": (
        more("transactions", Transaction("x-5", ("c",), False)),
        "x-5 was committed: False; can be read: True",
    ),
    "what was committed comes twice": (more("committed", Read(IN_THE_END, P, -1, "b")), "b can be read 2 times"),
    "what was read as committed is gone": (
        more("committed", Read("s", P, -1, "gone")),
        "gone was read as committed, and can't be read in the end",
    ),
    "a committed offset goes back": (
        more("found", Found("g", P, 2, 60, 61)),
        "g found t-0 at 2, 4 was committed before",
    ),
    "a committed offset is lost": (more("found", Found("g", P, 0, 60, 61)), "g found t-0 at 0, 4 was committed before"),
    "an offset that nobody committed": (
        more("found", Found("g", P, 3, 21, 22)),
        "g found t-0 at 3, which nobody had committed",
    ),
    "an offset before anybody committed it": (
        more("found", Found("g", P, 4, 20, 21)),
        "g found t-0 at 4, which nobody had committed",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_found(case: str) -> None:
    observed, expected = BROKEN[case]
    assert expected in violations(observed)


def test_what_retention_took_is_not_missed() -> None:
    entries = ENTRIES[1:]
    replicas = [Replica(broker, P, 4, 1, 4, entries) for broker in (1, 2)]
    assert violations(changed(replicas=replicas)) == []
