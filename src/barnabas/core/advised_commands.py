"""Commands suggested by explain, the page and error messages, quoted so that a shell reads every name unchanged.

Groups, client ids, users and paths may be any text. A name that begins with a dash must not be read as an option, and
no character of a name may start another command or control the terminal into which the command is pasted.
"""

import re
import shlex
from typing import Final

NAME: Final = "--"
"""Marks an argument that is not the value of an option."""

_QUOTED: Final = r"""\$'(?:[^'\\]|\\.)*+'|'[^']*+'|"[^"]*+\""""
_BEFORE_NAMES: Final = re.compile(rf"(?:(?:{_QUOTED}|[^'\"\s])++ )*?(?=-- )")

Word = str | tuple[str, object]
"""A word of the command, or an option (or `NAME`) with its value."""


def command(*words: Word) -> str:
    """Return a `barnabas` command, quoted for a shell.

    A value that begins with a dash is joined to its option by an equals sign; such an argument comes last, after `--`.
    """
    return options("barnabas", *words)


def options(*words: Word) -> str:
    """Return part of a command, quoted for a shell."""
    parts, names = list[str](), list[str]()
    for word in words:
        if isinstance(word, str):
            parts.append(word)
            continue
        option, value = word[0], str(word[1])
        # A single dash means standard input, and is not an option.
        if value == "-" or not value.startswith("-"):
            parts += [value] if option == NAME else [option, value]
        elif option == NAME:
            names.append(value)
        else:
            parts.append(f"{option}={value}")
    return " ".join(map(quote, [*parts, NAME, *names] if names else parts))


def with_options(line: str, options: str) -> str:
    """Add options, which are quoted already, to a command: before its `--`, if any."""
    match = _BEFORE_NAMES.match(line) if options else None
    return f"{line} {options}".rstrip() if match is None else f"{match[0]}{options} {line[match.end() :]}"


def quote(word: str) -> str:
    """Quote a word for a shell; unprintable characters become escapes, which bash, zsh and POSIX 2024 read."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\x{ord(character):02x}" if character.isascii() else f"\\U{ord(character):08x}"
