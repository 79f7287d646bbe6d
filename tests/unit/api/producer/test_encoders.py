"""Encoders: what they take, how they are named, and what happens to what they refuse."""

from collections.abc import Mapping

import pytest

from barnabas.api.producer.chunk import Encoding
from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.encoders import DefaultEncoder, StringEncoder, encode, encode_all, new_encoder
from barnabas.api.producer.errors import EncodingError, MessageTooLargeError
from barnabas.core.errors import ConfigError


class Reversing:
    def to_bytes(self, message: object) -> bytes:
        return bytes(reversed(str(message).encode()))


class Configured:
    def __init__(self, config: Mapping[str, object]) -> None:
        self.config = config

    def to_bytes(self, message: object) -> bytes:
        return str(self.config["client.id"]).encode()


def test_the_default_passes_bytes_alone() -> None:
    assert encode_all(DefaultEncoder(), [b"a", bytearray(b"b"), memoryview(b"c"), None]) == [b"a", b"b", b"c", None]
    assert encode_all(DefaultEncoder(), (b"a", b"b")) == [b"a", b"b"]
    for wrong in ("text", 7):
        with pytest.raises(EncodingError, match=r"serializer\.class"):
            encode_all(DefaultEncoder(), [b"a", wrong])


def test_text_has_an_encoding() -> None:
    assert encode(StringEncoder(), "ü") == b"\xc3\xbc"
    assert encode(StringEncoder({"serializer.encoding": "ISO8859-1"}), "ü") == b"\xfc"
    with pytest.raises(ConfigError, match=r"serializer\.encoding=nonesuch"):
        StringEncoder({"serializer.encoding": "nonesuch"})
    with pytest.raises(EncodingError):
        encode(StringEncoder(), b"bytes")


def test_an_encoder_is_named_by_path_by_javas_name_or_given() -> None:
    assert isinstance(new_encoder("serializer.class", "kafka.serializer.DefaultEncoder", {}), DefaultEncoder)
    assert encode(new_encoder("serializer.class", "kafka.serializer.StringEncoder", {}), "a") == b"a"
    assert encode(new_encoder("serializer.class", Reversing, {}), "ab") == b"ba"
    assert encode(new_encoder("serializer.class", Reversing(), {}), "ab") == b"ba"
    with pytest.raises(ConfigError, match=r"serializer\.class=.*to_bytes"):
        new_encoder("serializer.class", dict, {})


def test_a_class_that_takes_the_configuration_gets_it() -> None:
    assert encode(new_encoder("serializer.class", Configured, {"client.id": "c"}), "x") == b"c"


def test_an_encoder_that_gives_no_bytes_is_told() -> None:
    class Wrong:
        def to_bytes(self, message: object) -> str:
            return "text"

    with pytest.raises(EncodingError, match=r"Wrong\.to_bytes returned str"):
        encode(new_encoder("serializer.class", Wrong, {}), "x")


def test_a_message_is_no_larger_than_allowed_with_its_key() -> None:
    encoding = Encoding(DefaultEncoder(), DefaultEncoder(), 10)
    assert encoding.chunk(ProducerData("t", b"key", [b"1234567", None])).values == [b"1234567", None]
    for key, values in ((b"key", [b"12345678"]), (None, [None, b"x" * 11]), (b"k" * 11, [None])):
        with pytest.raises(MessageTooLargeError, match=r"max\.message\.size is 10"):
            encoding.chunk(ProducerData("t", key, values))
    assert encoding.chunk(ProducerData("t", None, [])).values == []


def test_messages_are_a_sequence_of_them() -> None:
    for wrong in (b"abc", "abc", bytearray(b"abc")):
        with pytest.raises(TypeError, match="a sequence of messages"):
            ProducerData("t", None, wrong)
