"""ExplainQuotas (API key 10048, v0), Barnabas only: the limit that throttles a client, its measurements, its recent
use.

| view | answer, as JSON                                                      |
| ---- | -------------------------------------------------------------------- |
| 0    | `explain`: one user's clients of one id                              |
| 1    | `top`: all clients, by use                                           |
| 2    | `recorded`: an hour of traffic and all limits, for `quotas simulate` |
| 3, 4 | as 0, for the own fetch (3) or produce (4) limit of a client that limits itself for the next `last_seconds` |

A null user or client id means the requester's own; in view 2 it means all. Every view needs DESCRIBE_CONFIGS on the
cluster, except views 0, 3 and 4 for the requester itself with a client id that it uses. Without this right, other
clients that share its limit are counted but not named; if they are other users, the shared measurements are omitted.

ApiVersions does not list this API: its answer is that of Kafka 2.7.2.

Source: docs/quotas.md.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.quotas.history import SECOND_COUNT
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import submit_while_wanted
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.explain_quotas import ExplainQuotasRequest, ExplainQuotasResponse
from barnabas.wire.quotas.entities import kept_name
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

if TYPE_CHECKING:
    from barnabas.broker.quotas.explain import Json

_EXPLAIN = 0
_PACED = {3: QuotaKind.FETCH, 4: QuotaKind.PRODUCE}
# The end of a connection is not reported, so a claim is short, and clients renew it.
_LONGEST_PACED_S = 10


def explain_quotas(
    ctx: RequestContext, request: ExplainQuotasRequest
) -> ExplainQuotasResponse | Pending[ExplainQuotasResponse]:
    """Return the requested information about this broker alone."""
    # differs from Kafka (explain-quotas): Kafka has no such request.
    own_user = ctx.connection.principal.name
    is_own = request.user in (None, own_user) and (
        request.view in _PACED or (request.view == _EXPLAIN and _uses(ctx, request.client_id))
    )
    may_see_all = _may_see_all(ctx) if is_own else ctx.may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER)
    if not may_see_all and not is_own:
        return refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    match request.view:
        case 0:
            return _explain(ctx, request, own_user, may_see_all, QuotaKind)
        case 1:
            return _top(ctx, request)
        case 2:
            return _recorded(ctx, request)
        case view if view in _PACED and is_own:
            _note_pacer(ctx, _PACED[view], request.last_seconds)
            return _explain(ctx, ExplainQuotasRequest(_EXPLAIN, None, None), own_user, may_see_all, (_PACED[view],))
    return ExplainQuotasResponse(
        error_code=ErrorCode.INVALID_REQUEST, error_message=f"there is no view {request.view}", answer=None
    )


def _note_pacer(ctx: RequestContext, kind: QuotaKind, last_s: int) -> None:
    services, connection = ctx.services, ctx.connection
    services.quotas.pacers.note(
        kind,
        kept_name(connection.principal.name),
        kept_name(ctx.client_id),
        (connection.host, connection.port),
        services.clock.monotonic_ms(),
        1_000 * min(last_s, _LONGEST_PACED_S),
    )


def _uses(ctx: RequestContext, client_id: str | None) -> bool:
    """Return whether the requesting user has, or recently had, a client of this id."""
    if client_id is None or client_id == ctx.client_id:
        return True
    return (kept_name(ctx.connection.principal.name), kept_name(client_id)) in ctx.services.quotas.clients


def _may_see_all(ctx: RequestContext) -> bool:
    """Return whether a client may see other clients, too; a missing right is not logged as a denial."""
    authorizer, connection = ctx.services.authorizer, ctx.connection
    if authorizer.allows_everything:
        return True
    rights = authorizer.rights(connection.principal, connection.host, ResourceType.CLUSTER, CLUSTER)
    return bool(rights & 1 << Operation.DESCRIBE_CONFIGS)


def _explain(
    ctx: RequestContext,
    request: ExplainQuotasRequest,
    own_user: str,
    may_see_all: bool,
    kinds: Iterable[QuotaKind],
) -> ExplainQuotasResponse:
    # Imported here, as below, because most brokers never get this request.
    from barnabas.broker.quotas.explain import explain

    services = ctx.services
    user = own_user if request.user is None else request.user
    client_id = ctx.client_id if request.client_id is None else request.client_id
    found = explain(
        services.quotas,
        services.quota_history,
        user,
        client_id,
        services.clock.monotonic_ms(),
        only_user=None if may_see_all else kept_name(own_user),
        kinds=kinds,
    )
    return _answer({"broker_id": services.config.broker_id, **found})


def _top(ctx: RequestContext, request: ExplainQuotasRequest) -> ExplainQuotasResponse:
    from barnabas.broker.quotas.explain import top

    services = ctx.services
    if services.quota_history is None:
        return refuse(ctx, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    last_s = min(max(request.last_seconds, 1), SECOND_COUNT)
    found = top(services.quotas, services.quota_history, services.clock.monotonic_ms(), last_s)
    return _answer({"broker_id": services.config.broker_id, **found})


def _recorded(ctx: RequestContext, request: ExplainQuotasRequest) -> Pending[ExplainQuotasResponse]:
    from barnabas.broker.quotas.explain import limits_of, recorded

    services, quotas, history = ctx.services, ctx.services.quotas, ctx.services.quota_history
    rings = [] if history is None else history.recorded(min(max(request.last_seconds, 1), SECOND_COUNT))
    second = -1 if history is None else history.second
    limits = limits_of(quotas)
    broker_id = services.config.broker_id

    def make() -> ExplainQuotasResponse:
        found = recorded(quotas.windows, quotas.thread_count, second, rings, request.user, request.client_id)
        return _answer({"broker_id": broker_id, **found, "limits": limits})

    # Up to 400 rings of 3,600 numbers each: an executor encodes them, not the event loop.
    return submit_while_wanted(services.executor, make)


def _answer(found: "dict[str, Json]") -> ExplainQuotasResponse:
    return ExplainQuotasResponse(error_message=None, answer=json.dumps(found, separators=(",", ":")).encode())


def refuse(ctx: RequestContext, request: ExplainQuotasRequest, error_code: ErrorCode) -> ExplainQuotasResponse:
    """Return the error response: the request failed as a whole."""
    return ExplainQuotasResponse(error_code=error_code, error_message=None, answer=None)


HANDLER = Handler(ExplainQuotasRequest, 0, 0, explain_quotas, refuse, is_private=True)
