"""`ssl.principal.mapping.rules`: mapping of a client's distinguished name to a user.

    rules        rule, rule, ...             the first rule that matches the whole name applies
    rule         DEFAULT                     the name unchanged
                 RULE:pattern/replacement/   the match is replaced; $1 is its first group
                 RULE:.../.../L, .../U       in lower, upper case

A `/` within a pattern or replacement is written `\\/`. Patterns are Java's; syntax that Python writes differently
(named groups) is translated, and syntax that only Java has is rejected at the start.

Pure. Source: Kafka 2.7.2, SslPrincipalMapper; KIP-371.
"""

import re
from typing import NamedTuple

from barnabas.core.errors import ConfigError

DEFAULT = "DEFAULT"

_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER = re.compile(_RULE)
_JAVA_NAMED_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")
_JAVA_NAMED_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")
_REPLACEMENT = re.compile(r"\\(.)|\$\{([a-zA-Z][a-zA-Z0-9]*)\}|\$([0-9]+)|(\$)|([^\\$]+)|(\\)", re.DOTALL)


class _Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT.

    Attributes:
        replacement: Texts, and numbers or names of groups.
        case: "L", "U" or nothing.
    """

    pattern: "re.Pattern[str] | None"
    replacement: tuple[str | tuple[int | str], ...] = ()
    case: str = ""

    def apply(self, name: str) -> str | None:
        """Map a name by the rule; None: the rule does not match."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        mapped = self.pattern.sub(self._expand, name)
        return mapped.lower() if self.case == "L" else mapped.upper() if self.case == "U" else mapped

    def _expand(self, match: "re.Match[str]") -> str:
        return "".join(each if isinstance(each, str) else match[each[0]] or "" for each in self.replacement)


class PrincipalMapping:
    """The rules of a listener."""

    __slots__ = ("_rules", "_text")

    def __init__(self, text: str = DEFAULT) -> None:
        """Args:
        text: `ssl.principal.mapping.rules`.

        Raises:
            ConfigError: A rule is invalid; the reason alone.
        """
        self._text = text
        self._rules = [rule for item in _SPLITTER.finditer(text.strip()) if (rule := _parse(item[1])) is not None]

    def user(self, distinguished_name: str) -> str | None:
        """Return the user's name; None: no rule matches, and Kafka closes the connection."""
        for rule in self._rules:
            user = rule.apply(distinguished_name)
            if user is not None:
                return user
        return None


def _parse(text: str) -> _Rule | None:
    match = _PARSER.match(text)
    if match is None:
        raise ConfigError(f"Invalid rule: {text}")
    if match.end() != len(text):
        raise ConfigError(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`")
    if match[1] is not None:
        return _Rule(None)
    if match[2] is None:
        return None
    # differs from Kafka (java-patterns): it takes all that Java's patterns have, and finds a missing group at a login.
    try:
        pattern = re.compile(_JAVA_NAMED_REFERENCE.sub(r"(?P=\1)", _JAVA_NAMED_GROUP.sub("(?P<", match[2])), re.ASCII)
    except re.error as error:
        raise ConfigError(f"Invalid rule: `{text}`: {error}") from None
    try:
        return _Rule(pattern, tuple(_replacement(match[4], pattern)), match[6])
    except (KeyError, IndexError):
        raise ConfigError(f"Invalid rule: `{text}`: its replacement names a group that there is not") from None


def _replacement(text: str, pattern: "re.Pattern[str]") -> list[str | tuple[int | str]]:
    """Return the parts of a replacement in Java's notation. Raises KeyError or IndexError."""
    parts: list[str | tuple[int | str]] = []
    for match in _REPLACEMENT.finditer(text):
        escaped, name, digits, dollar, plain, _ = match.groups()
        if plain is not None or escaped is not None:
            parts.append(plain or escaped)
        elif name is not None:
            parts.append((pattern.groupindex[name],))
        elif digits is not None:
            parts += _group(digits, pattern.groups)
        else:
            raise IndexError(dollar)
    return parts


def _group(digits: str, count: int) -> list[str | tuple[int | str]]:
    """Return the group that `$` and digits name; it takes as many digits as still name an existing group."""
    if digits[0] != "0" and count:
        number = int(digits)
        while number > count and number >= 10:
            number //= 10
        if number > count:
            return ["$" + digits]
    number, used = int(digits[0]), 1
    if number > count:
        raise IndexError(digits)
    while used < len(digits) and number * 10 + int(digits[used]) <= count:
        number, used = number * 10 + int(digits[used]), used + 1
    return [(number,), digits[used:]]
