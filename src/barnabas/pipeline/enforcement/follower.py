"""Enforce a run's verdicts in a separate thread, so that limits expire in time while a refresh is computed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.clients import Pool
from barnabas.clients.security import client_security
from barnabas.core.errors import BarnabasError, ConfigError, KafkaError
from barnabas.pipeline.enforcement.audit import AUDIT_TOPIC, AuditTopic
from barnabas.pipeline.enforcement.enforcer import PERMANENT, Enforcer
from barnabas.pipeline.enforcement.entry import Entry, Verdict
from barnabas.pipeline.enforcement.policy import Policy
from barnabas.pipeline.runner.cluster import KafkaOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERDICTS = "verdicts"

_RETRY_S = 2.0
_LIFT_EXPIRED = "`barnabas pipeline limits --lift-expired`"


class EnforcementError(Exception):
    """Verdicts can't be enforced; one line with the reason and what to do."""


class EnforcementFollower:
    """Enforces the verdicts of one run; a `runner.refresh.Follower`."""

    def __init__(
        self,
        kafka: KafkaOptions,
        policy: Policy,
        run: str,
        audit_topic: str = AUDIT_TOPIC,
        tell: Callable[[Entry], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare; `start` connects. The thread calls `tell` with each outcome, `warn` with one-line warnings."""
        self.policy = policy
        self._kafka = kafka
        self._run = run
        self._audit_topic = audit_topic
        self._tell = tell
        self._warn = warn
        self._warned: set[str] = set()
        self._thread: threading.Thread | None = None
        # Guards the fields below. Each set of verdicts is a separate list, so lists are compared by identity.
        self._changed = threading.Condition()
        self._is_stopped = False
        self._verdicts: list[Verdict] | None = None
        self._enforced: list[Verdict] | None = None
        self._failure: Exception | None = None
        self._last_error = ""

    def start(self) -> None:
        """Start the thread if it is not running; it lifts expired limits before the first verdicts arrive."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name=f"enforcement of {self._run}", daemon=True)
            self._thread.start()

    def follow(self, output: str, rows: DataFrame) -> None:
        """Take the rows of the output `verdicts`; ignore other outputs."""
        if output == VERDICTS:
            self.take(read_verdicts(rows, self.policy))

    def take(self, verdicts: list[Verdict]) -> None:
        """Replace all earlier verdicts with these."""
        with self._changed:
            self._verdicts = verdicts
            self._changed.notify_all()

    def poll(self) -> None:
        """Raise the error that has ended enforcement, if there is one."""
        if self._failure is not None:
            raise self._failure

    def settle(self, timeout_s: float) -> None:
        """Wait until all verdicts are enforced; raise EnforcementError if that takes longer than the timeout."""
        with self._changed:
            is_done = self._changed.wait_for(lambda: self._enforced is self._verdicts or self._failure, timeout_s)
        self.poll()
        if not is_done:
            why = f": {self._last_error}" if self._last_error else ""
            raise EnforcementError(f"{self._run}: last verdicts were not enforced within {timeout_s:.0f} s{why}")

    def close(self) -> None:
        """Stop between two rounds; limits remain until a run or `--lift-expired` lifts them."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _main(self) -> None:
        while not self._is_stopped:
            try:
                # The event loop runs only during rounds; between rounds the thread waits.
                with asyncio.Runner() as runner:
                    self._enforce(runner)
            except BarnabasError as error:
                code = error.code if isinstance(error, KafkaError) else None
                # After other errors the thread reconnects.
                if isinstance(error, ConfigError) or code in PERMANENT:
                    advice = PERMANENT[code] if code else ""
                    return self._fail(EnforcementError(f"verdicts can't be enforced: {error}{advice}"))
                if str(error) != self._last_error:
                    self._last_error = str(error)
                    self._warn(f"enforcement waits for the cluster: {error}")
                with self._changed:
                    self._changed.wait_for(lambda: self._is_stopped, _RETRY_S)
            except Exception as error:
                return self._fail(error)

    def _fail(self, failure: Exception) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def _enforce(self, runner: asyncio.Runner) -> None:
        """Enforce until the follower is closed; raise the error if the cluster fails."""
        options = self._kafka.options
        client_id = options.get("client.id", "barnabas-enforcement")
        pool = Pool(self._kafka.bootstrap_servers, client_id, security=client_security(options))
        try:
            audit = AuditTopic(pool, self._audit_topic)
            for warning in runner.run(audit.create()):
                self._warn_once(warning, warning)
            enforcer = Enforcer(pool, audit, self.policy, self._run, self._tell)
            while not self._is_stopped:
                self._round(runner, enforcer)
            if (count := len(enforcer.in_force)) and not self.policy.is_dry:
                self._warn(f"limits stay in force ({count}): the next run lifts them in time, or {_LIFT_EXPIRED} does")
        finally:
            runner.run(pool.close())

    def _round(self, runner: asyncio.Runner, enforcer: Enforcer) -> None:
        verdicts = self._verdicts
        if not runner.run(enforcer.round(verdicts)):
            return
        if count := enforcer.waiting_count:
            self._warn_once(
                "room", f"{count} more are accused than the {self.policy.most} that may be limited at a time"
            )
        if (count := len(enforcer.in_force)) and self.policy.is_dry:
            text = f"limits of earlier runs are in force ({count}), and a dry run lifts none: {_LIFT_EXPIRED}"
            self._warn_once("dry run", text)
        with self._changed:
            self._enforced, self._last_error = verdicts, ""
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_stopped or self._verdicts is not verdicts, enforcer.wait_s())

    def _warn_once(self, subject: str, text: str) -> None:
        if subject not in self._warned:
            self._warned.add(subject)
            self._warn(text)


def read_verdicts(verdicts: DataFrame, policy: Policy) -> list[Verdict]:
    """Collect the rows of the table `verdicts` (docs/pipeline/security.md) that may count under a policy."""
    from pyspark.sql import functions as F

    rows = verdicts.where(
        F.col("subject_kind").isin(*policy.entities)
        & F.col("what").isin(*policy.enforced)
        & (F.col("score") >= policy.least_score)
    ).selectExpr(
        *("subject_kind", "subject", "what", "score", "why", "address", "agent", "user"),
        *("unix_millis(last_seen) AS last_seen_ms", "unix_millis(until) AS until_ms", "to_json(evidence) AS evidence"),
    )
    return [Verdict(**{**row.asDict(), "evidence": json.loads(row["evidence"] or "{}")}) for row in rows.collect()]
