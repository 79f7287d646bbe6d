"""Passwords in the registry: what Kafka 2.7.2 wrote is read, and what is written is what it would read."""

from random import Random

import pytest

from barnabas.broker.security.passwords import decode_passwords, encode_passwords, reencode_passwords
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError

NAME = "listener.name.plaintext.ssl.keystore.password"
# Written by Kafka 2.7.2 with password.encoder.secret=abc.
OF_KAFKA = (
    "encryptedPassword:ieuhyXn18fuxGkSGcOCtBA==,keyLength:128,cipherAlgorithm:AES/CBC/PKCS5Padding,initia"
    "lizationVector:JzABaB5n7R7t3LlyZPBhMw==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,passwordLength:7,sa"
    "lt:fdTOSOyP84melSMnzJhVdto/Txtoq4UpBJ+cucO1hdtw7sH+F+hu9yZzu2ldNhJYHyR/hiOzfw8GGyCkPqSijcIVjhLEMAXl+"
    "68eRfYu8x40KDu7YDtEAQpw3O2zEdGOBu1vqjh5ZTn+YgrOlybhcFySMWatrU/JM8bjkiogbmZxWyJ3BacVVEQ3kxWkxHtxbsmRp"
    "4Fn/PbD3MFMmRMcl4hjPVf4mecHwZ4deiRbIkflhnFDisNYdXD733x8nDrSpUzZZbgs6NJijEyM7yi5yehV7Py5A+cN2SfZxZFe1"
    "SxqSTUZEjN+7ZC1E8JplDzrnt7wytAD++boUJAyXQcxXQ==,iterations:4096"
)

# No whole number of blocks.
CUT = OF_KAFKA.replace("ieuhyXn18fuxGkSGcOCtBA==", "ieuhyXn18fuxGkSGcOCt")


def config(**settings: str) -> BrokerConfig:
    return BrokerConfig.from_properties({f"password.encoder.{name}": text for name, text in settings.items()})


def test_what_kafka_stored_is_read():
    assert decode_passwords(config(secret="abc"), {NAME: OF_KAFKA, "a": "b"}) == ({NAME: "secret2", "a": "b"}, [])
    assert decode_passwords(config(secret="new", **{"old.secret": "abc"}), {NAME: OF_KAFKA})[0] == {NAME: "secret2"}


@pytest.mark.parametrize(
    "stored", [OF_KAFKA.replace("salt:f", "salt:g"), CUT, "plain", "", "iterations:4096,salt:x", "a:b"]
)
def test_what_can_not_be_read_is_left_out(stored):
    assert decode_passwords(config(secret="abc"), {NAME: stored, "a": "b"}) == ({"a": "b"}, [NAME])
    assert decode_passwords(config(), {NAME: OF_KAFKA}) == ({}, [NAME])


def test_what_only_the_old_secret_reads_is_encrypted_again():
    settings, dice = config(secret="new", **{"old.secret": "abc"}), Random(1)
    of_new = encode_passwords(config(secret="new"), {"listener.name.a.ssl.key.password": "k"}, dice.randbytes)
    others = {**of_new, "listener.name.b.ssl.key.password": "unreadable", "a": "b"}
    assert reencode_passwords(settings, others, dice.randbytes) is None
    again = reencode_passwords(settings, {NAME: OF_KAFKA, **others}, dice.randbytes)
    assert again is not None
    assert decode_passwords(config(secret="new"), {NAME: again.pop(NAME)}) == ({NAME: "secret2"}, [])
    assert again == others


@pytest.mark.parametrize("secrets", [{"secret": "abc"}, {"old.secret": "abc"}, {"secret": "abc", "old.secret": "abc"}])
def test_without_a_new_secret_nothing_is_encrypted_again(secrets):
    assert reencode_passwords(config(**secrets), {NAME: OF_KAFKA}, Random(1).randbytes) is None


def test_absurd_work_is_not_done():
    assert decode_passwords(
        config(secret="abc"), {NAME: OF_KAFKA.replace("iterations:4096", "iterations:9" + "0" * 15)}
    ) == ({}, [NAME])


@pytest.mark.parametrize("bits", ["128", "192", "256"])
@pytest.mark.parametrize("factory", [None, "PBKDF2WithHmacSHA1", "PBKDF2WithHmacSHA256"])
def test_what_is_stored_is_read_again_and_looks_different_each_time(factory, bits):
    settings = config(secret="s", **{"key.length": bits}, **({"keyfactory.algorithm": factory} if factory else {}))
    dice = Random(1)
    stored = [encode_passwords(settings, {NAME: "geheim äö", "a": "b"}, dice.randbytes) for _ in range(2)]
    assert stored[0] != stored[1]
    assert "geheim" not in stored[0][NAME]
    for each in stored:
        assert decode_passwords(settings, each) == ({NAME: "geheim äö", "a": "b"}, [])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "Password encoder secret not configured"),
        ({"secret": "s", "cipher.algorithm": "AES/GCM/NoPadding"}, "AES/CBC/PKCS5Padding"),
        ({"secret": "s", "key.length": "100"}, "128, 192 or 256 bits"),
        ({"secret": "s", "keyfactory.algorithm": "X"}, "no key can be made by X"),
    ],
)
def test_a_password_that_can_not_be_stored_is_refused(settings, reason):
    with pytest.raises(ConfigError, match=reason):
        encode_passwords(config(**settings), {NAME: "x"}, Random(1).randbytes)
    assert encode_passwords(config(**settings), {"a": "b"}, Random(1).randbytes) == {"a": "b"}
