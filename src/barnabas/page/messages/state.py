"""Message state shared by all windows: masks, and the searches and tails."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from barnabas.page.messages.decoding import AUTO, KINDS, MOST_SHOWN_BYTES
from barnabas.page.messages.masks import Mask, masks_of
from barnabas.page.messages.rows import RecordFormat
from barnabas.page.messages.search import Searches
from barnabas.page.messages.tail import Tails

_LONGEST_NUMBER: Final = 18


class MessageState:
    """The masks, searches and tails of a page."""

    def __init__(self, masks: Sequence[Mask] = (), max_read_rate: int = 0) -> None:
        """Args:
        max_read_rate: Bytes per second that a search may read; 0: no limit.
        """
        self._masks = masks
        self.max_read_rate = max_read_rate
        self.searches = Searches()
        self.tails = Tails()

    async def close(self) -> None:
        """End all searches."""
        await self.searches.close()

    def record_format(self, topic: str, query: Mapping[str, str], most_bytes: int = MOST_SHOWN_BYTES) -> RecordFormat:
        """Return the display options of a topic's records, with `?key_as=` and `?value_as=`."""
        key_as, value_as = (each if (each := query.get(name)) in KINDS else AUTO for name in ("key_as", "value_as"))
        return RecordFormat(topic, masks_of(topic, self._masks), key_as, value_as, most_bytes)


def whole_number(text: str | None) -> int | None:
    """Parse a whole number of at least 0; None: it is invalid, or too large for an offset."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if text is not None and is_number else None


def parse_time_ms(text: str) -> int | None:
    """Parse a time in UTC in a form's format, or in milliseconds; None: it is invalid."""
    if (number := whole_number(text)) is not None:
        return number
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None
