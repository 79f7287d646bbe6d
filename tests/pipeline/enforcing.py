"""Enforcement in a process of its own, to be killed: `python -m tests.pipeline.enforcing '{...}'`.

Enforces the given verdicts, then none, so that all is lifted again. With `kill_at` N the process kills itself right
before the Nth thing that it does to the cluster: a write to the audit topic, or a change of limits.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import QuotaStateAdmin
from barnabas.core.parent import die_with_parent
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.enforcer import Enforcer
from barnabas.pipeline.enforcement.entry import Verdict
from barnabas.pipeline.enforcement.policy import Policy, parse_template


def main() -> None:
    asked = json.loads(sys.argv[1])
    die_with_parent(asked["parent"])
    arm(asked["kill_at"])
    asyncio.run(enforce(asked))


async def enforce(asked: dict[str, Any]) -> None:
    policy = Policy(
        asked["limits"],
        asked["limit_for_ms"],
        entities={"user": parse_template("user", "client-id")},
        is_dry=False,
    )
    async with Pool(asked["bootstrap_servers"], "barnabas-enforcing") as pool:
        audit = AuditTopic(pool, asked["audit_topic"])
        await audit.create()
        enforcer = Enforcer(pool, audit, policy, "security")
        for verdicts in ([Verdict(**fields) for fields in asked["verdicts"]], []):
            await enforcer.round(verdicts)
        await audit.close()


def kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(kill_at: int, die: Callable[[], None] = kill_process, patch: Callable[..., None] = setattr) -> None:
    """Make `die` be called where it was asked for, by patching what acts."""
    count = 0

    def killing(original: Any) -> Any:
        async def counted(self: Any, *arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count == kill_at:
                die()
            return await original(self, *arguments)

        return counted

    patch(AuditTopic, "append", killing(AuditTopic.append))
    patch(QuotaStateAdmin, "alter_limits", killing(QuotaStateAdmin.alter_limits))


if __name__ == "__main__":
    main()
