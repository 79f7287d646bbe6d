"""Whether `/ready` tells the truth, whatever happens to a broker meanwhile.

A broker that says yes, is asked something, and says yes again, answered that as one that serves clients; and one of a
cluster that is whole again says yes.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping

from barnabas.clients.channel import Channel
from barnabas.core.errors import KafkaError
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.patience import PATIENCE_S

_ASK_EVERY_S = 0.2
_TIMEOUT_S = 30


class Readiness:
    """Asks brokers of ours all the while.

    Attributes:
        answers: How often each was given: True, False, or None where there was none.
        lies: One line for each.

    Args:
        brokers: By id.
        addresses: Where each serves HTTP.
    """

    def __init__(self, brokers: Mapping[int, Broker], addresses: Mapping[int, tuple[str, int]]) -> None:
        self.answers: Counter[bool | None] = Counter()
        self.lies: list[str] = []
        self._brokers, self._addresses = brokers, addresses

    async def watch(self) -> None:
        """Ask until cancelled."""
        await asyncio.gather(*map(self._watch, self._brokers))

    async def wait_until_all_are(self) -> None:
        """Wait until each broker says yes."""
        async with asyncio.timeout(PATIENCE_S):
            for broker_id in self._brokers:
                while not await self._ask(broker_id):  # noqa: ASYNC110
                    await asyncio.sleep(_ASK_EVERY_S)

    async def _watch(self, broker_id: int) -> None:
        broker = self._brokers[broker_id]
        while True:
            await asyncio.sleep(_ASK_EVERY_S)
            if not await self._ask(broker_id):
                continue
            pid = broker.pid if broker.is_running else 0
            reason = await _why_not_served(broker_id, broker)
            # One that was started anew meanwhile is another one.
            if reason and await self._ask(broker_id) and broker.is_running and broker.pid == pid:
                self.lies.append(f"broker {broker_id} says that it is ready: {reason}")

    async def _ask(self, broker_id: int) -> bool | None:
        is_ready = await _is_ready(*self._addresses[broker_id])
        self.answers[is_ready] += 1
        return is_ready


async def _is_ready(host: str, port: int) -> bool | None:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(b"GET /ready HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    # A broker that is killed has said nothing.
    return answer.split(b" ")[1] == b"200" if answer else None


async def _why_not_served(broker_id: int, broker: Broker) -> str:
    """Return how a broker failed to answer as one that serves clients; nothing where it did not."""
    try:
        channel = await Channel.connect(broker.host, broker.port, "judge", timeout_ms=_TIMEOUT_S * 1_000)
        try:
            told = await channel.send(MetadataRequest([]), MetadataResponse, timeout_ms=_TIMEOUT_S * 1_000)
        finally:
            await channel.close()
    except KafkaError as error:
        return str(error)
    if told.controller_id < 0:
        return "it knows no controller"
    return "" if broker_id in {each.node_id for each in told.brokers} else "it does not know itself"
