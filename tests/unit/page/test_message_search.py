"""What a search wants, and the process that looks for it."""

import json
import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.page.messages.conditions import Condition, ConditionError, keys_of, parse_conditions
from barnabas.page.messages.criteria import Criteria, RawField
from barnabas.page.messages.json_text import JsonValue, parse_json
from barnabas.page.messages.reading import Fate
from barnabas.page.messages.searcher import FATES, FRAME, MOST_HITS, Job
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.record import Record
from tests.patience import PATIENCE_S

VALUE = (
    b'{"status": 503, "user": {"name": "Ann Lee"}, "lines": [{"sku": "A1", "n": 2}, {"sku": "B2"}], "ok": false, '
    b'"big": 9007199254740993, "p": 0.10, "id": "7", "u\\u0062": 1, "none": null}'
)


@pytest.mark.parametrize(
    ("text", "is_wanted"),
    [
        ("status>=500", True),
        ("status > 503", False),
        ("status >= 500 and user.name ~ Ann", True),
        ("status >= 500 AND user.name = Ann", False),
        ('user.name = "Ann Lee"', True),
        ('user.name = "Ann \\u004cee"', True),
        ("lines.sku = B2", True),
        ("lines.sku != B2", False),
        ("lines.n != 3", True),
        ("ok = false", True),
        ("none = null", True),
        ("big = 9007199254740993", True),
        ("big = 9007199254740992", False),
        ("p = 0.1", True),
        ("p < 1e9", True),
        ("id = 7", True),
        ("id > 5", False),
        ("user.name >= 500", False),
        ("user > A", False),
        ("ub = 1", True),
        ("missing != 1", False),
        ("status = 1e999999999999999999999", False),
        ("", True),
    ],
)
def test_conditions_on_fields(text: str, is_wanted: bool) -> None:
    wanted = Criteria(conditions=parse_conditions(text))
    assert wanted.fits(Record(0, 0, None, VALUE)) is is_wanted
    if text:
        for value in (None, b"", b"status", b"[" * 100_000, b'{"status": 1e99999999999, "user": "\xff"}'):
            assert not wanted.fits(Record(0, 0, None, value))


_NAMES = st.sampled_from(["a", "ab", "ä", "a/b", 'a"b', "\U0001f600", ""])
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-20, 20),
    st.floats(-20, 20),
    st.sampled_from(["a", "7", "x\n", "ä", "", "q" * 90]),
)
_VALUES = st.recursive(
    _LEAVES, lambda each: st.lists(each, max_size=3) | st.dictionaries(_NAMES, each, max_size=3), max_leaves=8
)
_CONDITIONS = st.builds(
    Condition,
    st.lists(_NAMES, min_size=1, max_size=2).map(tuple),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "~"]),
    st.one_of(st.integers(-20, 20).map(str), st.sampled_from(["a", "7.0", "1e1", "true", "null", "", "ä", "x\n"])),
)


@given(
    _VALUES,
    _CONDITIONS,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", " : ")]),
    st.sampled_from([b"", b'"a":"', b'"a"', b'"a":\xff', b"\\u0061"]),
)
@example({"a": 5}, Condition(("a",), "=", "5"), True, (",", ":"), b'"a":"')
@example({"\U0001f600": 5}, Condition(("\U0001f600",), "=", "5"), True, (",", ":"), b"")
def test_what_can_not_be_by_its_bytes_is_not_so(
    value: JsonValue, condition: Condition, is_ascii: bool, marks: tuple[str, str], before: bytes
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, separators=marks)
    if condition.holds(parse_json(text)):
        assert RawField(condition).may_be_in(before + text.encode() + before)


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ("status = 503", True),
        ("status = 5.03e2", True),
        ("status = 500", False),
        ("status > 600", False),
        ("p < 0.2", True),
        ("p > 0.2", False),
        ("user.name = Ann", False),
        ("user.name = 5", False),
        ("lines.sku ~ C", False),
        ("user = x", True),
        ("none = null", True),
        ("missing = 1", False),
        ("ub = 2", True),
    ],
)
def test_what_is_not_wanted_is_mostly_seen_by_its_bytes(text: str, may_be: bool) -> None:
    assert RawField(*parse_conditions(text)).may_be_in(VALUE) is may_be


