"""A broker for tests: its own process, a free port, a temporary directory."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from barnabas.testing.control import Control
from barnabas.testing.interception import Selection
from barnabas.testing.received_request import ReceivedRequest
from barnabas.testing.server_process import ServerProcess

ConfigValue = str | int | float | Sequence[str]

_HAVE_ARGUMENTS = {
    "listeners": "host and port",
    "host.name": "host",
    "port": "port",
    "log.dir": "data_dir",
    "log.dirs": "data_dir",
}


class Broker(ServerProcess):
    """One broker, from `start` (or the start of a `with` or `async with`) to `close` (or its end).

    Until then it can be stopped, killed and restarted, on the same port and with the same data.
    """

    _name = "the broker"
    _module = "barnabas.broker.server.main"

    def __init__(
        self,
        *,
        config: Mapping[str, ConfigValue] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        security_protocol: str = "PLAINTEXT",
        data_dir: str | os.PathLike[str] | None = None,
        log_level: str = "info",
        start_timeout_s: float = 30.0,
        prefix: Sequence[str] = (),
    ) -> None:
        """Args:
        config: Kafka settings by name, such as `{"num.partitions": 3}`; booleans and lists are converted to Kafka's
            text. Other settings are as for a single broker without a file.
        host: The address to listen on.
        port: 0 chooses a free one below the ephemeral ports, reserved until `close`.
        security_protocol: The listener's protocol; with SSL and SASL_SSL the broker has a certificate for localhost
            and its address, signed by the CA of `ca_path`, unless `config` sets another.
        data_dir: Directory of the logs, which is kept when the broker is closed; by default a temporary directory,
            which is deleted.
        log_level: debug, info, warning or error.
        start_timeout_s: Time limit of `start`.
        prefix: The start of its command line, such as `("taskset", "-c", "0")`.

        Raises:
            ValueError: `config` sets a setting that has its own argument.
        """
        super().__init__(host, port, data_dir, start_timeout_s, prefix)
        self._settings = _write_settings(config or {})
        self._security_protocol = security_protocol
        self._has_own_keys = any("ssl.keystore." in name for name in config or {})
        self._log_level = log_level
        self._cluster_id: str | None = None
        self._control = Control()

    @property
    def bootstrap_servers(self) -> str:
        """Return `host:port`, for a client's bootstrap.servers."""
        return self._address

    @property
    def cluster_id(self) -> str:
        """Return the cluster's id.

        Raises:
            RuntimeError: The broker was never started.
        """
        if self._cluster_id is None:
            raise RuntimeError("the broker has no cluster id before it is started")
        return self._cluster_id

    @property
    def ca_path(self) -> Path:
        """Return the path of the CA certificate, in PEM, that signed the broker's certificate: clients must trust it.

        Raises:
            RuntimeError: The broker is closed or was never started.
        """
        if self._directory is None:
            raise RuntimeError("the broker has no certificate before it is started, nor after it is closed")
        return self._directory.path / "ca.pem"

    def on(
        self,
        api: str,
        *,
        version: int | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        group: str | None = None,
        where: Callable[[ReceivedRequest], bool] | None = None,
    ) -> Selection:
        """Select requests to this broker, to fail, drop, hold, change or watch them.

        Args:
            api: Kafka's name of the API, such as "Produce" or "OffsetCommit".
            version: Only requests of this version.
            client_id: Only requests of this client.
            topic: Only requests that name this topic, or ask for all.
            group: Only requests that name this consumer group.
            where: Only requests for which this is true; called in a thread of the test kit.

        Raises:
            ValueError: Kafka 2.7 has no such API.
        """
        return Selection(
            self._control, api, version=version, client_id=client_id, topic=topic, group=group, where=where
        )

    def stalls_of_late_ms(self) -> tuple[int, int]:
        """Return the longest stall of the broker's event loop since the last call.

        Returns:
            Two times in milliseconds: the longest stall except for lack of a free core, and the longest stall caused by
            computation.

        Raises:
            RuntimeError: The broker is not running.
        """
        return self._control.stalls_of_late_ms()

    def close(self) -> None:
        """Stop the broker and delete its files, except the caller's own `data_dir`."""
        super().close()
        self._control.close()

    @contextmanager
    def _inherited(self) -> Iterator[tuple[list[str], list[int]]]:
        with self._control.open() as control:
            yield ["--control-fd", str(control.fileno())], [control.fileno()]

    def _on_ready(self, said: dict[str, object]) -> None:
        super()._on_ready(said)
        self._cluster_id = str(said["cluster_id"])

    def _options(self) -> list[str]:
        options = ["--data-dir", str(self.data_dir), "--log-level", self._log_level]
        if self._security_protocol == "PLAINTEXT":
            options += ["--host", self._host, "--port", str(self._port)]
        else:
            options += self._secure_listener()
        for setting in self._settings:
            options += ["--override", setting]
        return options

    def _secure_listener(self) -> list[str]:
        """Return the options of a listener that is not PLAINTEXT."""
        protocol = self._security_protocol
        host = f"[{self._host}]" if ":" in self._host else self._host
        settings = {"listeners": f"{protocol}://{host}:{self._port}", "security.inter.broker.protocol": protocol}
        if protocol.endswith("SSL") and not self._has_own_keys:
            keys = self.ca_path.with_name("broker.pem")
            if not keys.exists():
                # Imported late: most tests do not need it.
                from barnabas.testing.certificates import Authority

                authority = Authority()
                self.ca_path.write_bytes(authority.certificate_pem)
                keys.touch(mode=0o600)
                keys.write_bytes(authority.issue("broker", hosts=["localhost", self._host]).pem())
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keys)}
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca_path)}
        options = []
        for name, value in settings.items():
            options += ["--override", f"{name}={value}"]
        return options


def _write_settings(config: Mapping[str, ConfigValue]) -> list[str]:
    """Return one `name=value` for each setting."""
    settings = []
    for name, value in config.items():
        if name in _HAVE_ARGUMENTS:
            raise ValueError(f"{name}: use the argument {_HAVE_ARGUMENTS[name]} of Broker instead")
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, str | int | float):
            text = str(value)
        else:
            text = ",".join(value)
        settings.append(f"{name}={text}")
    return settings
