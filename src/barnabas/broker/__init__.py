"""The broker: sockets, requests, logs, coordinators, the controller, and the node that builds them all.

One package per noun; `server/node.py` is the composition root. Bytes come in by `net`, become a request in `requests`,
are carried out by `replicas` and `log`, `groups` or `transactions`, and leave by `net` again.
"""