@pytest.mark.parametrize(
    "text",
    ["status", "status >", "a = 1 b = 2", "a = 1 and", "= 1", 'a = "x', "a = 1 or b = 2", "(a+)+$", "a=1 and " * 20],
)
def test_conditions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_conditions(text)


def test_no_text_takes_long_to_be_refused() -> None:
    begin_s = time.process_time()
    for text in ("a" * 100_000, "a = " * 30_000, ' "' * 50_000, "a ~ " + '"\\' * 50_000, " " * 100_000 + "x"):
        with pytest.raises(ConditionError):
            parse_conditions(text)
    assert time.process_time() - begin_s < 2


def test_keys_headers_and_texts() -> None:
    record = Record(0, 0, b"k", b"some text", (("trace", b"abc"), ("trace", b"def"), ("none", None)))
    assert Criteria((b"x", b"k")).fits(record)
    assert not Criteria((b"x",)).fits(record)
    assert Criteria(header="trace=ef").fits(record)
    assert Criteria(header="none").fits(record)
    assert not Criteria(header="trac").fits(record)
    assert not Criteria(header="trace=x").fits(record)
    assert Criteria(text="me te").fits(record)
    assert not Criteria(text="Some").fits(record)
    assert keys_of("é", "auto") == ("é".encode(),)
    assert keys_of("-2", "integer") == (b"\xff\xff\xff\xfe", b"\xff" * 7 + b"\xfe")
    assert keys_of(str(1 << 40), "integer") == ((1 << 40).to_bytes(8, "big"),)
    assert keys_of("00 ff", "hex") == (b"\x00\xff",)
    for text, kind in (("x", "integer"), ("9" * 20, "integer"), ("x", "UUID"), ("0", "hex")):
        with pytest.raises(ConditionError):
            keys_of(text, kind)


def batch(*values: bytes, codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(codec)
    for number, value in enumerate(values):
        builder.append(1_000 + number, b"k", value)
    return bytes(builder.build(0))


def search(job: Job, *batches: bytes) -> tuple[int, list[list], list]:
    """Run a search's process; how it ended, the rows, and how far it was last."""
    frames = [FRAME.pack(FATES.index(Fate.NONE), 0, len(each)) + each for each in batches]
    data = json.dumps(job._asdict()).encode() + b"\n" + b"".join(frames)
    command = [sys.executable, "-P", "-m", "barnabas.page.messages.searcher"]
    ended = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE_S)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    progress = [each["progress"] for each in lines if "progress" in each]
    return ended.returncode, [each["row"] for each in lines if "row" in each], progress[-1] if progress else []


JOB = Job("t", (), "auto", "auto", (), "", "", (), {"0": 0})


def test_a_search_finds_what_is_wanted_and_tells_how_far_it_is() -> None:
    code, rows, progress = search(JOB._replace(text="needle"), batch(b"hay", b"a needle", b"hay", codec=Codec.LZ4))
    assert (code, [row[1] for row in rows], progress) == (0, [1], [{"0": 3}, 1_002, 0])
    assert search(JOB._replace(text="needle", starts={"0": 2}), batch(b"", b"needle"))[1] == []
    status = ((("status",), ">=", "500"),)
    assert [
        row[1] for row in search(JOB._replace(conditions=status), batch(b'{"status":1}', b'{"status":500}'))[1]
    ] == [1]


def test_what_is_masked_is_not_found() -> None:
    masked = JOB._replace(masks=("t:card",))
    value = b'{"card":"4111","user":"ann"}'
    assert search(masked._replace(text="4111"), batch(value, b"4111 in no JSON"))[1] == []
    assert search(masked._replace(conditions=((("card",), "~", "4"),)), batch(value))[1] == []
    (row,) = search(masked._replace(text="ann"), batch(value))[1]
    assert row[5][1] == '{"card":"***","user":"ann"}'


def test_a_search_stops_where_it_has_enough() -> None:
    code, rows, _ = search(JOB, *[batch(*[b"x"] * 150)] * 3)
    assert (code, len(rows)) == (0, MOST_HITS)


def test_a_bomb_is_counted_and_the_rest_is_searched() -> None:
    bomb = batch(b"\x00" * (100 << 20), codec=Codec.ZSTD)
    code, rows, progress = search(JOB._replace(text="x"), bomb, batch(b"xyz"), batch(b"x")[:16] + b"\xff" * 60)
    assert (code, len(rows), progress[2]) == (0, 1, 2)
