"""JAAS entries: the login modules, users and passwords in Kafka's settings.

    entry    module flag option=value ... ;         sasl.jaas.config, listener.name.<l>.<mechanism>.sasl.jaas.config
    file     Name { entry ... }; ...                java.security.auth.login.config

    module   org.apache.kafka.common.security.plain.PlainLoginModule, ...scram.ScramLoginModule,
             ...oauthbearer.OAuthBearerLoginModule
    flag     required, requisite, sufficient, optional
    value    a word, or anything in quotes with Java's escapes; a bare number is invalid

A `/` begins a comment to the end of the line, `/*` one to `*/`.

Invariant: no error and no repr contains the value of an option.

Source: Kafka 2.7.2, JaasConfig and JaasContext, whose words most errors have; java.io.StreamTokenizer.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from barnabas.core.errors import ConfigError
from barnabas.wire.security.sasl.mechanism import GSSAPI, OAUTHBEARER, PLAIN, SCRAM_SHA_256, SCRAM_SHA_512

_MODULES = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    GSSAPI: "com.sun.security.auth.module.Krb5LoginModule",
}
_FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_USER_PREFIX = "user_"

_TOKEN = re.compile(
    r"""
      (?P<blank> [\x00-\x20]+ | /\*.*?(?:\*/|\Z) | /[^\r\n]* )
    | " (?P<double> (?: \\. | [^"\\\r\n] )* ) (?:"|(?=[\r\n])|\Z)
    | ' (?P<single> (?: \\. | [^'\\\r\n] )* ) (?:'|(?=[\r\n])|\Z)
    | (?P<word> [A-Za-z_$\u00a0-\U0010ffff] [A-Za-z0-9_$.\-\u00a0-\U0010ffff]* )
    | (?P<number> -?[0-9.]+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module with its options."""

    module: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def users(self) -> dict[str, str]:
        """Return the users of a PLAIN listener with their passwords."""
        return {
            name.removeprefix(_USER_PREFIX): value
            for name, value in self.options.items()
            if name.startswith(_USER_PREFIX)
        }


def parse_jaas(text: str, mechanism: str) -> JaasEntry:
    """Parse a `sasl.jaas.config`.

    Args:
        mechanism: The mechanism of the entry.

    Raises:
        ConfigError: The value is invalid, or not of that mechanism; the reason alone.
    """
    entries = _entries(_tokens(text))
    if not entries:
        raise ConfigError("Login module not specified in JAAS config")
    if len(entries) != 1:
        raise ConfigError(f"JAAS config property contains {len(entries)} login modules, should be 1 module")
    entry = entries[0]
    module = _MODULES[mechanism]
    # differs from Kafka (login-modules): it loads whatever class there is.
    if entry.module != module:
        raise ConfigError(f"the login module of {mechanism} is {module}, not {entry.module}")
    return entry


def parse_jaas_file(text: str) -> dict[str, list[JaasEntry]]:
    """Parse a file of `java.security.auth.login.config`: the entries of each section.

    Raises:
        ConfigError: The value is invalid; the reason alone.
    """
    sections: dict[str, list[JaasEntry]] = {}
    tokens = list(_tokens(text))
    position = 0
    while position < len(tokens):
        kind, name = tokens[position]
        if kind == "sign" or tokens[position + 1 : position + 2] != [("sign", "{")]:
            raise ConfigError("a JAAS file is made of sections: Name { module flag option=value ...; };")
        end = next((at for at in range(position, len(tokens)) if tokens[at] == ("sign", "}")), None)
        if end is None or tokens[end + 1 : end + 2] != [("sign", ";")]:
            raise ConfigError(f"section {name} of the JAAS file does not end in }};")
        sections[name] = _entries(iter(tokens[position + 2 : end]))
        position = end + 2
    return sections


def entry_of_file(sections: Mapping[str, list[JaasEntry]], listener_name: str, mechanism: str) -> JaasEntry | None:
    """Return a file's entry for a mechanism of a listener, from `<listener>.KafkaServer` or `KafkaServer`."""
    entries = sections.get(f"{listener_name.lower()}.KafkaServer", sections.get("KafkaServer", []))
    return next((entry for entry in entries if entry.module == _MODULES[mechanism]), None)


def _entries(tokens: Iterator[tuple[str, str]]) -> list[JaasEntry]:
    entries = []
    for kind, module in tokens:
        if kind in ("sign", "number"):
            raise ConfigError("Login module not specified in JAAS config")
        flag_kind, flag = next(tokens, ("", ""))
        if flag_kind not in ("word", "quoted"):
            raise ConfigError("Login module control flag is not available in the JAAS config")
        if flag.upper() not in _FLAGS:
            raise ConfigError("Invalid login module control flag in JAAS config: it must be required, requisite, "
                              "sufficient or optional")  # fmt: skip
        entries.append(JaasEntry(module, _options(tokens)))
    return entries


def _options(tokens: Iterator[tuple[str, str]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for kind, name in tokens:
        if (kind, name) == ("sign", ";"):
            return options
        if kind in ("sign", "number"):
            raise ConfigError("an option of the JAAS config has no name")
        equals, (value_kind, value) = next(tokens, None), next(tokens, ("", ""))
        if equals != ("sign", "=") or value_kind not in ("word", "quoted"):
            hint = " (a number has to stand in quotes)" if value_kind == "number" else ""
            # The text there may be half of a password.
            raise ConfigError(f"Value not specified for key '{name}' in JAAS config{hint}")
        options[name] = value
    raise ConfigError("JAAS config entry not terminated by semi-colon")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind (`word`, `quoted`, `number`, `sign`) and text of each token."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("double", "single"):
            yield "quoted", _ESCAPE.sub(_unescaped, match[kind])
        elif kind != "blank":
            yield kind, match[0]


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPES.get(escaped, escaped)
