"""The package knows how it was built, and what is compiled is written so that it can be."""

import ast
import importlib
import runpy
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, Protocol

import pytest

from barnabas import __version__
from barnabas.broker.server.main import parser
from barnabas.core import build

ROOT = Path(__file__).parents[3]


def test_compiled_modules_are_found_by_their_files(tmp_path: Path) -> None:
    package = tmp_path / "barnabas"
    (package / "wire" / "records").mkdir(parents=True)
    for name in ("walk.py", f"walk{EXTENSION_SUFFIXES[0]}", "record.py"):
        (package / "wire" / "records" / name).touch()
    (package / f"loops{EXTENSION_SUFFIXES[0]}").touch()

    assert build.compiled_modules(package) == ["barnabas.loops", "barnabas.wire.records.walk"]


@pytest.mark.parametrize(("modules", "kind"), [([], "pure Python"), (["barnabas.wire.records.walk"], "compiled")])
def test_the_version_names_the_build(monkeypatch: pytest.MonkeyPatch, modules: list[str], kind: str) -> None:
    monkeypatch.setattr(build, "compiled_modules", lambda: modules)
    assert build.version_line() == f"barnabas {__version__} ({kind})"


def test_the_broker_itself_says_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{build.version_line()}\n"


def test_nothing_compiled_can_be_referred_to_weakly() -> None:
    # mypyc gives room for weak references to a class that inherits from an interpreted one, and does not clear them
    # when an instance goes: the garbage collector walks into freed memory. Of a protocol there are no instances. In
    # pure Python there is nothing to look at.
    native = [
        found
        for module in map(importlib.import_module, build.compiled_modules())
        for found in vars(module).values()
        if isinstance(found, type) and found.__module__ == module.__name__ and "__mypyc_attrs__" in vars(found)
        if Protocol not in found.__bases__
    ]
    assert bool(native) == bool(build.compiled_modules())
    assert [found for found in native if found.__weakrefoffset__] == []


def cycles(source: str) -> list[str]:
    """The functions of a module that, compiled, are parts of a reference cycle each time that they are made.

    mypyc keeps what local functions refer to in one object, which each of them holds; it holds them where they are
    a generator's, or where one names another.
    """
    found = []
    for outer in ast.walk(ast.parse(source)):
        if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        own = _own_nodes(outer)
        local = [each for each in own if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        is_generator = isinstance(outer, ast.AsyncFunctionDef) or any(
            isinstance(each, ast.Yield | ast.YieldFrom) for each in own
        )
        inner = [*local, *(each for each in own if isinstance(each, ast.Lambda))]
        named = {each.id for function in inner for each in ast.walk(function) if isinstance(each, ast.Name)}
        found += [f"{outer.name}.{each.name}" for each in local if is_generator or each.name in named]
    return found


def _own_nodes(outer: ast.AST) -> list[ast.AST]:
    """What stands in a function, but not what stands in functions within it."""
    own = []
    for each in ast.iter_child_nodes(outer):
        own.append(each)
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            own += _own_nodes(each)
    return own


def test_cycles_of_local_functions_are_found() -> None:
    generator = "def steps():\n    def done(): ...\n    yield done"
    mutual = "def begin():\n    def one(): ...\n    def two(): one()\n    return two"
    named = "def begin():\n    def one(): ...\n    return lambda: one()"
    plain = "def begin(self):\n    def one(): self.x\n    return one"
    assert [cycles(source) for source in (generator, mutual, named, plain)] == [
        ["steps.done"],
        ["begin.one"],
        ["begin.one"],
        [],
    ]


def test_nothing_compiled_makes_cycles_of_local_functions() -> None:
    # What such a cycle holds is let go by the collector alone: received frames of 50 MB, once (docs/adr/0004).
    made = {name: cycles(Path(ROOT, "src/barnabas", f"{name}.py").read_text()) for name in compiled_names()}
    assert len(made) > 20
    assert {name: found for name, found in made.items() if found} == {}


def compiled_names() -> list[str]:
    """The modules that `setup.py` has compiled, by their paths."""
    names: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **_: None)
        patch.delenv("BARNABAS_COMPILE", raising=False)
        settings: dict[str, Any] = runpy.run_path(str(ROOT / "setup.py"))
    names += settings["COMPILED"]
    return names
