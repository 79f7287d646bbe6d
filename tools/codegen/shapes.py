"""Determines which versions of a struct share one layout on the wire, and the role of each field in a layout.

Two versions have the same shape when the same fields are present in the same order with the same encodings, all the way
down. One decoder and one encoder are written per shape.
"""

from dataclasses import dataclass

from tools.codegen.schema import Field, Struct

# `struct` format character and size of types with a fixed size.
FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "int32": ("i", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
}
PYTHON_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "Records",
}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The layout of a struct in one version.

    Attributes:
        present: Fields written inline, in order.
        tagged: Fields written in the tagged section, by tag.
        absent: Fields that this version does not have.
        key: Equal for versions that share the layout.
    """

    struct: Struct
    version: int
    is_flexible: bool
    present: tuple[Field, ...]
    tagged: tuple[Field, ...]
    absent: tuple[Field, ...]
    key: tuple[object, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        return (self.struct.class_name, self.key) == (other.struct.class_name, other.key)

    def __hash__(self) -> int:
        return hash((self.struct.class_name, self.key))


def shape_of(struct: Struct, version: int, is_flexible: bool) -> Shape:
    """Lay out a struct for one version."""
    present: list[Field] = []
    tagged: list[Field] = []
    absent: list[Field] = []
    key: list[object] = [is_flexible]
    for field in struct.fields:
        if version not in field.versions:
            absent.append(field)
            continue
        is_tagged = version in field.tagged
        (tagged if is_tagged else present).append(field)
        inner = shape_of(field.struct, version, is_flexible).key if field.struct else ()
        key.append((field.name, version in field.nullable, is_tagged, inner))
    tagged.sort(key=lambda field: field.tag)
    return Shape(struct, version, is_flexible, tuple(present), tuple(tagged), tuple(absent), tuple(key))


def is_inlined(shape: Shape) -> bool:
    """Return whether array elements of this shape are coded inline: without structs, arrays or tagged section."""
    return not shape.is_flexible and all(field.struct is None and not field.is_array for field in shape.present)


def least_size(struct: Struct, version: int, is_flexible: bool) -> int:
    """Return the minimum size of a struct in a version, in bytes."""
    shape = shape_of(struct, version, is_flexible)
    return sum(_least_field_size(field, version, is_flexible) for field in shape.present) + int(is_flexible)


def least_element_size(field: Field, version: int, is_flexible: bool) -> int:
    """Return the minimum size of one element of an array field; at least 1, so that counts are bounded."""
    if field.struct is not None:
        return max(1, least_size(field.struct, version, is_flexible))
    return _least_value_size(field.type_name, is_flexible)


def _least_field_size(field: Field, version: int, is_flexible: bool) -> int:
    if field.is_array:
        return 1 if is_flexible else 4
    if field.struct is not None:
        return least_size(field.struct, version, is_flexible)
    return _least_value_size(field.type_name, is_flexible and not field.never_flexible)


def _least_value_size(type_name: str, is_flexible: bool) -> int:
    if type_name in FIXED:
        return FIXED[type_name][1]
    if is_flexible:
        return 1
    return 2 if type_name == "string" else 4
