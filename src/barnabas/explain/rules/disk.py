"""Causes of full disks and of segments that are not deleted: growth, retention, and the responsible settings."""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.core.advised_commands import NAME, command
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import amount, count, duration, listed
from barnabas.explain.snapshot import Directory, Row, Setting, Snapshot

_NEARLY_FULL: Final = 0.9
_MOST_TOPICS: Final = 5
_FOREVER: Final = "-1"
# By the reasons of `broker/log/retention.py`.
_KEPT_BY: Final = {
    "active": "it is the active segment, and empty",
    "high watermark": "not all in-sync replicas have all of it",
    "retention.ms": "its newest record is not old enough (retention.ms)",
    "retention.bytes": "the partition is not larger than retention.bytes",
    "timestamp in the future": "its newest record's timestamp is in the future",
    "older segment": "segments are deleted in order, and an older one stays",
    "compaction": "it is compacted, and keeps the newest record of each key",
    "": "it has expired, and the next check deletes it (log.retention.check.interval.ms)",
    "no rule": "nothing deletes it: retention.ms and retention.bytes are -1",
}
_FUTURE: Final = "timestamp in the future"
_GOING: Final = ""


def explain_disk(snapshot: Snapshot) -> list[Finding]:
    """Explain disk usage; with a topic, the reasons why its segments are not deleted."""
    if snapshot.scope.name is not None:
        return worst_first(_topic(snapshot, snapshot.scope.name))
    growths = _growths_per_s(snapshot)
    found = [_directory(snapshot, *each) for each in zip(snapshot.directories, growths, strict=True)]
    found += [_uncleanable(snapshot, *log, reason) for log, reason in snapshot.bad_logs("uncleanable").items()]
    return worst_first(found)


def kept_by(segment: Mapping[str, object]) -> str:
    """Describe why a segment is not deleted yet."""
    if segment["kept_by"] is None:
        return f"nothing: {segment['rule']} is about to delete it"
    reason = str(segment["kept_by"])
    return _KEPT_BY.get(reason, reason)


def full_disks(snapshot: Snapshot) -> list[Finding]:
    """Return findings about failed or nearly full directories, and about logs that only grow."""
    return [each for each in explain_disk(snapshot) if each.severity]


def _directory(snapshot: Snapshot, directory: Directory, growth: float) -> Finding:
    subject = f"directory {directory.path} of broker {directory.broker_id}"
    next_step = command("log-dirs", "--describe", ("--broker-list", directory.broker_id))
    if directory.failure:
        text = f"{directory.path} of {snapshot.address(directory.broker_id)} can't be used: {directory.failure}"
        return Finding(subject, "failed", text, Severity.URGENT, commands=(next_step,))
    by_topic: dict[str, int] = {}
    for name, size in directory.logs.items():
        by_topic[name.topic] = by_topic.get(name.topic, 0) + size
    largest = sorted(by_topic.items(), key=lambda each: -each[1])[:_MOST_TOPICS]
    log_bytes = sum(by_topic.values())
    figures: dict[str, Figure] = {
        "log_bytes": log_bytes,
        "total_bytes": directory.total_bytes,
        "free_bytes": directory.free_bytes,
    }
    what = listed([f"{topic} {amount(size, 'bytes')}" for topic, size in largest])
    text = (
        f"{directory.path} of {snapshot.address(directory.broker_id)} has {amount(log_bytes, 'bytes')} of logs ({what})"
    )
    causes = tuple(_kept_forever(snapshot, topic, size) for topic, size in largest if _is_forever(snapshot, topic))
    if directory.total_bytes is None or directory.free_bytes is None:
        text += "; the broker does not report the size of its disk"
        return Finding(
            subject, "used", text, certainty=Certainty.UNKNOWN, figures=figures, causes=causes, commands=(next_step,)
        )
    part = 1 - directory.free_bytes / max(directory.total_bytes, 1)
    text += f"; {part:.0%} of its disk is used, {amount(directory.free_bytes, 'bytes')} are free"
    certainty = Certainty.MEASURED
    if growth > 0:
        full_ms = directory.free_bytes * 1_000 / growth
        pace = amount(growth, "bytes/s")
        text += f"; at the {pace} that clients write to it, it is full in {duration(full_ms)} if nothing is deleted"
        figures |= {"written_bytes_per_s": growth, "full_in_ms": round(full_ms)}
        certainty = Certainty.INFERRED
    severity = Severity.PROBLEM if part >= _NEARLY_FULL else Severity.FINE
    verdict = "nearly-full" if severity else "used"
    return Finding(subject, verdict, text, severity, certainty, figures=figures, causes=causes, commands=(next_step,))


