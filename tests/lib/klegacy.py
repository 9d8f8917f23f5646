"""Message sets of magic 0 and 1, as Kafka wrote them before 0.11: for segments of old data folders,
which Kafka 4 still serves and recovers but cannot write any more."""
import gzip
import struct
import zlib

LOG_APPEND_TIME = 8


def message(offset, value, key=None, magic=1, timestamp=-1, attributes=0):
    """One entry. timestamp is of magic 1 only."""
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", timestamp)
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(offset, values, magic=1, timestamps=(), attributes=0):
    """A gzip wrapper of messages with consecutive offsets from `offset` on. Inner offsets are
    absolute with magic 0, and count from 0 with magic 1; the wrapper has the last one's offset."""
    inner = b"".join(message(offset + i if magic == 0 else i, value, magic=magic,
                             timestamp=timestamps[i] if timestamps else -1)
                     for i, value in enumerate(values))
    return message(offset + len(values) - 1, gzip.compress(inner, mtime=0), magic=magic,
                   timestamp=max(timestamps) if timestamps else -1, attributes=attributes | 1)


def entries(data):
    """[(offset, position, size)] of the entries of a segment's bytes, of any magic."""
    found, at = [], 0
    while at + 12 <= len(data):
        offset, size = struct.unpack_from(">qi", data, at)
        found.append((offset, at, 12 + size))
        at += 12 + size
    return found
