"""What a client without rights makes a broker keep: no more than its own bounds, however it calls things."""

import pytest

from barnabas.testing import Broker
from benchmarks.attacks.memory import ATTACKS, attack, deny
from benchmarks.attacks.target import AUTHORIZED, Target
from tools.kafka.server import free_port

# By names of 32 KB: 64 MB of them.
COUNT = 2_000
KEPT_MB = 20
MOST_PAGE_MB = 5


@pytest.mark.parametrize("what", ATTACKS)
def test_long_names_are_not_kept(what: str) -> None:
    frames, _ = ATTACKS[what]
    http = f"127.0.0.1:{free_port()}"
    with Broker(config={**AUTHORIZED, "barnabas.http.listeners": http}, host="::") as broker:
        deny(broker.port)
        grown = attack(Target(broker.port, broker.pid), frames(COUNT), f"http://{http}/metrics", settled_s=0)
        assert grown.during_mb < grown.before_mb + KEPT_MB
        assert grown.page_mb is not None
        assert grown.page_mb < MOST_PAGE_MB
