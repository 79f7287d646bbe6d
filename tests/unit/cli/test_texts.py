import json
from datetime import timedelta

import pytest

from barnabas.cli.consume import _Writer
from barnabas.cli.hints import explain
from barnabas.cli.output import print_table
from barnabas.cli.perf import percentile, perf_consume
from barnabas.cli.produce import _LineReader
from barnabas.cli.topics import name_matcher
from barnabas.clients.offset_resets import parse_duration
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.record import Record

PARTITION = TopicPartition("t", 2)
RECORD = Record(7, 1_500, b"k", b"v", (("a", b"1"), ("b", None)))


def line(capfdbinary, record, properties, *, as_json=False, is_log_append_time=False):
    import sys

    _Writer(dict(properties), as_json).write(PARTITION, record, is_log_append_time)
    sys.stdout.buffer.flush()
    return capfdbinary.readouterr().out


def test_a_record_is_its_value(capfdbinary):
    assert line(capfdbinary, RECORD, {}) == b"v\n"


def test_a_record_is_printed_as_kafkas_tool_does(capfdbinary):
    names = ("timestamp", "partition", "offset", "headers", "key")
    properties = {f"print.{name}": "true" for name in names}
    assert line(capfdbinary, RECORD, properties) == b"CreateTime:1500\tPartition:2\tOffset:7\ta:1,b:null\tk\tv\n"
    bare = Record(8, -1, None, None)
    assert line(capfdbinary, bare, properties) == b"NO_TIMESTAMP\tPartition:2\tOffset:8\tNO_HEADERS\tnull\tnull\n"
    assert line(capfdbinary, RECORD, {"print.timestamp": "true"}, is_log_append_time=True) == b"LogAppendTime:1500\tv\n"


def test_separators_and_null_can_be_chosen(capfdbinary):
    properties = {"print.key": "true", "key.separator": "=", "line.separator": ";", "null.literal": "-"}
    assert line(capfdbinary, Record(0, 0, None, b"v"), properties) == b"-=v;"


def test_json_loses_nothing(capfdbinary):
    shown = json.loads(line(capfdbinary, Record(1, 2, b"\xff", "ä".encode(), (("h", None),)), {}, as_json=True))
    assert shown == {
        "topic": "t",
        "partition": 2,
        "offset": 1,
        "timestamp_ms": 2,
        "timestamp_type": "CreateTime",
        "key_base64": "/w==",
        "value": "ä",
        "headers": [{"name": "h", "value": None}],
    }


@pytest.mark.parametrize(
    ("properties", "text", "expected"),
    [
        ({}, b"a\tb", (None, b"a\tb")),
        ({"parse.key": "true"}, b"a\tb\tc", (b"a", b"b\tc")),
        ({"parse.key": "true", "key.separator": "::"}, b"a::b", (b"a", b"b")),
        ({"parse.key": "true", "ignore.error": "true"}, b"ab", (None, b"ab")),
    ],
)
def test_a_line_becomes_key_and_value(properties, text, expected):
    assert _LineReader(dict(properties)).record(text, 1) == expected


def test_a_line_without_a_key_is_named():
    with pytest.raises(BarnabasError, match=r"line 3 has no key separator '\\t'"):
        _LineReader({"parse.key": "true"}).record(b"ab", 3)


@pytest.mark.parametrize(
    ("pattern", "names"), [(None, ["a", "ab", "b"]), ("a", ["a"]), ("a.*", ["a", "ab"]), ("a,b", ["a", "b"])]
)
def test_a_pattern_must_match_the_whole_name(pattern, names):
    assert [name for name in ("a", "ab", "b") if name_matcher(pattern)(name)] == names


def test_a_broken_pattern_is_said():
    with pytest.raises(BarnabasError, match="is not a valid regular expression"):
        name_matcher("a(")


@pytest.mark.parametrize(
    ("text", "seconds"), [("P1D", 86_400), ("PT2H30M", 9_000), ("pt0.5s", 0.5), ("P1DT1H1M1S", 90_061), ("PT0S", 0)]
)
def test_durations(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "P", "PT", "P1", "1D", "PT1D", "P-1D"])
def test_what_is_no_duration(text):
    with pytest.raises(BarnabasError, match="write it as P1DT2H30M"):
        parse_duration(text)


def test_percentiles_are_picked_as_kafkas_tools_do():
    values = list(range(100))
    assert [percentile(values, share) for share in (0.5, 0.95, 0.999)] == [50, 95, 99]
    assert percentile([], 0.5) == 0


def test_perf_counts_keys_and_values_and_not_the_time_of_closing(monkeypatch, capsys):
    class Message:
        def __init__(self, key, value):
            self.key, self.value, self.error = lambda: key, value, lambda: None

        def __len__(self):
            return len(self.value or b"")

    class Consumer:
        def subscribe(self, topics, **callbacks): ...

        def consume(self, count, timeout_s):
            return [Message(bytes(1 << 19), bytes(1 << 20)), Message(bytes(1 << 19), None), Message(None, None)]

        def close(self):
            # What is printed before contains nothing of the time of closing.
            printed.append(capsys.readouterr().out)

    printed = []
    monkeypatch.setattr("barnabas.cli.perf._consumer", lambda settings, topic: Consumer())
    perf_consume("t", 3, as_json=True)
    (out,) = printed
    figures = json.loads(out)
    assert (figures["data.consumed.in.MB"], figures["data.consumed.in.nMsg"]) == (2, 3)


def test_a_table_in_a_pipe_is_plain_columns(capsys):
    wide = "x" * 300
    print_table(["name", "count"], [["[red]a", 1], [wide, None], ["b", 200]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].split() == ["[red]a", "1"]
    assert lines[2].split() == [wide, "-"]
    assert all(text == text.rstrip() for text in lines)


def test_a_table_on_a_terminal_is_folded_between_words_and_loses_nothing(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    print_table(["name", "value"], [["n", "0123456789 " * 5 + "."]])
    out = capsys.readouterr().out
    assert out.startswith("╭")
    assert {len(line) for line in out.splitlines() if "\x1b" not in line} == {30}
    assert out.count("0123456789") == 5
    print_table(["name", "value"], [["n", "0123456789" * 5]])
    assert capsys.readouterr().out == f"name   n\nvalue  {'0123456789' * 5}\n"


def test_a_table_in_a_pipe_is_aligned_whatever_the_letters(capsys):
    print_table(["group", "lag"], [["ab", 5], ["日本", 10], ["e\u0301é", None]])
    assert capsys.readouterr().out == "group  lag\nab       5\n日本    10\ne\u0301é       -\n"


def test_errors_say_what_to_do():
    error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic x does not exist.")
    assert explain(error) == "topic x does not exist; barnabas topics --list shows the existing topics"
    assert explain(BarnabasError("no")) == "no"
