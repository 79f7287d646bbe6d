"""The codecs: framings, other implementations' output, damage and bombs."""

import gzip
import struct
import subprocess
import sys

import cramjam
import lz4.frame
import pytest
from aiokafka import codec as aiokafka_codec

from barnabas.wire.records.batch import Buffer, Codec
from barnabas.wire.records.compression import compress, decompress
from barnabas.wire.records.errors import CorruptRecordsError

COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
MEBIBYTE = 1 << 20

# Half compresses well, half does not, and it fills more than one block of any codec.
TEXT = bytes(number * number % 251 for number in range(MEBIBYTE // 2)) + b"page view " * (MEBIBYTE // 20)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["nothing", "one", "many"])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, data)
    buffers: list[Buffer] = [compressed, bytearray(compressed), memoryview(b"--" + compressed)[2:]]
    for buffer in buffers:
        assert decompress(codec, buffer, len(data)) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [64 * 1024, MEBIBYTE, 5 * MEBIBYTE + 1])
def test_what_unpacks_to_much_more_than_usual_comes_back(codec: Codec, size: int) -> None:
    compressed = compress(codec, bytes(size))
    assert decompress(codec, compressed, size) == bytes(size)
    assert decompress(codec, compressed, 64 * MEBIBYTE) == bytes(size)
    with pytest.raises(CorruptRecordsError, match=r"more than|at most"):
        decompress(codec, compressed, size - 1)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"x", TEXT], ids=["one", "many"])
def test_one_byte_too_many_is_refused(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, data)
    with pytest.raises(CorruptRecordsError):
        decompress(codec, compressed, len(data) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("data", [b"x", TEXT], ids=["one", "many"])
def test_data_cut_short_is_corrupt(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, data)
    for end in {0, 1, 3, 7, 15, 17, 19, len(compressed) // 2, len(compressed) - 1}:
        # A xerial stream cut between two blocks is a shorter stream; the count of the records tells.
        if end < len(compressed) and (codec, end) != (Codec.SNAPPY, 16):
            with pytest.raises(CorruptRecordsError):
                decompress(codec, compressed[:end], len(data))


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_there_are_four_codecs(codec: int) -> None:
    with pytest.raises(CorruptRecordsError, match=r"codec .* does not exist"):
        decompress(codec, b"", 10)
    with pytest.raises(ValueError, match=r"codec .* does not exist"):
        compress(codec, b"")


def test_lz4_blocks_are_independent() -> None:
    compressed = compress(Codec.LZ4, TEXT)
    assert compressed[:7].hex() == "04224d18604082"
    assert lz4.frame.get_frame_info(compressed)["block_linked"] is False


def test_linked_lz4_blocks_are_read() -> None:
    assert decompress(Codec.LZ4, lz4.frame.compress(TEXT, block_linked=True), MEBIBYTE) == TEXT


def test_snappy_is_written_as_a_xerial_stream() -> None:
    compressed = compress(Codec.SNAPPY, TEXT)
    assert compressed[:16].hex() == "82534e41505059000000000100000001"
    assert aiokafka_codec.snappy_decode(compressed) == TEXT


def test_raw_snappy_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Codec.SNAPPY, raw, len(TEXT)) == TEXT
    with pytest.raises(CorruptRecordsError, match="more than"):
        decompress(Codec.SNAPPY, raw, len(TEXT) - 1)


def test_joined_snappy_streams_are_read() -> None:
    assert decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"a") + compress(Codec.SNAPPY, b"b"), 2) == b"ab"


def test_snappy_blocks_share_one_bound() -> None:
    stream = compress(Codec.SNAPPY, b"abc")
    with pytest.raises(CorruptRecordsError, match="snappy: more than"):
        decompress(Codec.SNAPPY, stream + stream, 5)


def test_snappy_of_a_later_stream_is_refused() -> None:
    stream = bytearray(compress(Codec.SNAPPY, b"abc"))
    stream[15] = 2
    with pytest.raises(CorruptRecordsError, match="stream of version 2"):
        decompress(Codec.SNAPPY, stream, 10)


@pytest.mark.parametrize("length", [-1, 5, 1 << 30])
def test_snappy_block_of_an_impossible_length_is_corrupt(length: int) -> None:
    stream = compress(Codec.SNAPPY, b"")
    with pytest.raises(CorruptRecordsError, match="a block of"):
        decompress(Codec.SNAPPY, stream + struct.pack(">i", length) + b"abc", 10)


def test_raw_snappy_that_promises_too_much_takes_no_memory() -> None:
    with pytest.raises(CorruptRecordsError, match="cannot hold"):
        decompress(Codec.SNAPPY, b"\x80\x80\x80\x40" + b"\x00a", 1 << 30)


def test_snappy_of_the_least_ratio_is_read() -> None:
    zeros = bytes(MEBIBYTE)
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(zeros)), MEBIBYTE) == zeros


def test_gzip_members_are_joined() -> None:
    joined = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, joined, 7) == b"one two"
    assert decompress(Codec.GZIP, joined + b"\x00\x00trailer", 7) == b"one two"
    with pytest.raises(CorruptRecordsError, match="more than 6"):
        decompress(Codec.GZIP, joined, 6)


def test_a_flood_of_gzip_members_is_read_in_one_go() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"") * 20_000, 0) == b""


def test_zstd_frames_are_joined() -> None:
    one, two = bytes(cramjam.zstd.compress(b"one ")), bytes(cramjam.zstd.compress(b"two"))
    assert decompress(Codec.ZSTD, one + two, 7) == b"one two"
    with pytest.raises(CorruptRecordsError):
        decompress(Codec.ZSTD, one + two, 6)


BOMBS = """
import resource, sys
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.compression import compress, decompress
from barnabas.wire.records.errors import CorruptRecordsError

codec = Codec[sys.argv[1]]
bomb = sys.stdin.buffer.read()
decompress(codec, compress(codec, bytes(1000)), 1000)
before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for max_bytes in (1 << 10, 1 << 20, 8 << 20):
    try:
        decompress(codec, bomb, max_bytes)
    except CorruptRecordsError:
        continue
    sys.exit("not refused")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10)
"""


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_costs_no_more_than_its_bound(codec: Codec) -> None:
    bomb = compress(codec, bytes(128 * MEBIBYTE))
    result = subprocess.run([sys.executable, "-c", BOMBS, codec.name], input=bomb, capture_output=True, check=True)
    # Twice the largest bound, and what the allocators round up.
    assert int(result.stdout) <= 24, f"MiB for a bomb of {len(bomb)} bytes"
