"""White and black lists: Java's regular expressions, over whole names."""

import pytest

from barnabas.api.connector.topic_filter import BlackList, WhiteList
from barnabas.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("a|b", ["a", "b"], ["ab", "c", "A"]),
        ("a,b", ["a", "b"], ["a,b", "ab"]),
        (" 'a , b.*' ", ["a", "b", "bc"], ["ab"]),
        ('"t-\\d+"', ["t-0", "t-17"], ["t-", "t-x", "t-²"]),
        (".*", ["", "x", "__x"], ["__consumer_offsets", "__transaction_state"]),
        ("\\p{Alpha}\\p{Digit}[\\p{Lower}_]", ["a1b", "Z9_"], ["a1B", "11a", "a1"]),
        ("\\P{Digit}", ["a"], ["1"]),
        ("\\Qa.b\\E.", ["a.bc"], ["axbc", "a.b"]),
        ("[|]", ["|"], ["a"]),
        ("(?!x).*+", ["a"], ["xa"]),
        ("a\\z", ["a"], ["az"]),
    ],
)
def test_a_name_is_listed_if_all_of_it_matches(text: str, names: list[str], others: list[str]) -> None:
    white, black = WhiteList(text), BlackList(text)
    assert [name for name in names + others if white.allows(name)] == names
    assert [name for name in names if black.allows(name)] == []
    assert [name for name in others if black.allows(name)] == [name for name in others if not name.startswith("__")]


def test_internal_topics_are_listed_if_that_is_wanted() -> None:
    assert WhiteList("__.*").allows("__consumer_offsets", excludes_internal=False)
    assert BlackList("a").allows("__consumer_offsets", excludes_internal=False)
    assert not BlackList("a").allows("__consumer_offsets")


def test_what_stands_in_the_registry_is_what_java_writes() -> None:
    assert WhiteList(' "a , b" ').regex == "a|b"


@pytest.mark.parametrize("text", ["(", "[a-z&&[^b]]", "[a[b]]", "\\p{IsGreek}", "*", "[\\P{Digit}]"])
def test_what_cannot_be_told_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        WhiteList(text)
