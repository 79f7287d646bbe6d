"""Debezium's envelopes: the row comes out as it stood in the value; what is none says why."""

import json
import random
from typing import Any

import pytest

from barnabas.pipeline.events.envelope import NO_ENVELOPE, NO_PLACE_OF_TRUNCATE, EnvelopeReader
from barnabas.pipeline.tables.schema_evolution import HALF_A_PAIR, NO_UTF8

# What a parser that writes anew would change.
ROW = (
    '{"a":1.50, "b" : 12345678901234567890123456789.0123456789,"c":-0.0,"d":"\\u00e9 \\" } ",\n"e":1e2,"f":{"g":[{}]}}'
)
SCHEMA = '{"type":"struct","fields":[{"field":"payload","type":"string"}],"optional":false}'


def read(value: str | bytes | None, takes_truncates: bool = True) -> tuple[Any, str | None]:
    """Read a value between good ones: the change, and why there is none."""
    good = b'{"op":"c","after":{}}'
    encoded = value.encode() if isinstance(value, str) else value
    changes, reasons = EnvelopeReader(takes_truncates).read([good, encoded, good])
    first, found, last = changes.to_pylist()
    assert first == last == {"op": "c", "row": "{}"}
    assert (reasons[0], reasons[2]) == (None, None)
    return found, reasons[1]


@pytest.mark.parametrize(
    "envelope",
    [
        f'{{"before":null,"after":{ROW},"source":{{"lsn":1,"op":"x"}},"op":"u","ts_ms":1}}',
        f' {{ "op" :\t"u" , "before" : {{"a":0}},\r\n"after" : {ROW} }} ',
    ],
)
def test_a_row_is_as_it_stood_there(envelope: str) -> None:
    change = {"op": "u", "row": ROW}
    assert read(envelope) == (change, None)
    assert read(f'{{"schema":{SCHEMA},"payload":{envelope}}}') == (change, None)
    assert read(f'{{"payload":{envelope},"schema":null}}') == (change, None)


@pytest.mark.parametrize(
    ("envelope", "row"),
    [
        ('{"op":"c","after":{"id":1}}', '{"id":1}'),
        ('{"op":"r","after":{"id":1}}', '{"id":1}'),
        ('{"op":"d","before":{"id":1},"after":null}', '{"id":1}'),
        ('{"op":"d","before":null,"after":null}', "{}"),
        ('{"op":"t","before":null,"after":null}', "{}"),
        ('{"op":"m","message":{"prefix":"p","content":"eA=="}}', None),
        # MongoDB's connector writes documents as strings.
        (r'{"op":"c","after":"{\"_id\": {\"$oid\": \"6\"}, \"n\": 1.50}"}', '{"_id": {"$oid": "6"}, "n": 1.50}'),
        (r'{"op":"d","before":"{\"n\": \"\\ud83d\"}","after":null}', r'{"n": "\ud83d"}'),
    ],
)
def test_an_op_says_which_row_it_is(envelope: str, row: str | None) -> None:
    assert read(envelope) == ({"op": json.loads(envelope)["op"], "row": row}, None)


def test_a_tombstone_is_no_change_and_not_bad() -> None:
    assert read(None) == (None, None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((value, NO_ENVELOPE) for value in ("", " ", "{}", "[]", "5", "}", "no json", '{"id":1}', '"op"')),
        ('{"op":"c","after":{}', NO_ENVELOPE),
        ('{"op":"c","after":{}} x', NO_ENVELOPE),
        ('{"op":"c","after":{},}', NO_ENVELOPE),
        ('{"op" "c"}', NO_ENVELOPE),
        ('{"schema":null,"payload":{"id":1}}', NO_ENVELOPE),
        ('{"schema":null,"payload":null}', NO_ENVELOPE),
        ("[" * 100_000, NO_ENVELOPE),
        ('{"op":' * 100_000, NO_ENVELOPE),
        (b'{"op":"c","after":{"name":"\xff"}}', NO_UTF8),
        ('{"op":"x"}', 'the Debezium envelope has an unknown op (must be c, r, u, d, t or m): "x"'),
        ('{"op":["c"],"after":{}}', 'the Debezium envelope has an unknown op (must be c, r, u, d, t or m): ["c"]'),
        ('{"op":"c","before":{}}', "the Debezium envelope has op c, but no row in after"),
        ('{"op":"u","after":null}', "the Debezium envelope has op u, but no row in after"),
        ('{"op":"r","after":[{}]}', "the Debezium envelope has op r, but no row in after"),
        ('{"op":"r","after":"text"}', "the Debezium envelope has op r, but no row in after"),
        (r'{"op":"c","after":"{\"n\": \"\ud83d\"}"}', HALF_A_PAIR),
    ],
)
def test_what_is_no_envelope_has_its_reason(value: str | bytes, reason: str) -> None:
    assert read(value) == (None, reason)


def test_a_truncate_may_be_refused() -> None:
    assert read('{"op":"t"}', takes_truncates=False) == ({"op": "t", "row": "{}"}, NO_PLACE_OF_TRUNCATE)


def test_any_cut_of_an_envelope_is_refused() -> None:
    whole = f'{{"schema":{SCHEMA},"payload":{{"op":"c","after":{ROW}}}}}'
    for end in range(len(whole)):
        assert read(whole[:end]) == (None, NO_ENVELOPE)


def test_any_row_comes_out_as_it_was() -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)

    def value(depth: int) -> Any:
        kind = chance.randrange(7 if depth else 5)
        match kind:
            case 0:
                return "".join(chance.choice('é"\\/{}[]:, \n\t🙂a') for _ in range(chance.randrange(6)))
            case 1:
                return chance.choice([None, True, False])
            case 2:
                return chance.randrange(-(1 << 70), 1 << 70)
            case 3:
                return chance.uniform(-1e30, 1e30)
            case 4:
                return {}
            case 5:
                return [value(depth - 1) for _ in range(chance.randrange(3))]
            case _:
                return {f"f{number}": value(depth - 1) for number in range(chance.randrange(3))}

    for _ in range(300):
        row = json.dumps(
            {f"c{number}": value(3) for number in range(4)},
            ensure_ascii=chance.random() < 0.5,
            indent=chance.choice([None, 1]),
            separators=chance.choice([(",", ":"), (" , ", "\t: ")]),
        )
        envelope = f'{{"before":{json.dumps(value(2))},"after":{row},"op":"c"}}'
        wrapped = f'{{"schema":{json.dumps(value(2))},"payload":{envelope}}}'
        assert read(chance.choice([envelope, wrapped])) == ({"op": "c", "row": row}, None)
