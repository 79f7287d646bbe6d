"""What jobs have in common: of facts that came twice the first stays."""

import pytest

from barnabas.pipeline import facts
from tests.spark import frame_of, shared_session

DDL = "kind STRING, id STRING, value INT, _topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"


@pytest.mark.parametrize("most_repeated", [0, 10])
def test_the_first_of_repeats_stays_however_many_there_are(monkeypatch: pytest.MonkeyPatch, most_repeated: int):
    monkeypatch.setattr(facts, "_MOST_REPEATED", most_repeated)
    # The last two are one record that two runs have read.
    came = [("view", "a", 0, 5), ("view", "a", 0, 3), ("click", "a", 0, 9), ("view", "b", 1, 1), ("view", None, 0, 7)]
    came += [("view", None, 0, 6), ("view", "c", 1, 2), ("view", "c", 1, 2)]
    rows = [
        {"kind": kind, "id": name, "value": offset, "_topic": "views", "_partition": number, "_offset": offset}
        for kind, name, number, offset in came
    ]
    found = facts.once(frame_of(shared_session(), rows, DDL))
    assert found.columns == ["kind", "id", "value"]
    expected = [("click", "a", 9), ("view", None, 6), ("view", "a", 3), ("view", "b", 1), ("view", "c", 2)]
    assert sorted(map(tuple, found.collect()), key=str) == sorted(expected, key=str)
