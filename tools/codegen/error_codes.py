"""Writes src/barnabas/core/error_code.py from schemas/errors.json."""

import json
from pathlib import Path

_HEAD = '''"""The protocol's error codes.

Generated from schemas/errors.json by scripts/generate.

Source: protocol guide, "Error codes".
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    """What an answer says about one request, topic, partition or group."""

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
    """The text of the module."""
    errors = json.loads((root / "schemas/errors.json").read_text())
    members = "\n".join(f"    {error['name']} = {error['code']}" for error in errors)
    retriable = "\n".join(f"        ErrorCode.{error['name']}," for error in errors if error["retriable"])
    return {Path("src/barnabas/core/error_code.py"): _HEAD + members + "\n" + _TAIL.format(retriable=retriable)}
