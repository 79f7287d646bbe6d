"""The generator's reading of schemas: versions, names, shapes."""

import pytest

from tests.golden.test_vectors import ROOT
from tools.codegen.classes import default_value
from tools.codegen.schema import Field, Versions, load_messages, snake_case
from tools.codegen.shapes import least_size, shape_of

SCHEMAS = load_messages(ROOT / "schemas/messages")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3+", [3, 99], [2]), ("1-4", [1, 4], [0, 5]), ("2", [2], [1, 3]), ("none", [], [0, 1]), (None, [], [0])],
)
def test_versions_know_what_they_contain(text: str | None, inside: list[int], outside: list[int]) -> None:
    versions = Versions.parse(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)
    assert str(versions) == (text or "none")


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("PreferredReadReplica", "preferred_read_replica"),
        ("timeoutMs", "timeout_ms"),
        ("LeaderAndIsr", "leader_and_isr"),
    ],
)
def test_names_become_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def field(message: str, name: str) -> Field:
    return next(found for s in SCHEMAS[message].structs for found in s.fields if found.name == name)


def test_default_is_the_schemas_or_that_of_the_type() -> None:
    assert default_value(field("FetchResponse", "current_leader")) == "LeaderIdAndEpoch()"
    assert default_value(field("CreateTopicsResponse", "configs")) == "[]"
    assert default_value(field("HeartbeatRequest", "group_instance_id")) == "None"
    assert default_value(field("FetchRequest", "max_bytes")) == str(0x7FFFFFFF)


def test_versions_with_the_same_layout_share_a_shape() -> None:
    heartbeat = SCHEMAS["HeartbeatRequest"].struct
    assert shape_of(heartbeat, 0, False) == shape_of(heartbeat, 2, False)
    assert shape_of(heartbeat, 2, False) != shape_of(heartbeat, 3, False)
    assert shape_of(heartbeat, 3, False) != shape_of(heartbeat, 4, True)


def test_least_size_is_that_of_all_defaults() -> None:
    heartbeat = SCHEMAS["HeartbeatRequest"].struct
    assert least_size(heartbeat, 0, False) == 2 + 4 + 2
    assert least_size(heartbeat, 4, True) == 1 + 4 + 1 + 1 + 1
