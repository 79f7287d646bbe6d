"""Writes the Python class of a struct: slots, defaults, and for a message its tables of codecs."""

from tools.codegen.schema import Field, Message, Struct
from tools.codegen.shapes import PYTHON_TYPES

_ZERO = {"bool": "False", "float64": "0.0", "string": '""', "bytes": 'b""', "records": "None"}


def python_type(field: Field) -> str:
    """Return the annotation of a field's attribute."""
    name = field.struct.class_name if field.struct is not None else PYTHON_TYPES[field.type_name]
    if field.is_array:
        name = f"list[{name}]"
    return f"{name} | None" if field.is_ever_nullable or field.type_name == "records" else name


def default_value(field: Field) -> str:
    """Return the expression of a field's default."""
    if field.default == "null":
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{field.struct.class_name}()"
    if field.type_name == "string" and field.default:
        return repr(field.default)
    if field.type_name == "bool" and field.default:
        return field.default.capitalize()
    if field.type_name in _ZERO:
        return _ZERO[field.type_name]
    return str(int(field.default, 0)) if field.default else "0"


def write_class(struct: Struct, message: Message, lines: list[str]) -> None:
    """Append the class of a struct to a module's lines."""
    lines.append(f"class {struct.class_name}({'Message' if struct.is_message else 'Part'}):")
    lines.append(f'    """{_describe(struct, message)}"""')
    lines.append("")
    # In addition to the slots, which a compiled class does not have.
    lines.append("    FIELDS: ClassVar[tuple[str, ...]] = (")
    for field in struct.fields:
        lines.append(f'        "{field.name}",{_remark(field, message)}')
    lines.append("    )")
    lines.append("    __slots__ = FIELDS")
    parts = [(field.name, field.struct.class_name, field.is_array) for field in struct.fields if field.struct]
    if parts:
        # In addition to the annotations, which a compiled function does not have.
        lines.append("    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (")
        lines += [f'        ("{name}", {class_name}, {is_array}),' for name, class_name, is_array in parts]
        lines.append("    )")
    lines.append("")
    if struct.is_message:
        _write_constants(struct, message, lines)
    if not struct.fields:
        return
    lines.append("    def __init__(")
    lines.append("        self,")
    for field in struct.fields:
        lines.append(f"        {field.name}: {_parameter(field)},")
    lines.append("    ) -> None:")
    for field in struct.fields:
        lines.append(f"        self.{field.name}{_assigned(field)}")
    lines.append("")


def _describe(struct: Struct, message: Message) -> str:
    if not struct.is_message:
        return f"Part of {message.name}."
    known = {"request": "API key", "response": "API key", "coordinator-key": "record type"}.get(message.kind)
    key = f" ({known} {message.api_key})" if known else ""
    return f"{struct.schema_name}{key}, versions {message.versions}."


def _remark(field: Field, message: Message) -> str:
    notes = []
    if any(version not in field.versions for version in message.versions):
        notes.append(f"versions {field.versions}")
    if field.tagged:
        notes.append(f"tag {field.tag}")
    return f"  # {', '.join(notes)}" if notes else ""


def _write_constants(struct: Struct, message: Message, lines: list[str]) -> None:
    lines.append(f'    SCHEMA_NAME: ClassVar[str] = "{struct.schema_name}"')
    if message.api_key is not None:
        lines.append(f"    API_KEY: ClassVar[int] = {message.api_key}")
    lines.append(f"    MIN_VERSION: ClassVar[int] = {message.versions.low}")
    lines.append(f"    MAX_VERSION: ClassVar[int] = {message.versions.high}")
    if message.kind == "request" and message.name != "ProduceRequest":
        lines.append("    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT")
    name = struct.class_name
    lines.append(f"    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[{name}, int]] | None, ...]]")
    lines.append(f"    ENCODERS: ClassVar[tuple[Callable[[{name}, WireBuffer], None] | None, ...]]")
    lines.append("")


def _parameter(field: Field) -> str:
    kind = python_type(field)
    default = default_value(field)
    if not _is_built(field):
        return f"{kind} = {default}"
    return f"{kind} | Missing = MISSING" if field.is_ever_nullable else f"{kind} | None = None"


def _assigned(field: Field) -> str:
    kind = python_type(field)
    default = default_value(field)
    if not _is_built(field):
        return f" = {field.name}"
    absent = f"isinstance({field.name}, Missing)" if field.is_ever_nullable else f"{field.name} is None"
    return f": {kind} = {default} if {absent} else {field.name}"


def _is_built(field: Field) -> bool:
    """Return whether every instance needs its own default object: an empty list or a struct."""
    return (field.is_array or field.struct is not None) and field.default != "null"
