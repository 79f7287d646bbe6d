"""Resources for converting batches for old clients; the conversion itself is in `down_conversion.py`."""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.executor import Executor

if TYPE_CHECKING:
    from random import Random


class Conversions(NamedTuple):
    """The threads that convert batches, and the dice that choose the first partition of an answer.

    Attributes:
        usual: For batches that unpack to at most `down_conversion.USUAL_UNPACKED_BYTES`.
        large: One thread for all other batches, one at a time.
        dice: Chooses the partition with which an answer begins.
    """

    usual: Executor
    large: Executor
    dice: "Random"
