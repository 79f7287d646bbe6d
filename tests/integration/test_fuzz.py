"""The short form of `scripts/soak --fuzz`: what it begins with, and what it found, given to each door again."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.fuzz.__main__ import DOORS, FINDS
from tests.fuzz.doors import NetworkDoor
from tests.fuzz.files import FilesDoor
from tests.fuzz.seeds import seeds

_SEED_COUNT = 100


@pytest.mark.parametrize("door", DOORS)
def test_a_door_takes_what_fuzzing_begins_with_and_what_it_found(door):
    with closing(FilesDoor() if door == "files" else NetworkDoor(door)) as target:
        given = target.seeds if isinstance(target, FilesDoor) else seeds(door)
        for data in given[:: max(len(given) // _SEED_COUNT, 1)]:
            target(data)
        for path in sorted(Path(FINDS / door).glob("*")):
            target(path.read_bytes())
