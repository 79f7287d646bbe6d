"""Our controller does what Kafka's did in each recording: the same requests to each broker, the same writes.

What differs on purpose is named, line by line.
"""

import asyncio
import difflib

import pytest

from tests.golden.cluster.player import Player
from tests.golden.cluster.recording import RECORDINGS, Recording
from tests.patience import PATIENCE_S

NAMES = sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))

_OBEYED = "Kafka names the epoch that broker 3 knows, so its copy stays for good (KAFKA-13972); ours is obeyed"
_TOO_LATE = "Kafka's broker 2 had ended before it could be sent; a broker that lives a moment longer gets it (ibp26)"

DIFFERENCES: dict[str, dict[str, str]] = {
    "10-reassign-cancel": {
        "- 1->3 STOP_REPLICA v3 controller 1:1 epoch 105 c-0(e=1 delete=True)": _OBEYED,
        "+ 1->3 STOP_REPLICA v3 controller 1:1 epoch 105 c-0(e=2 delete=True)": _OBEYED,
    },
    "ibp011-controlled-shutdown": {"+ 1->2 STOP_REPLICA v0 controller 1:1 delete False t-0()": _TOO_LATE},
    "ibp23-controlled-shutdown": {"+ 1->2 STOP_REPLICA v1 controller 1:1 epoch 51 delete False t-0": _TOO_LATE},
}
"""Recording to the lines that differ (`-` Kafka's, `+` ours), and why."""


def differences(kafkas: list[str], ours: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(kafkas, ours) if line[0] in "-+"]


@pytest.mark.parametrize("name", NAMES)
def test_the_controller_does_as_kafkas(name: str) -> None:
    recording = Recording(name)
    player = Player(recording)
    asyncio.run(asyncio.wait_for(player.play(), PATIENCE_S))
    found = []
    for sender, receiver in sorted(recording.requests().keys() | player.requests.keys()):
        way = (sender, receiver)
        lines = differences(recording.requests().get(way, []), player.requests.get(way, []))
        found += [f"{line[0]} {sender}->{receiver} {line[2:]}" for line in lines]
    written = recording.writes()
    for path in sorted(written.keys() | player.writes.keys()):
        found += differences(written.get(path, []), player.writes.get(path, []))
    for api, answers in player.answers.items():
        found += differences([str(each) for each in recording.asked(api)], [str(each) for each in answers])
    assert sorted(found) == sorted(DIFFERENCES.get(name, {}))
