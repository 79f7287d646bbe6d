"""An S3 store for tests: moto's in a process of its own, which can be made to fail."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REGION = "us-east-1"
_FAULT = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>as the test asked</Message></Error>'


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class ObjectStore:
    """The store. It has a process of its own: delta-rs holds the interpreter's lock while it waits for an answer."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.object_store"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._fault: tuple[str, str] | None = None
        self.url = self._ask("")
        self.client: Any = boto3.client("s3", region_name=REGION, **self._login)

    @property
    def fault(self) -> tuple[str, str] | None:
        """Status and code that it answers everything with; None: it works."""
        return self._fault

    @fault.setter
    def fault(self, fault: tuple[str, str] | None) -> None:
        self._fault = fault
        self._ask("|".join(fault or ()))

    def _ask(self, words: str) -> str:
        """Send a line to the process: a fault, or nothing; return its answer, the endpoint."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(words, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    @property
    def _login(self) -> dict[str, str]:
        return {"endpoint_url": self.url, "aws_access_key_id": "key", "aws_secret_access_key": "secret"}

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which tools find it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": REGION,
        }

    def make_known_to(self, spark: SparkSession) -> None:
        """Let a session that runs already find it, as `environment` lets one that starts."""
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        for name, value in {
            "endpoint": self.url,
            "endpoint.region": REGION,
            "path.style.access": "true",
            "access.key": "key",
            "secret.key": "secret",
            # A store that fails is told soon.
            "attempts.maximum": "1",
            "retry.limit": "1",
        }.items():
            configuration.set(f"fs.s3a.{name}", value)
            spark.conf.set(f"spark.hadoop.fs.s3a.{name}", value)

    def names(self, bucket: str, prefix: str = "") -> list[str]:
        """List the objects of a bucket."""
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())]

    def close(self) -> None:
        self.client.close()
        with self._process:
            # It ends with its input.
            pass


class _Server:
    """Moto's S3 behind an HTTP port."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._one_at_a_time = threading.Lock()
        self._fault: list[str] = []
        self.http = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet)

    def serve(self) -> None:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        for line in sys.stdin:
            self._fault = line.strip().split("|") if line.strip() else []
            print(f"http://127.0.0.1:{self.http.server_port}", flush=True)

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not self._fault:
            if not {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"} & environ.keys():
                return self._moto(environ, start_response)
            # Moto looks at a condition and then writes; a store does both at once.
            with self._one_at_a_time:
                return self._moto(environ, start_response)
        status, code = self._fault
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(status, [("Content-Type", "application/xml")])
        return [_FAULT.format(code=code).encode()]


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    with closing(ObjectStore()) as store:
        yield store


if __name__ == "__main__":
    _Server().serve()
