"""`barnabas log dump`: prints log files as text, with the options and the output of kafka-dump-log."""

import sys
from pathlib import Path
from typing import Annotated

from barnabas.cli.log_files import quiet_unless, refuse_others, total_bytes
from barnabas.cli.options import Option, flag, paragraphs
from barnabas.cli.output import note, print_data
from barnabas.clients.internal_records import decode_offsets_record, decode_transaction_record
from barnabas.core.errors import BarnabasError
from barnabas.inspection import decoders
from barnabas.inspection.decoders import DECODER_CLASSES, DEFAULT_DECODER, RecordDecoder
from barnabas.inspection.dump import DEFAULT_MAX_MESSAGE_BYTES, DumpOptions, LogDump
from barnabas.inspection.log_listing import DUMPED_SUFFIXES

HELP = paragraphs(
    """Print the contents of log files, line for line as Kafka's kafka-dump-log.

Prints batches, records, indexes (.index, .timeindex, .txnindex) and producer snapshots (.snapshot) of all message
formats. For a directory, all such files in it are printed.

Examples:

  barnabas log dump --files barnabas-data/views-0/00000000000000000000.log --print-data-log

  barnabas log dump barnabas-data/__consumer_offsets-7 --offsets-decoder
"""
)


def dump(
    paths: Annotated[
        list[Path] | None, Option(metavar="FILE|DIRECTORY...", help="Files or log directories to print.")
    ] = None,
    files: Annotated[
        str, Option("--files", metavar="FILE,...", help="Files or log directories to print, separated by commas.")
    ] = "",
    print_data_log: Annotated[
        bool, flag("--print-data-log", "Print keys and values; implied by any decoder option.")
    ] = False,
    deep_iteration: Annotated[
        bool, flag("--deep-iteration", "Print the records of each batch; implied by --print-data-log.")
    ] = False,
    index_sanity_check: Annotated[
        bool,
        flag("--index-sanity-check", "For indexes, print only the result of the check that a broker makes at start."),
    ] = False,
    verify_index_only: Annotated[
        bool, flag("--verify-index-only", "For indexes, print only the entries that contradict the log.")
    ] = False,
    offsets_decoder: Annotated[bool, flag("--offsets-decoder", "Decode records of __consumer_offsets.")] = False,
    transaction_log_decoder: Annotated[
        bool, flag("--transaction-log-decoder", "Decode records of __transaction_state.")
    ] = False,
    key_decoder_class: Annotated[
        str | None,
        Option("--key-decoder-class", metavar="CLASS", help=f"Decoder of keys: one of {', '.join(DECODER_CLASSES)}."),
    ] = None,
    value_decoder_class: Annotated[
        str | None, Option("--value-decoder-class", metavar="CLASS", help="Decoder of values: the same choices.")
    ] = None,
    max_message_size: Annotated[
        int,
        Option(
            "--max-message-size",
            min=1,
            metavar="BYTES",
            help="Size of the largest batch that an index entry may point to.",
        ),
    ] = DEFAULT_MAX_MESSAGE_BYTES,
) -> int:
    chosen = _files([*(Path(name) for name in files.split(",") if name), *(paths or [])])
    plain = key_decoder_class is not None or value_decoder_class is not None or print_data_log
    decode: RecordDecoder | None = None
    if offsets_decoder:
        decode = decode_offsets_record
    elif transaction_log_decoder:
        decode = decode_transaction_record
    elif plain:
        decode = decoders.plain(
            _decoder(key_decoder_class, "--key-decoder-class"), _decoder(value_decoder_class, "--value-decoder-class")
        )
    options = DumpOptions(
        deep_iteration or decode is not None, decode, index_sanity_check, verify_index_only, max_message_size
    )
    # A progress bar would mix with the lines of the result.
    with quiet_unless(not sys.stdout.isatty(), "Dumping", total_bytes(chosen)) as bar:
        work = LogDump(options, _print, _complain, bar.advance)
        for path in chosen:
            bar.note(path.name)
            work.dump(path)
        work.finish()
    return 1 if work.failure_count else 0


def _decoder(class_name: str | None, option: str) -> decoders.Decoder:
    try:
        return decoders.decoder_of(class_name or DEFAULT_DECODER)
    except KeyError:
        raise BarnabasError(f"{option} {class_name}: must be one of {', '.join(DECODER_CLASSES)}") from None


def _files(paths: list[Path]) -> list[Path]:
    if not paths:
        raise BarnabasError("no files given: use --files FILE,... or the directory of a log")
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BarnabasError(f"{path}: the file or directory does not exist")
        if not path.is_dir():
            found.append(path)
            continue
        refuse_others(path)
        inside = sorted(each for each in path.rglob("*") if each.suffix in DUMPED_SUFFIXES and each.is_file())
        if not inside:
            raise BarnabasError(f"{path} contains no log files ({', '.join(DUMPED_SUFFIXES)})")
        found += inside
    return found


def _print(line: str) -> None:
    print_data(f"{line}\n")


def _complain(line: str) -> None:
    note(line)
