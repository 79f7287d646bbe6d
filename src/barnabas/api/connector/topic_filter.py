r"""White and black lists: regular expressions of topic names in Java's syntax, where `,` means `|`.

An expression must match the whole name. Java syntax that differs from Python's is translated: `\p{Alpha}` and the other
POSIX classes, `\Q...\E`, `\z`. Classes within classes (`[a-z&&[^b]]`) are rejected, because they mean something else in
Python.

Source: configuration documents, topic filters; Kafka 0.8.2.2, TopicFilter; java.util.regex.Pattern.
"""

import re
from typing import Final

from barnabas.core.errors import ConfigError
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.wire.registry.znodes.consumers import Pattern

_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_TOKEN: Final = re.compile(r"\\Q(.*?)(?:\\E|$)|\\p\{(\w+)\}|\\P\{(\w+)\}|(\\z)|(\\.)|(\[)|(\])|(&&)", re.DOTALL)


class TopicFilter:
    """A filter of topic names; use `WhiteList` or `BlackList`.

    Attributes:
        regex: The form in the registry.
        pattern: The kind of list.
    """

    pattern: Pattern

    def __init__(self, text: str) -> None:
        """Args:
        text: A Java regular expression. `,` means `|`; blanks, and quotes around it, are removed.

        Raises:
            ConfigError: The expression is invalid, or cannot be translated to Python.
        """
        regex = text.strip().replace(",", "|").replace(" ", "").lstrip("\"'").rstrip("\"'")
        self.regex = regex
        try:
            self._compiled = re.compile(_translated(regex), re.ASCII)
        except re.error as error:
            raise ConfigError(f"{regex!r} is not a valid regular expression of topics: {error}") from None

    def allows(self, topic: str, *, excludes_internal: bool = True) -> bool:
        """Return whether the filter selects a topic."""
        is_listed = self._compiled.fullmatch(topic) is not None
        if is_listed is not (self.pattern is Pattern.WHITE_LIST):
            return False
        return not (excludes_internal and topic in INTERNAL_TOPICS)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.regex!r})"


class WhiteList(TopicFilter):
    """All topics whose names match."""

    pattern = Pattern.WHITE_LIST


class BlackList(TopicFilter):
    """All topics whose names do not match."""

    pattern = Pattern.BLACK_LIST


def _translated(regex: str) -> str:
    """Translate the expression to Python's syntax."""
    is_in_class = False

    def translate(token: re.Match[str]) -> str:
        nonlocal is_in_class
        quoted, posix, not_posix, end, escaped, opens, closes, _ = token.groups()
        if quoted is not None:
            return re.escape(quoted)
        if posix or not_posix:
            members = _POSIX.get(posix or not_posix)
            if members is None or (not_posix and is_in_class):
                raise ConfigError(f"{regex!r}: {token[0]} is not supported: write the characters themselves")
            return members if is_in_class else f"[{'^' if not_posix else ''}{members}]"
        if end:
            return r"\Z"
        if escaped:
            return escaped
        if (opens and is_in_class) or (token[0] == "&&" and is_in_class):
            # differs from Kafka (topic-list-patterns): Python has no such classes.
            raise ConfigError(f"{regex!r}: a class of characters within another is not supported")
        is_in_class = bool(opens) or (is_in_class and not closes)
        return token[0]

    return _TOKEN.sub(translate, regex)
