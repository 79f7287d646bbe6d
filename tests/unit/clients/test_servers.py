import pytest

from barnabas.clients.channel import parse_servers
from barnabas.core.errors import BarnabasError


def test_addresses_are_read_without_empty_items():
    assert parse_servers("a:1, b.example:9092,,[::1]:3,") == [("a", 1), ("b.example", 9092), ("::1", 3)]


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:x", "a:0", "a:65536", ",", "a:1,b"])
def test_others_say_what_they_should_be(text):
    with pytest.raises(BarnabasError, match=r"write host:port, such as 127\.0\.0\.1:9092"):
        parse_servers(text)
