"""Settings of a page, and their safety checks.

On other addresses than loopback, the page requires logins, and TLS of its own or of a proxy.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from barnabas.core.errors import ConfigError

if TYPE_CHECKING:
    from barnabas.clients.security import ClientSecurity
    from barnabas.page.messages.masks import Mask

DEFAULT_LISTENER: Final = "127.0.0.1:9645"
MOST_CLUSTERS: Final = 20
_CLUSTER_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9.-]{1,253}")
_ROOT_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a page.

    Attributes:
        clusters: The addresses of each cluster's brokers (`host:port,...`), by name.
        listeners: Addresses and ports on which the page listens.
        security: TLS to the brokers and, without users' logins, the page's own login; None: neither.
        mechanisms: The mechanisms of users' logins, the default first; empty: no logins.
        tls: Files of the certificate and the key; None: no TLS.
        trusted_proxy: The address of the proxy; None: browsers connect directly.
        root_path: The path prefix that the proxy strips; links begin with it.
        host_names: Host names under which browsers reach the page, besides localhost and IP addresses.
        allows_changes: Whether users may make changes.
        masks: The hidden parts of records.
        max_read_rate: Bytes per second that a search may read; 0: no limit.
        pipeline: Directory of the pipeline's checkpoints; None: the pipeline is not shown.
    """

    clusters: Mapping[str, str]
    listeners: Sequence[tuple[str, int]] = (("127.0.0.1", 9645),)
    security: "ClientSecurity | None" = field(default=None, repr=False)
    mechanisms: Sequence[str] = ()
    tls: tuple[str, str] | None = None
    trusted_proxy: str | None = None
    root_path: str = ""
    host_names: frozenset[str] = frozenset()
    allows_changes: bool = False
    masks: Sequence["Mask"] = ()
    max_read_rate: int = 0
    pipeline: Path | None = None

    def check(self) -> None:
        """Raise ConfigError if unauthorized users could see or intercept data, or a value is invalid."""
        if not 1 <= len(self.clusters) <= MOST_CLUSTERS:
            raise ConfigError(f"--cluster: must name 1 to {MOST_CLUSTERS} clusters, got {len(self.clusters)}")
        for name in self.clusters:
            if not _CLUSTER_NAME.fullmatch(name) or name in (".", ".."):
                raise ConfigError(f"--cluster {name}: a name may contain only letters, digits, '.', '_' and '-'")
        for name in self.host_names:
            if not _HOST_NAME.fullmatch(name):
                raise ConfigError(f"--host-name {name} is not a valid host name")
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise ConfigError(f"--root-path {self.root_path}: write it as /kafka, without a '/' at its end")
        open_to_all = [host for host, _ in self.listeners if not ip_address(host).is_loopback]
        if open_to_all and not (self.mechanisms and (self.tls or self.trusted_proxy)):
            raise ConfigError(
                f"--listeners {open_to_all[0]}: beyond loopback the page wants --login, and --tls-certificate with "
                "--tls-key or --trusted-proxy; strangers could see, or overhear, what is not theirs"
            )

    @property
    def is_secure(self) -> bool:
        """Return whether browsers connect over TLS."""
        return self.tls is not None or self.trusted_proxy is not None


def parse_listeners(text: str) -> list[tuple[str, int]]:
    """Parse `address:port,...`; IPv6 in brackets; port 0: the system selects one. Raises ConfigError."""
    found = []
    for part in text.split(","):
        host, _, port = part.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        try:
            found.append((str(ip_address("127.0.0.1" if host == "localhost" else host)), int(port)))
        except ValueError:
            raise ConfigError(f"--listeners {part}: write it as {DEFAULT_LISTENER}") from None
        if not 0 <= found[-1][1] < 65_536:
            raise ConfigError(f"--listeners {part}: {port} is not a port")
    return found


def parse_clusters(texts: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=host:port,...`. Raises ConfigError."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, servers = text.partition("=")
        if not equals or not servers:
            raise ConfigError(f"--cluster {text}: write it as NAME=HOST:PORT,...")
        if name in found:
            raise ConfigError(f"--cluster {text}: the name is used twice")
        found[name] = servers
    return found
