"""The package knows how it was built."""

import importlib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Protocol

import pytest

from barnabas import __version__
from barnabas.broker.server.main import parser
from barnabas.core import build


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
