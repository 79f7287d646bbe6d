"""What a broker tells whoever started it, once clients can connect."""

import json
import os
from types import SimpleNamespace

import pytest

from barnabas.broker.server import lifecycle
from barnabas.broker.server.lifecycle import _announce
from barnabas.core.errors import StorageError


@pytest.fixture
def node():
    config = SimpleNamespace(log_dirs=["/one", "/two"])
    return SimpleNamespace(
        address=("10.1.2.3", 9092), broker_id=7, cluster_id="cluster", config=config, http_monitoring=None
    )


def test_one_line_for_people(node, capsys):
    _announce(node, None)
    assert capsys.readouterr().out == (
        "barnabas broker 7 listens on 10.1.2.3:9092, cluster cluster, data in /one, /two\n"
    )


def test_one_line_for_programs_and_then_the_end(node, capsys):
    reading_fd, ready_fd = os.pipe()
    _announce(node, ready_fd)
    with os.fdopen(reading_fd) as ready:
        # Read to its end: the descriptor was closed.
        assert [json.loads(line) for line in ready] == [
            {"host": "10.1.2.3", "port": 9092, "cluster_id": "cluster", "broker_id": 7}
        ]


def test_programs_are_told_where_the_figures_are(node):
    node.http_monitoring = SimpleNamespace(addresses=[("127.0.0.1", 9644)])
    reading_fd, ready_fd = os.pipe()
    _announce(node, ready_fd)
    with os.fdopen(reading_fd) as ready:
        assert json.loads(ready.readline())["http"] == ["127.0.0.1:9644"]


@pytest.mark.parametrize(
    ("is_recovering", "failure", "exits"),
    [(True, None, True), (False, None, False), (True, StorageError("the disk is gone"), False)],
)
def test_a_stop_during_a_recovery_exits_at_once(node, monkeypatch, is_recovering, failure, exits):
    """Threads that recover logs can't be cancelled, and may need minutes."""
    exited = []
    monkeypatch.setattr(lifecycle, "exit_at_once", lambda: exited.append(True))
    node.is_recovering, node.failure = is_recovering, failure
    lifecycle._exit_during_recovery(node)
    assert bool(exited) == exits
