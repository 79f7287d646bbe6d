"""Numbers and times as text for charts, their axes and the tables below them."""

from datetime import date, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def number(value: int) -> str:
    """Return a number with commas between thousands, from 10⁹ on four digits and G, T or P."""
    return f"{value:,}" if abs(value) < 10**9 else tick(value)


def tick(value: float) -> str:
    """Return a number short enough for an axis: 2,500 or 1.5M."""
    for unit, letter in ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M")):
        if abs(value) >= unit:
            return f"{value / unit:,.4g}{letter}"
    return f"{value:,.6g}"


def day(value: date) -> str:
    """Return a date as 17 May 2015."""
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"


def short_day(value: date) -> str:
    """Return a date without its year."""
    return f"{value.day} {_MONTHS[value.month - 1]}"


def month(value: date) -> str:
    """Return a month and its year."""
    return f"{_MONTHS[value.month - 1]} {value.year}"


def timestamp(value: datetime) -> str:
    """Return a time to the minute, as 17 May 2015 10:05."""
    return f"{day(value)} {value:%H:%M}"
