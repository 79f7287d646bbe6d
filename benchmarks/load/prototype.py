"""A minimal fast broker, for measurements only. It is not a model of style, and not a complete broker.

    python prototype.py PORT DIRECTORY        (needs uvloop, crc32c)

One uvloop loop, raw non-blocking sockets through add_reader/add_writer, requests as memoryviews into one receive buffer
per connection, record batches as opaque bytes (CRC checked, base offset patched in place, one write), answers as a list
of buffers and file slices (sendfile). It supports ApiVersions 0, Metadata 1, Produce 3-7, Fetch 4 (with long poll) and
ListOffsets 1, as the perf clients need. Every topic has one partition; nothing is recovered or deleted. It does not
handle short writes, truncated files, closed segments and limits, as a broker must.
"""

import bisect
import os
import socket
import struct
import sys

import crc32c
import uvloop

PORT, DIRECTORY = int(sys.argv[1]), sys.argv[2]
loop = uvloop.new_event_loop()

INT16 = struct.Struct(">h").unpack_from
INT32 = struct.Struct(">i").unpack_from
HEADER = struct.Struct(">hhi").unpack_from  # api key, api version, correlation id
BATCH = struct.Struct(">qiibIhi").unpack_from  # base offset .. last offset delta
BATCH_OVERHEAD, CRC_AT, HEADER_BYTES = 12, 21, 61
PUT_INT64 = struct.Struct(">q").pack_into
INDEX_INTERVAL_BYTES = 4096
TAIL_BATCHES = 64  # positions kept of the newest batches, so that a tail reader needs no disk
APIS = [(0, 3, 7), (1, 4, 4), (2, 1, 1), (3, 1, 1), (18, 0, 0)]


class Log:
    """An append-only file of record batches with a sparse index in memory."""

    def __init__(self, name):
        path = os.path.join(DIRECTORY, name + ".log")
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC)
        self.end_offset = self.size = self.indexed_at = 0
        self.index_offsets, self.index_positions = [0], [0]
        self.tail_offsets, self.tail_positions = [], []
        self.waiting = []  # connections whose fetch waits for data

    def append(self, batches):
        """Check, number and write the batches of one request; return the first offset."""
        first, position, length = self.end_offset, 0, len(batches)
        while position < length:
            _, batch_length, _, magic, crc, _, last_delta = BATCH(batches, position)
            end = position + BATCH_OVERHEAD + batch_length
            if magic != 2 or end > length or crc32c.crc32c(batches[position + CRC_AT : end]) != crc:
                raise ValueError("corrupt batch")
            PUT_INT64(batches, position, self.end_offset)
            self.tail_offsets.append(self.end_offset)
            self.tail_positions.append(self.size + position)
            self.end_offset += last_delta + 1
            position = end
        os.write(self.fd, batches)
        if self.size - self.indexed_at >= INDEX_INTERVAL_BYTES:
            self.index_offsets.append(first)
            self.index_positions.append(self.size)
            self.indexed_at = self.size
        self.size += length
        if len(self.tail_offsets) > 2 * TAIL_BATCHES:
            del self.tail_offsets[:-TAIL_BATCHES], self.tail_positions[:-TAIL_BATCHES]
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for connection in waiting:
                loop.call_soon(connection.retry)
        return first

    def locate(self, offset):
        """Return the position of the batch that contains `offset`."""
        if self.tail_offsets and offset >= self.tail_offsets[0]:
            return self.tail_positions[bisect.bisect_right(self.tail_offsets, offset) - 1]
        position = self.index_positions[bisect.bisect_right(self.index_offsets, offset) - 1]
        while position < self.size:
            base, batch_length, _, _, _, _, last_delta = BATCH(os.pread(self.fd, HEADER_BYTES, position))
            if base + last_delta >= offset:
                break
            position += BATCH_OVERHEAD + batch_length
        return position


logs = {}


def log_of(topic, partition):
    key = f"{topic}-{partition}"
    log = logs.get(key)
    if log is None:
        log = logs[key] = Log(key)
    return log


def read_string(buf, at):
    length = INT16(buf, at)[0]
    return str(buf[at + 2 : at + 2 + length], "utf8"), at + 2 + max(length, 0)


def produce(buf, at, version):
    at += 2 + max(INT16(buf, at)[0], 0)  # transactional id
    acks = INT16(buf, at)[0]
    topics = INT32(buf, at + 6)[0]
    at += 10
    out = bytearray(struct.pack(">i", topics))
    for _ in range(topics):
        start = at
        topic, at = read_string(buf, at)
        out += buf[start:at]
        partitions = INT32(buf, at)[0]
        out += buf[at : at + 4]
        at += 4
        for _ in range(partitions):
            partition, length = struct.unpack_from(">ii", buf, at)
            at += 8
            base = log_of(topic, partition).append(buf[at : at + length])
            at += length
            out += struct.pack(">ihqq", partition, 0, base, -1)
            if version >= 5:
                out += b"\0" * 8
    out += b"\0" * 4
    return out if acks else None


