"""A schema registry for tests: answers that a test puts there, over HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class FakeRegistry:
    """Serves `GET /schemas/ids/N`.

    Attributes:
        answers: By id: status, content type, body. Another id is unknown, as a registry says it.
        asked: The ids that were asked for, and the login.
        hang: While it is not set nothing is answered.
    """

    def __init__(self) -> None:
        self.answers: dict[int, tuple[int, str, bytes]] = {}
        self.asked: list[tuple[int, str | None]] = []
        self.hang = threading.Event()
        self.hang.set()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                schema_id = int(self.path.rpartition("/")[2])
                registry.asked.append((schema_id, self.headers.get("Authorization")))
                registry.hang.wait(30)
                unknown = (404, "application/json", b'{"error_code": 40403, "message": "Schema not found"}')
                status, content_type, body = registry.answers.get(schema_id, unknown)
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                # One who has given up does not read it.
                with contextlib.suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def put(self, schema_id: int, schema: object, **others: object) -> None:
        """Have a schema under an id."""
        text = json.dumps({"schema": json.dumps(schema), **others})
        self.answers[schema_id] = (200, "application/vnd.schemaregistry.v1+json", text.encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
