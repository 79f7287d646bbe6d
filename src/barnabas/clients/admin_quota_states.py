"""Quotas of users and client ids, and their effects: throttled clients, usage, an hour of traffic.

Quotas belong to the cluster; any Kafka from 2.6 on supports them. Their effects are requested from each broker, because
quotas apply per broker, through an API of Barnabas. Kafka closes the connection when it receives that request; this is
reported as UNSUPPORTED_VERSION.

Source: docs/quotas.md; schemas/messages/ExplainQuotasRequest.json; KIP-546.
"""

import json
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.messages.explain_quotas import ExplainQuotasRequest, ExplainQuotasResponse
from barnabas.wire.quotas.entities import DEFAULT, Entity

QuotaReport = dict[str, Any]

_NO_RIGHT = "this takes DESCRIBE_CONFIGS on the cluster; without it a user can only have his own quotas explained"

_NO_LIMITS = "this takes DESCRIBE_CONFIGS on the cluster"

# The entity types of quotas, by the protocol's names.
_USER, _CLIENT_ID = "user", "client-id"


class Limited(NamedTuple):
    """The entity of a quota: for user and client id, a name, "" (the default), or None (not part of the entity)."""

    user: str | None
    client_id: str | None

    def parts(self) -> dict[str, str | None]:
        """Return the protocol's form: a name, or None for the default, by type."""
        named = ((_USER, self.user), (_CLIENT_ID, self.client_id))
        return {kind: name or None for kind, name in named if name is not None}

    @property
    def entity(self) -> Entity:
        """Return the entity in the form in which quotas are stored."""
        return Entity(*(DEFAULT if name == "" else name for name in self))


def by_level(limits: Iterable[tuple[Limited, dict[str, float]]]) -> list[tuple[Limited, dict[str, float]]]:
    """Sort quotas by level; the first level with a quota for a client is in force."""
    return sorted(limits, key=lambda each: (each[0].entity.level, each[0].user or "", each[0].client_id or ""))


class View(IntEnum):
    """The kind of data that a request asks for."""

    EXPLAIN = 0
    TOP = 1
    RECORDED = 2
    PACE_READS = 3
    PACE_WRITES = 4


class QuotaStateAdmin(AdminCalls):
    """Queries about quotas, with one response per broker id; and administration of the quotas themselves.

    All raise KafkaError: CLUSTER_AUTHORIZATION_FAILED; UNSUPPORTED_VERSION of a broker that does not know the request.
    """

    async def limits(self) -> dict[Limited, dict[str, float]]:
        """Return all quotas, by entity and name."""
        from barnabas.wire.protocol.messages.describe_client_quotas import (
            DescribeClientQuotasRequest,
            DescribeClientQuotasResponse,
        )

        async def attempt() -> dict[Limited, dict[str, float]]:
            channel = await self.pool.any_broker()
            response = await channel.send(DescribeClientQuotasRequest([], False), DescribeClientQuotasResponse)
            refused = response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            raise_for(response.error_code, _NO_LIMITS if refused else response.error_message or "limits are not told")
            found = {}
            for entry in response.entries or []:
                names = {part.entity_type: part.entity_name or "" for part in entry.entity}
                limited = Limited(names.pop(_USER, None), names.pop(_CLIENT_ID, None))
                # Skip quotas of entities that later versions add (IP addresses).
                if not names:
                    found[limited] = {value.key: value.value for value in entry.values}
            return found

        return await self.retry(attempt)

    async def alter_limits(self, limited: Limited, changes: Mapping[str, float | None]) -> None:
        """Set the named quotas of an entity; None deletes a quota.

        Raises:
            KafkaError: INVALID_REQUEST: the quota does not exist, or the value is invalid.
        """
        from barnabas.wire.protocol.messages.alter_client_quotas import (
            AlterClientQuotasRequest,
            AlterClientQuotasRequestEntryData,
            AlterClientQuotasResponse,
            EntityData,
            OpData,
        )

        entity = [EntityData(kind, name) for kind, name in limited.parts().items()]
        ops = [OpData(key, value or 0.0, value is None) for key, value in changes.items()]
        request = AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(entity, ops)], False)

        async def attempt() -> None:
            channel = await self.pool.any_broker()
            response = await channel.send(request, AlterClientQuotasResponse)
            for entry in response.entries:
                raise_for(entry.error_code, entry.error_message or "limits were not changed")

        await self.retry(attempt)

    async def explain(self, user: str | None = None, client_id: str | None = None) -> list[QuotaReport]:
        """Explain what throttles a user's clients of one id.

        Args:
            user, client_id: None: this connection's own, which needs no permission.
        """
        return await self._ask(ExplainQuotasRequest(View.EXPLAIN, user, client_id))

    async def pace(self, view: View, lasting_s: int) -> list[QuotaReport]:
        """Like `explain` for this connection's own clients and one quota; announce that they pace themselves.

        Args:
            view: PACE_READS or PACE_WRITES: the quota.
            lasting_s: Validity of the announcement in seconds, at most 10; 0 ends it. While it is valid, the clients
                count in the `pacer_count` of all clients that share the quota.
        """
        return await self._ask(ExplainQuotasRequest(view, None, None, lasting_s))

    async def top(self, last_s: int) -> list[QuotaReport]:
        """List usage, averaged over the last seconds, in descending order."""
        return await self._ask(ExplainQuotasRequest(View.TOP, None, None, last_s))

    async def top_of(self, broker_id: int, last_s: int) -> QuotaReport:
        """List usage of one broker, like `top`."""
        request = ExplainQuotasRequest(View.TOP, None, None, last_s)
        return await self._answer(await self.pool.broker(broker_id), request)

    async def recorded(self, user: str | None, client_id: str | None, last_s: int) -> list[QuotaReport]:
        """Return usage in each of the last seconds, and all quotas. Without user and client id: of all clients."""
        return await self._ask(ExplainQuotasRequest(View.RECORDED, user, client_id, last_s))

    async def recorded_by(self, node_id: int, last_s: int) -> QuotaReport:
        """Return one broker's recorded usage of all clients in each of the last seconds."""
        return await self._answer(
            await self.pool.broker(node_id), ExplainQuotasRequest(View.RECORDED, None, None, last_s)
        )

    async def _ask(self, request: ExplainQuotasRequest) -> list[QuotaReport]:
        metadata = await self.retry(lambda: self.pool.metadata([]))
        return [await self._answer(await self.pool.broker(node_id), request) for node_id in sorted(metadata.brokers)]

    async def _answer(self, channel: Channel, request: ExplainQuotasRequest) -> QuotaReport:
        try:
            response = await channel.send(request, ExplainQuotasResponse)
        except KafkaError as error:
            if error.code is not ErrorCode.NETWORK_EXCEPTION:
                raise
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the broker at {channel.host}:{channel.port} closed the connection when it was asked: Barnabas "
                "explains quotas, Kafka has no request for it",
            ) from error
        refused = response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        raise_for(response.error_code, _NO_RIGHT if refused else response.error_message or "quotas are not explained")
        told: QuotaReport = json.loads(response.answer or b"{}")
        return told
