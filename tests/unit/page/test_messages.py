"""Records of strangers: decoded, masked, and harmless."""

import json
import struct
import time
from uuid import UUID

import pytest

from barnabas.clients.pool import PartitionMetadata, Pool, TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError
from barnabas.core.types import TopicPartition
from barnabas.page.messages.decoding import KINDS, decode
from barnabas.page.messages.json_text import MOST_DEPTH, parse_json, write_json
from barnabas.page.messages.masks import HIDDEN, masked, masks_of, parse_mask
from barnabas.page.messages.reading import Fate, Found, with_leaders
from barnabas.page.messages.rows import RecordFormat
from barnabas.page.messages.state import parse_time_ms
from barnabas.page.rendering import new_environment
from barnabas.page.views.messages import Wish
from barnabas.wire.records.record import Record, RecordHeaders

DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
ID = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


def record(value: bytes | None, key: bytes | None = b"k", headers: RecordHeaders = ()) -> Record:
    return Record(7, 1_000, key, value, headers)


@pytest.mark.parametrize(
    ("indexes", "read", "named"),
    [([0, 1, 2], [0, 2], "1"), ([0, 2], [0, 2], None), ([0, 9], [0, 9], None), ([1], [1], None)],
    ids=["one left out", "all led", "one absent", "a single one"],
)
def test_partitions_without_a_leader_are_left_out_and_named(indexes: list[int], read: list[int], named: str) -> None:
    partitions = {
        index: PartitionMetadata(index, leader_id, [0], [0], ErrorCode.NONE)
        for index, leader_id in enumerate((0, -1, 0))
    }
    topic = TopicMetadata("t", ErrorCode.NONE, False, partitions)
    led, without = with_leaders(Pool("unused:9092"), topic, indexes)
    assert led == [TopicPartition("t", each) for each in read]
    assert without == (() if named is None else (f"partitions of topic t without a leader: {named}",))


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (None, "null", ""),
        (b"", "text", ""),
        (b'{"id": 12345678901234567890, "x": 1.10}', "JSON", '{"id": 12345678901234567890, "x": 1.10}'),
        ("é漢\n".encode(), "text", "é漢\n"),
        (b"{no json}", "text", "{no json}"),
        (struct.pack(">q", -5), "integer", "-5"),
        (struct.pack(">i", 200), "integer", "200"),
        (ID.bytes, "UUID", str(ID)),
        (b"\xff\xfe\x00", "hex", "ff fe 00"),
        (b"\x1b[2J", "integer", str(int.from_bytes(b"\x1b[2J", "big"))),
        (b"\x1b[2J!", "hex", "1b 5b 32 4a 21"),
    ],
)
def test_bytes_are_what_they_seem_to_be(data: bytes | None, kind: str, text: str) -> None:
    shown = decode(data)
    assert (shown.kind, shown.text, shown.is_cut) == (kind, text, False)


def test_bytes_are_what_the_reader_says_where_they_can_be() -> None:
    assert decode(b"1234", "integer").text == str(int.from_bytes(b"1234", "big"))
    assert decode(b"12345", "integer").kind == "text"
    assert decode(b"ab", "hex").text == "61 62"
    assert decode(b"\xff\xfe", "text").text == "\ufffd\ufffd"
    assert decode(b"{", "JSON").kind == "text"
    for kind in KINDS:
        for data in (b"", b"\x00", b"\xff" * 5_000, DEEP, "\u202e".encode() * 1_000, b'"\\ud800"'):
            shown = decode(data, kind)
            assert len(shown.text) <= 2_048
            assert shown.size == len(data)


def test_a_value_is_cut_and_not_within_a_character() -> None:
    shown = decode(b"a" + "é".encode() * 3_000)
    assert (shown.kind, shown.is_cut, shown.size) == ("text", True, 6_001)
    assert shown.text == "a" + "é" * 1_023


