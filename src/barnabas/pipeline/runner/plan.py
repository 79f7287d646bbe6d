"""The plan of a run: its job, start and end, limits, and reaction to data loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf

from barnabas.clients.positions import Bound, OnDataLoss, PlanError, check_patterns, parse_offsets
from barnabas.pipeline.events.schema_registry import SchemaRegistry
from barnabas.pipeline.events.types import Format
from barnabas.pipeline.job import LOOKBACK_DAYS, Job, Mode, TableOutput, TopicInput, TopicOutput, Value
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.maintenance import NEVER, Every
from barnabas.pipeline.tables.layout import PLAIN, Layout, check_divisions, parse_divisions
from barnabas.pipeline.tables.table import TableError

__all__ = [
    "Bound",
    "Delivery",
    "OnDataLoss",
    "PlanError",
    "RunPlan",
    "check_plan",
    "parse_offsets",
    "parse_value",
]

_DAY_S = 24 * 3600


class Delivery(Enum):
    """The delivery guarantee: how often a record's rows may be in a table or topic after a failure."""

    EXACTLY_ONCE = "exactly-once"
    AT_MOST_ONCE = "at-most-once"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A job and the options of its run.

    Attributes:
        job: The job.
        kafka: The cluster.
        tables: Location of the tables: a directory, a warehouse, a database.
        table_format: delta, iceberg, parquet or postgresql.
        checkpoint: The directory of all jobs' checkpoints; this job's is below it.
        run: Name of the run in the tables' progress: several runs may write the same tables at the same time.
        other_run: The name that this run would have with other jobs in its command, or without them; "": the same name.
        topics: Topics by input or output, instead of the declared ones.
        any_topics: Topics of an input that reads any topics; a text between slashes is a pattern.
        event_format: json or avro.
        start: Start of a run without progress.
        until: End of the run; None: no end.
        is_once: End at the end offsets found at the start.
        trigger_s: Seconds between batches, at least; None: by their duration.
        refresh_s: Seconds between two refreshes of the derived results, at least.
        give_up_s: How long the run may fail before it ends, as when the cluster is unavailable.
        keep_facts_s: Retention of the facts behind aggregates; None: forever.
        by_key: The topics of `any_topics` whose tables have the latest row of each record key.
        keeps_deleted: Mark rows in these tables as deleted instead of deleting them.
        envelope: Envelope of the values of `any_topics`: debezium; "": the values are rows.
        compact_every: Interval of compactions.
        layout: Layout of the tables; partition columns and sort columns are for `any_topics` only.
        places: Locations of tables that are not below `tables`, by output.
        keeps_quotas: Size batches by the quotas of the run's user and client id, and report the limiting quota.
        registry: Schema registry of the values of `any_topics`; None: the values are JSON.
    """

    job: Job
    kafka: KafkaOptions
    tables: str
    table_format: str
    checkpoint: str
    run: str
    topics: Mapping[str, str] = field(default_factory=dict)
    any_topics: tuple[str, ...] = ()
    event_format: Format = "json"
    start: Bound = field(default_factory=Bound)
    until: Bound | None = None
    is_once: bool = False
    trigger_s: float | None = None
    refresh_s: float = 10.0
    give_up_s: float = 120.0
    compact_every: Every = NEVER
    layout: Layout = PLAIN
    places: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    on_data_loss: OnDataLoss = OnDataLoss.STOP
    delivery: Delivery = Delivery.EXACTLY_ONCE
    parameters: Mapping[str, Value] = field(default_factory=dict)
    keeps_quotas: bool = True
    registry: SchemaRegistry | None = None
    keep_facts_s: float | None = None
    by_key: tuple[str, ...] = ()
    keeps_deleted: bool = False
    envelope: str = ""
    other_run: str = ""

    def topic_of_input(self, declared: TopicInput) -> str:
        """Return the name of an input's topic."""
        event_topic = declared.event.topic if declared.event else ""
        return self.topics.get(declared.name) or declared.topic or event_topic

    def topic_of_output(self, declared: TopicOutput) -> str:
        """Return the name of an output's topic."""
        return self.topics.get(declared.name) or declared.topic or declared.name

    def layout_of(self, declared: TableOutput) -> Layout:
        """Return the layout of an output's table."""
        if declared.partition_by:
            return replace(self.layout, partition_columns=parse_divisions(", ".join(declared.partition_by)))
        return self.layout

    def run_of(self, output: str) -> str:
        """Return the name of this run for one output, as in the table's progress."""
        return f"{self.run}/{output}"

    @property
    def job_checkpoint(self) -> str:
        """Return the directory of this job's own checkpoint."""
        return f"{self.checkpoint.rstrip('/')}/{self.run}"


