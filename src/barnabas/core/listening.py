"""Listening sockets of asyncio's HTTP servers."""

import socket


def listening_socket(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """Return a listening socket; accepted connections send data without delay (TCP_NODELAY).

    Args:
        host: An address, of IPv6 too, or a name; empty: every address.
        backlog: Maximum number of connections that wait to be accepted; None: Python's default.

    Raises:
        OSError: The name is unknown, or the address cannot be listened on.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    sock = socket.create_server(address[:2], family=family, backlog=backlog)
    # Accepted connections inherit this option, which asyncio sets only for sockets with an explicit protocol. Without
    # it, a response's body would wait for the peer's delayed ACK of its head: 40 ms, except early in a connection.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock
