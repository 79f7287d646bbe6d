"""Down-conversion of fetch answers for clients that cannot read the log's format or codec.

An answer is read as for any client. If the topic's message.format.version is newer than the client's formats, separate
threads then read its batches, convert them one by one, and put them into the answer in place of the file's bytes. An
answer ends with little more than `MOST_CONVERTED_BYTES`, after `MOST_CONVERTING_NS`, or with one batch that unpacks to
more than `USUAL_UNPACKED_BYTES`. Partitions without records are served in a later answer: each answer begins with a
random partition.

Invariants:

- At most one batch of any size and one usual batch for each thread are unpacked at the same time, whatever the number
  of clients. Large batches wait for each other, and nothing else waits for them.
- Batches of cancelled requests are not converted.

# differs from Kafka (down-converted-size): Kafka announces the size of the unconverted records and fills the space that
# conversion saves with a truncated message. Here an answer is as large as its records, and ends sooner if there are
# many.

Source: semantics, Fetch, data format; KIP-283.
"""

from collections.abc import Callable, Mapping
from itertools import chain, repeat
from typing import NamedTuple, TypeAlias

from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.log.segments.batch_reader import read_batches
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError, StorageError
from barnabas.core.executor import submit_while_wanted
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.records.batch import MAGIC_POSITION, Buffer
from barnabas.wire.records.errors import CorruptRecordsError, TooLargeUnpackedError, UnsupportedCodecError
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES

FIRST_VERSION_WITH_BATCHES = 4
FIRST_VERSION_WITH_ZSTD = 10
MOST_CONVERTED_BYTES = 1024 * 1024
MOST_CONVERTING_NS = 100_000_000
USUAL_UNPACKED_BYTES = 4 * 1024 * 1024

_FIRST_VERSION_WITH_TIMESTAMPS = 2
_OVERFLOW_BYTES = 12


class _Conversion(NamedTuple):
    data: PartitionData
    part: FileSlice
    asked: FetchPartition
    is_enabled: bool


_Result: TypeAlias = Buffer | BarnabasError


def adapt_answer(
    ctx: RequestContext,
    request: FetchRequest,
    wanted: Mapping[TopicPartition, FetchPartition],
    response: FetchResponse,
) -> FetchResponse | Pending[FetchResponse]:
    """Convert the answer to a Fetch below version 10 into a format that its client can read."""
    if ctx.is_large:
        return ctx.services.slices.answer(_adapt_in_steps(ctx, request, wanted, response))
    conversions: list[_Conversion] = []
    for topic in response.responses:
        for data in topic.partitions:
            _adapt(ctx, request, wanted, topic.topic, data, conversions)
    return _convert_all(ctx, request, conversions, response) if conversions else response


def _adapt_in_steps(
    ctx: RequestContext,
    request: FetchRequest,
    wanted: Mapping[TopicPartition, FetchPartition],
    response: FetchResponse,
) -> Steps[FetchResponse]:
    conversions: list[_Conversion] = []
    for topic in response.responses:
        for data in topic.partitions:
            yield MORE
            _adapt(ctx, request, wanted, topic.topic, data, conversions)
    yield _convert_all(ctx, request, conversions, response) if conversions else response


