"""What peers call things, shown on one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.peer_text import on_one_line, to_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("payroll-7", "payroll-7"),
        ("Lohn 日本 é 😀", "Lohn 日本 é 😀"),
        (r"DOMAIN\user", r"DOMAIN\user"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\\x1b\x1b", r"\\x1b\x1b"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("user\u202ecod.exe", r"user\u202ecod.exe"),
        ("ad\u200bmin", r"ad\u200bmin"),
        ("a\u2028b\u0085c", r"a\u2028b\x85c"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_can_not_be_printed_is_escaped(text: str, shown: str) -> None:
    assert on_one_line(text) == shown


@given(st.text(alphabet=st.characters(codec=None)), st.none() | st.integers(1, 50))
def test_it_is_one_line_that_can_be_printed(text: str, most: int | None) -> None:
    shown = on_one_line(text, most)
    assert shown.isprintable()
    assert most is None or len(shown) <= most + len(f"... ({len(text):,} characters)")


@pytest.mark.parametrize("text", ["\x01" * 20, "x" * 32_000, "\n" * 32_000])
def test_what_is_too_long_is_cut_and_says_how_long_it_was(text: str) -> None:
    shown = on_one_line(text, 50)
    assert shown == f"{on_one_line(text)[:50]}... ({len(text):,} characters)"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_can_be_printed_and_says_the_same(value: object) -> None:
    text = to_json(value)
    assert text.isprintable()
    assert json.loads(text) == value
    assert json.loads(to_json(value, indent=2)) == value


def test_json_is_readable_in_any_script_and_compact() -> None:
    assert to_json({"a": ["日本", "\x1b\x9b\u202e\U000e0041"], "b": 1}) == (
        r'{"a":["日本","\u001b\u009b\u202e\udb40\udc41"],"b":1}'
    )
    assert to_json({"a": "\x9b"}, indent=2) == '{\n  "a": "\\u009b"\n}'
