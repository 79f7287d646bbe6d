"""The target's offset table as one process knows it: read on from where it was read last."""

import asyncio
from types import TracebackType
from typing import Self

from barnabas.clients import Pool
from barnabas.clients.mirror_offsets import MirrorOffsets
from barnabas.clients.mirror_table import read_table
from barnabas.clients.security import client_security
from barnabas.core.errors import BarnabasError
from barnabas.pipeline.runner.cluster import ClusterUnavailableError, KafkaOptions

_TIMEOUT_MS = 20_000


class MirrorFencedError(Exception):
    """Another process mirrors the same source under the same name, and came later, or elsewhere: one line."""


class OffsetTable:
    """Reads the table over the package's own client; calls wait for their answers.

    Attributes:
        offsets: What the table says, as far as it was read.
        read_offset: Of the table's own records: all transactions that begin before it are settled, and in `offsets`.
    """

    def __init__(self, target: KafkaOptions, read_offset: int = 0) -> None:
        """Nothing is read yet.

        Args:
            target: The cluster.
            read_offset: Where to read on.
        """
        self.offsets = MirrorOffsets()
        self.read_offset = read_offset
        self._target = target
        self._runner = asyncio.Runner()
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self) -> None:
        """Take in what was committed to the table since the last call.

        Raises:
            ClusterUnavailableError: the target did not answer, or refused.
        """
        try:
            if self._pool is None:
                options = self._target.options
                self._pool = Pool(
                    self._target.bootstrap_servers,
                    options.get("client.id", "barnabas-mirror"),
                    connect_timeout_ms=_TIMEOUT_MS,
                    request_timeout_ms=_TIMEOUT_MS,
                    security=client_security(options),
                )
            self.read_offset = self._runner.run(read_table(self._pool, self.offsets, self.read_offset))
        except BarnabasError as error:
            self._disconnect()
            raise ClusterUnavailableError(f"{self._target.bootstrap_servers}: {error}") from None

    def check_owner(self, mirror: str, alias: str, cluster_id: str, generation: int) -> None:
        """See that nobody has come later.

        Raises:
            MirrorFencedError: somebody has.
        """
        owner = self.offsets.latest_owner(mirror, alias, cluster_id)
        if owner is not None and owner.generation > generation:
            name = "" if owner.alias == alias else f", which it calls {owner.alias}"
            raise MirrorFencedError(
                f"mirror {mirror}: another one, which was started later, mirrors {alias}, too{name}: process "
                f"{owner.pid} on {owner.host}; stop one of them, or give one another --name"
            )

    def close(self) -> None:
        """Let go of the connections."""
        self._disconnect()
        self._runner.close()

    def _disconnect(self) -> None:
        if self._pool is not None:
            self._runner.run(self._pool.close())
            self._pool = None
