"""Check JSON values against the part of JSON Schema that `facts.json` is written in. Pure."""

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


def complaints(
    value: Any,
    schema: dict[str, Any],
    defs: dict[str, Any],
    where: str = "",
    depth: int = 100,
    *,
    bears_more: bool = False,
) -> list[str]:
    """Return what is wrong with a value, one line each; none: it is as the schema has it.

    Args:
        defs: What `$ref` names.
        where: The value's place, for the lines.
        depth: Parts of parts are looked at so deep.
        bears_more: Members that the schema does not know are nothing wrong: a later release has them.
    """
    if "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "anyOf" in schema:
        found = [complaints(value, each, defs, where, depth, bears_more=bears_more) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is none of {schema['enum']}"]
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{where}: {value!r} is no {kind}"]
    told: list[str] = []
    if not depth:
        return told

    def look_at(part: Any, schema: dict[str, Any], name: object) -> None:
        told.extend(complaints(part, schema, defs, f"{where}/{name}", depth - 1, bears_more=bears_more))

    if isinstance(value, dict):
        properties = schema.get("properties", {})
        told += [f"{where}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, part in value.items():
            other = schema.get("additionalProperties", {})
            if name in properties:
                look_at(part, properties[name], name)
            elif other is False:
                if not bears_more:
                    told.append(f"{where}: {name} is nothing that is known")
            elif other:
                look_at(part, other, name)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            told.append(f"{where}: {len(value)} items")
        for index, part in enumerate(value):
            look_at(part, schema["items"], index)
    return told
