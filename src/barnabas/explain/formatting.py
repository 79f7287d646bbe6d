"""Formatting of figures for users."""

from collections.abc import Sequence
from typing import Final

_SIZES: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit; bytes in the largest unit in which the value is at least 1."""
    if unit.startswith("bytes"):
        size, power = float(value), 0
        while abs(size) >= 1_024 and power < len(_SIZES) - 1:
            size /= 1_024
            power += 1
        digits = 0 if power == 0 or size >= 100 else 1
        return f"{size:,.{digits}f} {_SIZES[power]}{unit.removeprefix('bytes')}"
    if unit == "percent":
        return f"{value:.3g} %"
    return f"{value:.3g} {unit}"


def duration(milliseconds: float) -> str:
    """Return a duration in a suitable unit."""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.1f} min"
    if seconds < 172_800:
        return f"{seconds / 3_600:.1f} h"
    return f"{seconds / 86_400:.1f} days"


def count(number: float, noun: str) -> str:
    """Return a number of things: `1 record`, `1,200 records`."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return the first `most` names in one line, and the number of the others."""
    first = ", ".join(map(str, names[:most]))
    return first if len(names) <= most else f"{first} and {len(names) - most} more"


def silence(broker: str, failure: str) -> str:
    """Describe why a broker cannot be queried; an unregistered broker has no address."""
    return f"{broker} {failure}" if failure == "is not registered" else f"{broker} does not answer: {failure}"


def times(number: int) -> str:
    """Return a frequency: `once`, `3 times`."""
    return "once" if number == 1 else f"{number:,} times"
