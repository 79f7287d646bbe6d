"""`barnabas log stats`: statistics of each topic's logs."""

from datetime import UTC, datetime

from barnabas.cli.log_files import (
    Directories,
    HeadersOnly,
    Topic,
    directories_or_default,
    log_bytes,
    logs_in,
    quiet_unless,
)
from barnabas.cli.options import AsJson, paragraphs
from barnabas.cli.output import note, print_json, print_table
from barnabas.cli.topics import name_matcher
from barnabas.core.errors import BarnabasError
from barnabas.inspection.stats import StatsCollector, TopicStats

HELP = paragraphs(
    """Show statistics of each topic's logs: segments, bytes, compression, batch sizes, keys, oldest and newest time.

Reads the files, also while a broker has them open. Numbers of keys above 100,000 are estimates (about 1 % off).

Examples:

  barnabas log stats barnabas-data

  barnabas log stats --topic 'views.*' --json
"""
)

_UNITS = ("B", "KB", "MB", "GB", "TB")


def stats(
    directories: Directories = None,
    topic: Topic = None,
    headers_only: HeadersOnly = False,
    as_json: AsJson = False,
) -> int:
    matches = name_matcher(topic)
    paths = directories_or_default(directories)
    logs = [(each, log) for path in paths for each, log in logs_in(path).items() if matches(each.topic)]
    if not logs:
        raise BarnabasError(f"no topic matches {topic}")
    with quiet_unless(True, "Reading", sum(log_bytes(log) for _, log in logs)) as bar:
        collector = StatsCollector(bar.advance, is_deep=not headers_only)
        for topic_partition, log in logs:
            bar.note(log.name)
            collector.add(topic_partition, log)
    found = collector.topics()
    if as_json:
        print_json([_as_dict(each, headers_only) for each in found])
    else:
        _print(found, headers_only)
    unreadable = [text for each in found for text in each.unreadable]
    for text in unreadable:
        note(text)
    return 1 if unreadable else 0


def _print(found: list[TopicStats], headers_only: bool) -> None:
    print_table(
        [
            "topic",
            "partitions",
            "segments",
            "size",
            "records",
            "codecs",
            "ratio",
            "batches",
            "mean batch",
            "99 % batch",
            "keys",
            "oldest",
            "newest",
        ],
        [
            [
                each.topic,
                each.partition_count,
                each.segment_count,
                _bytes(each.size_bytes),
                each.record_count,
                ", ".join(sorted(each.codecs)) or None,
                f"{each.compression_ratio:.2f}" if each.compression_ratio is not None else None,
                each.batch_sizes.count,
                _bytes(each.batch_sizes.mean()),
                _bytes(each.batch_sizes.percentile(99)),
                None if headers_only else _keys(each),
                _time(each.oldest_ms),
                _time(each.newest_ms),
            ]
            for each in found
        ],
    )


def _keys(stats: TopicStats) -> str:
    return str(stats.keys.count()) if stats.keys.is_exact else f"about {stats.keys.count()}"


def _bytes(count: int) -> str:
    number = float(count)
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == _UNITS[0] else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} {_UNITS[-1]}"


def _time(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    except (OverflowError, ValueError):
        # Producers may write any number.
        return str(time_ms)


def _as_dict(stats: TopicStats, headers_only: bool) -> dict[str, object]:
    sizes = stats.batch_sizes
    shown: dict[str, object] = {
        "topic": stats.topic,
        "partition_count": stats.partition_count,
        "segment_count": stats.segment_count,
        "size_bytes": stats.size_bytes,
        "index_bytes": stats.index_bytes,
        "record_count": stats.record_count,
        "control_count": stats.control_count,
        "codecs": dict(sorted(stats.codecs.items())),
        "formats": dict(sorted(stats.formats.items())),
        "batch_count": sizes.count,
        "batch_bytes": {
            "smallest": sizes.smallest,
            "mean": sizes.mean(),
            "p50": sizes.percentile(50),
            "p99": sizes.percentile(99),
            "largest": sizes.largest,
        },
        "oldest_ms": stats.oldest_ms,
        "newest_ms": stats.newest_ms,
        "unreadable": stats.unreadable,
    }
    if not headers_only:
        ratio = stats.compression_ratio
        shown |= {
            "compression_ratio": None if ratio is None else round(ratio, 3),
            "uncompressed_bytes": stats.uncompressed_bytes,
            "key_count": stats.keys.count(),
            "is_key_count_exact": stats.keys.is_exact,
            "keyless_count": stats.keyless_count,
            "tombstone_count": stats.tombstone_count,
        }
    return shown
