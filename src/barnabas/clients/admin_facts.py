"""Queries one broker for diagnostic events: causes of rebalances, throttled or rejected clients, log growth.

This is a request of Barnabas. Kafka closes the connection when it receives the request; that is reported as
UNSUPPORTED_VERSION, so callers need to try only once.

Source: docs/explain.md; explain/facts.json; schemas/messages/FactsRequest.json.
"""

import json
from collections.abc import Iterable
from typing import Any

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.protocol.messages.facts import FactsRequest, FactsResponse

BrokerReport = dict[str, Any]

_NO_RIGHT = "this takes DESCRIBE on the cluster; without it a user can ask for what he names, and about his own clients"


class FactsAdmin(AdminCalls):
    """Queries for diagnostic events of single brokers."""

    async def ask(
        self, node_id: int, subject: str, names: Iterable[str] | None = None, since_ms: int = -1
    ) -> BrokerReport:
        """Return a broker's diagnostic events on a subject (`explain/facts.json`).

        Args:
            names: The groups, topics, transactional ids or client ids; None: all.
            since_ms: Only events since this time; -1: all recorded events.

        Raises:
            KafkaError: CLUSTER_AUTHORIZATION_FAILED; UNSUPPORTED_VERSION of a broker that does not know the request;
                UNKNOWN_SERVER_ERROR: its answer is not JSON; a code of an unreachable broker.
        """
        channel = await self.pool.broker(node_id)
        request = FactsRequest(subject, None if names is None else list(names), since_ms)
        try:
            response = await channel.send(request, FactsResponse)
        except KafkaError as error:
            if error.code is not ErrorCode.NETWORK_EXCEPTION:
                raise
            # If the broker has stopped meanwhile, this raises the error of an unreachable broker instead.
            await self.pool.broker(node_id)
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the broker at {channel.host}:{channel.port} closed the connection when it was asked: Barnabas keeps "
                "what happened, Kafka has no request for it",
            ) from error
        refused = response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        raise_for(response.error_code, _NO_RIGHT if refused else response.error_message or f"{subject} is not told")
        try:
            told = json.loads(response.answer or b"")
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"its answer about {subject} is malformed")
        return told
