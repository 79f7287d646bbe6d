"""The wheels: the compiled one passes the tests of what is compiled in it, and needs nothing more than the pure one."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import wheel

ROOT = Path(__file__).parents[2]
# The tests of the modules in setup.py's COMPILED, and of what stands on them.
TESTS = (
    "tests/unit/core/test_build.py",
    "tests/unit/wire/protocol",
    "tests/unit/wire/records",
    "tests/unit/broker/groups",
    "tests/unit/broker/log",
    "tests/unit/broker/net",
    "tests/unit/broker/quotas",
    "tests/unit/broker/replicas",
    "tests/unit/broker/requests",
    "tests/property/test_compiled.py",
    "tests/property/test_precheck.py",
    "tests/property/test_records.py",
    "tests/property/test_records_formats.py",
    "tests/property/test_transcode.py",
)
# Of these the ones for a request's way from bytes to bytes.
HOT_PATH = (
    "tests/unit/core/test_build.py",
    "tests/unit/wire/records",
    "tests/unit/broker/net",
    "tests/property/test_compiled.py",
)


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with the compiled wheel."""
    reason = wheel.lacking()
    if reason is not None:
        pytest.skip(reason)
    return wheel.compiled_environment()


def run(program: Path, *arguments: str) -> str:
    # Elsewhere than here and without PYTHONPATH, so that nothing but the environment says what is imported.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    result = subprocess.run(
        [program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    return result.stdout


@pytest.mark.parametrize(
    "tests", [pytest.param(HOT_PATH, id="hot path"), pytest.param(TESTS, id="all", marks=pytest.mark.whole)]
)
def test_the_compiled_wheel_passes_the_tests_of_what_is_compiled(python: Path, tests: tuple[str, ...]) -> None:
    options = ("-q", "-p", "no:cacheprovider", *(("--hypothesis-profile", "quick") if tests is HOT_PATH else ()))
    assert " passed" in run(python, "-m", "pytest", *options, *tests)


def test_the_compiled_wheel_says_so_and_imports_nothing_of_its_compiler(python: Path) -> None:
    assert run(python.with_name("barnabas"), "--version").endswith(" (compiled)\n")
    program = (
        "import importlib, sys; from barnabas.core.build import compiled_modules; names = compiled_modules(); "
        "[importlib.import_module(name) for name in names]; print(*names); "
        "print(*{'mypyc', 'mypy', 'mypy_extensions', 'librt'} & set(sys.modules))"
    )
    names, compilers = run(python, "-c", program).splitlines()
    assert {"barnabas.wire.records.walk", "barnabas.broker.net.connection"} <= set(names.split())
    assert compilers == ""


def test_the_pure_wheel_is_for_every_python_and_holds_no_machine_code(tmp_path: Path) -> None:
    built = wheel.build(tmp_path, is_compiled=False)
    assert built.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    assert "barnabas/wire/records/walk.py" in names
    assert "barnabas/py.typed" in names
    assert not [name for name in names if name.endswith((".so", ".c"))]
    assert [name for name in names if name.endswith(".dist-info/licenses/NOTICE")]


def test_wheels_come_with_a_list_of_what_they_bring(
    python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = wheel.build

    def build_once(directory: Path, *, is_compiled: bool) -> Path:
        # Half a minute: that of the environment will do.
        built = wheel.compiled_wheel() if is_compiled else build(directory, is_compiled=False)
        return Path(shutil.copy(built, directory)) if is_compiled else built

    monkeypatch.setattr(wheel, "build", build_once)
    assert wheel.main([str(tmp_path)]) == 0
    printed = capsys.readouterr()
    written = [Path(line) for line in printed.out.splitlines()]
    assert sorted(written) == sorted(tmp_path.iterdir())
    bill = json.loads(written[-1].read_text())
    assert written[-1].name == f"barnabas-{bill['metadata']['component']['version']}.cdx.json"
    assert {each["name"] for each in bill["metadata"]["component"]["properties"]} == {
        f"sha256:{each.name}" for each in written[:-1]
    }
    if sys.platform == "linux":
        (compiled,) = (each for each in written[:-1] if "linux" in each.name)
        # musl names no versions.
        glibc = wheel.needed_glibc(compiled)
        assert printed.err == (f"{compiled.name} needs glibc {glibc} or later\n" if glibc else "")


def test_the_newest_version_of_glibc_that_a_module_names_is_the_one_it_needs(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("one.so", b"\0GLIBC_2.2.5\0GLIBC_2.14\0")
        archive.writestr("two.so", b"\0GLIBC_2.9\0")
        archive.writestr("three.py", b"GLIBC_2.40")
    assert wheel.needed_glibc(tmp_path / "a.whl") == "2.14"
    with zipfile.ZipFile(tmp_path / "pure.whl", "w") as archive:
        archive.writestr("three.py", b"GLIBC_2.40")
    assert wheel.needed_glibc(tmp_path / "pure.whl") is None


def test_nothing_is_built_by_another_backend_than_the_pinned_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    with pytest.raises(wheel.WheelError, match=r"^setuptools 1\.0 is not the \S+ of requirements/build\.txt"):
        wheel.build(tmp_path, is_compiled=False)


def test_without_a_compiler_it_says_in_one_line_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(wheel.WheelError, match=r"^compiling needs a C compiler; install it, .*gcc"):
        wheel.build(tmp_path, is_compiled=True)
