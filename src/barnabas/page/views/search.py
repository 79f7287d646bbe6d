"""A search through a topic's records: its hits and its progress."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.partitioner import partition_for_key
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.page.messages.conditions import ConditionError, keys_of, parse_conditions
from barnabas.page.messages.decoding import KINDS
from barnabas.page.messages.masks import hides_keys
from barnabas.page.messages.reading import Span, named_right, spans
from barnabas.page.messages.rows import RecordFormat
from barnabas.page.messages.search import Key, Progress, Search, State
from barnabas.page.messages.searcher import Job
from barnabas.page.messages.state import MessageState, parse_time_ms, whole_number
from barnabas.page.view import Asked, View

_WISHES: Final = ("key", "header", "text", "where")
_LONGEST_WISH: Final = 1_000
_NOT_ASKED: Final = frozenset({"csrf", "stop"})
_NOT_STARTED: Final = "This search is not running: press Search to start it."
PATH: Final = "/search"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView(View):
    """A search.

    Attributes:
        asked: The query; its `nonce` distinguishes repetitions of the same search.
        note: The reason why there is no progress.
    """

    topic: str
    asked: Mapping[str, str]
    note: str
    progress: Progress | None
    kinds: tuple[str, ...] = KINDS

    @property
    def is_final(self) -> bool:
        return self.progress is not None and self.progress.state is not State.RUNNING


def asked_of(form: Mapping[str, str]) -> dict[str, str]:
    """Return the query for a form's fields."""
    return {name: value[:_LONGEST_WISH] for name, value in form.items() if value and name not in _NOT_ASKED}


async def build(state: MessageState, asked: Asked) -> SearchView:
    """Return the progress of a search; does not start it."""
    view = look(state, asked)
    is_asked = view.topic and any(view.asked.get(each) for each in _WISHES)
    return replace(view, note=_NOT_STARTED) if is_asked and view.progress is None else view


def look(state: MessageState, asked: Asked, note: str = "") -> SearchView:
    """Return the state of the query's search."""
    query = asked_of(asked.query)
    search = state.searches.get(_key(asked, query))
    return SearchView(
        now_ms=asked.cluster.pool.env.clock.now_ms(),
        silent={},
        not_told=(),
        topic=query.get("topic", ""),
        asked=query,
        note=note,
        progress=None if search is None else search.look(),
    )


async def begin(state: MessageState, asked: Asked) -> None:
    """Start the query's search, unless it was started before. Raises ConditionError, KafkaError."""
    query = asked_of(asked.query)
    key = _key(asked, query)
    if state.searches.get(key) is not None:
        return
    if not query.get("topic") or not any(query.get(each) for each in _WISHES):
        raise ConditionError("name a topic, and a key, a text, a header or fields to search for")
    try:
        await _begin(state, asked, query, key)
    except KafkaError as error:
        raise named_right(error, query["topic"]) from error


async def stop(state: MessageState, asked: Asked) -> None:
    """Stop the query's search, if it runs."""
    search = state.searches.get(_key(asked, asked_of(asked.query)))
    if search is not None:
        await search.stop()


def _key(asked: Asked, query: Mapping[str, str]) -> Key:
    return asked.cluster.name, asked.cluster.user, tuple(sorted(query.items()))


async def _begin(state: MessageState, asked: Asked, query: Mapping[str, str], key: Key) -> None:
    """Start a search. Raises ConditionError, KafkaError."""
    if state.searches.is_full_for(key):
        raise ConditionError("too many searches are running: stop one, or wait for the end of one")
    topic = query["topic"]
    record_format = state.record_format(topic, query)
    admin = asked.cluster.admin(OffsetAdmin)
    keys = _keys(record_format, query)
    conditions = parse_conditions(query.get("where", ""))
    partitions = await _partitions(admin, topic, keys, whole_number(query.get("partition")))
    found = await spans(admin, partitions)
    starts = await _starts(admin, found, query)
    job = Job(
        topic,
        tuple(each.text for each in record_format.masks),
        record_format.key_as,
        record_format.value_as,
        tuple(each.hex() for each in keys),
        query.get("header", ""),
        query.get("text", ""),
        tuple((each.path, each.comparison, each.operand) for each in conditions),
        {str(each.partition): start for each, start in starts.items()},
    )
    if state.searches.is_full_for(key):
        raise ConditionError("too many searches are running: stop one, or wait for the end of one")
    is_committed = query.get("all") != "yes"
    search = Search(
        admin, job, found, state.max_read_rate, is_committed=is_committed, closed=asked.cluster.closed
    )  # fmt: skip
    state.searches.keep(key, search)


def _keys(record_format: RecordFormat, query: Mapping[str, str]) -> tuple[bytes, ...]:
    text = query.get("key", "")
    if text and hides_keys(record_format.masks):
        raise ConditionError("keys of this topic are hidden and cannot be searched")
    return keys_of(text, record_format.key_as) if text else ()


async def _partitions(
    admin: OffsetAdmin, topic: str, keys: tuple[bytes, ...], partition: int | None
) -> list[TopicPartition]:
    """Return the partitions to search: the query's partition, or those to which producers send the keys."""
    indexes = sorted((await admin.pool.topic(topic)).partitions)
    if partition is not None:
        indexes = [partition]
    elif keys:
        indexes = sorted({partition_for_key(each, len(indexes)) for each in keys})
    return [TopicPartition(topic, each) for each in indexes]


async def _starts(
    admin: OffsetAdmin, found: Mapping[TopicPartition, Span], query: Mapping[str, str]
) -> dict[TopicPartition, int]:
    time_ms = parse_time_ms(query.get("time", ""))
    if time_ms is not None:
        at = await admin.offsets(found, time_ms)
        return {each: at[each] if at[each] >= 0 else span.end for each, span in found.items()}
    start = whole_number(query.get("start")) or 0
    return {each: min(max(start, span.begin), span.end) for each, span in found.items()}