def _adapt(
    ctx: RequestContext,
    request: FetchRequest,
    wanted: Mapping[TopicPartition, FetchPartition],
    topic: str,
    data: PartitionData,
    conversions: list[_Conversion],
) -> None:
    """Refuse one partition, or add the conversion that it needs."""
    partition = ctx.services.replicas.partition((topic, data.partition_index))
    if data.error_code or partition is None:
        return
    config = partition.log.config
    if config.compression_type == "zstd":
        _refuse(data, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    elif isinstance(data.records, FileSlice) and partition.log.magic > _newest_magic(ctx):
        asked = wanted[TopicPartition(topic, data.partition_index)]
        # The topic may still have batches in formats that the client can read.
        is_enabled = config.message_downconversion_enable or request.replica_id >= 0
        conversions.append(_Conversion(data, data.records, asked, is_enabled))


def _convert_all(
    ctx: RequestContext, request: FetchRequest, wanted: list[_Conversion], response: FetchResponse
) -> Pending[FetchResponse]:
    conversions, newest_magic = ctx.services.conversions, _newest_magic(ctx)
    first = conversions.dice.randrange(len(wanted))
    in_turn = wanted[first:] + wanted[:first]
    most_bytes = min(MOST_CONVERTED_BYTES, request.max_bytes)
    now_ns = ctx.services.clock.monotonic_ns

    def filled(results: list[_Result]) -> FetchResponse:
        for each, result in zip(in_turn, chain(results, repeat(b"")), strict=False):
            if isinstance(result, BarnabasError):
                _refuse(each.data, _error_code(ctx, result))
            else:
                each.data.records = result
        return response

    def go_on(results: list[_Result]) -> FetchResponse | Pending[FetchResponse]:
        if not isinstance(results[0], TooLargeUnpackedError):
            return filled([b"" if isinstance(each, TooLargeUnpackedError) else each for each in results])
        # The first partition's batch is the large one: the answer contains this batch alone.
        work = ctx.timed(lambda: [_convert(in_turn[0], newest_magic, 1, MAX_UNCOMPRESSED_BYTES)])
        return submit_while_wanted(conversions.large, work).shaped(filled)

    work = ctx.timed(lambda: _convert_usual(in_turn, newest_magic, most_bytes, now_ns))
    return submit_while_wanted(conversions.usual, work).and_then(go_on)


def _convert_usual(
    wanted: list[_Conversion], newest_magic: int, left_bytes: int, now_ns: Callable[[], int]
) -> list[_Result]:
    """Convert as much as size and time allow; a batch that is too large for these threads becomes an error."""
    end_ns = now_ns() + MOST_CONVERTING_NS
    results: list[_Result] = []
    for each in wanted:
        most_bytes = min(left_bytes, each.asked.partition_max_bytes)
        result = _convert(each, newest_magic, most_bytes, USUAL_UNPACKED_BYTES)
        results.append(result)
        if isinstance(result, bytearray):
            left_bytes -= len(result)
        if left_bytes <= 0 or now_ns() > end_ns:
            break
    return results


def _newest_magic(ctx: RequestContext) -> int:
    if ctx.api_version >= FIRST_VERSION_WITH_BATCHES:
        return 2
    return 1 if ctx.api_version >= _FIRST_VERSION_WITH_TIMESTAMPS else 0


def _refuse(data: PartitionData, error_code: ErrorCode) -> None:
    data.error_code = error_code
    data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
    data.aborted_transactions = None
    data.records = b""


def _error_code(ctx: RequestContext, error: BarnabasError) -> ErrorCode:
    if isinstance(error, StorageError):
        ctx.services.replicas.storage_failed(error)
        # Clients of these versions do not know KAFKA_STORAGE_ERROR.
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if isinstance(error, KafkaError):
        return error.code
    is_corrupt = isinstance(error, CorruptRecordsError)
    return ErrorCode.CORRUPT_MESSAGE if is_corrupt else ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def _convert(wanted: _Conversion, to_magic: int, most_bytes: int, most_unpacked_bytes: int) -> _Result:
    """Convert whole batches up to `most_bytes`; the first one at any size.

    Args:
        most_unpacked_bytes: A batch that unpacks to more is an error if it is the first one, else it ends the result.
    """
    from barnabas.wire.records.convert import down_convert, overflow_message

    part = wanted.part
    result = bytearray()
    try:
        for _, _, batch in read_batches(part.file, part.position, part.position + part.length):
            if len(result) >= most_bytes and result:
                break
            if not wanted.is_enabled and batch[MAGIC_POSITION] > to_magic:
                return result or KafkaError(ErrorCode.UNSUPPORTED_VERSION)
            for converted in down_convert((batch,), to_magic, wanted.asked.fetch_offset, most_unpacked_bytes):
                if result and len(result) + len(converted) > most_bytes:
                    return result
                result += converted
    except (CorruptRecordsError, StorageError, UnsupportedCodecError) as error:
        # The traceback references the unpacked bytes, and the error lives until the answer is made.
        error.__traceback__ = error.__context__ = None
        # Return the batches before it; the client fetches this batch next.
        return result or error
    if part.length and not result:
        # The part ends within its first batch. As in Kafka, clients read this as a message larger than the size they
        # requested; an empty answer would make them wait for ever.
        result += overflow_message(_OVERFLOW_BYTES)
    return result
