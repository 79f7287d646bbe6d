"""How the file descriptors of a process are shared out between connections and logs."""

import resource

import pytest

from barnabas.broker.server.process_resources import (
    highest_connection_descriptor,
    most_partitions,
    raise_open_file_limit,
)


@pytest.fixture
def limits(monkeypatch):
    """The limits of a process, soft and hard; what was set replaces them."""
    limits = [1_024, 4_096]
    monkeypatch.setattr(resource, "getrlimit", lambda what: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda what, values: limits.__setitem__(slice(None), values))
    return limits


def test_all_that_the_system_gives_is_taken(limits):
    raise_open_file_limit()
    assert limits == [4_096, 4_096]


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_system_that_names_more_than_it_grants_is_taken_as_it_is(limits, monkeypatch, error):
    def refuse(what, values):
        raise error("no")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    raise_open_file_limit()
    assert limits == [1_024, 4_096]


def test_connections_leave_a_quarter_to_files_and_partitions_take_half(limits):
    assert highest_connection_descriptor() == 768
    assert most_partitions() == 512


def test_without_a_limit_there_is_none(limits):
    limits[0] = resource.RLIM_INFINITY
    assert highest_connection_descriptor() == -1
    assert most_partitions() == 1 << 31
