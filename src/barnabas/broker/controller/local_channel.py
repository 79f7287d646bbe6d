"""The controller's link to the broker in its own process: the same requests, but not encoded.

Source: design page, a single broker is a cluster of one.
"""

import logging
from typing import Any, assert_never

from barnabas.broker.controller.requests import ControlRequest
from barnabas.broker.controller.sender import Delivered
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest

log = logging.getLogger(__name__)


class LocalChannel:
    """A `BrokerLink` to this process."""

    __slots__ = ("_control",)

    def __init__(self, control: ControlRequests) -> None:
        self._control = control

    def send(self, request: ControlRequest, then: Delivered) -> None:
        answer: Pending[Any]
        match request:
            case LeaderAndIsrRequest():
                answer = self._control.leader_and_isr(request)
            case StopReplicaRequest():
                answer = self._control.stop_replica(request)
            case UpdateMetadataRequest():
                answer = self._control.update_metadata(request)
            case _:
                assert_never(request)

        def failed(error: BaseException) -> None:
            log.warning("this broker could not process a controller request, which is sent again: %s", error)
            then(None)

        answer.then(then, failed)
