"""Histories of clusters find deliberate faults, the short form of `scripts/soak --cluster-mutations`."""

from collections.abc import Iterator

import pytest

from tests.mutations.faults import choose, load_faults
from tests.mutations.trial import Copy, copied_tree
from tests.simulation.cluster_mutations import FAULTS, find

FOUND_SOON = ["acknowledged-before-the-followers", pytest.param("leader-that-is-not-in-sync", marks=pytest.mark.whole)]
# The first one finds the fault today. When it no longer does, one of the next ones will.
FIRST_SEED, MOST_HISTORIES = 5, 25


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    with copied_tree(set()) as copy:
        yield copy


@pytest.mark.parametrize("name", FOUND_SOON)
def test_a_fault_is_found_within_a_few_histories(copy: Copy, name: str) -> None:
    (fault,) = choose(load_faults(), [name])
    assert find(copy, fault, FIRST_SEED, MOST_HISTORIES).violation


def test_the_faults_of_the_long_form_are_there() -> None:
    assert len(choose(load_faults(), FAULTS)) == len(FAULTS) >= 10
