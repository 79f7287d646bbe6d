"""Groups of our own consumers on a real ZooKeeper: what `test_consumer_connector.py` tells of the broker's own tree."""

from collections.abc import Iterator

import pytest

from tests.integration.old_group import Site
from tests.integration.test_consumer_connector import (  # noqa: F401
    name,
    test_a_member_whose_session_expires_comes_back_and_no_offset_goes_back,
    test_members_come_and_go_and_nothing_is_lost_or_read_twice,
    test_the_partitions_that_a_topic_grows_by_are_read,
)
from tools.kafka.zookeeper import ZooKeeper


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as zookeeper, Site(zookeeper.connect) as site:
        yield site