def check_plan(plan: RunPlan) -> None:
    """Check a plan before the start; raise PlanError, which names the option, if it is invalid."""
    job = plan.job
    names = {each.name for each in job.inputs} | {each.name for each in job.outputs}
    for name in plan.topics:
        if name not in names:
            raise PlanError(f"job {job.name} has no input or output {name!r}; it has {', '.join(sorted(names))}")
    takes_any = [each for each in job.inputs if isinstance(each, TopicInput) and each.event is None and not each.topic]
    for name in plan.places:
        if name not in names and not takes_any:
            raise PlanError(f"job {job.name} has no table {name!r}; it has {', '.join(sorted(names))}")
    if takes_any and not plan.any_topics:
        raise PlanError(f"job {job.name} reads any topics: name them with --topics")
    check_patterns(plan.any_topics)
    if plan.any_topics and not takes_any:
        raise PlanError(f"job {job.name} reads its own topics: replace them with --topic INPUT=TOPIC")
    if plan.registry is not None and not takes_any:
        raise PlanError(f"job {job.name} reads its own events: --schema-registry is for jobs that read any topics")
    if plan.envelope and not takes_any:
        raise PlanError(f"job {job.name} reads its own events: --envelope is for jobs that read any topics")
    if plan.envelope and plan.registry is not None:
        raise PlanError(
            "--envelope cannot be combined with --schema-registry: let the connector unwrap the values "
            "(transforms.unwrap.type=io.debezium.transforms.ExtractNewRecordState)"
        )
    if plan.by_key and plan.table_format == "parquet":
        raise PlanError("a Parquet table can't be updated by key: use delta, iceberg or postgresql")
    if plan.keeps_deleted and not plan.by_key:
        raise PlanError("--keep-deleted needs tables by key: name their topics with --by-key")
    if plan.layout.partition_columns or plan.layout.sorted_by:
        if not takes_any:
            raise PlanError(
                f"job {job.name} fixes its table layout: --partition-by and --sort-by are for load's tables"
            )
        if plan.table_format == "postgresql":
            raise PlanError(
                "--partition-by and --sort-by are not supported for PostgreSQL: create the table with the layout that "
                "you want, and load into it"
            )
        try:
            check_divisions(plan.layout.partition_columns, plan.table_format)
        except TableError as error:
            raise PlanError(f"--partition-by: {error}") from None
    parameters = job.defaults()
    for name, value in plan.parameters.items():
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise PlanError(f"job {job.name} has no parameter {name!r}; it has {known}")
        if type(value) is not type(parameters[name]):
            raise PlanError(f"parameter {name} must be {type(parameters[name]).__name__}, got {value!r}")
    _check_pace(plan)
    _check_job(plan)
    _check_keep_facts(plan)
    tables = {job.rows_of(output) for output in job.outputs if isinstance(output, TableOutput)}
    if job.refresh is not None and not tables:
        raise PlanError(f"job {job.name} has a refresh but no tables")


def _check_pace(plan: RunPlan) -> None:
    limits = plan.limits
    for option, value in (
        ("--trigger", plan.trigger_s or 0.0),
        ("--max-bytes-per-s", limits.bytes_per_s),
        ("--max-messages-per-s", limits.records_per_s),
        ("--max-rate-per-partition", limits.records_per_s_per_partition),
    ):
        if not 0 <= value < inf:
            raise PlanError(f"{option} {value:g} is invalid: must be a number from 0")


