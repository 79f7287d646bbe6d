"""Which names a new topic would collide with, asked again and again while topics come and go."""

from random import Random

import pytest

from barnabas.broker.administration.topic_names import TopicNames


def test_names_that_differ_by_a_dot_for_an_underscore() -> None:
    names = TopicNames()
    assert names.take_over(["a.b", "a_b.c", "ab", "a-b"]) == {"a.b", "a_b.c", "ab", "a-b"}
    assert list(names.alike("a_b")) == ["a.b"]
    assert list(names.alike("a.b_c")) == ["a_b.c"]
    assert list(names.alike("ab")) == []
    names.add("a_b")
    assert list(names.alike("a_b")) == ["a.b", "a_b"]
    # What was to be made and was not is forgotten with the next look.
    names.take_over(["a_b.c"])
    assert list(names.alike("a_b")) == []
    assert list(names.alike("a.b.c")) == ["a_b.c"]


@pytest.mark.parametrize("seed", range(20))
def test_it_says_what_a_look_at_all_names_says(seed: int) -> None:
    dice = Random(seed)
    print(f"seed {seed}")
    names, there = TopicNames(), set[str]()
    for _ in range(50):
        made = {"".join(dice.choices("ab._", k=3)) for _ in range(dice.randrange(4))}
        there = (there | made) - set(dice.sample(sorted(there), min(len(there), dice.randrange(3))))
        assert names.take_over(list(there)) == there
        for _ in range(dice.randrange(3)):
            added = "".join(dice.choices("ab._", k=3))
            names.add(added)
            there.add(added)
        wanted = "".join(dice.choices("ab._", k=3))
        alike = {each for each in there if each.replace(".", "_") == wanted.replace(".", "_")}
        assert {each for each in names.alike(wanted) if each != wanted} == alike - {wanted}
