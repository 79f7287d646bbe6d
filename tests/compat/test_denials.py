"""Every API in every version for a principal who may do little or nothing: the answers are those of Kafka 2.7.2."""

from collections.abc import Iterator

import pytest

from barnabas.broker.requests.handlers import HANDLERS
from barnabas.wire.protocol.api_keys import ApiKey
from tests.compat.conftest import TARGET, started
from tests.compat.denials import CONFIG, GOLDEN, WITH_SOME_RIGHTS, WITHOUT_RIGHTS, api_name, story

SERVED = {api_name(ApiKey(handler.api_key)) for handler in HANDLERS if handler.api_key in list(ApiKey)}
# They answer everybody, or are none of Kafka's.
OPEN_TO_ALL = {"ApiVersions", "SaslHandshake", "SaslAuthenticate", "ExplainQuotas", "Facts"}


def expected() -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in GOLDEN.read_text().splitlines():
        if line.startswith(" "):
            lines.append(line)
        elif not line.startswith("#"):
            lines = told[line] = []
    return told


EXPECTED = expected()


@pytest.fixture(scope="module")
def told() -> Iterator[dict[str, list[str]]]:
    with started(CONFIG) as running:
        yield story(running.bootstrap_servers)


@pytest.mark.parametrize("title", EXPECTED)
def test_who_may_not_is_answered_as_by_kafka(told: dict[str, list[str]], title: str) -> None:
    if TARGET != "kafka" and title.partition(" ")[0] not in SERVED:
        pytest.skip("this API is not served yet")
    assert told[title] == EXPECTED[title]


def test_every_api_that_is_served_is_asked() -> None:
    assert {title.partition(" ")[0] for title in EXPECTED} >= SERVED - OPEN_TO_ALL
    assert len(EXPECTED) == len(WITH_SOME_RIGHTS) + len(WITHOUT_RIGHTS)
