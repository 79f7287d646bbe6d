"""Names as they are kept: short, and each its own."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.quotas.entities import DEFAULT, LONGEST_NAME, Entity, kept_name


def test_a_name_that_is_no_longer_than_usual_is_kept_as_it_is() -> None:
    assert kept_name("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    assert kept_name("") == ""


@given(st.text(), st.integers(0, 1_000))
def test_a_longer_one_is_cut(text: str, count: int) -> None:
    name = text + "x" * count
    assert len(kept_name(name)) <= LONGEST_NAME
    assert kept_name(kept_name(name)) == kept_name(name)


def test_those_that_differ_at_their_end_remain_apart() -> None:
    names = {"x" * 1_000 + str(number) for number in range(100)}
    assert len({kept_name(each) for each in names}) == 100


def test_an_entity_is_kept_by_such_names() -> None:
    name = "x" * 1_000
    assert Entity(name, DEFAULT).kept() == Entity(kept_name(name), DEFAULT)
    assert Entity(None, name).kept() == Entity(None, kept_name(name))
