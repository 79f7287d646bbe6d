"""The commands and programs in the documents do what they say, pasted one after the other."""

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.pipeline.sources.social import SitePlan, write_access_log
from tests.docs.examples import Example, Terminal, examples, is_like

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))])
LANGUAGES = {"sh", "python"}


def runnable(document: str) -> list[Example]:
    return [each for each in examples((ROOT / document).read_text()) if each.language in LANGUAGES and not each.excuse]


def test_blocks_are_found_with_their_excuses() -> None:
    text = "# H\n\n    a\n    b\n\n```console\n$ c\nd\n```\n<!-- not run: no time -->\n\n    e\n\n```text\nf\n```\n"
    assert examples(text) == [
        Example(3, "sh", "a\nb\n"),
        Example(6, "sh", "c\n", shown=(("c", "d"),)),
        Example(12, "sh", "e\n", "<!-- not run: no time -->"),
        Example(14, "text", "f\n"),
    ]
    (inner,) = examples("<!-- run by x.py -->\n# H\n1. x\n\n   ```sh\n   a\n   ```\n")
    assert inner.run_by == "x.py"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_an_example_writes_nothing_that_another_run_could_find(document: str) -> None:
    """What it makes stands in the directory that it is run in."""
    for example in runnable(document):
        assert not re.search(r"/(tmp|var|home)/|~/", example.code), f"{document}:{example.line}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_who_runs_an_example_instead_exists(document: str) -> None:
    for example in examples((ROOT / document).read_text()):
        if example.run_by:
            assert (ROOT / example.run_by).is_file(), f"{document}:{example.line}"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[Path], Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(directory: Path) -> Terminal:
        opened.append(Terminal(directory))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def fill(directory: Path) -> None:
    """What a reader of the documents has beside the program: an access log, values to send, Kafka's own file."""
    (directory / ".venv").symlink_to(sys.prefix)
    log = directory / "access.log"
    write_access_log(SitePlan(duration_s=600), log)
    with gzip.open(f"{log}.gz", "wb") as packed:
        packed.write(log.read_bytes())
    log.unlink()
    (directory / "views.txt").write_text("ada:/index.html\nbob:/about.html\n")
    (directory / "server.properties").write_text(
        "broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:9092\nlog.dirs=kafka-logs\noffsets.topic.replication.factor=1\n"
    )


def copy_of_the_repository(directory: Path) -> Path:
    """What git has, or will have once it is added: what a stranger gets."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda each: (ROOT / each).is_file(), listed.split("\0")):
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return directory


def run_all(document: str, terminal: Terminal) -> str:
    """Run a document's examples in order; all that they printed."""
    printed = ""
    for example in runnable(document):
        if example.language == "python":
            terminal.run_python(example.code)
            continue
        shown = dict(example.shown) if document.startswith("docs/tutorials/") else {}
        for command in example.code.splitlines():
            output = terminal.run(command)
            assert command not in shown or is_like(output, shown[command]), f"{command} printed:\n{output}"
            printed += output
    return printed


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each != "README.md" and runnable(each)])
def test_the_examples_of_a_document_work_as_pasted(
    document: str, tmp_path: Path, terminal: Callable[[Path], Terminal]
) -> None:
    fill(tmp_path)
    run_all(document, terminal(tmp_path))


def test_the_readme_works_as_pasted_on_a_fresh_clone(tmp_path: Path, terminal: Callable[[Path], Terminal]) -> None:
    printed = run_all("README.md", terminal(copy_of_the_repository(tmp_path / "clone")))
    assert "hello" in printed.splitlines()
