"""Which tests may find a fault, the nearest first, in steps that each are one run of pytest.

Near is told by names: a test file is near that imports the module, or stands where its package is mirrored, and the
nearer the more rare words it shares with the fault: the names in the changed text and of what it stands in. First come
the few nearest, then all of the room, then simulated histories, then tests of whole processes.
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutations.faults import PACKAGE, Fault

_QUICK = ("unit", "property", "golden")
_WHOLE_PROCESSES = ("docs", "integration", "pipeline", "compat")
_SIMULATED = ("broker/", "core/", "wire/", "testing/", "clients/", "api/connector/")
_NOT_FOR_FAULTS = "test_mutations.py"
"""What asks whether the faults fit: with one in the code it does not."""

_NEAREST_COUNT = 4
_IMPORTS_MODULE, _IS_CALLED_LIKE_IT, _MIRRORS_PACKAGE, _MIRRORS_ROOM = 30.0, 20.0, 12.0, 6.0
_WORD = re.compile(r"[A-Za-z]\w{3,}")


class Nearest:
    """The test files of a tree, read once."""

    def __init__(self, tree: Path) -> None:
        """Read the test files of `tree`."""
        self._tree = tree
        files = [path for path in sorted((tree / "tests").rglob("test_*.py")) if path.name != _NOT_FOR_FAULTS]
        self._texts = {path.relative_to(tree): path.read_text() for path in files}
        self._words = {path: _words(text) | _words(path.stem) for path, text in self._texts.items()}
        counts = Counter(word for words in self._words.values() for word in words)
        self._rarity = {word: math.log(len(files) / count) for word, count in counts.items()}

    def steps(self, fault: Fault) -> Iterator[tuple[str, list[str]]]:
        """Give the steps, each with its name and its test files, the nearest first; a file comes once."""
        near = self._nearness(fault)
        files = sorted(self._texts, key=lambda path: -near[path])
        quick = [path for path in files if path.parts[1] in _QUICK]
        nearest = quick[:_NEAREST_COUNT]
        yield from _by_part("nearest", nearest)
        mirror = Path("tests", "unit", *fault.room.split("."))
        imports_room = re.compile(rf"\bbarnabas\.{re.escape(fault.room)}\b").search
        rest = [path for path in quick if path not in nearest]
        room = [path for path in rest if path.is_relative_to(mirror)]
        yield from _by_part("room", room)
        yield from _by_part(
            "importing", [path for path in rest if path not in room and imports_room(self._texts[path])]
        )
        if fault.file.startswith(_SIMULATED):
            yield "simulation", [str(path) for path in files if path.parts[1] == "simulation"]
        stem = fault.module.rpartition(".")[2]
        for part in _WHOLE_PROCESSES:
            named = [
                path
                for path in files
                if path.parts[1] == part
                and (near[path] >= _IMPORTS_MODULE or imports_room(self._texts[path]) or stem in self._words[path])
            ]
            yield from _by_part(part, named)

    def _nearness(self, fault: Fault) -> dict[Path, float]:
        package, _, stem = fault.module.rpartition(".")
        name, package = re.escape(stem), re.escape(package)
        imports_module = re.compile(
            rf"(?:from|import) {package}\.{name}\b|from {package} import [^\n(]*\b{name}\b|"
            rf"from {package} import \([^)]*\b{name}\b"
        ).search
        mirror = Path("tests", "unit", *Path(fault.file).parent.parts)
        room = Path("tests", "unit", *fault.room.split("."))
        wanted = _words(fault.old + " " + fault.new + " " + fault.name.replace("-", " ")) | _words(stem)
        wanted |= _words(" ".join(_enclosing(self._tree / PACKAGE / fault.file, fault.old)))
        near = {}
        for path, text in self._texts.items():
            score = sum(self._rarity[word] for word in wanted & self._words[path])
            score += _IMPORTS_MODULE if imports_module(text) else 0
            score += _IS_CALLED_LIKE_IT if stem in path.stem else 0
            score += _MIRRORS_PACKAGE if path.is_relative_to(mirror) else 0
            score += _MIRRORS_ROOM if path.is_relative_to(room) else 0
            near[path] = score
        return near


def _by_part(step: str, files: list[Path]) -> Iterator[tuple[str, list[str]]]:
    # One run for each part, the nearest part first: in one run tests/conftest.py would choose the order.
    for part in dict.fromkeys(path.parts[1] for path in files):
        yield step, [str(path) for path in files if path.parts[1] == part]


def _words(text: str) -> set[str]:
    """The names in a text, whole and in their parts."""
    names = set(_WORD.findall(text))
    return {part.lower() for name in names for part in (name, *name.split("_")) if len(part) > 3}


def _enclosing(path: Path, text: str) -> list[str]:
    """The names of the functions and classes that hold a text."""
    source = path.read_text()
    start = source.find(text)
    first = source.count("\n", 0, start) + 1
    last = first + text.strip("\n").count("\n")
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.lineno <= last
        and (node.end_lineno or 0) >= first
    ]