def _growths_per_s(snapshot: Snapshot) -> Iterator[float]:
    """Yield the bytes/s that clients write to each directory, also through leaders on other brokers.

    Brokers report the bytes that clients wrote to them in the last minute: a leader's bytes are divided among its
    partitions by their size, and each replica gets those of its partition.
    """
    rates = {
        row["broker_id"]: row["minutes"][-1]["produced_bytes_per_s"]
        for row in snapshot.rows("broker")
        if row.get("minutes")
    }
    leaders = {name: each.leader_id for name, each in snapshot.partitions.items()}
    led_bytes = dict.fromkeys(rates, 0)
    for directory in snapshot.directories:
        for name, size in directory.logs.items():
            if leaders.get(name) == directory.broker_id and directory.broker_id in rates:
                led_bytes[directory.broker_id] += size
    per_byte = {broker_id: rates[broker_id] / led for broker_id, led in led_bytes.items() if led}
    for directory in snapshot.directories:
        yield sum(size * per_byte.get(leaders.get(name, -1), 0.0) for name, size in directory.logs.items())


def _is_forever(snapshot: Snapshot, topic: str) -> bool:
    settings = snapshot.settings.get(topic, {})
    is_deleted = "delete" in settings.get("cleanup.policy", Setting("delete", "default")).value
    values = [settings[name].value for name in ("retention.ms", "retention.bytes") if name in settings]
    return len(values) == 2 and is_deleted and all(value == _FOREVER for value in values)


def _kept_forever(snapshot: Snapshot, topic: str, size: int) -> Finding:
    settings = snapshot.settings[topic]
    text = (
        f"{topic} is never deleted: retention.ms=-1 (by {settings['retention.ms'].where}) and retention.bytes=-1 "
        f"(by {settings['retention.bytes'].where})"
    )
    commands = (
        command("configs", "--describe", ("--topic", topic)),
        command("configs", "--alter", ("--topic", topic), ("--add-config", "retention.ms=604800000")),
    )
    figures: dict[str, Figure] = {"log_bytes": size}
    return Finding(f"topic {topic}", "kept-forever", text, Severity.NOTICE, figures=figures, commands=commands)


def _topic(snapshot: Snapshot, topic: str) -> Iterator[Finding]:
    size = sum(bytes_ for each in snapshot.directories for name, bytes_ in each.logs.items() if name.topic == topic)
    settings = snapshot.settings.get(topic, {})
    policy = settings["cleanup.policy"].value.split(",") if "cleanup.policy" in settings else []
    wanted = ["cleanup.policy", *(name for each in policy for name in _SETTINGS.get(each.strip(), ()))]
    rules = {name: settings[name] for name in wanted if name in settings}
    texts = [f"{name}={each.value} ({each.where})" for name, each in rules.items()]
    text = f"topic {topic} has {amount(size, 'bytes')} in all replicas; its rules: {', '.join(texts)}"
    next_step = command("configs", "--describe", ("--topic", topic))
    rows = list(snapshot.rows("segments", topic=topic, is_leader=True))
    causes = [each for row in rows for each in _segments(snapshot, row)]
    if not rows:
        unknown = "why its segments stay is unknown: the broker does not report it"
        causes.append(Finding(f"topic {topic}", "unknown", unknown, certainty=Certainty.UNKNOWN))
    if _is_forever(snapshot, topic):
        causes.insert(0, _kept_forever(snapshot, topic, size))
    figures: dict[str, Figure] = {"log_bytes": size, **{name: each.value for name, each in rules.items()}}
    yield Finding(f"topic {topic}", "kept", text, figures=figures, causes=tuple(causes), commands=(next_step,))


