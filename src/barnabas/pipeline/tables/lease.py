"""One driver at a time for a Delta table on S3: a lease, an object beside the table's log.

Delta's log there is safe for one driver alone: whether a version is there, and writing it, are two steps. So a driver
that writes first takes `_barnabas.lease` by a conditional PUT, renews it as long as it lives and removes it at its end.
One that was killed does not renew it, and after `_EXPIRES_S` the next driver takes it over, by a PUT upon the very
object that it has seen. Its age is told by the store's clock alone. Delta and its readers pass over the name.

Invariant: no commit begins unless the store has confirmed this driver's lease within `_FRESH_S`, half of the time that
another one waits for. (A driver that is halted for longer than the other half in the middle of a commit, and then still
finds the version free, is not held back.)

Source: Amazon S3, conditional writes; delta-storage 4.0.0, `S3SingleDriverLogStore`.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.pipeline.spark.stores import scheme_of
from barnabas.pipeline.tables.table import TableError, TableUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "_barnabas.lease"
_EXPIRES_S = 60
_FRESH_S = 30
_RENEW_EVERY_S = 15
# Of the store's answers: another one was faster.
_NOT_THERE, _CONFLICT, _CONDITION_FAILED = 404, 409, 412
_SERVER_FAILED, _NOT_IMPLEMENTED = 500, 501
_REMEDY = (
    "Delta's log on S3 is safe for one driver at a time: run one after the other (several jobs may share one `run`), "
    "or write Iceberg tables in a catalog, which any number of drivers may write"
)


class _Found(NamedTuple):
    text: str
    tag: str
    age_s: float


class _Object:
    """The object of a lease, through the client that Hadoop has made: its credentials and settings hold."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        path = jvm.org.apache.hadoop.fs.Path(location, _NAME)
        files = path.getFileSystem(configuration)
        self._client = files.getS3AInternals().getAmazonS3Client("lease")
        self._place = location
        self._gateway = spark.sparkContext._gateway
        self._sdk = jvm.software.amazon.awssdk
        self._bucket = files.getBucket()
        self._key = str(path.toUri().getPath()).lstrip("/")

    def read(self) -> _Found | None:
        """Return what is there; None where nothing is."""
        request = self._request("Get").build()
        response, status = self._answer(lambda: self._client.getObjectAsBytes(request))
        if status == _NOT_THERE:
            return None
        head = response.response()
        # Both by the store's clock.
        now = parsedate_to_datetime(head.sdkHttpResponse().firstMatchingHeader("Date").get())
        return _Found(
            str(response.asUtf8String()), str(head.eTag()), now.timestamp() - head.lastModified().getEpochSecond()
        )

    def put(self, text: str, instead_of: str | None) -> str | None:
        """Write it in the place of the object with this tag, or where there is none; None: there is another one."""
        request = self._request("Put")
        request = request.ifNoneMatch("*") if instead_of is None else request.ifMatch(instead_of)
        body = self._sdk.core.sync.RequestBody.fromString(text)
        response, status = self._answer(lambda: self._client.putObject(request.build(), body))
        return None if status else str(response.eTag())

    def remove(self) -> None:
        """Remove it."""
        self._answer(lambda: self._client.deleteObject(self._request("Delete").build()))

    def _request(self, verb: str) -> Any:
        model = self._sdk.services.s3.model
        return getattr(model, f"{verb}ObjectRequest").builder().bucket(self._bucket).key(self._key)

    def _answer(self, ask: Callable[[], Any]) -> tuple[Any, int]:
        """Return the answer and 0; or nothing, and the status that says that an object is not there or another one.

        Raises:
            TableUnavailableError: the store does not answer.
            TableError: it refuses.
        """
        from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]  # it has no types
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        try:
            return ask(), 0
        except Py4JJavaError as error:
            java = error.java_exception
            if not is_instance_of(self._gateway, java, "software.amazon.awssdk.awscore.exception.AwsServiceException"):
                text = str(java.getMessage())
                if "redential" in text or "Auth" in str(java.getClass().getSimpleName()):
                    raise TableError(
                        f"{self._place}: no credentials for the store ({text}): set AWS_ACCESS_KEY_ID and "
                        "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role"
                    ) from error
                raise TableUnavailableError(f"{self._place}: the store does not answer: {text}") from error
            status, details = int(java.statusCode()), java.awsErrorDetails()
            # A proxy before the store says nothing that Amazon's client knows.
            code, text = ("", "") if details is None else (str(details.errorCode()), str(details.errorMessage()))
            if status in (_NOT_THERE, _CONFLICT, _CONDITION_FAILED) and code != "NoSuchBucket":
                return None, status
            if status >= _SERVER_FAILED and status != _NOT_IMPLEMENTED:
                raise TableUnavailableError(f"{self._place}: the store can't answer now: {status} {code}") from error
            if code == "NoSuchBucket":
                raise TableError(f"{self._place}: there is no bucket {self._bucket}: make it first") from error
            raise TableError(f"{self._place}: the store refuses: {status} {code}: {text}") from error


