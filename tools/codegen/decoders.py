"""Writes the decoder of one shape: straight-line code, one function.

A run of fields of fixed size is one unpack. In versions that are not flexible, the run includes the length of a string,
bytes or array that follows. There, strings and records are decoded inline, and so are array elements without nested
structs or arrays (`is_inlined`), because a call for each would cost more than its work.
"""

from tools.codegen.classes import default_value, python_type
from tools.codegen.runs import Layouts, Run
from tools.codegen.schema import Field
from tools.codegen.shapes import FIXED, Shape, is_inlined, least_element_size


class DecoderWriter:
    """Writes one decoder; `function_of` names the decoder of a nested struct."""

    def __init__(
        self,
        shape: Shape,
        layouts: Layouts,
        function_of: dict[Shape, str],
        nested: dict[str, Shape],
        prefix: str = "",
    ) -> None:
        """Args:
        prefix: Prefix of all field names, if the decoder is inlined.
        """
        self._shape = shape
        self._prefix = prefix
        self._layouts = layouts
        self._function_of = function_of
        self._nested = nested
        self._lines: list[str] = []
        self._run = Run()
        self._declared: set[str] = set()
        # Unpacked bytes that `pos` does not include yet.
        self._ahead = 0

    def write(self) -> list[str]:
        """Return the lines of the function."""
        shape = self._shape
        name = shape.struct.class_name
        signature = f"(buf: memoryview, pos: int, budget: Budget) -> tuple[{name}, int]:"
        for field in shape.present:
            self._field(field)
        self._flush()
        if shape.is_flexible:
            self._tagged_section()
        self._line(f"return {name}({self._arguments()}), {self._pos()}")
        return [f"def {self._function_of[shape]}{signature}", *(f"    {line}" for line in self._lines), ""]

    def write_inlined(self) -> tuple[list[str], str]:
        """Return the same lines without the function, and the expression of the result; `pos` is then after it."""
        for field in self._shape.present:
            self._field(field)
        self._flush()
        self._settle()
        return self._lines, f"{self._shape.struct.class_name}({self._arguments()})"

    def _line(self, text: str) -> None:
        self._lines.append(text)

    def _pos(self) -> str:
        return f"pos + {self._ahead}" if self._ahead else "pos"

    def _settle(self) -> None:
        """Advance `pos` past everything that was unpacked."""
        if self._ahead:
            self._line(f"pos += {self._ahead}")
            self._ahead = 0

    def _flush(self) -> None:
        """Unpack the pending run."""
        if not self._run:
            return
        targets = ", ".join(self._run.names)
        if len(self._run) == 1:
            targets = f"({targets},)"
        self._line(f"{targets} = {self._layouts.unpack(self._run.codes)}(buf, {self._pos()})")
        self._ahead += self._run.size
        self._run = Run()

    def _arguments(self) -> str:
        """Return the constructor's positional arguments, without the absent fields at the end."""
        absent = {field.name for field in self._shape.absent}
        fields = self._shape.struct.fields
        values = [default_value(field) if field.name in absent else self._name(field) for field in fields]
        for field in reversed(self._shape.struct.fields):
            if field.name not in absent:
                break
            values.pop()
        return ", ".join(values)

    def _name(self, field: Field) -> str:
        return self._prefix + field.name

    def _is_flexible(self, field: Field) -> bool:
        return self._shape.is_flexible and not field.never_flexible

    def _is_nullable(self, field: Field) -> bool:
        return self._shape.version in field.nullable or field.type_name == "records"

    def _field(self, field: Field) -> None:
        if field.is_array:
            self._array(field)
        elif field.type_name in FIXED:
            self._run.add(self._name(field), FIXED[field.type_name][0])
        elif field.struct is not None:
            self._struct(field)
        else:
            self._text(field)

    def _text(self, field: Field) -> None:
        """A string, bytes or records."""
        name, is_nullable = self._name(field), self._is_nullable(field)
        nullable = "nullable_" if is_nullable else ""
        if self._is_flexible(field):
            self._flush()
            self._line(f"{name}, pos = read_compact_{nullable}{field.type_name}(buf, {self._pos()})")
            self._ahead = 0
            return
        length = f"{name}_length"
        self._run.add(length, "h" if field.type_name == "string" else "i")
        self._flush()
        if field.type_name == "bytes":
            self._line(f"{name}, pos = take_{nullable}bytes(buf, {self._pos()}, {length})")
            self._ahead = 0
            return
        self._settle()
        kind, taken = ("str", 'str(buf[pos:end], "utf-8")')
        if field.type_name == "records":
            kind, taken = ("Records", "buf[pos:end]")
        take = [
            f"end = pos + {length}",
            "if end > len(buf):" if is_nullable else f"if {length} < 0 or end > len(buf):",
            f'    raise wrong_length("{field.type_name}", {length}, pos, buf)',
            f"{name} = {taken}",
            "pos = end",
        ]
        if is_nullable:
            self._line(f"{name}: {kind} | None = None" if self._declare(name) else f"{name} = None")
            self._line(f"if {length} >= 0:")
            take = [f"    {line}" for line in take]
        self._lines += take

    def _struct(self, field: Field) -> None:
        function = self._function_of[self._nested[field.name]]
        self._flush()
        self._line(f"{self._name(field)}, pos = {function}(buf, {self._pos()}, budget)")
        self._ahead = 0

    def _array(self, field: Field) -> None:
        least = least_element_size(field, self._shape.version, self._shape.is_flexible)
        count = f"{field.name}_count"
        nullable = self._is_nullable(field)
        if self._is_flexible(field):
            self._flush()
            read = "read_compact_nullable_count" if nullable else "read_compact_count"
            self._line(f"{count}, pos = {read}(buf, {self._pos()}, {least}, budget)")
            self._ahead = 0
        else:
            self._run.add(count, "i")
            self._flush()
            self._settle()
        check = []
        if not self._is_flexible(field):
            check = [
                f"elements_left = budget.elements_left - {count}",
                f"if {count} < 0 or elements_left < 0 or {count} * {least} > len(buf) - pos:",
                f"    check_count({count}, len(buf) - pos, {least}, budget)",
                "budget.elements_left = elements_left",
            ]
        if nullable:
            self._line(self._declaration(field, "None"))
            self._line(f"if {count} >= 0:")
            self._lines.extend(f"    {line}" for line in check + self._elements(field, count))
        else:
            self._lines.extend(check + self._elements(field, count))

    def _declaration(self, field: Field, value: str) -> str:
        """Return an assignment; the first assignment of a name has an annotation."""
        if not self._declare(field.name):
            return f"{field.name} = {value}"
        kind = python_type(field)
        if not self._is_nullable(field):
            kind = kind.removesuffix(" | None")
        return f"{field.name}: {kind} = {value}"

    def _declare(self, name: str) -> bool:
        """Return whether this is the first assignment of a name."""
        is_first = name not in self._declared
        self._declared.add(name)
        return is_first

    def _elements(self, field: Field, count: str) -> list[str]:
        if field.type_name in FIXED:
            size = FIXED[field.type_name][1]
            return [f"{field.name} = read_{field.type_name}s(buf, pos, {count})", f"pos += {size} * {count}"]
        item = f"{field.name}_item"
        if field.struct is not None and is_inlined(self._nested[field.name]):
            prefix = f"{field.name}_"
            inner = DecoderWriter(self._nested[field.name], self._layouts, self._function_of, {}, prefix)
            lines, made = inner.write_inlined()
            return [
                self._declaration(field, "[]"),
                f"for _ in range({count}):",
                *(f"    {line}" for line in lines),
                f"    {field.name}.append({made})",
            ]
        if field.struct is not None:
            function = self._function_of[self._nested[field.name]]
            read = f"{item}, pos = {function}(buf, pos, budget)"
        else:
            compact = "compact_" if self._is_flexible(field) else ""
            read = f"{item}, pos = read_{compact}{field.type_name}(buf, pos)"
        return [
            self._declaration(field, "[]"),
            f"for _ in range({count}):",
            f"    {read}",
            f"    {field.name}.append({item})",
        ]

    def _tagged_section(self) -> None:
        if not self._shape.tagged:
            self._ahead += 1
            self._settle()
            self._line("if buf[pos - 1]:")
            self._line("    pos = skip_tagged_fields(buf, pos - 1, budget)")
            return
        for field in self._shape.tagged:
            self._line(self._declaration(field, default_value(field)))
        self._line(f"tagged_count, pos = read_tagged_count(buf, {self._pos()}, budget)")
        self._ahead = 0
        self._line("for _ in range(tagged_count):")
        self._line("    tag, tag_end, pos = read_tag(buf, pos)")
        for field in self._shape.tagged:
            self._line(f"    {'if' if field is self._shape.tagged[0] else 'elif'} tag == {field.tag}:")
            start = len(self._lines)
            self._field(field)
            self._flush()
            self._settle()
            self._lines[start:] = [f"        {line}" for line in self._lines[start:]]
        self._line("    else:")
        self._line("        pos = tag_end")
        self._line("    check_tag_end(pos, tag_end)")
