"""Enforcement: verdicts become limits that expire by themselves.

    verdicts ─► policy: whom they are about, for Kafka ─► ledger: what is to be done ─► enforcer: does it
                                                              ▲                            │
                                                              └──── audit topic ◄──────────┘

`policy.py` and `ledger.py` are pure. The audit topic is the only state: what it does not say was not done by us.
"""
