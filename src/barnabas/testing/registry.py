"""A registry for tests, in place of a ZooKeeper of several brokers (`barnabas registry serve`)."""

import os

from barnabas.testing.server_process import ServerProcess


class Registry(ServerProcess):
    """One registry, for the brokers' `zookeeper.connect`; ZooKeeper's own clients can use it, too."""

    _name = "the registry"
    _module = "barnabas.cli.main"

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | os.PathLike[str] | None = None,
        start_timeout_s: float = 30.0,
    ) -> None:
        """Args:
        host: The address to listen on.
        port: 0 chooses a free one below the ephemeral ports, reserved until `close`.
        data_dir: Directory of the tree, which is kept when the registry is closed; by default a temporary one.
        start_timeout_s: Time limit of `start`.
        """
        super().__init__(host, port, data_dir, start_timeout_s)

    @property
    def connect(self) -> str:
        """Return `host:port`, for `zookeeper.connect`."""
        return self._address

    def _options(self) -> list[str]:
        host = f"[{self._host}]" if ":" in self._host else self._host
        options = ["registry", "serve", "--data-dir", str(self.data_dir), "--listeners", f"{host}:{self._port}"]
        # Allow the short sessions that brokers request: tests wait until killed brokers' sessions expire.
        return [*options, "--override", "barnabas.registry.min.session.timeout.ms=1"]
