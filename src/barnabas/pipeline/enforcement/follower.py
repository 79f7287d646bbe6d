"""Enforcement beside a run: takes the verdicts of each refresh, and acts upon them in a thread of its own.

Of its own, as a limit is to be lifted in time while a refresh takes a minute. A cluster that is away is waited for; one
that refuses for good ends the run.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.clients import Pool
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError
from barnabas.pipeline.enforcement.audit import AUDIT_TOPIC, AuditTopic
from barnabas.pipeline.enforcement.enforcer import Enforcer
from barnabas.pipeline.enforcement.entry import Entry, Verdict
from barnabas.pipeline.enforcement.policy import Policy
from barnabas.pipeline.runner.cluster import KafkaOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICTS = "verdicts"

_FIRST_RETRY_S = 0.5
_LONGEST_RETRY_S = 10.0
# Time heals none of these.
_FOR_GOOD = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


class EnforcementError(Exception):
    """Verdicts can't be enforced: one line that says why and what to do."""


class EnforcementFollower:
    """Enforces the verdicts of one run; a `runner.follower.Follower`.

    Attributes:
        policy: What is enforced.
    """

    def __init__(
        self,
        kafka: KafkaOptions,
        policy: Policy,
        run: str,
        audit_topic: str = AUDIT_TOPIC,
        tell: Callable[[Entry], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Nothing is asked of the cluster yet.

        Args:
            kafka: The cluster.
            policy: What is enforced.
            run: Whose limits these are.
            audit_topic: Where the steps stand.
            tell: Called with each step that was taken, intents aside; in another thread.
            warn: Told in one line what a person should know; in another thread.
        """
        self.policy = policy
        self._kafka = kafka
        self._run = run
        self._audit_topic = audit_topic
        self._tell = tell
        self._warn = warn
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        self._is_stopped = False
        self._failure: Exception | None = None
        self._last_warning = ""
        self._is_doubt_told = self._is_dry_told = False
        self._verdicts: list[Verdict] | None = None
        # How many sets of verdicts were given, and how many of them were acted upon.
        self._given_count = self._done_count = 0
        self._changed = threading.Condition()

    def start(self) -> None:
        """Begin; what has expired is lifted, whatever the verdicts say. Once it runs this does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name=f"enforcement of {self._run}", daemon=True)
            self._thread.start()

    def follow(self, output: str, rows: DataFrame) -> None:
        """Take the verdicts as they are now; rows of another output are none."""
        if output == VERDICTS:
            self.take(read_verdicts(rows, self.policy))

    def take(self, verdicts: list[Verdict]) -> None:
        """Take these verdicts for all that there are now."""
        with self._changed:
            self._verdicts = verdicts
            self._given_count += 1
        self._wake_up()

    def poll(self) -> None:
        """Look whether it goes well.

        Raises:
            EnforcementError: it does not, and time will not heal it.
        """
        if self._failure is not None:
            raise self._failure

    def settle(self, timeout_s: float) -> None:
        """Wait until all verdicts that were given are acted upon.

        Raises:
            EnforcementError: they were not, in this time.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._done_count == self._given_count or self._failure is not None, timeout_s
            )
        self.poll()
        if self._done_count < self._given_count:
            why = f": {self._last_warning}" if self._last_warning else ""
            raise EnforcementError(f"{self._run}: its last verdicts were not enforced within {timeout_s:.0f} s{why}")

    def close(self) -> None:
        """Stop between two acts. Limits stay as they are, and the topic knows of them."""
        self._is_stopped = True
        self._wake_up()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _wake_up(self) -> None:
        with self._changed:
            if self._loop is not None and self._wake is not None:
                self._loop.call_soon_threadsafe(self._wake.set)

    def _main(self) -> None:
        try:
            asyncio.run(self._enforce())
        except Exception as error:
            self._failure = error
        with self._changed:
            self._loop = None
            self._changed.notify_all()

    async def _enforce(self) -> None:
        with self._changed:
            self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        retry_s = _FIRST_RETRY_S
        while not self._is_stopped:
            before_count = self._done_count
            try:
                await self._enforce_while_it_goes_well()
            except BarnabasError as error:
                if isinstance(error, ConfigError) or (isinstance(error, KafkaError) and error.code in _FOR_GOOD):
                    raise EnforcementError(f"verdicts can't be enforced: {_said(error)}") from error
                if str(error) != self._last_warning:
                    self._last_warning = str(error)
                    self._warn(f"enforcement waits for the cluster: {error}")
                retry_s = _FIRST_RETRY_S if self._done_count > before_count else min(2 * retry_s, _LONGEST_RETRY_S)
                # New verdicts don't bring a cluster back; the next round takes them.
                self._wake.clear()
                await self._wait(retry_s)

    async def _enforce_while_it_goes_well(self) -> None:
        options = self._kafka.options
        client_id = options.get("client.id", "barnabas-enforcement")
        async with Pool(self._kafka.bootstrap_servers, client_id, security=client_security(options)) as pool:
            audit = AuditTopic(pool, self._audit_topic)
            try:
                await audit.create()
                for doubt in [] if self._is_doubt_told else await audit.doubts():
                    self._warn(doubt)
                self._is_doubt_told = True
                enforcer = Enforcer(pool, audit, self.policy, self._run, self._tell)
                while not self._is_stopped:
                    await self._round(enforcer)
                if self.policy.is_dry:
                    self._warn_of_limits(enforcer)
                elif enforcer.in_force:
                    self._warn(
                        f"limits stay in force ({len(enforcer.in_force)}): the next run lifts them in time, or "
                        "`barnabas pipeline limits --lift-expired` does"
                    )
            finally:
                await audit.close()

    async def _round(self, enforcer: Enforcer) -> None:
        assert self._wake is not None
        self._wake.clear()
        with self._changed:
            number, verdicts = self._given_count, self._verdicts
        before_count = enforcer.waiting_count
        is_done = await enforcer.round(verdicts)
        if enforcer.waiting_count > before_count:
            self._warn(
                f"{enforcer.waiting_count} more are accused than the {self.policy.most} that may be limited at a time"
            )
        if not is_done:
            return
        if self.policy.is_dry and not self._is_dry_told:
            self._is_dry_told = True
            self._warn_of_limits(enforcer)
        with self._changed:
            self._done_count = number
            self._last_warning = ""
            self._changed.notify_all()
        await self._wait(enforcer.wait_s())

    def _warn_of_limits(self, enforcer: Enforcer) -> None:
        """Say that a dry run leaves limits alone that runs in earnest have set, though their time may be over."""
        if enforcer.in_force:
            self._warn(
                f"limits of earlier runs are in force ({len(enforcer.in_force)}), and a dry run lifts none: "
                "`barnabas pipeline limits --lift-expired`"
            )

    async def _wait(self, timeout_s: float) -> None:
        assert self._wake is not None
        if self._is_stopped:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return


def read_verdicts(verdicts: DataFrame, policy: Policy) -> list[Verdict]:
    """Return those rows of the table `verdicts` that a policy may look at.

    Args:
        verdicts: Columns as in docs/pipeline/security.md.
        policy: Which ones.
    """
    from pyspark.sql import functions as F

    counts = (
        F.col("subject_kind").isin(*policy.entities)
        & F.col("what").isin(*policy.enforced)
        & (F.col("score") >= policy.least_score)
    )
    rows = verdicts.where(counts).select(
        "subject_kind",
        "subject",
        "what",
        "score",
        "why",
        F.unix_millis("last_seen").alias("last_seen_ms"),
        F.unix_millis("until").alias("until_ms"),
        "address",
        "agent",
        "user",
        F.to_json("evidence").alias("evidence"),
    )
    return [Verdict(**{**row.asDict(), "evidence": json.loads(row["evidence"] or "{}")}) for row in rows.collect()]


def _said(error: BarnabasError) -> str:
    if isinstance(error, KafkaError) and error.code is ErrorCode.UNSUPPORTED_VERSION:
        return f"{error}; limits are set over the wire from Kafka 2.6 on"
    if isinstance(error, KafkaError) and error.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return f"{error}; the run's user needs DESCRIBE_CONFIGS and ALTER_CONFIGS on the cluster"
    return str(error)
