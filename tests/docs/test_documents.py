"""The documents tell the truth: links lead somewhere, and what they name exists."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "packaging/*.md") for path in ROOT.glob(pattern)
)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchor(heading: str) -> str:
    """Return the anchor of a heading, by GitHub's rules."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+)$", _FENCE.sub("", document.read_text()), re.MULTILINE)
    return {anchor(heading) for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(linked), f"{target} names no heading"


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs/README.md"
    listed = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", index.read_text())}
    pages = {path for path in (ROOT / "docs").rglob("*.md") if path != index and "adr" not in path.parts}
    assert sorted(map(named, pages - listed)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_scripts_that_are_named_exist(document: Path) -> None:
    for script in set(re.findall(r"\bscripts/[a-z]+\b", document.read_text())):
        assert os.access(ROOT / script, os.X_OK), f"{script} is no program"


def test_every_script_is_there_to_be_found() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    wanted = {f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir()} - {"scripts/packages"}
    assert {script for script in wanted if script not in contributing} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_proofs_are_in_their_list(document: Path) -> None:
    assert "<!-- held by" not in document.read_text(), "tests/docs/promises.toml names the tests of a statement"
