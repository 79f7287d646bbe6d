"""The declaration of a job; one runner runs all jobs.

A job is data and functions over rows. It contains no session, source, sink or clock, so tests run it on literal rows.
A job can have these functions:

- `facts` converts the events of one input to rows of the job's append table, each event by itself. It gets and returns
  Arrow tables, in the task that reads the records. This is the fast way: it needs no Spark query.
- `transform` gets the new events of each input, batch by batch, as DataFrames, and returns the rows of each output. Use
  it if a row needs several events, or if there are several outputs.
- `refresh` gets the job's own tables and returns the rows of the outputs derived from them, as a batch query, whenever
  the tables have grown. The results do not depend on the order of the events, need no state that could be lost, and
  are the same each time.
- `aggregate` computes incremental aggregates: it sums up the facts of some windows of event time (hours, say), so that
  `refresh` reads few rows instead of many. It gets only the facts of windows that have changed.

`refresh` and `aggregate` also get the tables of other jobs that the job reads (`TableInput`), as far as they exist.
`transform` does not, so appended rows depend on the events alone.

`transform` gets a DataFrame for each input, by its name: the columns of the event's schema (`events/`), then the
position of the record (`PLACE`). An append table with these columns can be truncated to an offset, so it can be rewound
(`barnabas pipeline rewind`) and continued without its checkpoint.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
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
"""The name of a dead-letter topic is the topic's name with this suffix."""

# The position of a record: the last columns of an input, after those of its event.
PLACE = ("_topic", "_partition", "_offset", "_timestamp")
# Columns of tables by key: the record's key as text, and whether its row is deleted.
KEY, DELETED = "_key", "_deleted"
# A job's parameter: the number of days before its key's newest fact whose facts count in a row by key; 0: all facts.
LOOKBACK_DAYS = "lookback_days"


class Mode(Enum):
    """The effect of an output's new rows on the existing rows."""

    APPEND = "append"
    """Rows are added; each is written once."""

    UPDATE = "update"
    """A row replaces the row with the same key."""

    LATEST = "latest"
    """The latest row of each record key; a tombstone deletes it."""

    REPLACE = "replace"
    """The result of `refresh` replaces all rows."""

    AGGREGATE = "aggregate"
    """What `aggregate` returns: rows of some time windows (column `unit`), which replace those of the same windows; or,
    if the output has a key, rows of some subjects, which replace those with the same key."""

    DIGEST = "aggregate"
    """The earlier name of `AGGREGATE`."""


@dataclass(frozen=True, slots=True)
class TopicInput:
    """Events of one type, from one topic.

    `topic` is the topic's name unless the run names another; "" is the event's own topic. An input whose `event` is
    None takes the records of any topics that the run names.
    """

    name: str
    event: EventType | None
    topic: str = ""


@dataclass(frozen=True, slots=True)
class TableInput:
    """A table of another job, read completely at each refresh.

    It is expected beside the job's own tables and may be missing there. If the run names its location, it must exist.
    """

    name: str
    job: str


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """Rows as JSON objects in a topic.

    `rows` names the DataFrame that they come from ("": the output's own name). The record's key is the values of the
    `key` columns, separated by blanks, so writing a row again is harmless. Of the results of `refresh` only changed
    rows are written, and a tombstone for each key that has disappeared; these rows must also be a table.
    """

    name: str
    key: tuple[str, ...]
    topic: str = ""
    rows: str = ""
    is_compacted: bool = True


@dataclass(frozen=True, slots=True)
class TableOutput:
    """Rows in a table; `Mode.UPDATE` needs `key`; `partition_by` names the partition columns.

    `topic` is the topic of all rows ("": any): batches without its records do not concern the table. With
    `keeps_deleted`, `Mode.LATEST` marks rows as deleted instead of deleting them.
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
    """A small table for users: the job's findings, most important row first."""

    title: str
    rows: DataFrame


_INPUTS, _OUTPUTS = (TopicInput, TableInput), (TopicOutput, TableOutput)

MakeFacts = Callable[[str, "pa.Table"], "pa.Table"]
Transform = Callable[[Frames, Parameters], Frames]
Mark = Callable[["DataFrame", Frames, Parameters], "DataFrame"]
Summarize = Callable[[Frames, Parameters], "list[Summary]"]


@dataclass(frozen=True, slots=True)
class Job:
    """One job. The docstring of the module that declares it is its description for users.

    Without `transform` and `facts`, the rows of each input go unchanged to the output of the same name.

    `facts` gets an input's name, and its events with the columns of `PLACE`; it may be called with no rows. It returns
    rows of the job's only append table, with the same columns and types for each input. Spark's Python workers import
    or unpickle it. A row depends on its event alone: the run's parameters are for `aggregate` and `refresh`.

    `aggregate` returns the rows of all outputs of `Mode.AGGREGATE`. Column `unit` is the number of the time window
    since 1970. Each window with facts must have a row in at least one output. A window's rows depend only on its facts,
    their marks and the parameters. Outputs with a key have no windows: their rows are those of all subjects in the
    given facts, computed from all facts of these subjects (table `all_NAME`, for the table of facts NAME). Such a job
    supports `--keep-facts` only if it has the parameter `lookback_days`: older facts of a subject, and then the subject
    itself, have no effect.

    `mark` adds to facts the column `mark`: a text or null, from the tables of other jobs. A window whose marks have
    changed is recomputed.

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
        """Check the declarations, and accept the earlier names of arguments, with one warning."""
        for name, kinds in (("inputs", _INPUTS), ("outputs", _OUTPUTS), ("parameters", (Parameter,))):
            given = getattr(self, name)
            found = tuple(given) if isinstance(given, Iterable) else (None,)
            if not all(isinstance(each, kinds) for each in found):
                wanted = " or ".join(each.__name__ for each in kinds)
                raise TypeError(f"job {self.name}: {name} must be a tuple of {wanted}: a single one needs a comma, too")
            object.__setattr__(self, name, found)
            for each in found:
                if isinstance(getattr(each, "event", None), str):
                    raise TypeError(f"job {self.name}: event of input {each.name} must be an EventType, or None")
                for own in ("key", "partition_by"):
                    if isinstance(getattr(each, own, ()), str):
                        raise TypeError(f"job {self.name}: {own} of output {each.name} must be a tuple of names")
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
        """Return the parameters' default values, by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def rows_of(self, output: TopicOutput | TableOutput) -> str:
        """Name the DataFrame that an output is written from."""
        return output.rows or output.name

    def is_derived(self, output: TopicOutput | TableOutput) -> bool:
        """Return whether an output is derived: a table of `refresh` or `aggregate`, or a topic with the same rows."""
        return any(
            isinstance(each, TableOutput)
            and each.mode in (Mode.REPLACE, Mode.AGGREGATE)
            and self.rows_of(each) == self.rows_of(output)
            for each in self.outputs
        )
