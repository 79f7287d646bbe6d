"""`barnabas log verify`: checks data directories and predicts the recovery at the next start, read-only."""

from collections.abc import Callable
from pathlib import Path

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
from barnabas.cli.output import note, print_json, print_table, say
from barnabas.cli.topics import name_matcher
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.inspection.directory_check import DirectoryCheck, running_broker
from barnabas.inspection.findings import DirectoryReport, Finding, Kind, LogReport
from barnabas.inspection.log_check import LogCheck, LogState
from barnabas.inspection.log_listing import is_log

HELP = paragraphs(
    """Check a data directory, or the directory of one log, and predict the recovery at the next start.

Reads every batch, computes its CRC and unpacks its records. Compares indexes, producer snapshots, transaction indexes,
leader epochs and checkpoints with the batches. Changes nothing, also while a broker has the directory open. Exit code 1
if there is damage.

Examples:

  barnabas log verify barnabas-data

  barnabas log verify barnabas-data/views-0 --json
"""
)

_ORDER = {Kind.DAMAGE: 0, Kind.RECOVERY: 1, Kind.NOTE: 2}


def verify(
    directories: Directories = None,
    topic: Topic = None,
    headers_only: HeadersOnly = False,
    as_json: AsJson = False,
) -> int:
    matches = name_matcher(topic)
    paths = directories_or_default(directories)
    if topic and not any(matches(each.topic) for path in paths for each in logs_in(path)):
        raise BarnabasError(f"no topic matches {topic}")
    reports: list[DirectoryReport] = []
    with quiet_unless(True, "Checking", sum(map(log_bytes, paths))) as bar:
        for path in paths:
            if is_log(path):
                bar.note(path.name)
                reports.append(_check_one(path, headers_only, bar.advance))
                continue
            check = DirectoryCheck(path, bar.note, bar.advance, is_deep=not headers_only)
            reports.append(check.run(lambda each: matches(each.topic)))
    if as_json:
        print_json([_as_dict(report) for report in reports])
    else:
        for report in reports:
            _print(report)
    return 1 if any(report.damage_count for report in reports) else 0


def _check_one(path: Path, headers_only: bool, advance: Callable[[int], None]) -> DirectoryReport:
    """Check one log, with the checkpoints of its data directory."""
    parent = path.resolve().parent
    topic, _, partition = path.resolve().name.rpartition("-")
    # The checkpoints of the data directory determine the recovery of this log.
    if topic and partition.isdecimal() and (parent / "meta.properties").exists():
        wanted = TopicPartition(topic, int(partition))
        return DirectoryCheck(parent, note_bytes=advance, is_deep=not headers_only).run(lambda each: each == wanted)
    report = DirectoryReport(path, running_broker(parent))
    # It may be compacted: then gaps between its segments are no damage.
    state = LogState(is_in_use=report.running_pid is not None, is_compacted=True)
    report.logs.append(LogCheck(path, state, advance, is_deep=not headers_only).run())
    return report


def _print(report: DirectoryReport) -> None:
    if report.running_pid is not None:
        who = f"process {report.running_pid}" if report.running_pid else "a process"
        note(
            f"{report.path}: a broker ({who}) has the directory open; records that it writes during the check may "
            "appear incomplete."
        )
        left = "is open; a kill now would not close it cleanly"
    else:
        left = "was closed cleanly" if report.was_clean else "was not closed cleanly"
    say(f"{report.path} {left}.")
    print_table(
        ["log", "segments", "batches", "records", "bytes", "first offset", "end offset", "damage"],
        [
            [
                log.path.name,
                log.segment_count,
                log.batch_count,
                log.record_count,
                log.size_bytes,
                log.start_offset,
                log.end_offset,
                log.damage_count or None,
            ]
            for log in report.logs
        ],
    )
    findings = [*report.findings, *(finding for log in report.logs for finding in log.findings)]
    for finding in sorted(findings, key=lambda each: _ORDER[each.kind]):
        say(f"{finding.kind.value}: {_relative(finding.path, report.path)}: {finding.text}")
    count = report.damage_count
    say("No damage." if count == 0 else f"{count} damaged {'place was' if count == 1 else 'places were'} found.")


def _relative(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory)) if path.is_relative_to(directory) and path != directory else str(path)


def _as_dict(report: DirectoryReport) -> dict[str, object]:
    return {
        "directory": str(report.path),
        "is_open": report.running_pid is not None,
        "broker_process": report.running_pid or None,
        "was_clean": report.was_clean,
        "damage_count": report.damage_count,
        "findings": [_finding(each) for each in report.findings],
        "logs": [_log(each) for each in report.logs],
    }


def _log(log: LogReport) -> dict[str, object]:
    return {
        "log": log.path.name,
        "segment_count": log.segment_count,
        "batch_count": log.batch_count,
        "record_count": log.record_count,
        "size_bytes": log.size_bytes,
        "start_offset": log.start_offset,
        "end_offset": log.end_offset,
        "damage_count": log.damage_count,
        "findings": [_finding(each) for each in log.findings],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {"kind": finding.kind.value, "path": str(finding.path), "text": finding.text}
