"""Our own clients find leaders, coordinators and the controller wherever they go, in a cluster of three Kafkas."""

from pathlib import Path

import pytest

from tests.cluster_load import play_ends
from tests.clusters import cluster_of


@pytest.mark.whole
def test_nothing_is_lost_or_doubled_while_kafkas_brokers_come_and_go(tmp_path: Path, connect: str, name: str) -> None:
    with cluster_of(("kafka",) * 3, tmp_path, connect) as members:
        assert play_ends(members, name) == []
