"""Java's properties files, with the line number of each setting.

One setting is one logical line: a line, and the next ones while a line ends in an odd number of backslashes. The key
ends at the first `=`, `:` or white space that is not escaped; lines that begin with `#` or `!` are comments;
`\\t \\n \\r \\f \\uXXXX` are escapes, and before any other character the backslash is removed. The last of several
settings with one key counts. Files are ISO 8859-1, as Java reads them.

Source: java.util.Properties, load(Reader).
"""

import re
from collections.abc import Iterator

from barnabas.core.errors import ConfigError

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY_END = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)


def parse_properties(text: str) -> tuple[dict[str, str], dict[str, int]]:
    """Parse the text of a properties file.

    Returns:
        The settings, and the number of each one's first line, from 1.

    Raises:
        ConfigError: Four hexadecimal digits do not follow a `\\u`; the error names the line.
    """
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in _logical_lines(text):
        match = _KEY_END.match(line)
        raw_key = match.group() if match else ""
        rest = line[len(raw_key) :].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        key = _unescape(raw_key, number)
        values[key] = _unescape(rest, number)
        lines[key] = number
    return values, lines


def read_properties(path: str) -> tuple[dict[str, str], dict[str, int]]:
    """Read and parse a properties file; see `parse_properties`.

    Raises:
        ConfigError: The file does not exist or cannot be read; one line that names it.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    try:
        return parse_properties(data.decode("latin-1"))
    except ConfigError as error:
        raise ConfigError(f"{path}:{error}") from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    first_number, collected = 0, ""
    is_continued = False
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANK)
        if not is_continued:
            if not line or line[0] in "#!":
                continue
            first_number, collected = number, ""
        collected += line
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if is_continued:
            collected = collected[:-1]
        else:
            yield first_number, collected
    if is_continued and collected:
        yield first_number, collected


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise ConfigError(f"{number}: \\u must be followed by four hexadecimal digits")
        return _ESCAPES.get(match[2], match[2]) if match[2] else ""

    return _ESCAPE.sub(replace, text)
