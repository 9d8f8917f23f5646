"""Record batches (magic 2) for tests: built field by field, so that each can be made wrong."""
import gzip
import struct

_TABLE = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = _c >> 1 ^ (0x82f63b78 if _c & 1 else 0)
    _TABLE.append(_c)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def varint(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(data):
    return varint(-1) if data is None else varint(len(data)) + data


def record(value, key=None, offset_delta=0, timestamp_delta=0, headers=()):
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + field(key) + field(value)
    body += varint(len(headers))
    for name, content in headers:
        body += field(name) + field(content)
    return varint(len(body)) + body


def batch(values, *, key=None, timestamp=1700000000000, base_offset=0, leader_epoch=-1, magic=2,
          attributes=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, codec=None,
          records=None, count=None, last_offset_delta=None, max_timestamp=None, crc=None,
          length=None):
    """Bytes of one batch. values: the record values; any header field may be given to be wrong."""
    if records is None:
        records = b"".join(record(v, key, i) for i, v in enumerate(values))
    if codec == "gzip":
        records = gzip.compress(records, mtime=0)
        attributes |= 1
    count = len(values) if count is None else count
    last = len(values) - 1 if last_offset_delta is None else last_offset_delta
    latest = timestamp if max_timestamp is None else max_timestamp
    tail = struct.pack(">hiqqqhii", attributes, last, timestamp, latest, producer_id,
                       producer_epoch, base_sequence, count) + records
    crc = crc32c(tail) if crc is None else crc
    size = 9 + len(tail) if length is None else length
    return struct.pack(">qiibI", base_offset, size, leader_epoch, magic, crc) + tail


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at


def parse(data):
    """[(base offset, head fields, record bytes)] of batches laid back to back; a cut tail ends it."""
    found, at = [], 0
    while at + 61 <= len(data):
        base, size, epoch, magic, crc = struct.unpack_from(">qiibI", data, at)
        if at + 12 + size > len(data):
            break
        names = ("attributes", "last_offset_delta", "base_timestamp", "max_timestamp",
                 "producer_id", "producer_epoch", "base_sequence", "count")
        head = dict(zip(names, struct.unpack_from(">hiqqqhii", data, at + 21)))
        head.update(leader_epoch=epoch, magic=magic,
                    crc_ok=crc == crc32c(data[at + 21:at + 12 + size]))
        found.append((base, head, data[at + 61:at + 12 + size]))
        at += 12 + size
    return found
