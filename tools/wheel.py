"""Builds Barnabas's wheels: a pure one, and one with the modules of `setup.py` compiled for this Python and platform.

    python -m tools.wheel [DIRECTORY]       build both into DIRECTORY (default dist/), with their bill of materials
    python -m tools.wheel --test ARGUMENTS  run pytest in an environment with the compiled wheel

`compiled_environment` is a virtual environment in `.cache/` with the compiled wheel, for tests and benchmarks. It
shares all libraries with this one, and is rebuilt when the sources change. Wheels are built from a copy of the sources,
so that no extension module remains among the sources.
"""

import argparse
import compileall
import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from tools.bill import read_pins, write_bill

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
# The sources of a wheel; `schemas/` and other directories are for development only.
_SOURCES = ("src", "pyproject.toml", "setup.py", "README.md", "PYPI.md", "LICENSE", "NOTICE")
_COMPILE = "BARNABAS_COMPILE"
_TIMEOUT_S = 1_800
_LAUNCHER = """#!{python}
import sys

from barnabas.cli.main import main

sys.exit(main())
"""


class WheelError(Exception):
    """A wheel can't be built; the message says why in one line."""


def lacking() -> str | None:
    """Return what the machine lacks for compiling, in one line; None: nothing."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if shutil.which(str(compiler).split()[0]) is None:
        return "compiling needs a C compiler; install it, for example: sudo apt-get install gcc libc6-dev"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "compiling needs Python's headers; install them, for example: sudo apt-get install python3-dev"
    return None


def _strange_builder(*names: str) -> str | None:
    """Return an error if a build tool's version is not the one in requirements/build.txt; None: all match."""
    pins = read_pins("build")
    for name in names:
        found = importlib.metadata.version(name)
        if found != pins[name].version:
            return f"{name} {found} is not the {pins[name].version} of requirements/build.txt: run scripts/venv"
    return None


def build(directory: Path, *, is_compiled: bool) -> Path:
    """Build one wheel into `directory`: about 3 seconds, or some minutes if it is compiled.

    Raises:
        WheelError: The wheel can't be built.
    """
    reason = (lacking() if is_compiled else None) or _strange_builder("setuptools", *(["mypy"] if is_compiled else []))
    if reason is not None:
        raise WheelError(reason)
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as made:
        source, target = Path(made, "source"), Path(made, "wheel")
        source.mkdir()
        for name in _SOURCES:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
                shutil.copytree(ROOT / name, source / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, source)
        build_wheel = f"from setuptools.build_meta import build_wheel; build_wheel({str(target)!r})"
        environment = {**os.environ, _COMPILE: "1" if is_compiled else "0"}
        result = subprocess.run(
            [sys.executable, "-c", build_wheel],
            cwd=source,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        if result.returncode:
            raise WheelError(f"the wheel can't be built:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
        (wheel,) = target.glob("*.whl")
        return Path(shutil.move(wheel, directory / wheel.name))


def compiled_environment() -> Path:
    """Return the Python of an environment with the compiled wheel of these sources; build it first if missing.

    Its `bin/` also contains `barnabas`.

    Raises:
        WheelError: The wheel can't be built.
    """
    home = CACHE / "compiled"
    target = home / _digest()
    home.mkdir(parents=True, exist_ok=True)
    # Tests and benchmarks may start at once: one builds, the others wait for it.
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            with tempfile.TemporaryDirectory(prefix="barnabas-wheel-") as made:
                wheel = build(Path(made), is_compiled=True)
                for outdated in home.glob("*/"):
                    shutil.rmtree(outdated)
                _install(wheel, target)
    return target / "bin" / "python"


def compiled_wheel() -> Path:
    """Return the compiled wheel of these sources, as in `compiled_environment`; build it first if missing.

    Raises:
        WheelError: The wheel can't be built.
    """
    (wheel,) = compiled_environment().parents[1].glob("*.whl")
    return wheel


def needed_glibc(wheel: Path) -> str | None:
    """Return the oldest version of glibc on which a wheel's modules load; None: they need none.

    The linker writes the version of each symbol of glibc as text into a module.
    """
    found: set[tuple[int, int]] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", archive.read(name)):
                    found.add((int(major), int(minor)))
    return ".".join(map(str, max(found))) if found else None


def _digest() -> str:
    """Return a digest of everything from which the compiled wheel is built."""
    digest = hashlib.sha256(f"{sys.version} {sys.prefix}".encode())
    for name in (*_SOURCES, "tools/wheel.py", "requirements/dev.txt"):
        path = ROOT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _install(wheel: Path, target: Path) -> None:
    staging = target.with_name(f"incomplete-{target.name}")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(staging)], check=True, timeout=_TIMEOUT_S)
    (site,) = staging.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    shutil.copy(wheel, staging)
    # Compile to bytecode like pip, so that a broker need not do it at its start.
    compileall.compile_dir(site, quiet=1, stripdir=str(staging), prependdir=str(target))
    # A directory in a .pth file is searched after the wheel. Its own .pth files (including the link to the sources) are
    # not processed.
    (site / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    program = staging / "bin" / "barnabas"
    program.write_text(_LAUNCHER.format(python=target / "bin" / "python"))
    program.chmod(0o755)
    staging.rename(target)


def _test(arguments: list[str]) -> int:
    """Run tests on the compiled wheel, in a process without PYTHON* variables that would affect imports."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(compiled_environment()), "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    what = "Build the package's two wheels, pure and compiled."
    parser = argparse.ArgumentParser(prog="scripts/wheel", description=what)
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "dist", help="where to (default dist/)")
    parser.add_argument(
        "--test",
        nargs=argparse.REMAINDER,
        metavar="ARGUMENT",
        help="instead run pytest on the compiled one, with these",
    )
    options = parser.parse_args(arguments)
    try:
        if options.test is not None:
            return _test(options.test)
        wheels = [build(options.directory, is_compiled=is_compiled) for is_compiled in (False, True)]
        print(*wheels, write_bill(wheels, options.directory), sep="\n")
        for each in wheels:
            if glibc := needed_glibc(each):
                print(f"{each.name} needs glibc {glibc} or later", file=sys.stderr)
    except WheelError as error:
        print(f"scripts/wheel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