class Lease:
    """The lease of one table, as this process takes it."""

    def __init__(self, lease_object: _Object, location: str) -> None:
        self._object = lease_object
        self._location = location
        self._holder = uuid.uuid4().hex
        self._count = 0
        self._lock = threading.Lock()
        # Of the object, while it is this process's.
        self._tag: str | None = None
        self._confirmed_s = 0.0
        # Of another holder's object, when it was looked at last.
        self._seen_tag: str | None = None

    def hold(self, asks: bool = False) -> None:
        """Take it, or see that it is still this process's; `asks` says to ask the store in any case.

        Raises:
            TableUnavailableError: another driver had it a moment ago, and may have been killed since.
            TableError: another driver has it, and is at work.
        """
        with self._lock:
            if self._tag is None:
                self._take()
            elif asks or time.monotonic() - self._confirmed_s > _FRESH_S:
                self._renew()

    def renew(self) -> None:
        """Confirm it, where it is this process's."""
        with self._lock:
            if self._tag is not None:
                self._renew()

    def release(self) -> None:
        """Remove it, where it is this process's."""
        with self._lock:
            if self._tag is not None:
                # So that it can be no one else's when it is removed.
                self._renew()
                self._object.remove()
                self._tag = None

    def _take(self) -> None:
        found = self._object.read()
        holder = {} if found is None else json.loads(found.text)
        if found is not None and found.age_s < _EXPIRES_S and holder["holder"] != self._holder:
            is_alive = self._seen_tag not in (None, found.tag)
            self._seen_tag = found.tag
            who = f"another driver (process {holder['process']} on {holder['host']})"
            if is_alive:
                raise TableError(f"{self._location}: {who} is writing to this table. {_REMEDY}")
            raise TableUnavailableError(
                f"{self._location}: {who} was writing to this table {found.age_s:.0f} s ago. If it was killed, the "
                f"table is free in {_EXPIRES_S - found.age_s:.0f} s. {_REMEDY}"
            )
        self._put(None if found is None else found.tag)

    def _renew(self) -> None:
        assert self._tag is not None
        self._put(self._tag)

    def _put(self, instead_of: str | None) -> None:
        # Each renewal is another object: who has seen an older one can't take its place.
        self._count += 1
        holder = {"holder": self._holder, "host": socket.gethostname(), "process": os.getpid(), "count": self._count}
        asked_s = time.monotonic()
        text = json.dumps(holder)
        tag = self._object.put(text, instead_of)
        if tag is None:
            # It may be this process's own, of a request whose answer was lost: the client has asked again by itself.
            found = self._object.read()
            if found is not None and json.loads(found.text)["holder"] == self._holder:
                tag = found.tag if found.text == text else self._object.put(text, found.tag)
        self._tag = tag
        if tag is None:
            raise TableUnavailableError(f"{self._location}: another driver has just taken this table. {_REMEDY}")
        self._confirmed_s = asked_s


class _Leases:
    """The leases of this process, by the tables' locations, and the thread that renews them."""

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}
        self._lock = threading.Lock()
        self._is_ending = threading.Event()

    def hold(self, spark: SparkSession, location: str, asks: bool) -> None:
        with self._lock:
            if not self._leases:
                self._is_ending = threading.Event()
                threading.Thread(target=self._renew, args=(self._is_ending,), name="leases", daemon=True).start()
            if location not in self._leases:
                self._leases[location] = Lease(_Object(spark, location), location)
            lease = self._leases[location]
        lease.hold(asks)

    def release(self, warn: Callable[[str], None]) -> None:
        self._is_ending.set()
        with self._lock:
            leases, self._leases = self._leases, {}
        for lease in leases.values():
            try:
                lease.release()
            except Exception as error:
                # What was written is in the table: this is no reason to fail.
                warn(f"{error}; its lease keeps the table from other drivers for {_EXPIRES_S} s")

    def _renew(self, is_ending: threading.Event) -> None:
        while not is_ending.wait(_RENEW_EVERY_S):
            for lease in list(self._leases.values()):
                try:
                    lease.renew()
                except Exception:
                    # The next commit asks the store itself, and has its answer for an error.
                    continue


_leases = _Leases()


def hold(spark: SparkSession, location: str, asks: bool = False) -> None:
    """See that no other driver writes to a Delta table; where the store itself decides between two, any number may.

    Args:
        spark: The session.
        location: The table's; on S3 there is something to be seen.
        asks: Whether the store is asked even if it was a moment ago, as by who wants to know if it answers.

    Raises:
        TableUnavailableError: another driver had it a moment ago, and may have been killed since.
        TableError: another driver is at work on it.
    """
    scheme = scheme_of(location)
    # Whoever names a log store of his own for S3 has one that decides.
    if scheme in ("s3", "s3a") and not spark.conf.get(f"spark.delta.logStore.{scheme}.impl", None):
        jvm: Any = spark.sparkContext._jvm
        path = str(jvm.org.apache.hadoop.fs.Path(location).toString())
        _leases.hold(spark, f"s3a{path[len(scheme) :]}", asks)


def release(warn: Callable[[str], None]) -> None:
    """Give up what this process holds, before its session ends; what could not be is told."""
    _leases.release(warn)
