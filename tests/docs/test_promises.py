"""What docs/security.md and docs/quotas.md promise is held by tests, which stand beside it.

    <!-- held by tests/x/test_y.py::test_z, ::test_in_the_same_file, tests/v/test_w.py::TestClass::test_u -->

is a line of its own, one or several of them, right after the paragraph, list or table that promises.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.attacks.bounds import HEADING, bounds, outcomes, table, whole_names

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["docs/security.md", "docs/quotas.md"]
HOLDER = re.compile(r"<!-- held by (.*) -->")
# A promise is about all who could break it, or all that they could try: it says who may not, what does not happen, or
# how much and how soon at the most. Words of prose, and of what an administrator has to do ("must", "alone"), are none.
# "No" begins such a sentence; within one it mostly is prose.
PROMISES = re.compile(
    r"\b(?:nobody|anybody|whoever|whatever|never|nothing|neither|nor|only|no more|at (?:the )?most|within|can't|cannot|"
    r"refuse[sd]?|disconnected|closed|bounded|denied|escaped|cut)\b|(?:^|[.;] )No [a-z]",
    re.IGNORECASE | re.MULTILINE,
)
CODE = re.compile(r"`[^`]*`")


class Block(NamedTuple):
    """A paragraph, list or table.

    Attributes:
        line: Of its beginning.
        tests: That hold it.
    """

    line: int
    text: str
    tests: list[str]


def blocks(document: str) -> list[Block]:
    """All of a document outside of code and headings."""
    found: list[Block] = []
    is_code = is_open = can_be_held = False
    for number, line in enumerate(document.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_text = not is_code and line.strip() and not line.startswith(("#", "    ", "```", "<!--"))
        if holder := HOLDER.fullmatch(line):
            assert can_be_held, f"line {number}: it holds nothing"
            found[-1].tests.extend(whole_names(holder[1]))
        elif is_text and is_open:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line}")
        elif is_text:
            found.append(Block(number, line, []))
        can_be_held = bool(is_text) or holder is not None
        is_open = bool(is_text)
    return found


def unheld(document: str) -> list[str]:
    """What promises and has no test beside it."""
    return [
        f"{block.line}: {word[0]}: {block.text[:60]}"
        for block in blocks(document)
        # The table of bounds names its tests itself.
        if not block.text.startswith("| what | bound | what happens beyond it | test |")
        if (word := PROMISES.search(CODE.sub("", block.text))) and not block.tests
    ]


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of functions in a file, as pytest has them."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {prefix + each.name for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(found)


def is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    is_test = name.split("::")[-1].startswith("test_")
    return path.startswith("tests/") and (ROOT / path).is_file() and is_test and name in functions_of(path)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_promise_is_held(document: str) -> None:
    assert unheld((ROOT / document).read_text()) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_holds_a_promise_exists(document: str) -> None:
    found = blocks((ROOT / document).read_text())
    assert any(block.tests for block in found)
    assert [(block.line, test) for block in found for test in block.tests if not is_there(test)] == []


def test_every_bound_has_a_test() -> None:
    rows = bounds((ROOT / "docs/security.md").read_text())
    assert rows
    for row in rows:
        assert all((row.what, row.bound, row.beyond)), row
        assert [test for test in row.tests if not is_there(test)] == [], row.what


def test_a_promise_without_a_test_is_found() -> None:
    said = "# Nobody\n\nNobody gets in.\nReally.\n{}\n\n```sh\nnobody\n```\n    never\n\nThis `never` is prose.\n\n{}\n"
    held = "<!-- held by tests/a.py::test_b, ::test_c -->"
    assert unheld(said.format(held, "")) == []
    assert unheld(said.format("", "")) == ["3: Nobody: Nobody gets in.\nReally."]
    assert unheld(said.format(held, "- It is\n  refused.")) == ["14: refused: - It is\n  refused."]
    with pytest.raises(AssertionError, match="line 6: it holds nothing"):
        unheld(said.format(f"\n{held}", ""))
    assert blocks(said.format(held, ""))[0].tests == ["tests/a.py::test_b", "tests/a.py::test_c"]


def test_a_test_that_is_not_there_is_found() -> None:
    mine = "tests/docs/test_promises.py"
    assert is_there(f"{mine}::test_a_test_that_is_not_there_is_found")
    for wrong in (mine, f"{mine}::is_there", f"{mine}::test_gone", "tests/docs/gone.py::test_x", "src/x.py::test_x"):
        assert not is_there(wrong)


def test_a_bound_holds_where_all_its_tests_passed() -> None:
    rows = bounds(
        f"{HEADING}\n\n| a | b | c | d |\n|---|---|---|---|\n| x | 1 | y | `t/a.py::C::test_1`, `::test_2` |\n"
    )
    assert rows[0].tests == ["t/a.py::C::test_1", "t/a.py::test_2"]
    case = '<testcase classname="t.a{}" file="t/a.py" name="{}" time="1.5">{}</testcase>'

    def said(*cases: str) -> str:
        return table(rows, outcomes(f"<testsuite>{''.join(cases)}</testsuite>")).splitlines()[-1]

    first, second = case.format(".C", "test_1", ""), case.format("", "test_2[a]", "")
    assert said(first, second, case.format("", "test_2[b]", "")) == "| x | 1 | yes | 4.5 |"
    assert said(first) == "| x | 1 | NO | 1.5 |"
    for what in ("failure", "skipped", "error"):
        assert said(first, second, case.format("", "test_2[b]", f"<{what}/>")) == "| x | 1 | NO | 4.5 |"
