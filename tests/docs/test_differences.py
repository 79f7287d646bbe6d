"""Every intended difference is told once: a mark in the source and a row of docs/differences.md share a key."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"#\s*differs from Kafka(?P<key>[^:\n]*):", re.IGNORECASE)


def marks() -> list[tuple[str, str]]:
    """What stands between "differs from Kafka" and the colon, and where."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found += [(match["key"], f"{path.relative_to(ROOT)}:{number}") for match in MARK.finditer(line)]
    return found


def rows() -> list[list[str]]:
    """The cells of each row below a heading of a table."""
    lines = (ROOT / "docs/differences.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in table if row[0] != "key" and not set(row[0]) <= set("- ")]


def keys_of_marks() -> list[str]:
    return [key.strip(" ()") for key, _ in marks()]


def keys_of_rows() -> list[str]:
    return [row[0].strip("`") for row in rows()]


def test_every_mark_has_a_key() -> None:
    assert [place for key, place in marks() if not re.fullmatch(r" \([a-z0-9]+(-[a-z0-9]+)*\)", key)] == []


def test_every_row_has_a_key_and_says_what_both_do() -> None:
    for row in rows():
        assert re.fullmatch(r"`[a-z0-9]+(-[a-z0-9]+)*`", row[0]), row
        assert len(row) == 4, row
        assert all(row), row


def test_no_key_is_there_twice() -> None:
    assert [key for key, count in Counter(keys_of_marks()).items() if count > 1] == []
    assert [key for key, count in Counter(keys_of_rows()).items() if count > 1] == []


def test_every_mark_has_its_row_and_every_row_its_mark() -> None:
    assert set(keys_of_marks()) - set(keys_of_rows()) == set(), "marks without a row"
    assert set(keys_of_rows()) - set(keys_of_marks()) == set(), "rows without a mark"
