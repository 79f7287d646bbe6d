"""Checks JSON values against the part of JSON Schema that `schemas/facts.json` is written in."""

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "anyOf"}


def complaints(value: Any, schema: dict[str, Any], defs: dict[str, Any], where: str = "") -> list[str]:
    """Return what is wrong with a value, one line each; none: it is as the schema has it."""
    if "$ref" in schema:
        return complaints(value, defs[schema["$ref"].removeprefix("#/$defs/")], defs, where)
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "anyOf" in schema:
        found = [complaints(value, each, defs, where) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is none of {schema['enum']}"]
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{where}: {value!r} is no {kind}"]
    told: list[str] = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        told += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, part in value.items():
            other = schema.get("additionalProperties", {})
            if name in properties:
                told += complaints(part, properties[name], defs, f"{where}/{name}")
            elif other is False:
                told.append(f"{where}: {name} is nothing that is known")
            elif other:
                told += complaints(part, other, defs, f"{where}/{name}")
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            told.append(f"{where}: {len(value)} items")
        for index, part in enumerate(value):
            told += complaints(part, schema["items"], defs, f"{where}/{index}")
    return told
