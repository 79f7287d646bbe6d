"""Writes src/barnabas/core/error_code.py from schemas/errors.json."""

import json
from pathlib import Path

_HEAD = '''"""The protocol's error codes.

Generated from schemas/errors.json by scripts/generate.

Source: protocol guide, "Error codes".
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    """The result of a request, or of one topic, partition or group in it.

    A number without a name here is one of a newer broker: it is none of these, and is called UNKNOWN_CODE_<number>.
    """

    @classmethod
    def _missing_(cls, value: object) -> "ErrorCode | None":
        if not isinstance(value, int):
            return None
        code = int.__new__(cls, value)
        code._name_ = f"UNKNOWN_CODE_{value}"
        code._value_ = value
        return code

'''

_TAIL = """

# Errors after which a client may try the same again.
RETRIABLE = frozenset(
    (
{retriable}
    )
)
"""


def generate(root: Path) -> dict[Path, str]:
    """Return the text of the module."""
    errors = json.loads((root / "schemas/errors.json").read_text())
    members = "\n".join(f"    {error['name']} = {error['code']}" for error in errors)
    retriable = "\n".join(f"        ErrorCode.{error['name']}," for error in errors if error["retriable"])
    return {Path("src/barnabas/core/error_code.py"): _HEAD + members + "\n" + _TAIL.format(retriable=retriable)}
