"""`barnabas broker --check`: finds the problems of settings that a start would find, without a start.

It reads the files that the settings name (keys, JAAS), opens no port, makes no connection and writes nothing.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from barnabas.broker.server.access_rules import super_users_of
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.listener_tls import ListenerTls, with_tls
from barnabas.broker.server.logins import Logins
from barnabas.broker.server.registry_listeners import NAME
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.settings import hint
from barnabas.core.config.support import ineffective, unknown, unread
from barnabas.core.errors import BarnabasError, InvalidSettingsError
from barnabas.core.peer_text import on_one_line
from barnabas.wire.registry.acl import super_users

_WIDTH = 80


class SettingsCheck:
    """The findings about a broker's settings.

    Attributes:
        problems: Errors that stop a start; a line for each.
        ignored: Known settings without an effect.
        unknown: Names that are not settings.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        lines: Mapping[str, int],
        source: str,
        problems_of_a_start: Callable[[BrokerConfig], list[str]],
    ) -> None:
        """Check settings; see `BrokerConfig.from_properties`.

        Args:
            problems_of_a_start: Returns the errors of a start for settings that are valid by themselves.
        """

        without_listener: dict[str, str] = {}
        try:
            config = BrokerConfig.from_properties(properties, lines, source)
            without_listener = unread(properties, config.endpoints)
            self.problems = problems_of_a_start(config)
        except InvalidSettingsError as error:
            self.problems = list(error.problems)

        def formatted(texts: Mapping[str, str]) -> list[str]:
            in_order = sorted(texts, key=lambda name: lines.get(name, float("inf")))
            return [(f"{source}:{lines[name]}: " if name in lines else "") + texts[name] for name in in_order]

        has_zookeeper = bool(properties.get("zookeeper.connect"))
        self.ignored = formatted(
            {name: name for name in ineffective(properties, has_zookeeper)}
            | {name: f"{name}; {why}" for name, why in without_listener.items()}
        )
        self.unknown = formatted({name: f"{name}{hint(name)}" for name in unknown(properties)})

    def report(self, source: str) -> str:
        """Return the report for a terminal of 80 columns."""
        verdict = "does not start" if self.problems else "starts"
        counts = f"{len(self.problems)} stop it, {len(self.ignored)} without effect, {len(self.unknown)} unknown"
        return "\n".join(
            [
                *_part("Stop the start:", self.problems),
                *_part("Have no effect in Barnabas:", self.ignored),
                *_part("Are unknown, and ignored as Kafka does:", self.unknown),
                *_wrapped(f"The broker {verdict} with {source}: {counts}.", ""),
            ]
        )


def _part(heading: str, lines: list[str]) -> list[str]:
    return [heading, *(each for line in lines for each in _wrapped(on_one_line(line), "  ")), ""] if lines else []


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def problems_of_a_start(config: BrokerConfig, env: Environment) -> list[str]:
    """Return the errors of a start for settings that are valid by themselves."""
    tls, logins = ListenerTls(config, env), Logins(config, env, reads_keys=False)
    found: dict[str, None] = {}
    try:
        for check in _checks(config, env, tls, logins):
            try:
                check()
            except BarnabasError as error:
                found[str(error)] = None
    finally:
        logins.close()
        tls.close()
        env.limits.close()
    return list(found)


def _checks(config: BrokerConfig, env: Environment, tls: ListenerTls, logins: Logins) -> Iterator[Callable[[], object]]:
    for endpoint in config.endpoints:
        yield partial(logins.check_listener, endpoint)
    for endpoint in with_tls(config.endpoints):
        yield partial(tls.check_listener, config, endpoint)
    if config.authorizer_class_name:
        yield partial(super_users_of, config)
    if config.zookeeper_connect:
        # Imported here, because kazoo is large.
        from barnabas.broker.server.zookeeper import zookeeper_options

        yield partial(zookeeper_options, config, env.dice)
    yield partial(super_users, config.barnabas_registry_super_users or "")
    if config.barnabas_registry_ssl_listeners:
        yield partial(tls.check_listener, config, Endpoint(NAME, "", 0, "SSL"))
