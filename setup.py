"""Compiles part of the package where it is asked to; everything else about the package is in pyproject.toml.

`BARNABAS_COMPILE=1 pip install .` compiles the modules below with mypyc (it needs a C compiler and Python's headers);
without it the package is pure Python. The source is the same, and so is what it does: docs/adr/0004.
"""

import os
import sys
from importlib.util import find_spec

from setuptools import Extension, setup

# Computation over bytes; docs/adr/0004 says what does not gain by it.
COMPILED = (
    "broker/log/cleaner/walk",
    "wire/records/assign",
    "wire/records/builder",
    "wire/records/convert",
    "wire/records/formats",
    "wire/records/legacy",
    "wire/records/message_set",
    "wire/records/message_walk",
    "wire/records/record",
    "wire/records/record_rules",
    "wire/records/transcode",
    "wire/records/usual",
    "wire/records/walk",
)

# The same as in the extra `dev`: what the tests have seen.
COMPILER = "mypy==2.4.1"


def extensions() -> list[Extension]:
    from mypyc.build import mypycify

    paths = [f"src/barnabas/{module}.py" for module in COMPILED]
    # scripts/check judges the types; where a wheel is built libraries may be missing whose types the compiler can do
    # without.
    return mypycify(["--config-file=", "--ignore-missing-imports", *paths], group_name="barnabas", debug_level="0")


is_compiled = os.environ.get("BARNABAS_COMPILE", "") not in ("", "0")
# pip runs this file once without the compiler, to hear what building needs: it does not get beyond the call then.
has_compiler = find_spec("mypyc") is not None
setup(
    ext_modules=extensions() if is_compiled and has_compiler else [],
    setup_requires=[COMPILER] if is_compiled else [],
)
if is_compiled and not has_compiler:
    sys.exit(f"BARNABAS_COMPILE needs {COMPILER}")
