"""CRC-32C without the package around it."""

import crc32c as package

from barnabas.wire.records.crc import crc32c, load_extension


def test_the_check_value_of_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(memoryview(bytearray(32))) == 0x8A9136AA


def test_it_is_the_packages_own_function() -> None:
    assert load_extension() is not None
    assert crc32c(b"abc") == package.crc32c(b"abc")


def test_another_layout_of_the_package_is_noticed() -> None:
    assert load_extension("no_such_package") is None
    assert load_extension(extension="no_such_module") is None
