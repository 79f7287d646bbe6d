"""Enforcement: turn the security job's verdicts into client quotas that expire.

    verdicts ─► policy: wanted quotas ─┐
    audit topic: quotas set so far ────┼─► decision: differences ─► enforcer: applies them, appends to the audit topic
    cluster: quotas that are set ──────┘

`policy.py` and `decision.py` are pure. The audit topic is the only state: quotas that it does not record belong to
operators.
"""
