"""Form handling of changes, with --allow-changes: forms, previews and execution.

    GET  /c/CLUSTER/changes        the available changes
    GET  /c/CLUSTER/change/NAME    a form, filled from the query
    POST /c/CLUSTER/change/NAME    with the form's fields: a preview; with a `plan`: execute it, once

Previewed plans are kept for ten minutes, at most a hundred: the oldest is dropped first.

The user's own rights apply: changes use the user's connections, and brokers' errors are shown. Each executed change
writes one line to the log: user, address, cluster, and the equivalent command.
"""

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.peer_text import on_one_line
from barnabas.page.authentication.sessions import Session
from barnabas.page.changes import CHANGES
from barnabas.page.changes.change import Change, Plan
from barnabas.page.cluster import Cluster
from barnabas.page.settings import Settings
from barnabas.page.view import Asked, connection, reason

log = logging.getLogger(__name__)

Render = Callable[..., str]

_TOO_OLD: Final = "This change was executed already, or its preview has expired: preview it again."
_MOST_LOGGED: Final = 2_000


class _Kind(NamedTuple):
    """The attributes that the frame of the page needs."""

    path: str
    title: str
    menu: str


class ChangeForms:
    """Handles changes; `routes` are its URLs."""

    def __init__(self, settings: Settings, render: Render) -> None:
        """Args:
        render: Renders a page from a template, a request, and the template's variables.
        """
        self._settings = settings
        self._render = render
        self._plans = Plans()
        self.routes = [Route("/c/{cluster}/changes", self._guarded(self._list))]
        for change in CHANGES:
            endpoint = self._guarded(self._of(change))
            self.routes.append(Route(f"/c/{{cluster}}{change.path}", endpoint, methods=["GET", "POST"]))

    def _guarded(
        self, show: Callable[[Request, Asked], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Restrict a handler to users who are logged in at the cluster."""

        async def guarded(request: Request) -> Response:
            name = request.path_params["cluster"]
            cluster = request.state.session.clusters.get(name)
            if name not in self._settings.clusters:
                return self._page("problem.html.jinja", request, 404, text="The cluster does not exist.")
            if cluster is None:
                return RedirectResponse(f"{self._settings.root_path}/login?cluster={name}", 303)
            given = request.state.form if request.method == "POST" else dict(request.query_params)
            return await show(request, Asked(cluster, given))

        return guarded

    async def _list(self, request: Request, asked: Asked) -> Response:
        kind = _Kind("/changes", "Changes", "/changes")
        return self._window("changes.html.jinja", request, 200, kind, asked, changes=CHANGES)

    def _of(self, change: Change) -> Callable[[Request, Asked], Awaitable[Response]]:
        async def show(request: Request, asked: Asked) -> Response:
            if request.method != "POST":
                return self._form(request, change, asked, 200, "")
            if "plan" in asked.query:
                return await self._carry_out(request, change, asked)
            try:
                plan = await change.preview(asked)
            except BarnabasError as error:
                return self._form(request, change, asked, _status(error), reason(error))
            plan_id = self._plans.keep(plan, change.path, asked.cluster, request.state.session)
            return self._plan(request, change, asked, 200, plan_id, plan, "")

        return show

    async def _carry_out(self, request: Request, change: Change, asked: Asked) -> Response:
        plan_id, session = asked.query["plan"], request.state.session
        plan = self._plans.of(plan_id, change.path, asked.cluster, session)
        if plan is None:
            return self._form(request, change, asked._replace(query={}), 409, _TOO_OLD)
        if plan.loses and asked.query.get("typed", "").strip() != plan.name:
            refusal = f"Type {plan.name} to confirm: the loss is permanent."
            return self._plan(request, change, asked, 400, plan_id, plan, refusal)
        # Removed before the execution, so that a form sent twice is executed once.
        self._plans.drop(plan_id)
        done, refusal, status = "", "", 200
        try:
            done = await plan.carry_out()
        except BarnabasError as error:
            refusal, status = reason(error), _status(error)
        finally:
            _note(request, asked.cluster, plan, refusal or done or "its result is not known")
        return self._window(
            "change_done.html.jinja", request, status, change, asked, plan=plan, done=done, refusal=refusal
        )

    def _form(self, request: Request, change: Change, asked: Asked, status: int, refusal: str) -> Response:
        return self._window("change_form.html.jinja", request, status, change, asked, refusal=refusal)

    def _plan(
        self, request: Request, change: Change, asked: Asked, status: int, plan_id: str, plan: Plan, refusal: str
    ) -> Response:
        return self._window(
            "change_plan.html.jinja", request, status, change, asked, plan=plan, plan_id=plan_id, refusal=refusal
        )

    def _window(
        self, template: str, request: Request, status: int, kind: Change | _Kind, asked: Asked, **values: object
    ) -> Response:
        values["here"] = f"{self._settings.root_path}/c/{asked.cluster.name}"
        values["connection"] = connection(self._settings.clusters[asked.cluster.name])
        return self._page(template, request, status, kind=kind, asked=asked, **values)

    def _page(self, template: str, request: Request, status: int, **values: object) -> Response:
        return Response(self._render(template, request, **values), status, media_type="text/html")


def _note(request: Request, cluster: Cluster, plan: Plan, outcome: str) -> None:
    who = f"{cluster.user or 'somebody'} at {request.state.address}"
    log.info("%s", on_one_line(f"{who} changed cluster {cluster.name}: {plan.command}: {outcome}", _MOST_LOGGED))


def _status(error: BarnabasError) -> int:
    if not isinstance(error, KafkaError):
        return 400
    if error.code.name.endswith("AUTHORIZATION_FAILED"):
        return 403
    heals = error.code in RETRIABLE and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return 503 if heals or error.code is ErrorCode.NETWORK_EXCEPTION else 400


MOST_PLANS: Final = 100
LONGEST_S: Final = 600


class Shown(NamedTuple):
    """A plan with its path, cluster and session."""

    plan: Plan
    path: str
    cluster: Cluster
    session: Session
    until_s: float


class Plans:
    """Previewed plans by id, oldest first; each can be executed once, by its own session."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, Shown] = OrderedDict()

    def keep(self, plan: Plan, path: str, cluster: Cluster, session: Session) -> str:
        """Store a plan, and return its id."""
        plan_id = secrets.token_urlsafe(16)
        self._shown[plan_id] = Shown(plan, path, cluster, session, asyncio.get_running_loop().time() + LONGEST_S)
        if len(self._shown) > MOST_PLANS:
            self._shown.popitem(last=False)
        return plan_id

    def of(self, plan_id: str, path: str, cluster: Cluster, session: Session) -> Plan | None:
        """Return a plan; None if it was executed, has expired, or belongs to another session."""
        shown = self._shown.get(plan_id)
        if shown is None or (shown.path, shown.cluster) != (path, cluster) or shown.session is not session:
            return None
        return shown.plan if asyncio.get_running_loop().time() < shown.until_s else None

    def drop(self, plan_id: str) -> None:
        """Delete a plan, so that it can no longer be executed."""
        self._shown.pop(plan_id, None)
