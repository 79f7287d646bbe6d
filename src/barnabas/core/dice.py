"""Random numbers and new ids, from an injected `Random` that a test can seed.

All randomness and all new ids come from the broker's one `Random`: the system's own in a broker (as good as uuid4 and
urandom), a seeded one where a run must be reproducible.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_UUID_BYTES = 16


def system_dice() -> "Random":
    """Return unpredictable random numbers from the system's source."""
    from random import SystemRandom

    return SystemRandom()


def new_uuid(dice: "Random") -> bytes:
    """Return the 16 bytes of a random UUID (version 4 of RFC 4122)."""
    value = bytearray(dice.randbytes(_UUID_BYTES))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    return bytes(value)


def uuid_text(value: bytes) -> str:
    """Return a UUID as text: 8-4-4-4-12 hex digits."""
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
