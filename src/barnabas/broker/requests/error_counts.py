"""Counts error codes in answers for Kafka's ErrorsPerSec, NONE included.

Each `error_code` of an answer and its parts is counted, except parts that Kafka leaves out. A class of answers is
analysed once; the resulting function visits only error codes.

Source: metrics facts, ErrorsPerSec; Kafka 2.7.2, `errorCounts` of its responses.
"""

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

from barnabas.wire.protocol.wire import Part

# Called with an answer and the counts so far.
ErrorCounter: TypeAlias = Callable[[Any, "defaultdict[int, int]"], object]

_ERROR_CODE = "error_code"
# Partitions of Metadata, and rules found by DeleteAcls: only the error of the topic or the filter counts.
_LEFT_OUT = frozenset(["MetadataResponsePartition", "DeleteAclsMatchingAcl"])
# Of these answers, only the error codes of partitions count.
_OWN_LEFT_OUT = frozenset(["FetchResponse", "ElectLeadersResponse"])


def error_counter(message: type[Part]) -> ErrorCounter | None:
    """Return the function that counts the error codes in answers of a class, its own `count_errors` if it has one;
    None: the class has no error codes.
    """
    own: ErrorCounter | None = getattr(message, "count_errors", None)
    if own is not None:
        return own
    if message.__name__ in _LEFT_OUT:
        return None
    counters = [(name, is_list, error_counter(part)) for name, part, is_list in message.PARTS]
    inner = [(name, is_list, counter) for name, is_list, counter in counters if counter is not None]
    has_own = _ERROR_CODE in message.FIELDS and message.__name__ not in _OWN_LEFT_OUT
    if not inner:
        return _count_own if has_own else None
    if len(inner) == 1 and inner[0][1] and not has_own:
        return _counter_of_list(*inner[0][::2])

    def count(answer: Any, counts: defaultdict[int, int]) -> None:
        if has_own:
            _count_own(answer, counts)
        for name, is_list, count_part in inner:
            value = getattr(answer, name)
            for part in (value or ()) if is_list else (value,):
                count_part(part, counts)

    return count


def _count_own(answer: Any, counts: defaultdict[int, int]) -> None:
    counts[answer.error_code] += 1


class _CountEach:
    """Counts the error codes of the parts in one list.

    Attributes:
        parts_of: Returns that list of an answer, or of a part of it.
    """

    __slots__ = ("parts_of",)

    def __init__(self, parts_of: Callable[[Any], Any]) -> None:
        self.parts_of = parts_of

    def __call__(self, answer: Any, counts: defaultdict[int, int]) -> None:
        for part in self.parts_of(answer) or ():
            counts[part.error_code] += 1


def _counter_of_list(name: str, count_part: ErrorCounter) -> ErrorCounter:
    # hot path: benchmarks/users (every answer, if metrics are enabled)
    parts_of = attrgetter(name)
    if count_part is _count_own:
        return _CountEach(parts_of)
    if isinstance(count_part, _CountEach):
        # Mostly the partitions of topics: this saves a call for each topic.
        inner_of = count_part.parts_of

        def count_inner(answer: Any, counts: defaultdict[int, int]) -> None:
            for part in parts_of(answer) or ():
                for inner in inner_of(part) or ():
                    counts[inner.error_code] += 1

        return count_inner

    def count_in_each(answer: Any, counts: defaultdict[int, int]) -> None:
        for part in parts_of(answer) or ():
            count_part(part, counts)

    return count_in_each
