"""Passwords in the registry: what Kafka 2.7.2 wrote is read, and what is written is what it would read."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.aes import decrypt_cbc, encrypt_cbc
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError
from barnabas.core.passwords import decode_passwords, encode_passwords

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


def config(**settings: str) -> BrokerConfig:
    return BrokerConfig.from_properties({f"password.encoder.{name}": text for name, text in settings.items()})


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # FIPS 197, appendix C.
        ("000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
        ("000102030405060708090a0b0c0d0e0f1011121314151617", "dda97ca4864cdfe06eaf70a0ec0d7191"),
        ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_a_block_is_encrypted_as_the_standard_says(key, expected):
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert encrypt_cbc(bytes.fromhex(key), bytes(16), plain)[:16].hex() == expected


def test_blocks_are_chained_as_the_standard_says():
    # NIST SP 800-38A, F.2.1.
    key, iv = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), bytes(range(16))
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    expected = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
    assert encrypt_cbc(key, iv, plain)[:32].hex() == expected


@given(st.sampled_from([16, 24, 32]), st.binary(max_size=50), st.integers(0, 1 << 30))
def test_what_was_encrypted_is_read_again(key_bytes, plain, seed):
    dice = Random(seed)
    key, iv = dice.randbytes(key_bytes), dice.randbytes(16)
    assert decrypt_cbc(key, iv, encrypt_cbc(key, iv, plain)) == plain


def test_what_kafka_stored_is_read():
    assert decode_passwords(config(secret="abc"), {NAME: OF_KAFKA, "a": "b"}) == ({NAME: "secret2", "a": "b"}, [])
    assert decode_passwords(config(secret="new", **{"old.secret": "abc"}), {NAME: OF_KAFKA})[0] == {NAME: "secret2"}


@pytest.mark.parametrize("stored", [OF_KAFKA.replace("salt:f", "salt:g"), "plain", "", "iterations:4096,salt:x", "a:b"])
def test_what_can_not_be_read_is_left_out(stored):
    assert decode_passwords(config(secret="abc"), {NAME: stored, "a": "b"}) == ({"a": "b"}, [NAME])
    assert decode_passwords(config(), {NAME: OF_KAFKA}) == ({}, [NAME])


def test_absurd_work_is_not_done():
    assert decode_passwords(
        config(secret="abc"), {NAME: OF_KAFKA.replace("iterations:4096", "iterations:9" + "0" * 15)}
    ) == (
        {},
        [NAME],
    )


@pytest.mark.parametrize("factory", [None, "PBKDF2WithHmacSHA1", "PBKDF2WithHmacSHA256"])
def test_what_is_stored_is_read_again_and_looks_different_each_time(factory):
    settings = config(secret="s", **({"keyfactory.algorithm": factory} if factory else {}))
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
