"""Schemas by id, from a registry (HTTP) or a folder of files; each is requested once.

| source | answer for id 7 |
| --- | --- |
| a URL | `GET URL/schemas/ids/7`: a JSON object with `schema`, a text, and `schemaType` (AVRO if left out) |
| a folder | the file `7.avsc` (Avro) or `7.json` (JSON Schema) |

If the registry returns that an id is unknown (404), the record is bad. If it is unreachable, hangs, refuses or returns
anything else, that does not concern the record: a retry may succeed.

Source: Confluent's Schema Registry API reference: Schemas; Kafka client settings of its deserializers.
"""

import json
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPSHandler, Request, build_opener

from barnabas.clients.security import client_security
from barnabas.core.errors import ConfigError

AVRO, JSON = "AVRO", "JSON"
_SETTINGS = "schema.registry."
_LOGIN = "basic.auth.user.info"
_OWN_SETTINGS = (_SETTINGS, "basic.auth.")
_TIMEOUT_S = 10.0
_LARGEST_BYTES = 10_000_000


class NoSuchSchemaError(Exception):
    """The schema does not exist or is not supported; the message, one line, is the dead letter's reason."""


class RegistryError(Exception):
    """The registry is unavailable or its response is invalid; one line. Trying again later may succeed."""


class Schema(NamedTuple):
    """A schema: its kind (`AVRO`, `JSON` or an unsupported one) and its text."""

    kind: str
    text: str


def registry_settings(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split Kafka client options into those for the registry and the others."""
    own = {name: value for name, value in options.items() if name.startswith(_OWN_SETTINGS)}
    return own, {name: value for name, value in options.items() if name not in own}


@dataclass
class SchemaRegistry:
    """Returns schemas by id.

    Attributes:
        place: A URL, or a folder.
        settings: `basic.auth.user.info` (`USER:PASSWORD`), and Kafka's `ssl.*` with the prefix `schema.registry.`.
        is_waited_for: Whether records wait for a failing registry; otherwise they become dead letters.
        timeout_s: Maximum duration of a request.

    Raises:
        ConfigError: `place` or a setting is invalid.
    """

    place: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_waited_for: bool = True
    timeout_s: float = _TIMEOUT_S
    _known: dict[int, Schema] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate the attributes; raise ConfigError if one is invalid."""
        self._is_remote = "://" in self.place
        if not self._is_remote:
            if not Path(self.place).is_dir():
                raise ConfigError(f"schema registry {self.place}: must be http://, https:// or a folder")
            return
        url = urlsplit(self.place)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigError(f"schema registry {url.scheme}://{url.hostname or ''}: must be http:// or https://")
        # Errors must not contain the password.
        self._url = url._replace(netloc=url.netloc.rpartition("@")[2]).geturl().rstrip("/")
        named = f"{unquote(url.username)}:{unquote(url.password or '')}" if url.username else ""
        login = self.settings.get(_SETTINGS + _LOGIN) or self.settings.get(_LOGIN) or named
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if login:
            self._headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        tls = {name.removeprefix(_SETTINGS): value for name, value in self.settings.items()}
        security = client_security({**tls, "security.protocol": "SSL"}) if url.scheme == "https" else None
        self._opener = build_opener(HTTPSHandler(context=security.context() if security else None))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the arguments."""
        return _copy, (self.place, tuple(self.settings.items()), self.is_waited_for, self.timeout_s)

    def schema(self, schema_id: int) -> Schema:
        """Return a schema.

        Raises:
            NoSuchSchemaError: the id is unknown, or the schema is not supported.
            RegistryError: the registry is unavailable, or its response is invalid.
        """
        if schema_id not in self._known:
            self._known[schema_id] = self._fetched(schema_id) if self._is_remote else self._read(schema_id)
        return self._known[schema_id]

    def _read(self, schema_id: int) -> Schema:
        for kind, suffix in ((AVRO, "avsc"), (JSON, "json")):
            path = Path(self.place) / f"{schema_id}.{suffix}"
            try:
                return Schema(kind, path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
            except (OSError, UnicodeDecodeError) as error:
                raise RegistryError(f"the schema {path} can't be read: {error}") from None
        raise NoSuchSchemaError(f"the schema registry has no schema {schema_id}")

    def _fetched(self, schema_id: int) -> Schema:
        where = f"the schema registry {self._url}"
        try:
            answer = json.loads(self._get(f"{self._url}/schemas/ids/{schema_id}"))
            text, kind = answer["schema"], answer.get("schemaType", AVRO)
        except HTTPError as error:
            error.close()
            # Any server may return 404; only a registry returns it as JSON, for an unknown id.
            if error.code == 404 and "json" in error.headers.get("Content-Type", ""):
                raise NoSuchSchemaError(f"the schema registry has no schema {schema_id}") from None
            raise RegistryError(f"{where} returned {error.code} for schema {schema_id}") from None
        except (OSError, HTTPException) as error:
            raise RegistryError(f"{where} does not answer: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise RegistryError(f"{where} did not return schema {schema_id}") from None
        if not isinstance(text, str) or not isinstance(kind, str):
            raise RegistryError(f"{where} did not return schema {schema_id}")
        if answer.get("references"):
            raise NoSuchSchemaError(f"schema {schema_id} refers to others, which is not supported")
        return Schema(kind, text)

    def _get(self, url: str) -> bytes:
        """Return the response's body; raise OSError or ValueError if it takes too long in total, or is too large."""
        by_s = time.monotonic() + self.timeout_s
        found = bytearray()
        with self._opener.open(Request(url, headers=self._headers), timeout=self.timeout_s) as response:
            while part := response.read1(65_536):
                found += part
                if time.monotonic() > by_s:
                    raise TimeoutError("timed out")
                if len(found) > _LARGEST_BYTES:
                    raise ValueError("too large")
        return bytes(found)


@cache
def _copy(place: str, settings: tuple[tuple[str, str], ...], is_waited_for: bool, timeout_s: float) -> SchemaRegistry:
    """Return this process' copy, so that a Python worker requests each schema once for all of its tasks."""
    return SchemaRegistry(place, dict(settings), is_waited_for, timeout_s)