def test_json_of_any_depth_is_looked_at_without_going_down_into_it() -> None:
    assert decode(DEEP).kind == "text"
    parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH)
    for text in ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), '{"a":' * 1_000, "[NaN]", "1" * (1 << 21)):
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)
    # Brackets in texts are no depth; what is not closed does not make it slow.
    assert parse_json(json.dumps(["[" * 1_000, '\\"{' * 1_000])) == ["[" * 1_000, '\\"{' * 1_000]
    begin_s = time.process_time()
    for text in ("[" * 100 + '"' + '\\"' * 200_000, "[" * 100 + '"' * 400_001):
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)
    assert time.process_time() - begin_s < 5
    assert write_json(parse_json('{"a":[1.10,12345678901234567890,true,null,"é"]}')) == (
        '{"a":[1.10,12345678901234567890,true,null,"é"]}'
    )


CUSTOMER = b'{"id":7,"customer":{"email":"a@b","name":"A"},"lines":[{"card":"4111","n":1},{"card":"4222","n":2}]}'


@pytest.mark.parametrize(
    ("mask", "value"),
    [
        ("orders:customer.email", CUSTOMER.replace(b"a@b", b"***")),
        ("ord*:lines.card,id", CUSTOMER.replace(b"4111", b"***").replace(b"4222", b"***").replace(b":7", b':"***"')),
        ("*:customer", b'{"id":7,"customer":"***",' + CUSTOMER[CUSTOMER.index(b'"lines"') :]),
        ("*:!id,customer.name", b'{"id":7,"customer":{"email":"***","name":"A"},"lines":"***"}'),
        ("*:!@value", CUSTOMER),
        ("*:@value", b"***"),
        ("*:@key", CUSTOMER),
        ("views:customer.email", CUSTOMER),
    ],
)
def test_masks_hide_fields_or_all_but_some(mask: str, value: bytes) -> None:
    assert masked(record(CUSTOMER), masks_of("orders", [parse_mask(mask)])).value == value


@pytest.mark.parametrize(
    "value",
    [
        {"Password": "x4111"},
        {"PASSWORD": "x4111", "password": "x4111"},
        {"paſſword": "x4111"},
        {"customer.email": "x4111"},
        {"Customer": [{"Email": "x4111"}, {"email.work": "x4111"}]},
        {"payload": json.dumps({"password": "x4111"})},
        {"payload": json.dumps({"customer": {"Email": "x4111"}}, indent=1)},
        {"payload": {"parts": [json.dumps({"payload": json.dumps({"password": "x4111"})})]}},
        {"payload": '{"\\u0070assword": "x4111"}'},
        {"payload": '{"password": "x4111", "cut off'},
        {"payload": "[" * 1_000 + '{"password": "x4111"}'},
        {"message": "POST /login?user=ann&password=x4111"},
        {"message": "{'password': 'x4111'}"},
    ],
    ids=range(13),
)
def test_a_mask_hides_a_field_however_its_name_is_written(value: dict[str, object]) -> None:
    data = json.dumps(value).encode()
    mask = parse_mask("*:password,customer.email")
    seen = masked(record(data, data, (("trace", data),)), [mask])
    assert b"x4111" not in (seen.value or b"")
    assert (seen.key, seen.headers) == (b"***", (("trace", b"***"),))


def test_a_mask_leaves_what_holds_no_hidden_field() -> None:
    data = b'{"id":7,"note":"I forgot my password","path":"C:\\\\users","tags":["a:b"],"user":{"password":"root only"}}'
    seen = masked(record(data, b"user-7", (("trace", b"1"),)), [parse_mask("*:password,customer.email")])
    assert (seen.value, seen.key, seen.headers) == (data, b"user-7", (("trace", b"1"),))


@pytest.mark.parametrize("mask", ["*:@KEY,@headers.User.Name", "*:!value,@Headers.trace"])
def test_masks_match_keys_and_headers_without_case(mask: str) -> None:
    seen = masked(record(None, b"k", (("USER.name", b"ann"), ("Trace", b"1"))), [parse_mask(mask)])
    assert (seen.key, seen.headers) == (b"***", (("USER.name", b"***"), ("Trace", b"1")))


