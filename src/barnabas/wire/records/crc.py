"""CRC-32C, by the library's machine code without the rest of the library.

Importing the package `crc32c` takes 17 ms, a twentieth of the broker's start, because it looks up its version and loads
a command line. So only its extension module is loaded; if that is not at its expected place, the package is imported.

Source: RFC 3720, appendix B.4 (Castagnoli); `benchmarks/micro/test_records.py`.
"""

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

Crc32c = Callable[[bytes | bytearray | memoryview], int]

_PACKAGE = "crc32c"
_EXTENSION = "_crc32c"


def load_extension(package: str = _PACKAGE, extension: str = _EXTENSION) -> Crc32c | None:
    """Return the function of the package's extension module; None if the file or the function does not exist."""
    package_spec = find_spec(package)
    locations = package_spec.submodule_search_locations if package_spec is not None else None
    for location in locations or ():
        for suffix in EXTENSION_SUFFIXES:
            path = Path(location, extension + suffix)
            if path.exists():
                name = f"{package}.{extension}"
                spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, str(path)))
                assert spec is not None
                assert spec.loader is not None
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                return getattr(module, "crc32c", None)
    return None


def _load() -> Crc32c:
    function = load_extension()
    if function is None:
        import crc32c as package

        function = package.crc32c
    return function


crc32c = _load()
"""CRC-32C of a buffer."""