def fetch(buf, at, answer_empty, connection):
    """Return the answer as buffers and (fd, position, length) slices; None: it must wait."""
    _, max_wait_ms, _, max_bytes, _, topics = struct.unpack_from(">iiiibi", buf, at)
    at += 21
    parts, current, total, empty_logs = [], bytearray(struct.pack(">ii", 0, topics)), 0, []
    for _ in range(topics):
        start = at
        topic, at = read_string(buf, at)
        current += buf[start : at + 4]
        partitions = INT32(buf, at)[0]
        at += 4
        for _ in range(partitions):
            partition, offset, partition_max = struct.unpack_from(">iqi", buf, at)
            at += 16
            log, position, length = log_of(topic, partition), 0, 0
            if offset < log.end_offset:
                position = log.locate(offset)
                length = min(log.size - position, partition_max, max_bytes - total)
            else:
                empty_logs.append(log)
            current += struct.pack(">ihqqii", partition, 0, log.end_offset, log.end_offset, 0, length)
            if length:
                parts += [current, (log.fd, position, length)]
                current, total = bytearray(), total + length
    if not total and not answer_empty:
        for log in empty_logs:
            log.waiting.append(connection)
        connection.deadline = loop.call_later(max_wait_ms / 1000, connection.retry, True)
        return None
    return [*parts, current]


def list_offsets(buf, at):
    topics = INT32(buf, at + 4)[0]
    at += 8
    out = bytearray(struct.pack(">i", topics))
    for _ in range(topics):
        start = at
        topic, at = read_string(buf, at)
        out += buf[start : at + 4]
        partitions = INT32(buf, at)[0]
        at += 4
        for _ in range(partitions):
            partition, timestamp = struct.unpack_from(">iq", buf, at)
            at += 12
            out += struct.pack(">ihqq", partition, 0, -1, 0 if timestamp == -2 else log_of(topic, partition).end_offset)
    return out


def metadata(buf, at):
    count = INT32(buf, at)[0]
    at += 4
    out = bytearray(struct.pack(">iih9sihi", 1, 0, 9, b"127.0.0.1", PORT, -1, 0) + struct.pack(">i", max(count, 0)))
    for _ in range(count):
        start = at
        _, at = read_string(buf, at)
        out += b"\0\0" + buf[start:at] + b"\0" + struct.pack(">ihiiiiii", 1, 0, 0, 0, 1, 0, 1, 0)
    return out


class Connection:
    __slots__ = ("buf", "deadline", "end", "fd", "out", "pending", "sock", "start", "view", "writing")

    def __init__(self, sock):
        self.sock, self.fd = sock, sock.fileno()
        self.buf = bytearray(1 << 18)
        self.view = memoryview(self.buf)
        self.start = self.end = 0
        self.out, self.writing, self.pending, self.deadline = [], False, None, None
        loop.add_reader(self.fd, self.readable)

    def close(self):
        if self.fd >= 0:
            loop.remove_reader(self.fd)
            loop.remove_writer(self.fd)
            self.sock.close()
            self.fd = -1

    def readable(self):
        try:
            received = self.sock.recv_into(self.view[self.end :])
        except BlockingIOError:
            return
        except OSError:
            received = 0
        if not received:
            self.close()
            return
        self.end += received
        self.process()

    def process(self):
        while self.end - self.start >= 4 and self.pending is None:
            size = INT32(self.buf, self.start)[0]
            if self.end - self.start < 4 + size:
                if 4 + size > len(self.buf) - self.start:
                    self.make_room(4 + size)
                break
            request = self.view[self.start + 4 : self.start + 4 + size]
            self.start += 4 + size
            self.answer(request, False)
        if self.start == self.end:
            self.start = self.end = 0
        elif len(self.buf) - self.end < 65536:
            self.make_room(0)

    def make_room(self, frame_bytes):
        """Move unread data to the front, into a larger buffer if the frame needs one."""
        rest = bytes(self.view[self.start : self.end])
        if frame_bytes > len(self.buf):
            self.buf = bytearray(frame_bytes + 65536)
            self.view = memoryview(self.buf)
        self.buf[: len(rest)] = rest
        self.start, self.end = 0, len(rest)

    def answer(self, request, answer_empty):
        key, version, correlation = HEADER(request, 0)
        at = 10 + max(INT16(request, 8)[0], 0)
        if key == 0:
            body = produce(request, at, version)
            parts = [body] if body else None
        elif key == 1:
            parts = fetch(request, at, answer_empty, self)
            if parts is None:
                self.pending = bytes(request)
                return
        elif key == 2:
            parts = [list_offsets(request, at)]
        elif key == 3:
            parts = [metadata(request, at)]
        else:
            apis = b"".join(struct.pack(">hhh", *api) for api in APIS)
            parts = [struct.pack(">hi", 35 if version else 0, len(APIS)) + apis]
        if parts:
            size = 4 + sum(part[2] if type(part) is tuple else len(part) for part in parts)
            self.out.append(struct.pack(">ii", size, correlation) + parts[0])
            self.out += parts[1:]
            self.flush()

    def retry(self, answer_empty=False):
        if self.pending is None or self.fd < 0:
            return
        self.deadline.cancel()
        request, self.pending = self.pending, None
        self.answer(memoryview(request), answer_empty)
        if self.pending is None:
            self.process()

    def flush(self):
        out = self.out
        try:
            while out:
                part = out[0]
                if type(part) is tuple:
                    fd, position, length = part
                    sent = os.sendfile(self.fd, fd, position, length)
                    if not sent:
                        raise OSError("the file is shorter than promised")
                    if sent < length:
                        out[0] = (fd, position + sent, length - sent)
                        continue
                elif part:
                    sent = self.sock.send(part, socket.MSG_MORE if len(out) > 1 else 0)
                    if sent < len(part):
                        out[0] = part[sent:]
                        continue
                del out[0]
        except BlockingIOError:
            if not self.writing:
                loop.add_writer(self.fd, self.flush)
                self.writing = True
            return
        except OSError:
            self.close()
            return
        if self.writing:
            loop.remove_writer(self.fd)
            self.writing = False


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(1024)
    listener.setblocking(False)

    def accept():
        sock, _ = listener.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(sock)

    loop.add_reader(listener.fileno(), accept)
    loop.run_forever()


main()
