"""The controller's connections to brokers in other processes, one per broker, at their registered addresses.

Source: replication.md, requests to brokers; `inter.broker.protocol.version`.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from barnabas.broker.controller.requests import ControlRequest
from barnabas.broker.controller.sender import Delivered
from barnabas.broker.interbroker.versions import version_of
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataResponse
from barnabas.wire.protocol.wire import Message

R = TypeVar("R", bound=Message)


class Channels(Protocol):
    """The part of `BrokerChannels` that control requests use."""

    def send(self, broker_id: int, request: Message, version: int, answer: type[R]) -> Pending[R]: ...

    def drop(self, broker_id: int) -> None: ...


class RemoteChannel:
    """A `BrokerLink` to another process."""

    __slots__ = ("_broker_id", "_channels", "_protocol")

    def __init__(self, broker_id: int, channels: Channels, protocol: Callable[[], str]) -> None:
        """Args:
        channels: The controller's own channels, with addresses from `Controller.address_of`.
        protocol: `inter.broker.protocol.version`.
        """
        self._broker_id = broker_id
        self._channels = channels
        self._protocol = protocol
        # A remaining connection belongs to an earlier process of the broker.
        channels.drop(broker_id)

    def send(self, request: ControlRequest, then: Delivered) -> None:
        version = version_of(request.API_KEY, self._protocol())

        def lost(error: BaseException) -> None:
            # The sender retries while the broker is registered.
            then(None)

        match request:
            case LeaderAndIsrRequest():
                self._channels.send(self._broker_id, request, version, LeaderAndIsrResponse).then(then, lost)
            case StopReplicaRequest():
                self._channels.send(self._broker_id, request, version, StopReplicaResponse).then(then, lost)
            case _:
                self._channels.send(self._broker_id, request, version, UpdateMetadataResponse).then(then, lost)
