"""Facts (API key 10049, v0), Barnabas only: recent diagnostic events of this broker as JSON, for `barnabas explain`.

The rows of each subject, and the right that it needs, are in `requests/diagnostic_subjects.py`; the format of the
answers is in `explain/facts.json`. Rows are found in slices, and encoded in a thread.

ApiVersions does not list this API: its answer is that of Kafka 2.7.2.

Source: docs/explain.md; docs/adr/0008-a-request-of-our-own.md.
"""

import json
from typing import TYPE_CHECKING

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import submit_while_wanted
from barnabas.wire.protocol.messages.facts import FactsRequest, FactsResponse

if TYPE_CHECKING:
    from barnabas.broker.diagnostics import Row


@in_slices
def facts(ctx: RequestContext, request: FactsRequest) -> Steps[FactsResponse]:
    """Return the events of one subject on this broker."""
    # differs from Kafka (facts): Kafka has no such request.
    # Imported here, because most brokers never get this request.
    from barnabas.broker.requests.diagnostic_query import DiagnosticQuery
    from barnabas.broker.requests.diagnostic_subjects import MOST_ROWS, SUBJECTS

    services = ctx.services
    subject = SUBJECTS.get(request.subject)
    if subject is None:
        message = f"there is no subject {request.subject[:50]}"
        yield FactsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message, answer=None)
        return
    query = DiagnosticQuery(ctx, request.since_ms, None if request.names is None else frozenset(request.names))
    is_admitted = yield from subject.admit(query)
    if not is_admitted:
        yield refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return
    found: list[Row | bytes] = []
    for row in subject.find(query):
        if isinstance(row, Step):
            yield row
        elif len(found) < MOST_ROWS or isinstance(row, bytes):
            found.append(row)
        else:
            # Stored lines are selected after they are read; other rows are only counted.
            query.left_out += 1
    told: Row = {
        "broker_id": services.config.broker_id,
        "now_ms": services.clock.now_ms(),
        "kept_since_ms": None if services.diagnostics is None else services.diagnostics.kept_since_ms,
    }

    def make() -> FactsResponse:
        rows = subject.read(query, found)
        told["left_out"] = query.left_out + max(len(rows) - MOST_ROWS, 0)
        told[request.subject] = [*rows[-MOST_ROWS:]]
        return FactsResponse(error_message=None, answer=json.dumps(told, separators=(",", ":")).encode())

    yield submit_while_wanted(services.executor, make)


def refuse(ctx: RequestContext, request: FactsRequest, error_code: ErrorCode) -> FactsResponse:
    """Return the error response: the request failed as a whole."""
    return FactsResponse(error_code=error_code, error_message=None, answer=None)


HANDLER = Handler(FactsRequest, 0, 0, facts, refuse, is_private=True)