# By cleanup policy, the settings that decide when segments are deleted.
_SETTINGS: Final = {
    "delete": ("retention.ms", "retention.bytes", "segment.ms", "segment.bytes"),
    "compact": ("min.cleanable.dirty.ratio", "min.compaction.lag.ms", "max.compaction.lag.ms", "delete.retention.ms"),
}


def _uncleanable(snapshot: Snapshot, broker_id: int, name: TopicPartition, reason: str) -> Finding:
    text = (
        f"{name} on {snapshot.address(broker_id)} is not compacted any more, and grows, until that broker restarts: "
        f"{reason}"
    )
    figures: dict[str, Figure] = {"broker": broker_id}
    next_step = command("explain", "disk", (NAME, name.topic))
    return Finding(f"partition {name}", "uncleanable", text, Severity.PROBLEM, figures=figures, commands=(next_step,))


def _segments(snapshot: Snapshot, row: Row) -> Iterator[Finding]:
    """Yield findings about a partition's segments, grouped by reason, with the time of the next deletion."""
    name = TopicPartition(row["topic"], row["partition"])
    subject = f"partition {name}"
    compaction = row["compaction"]
    if compaction is not None and compaction["uncleanable"] is not None:
        yield _uncleanable(snapshot, row["broker_id"], name, compaction["uncleanable"])
    if row["failure"] is not None:
        text = f"why the segments of {name} stay is unknown: {row['failure']}"
        yield Finding(subject, "unreadable", text, Severity.PROBLEM, Certainty.UNKNOWN)
    if row["removed"]:
        last = row["removed"][-1]
        text = (
            f"{count(len(row['removed']), 'segment')} of {name} deleted recently, the last one by {last['rule']} "
            f"{duration(max(snapshot.now_ms - last['at_ms'], 0))} ago"
        )
        yield Finding(subject, "removed", text, since_ms=last["at_ms"])
    by_reason: dict[str, list[Mapping[str, object]]] = {}
    goes = sorted(int(each["goes_at_ms"]) for each in row["segments"] if each["goes_at_ms"] is not None)
    for each in row["segments"]:
        if each["kept_by"] is None:
            by_reason.setdefault(_GOING, []).append(each)
        elif each["goes_at_ms"] is None or each["goes_at_ms"] > snapshot.now_ms:
            by_reason.setdefault(each["kept_by"], []).append(each)
    for reason, segments in by_reason.items():
        size = sum(int(str(each["bytes"])) for each in segments)
        why = _KEPT_BY.get(reason, reason)
        if reason == "compaction" and compaction is not None:
            why += f"; {compaction['dirty_ratio']:.0%} of it is new since it was compacted"
        text = f"{name} on broker {row['broker_id']}: {count(len(segments), 'segment')} of {amount(size, 'bytes')} stay"
        text = f"{text if len(segments) > 1 else text + 's'}: {why}"
        dates = [int(str(each["goes_at_ms"])) for each in segments if each["goes_at_ms"] is not None]
        if dates:
            text += f"; the next one is deleted in {duration(max(min(dates) - snapshot.now_ms, 0))}"
        figures: dict[str, Figure] = {
            "segment_count": len(segments),
            "bytes": size,
            "next_goes_at_ms": min(goes, default=None),
        }
        verdict = "going" if reason == _GOING else f"kept-{reason.replace(' ', '-').replace('.', '-')}"
        severity = Severity.PROBLEM if reason == _FUTURE else Severity.FINE
        yield Finding(subject, verdict, text, severity, figures=figures)
