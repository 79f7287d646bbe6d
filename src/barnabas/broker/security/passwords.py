"""Encrypts and decrypts passwords stored in the registry, with a key derived from password.encoder.secret.

    pairs key:value, separated by commas, in any order
    encryptedPassword, initializationVector, salt     Base64
    keyFactoryAlgorithm                               PBKDF2WithHmacSHA512, ... (its salt and iterations)
    cipherAlgorithm, keyLength                        AES/CBC/PKCS5Padding; bits
    passwordLength                                    in characters, checked after decryption

Source: zookeeper.md, configs; Kafka 2.7.2, kafka.utils.PasswordEncoder; KIP-226.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping

from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.settings import find_broker_setting
from barnabas.core.errors import ConfigError

CIPHER = "AES/CBC/PKCS5Padding"
NO_SECRET = "Password encoder secret not configured"

_KEY_FACTORY = "PBKDF2WithHmacSHA512"
_KEY_FACTORIES = re.compile(r"PBKDF2WithHmac(SHA(?:1|224|256|384|512))")
_KEY_BITS = (128, 192, 256)
_SALT_BYTES = 256
_BLOCK_BYTES = 16
# An entry written by hand must not block the loop.
_MOST_ITERATIONS = 1_000_000


def is_password(name: str) -> bool:
    """Return whether a setting is stored encrypted."""
    setting = find_broker_setting(name)
    return setting is not None and setting.is_sensitive


def encode_passwords(
    config: BrokerConfig, overrides: Mapping[str, str], random_bytes: Callable[[int], bytes]
) -> dict[str, str]:
    """Return settings in their stored form.

    Raises:
        ConfigError: There is a password but no secret, or the encryption settings are not supported.
    """
    return {
        name: _encode(config, text, random_bytes) if is_password(name) else text for name, text in overrides.items()
    }


def decode_passwords(config: BrokerConfig, stored: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return settings in plain form, and the names of passwords that cannot be decrypted and are omitted.

    Also tries the previous secret (password.encoder.old.secret).
    """
    overrides: dict[str, str] = {}
    unreadable: list[str] = []
    secrets = [each for each in (config.password_encoder_secret, config.password_encoder_old_secret) if each]
    for name, text in stored.items():
        if not is_password(name):
            overrides[name] = text
            continue
        found = next((plain for secret in secrets if (plain := _decode(secret, text)) is not None), None)
        if found is None:
            unreadable.append(name)
        else:
            overrides[name] = found
    return overrides, unreadable


def reencode_passwords(
    config: BrokerConfig, stored: Mapping[str, str], random_bytes: Callable[[int], bytes]
) -> dict[str, str] | None:
    """Return stored settings with the passwords that only the previous secret decrypts encrypted with the current one.

    Args:
        stored: Settings in their stored form; passwords that neither secret decrypts are unchanged.

    Returns:
        None: there are no such passwords, or one of the secrets is not set.

    Raises:
        ConfigError: The encryption settings are not supported.
    """
    new, old = config.password_encoder_secret, config.password_encoder_old_secret
    if not new or not old:
        return None
    changed = {
        name: _encode(config, plain, random_bytes)
        for name, text in stored.items()
        if is_password(name) and _decode(new, text) is None and (plain := _decode(old, text)) is not None
    }
    return {**stored, **changed} if changed else None


def _encode(config: BrokerConfig, text: str, random_bytes: Callable[[int], bytes]) -> str:
    secret = config.password_encoder_secret
    if not secret:
        raise ConfigError(NO_SECRET)
    factory = config.password_encoder_keyfactory_algorithm or _KEY_FACTORY
    bits, iterations = config.password_encoder_key_length, config.password_encoder_iterations
    # differs from Kafka (password-cipher): it has every cipher that its JVM has.
    if config.password_encoder_cipher_algorithm != CIPHER or bits not in _KEY_BITS:
        raise ConfigError(
            f"passwords are encrypted by {CIPHER} with a key of 128, 192 or 256 bits here, and not otherwise"
        )
    salt, iv = random_bytes(_SALT_BYTES), random_bytes(_BLOCK_BYTES)
    key = _key(secret, factory, salt, iterations, bits)
    if key is None:
        raise ConfigError(f"no key can be made by {factory} and {iterations} iterations here")
    fields = {
        "encryptedPassword": b64encode(_encrypt(key, iv, text.encode())).decode(),
        "keyLength": str(bits),
        "cipherAlgorithm": CIPHER,
        "initializationVector": b64encode(iv).decode(),
        "keyFactoryAlgorithm": factory,
        "passwordLength": str(len(text)),
        "salt": b64encode(salt).decode(),
        "iterations": str(iterations),
    }
    return ",".join(f"{name}:{value}" for name, value in fields.items())


def _decode(secret: str, encoded: str) -> str | None:
    """Return the password; None if it was encrypted with another secret or in an unsupported way."""
    fields = dict(item.split(":", 1) for item in encoded.split(",") if ":" in item)
    try:
        if fields["cipherAlgorithm"] != CIPHER:
            return None
        salt, iv = b64decode(fields["salt"]), b64decode(fields["initializationVector"])
        key = _key(secret, fields["keyFactoryAlgorithm"], salt, int(fields["iterations"]), int(fields["keyLength"]))
        if key is None:
            return None
        text = _decrypt(key, iv, b64decode(fields["encryptedPassword"])).decode()
        return text if len(text) == int(fields["passwordLength"]) else None
    except (KeyError, ValueError):
        return None


def _key(secret: str, factory: str, salt: bytes, iterations: int, bits: int) -> bytes | None:
    from hashlib import pbkdf2_hmac

    match = _KEY_FACTORIES.fullmatch(factory)
    if match is None or not 1 <= iterations <= _MOST_ITERATIONS or bits not in _KEY_BITS:
        return None
    return pbkdf2_hmac(match[1], secret.encode(), salt, iterations, bits // 8)


def _encrypt(key: bytes, iv: bytes, plain: bytes) -> bytes:
    """Encrypt with AES-CBC and PKCS#7 padding."""
    # Imported here: few brokers store a password.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    padder, encryptor = PKCS7(_BLOCK_BYTES * 8).padder(), Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return encryptor.update(padder.update(plain) + padder.finalize()) + encryptor.finalize()


def _decrypt(key: bytes, iv: bytes, data: bytes) -> bytes:
    """Undo `_encrypt`. Raises ValueError if the data was encrypted differently or with another key."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    unpadder, decryptor = PKCS7(_BLOCK_BYTES * 8).unpadder(), Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
    return unpadder.update(decryptor.update(data) + decryptor.finalize()) + unpadder.finalize()