@pytest.mark.parametrize("value", [b"4111", b'"4111"', b"[4111]", b'{"card":"4111"', DEEP, b'{"a":"\xff4111"}', b"4"])
def test_what_a_field_can_not_be_looked_for_in_is_hidden_whole(value: bytes) -> None:
    hidden = masked(record(value), [parse_mask("*:customer.card")]).value
    assert hidden in (b"***", b'["***"]')


def test_masks_hide_keys_and_headers() -> None:
    headers = (("user.name", b"ann"), ("trace", b"1"), ("none", None))
    only = masked(record(None, b"k", headers), [parse_mask("*:@key,@headers.user.name")])
    assert (only.key, only.value, only.headers) == (
        b"***", None, (("user.name", b"***"), ("trace", b"1"), ("none", None)),
    )  # fmt: skip
    all_but = masked(record(b'{"@key":1}', b"k", headers), [parse_mask("*:!@headers.trace,@key")])
    assert (all_but.key, all_but.value) == (b"k", b'{"@key":"***"}')
    assert all_but.headers == (("user.name", b"***"), ("trace", b"1"), ("none", None))


@pytest.mark.parametrize("text", ["", "orders", ":a", "orders:", "orders:a..b", "orders:!", "orders:a,,b"])
def test_a_mask_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--mask"):
        parse_mask(text)


def test_hostile_records_are_text() -> None:
    names = ("<script>alert(1)</script>", "\x00\u202e", "n" * 10_000)
    headers = tuple((names[number % 3], b"\x1b[31m" * 1_000) for number in range(10_000))
    values = (b"<script>alert(1)</script>\x00", "\u202egpj.exe\r\n\u2028".encode(), DEEP, b'{"a":"\\ud800</script>"}')
    found = [Found(record(value, b"\xff\x00" * 1_000, headers), Fate.NONE, -1) for value in values]
    for masks in ((), (parse_mask("*:a"),)):
        rows = RecordFormat("t", masks).rows(0, found)
        assert [each.header_count for each in rows] == [10_000] * 4
        assert len(repr(rows)) < 100_000
        source = (
            '{% import "macros.html.jinja" as m with context %}{% import "record_parts.html.jinja" as p with context %}'
        )
        page = new_environment("").from_string(source + "{{ p.rows(rows, 't', {}) }}").render(rows=rows, here="")
        assert "<script>" not in page
        assert all(each.isprintable() or each in "\t\n" for each in page)
        page.encode()


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
@pytest.mark.parametrize("key", [None, b"", b"\x00", b"\x00\x01\x7f\xff", b"\x7f\xff", b"\x00\x02\x00\x01g"])
def test_what_is_no_record_of_an_internal_topic_is_shown_as_bytes(topic: str, key: bytes | None) -> None:
    (row,) = RecordFormat(topic).rows(0, [Found(record(b"\x00\x01junk", key), Fate.NONE, -1)])
    assert row.key.kind in ("null", "text", "hex", "integer", topic)
    (marker,) = RecordFormat(topic).rows(0, [Found(record(b"", key), Fate.MARKER, -1)])
    assert marker.fate is Fate.MARKER


def test_what_a_query_can_not_mean_is_as_if_it_were_not_there() -> None:
    assert Wish.of({}) == Wish(None, "newest", None, None, None, True)
    wrong = {"partition": "-1", "start": "x", "before": "9" * 30, "time": "never", "place": "here", "all": "no"}
    assert Wish.of(wrong) == Wish.of({})
    assert Wish.of({"start": "5", "place": "oldest", "all": "yes"}) == Wish(None, "", 5, None, None, False)
    assert parse_time_ms("1970-01-01T00:01") == 60_000
    assert parse_time_ms("1970-01-01T01:00:01+01:00") == 1_000
    assert parse_time_ms("12") == 12
    assert HIDDEN == "***"
