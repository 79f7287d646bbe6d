"""The page's routes: each path shows a view as HTML, as JSON, or as a stream of updates.

GET  /                   the first cluster
GET  /c/CLUSTER/PATH     a view (`views/`): `Accept: application/json` returns its value, `text/event-stream` its
                         HTML after each computation
     /c/CLUSTER/change/  changes (`change_forms.py`)
POST /c/CLUSTER/search   start or stop a search; GET only shows it
GET  /c/CLUSTER/download the raw key or value of a record
GET  /login, POST /login, POST /logout
GET  /static/FILE
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.peer_text import to_json
from barnabas.page.authentication.login import LoginRefusedError, Logins
from barnabas.page.authentication.request_checks import RequestChecks
from barnabas.page.authentication.sessions import LONGEST_S, Session, Sessions
from barnabas.page.authentication.shares import share_of
from barnabas.page.cluster import Cluster
from barnabas.page.live import Live, ViewSnapshot
from barnabas.page.messages.conditions import ConditionError
from barnabas.page.messages.state import MessageState
from barnabas.page.rendering import load_assets, new_environment
from barnabas.page.settings import Settings
from barnabas.page.view import Asked, View, ViewKind, as_json, connection, reason
from barnabas.page.views import VIEWS, messages, pipeline, search

Endpoint = Callable[[Request], Awaitable[Response]]

_MOST_QUERY: Final = 4_096
# A response starts within this time: with the view, or with the frame of the page.
_SOON_S: Final = 0.1
_PENDING: Final = '<p class="pending" role="status">Loading …</p>'
# Text from a cluster cannot contain this mark, because it is escaped.
_VIEW_HERE: Final = "<!-- view -->"
# The paths to which views may link.
_PATHS: Final = frozenset(kind.path for kind in VIEWS)
_STATUSES: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: 404,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 404,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: 404,
    ErrorCode.OFFSET_OUT_OF_RANGE: 404,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 403,
}


class Page:
    """The page of some clusters. `app` is the ASGI application; `close` ends all connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._live = Live()
        self._assets = load_assets()
        self._templates = new_environment(settings.root_path)
        self._messages = MessageState(settings.masks, settings.max_read_rate)
        self._kinds = (*VIEWS, *messages.kinds(self._messages))
        self._search_kind = next(each for each in self._kinds if each.path == search.PATH)
        if settings.pipeline is not None:
            self._kinds += (pipeline.kind(self._messages, settings.pipeline),)
        guest = Session()
        if not settings.mechanisms:
            clusters = settings.clusters.items()
            guest.clusters = {name: Cluster(name, servers, "", settings.security) for name, servers in clusters}
        self._sessions = Sessions(guest)
        self._logins = Logins(settings)
        # Browsers share cookies between all ports of a host.
        self._cookie = f"barnabas-page-{settings.listeners[0][1]}"
        routes = [
            Route("/", self._front),
            Route("/login", self._login_form),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/logout", self._log_out, methods=["POST"]),
            Route("/static/{name}", self._static),
            *self._changes(),
            *(Route(f"/c/{{cluster}}{kind.path}", self._endpoint(kind)) for kind in self._kinds),
            Route("/c/{cluster}/download", self._download),
            Route(f"/c/{{cluster}}{self._search_kind.path}", self._search, methods=["POST"]),
        ]
        self.app: ASGIApp = RequestChecks(Starlette(routes=routes), settings, self._sessions, self._cookie)

    def _changes(self) -> list[Route]:
        """Return the routes of changes; without --allow-changes their code is not imported, for a faster start."""
        if self._settings.allows_changes:
            from barnabas.page.change_forms import ChangeForms

            return ChangeForms(self._settings, self._render).routes
        paths = ("/c/{cluster}/changes", "/c/{cluster}/change/{name}")
        return [Route(each, self._no_changes, methods=["GET", "POST"]) for each in paths]

    async def _no_changes(self, request: Request) -> Response:
        text = "Changes are disabled: the page was started without --allow-changes."
        return self._problem(request, 403, text, "Not allowed")

    def stop(self) -> None:
        """End all streams, so that a server can stop."""
        self._live.stop()

    async def close(self) -> None:
        """End all searches, sessions and connections."""
        await self._messages.close()
        await self._sessions.close()

    # --- views

    def _endpoint(self, kind: ViewKind) -> Endpoint:
        async def show(request: Request) -> Response:
            asked = self._asked(request)
            if isinstance(asked, Response):
                return asked
            accept = request.headers.get("accept", "")
            if accept.startswith("text/event-stream"):
                return self._stream(request, kind, asked)
            if accept.startswith("application/json"):
                return _json(await self._live.get(kind, asked))
            getting = asyncio.ensure_future(self._live.get(kind, asked))
            await asyncio.wait([getting], timeout=_SOON_S)
            if getting.done():
                return await self._whole(request, kind, asked, await getting)
            return self._begun(request, kind, asked, getting)

        return show

    def _asked(self, request: Request) -> Asked | Response:
        """Return the request's subject, or an error response."""
        name = request.path_params["cluster"]
        if name not in self._settings.clusters:
            return self._problem(request, 404, "The cluster does not exist.")
        session: Session = request.state.session
        accept = request.headers.get("accept", "")
        if name not in session.clusters:
            if "text/html" in accept or not accept:
                return self._to(f"/login?cluster={name}")
            return PlainTextResponse("Log in first.\n", 401)
        if len(request.url.query) > _MOST_QUERY:
            return self._problem(request, 414, "The address is too long.")
        return Asked(session.clusters[name], dict(request.query_params))

    async def _search(self, request: Request) -> Response:
        """Start or stop the search of a form, and redirect to its view."""
        asked = self._asked(request)
        if isinstance(asked, Response):
            return asked
        form: dict[str, str] = request.state.form
        asked = asked._replace(query=search.asked_of(form))
        try:
            if "stop" in form:
                await search.stop(self._messages, asked)
            else:
                await search.begin(self._messages, asked)
        except ConditionError as refused:
            view = search.look(self._messages, asked, str(refused))
            return self._refused_search(request, asked, view)
        except KafkaError as error:
            return self._problem(request, _status(error), reason(error))
        self._live.expire(self._search_kind, asked)
        return self._to(f"/c/{asked.cluster.name}/search?{urlencode(asked.query)}")

    def _refused_search(self, request: Request, asked: Asked, view: View) -> Response:
        text = self._render(
            "search_refused.html.jinja",
            request,
            kind=self._search_kind,
            asked=asked,
            view=view,
            here=f"{self._settings.root_path}/c/{asked.cluster.name}",
        )
        return Response(text, 400, media_type="text/html")

    async def _download(self, request: Request) -> Response:
        asked = self._asked(request)
        if isinstance(asked, Response):
            return asked
        try:
            name, data = await messages.download(self._messages, asked)
        except BarnabasError as error:
            return self._problem(request, _status(error), reason(error))
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def _whole(self, request: Request, kind: ViewKind, asked: Asked, snapshot: ViewSnapshot) -> Response:
        status = 200 if snapshot.view is not None else _status(snapshot.failure)
        before, after = self._around(request, kind, asked)
        text = before + await self._fragment(kind, asked, snapshot, request.state.session) + after
        return Response(text, status, media_type="text/html", headers={"vary": "accept"})

    def _begun(
        self, request: Request, kind: ViewKind, asked: Asked, getting: "asyncio.Future[ViewSnapshot]"
    ) -> Response:
        """Return a response that sends the frame at once, and the view as soon as it is ready."""

        async def parts() -> AsyncIterator[str]:
            before, after = self._around(request, kind, asked)
            yield before + _PENDING
            yield await self._fragment(kind, asked, await getting, request.state.session) + after

        headers = {"vary": "accept", "x-accel-buffering": "no"}
        return StreamingResponse(parts(), media_type="text/html", headers=headers)

    def _around(self, request: Request, kind: ViewKind, asked: Asked) -> tuple[str, str]:
        """Return the HTML before a view and after it."""
        address = f"{self._settings.root_path}{request.url.path}"
        address = f"{address}?{request.url.query}" if request.url.query else address
        text = self._render("window.html.jinja", request, kind=kind, asked=asked, address=address, fragment=_VIEW_HERE)
        before, _, after = text.partition(_VIEW_HERE)
        return before, after

    async def _fragment(self, kind: ViewKind, asked: Asked, snapshot: ViewSnapshot, session: Session) -> str:
        """Render a view; its value is shared by all sessions of a user, only the form's token is the session's own."""
        # In a thread, so that the event loop can process other requests.
        return await asyncio.to_thread(
            self._templates.get_template("fragment.html.jinja").render,
            csrf=session.csrf,
            kind=kind,
            view=snapshot.view,
            failure=None if snapshot.failure is None else reason(snapshot.failure),
            cluster=asked.cluster.name,
            paths=_PATHS,
            here=f"{self._settings.root_path}/c/{asked.cluster.name}",
            connection=connection(self._settings.clusters[asked.cluster.name]),
            allows_changes=self._settings.allows_changes,
        )

    def _stream(self, request: Request, kind: ViewKind, asked: Asked) -> Response:
        cluster, session = asked.cluster, request.state.session
        # Without logins all sessions have the same user, so use the address.
        owner = (cluster.name, cluster.user or share_of(request.state.address))

        async def events() -> AsyncIterator[bytes]:
            async for snapshot in self._live.watch(kind, asked, owner):
                lines = (await self._fragment(kind, asked, snapshot, session)).splitlines()
                yield ("event: view\n" + "".join(f"data: {line}\n" for line in lines) + "\n").encode()

        return StreamingResponse(events(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    # --- logins

    async def _login_form(self, request: Request) -> Response:
        if not self._settings.mechanisms:
            return self._to("/")
        return self._show_login(request, request.query_params.get("cluster", ""), 200, "")

    def _show_login(self, request: Request, cluster: str, status: int, refusal: str) -> Response:
        text = self._render("login.html.jinja", request, cluster=cluster, refusal=refusal)
        return Response(text, status, media_type="text/html")

    async def _log_in(self, request: Request) -> Response:
        form: dict[str, str] = request.state.form
        name = form.get("cluster", "")
        try:
            cluster = await self._logins.log_in(
                name, form.get("mechanism", ""), form.get("user", ""), form.get("password", ""), request.state.address
            )
        except LoginRefusedError as refused:
            return self._show_login(request, name, refused.status, str(refused))
        session_id = self._sessions.replace(request.state.session_id, cluster)
        answer = self._to(f"/c/{name}/")
        answer.set_cookie(
            self._cookie,
            session_id,
            max_age=LONGEST_S,
            path=self._settings.root_path or "/",
            secure=self._settings.is_secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def _log_out(self, request: Request) -> Response:
        self._sessions.end(request.state.session_id)
        answer = self._to("/")
        answer.delete_cookie(self._cookie, path=self._settings.root_path or "/")
        return answer

    # --- other routes

    async def _front(self, request: Request) -> Response:
        names = request.state.session.clusters or self._settings.clusters
        return self._to(f"/c/{next(iter(names))}/")

    async def _static(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["name"])
        if asset is None:
            return PlainTextResponse("The file does not exist.\n", 404)
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(asset.data, media_type=asset.media_type, headers=headers)

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._settings.root_path}{path}", 303)

    def _problem(self, request: Request, status: int, text: str, heading: str = "Not there") -> Response:
        shown = self._render("problem.html.jinja", request, text=text, heading=heading)
        return Response(shown, status, media_type="text/html")

    def _render(self, template: str, request: Request, **values: object) -> str:
        session: Session = request.state.session
        return self._templates.get_template(template).render(
            settings=self._settings, session=session, kinds=self._kinds, csrf=session.csrf, **values
        )


def _status(failure: BarnabasError | None) -> int:
    return _STATUSES.get(failure.code, 503) if isinstance(failure, KafkaError) else 503


def _json(snapshot: ViewSnapshot) -> Response:
    failure = None if snapshot.failure is None else reason(snapshot.failure)
    status = 200 if snapshot.view is not None else _status(snapshot.failure)
    text = to_json({"view": as_json(snapshot.view), "failure": failure})
    return Response(text, status, media_type="application/json", headers={"vary": "accept"})
