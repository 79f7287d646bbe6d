"""Responses that peers do not read: which connections are closed, and when."""

import pytest

from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.net.unsent_responses import UnsentResponses

LIMIT = 100


class Keeper:
    """What keeps responses, and was closed or not."""

    def __init__(self, responses: UnsentResponses) -> None:
        self._responses = responses
        self.is_closed = False

    def close(self, reason: str) -> None:
        assert reason
        assert not self.is_closed
        self.is_closed = True
        self._responses.forget(self)


@pytest.mark.parametrize(
    ("kept", "closed"),
    [
        ([1_000_000], []),
        ([50, 50], []),
        ([LIMIT] * 2, []),
        # The largest is exempt, so that a response of any size is possible.
        ([1_000_000, 50, 50], []),
        ([1_000_000, 50, 51], [2]),
        ([50, 51, 1_000_000], [1]),
        ([30] * 5, [1]),
        ([60, 10, 1_000_000, 60], [0]),
        ([10, 60, 30, 20, 1_000_000, 1_000_000], [5, 1]),
        ([LIMIT + 1, LIMIT + 2], [0]),
    ],
)
def test_the_largest_but_one_is_closed_above_the_limit(kept: list[int], closed: list[int]) -> None:
    deferred = []
    responses = UnsentResponses(LIMIT, Scheduler(deferred.append, lambda: 1))
    keepers = [Keeper(responses) for _ in kept]
    for keeper, count in zip(keepers, kept, strict=True):
        responses.note(keeper, count)
    # Only at the end of the turn, because any of them may be in the middle of its work.
    assert not any(keeper.is_closed for keeper in keepers)
    for task in deferred:
        task()
    assert [number for number, keeper in enumerate(keepers) if keeper.is_closed] == sorted(closed)


def test_what_is_read_or_gone_does_not_count() -> None:
    deferred = []
    responses = UnsentResponses(LIMIT, Scheduler(deferred.append, lambda: 1))
    keepers = [Keeper(responses) for _ in range(50)]
    for keeper in keepers:
        responses.note(keeper, 60)
        responses.note(keeper, 40)
        responses.note(keeper, 1)
    assert responses.used_bytes == 50
    for keeper in keepers:
        responses.forget(keeper)
        responses.forget(keeper)
    assert (responses.used_bytes, deferred) == (0, [])
