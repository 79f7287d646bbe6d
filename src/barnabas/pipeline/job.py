"""The declaration of a job, by which one runner can run all jobs.

A job is data and functions over rows: no session, no source, no sink and no clock in it, so that it is tested on
literal rows. There are these kinds of function:

- `facts` makes rows of the job's append table of one input's events, each by itself. It gets and returns Arrow tables,
  in the task that reads the records: the fast way, without a query of Spark.
- `transform` is given the new events of each input, batch by batch, as DataFrames, and gives the rows of each output:
  for what needs several events at once, or several outputs.
- `refresh` is given the job's own tables and gives the rows of outputs that are derived from them, in batch, whenever
  the tables have grown. What is derived so is right in whatever order the events came, needs no state that could be
  lost, and is the same however often it is done.
- `aggregate` computes incremental aggregates: it sums up the facts of some time windows of event time (hours, say), so
  that `refresh` reads few rows instead of many. It gets only the facts of windows in which something changed.

`refresh` and `aggregate` also get the tables of other jobs that the job reads (`TableInput`), as far as they exist;
`transform` does not, so that what is appended depends on the events alone.

Shape of what `transform` is given, for each input by its name: the columns of the event's schema (`events/`), then
those of `PLACE`: where the record stands. An append table that keeps the place's columns can be cut at an offset, so it
can be rewound (`barnabas pipeline rewind`) and continued without its checkpoint.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
    from pyspark.sql import DataFrame

    from barnabas.pipeline.events import EventType

Value = bool | int | float | str
Parameters = Mapping[str, Value]
Frames = Mapping[str, "DataFrame"]

DEAD_LETTER_SUFFIX = ".dlq"
"""Suffix of a topic's name that gives the name of its dead-letter topic."""

# Where a record stands; the columns that an input has behind those of its event.
PLACE = ("_topic", "_partition", "_offset", "_timestamp")
# Of tables by key: the record's key as text, and whether its row is deleted.
KEY, DELETED = "_key", "_deleted"


class Mode(Enum):
    """The effect of an output's rows on those that are there already."""

    APPEND = "append"
    """New rows beside the old ones; each is written once."""

    UPDATE = "update"
    """A row takes the place of the one with the same key."""

    LATEST = "latest"
    """The latest row of each record key; a tombstone takes it away."""

    REPLACE = "replace"
    """All rows at once, instead of all that were there: what `refresh` gives."""

    AGGREGATE = "aggregate"
    """What `aggregate` returns: rows of some time windows (column `unit`), which replace those of the same windows; or,
    if the output has a key, rows of some subjects, which replace those with the same key."""

    DIGEST = "aggregate"
    """The earlier name of `AGGREGATE`."""


@dataclass(frozen=True, slots=True)
class TopicInput:
    """Events of one type, out of one topic.

    `topic` is the topic's name where the run names no other; "" stands for the event's own. A job with an input
    whose `event` is None takes any topics that the run names, record by record.
    """

    name: str
    event: EventType | None
    topic: str = ""


@dataclass(frozen=True, slots=True)
class TableInput:
    """A table that another job has written, read whole with each refresh.

    It is looked for beside the job's own tables, and may be missing there; or in the place that the run names for it.
    """

    name: str
    job: str


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """Rows as JSON objects in a topic.

    `rows` names the DataFrame that they come from ("" means the output's own name), `key` the columns whose values,
    with a blank between, are the record's key. Writing one again under its key is harmless. What `refresh` gives is
    written where it has changed, and a key that is gone gets a tombstone; the same rows must then be a table, too.
    """

    name: str
    key: tuple[str, ...]
    topic: str = ""
    rows: str = ""
    is_compacted: bool = True


@dataclass(frozen=True, slots=True)
class TableOutput:
    """Rows in a table; `key` is needed by `Mode.UPDATE`, `partition_by` names columns that the files are divided by.

    `topic` is the one that all its rows are of, and "" stands for any: a batch without records of it is none of the
    table's business. `keeps_deleted` has `Mode.LATEST` mark rows as deleted, in place of taking them away.
    """

    name: str
    mode: Mode = Mode.APPEND
    key: tuple[str, ...] = ()
    rows: str = ""
    partition_by: tuple[str, ...] = ()
    topic: str = ""
    keeps_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a run may set (`--set name=value`); it has the type of its default."""

    name: str
    default: Value
    meaning: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A small table for people: what the job found, most important row first."""

    title: str
    rows: DataFrame


MakeFacts = Callable[[str, "pa.Table"], "pa.Table"]
Transform = Callable[[Frames, Parameters], Frames]
Mark = Callable[["DataFrame", Frames, Parameters], "DataFrame"]
Summarize = Callable[[Frames, Parameters], "list[Summary]"]


@dataclass(frozen=True, slots=True)
class Job:
    """One job. Its docstring for people is that of the module which declares it.

    Without `transform` and `facts` the rows of inputs go as they are into the outputs of their names.

    `facts` gets an input's name, and its events with the columns of `PLACE`; it may be called with no rows. It returns
    rows of the job's only append table, with the same columns and types for each input. Spark's Python workers import
    or unpickle it. What a row holds depends on its event alone: the run's parameters are for `aggregate` and `refresh`.

    `aggregate` returns the rows of all outputs of `Mode.AGGREGATE`, with the number of the time window since 1970 in
    the column `unit`, and at least one row in one of them for each window that has a fact. Its result depends only on
    the facts of that window, the parameters, and what `mark` says of the facts. Outputs with a key have no windows:
    their rows are those of all subjects with facts among the ones it is given, and depend on all facts of the subject,
    which it is given as `all_` and the table's name.

    `mark` puts beside facts, in the column `mark`, what the tables that are read say of each: a text, or null. A window
    in which that has changed is recomputed.

    `digest` and `unit_s` are the earlier names of `aggregate` and `window_s`.
    """

    name: str
    does: str
    inputs: tuple[TopicInput | TableInput, ...]
    outputs: tuple[TopicOutput | TableOutput, ...]
    transform: Transform | None = None
    refresh: Transform | None = None
    aggregate: Transform | None = None
    mark: Mark | None = None
    window_s: int = 3600
    parameters: tuple[Parameter, ...] = ()
    summarize: Summarize | None = None
    facts: MakeFacts | None = None
    digest: InitVar[Transform | None] = None
    unit_s: InitVar[int | None] = None

    def __post_init__(self, digest: Transform | None, unit_s: int | None) -> None:
        """Accept the earlier names of arguments, with one warning."""
        earlier = {
            old: (new, value)
            for old, new, value in (("digest", "aggregate", digest), ("unit_s", "window_s", unit_s))
            if value is not None
        }
        for new, value in earlier.values():
            object.__setattr__(self, new, value)
        if earlier:
            names = ", ".join(f"{old} is now {new}" for old, (new, _) in earlier.items())
            warnings.warn(f"job {self.name}: {names}", FutureWarning, stacklevel=3)

    def defaults(self) -> dict[str, Value]:
        """Return the parameters as they are where a run sets none."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def rows_of(self, output: TopicOutput | TableOutput) -> str:
        """Name the DataFrame that an output is written from."""
        return output.rows or output.name
