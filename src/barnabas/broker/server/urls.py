"""Reads the document at a URL, for public keys; blocks, so call it in an executor.

This is part of the environment: no other code of a broker fetches documents from other servers.
"""

from urllib.request import urlopen

_TIMEOUT_S = 10.0
MAX_DOCUMENT_BYTES = 1024 * 1024


def read_url(url: str) -> bytes:
    """Return the document at a URL with `https`, `http` or `file`.

    Raises:
        OSError: It can't be had, or is larger than 1 MiB.
        ValueError: It is no such URL.
    """
    if url.partition(":")[0] not in ("https", "http", "file"):
        raise ValueError("a URL with https, http or file is wanted")
    with urlopen(url, timeout=_TIMEOUT_S) as response:
        document: bytes = response.read(MAX_DOCUMENT_BYTES + 1)
    if len(document) > MAX_DOCUMENT_BYTES:
        raise OSError("it is larger than 1 MiB")
    return document
