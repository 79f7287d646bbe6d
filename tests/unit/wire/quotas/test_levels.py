"""Which limit is in force: every combination of levels that are set and unset, against the documented order."""

from itertools import product

import pytest

from barnabas.wire.quotas.entities import DEFAULT, Entity, Level, entities_of, entity_of_path
from barnabas.wire.quotas.levels import Limits, Tags

# As https://kafka.apache.org/documentation/#design_quotasconfig lists them, first the one that counts most.
DOCUMENTED = [
    ("users/u/clients/c", Level.USER_CLIENT, Tags("u", "c")),
    ("users/u/clients/<default>", Level.USER_DEFAULT_CLIENT, Tags("u", "c")),
    ("users/u", Level.USER, Tags("u", "")),
    ("users/<default>/clients/c", Level.DEFAULT_USER_CLIENT, Tags("u", "c")),
    ("users/<default>/clients/<default>", Level.DEFAULT_USER_DEFAULT_CLIENT, Tags("u", "c")),
    ("users/<default>", Level.DEFAULT_USER, Tags("u", "")),
    ("clients/c", Level.CLIENT, Tags("", "c")),
    ("clients/<default>", Level.DEFAULT_CLIENT, Tags("", "c")),
]


def entity(path: str) -> Entity:
    found = entity_of_path(path)
    assert found is not None
    assert found.path == path
    return found


@pytest.mark.parametrize("static", [None, 900.0])
@pytest.mark.parametrize("is_set", list(product([False, True], repeat=8)))
def test_the_first_level_that_is_set_is_in_force(is_set: tuple[bool, ...], static: float | None) -> None:
    limits = Limits(static)
    expected = (static, None if static is None else Level.STATIC)
    tags = Tags("", "c")
    for rank in reversed(range(8)):
        if is_set[rank]:
            path, level, tags_there = DOCUMENTED[rank]
            limits.set(entity(path), 100.0 + rank)
            expected, tags = (100.0 + rank, level), tags_there
    resolution = limits.resolve("u", "c")
    assert (resolution.limit, resolution.level) == expected
    assert resolution.tags == tags
    # Whatever the order in which they were set, and whatever was set meanwhile.
    limits.set(Entity("u", "c"), 1.0)
    assert limits.resolve("u", "c").limit == 1.0
    limits.set(Entity("u", "c"), 100.0 if is_set[0] else None)
    assert limits.resolve("u", "c").limit == expected[0]
    found = limits.levels("u", "c")
    assert [each.limit for each in found] == [100.0 + rank if is_set[rank] else None for rank in range(8)] + [static]
    assert [each.level for each in found] == list(Level)


@pytest.mark.parametrize("is_set", list(product([False, True], repeat=8)))
def test_who_has_no_limit_of_his_own_shares_nothing_with_those_who_have(is_set: tuple[bool, ...]) -> None:
    limits = Limits()
    for rank, (path, _, _) in enumerate(DOCUMENTED):
        if is_set[rank]:
            limits.set(entity(path), 100.0 + rank)
    ranks = [rank for rank in (4, 5, 7) if is_set[rank]]
    resolution = limits.resolve("other", "another")
    assert resolution.limit == (100.0 + ranks[0] if ranks else None)
    own = limits.resolve("u", "c")
    assert own.limit is None or resolution.tags != own.tags


def test_limits_of_one_form_alone_give_everybody_tags_of_that_form() -> None:
    for path, tags in [
        ("users/other", Tags("u", "")),
        ("users/other/clients/x", Tags("u", "c")),
        ("clients/x", Tags("", "c")),
    ]:
        limits = Limits()
        limits.set(entity(path), 5.0)
        assert limits.resolve("u", "c") == (tags, None, None, None)
        assert limits.is_enabled
        limits.set(entity(path), None)
        assert not limits.is_enabled
        assert limits.resolve("u", "c").tags == Tags("", "c")


def test_a_client_without_an_id_has_no_limit_of_client_ids() -> None:
    limits = Limits(7.0)
    limits.set(Entity(None, DEFAULT), 1.0)
    limits.set(Entity("u", DEFAULT), 2.0)
    assert limits.resolve("other", "").limit is None
    # As Kafka has it: the tags are those of the user alone, and that user has no limit.
    assert limits.resolve("u", "") == (Tags("u", ""), None, None, None)
    limits.set(Entity("u", None), 3.0)
    assert limits.resolve("u", "").limit == 3.0


def test_names_are_encoded_in_paths_and_not_taken_for_the_default() -> None:
    named = Entity("<default>", "a/b c~é")
    assert named.path == "users/%3Cdefault%3E/clients/a%2Fb%20c%7E%C3%A9"
    assert entity_of_path(named.path) == named
    assert named.level is Level.USER_CLIENT
    assert Entity(DEFAULT, DEFAULT).path == "users/<default>/clients/<default>"
    assert entity_of_path("topics/t") is None
    assert entity_of_path("users/u/clients") is None
    assert entity_of_path("users/u/clients/c/d") is None


def test_entities_are_listed_in_the_order_of_their_levels() -> None:
    assert [each.level for each in entities_of("u", "c")] == list(Level)[:8]
    assert str(Entity("u", DEFAULT)) == "user 'u' and the default client id"
