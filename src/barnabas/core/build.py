"""The build of this package, pure Python or partly compiled, and how to install its extras.

Both builds behave the same (docs/adr/0004). For `--version`, bug reports and benchmarks; no code may depend on it.
"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from barnabas import __version__

_PACKAGE = Path(__file__).parents[1]
_SUFFIX = EXTENSION_SUFFIXES[0]  # the one for this interpreter


def compiled_modules(package: Path = _PACKAGE) -> list[str]:
    """Return the names of the modules that run as machine code, sorted; empty for pure Python.

    Python imports an extension module instead of a source file of the same name, so the files show what is imported.

    Args:
        package: The directory of a package.
    """
    return sorted(
        ".".join((package.name, *path.relative_to(package).parent.parts, path.name.removesuffix(_SUFFIX)))
        for path in package.rglob(f"*{_SUFFIX}")
    )


def version_line() -> str:
    """Return the line that `--version` prints: the version and the build."""
    return f"barnabas {__version__} ({'compiled' if compiled_modules() else 'pure Python'})"


def install_hint(extra: str) -> str:
    """Return the command that installs an extra of the package, which is not in a package index."""
    return f"run pip install '.[{extra}]' in a checkout of Barnabas, or pip install 'FILE.whl[{extra}]' with its wheel"
