"""Writes the encoder of one shape: straight-line code, one function.

It mirrors the decoder: one pack for a run of fields of fixed size and, if the version is not flexible, for the length
or count that follows. A field that is missing in the version and not ignorable must have its default value.
"""

from tools.codegen.classes import default_value
from tools.codegen.runs import Layouts, Run
from tools.codegen.schema import Field
from tools.codegen.shapes import FIXED, Shape, is_inlined


def is_set(field: Field, value: str) -> str:
    """Return the condition that a field's value is not its default."""
    if field.default == "null":
        return f"{value} is not None"
    if field.is_array:
        return f"{value} is None or {value}" if field.is_ever_nullable else value
    if field.struct is not None:
        return " or ".join(is_set(inner, f"{value}.{inner.name}") for inner in field.struct.fields)
    if field.type_name == "records":
        return f"{value} is not None"
    if field.type_name == "bool":
        return value if default_value(field) == "False" else f"not {value}"
    return f"{value} != {default_value(field)}"


class EncoderWriter:
    """Writes one encoder; `function_of` names the encoder of a nested struct."""

    def __init__(
        self,
        shape: Shape,
        layouts: Layouts,
        function_of: dict[Shape, str],
        nested: dict[str, Shape],
        message: str = "msg",
    ) -> None:
        """Args:
        message: The name of the encoded object.
        """
        self._shape = shape
        self._message = message
        self._layouts = layouts
        self._function_of = function_of
        self._nested = nested
        self._lines: list[str] = []
        self._run = Run()

    def write(self) -> list[str]:
        """Return the lines of the function."""
        shape = self._shape
        body = self.write_inlined() or ["pass"]
        signature = f"(msg: {shape.struct.class_name}, out: WireBuffer) -> None:"
        return [f"def {self._function_of[shape]}{signature}", *(f"    {line}" for line in body), ""]

    def write_inlined(self) -> list[str]:
        """Return the same lines without the function."""
        shape = self._shape
        for field in shape.absent:
            if not field.ignorable:
                self._line(f"if {is_set(field, self._attribute(field))}:")
                self._line(f'    raise not_in_version("{shape.struct.class_name}.{field.name}")')
        for field in shape.present:
            self._field(field, "out")
        if shape.is_flexible and not shape.tagged:
            self._run.add("0", "B")
        self._flush("out")
        if shape.tagged:
            self._tagged_section()
        return self._lines

    def _attribute(self, field: Field) -> str:
        return f"{self._message}.{field.name}"

    def _line(self, text: str) -> None:
        self._lines.append(text)

    def _flush(self, out: str) -> None:
        """Pack the pending run."""
        if not self._run:
            return
        if self._run.codes == ["B"]:
            self._line(f"{out}.append({self._run.names[0]})")
        else:
            pack = self._layouts.pack(self._run.codes)
            self._line(f"{out} += {pack}({', '.join(self._run.names)})")
        self._run = Run()

    def _is_flexible(self, field: Field) -> bool:
        return self._shape.is_flexible and not field.never_flexible

    def _is_nullable(self, field: Field) -> bool:
        return self._shape.version in field.nullable or field.type_name == "records"

    def _value(self, field: Field) -> str:
        """Return the expression of a field's value, after a check for a null that this version cannot encode."""
        if not field.is_ever_nullable or self._is_nullable(field):
            return self._attribute(field)
        name = field.name if self._message == "msg" else f"{self._message}_{field.name}"
        self._line(f"{name} = {self._attribute(field)}")
        self._line(f"if {name} is None:")
        self._line(f'    raise not_nullable("{self._shape.struct.class_name}.{field.name}")')
        return name

    def _field(self, field: Field, out: str) -> None:
        if field.is_array:
            self._array(field, out)
        elif field.type_name in FIXED:
            self._run.add(self._attribute(field), FIXED[field.type_name][0])
        elif field.struct is not None:
            self._struct(field, out)
        else:
            self._text(field, out)

    def _text(self, field: Field, out: str) -> None:
        """A string, bytes or records."""
        value = self._value(field)
        flexible = self._is_flexible(field)
        if not flexible and not self._is_nullable(field):
            if field.type_name == "string":
                text = f"{field.name}_bytes"
                self._line(f"{text} = {value}.encode()")
                value = text
            self._run.add(f"len({value})", "h" if field.type_name == "string" else "i")
            self._flush(out)
            self._line(f"{out} += {value}")
            return
        self._flush(out)
        compact = "compact_" if flexible else ""
        nullable = "nullable_" if self._is_nullable(field) else ""
        self._line(f"write_{compact}{nullable}{field.type_name}({value}, {out})")

    def _struct(self, field: Field, out: str) -> None:
        self._flush(out)
        self._line(f"{self._function_of[self._nested[field.name]]}({self._value(field)}, {out})")

    def _array(self, field: Field, out: str) -> None:
        value = self._value(field)
        nullable = self._is_nullable(field)
        if self._is_flexible(field):
            self._flush(out)
            count = f"0 if {value} is None else len({value}) + 1" if nullable else f"len({value}) + 1"
            self._line(f"write_uvarint({count}, {out})")
        else:
            self._run.add(f"-1 if {value} is None else len({value})" if nullable else f"len({value})", "i")
            self._flush(out)
        body = self._elements(field, value, out)
        if nullable:
            self._line(f"if {value}:")
            body = [f"    {line}" for line in body]
        self._lines.extend(body)

    def _elements(self, field: Field, value: str, out: str) -> list[str]:
        if field.type_name in FIXED:
            return [f"write_{field.type_name}s({value}, {out})"]
        item = f"{field.name}_item"
        if field.struct is not None and is_inlined(self._nested[field.name]):
            inner = EncoderWriter(self._nested[field.name], self._layouts, self._function_of, {}, item)
            return [f"for {item} in {value}:", *(f"    {line}" for line in inner.write_inlined() or ["pass"])]
        if field.struct is not None:
            return [f"for {item} in {value}:", f"    {self._function_of[self._nested[field.name]]}({item}, {out})"]
        compact = "compact_" if self._is_flexible(field) else ""
        return [f"for {item} in {value}:", f"    write_{compact}{field.type_name}({item}, {out})"]

    def _tagged_section(self) -> None:
        self._line("tagged: list[tuple[int, WireBuffer]] = []")
        for field in self._shape.tagged:
            self._line(f"if {is_set(field, self._attribute(field))}:")
            start = len(self._lines)
            value = f"{field.name}_value"
            self._line(f"{value} = WireBuffer()")
            self._field(field, value)
            self._flush(value)
            self._line(f"tagged.append(({field.tag}, {value}))")
            self._lines[start:] = [f"    {line}" for line in self._lines[start:]]
        self._line("write_tagged_fields(tagged, out)")
