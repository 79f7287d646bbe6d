"""What all windows that show messages share: what nobody may see."""

from collections.abc import Mapping, Sequence

from barnabas.page.messages.decoding import GUESSED, KINDS, MOST_SHOWN_BYTES
from barnabas.page.messages.masks import Mask, masks_of
from barnabas.page.messages.rows import Sight

_LONGEST_NUMBER = 18


class Desk:
    """Where a page's messages are shown."""

    def __init__(self, masks: Sequence[Mask] = ()) -> None:
        self._masks = masks

    def sight(self, topic: str, query: Mapping[str, str], most_bytes: int = MOST_SHOWN_BYTES) -> Sight:
        """Return how a topic's records are shown to who asks with `?key_as=` and `?value_as=`."""
        key_as, value_as = (each if (each := query.get(name)) in KINDS else GUESSED for name in ("key_as", "value_as"))
        return Sight(topic, masks_of(topic, self._masks), key_as, value_as, most_bytes)


def whole_number(text: str | None) -> int | None:
    """Read a whole number from 0 on; None: it is none, or can't be an offset."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if text is not None and is_number else None
