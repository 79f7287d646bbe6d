"""The size of a fetch answer, for consumers' quotas, before it is encoded.

Source: protocol guide, Fetch; Kafka 2.7.2, FetchResponse.sizeOf.
"""

from barnabas.wire.protocol.messages.fetch import FetchResponse, PartitionData

_FIRST_FLEXIBLE_VERSION = 12
_SIZE_BYTES = 4


def answer_bytes(response: FetchResponse, api_version: int) -> int:
    """Return the answer's size, from the size field on, without its header."""
    is_flexible = api_version >= _FIRST_FLEXIBLE_VERSION
    total = _SIZE_BYTES
    if api_version >= 1:
        total += 4  # throttle time
    if api_version >= 7:
        total += 6  # error code, session id
    total += _count_bytes(len(response.responses)) + 1 if is_flexible else 4
    fixed = _fixed_bytes(api_version)
    for topic in response.responses:
        name_bytes = len(topic.topic.encode())
        partitions = topic.partitions
        if is_flexible:
            total += _count_bytes(name_bytes) + name_bytes + _count_bytes(len(partitions)) + 1
        else:
            total += 6 + name_bytes
        total += len(partitions) * fixed
        for data in partitions:
            total += _partition_bytes(data, api_version, is_flexible)
    return total


def _fixed_bytes(api_version: int) -> int:
    """Return the least bytes of each partition: index, error code, high watermark, and the fields of later versions."""
    later = ((4, 8), (5, 8), (11, 4))  # last stable offset, log start offset, preferred replica
    return 14 + sum(size for version, size in later if api_version >= version)


def _partition_bytes(data: PartitionData, api_version: int, is_flexible: bool) -> int:
    """Return the bytes of a partition beyond the fixed ones."""
    records = data.records
    length = len(records) if isinstance(records, bytes | bytearray | memoryview) else records.length if records else 0
    total = length + (_count_bytes(length) + 1 if is_flexible else 4)
    if is_flexible and data.diverging_epoch.epoch >= 0:
        total += 2 + 13  # tag and size; epoch, end offset and their own tagged fields
    if api_version >= 4:
        aborted = data.aborted_transactions
        count = 0 if aborted is None else len(aborted)
        if is_flexible:
            total += count * 17 + (1 if aborted is None else _count_bytes(count))
        else:
            total += 4 + count * 16
    return total


def _count_bytes(count: int) -> int:
    """Return the size of an encoded count or string length: a varint of it plus one."""
    return max(1, -(-(count + 1).bit_length() // 7))
