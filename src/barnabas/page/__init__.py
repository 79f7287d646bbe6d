"""The page: what goes on in a cluster, and why, in a browser; a process of its own, without rights of its own.

`settings.py` is what it is told, `serve.py` runs it, `app.py` answers requests. What stands between a stranger and the
cluster is in `door/`; `cluster.py` is a cluster as one user sees it, `views/` what there is to see, one file a page,
and `live.py` computes a view once for all who look at it.

Invariant: whatever is seen was asked for with the rights of who looks; nothing but a login's session is kept.
"""
