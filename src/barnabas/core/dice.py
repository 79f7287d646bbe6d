"""Random numbers and new ids: they come from a `Random` that is handed in, so that a test can seed it.

Everything random and every new id comes from the broker's one `Random`: the system's own in a broker (as good as uuid4
and urandom), a seeded one where a run has to be repeated.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_UUID_BYTES = 16


def system_dice() -> "Random":
    """Unpredictable numbers, from the system's own source."""
    from random import SystemRandom

    return SystemRandom()


def new_uuid(dice: "Random") -> bytes:
    """The 16 bytes of a random UUID (version 4 of RFC 4122)."""
    value = bytearray(dice.randbytes(_UUID_BYTES))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    return bytes(value)


def uuid_text(value: bytes) -> str:
    """A UUID as it is written: 8-4-4-4-12 hex digits."""
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
