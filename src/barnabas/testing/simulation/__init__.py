"""A broker and its clients in one thread, with time, network and disks decided by a seed.

The broker is the real `Node` and the clients are those of `barnabas.clients`, in a simulated environment
(`broker/server/environment.py`). The same seed gives the same history, to the byte.
"""
