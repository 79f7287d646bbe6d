"""Control requests go out in the version of the cluster, and what does not arrive is told."""

from barnabas.broker.controller.remote_channel import RemoteChannel
from barnabas.broker.controller.requests import ControlRequest, ControlResponse
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


class NotedChannels:
    """Takes notes; the test answers."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, object, int, type]] = []
        self.answer: Pending = Pending()
        self.dropped: list[int] = []

    def drop(self, broker_id: int) -> None:
        self.dropped.append(broker_id)

    def send(self, broker_id, request, version, answer):
        self.sent.append((broker_id, request, version, answer))
        self.answer = Pending()
        return self.answer


def test_each_request_goes_in_its_version_and_its_answer_comes_back() -> None:
    channels, protocols = NotedChannels(), ["2.7"]
    link = RemoteChannel(3, channels, lambda: protocols[-1])
    assert channels.dropped == [3], "a connection to an earlier life of the broker"
    answers: list[object] = []
    kinds: list[tuple[ControlRequest, ControlResponse, int, int]] = [
        (LeaderAndIsrRequest(), LeaderAndIsrResponse(), 4, 1),
        (UpdateMetadataRequest(), UpdateMetadataResponse(), 6, 4),
        (StopReplicaRequest(), StopReplicaResponse(), 3, 0),
    ]
    for protocol, place in (("2.7", 0), ("1.0", 1)):
        protocols.append(protocol)
        for kind in kinds:
            request, response, *versions = kind
            link.send(request, answers.append)
            assert channels.sent[-1] == (3, request, versions[place], type(response))
            channels.answer.complete(response)
            assert answers[-1] is response


def test_what_is_lost_is_told_to_the_sender() -> None:
    channels = NotedChannels()
    answers: list[object] = []
    RemoteChannel(3, channels, lambda: "2.7").send(UpdateMetadataRequest(), answers.append)
    channels.answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the connection is gone"))
    assert answers == [None]
