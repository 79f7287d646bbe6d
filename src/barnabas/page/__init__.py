"""The page: a web console for a cluster and its problems, in a separate process without rights of its own.

`settings.py` has its settings, `serve.py` runs it, `app.py` answers requests. `authentication/` checks requests, logins
and sessions; `cluster.py` is a cluster with one user's rights, `views/` has one file per view, and `live.py` computes a
view once for all its viewers.

Invariant: all data is requested with the rights of the viewing user; only the session of a login is kept.
"""
