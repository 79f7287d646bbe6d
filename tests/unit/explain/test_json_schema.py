"""The quick check of facts says the same as the one that tells what is wrong."""

import random
from typing import Any

from barnabas.explain.answers import _definitions
from barnabas.explain.json_schema import complaints, quick_check

DEFINITIONS = _definitions()
DEPTH = 4
OTHERS: list[Any] = [None, True, 1, 1.5, "x", [], [1, "x"], [[1, 2], [3]], {}, {"topic": [None]}, {"ends": [[1, 2]]}]


def _value(dice: random.Random, schema: dict[str, Any]) -> Any:
    """Make a value that a schema describes, with a fault now and then."""
    if "$ref" in schema:
        schema = DEFINITIONS[schema["$ref"].removeprefix("#/$defs/")]
    if dice.random() < 0.01:
        return dice.choice(OTHERS)
    if "anyOf" in schema:
        return _value(dice, dice.choice(schema["anyOf"]))
    if "enum" in schema:
        return dice.choice(schema["enum"])
    match schema["type"]:
        case "object":
            known = schema.get("properties", {}).items()
            made = {name: _value(dice, part) for name, part in known if dice.random() > 0.01}
            return made | ({"more": dice.choice(OTHERS)} if dice.random() < 0.1 else {})
        case "array":
            count = schema.get("minItems", dice.randrange(3))
            return [_value(dice, schema["items"]) for _ in range(count)]
        case kind:
            return {"string": "a", "integer": 3, "number": 1.5, "boolean": True, "null": None}[kind]


def test_the_quick_check_says_the_same() -> None:
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    checks = {name: quick_check(schema, DEFINITIONS, DEPTH) for name, schema in DEFINITIONS.items()}
    seen = set()
    for _ in range(3_000):
        name = dice.choice(sorted(DEFINITIONS))
        value = _value(dice, DEFINITIONS[name])
        is_right = not complaints(value, DEFINITIONS[name], DEFINITIONS, name, DEPTH, bears_more=True)
        assert checks[name](value) is is_right, (seed, name, value)
        seen.add(is_right)
    assert seen == {True, False}
