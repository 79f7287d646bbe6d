"""The controller's way to the broker in its own process: the same requests, without bytes in between.

Source: design page, a single broker is a cluster of one.
"""

from typing import Protocol, assert_never

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.controller.requests import ControlRequest
from barnabas.broker.controller.sender import Delivered
from barnabas.core.pending import Pending, Spawner
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest
from barnabas.wire.registry import paths


class Replicas(Protocol):
    """The part of the replica manager that the controller's requests go to."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Pending[LeaderAndIsrResponse]: ...

    def stop_replica(self, request: StopReplicaRequest) -> Pending[StopReplicaResponse]: ...


class LocalLink:
    """A `BrokerLink` to this process."""

    __slots__ = ("_configs", "_replicas", "_spawner", "_view")

    def __init__(self, replicas: Replicas, view: ClusterView, configs: ConfigWatcher, spawner: Spawner) -> None:
        self._replicas = replicas
        self._view = view
        self._configs = configs
        self._spawner = spawner

    def send(self, request: ControlRequest, then: Delivered) -> None:
        match request:
            case LeaderAndIsrRequest():
                self._send_leader_and_isr(request, then)
            case StopReplicaRequest():
                self._replicas.stop_replica(request).then(then)
            case UpdateMetadataRequest():
                then(self._view.update_metadata(request))
            case _:
                assert_never(request)

    def _send_leader_and_isr(self, request: LeaderAndIsrRequest, then: Delivered) -> None:
        """Read the settings of topics that are new here first: their logs are made with them."""
        unread = [
            topic.topic_name
            for topic in request.topic_states
            if any(state.is_new for state in topic.partition_states)
            or not self._view.has_topic_overrides(topic.topic_name)
        ]
        if not unread:
            self._replicas.leader_and_isr(request).then(then)
            return
        loading = self._spawner.spawn(self._load(unread), lambda _: False)

        def loaded(is_loaded: bool) -> None:
            if is_loaded:
                self._replicas.leader_and_isr(request).then(then)
            else:
                # As if it had not arrived: the sender brings it again.
                then(None)

        loading.then(loaded)

    async def _load(self, topics: list[str]) -> bool:
        await self._configs.load(f"{paths.TOPICS}/{topic}" for topic in topics)
        return True
