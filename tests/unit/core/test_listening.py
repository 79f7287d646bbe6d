"""Sockets for HTTP: whom they meet, and what is said where they can't be."""

import socket

import pytest

from barnabas.core.listening import listening_socket


def test_what_is_written_to_who_comes_goes_out_at_once() -> None:
    with listening_socket("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        listening.setblocking(True)
        peer, _ = listening.accept()
        with peer:
            assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_of_another_one_is_no_place_to_listen() -> None:
    with listening_socket("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listening_socket("127.0.0.1", taken.getsockname()[1])
