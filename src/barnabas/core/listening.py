"""Listening sockets of asyncio's HTTP servers."""

import socket


def listening_socket(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """Return a listening socket; accepted connections send data without delay (TCP_NODELAY).

    Args:
        host: An address, of IPv6 too, or a name; empty: every address.
        backlog: How many may wait to be met; None: as many as Python lets.

    Raises:
        OSError: The name is unknown, or the address cannot be listened on.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    sock = socket.create_server(address[:2], family=family, backlog=backlog)
    # Whom it meets inherits it. asyncio sees to it only where a socket's protocol was named, and then a body would wait
    # for the peer's word that the head has come: 40 ms, with each request but the first ones of a connection.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock
