"""An S3 store in this process for tests: moto's, behind a real HTTP port, which can be told to fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REGION = "us-east-1"
_ACCOUNT = "123456789012"
_FAULT = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>as the test asked</Message></Error>'


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class ObjectStore:
    """The store.

    Attributes:
        url: Its endpoint.
        fault: Status and code that it answers everything with; None: it works.
        faulty_count: How many requests were answered so.
    """

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._one_at_a_time = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.fault: tuple[str, str] | None = None
        self.faulty_count = 0
        self.client: Any = boto3.client("s3", region_name=REGION, **self._login)

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

    def names(self, bucket: str, prefix: str = "") -> list[str]:
        """List the objects of a bucket."""
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())]

    def age(self, bucket: str, name: str, seconds: float) -> None:
        """Have an object be older than it is."""
        s3_backends[_ACCOUNT]["aws"].buckets[bucket].keys[name].last_modified -= timedelta(seconds=seconds)

    def age_leases(self, bucket: str) -> None:
        """Have all leases of tables have run out."""
        for name in self.names(bucket):
            if name.endswith("_barnabas.lease"):
                self.age(bucket, name, 60)

    def close(self) -> None:
        self.client.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self.fault is None:
            if not {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"} & environ.keys():
                return self._moto(environ, start_response)
            # Moto looks at a condition and then writes; a store does both at once.
            with self._one_at_a_time:
                return self._moto(environ, start_response)
        status, code = self.fault
        self.faulty_count += 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(status, [("Content-Type", "application/xml")])
        return [_FAULT.format(code=code).encode()]


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    store = ObjectStore()
    try:
        yield store
    finally:
        store.close()
