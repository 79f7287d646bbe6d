"""A service's log lines: shapes, levels, times, and traces that belong to the line before them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.events.encode import encode_json, iso_time
from barnabas.pipeline.sources.log_lines import RawLine, SourceLine
from barnabas.pipeline.sources.service_log import LONGEST_MESSAGE, service_log_lines

NOW = datetime(2024, 6, 1, tzinfo=UTC)


def read(*texts: str) -> list[SourceLine]:
    lines = [RawLine("log", number, text) for number, text in enumerate(texts, start=1)]
    return list(service_log_lines(lines, "kafka", "db1", lambda: NOW))


def entries(*texts: str) -> list[tuple[object, object]]:
    return [(fields["level"], fields["message"]) for line in read(*texts) for _, fields in line.events]


@pytest.mark.parametrize(
    ("text", "time", "level", "message"),
    [
        (
            "[2024-05-17 10:05:03,123] INFO [KafkaServer id=0] started (kafka.server.KafkaServer)",
            "2024-05-17T10:05:03.123Z",
            "INFO",
            "[KafkaServer id=0] started (kafka.server.KafkaServer)",
        ),
        ("2024-05-17 10:05:03,123 - app.db - ERROR - no route", "2024-05-17T10:05:03.123Z", "ERROR", "app.db no route"),
        ("2024-05-17 10:05:03,123 WARNING app: slow", "2024-05-17T10:05:03.123Z", "WARN", "app: slow"),
        (
            "2024-05-17T10:05:03.123+02:00  ERROR 12 --- [main] c.e.App : failed",
            "2024-05-17T08:05:03.123Z",
            "ERROR",
            "12 --- [main] c.e.App : failed",
        ),
        ("24/05/17 10:05:03 WARN NativeCodeLoader: x", "2024-05-17T10:05:03Z", "WARN", "NativeCodeLoader: x"),
        ("2024/05/17 10:05:03 [error] 12#0: *1 open()", "2024-05-17T10:05:03Z", "ERROR", "12#0: *1 open()"),
        ("2024-05-17 10:05:03.123 UTC [12] FATAL:  no", "2024-05-17T10:05:03.123Z", "FATAL", "[12] no"),
        ("2024-05-17 10:05:03 just text with an error", "2024-05-17T10:05:03Z", "INFO", "just text with an error"),
        ("CRITICAL:root:down", "2024-06-01T00:00:00Z", "FATAL", "down"),
        ("May 17 10:05:03 db1 app[12]: up", "2024-05-17T10:05:03Z", "INFO", "up"),
        ("Dec  7 10:05:03 db1 app: ERROR: down", "2023-12-07T10:05:03Z", "ERROR", "down"),
        ('{"ts":"2024-05-17T10:05:03Z","level":"warning","msg":"slow","n":1}', "2024-05-17T10:05:03Z", "WARN", "slow"),
        ('{"severity":"ERROR","message":"x","time":5}', "2024-06-01T00:00:00Z", "ERROR", "x"),
        (
            'time="2024-05-17T10:05:03Z" level=error msg="say \\"no\\"" code=5',
            "2024-05-17T10:05:03Z",
            "ERROR",
            'say "no"',
        ),
        ("just text", "2024-06-01T00:00:00Z", "INFO", "just text"),
        ("{not json", "2024-06-01T00:00:00Z", "INFO", "{not json"),
        ('{"a":1}', "2024-06-01T00:00:00Z", "INFO", '{"a":1}'),
        ("[2024-13-17 10:05:03,123] INFO x", "2024-06-01T00:00:00Z", "INFO", "[2024-13-17 10:05:03,123] INFO x"),
    ],
)
def test_shapes(text: str, time: str, level: str, message: str) -> None:
    (found,) = read(text)
    ((_, fields),) = found.events
    at = fields["time"]
    assert isinstance(at, datetime)
    assert (iso_time(at), fields["level"], fields["message"]) == (time, level, message)
    assert (fields["service"], fields["host"], fields["id"]) == ("kafka", "db1", "log:1")


def test_trace_belongs_to_the_line_before_it() -> None:
    trace = ["java.io.IOException: no", "\tat a.b(C.java:1)", "Caused by: x", "\t... 3 more"]
    texts = ["[2024-05-17 10:05:03,123] ERROR broken (kafka)", *trace, "[2024-05-17 10:05:04,000] INFO on (kafka)"]
    found = read(*texts)
    assert [line.number for line in found] == [1, 6]
    assert entries(*texts) == [("ERROR", "\n".join(["broken (kafka)", *trace])), ("INFO", "on (kafka)")]
    lines = [RawLine("log", number, text) for number, text in enumerate(texts, start=1)]
    assert [(each.number, each.last_number) for each in service_log_lines(lines, "s", None)] == [(1, 5), (6, 6)]


def test_without_times_only_what_looks_like_a_trace_is_joined() -> None:
    assert entries("one", "two", "  more of two", "three") == [
        ("INFO", "one"),
        ("INFO", "two\n  more of two"),
        ("INFO", "three"),
    ]
    assert entries("Traceback (most recent call last):", '  File "a.py"')[0][0] == "ERROR"


def test_line_without_a_time_has_that_of_the_line_before() -> None:
    lines = [RawLine("log", 1, "[2024-05-17 10:05:03,000] INFO x", is_last_for_now=True), RawLine("log", 2, "more")]
    found = list(service_log_lines(lines, "kafka", "db1", lambda: NOW))
    assert [line.time_ms for line in found] == [1715940303000] * 2


def test_record_is_given_when_there_is_no_more_for_now() -> None:
    lines = iter([RawLine("log", 1, "ERROR:root:x"), RawLine("log", 2, "  more", is_last_for_now=True)])
    first = next(service_log_lines(lines, "kafka", "db1", lambda: NOW))
    assert first.events[0][1]["message"] == "x\n  more"
    assert first.is_last_for_now


def test_message_is_cut() -> None:
    (found,) = read("2024-05-17 10:05:03 x", *["y" * 1000] * 1000)
    assert len(str(found.events[0][1]["message"])) == LONGEST_MESSAGE


PIECES = st.sampled_from(
    ["[2024-05-17 10:05:03,123]", " ", "ERROR", "level=", "msg=", '"', "{", "}", "May 17 10:05:03 h p:"]
)


@given(st.lists(st.one_of(st.text(), st.lists(PIECES).map("".join)), max_size=8))
def test_no_line_is_lost(texts: list[str]) -> None:
    found = read(*texts)
    assert all(line.refused is None and len(line.events) == 1 for line in found)
    assert bool(found) == bool(texts)
    for line in found:
        encode_json(*line.events[0])