def _check_job(plan: RunPlan) -> None:
    """Raise PlanError if the declaration of a job contradicts itself: rows would be missing, or every batch fail."""
    job = plan.job
    names = [each.name for each in job.outputs if isinstance(each, TableOutput)]
    by_topic: dict[str, str] = {}
    inputs = [each for each in job.inputs if isinstance(each, TopicInput)]
    for each in inputs:
        if job.facts is None and sum(other.name == each.name for other in inputs) > 1:
            raise PlanError(f"job {job.name}: two inputs are named {each.name}")
        topic = plan.topic_of_input(each)
        if topic and (other := by_topic.setdefault(topic, each.name)) != each.name:
            raise PlanError(f"job {job.name}: inputs {other} and {each.name} have the same topic {topic}")
        if each.event is None and job.facts is not None:
            raise PlanError(f"job {job.name}: input {each.name} has no event type, and facts are made of events")
        if each.event is None and "*" not in names:
            for name in (each.name,) if topic else plan.any_topics:
                if name not in names:
                    raise PlanError(f"job {job.name}: input {name} has no event type, so it needs a table named {name}")
    own = [each for each in job.outputs if not job.is_derived(each)]
    tables = [each for each in own if isinstance(each, TableOutput)]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"job {job.name}: two tables are named {name}")
    if job.facts is not None and [getattr(each, "mode", None) for each in own] != [Mode.APPEND]:
        raise PlanError(f"job {job.name}: facts writes one append table, and no other output but those of refresh")
    if job.aggregate is not None and len(tables) != 1:
        raise PlanError(f"job {job.name}: aggregate needs exactly one table that is not derived")
    for output in job.outputs:
        mode = getattr(output, "mode", Mode.APPEND)
        if mode is Mode.UPDATE and not output.key:
            raise PlanError(f"job {job.name}: table {output.name} is updated by key: name its key columns")
        if mode is Mode.AGGREGATE and job.aggregate is None:
            raise PlanError(f"job {job.name}: table {output.name} needs the function aggregate")
        if job.refresh is None and job.is_derived(output):
            raise PlanError(f"job {job.name}: table {output.name} needs the function refresh")


def _check_keep_facts(plan: RunPlan) -> None:
    """Raise PlanError if `--keep-facts` would delete facts from which rows are computed again.

    A row by key is computed from all facts of its key, or from those of the last `LOOKBACK_DAYS` days before its newest
    fact. Keys without a fact for so many days do not count: facts of twice as many days are enough.
    """
    job, keep_s = plan.job, plan.keep_facts_s
    if keep_s is None:
        return
    if job.aggregate is None:
        raise PlanError(f"job {job.name} does not support --keep-facts: only jobs with incremental aggregates do")
    by_key = [
        each for each in job.outputs if isinstance(each, TableOutput) and each.mode is Mode.AGGREGATE and each.key
    ]
    if not by_key:
        return
    reason = (
        f"job {job.name} computes table {by_key[0].name} from all facts of its {', '.join(by_key[0].key)}, and "
        "--keep-facts would delete some of them"
    )
    if LOOKBACK_DAYS not in job.defaults():
        raise PlanError(f"{reason}: run this job without --keep-facts")
    days = int({**job.defaults(), **plan.parameters}[LOOKBACK_DAYS])
    if days <= 0 or keep_s < 2 * days * _DAY_S:
        raise PlanError(
            f"{reason}: limit them with --set {LOOKBACK_DAYS}=DAYS, and keep facts for at least twice as many days"
        )


def parse_value(text: str, default: Value) -> Value:
    """Parse a parameter's value as the type of its default.

    Raises:
        PlanError: The text is not a value of that type.
    """
    kind = type(default)
    if kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
    elif kind is str:
        return text
    else:
        try:
            return int(text) if kind is int else float(text)
        except ValueError:
            pass
    raise PlanError(f"{text!r} must be {kind.__name__}")
