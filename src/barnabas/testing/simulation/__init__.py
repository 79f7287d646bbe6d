"""A broker and its clients in one thread, on a time, a network and a disk that a seed decides.

The broker is the real `Node` and the clients are those of `barnabas.clients`; what they are given is another world
(`broker/server/environment.py`). The same seed gives the same history, to the byte.
"""
