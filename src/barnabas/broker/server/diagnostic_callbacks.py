"""Records diagnostic events where they happen: turns callbacks of the broker's parts into events.

    a quota throttles a connection, receive memory is full ─► holds
    ACL denials, connection limits ─► refusals
    changes of leaders and in-sync replicas ─► leaders     retention removes ─► segments     stalls ─► stalls

Slow requests record themselves (`requests/slow_requests.py`), and so do failed logins (`requests/authentication.py`).
"""

from collections.abc import Sequence
from typing import Final

from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.log.environment import Going
from barnabas.broker.log.manager import LogManager
from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.manager import Client
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.broker_listeners import BrokerListeners
from barnabas.broker.server.watchdog import Watchdog
from barnabas.core.clock import Clock
from barnabas.core.types import TopicPartition
from barnabas.wire.security.authorizer import NamedRequest, Operation, ResourceType
from barnabas.wire.security.principals import Principal

# Shorter waits are very frequent while memory is short, and nobody notices them.
_LEAST_WAIT_NS: Final = 100_000_000


class DiagnosticCallbacks:
    """Records events when it is called. Owned by the event loop."""

    def __init__(self, diagnostics: DiagnosticStore, clock: Clock) -> None:
        self._diagnostics = diagnostics
        self._clock = clock

    def throttle(self, client: Client, bucket: Bucket | None, throttle_ms: int) -> None:
        """Record a throttled connection; see `ThrottledConnections`."""
        self._throttle(client, None if bucket is None else bucket.kind.key, throttle_ms)

    def waited(self, handler: object, waited_ns: int) -> None:
        """Record a connection that waited for receive memory; see `Reactor`."""
        # A connection before its login or first request has no client, and waits for unauthenticated memory.
        client = handler.client if isinstance(handler, Session) else None
        if client is not None and waited_ns >= _LEAST_WAIT_NS:
            self._throttle(client, "queued.max.request.bytes", waited_ns // 1_000_000)

    def _throttle(self, client: Client, quota: str | None, throttle_ms: int) -> None:
        row = self._diagnostics.throttles.note((client.user, client.client_id, quota), self._clock.now_ms())
        longest_ms, total_ms = row.get("throttle_ms", 0), row.get("total_ms", 0)
        row.update(
            user=client.user,
            client_id=client.client_id,
            quota=quota,
            throttle_ms=max(longest_ms, throttle_ms),
            total_ms=total_ms + throttle_ms,
        )

    def denial(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None,
    ) -> None:
        """Record a denial by access rules; see `AclAuthorizer`."""
        context = request if isinstance(request, RequestContext) else None
        self._diagnostics.note_refusal(
            self._clock.now_ms(),
            "acl",
            user=principal.name,
            host=host,
            client_id=None if context is None else context.client_id,
            listener=None if context is None else context.connection.listener_name,
            mechanism=None if context is None else context.connection.sasl_mechanism or None,
            reason="" if request is None else request.request_name,
            operation=operation.name,
            resource=resource_type.name,
            name=name,
        )

    def limit(self, listener_name: str, host: str, setting: str) -> None:
        """Record a connection that was rejected or must wait; see `ConnectionQuotas`."""
        self._diagnostics.note_refusal(self._clock.now_ms(), "limit", host=host, listener=listener_name, reason=setting)

    def handshake(self, listener_name: str, host: str, reason: str) -> None:
        """Record a failed TLS handshake; see `ListenerTls`."""
        self._diagnostics.note_refusal(
            self._clock.now_ms(), "login", host=host, listener=listener_name, mechanism="TLS", reason=reason
        )

    def partition(
        self,
        key: TopicPartition,
        what: str,
        leader: int,
        leader_epoch: int,
        isr: Sequence[int],
        replicas: Sequence[int],
        reason: str,
    ) -> None:
        """Record a partition with another leader, or offline; see `ReplicaManager`."""
        self._diagnostics.leaders.add(
            {
                "at_ms": self._clock.now_ms(),
                "topic": key.topic,
                "partition": key.partition,
                "leader": leader,
                "leader_epoch": leader_epoch,
                "isr": [*isr],
                "replicas": [*replicas],
                "what": what,
                "reason": reason or None,
            }
        )

    def isr(self, partition: Partition, reason: str) -> None:
        """Record an ISR change of a led partition; see `LeaderReplicas`."""
        key, isr, replicas = partition.topic_partition, partition.in_sync_replicas, partition.replicas
        self.partition(key, "isr", partition.leader, partition.leader_epoch, isr, replicas, reason)

    def removal(self, topic_partition: TopicPartition, going: Sequence[Going]) -> None:
        """Record old segments that retention has removed; see `apply_retention`."""
        topic, index = topic_partition
        for rule, base_offset, size_bytes in going:
            self._diagnostics.segments.add(
                {
                    "at_ms": self._clock.now_ms(),
                    "topic": topic,
                    "partition": index,
                    "base": base_offset,
                    "bytes": size_bytes,
                    "rule": rule,
                }
            )

    def stall(self, stall_ms: int, computing_ms: int, what: str) -> None:
        """Record a stall of the event loop; see `Watchdog`."""
        at_ms = self._clock.now_ms() - stall_ms
        self._diagnostics.stalls.add({"at_ms": at_ms, "ms": stall_ms, "computing_ms": computing_ms, "what": what})

    def connect(
        self, services: Services, routes: RouteTable, logs: LogManager, listeners: BrokerListeners, watchdog: Watchdog
    ) -> None:
        """Record the events of the parts of the broker from now on."""
        routes.keep_slow_requests()
        services.throttled.on_throttle = self.throttle
        services.replicas.on_change = self.partition
        services.replicas.leader_replicas.on_isr = self.isr
        logs.on_removed = self.removal
        listeners.report_refusals(self.limit, self.handshake)
        watchdog.on_stall = self.stall
