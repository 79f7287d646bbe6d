"""Client settings of a command, from its options and a properties file.

Source: cli page, options common to Kafka's tools.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeVar

from barnabas.cli.output import note
from barnabas.clients.admin_calls import DEFAULT_TIMEOUT_MS
from barnabas.clients.pool import Pool
from barnabas.clients.security import ClientSecurity, client_security, is_security_setting, trimmed
from barnabas.core.errors import ConfigError

A = TypeVar("A")

_CONNECT_TIMEOUT_MS: Final = 10_000


class ClientSettings(NamedTuple):
    """The settings of a command's client.

    Attributes:
        client_id: The client id sent to brokers.
        timeout_ms: Limit of one request, including retries.
        security: TLS and SASL settings; None for plaintext.
    """

    client_id: str
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    security: ClientSecurity | None = None


def client_settings(client_id: str, command_config: str | None, timeout_ms: int | None) -> ClientSettings:
    """Merge the settings of a properties file and --timeout; the option wins.

    Raises:
        ConfigError: The file cannot be read, a value is invalid, or a key store can't be used.
    """
    if command_config is None:
        return ClientSettings(client_id, timeout_ms or DEFAULT_TIMEOUT_MS)
    from barnabas.core.config.properties import read_properties

    texts, lines = read_properties(command_config)
    values = trimmed(texts)
    security = file_security(command_config, values)
    client_id = values.pop("client.id", client_id)
    file_timeout_ms = DEFAULT_TIMEOUT_MS
    for name in ("request.timeout.ms", "default.api.timeout.ms"):
        text = values.pop(name, None)
        if text is None:
            continue
        if not text.isdecimal() or not 0 < int(text) < 2**31:
            raise ConfigError(f"{command_config}:{lines[name]}: {name}={text} must be a number of milliseconds")
        file_timeout_ms = int(text)
    if values:
        note(f"{command_config}: these properties have no effect here: {', '.join(values)}")
    return ClientSettings(client_id, timeout_ms or file_timeout_ms, security)


def file_security(path: str, values: dict[str, str]) -> ClientSecurity | None:
    """Read the TLS and SASL settings from a properties file's values, and remove them from `values`.

    Raises:
        ConfigError: A setting is invalid, or a key store can't be used; the error names the file.
    """
    of_security = {name: values.pop(name) for name in list(values) if is_security_setting(name)}
    try:
        security = client_security(of_security)
        if security is not None:
            # Checked once here, not at each retry of a command.
            security.context()
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return security


@asynccontextmanager
async def connect(bootstrap_server: str, settings: ClientSettings, admin: Callable[[Pool, int], A]) -> AsyncIterator[A]:
    """Open an admin client of the cluster for the duration of the context.

    Args:
        bootstrap_server: `host:port,...`.
        settings: The client's settings.
        admin: The class of the admin client.

    Raises:
        BarnabasError: The addresses have another form.
    """
    connect_timeout_ms = min(_CONNECT_TIMEOUT_MS, settings.timeout_ms)
    async with Pool(
        bootstrap_server,
        settings.client_id,
        connect_timeout_ms=connect_timeout_ms,
        request_timeout_ms=settings.timeout_ms,
        security=settings.security,
    ) as pool:
        yield admin(pool, settings.timeout_ms)
