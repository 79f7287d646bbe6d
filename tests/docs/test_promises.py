"""Every promise of docs/security.md and docs/quotas.md is proved by tests, which promises.toml names.

promises.toml lists statements by document, section and first words, with their tests. A document outside `DOCUMENTS`
may have statements there as well; its other statements need no proof.
"""

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.attacks.bounds import HEADING, bounds, current_bounds, outcomes, table
from tests.docs.test_documents import anchor

ROOT = Path(__file__).parents[2]
# All promises of these documents need a proof.
DOCUMENTS = ["docs/security.md", "docs/quotas.md"]
# Tests by document, section (the anchor of its heading) and the first words of a statement.
Proofs = Mapping[str, Mapping[str, list[str]]]
PROOFS: Mapping[str, Proofs] = tomllib.loads((ROOT / "tests/docs/promises.toml").read_text())
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
        line: Number of its first line.
        section: Anchor of the heading above it.
    """

    line: int
    section: str
    text: str

    def begins(self, words: str) -> bool:
        return " ".join(self.text.removeprefix("- ").split()).startswith(words)


def blocks(document: str) -> list[Block]:
    """Return a document's paragraphs, lists and tables, without code and headings."""
    found: list[Block] = []
    is_code = is_open = False
    section = ""
    for number, line in enumerate(document.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        is_text = not is_code and line.strip() and not line.startswith(("#", "    ", "```", "<!--"))
        if not is_code and (heading := re.fullmatch(r"#+ +(.+)", line)):
            section = anchor(heading[1])
        if is_text and is_open:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line}")
        elif is_text:
            found.append(Block(number, section, line))
        is_open = bool(is_text)
    return found


def unproved(document: str, proofs: Proofs) -> list[str]:
    """Return a document's promises without a test."""
    return [
        f"{block.line}: {word[0]}: {block.text[:60]}"
        for block in blocks(document)
        # Each row of the table of bounds has its own tests.
        if not block.text.startswith("| what | bound | what happens beyond it |")
        if (word := PROMISES.search(CODE.sub("", block.text)))
        if not any(block.begins(words) and tests for words, tests in proofs.get(block.section, {}).items())
    ]


def unmatched(document: str, proofs: Proofs) -> list[str]:
    """Return the proved statements that are not in their section of a document, or there more than once."""
    found = blocks(document)
    return [
        f"{section}: {words}"
        for section, statements in proofs.items()
        # Of the table of bounds, whose rows `current_bounds` compares with their tests.
        if section != "resource-limits"
        for words in statements
        if sum(block.section == section and block.begins(words) for block in found) != 1
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
def test_every_promise_is_proved(document: str) -> None:
    assert unproved((ROOT / document).read_text(), PROOFS[document]) == []


@pytest.mark.parametrize("document", PROOFS)
def test_proved_statements_stand_in_their_document(document: str) -> None:
    assert unmatched((ROOT / document).read_text(), PROOFS[document]) == []


@pytest.mark.parametrize("document", PROOFS)
def test_proofs_exist(document: str) -> None:
    for section, statements in PROOFS[document].items():
        for words, tests in statements.items():
            assert tests, f"{section}: {words}"
            assert [test for test in tests if not is_there(test)] == [], f"{section}: {words}"


def test_every_bound_has_a_test() -> None:
    rows = current_bounds()
    assert rows
    for row in rows:
        assert all((row.what, row.bound, row.beyond, row.tests)), row
        assert [test for test in row.tests if not is_there(test)] == [], row.what


def test_a_promise_without_a_test_is_found() -> None:
    said = "# Nobody\n\nNobody gets in.\nReally.\n\n```sh\nnobody\n```\n    never\n\nThis `never` is prose.\n\n{}\n"
    proofs = {"nobody": {"Nobody gets in. Rea": ["tests/a.py::test_b"]}}
    missing = "3: Nobody: Nobody gets in.\nReally."
    assert unproved(said.format(""), proofs) == []
    assert unproved(said.format(""), {}) == [missing]
    assert unproved(said.format(""), {"somebody": proofs["nobody"]}) == [missing]
    assert unproved(said.format(""), {"nobody": {"Nobody gets in.": []}}) == [missing]
    assert unproved(said.format("- It is\n  refused."), proofs) == ["13: refused: - It is\n  refused."]
    assert (
        unproved(said.format("## A list\n\n- It is\n  refused."), {**proofs, "a-list": {"It is refused": ["x"]}}) == []
    )


def test_a_proof_of_a_changed_statement_is_found() -> None:
    said = "# First\n\nNobody gets\nin.\n\n## The second\n\n- It is\n  refused.\n\nNobody leaves.\n\nNobody stays.\n"
    proofs = {"first": {"Nobody gets in.": ["x"]}, "the-second": {"It is refused.": ["x"], "Nobody l": ["x"]}}
    assert unmatched(said, proofs) == []
    assert unmatched(said.replace("gets", "comes"), proofs) == ["first: Nobody gets in."]
    assert unmatched(said.replace("# First", "# Other"), proofs) == ["first: Nobody gets in."]
    assert unmatched(said, {"the-second": {"Nobody": ["x"]}}) == ["the-second: Nobody"]


def test_a_test_that_is_not_there_is_found() -> None:
    mine = "tests/docs/test_promises.py"
    assert is_there(f"{mine}::test_a_test_that_is_not_there_is_found")
    for wrong in (mine, f"{mine}::is_there", f"{mine}::test_gone", "tests/docs/gone.py::test_x", "src/x.py::test_x"):
        assert not is_there(wrong)


def test_a_bound_holds_where_all_its_tests_passed() -> None:
    document = f"{HEADING}\n\n| a | b | c |\n|---|---|---|\n| x | 1 | y |\n"
    rows = bounds(document, {"x": ["t/a.py::C::test_1", "t/a.py::test_2"]})
    for wrong in ({}, {"x": ["t"], "z": ["t"]}):
        with pytest.raises(ValueError, match="without"):
            bounds(document, wrong)
    case = '<testcase classname="t.a{}" file="t/a.py" name="{}" time="1.5">{}</testcase>'

    def said(*cases: str) -> str:
        return table(rows, outcomes(f"<testsuite>{''.join(cases)}</testsuite>")).splitlines()[-1]

    first, second = case.format(".C", "test_1", ""), case.format("", "test_2[a]", "")
    assert said(first, second, case.format("", "test_2[b]", "")) == "| x | 1 | yes | 4.5 |"
    assert said(first) == "| x | 1 | NO | 1.5 |"
    for what in ("failure", "skipped", "error"):
        assert said(first, second, case.format("", "test_2[b]", f"<{what}/>")) == "| x | 1 | NO | 4.5 |"
