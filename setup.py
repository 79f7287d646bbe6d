"""Compiles part of the package where it is asked to; everything else about the package is in pyproject.toml.

`BARNABAS_COMPILE=1 pip install .` compiles the modules below with mypyc (it needs a C compiler and Python's headers);
without it the package is pure Python. The source is the same, and so is what it does: docs/adr/0004.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup

# Computation over bytes; docs/adr/0004 says what does not gain by it.
COMPUTATION = (
    "log/cleaner/walk",
    "records/assign",
    "records/builder",
    "records/convert",
    "records/formats",
    "records/legacy",
    "records/message_set",
    "records/message_walk",
    "records/record",
    "records/record_rules",
    "records/transcode",
    "records/usual",
    "records/walk",
)

# The same as in the extra `dev`: what the tests have seen.
COMPILER = "mypy==2.4.1"


def compiled(group_name: str, modules: tuple[str, ...], opt_level: str) -> list[Extension]:
    """The extension modules of one group: a shared library, and a small one by the name of each module."""
    from mypyc.build import mypycify

    found = {module: [str(path) for path in Path("src/barnabas").glob(f"{module}.py")] for module in modules}
    missing = [module for module, paths in found.items() if not paths]
    if missing:
        sys.exit(f"there is no module {', '.join(missing)} to compile")
    paths = sorted(path for each in found.values() for path in each)
    # scripts/check judges the types; where a wheel is built libraries may be missing whose types the compiler can do
    # without.
    options = ["--config-file=", "--ignore-missing-imports"]
    return mypycify([*options, *paths], group_name=group_name, opt_level=opt_level, debug_level="0")


def extensions() -> list[Extension]:
    return compiled("barnabas", COMPUTATION, "3")


is_compiled = os.environ.get("BARNABAS_COMPILE", "") not in ("", "0")
# pip runs this file once without the compiler, to hear what building needs: it does not get beyond the call then.
has_compiler = find_spec("mypyc") is not None
setup(
    ext_modules=extensions() if is_compiled and has_compiler else [],
    setup_requires=[COMPILER] if is_compiled else [],
)
if is_compiled and not has_compiler:
    sys.exit(f"BARNABAS_COMPILE needs {COMPILER}")
