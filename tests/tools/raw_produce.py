#!/usr/bin/env python3
"""Sends hand-made record bytes to a broker and prints what it answers.

Standard library only (snappy, lz4 and zstd cases need modules of those names). Used to keep
tests/golden/record/produce-answers.tsv true: run it against a node and compare.

    raw_produce.py HOST:PORT TOPIC-PREFIX [CASE ...]
"""
import gzip
import socket
import struct
import sys
import time

TABLE = None


def crc32c(data):
    global TABLE
    if TABLE is None:
        TABLE = []
        for i in range(256):
            c = i
            for _ in range(8):
                c = (c >> 1) ^ 0x82F63B78 if c & 1 else c >> 1
            TABLE.append(c)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def uvarint(v):
    out = bytearray()
    while True:
        b = v & 127
        v >>= 7
        if v:
            out.append(b | 128)
        else:
            out.append(b)
            return bytes(out)


def varint(v):
    return uvarint((v << 1) ^ (v >> 63) if v >= 0 else ((-v) << 1) - 1)


def blob(b):
    return varint(-1) if b is None else varint(len(b)) + b


def record(delta, ts=0, key=b"k", value=b"v", headers=(), size=None, attributes=0, tail=b""):
    body = bytes([attributes]) + varint(ts) + varint(delta) + blob(key) + blob(value)
    body += varint(len(headers))
    for k, v in headers:
        body += blob(k) + blob(v)
    body += tail
    return varint(len(body) if size is None else size) + body


def batch(records, count=None, last=None, base=0, ts=None, max_ts=None, attributes=0, pid=-1,
          epoch=-1, seq=-1, magic=2, length=None, crc=None, leader_epoch=-1, tail=b""):
    payload = b"".join(records) if isinstance(records, list) else records
    n = len(records) if isinstance(records, list) else 1
    count = n if count is None else count
    last = count - 1 if last is None else last
    ts = NOW if ts is None else ts
    max_ts = ts if max_ts is None else max_ts
    covered = struct.pack(">hiqqqhii", attributes, last, ts, max_ts, pid, epoch, seq, count)
    covered += payload
    crc = crc32c(covered) if crc is None else crc
    length = len(covered) + 9 if length is None else length
    return struct.pack(">qiibI", base, length, leader_epoch, magic, crc) + covered + tail


def string(s):
    return struct.pack(">h", -1) if s is None else struct.pack(">h", len(s)) + s.encode()


class Conn:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), 10)
        self.sock.settimeout(20)
        self.correlation = 0

    def call(self, key, version, body, flexible=False):
        self.correlation += 1
        head = struct.pack(">hhi", key, version, self.correlation) + string("raw")
        if flexible:
            head += b"\0"
        frame = head + body
        self.sock.sendall(struct.pack(">i", len(frame)) + frame)
        size = struct.unpack(">i", self.read(4))[0]
        answer = self.read(size)
        return answer[5 if flexible else 4:]

    def read(self, n):
        out = b""
        while len(out) < n:
            part = self.sock.recv(n - len(out))
            if not part:
                raise ConnectionError("closed")
            out += part
        return out


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, fmt):
        v = struct.unpack_from(">" + fmt, self.data, self.at)
        self.at += struct.calcsize(">" + fmt)
        return v[0] if len(v) == 1 else v

    def skip(self):
        size = self.get("h")
        self.at += size

    def uvarint(self):
        v = shift = 0
        while True:
            b = self.data[self.at]
            self.at += 1
            v |= (b & 127) << shift
            shift += 7
            if not b & 128:
                return v

    def cstring(self):
        n = self.uvarint()
        if n == 0:
            return None
        s = self.data[self.at:self.at + n - 1].decode()
        self.at += n - 1
        return s


def create_topic(conn, name, configs):
    body = struct.pack(">i", 1) + string(name) + struct.pack(">ihi", 1, 1, 0)
    body += struct.pack(">i", len(configs))
    for k, v in configs.items():
        body += string(k) + string(v)
    body += struct.pack(">ib", 10000, 0)
    r = Reader(conn.call(19, 4, body))
    r.get("ii")
    r.skip()
    return r.get("h")


def produce(conn, topic, records, version=9, acks=-1, txn=None):
    """(error, base_offset, log_append_time, [(index, text)], message)"""
    if version >= 9:
        body = uvarint(0 if txn is None else len(txn) + 1) + (txn or "").encode()
        body += struct.pack(">hi", acks, 10000)
        body += uvarint(2) + uvarint(len(topic) + 1) + topic.encode() + uvarint(2)
        body += struct.pack(">i", 0)
        body += uvarint(0) if records is None else uvarint(len(records) + 1) + records
        body += b"\0\0\0"
        r = Reader(conn.call(0, version, body, True))
        r.uvarint(), r.cstring(), r.uvarint()
        _, error, base, append_time, _ = r.get("ihqqq")
        errors = []
        for _ in range(r.uvarint() - 1):
            index = r.get("i")
            errors.append((index, r.cstring()))
            r.uvarint()
        return error, base, append_time, errors, r.cstring()
    body = string(txn) + struct.pack(">hi", acks, 10000)
    body += struct.pack(">i", 1) + string(topic) + struct.pack(">ii", 1, 0)
    body += struct.pack(">i", -1) if records is None else struct.pack(">i", len(records)) + records
    r = Reader(conn.call(0, version, body))
    r.get("i")
    r.skip()
    r.get("i")
    _, error, base, append_time = r.get("ihqq")
    return error, base, append_time, [], None


def fetch(conn, topic, offset):
    """The record bytes from `offset` on."""
    body = struct.pack(">iiiib", -1, 100, 0, 1 << 24, 0) + struct.pack(">i", 1) + string(topic)
    body += struct.pack(">iiqi", 1, 0, offset, 1 << 24)
    r = Reader(conn.call(1, 4, body))
    r.get("ii")
    r.skip()
    r.get("i")
    r.get("ihqq")
    aborted = r.get("i")
    r.at += 16 * max(aborted, 0)
    n = r.get("i")
    return r.data[r.at:r.at + n]


NOW = int(time.time() * 1000)
DAY = 86400000
GZIP = lambda b: gzip.compress(b, 6, mtime=0)


def cases():
    """name -> (topic kind, produce version, record bytes)"""
    ok = [record(0)]
    three = [record(i, i) for i in range(3)]
    z = b"\x28\xb5\x2f\xfd\x20\x09\x49\x00\x00"  # zstd frame of 9 raw bytes, completed below
    raw9 = record(0)
    zst = z + raw9
    zst_next = z + record(1)
    assert len(raw9) == 9
    c = {}
    c["ok"] = ("plain", 9, batch(ok))
    c["empty records"] = ("plain", 9, b"")
    c["torn header"] = ("plain", 9, batch(ok)[:40])
    c["torn records"] = ("plain", 9, batch(ok)[:-1])
    c["prefix only"] = ("plain", 9, batch(ok)[:12])
    c["16 bytes"] = ("plain", 9, batch(ok)[:16])
    c["two batches"] = ("plain", 9, batch(ok) + batch(ok))
    c["trailing garbage"] = ("plain", 9, batch(ok) + b"\xff" * 30)
    c["trailing few bytes"] = ("plain", 9, batch(ok) + b"\0" * 5)
    c["trailing torn batch"] = ("plain", 9, batch(ok) + batch(ok)[:50])
    for name, n in (("-1", -1), ("2^31-1", 2**31 - 1), ("0", 0), ("13", 13), ("14", 14), ("48", 48),
                    ("49", 49)):
        c["length " + name] = ("plain", 9, batch(ok, length=n))
    c["length one more"] = ("plain", 9, batch(ok, length=59))
    c["length one less"] = ("plain", 9, batch(ok, length=57))
    c["length one less, crc right"] = ("plain", 9, batch([record(0)[:-1]], count=1, tail=b"\0"))
    for m in (0, 1, 3, -1):
        c["magic %d" % m] = ("plain", 9, batch(ok, magic=m))
    c["bad crc"] = ("plain", 9, batch(ok, crc=1))
    c["leader epoch 7"] = ("plain", 9, batch(ok, leader_epoch=7))
    c["base offset 5"] = ("plain", 9, batch(ok, base=5))
    c["base offset -1"] = ("plain", 9, batch(ok, base=-1))
    c["count 0"] = ("plain", 9, batch(b"", count=0, last=0))
    c["count 0, last -1"] = ("plain", 9, batch(b"", count=0, last=-1))
    c["count -1"] = ("plain", 9, batch(ok, count=-1, last=0))
    c["count 2 of 1"] = ("plain", 9, batch(ok, count=2, last=0))
    c["count 2 and last 1 of 1"] = ("plain", 9, batch(ok, count=2, last=1))
    c["count 2 of 3"] = ("plain", 9, batch(three, count=2, last=1))
    c["last -2"] = ("plain", 9, batch(ok, last=-2))
    c["control"] = ("plain", 9, batch([record(0, key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")],
                                      attributes=0x20))
    c["codec 5"] = ("plain", 9, batch(ok, attributes=5))
    c["codec 7"] = ("plain", 9, batch(ok, attributes=7))
    c["attributes bit 7"] = ("plain", 9, batch(ok, attributes=0x80))
    c["attributes bit 15"] = ("plain", 9, batch(ok, attributes=-0x8000))
    c["delete horizon bit"] = ("plain", 9, batch(ok, attributes=0x40))
    c["log append time bit"] = ("plain", 9, batch(ok, attributes=8))
    c["log append time bit, gzip"] = ("plain", 9, batch(GZIP(ok[0]), attributes=9))
    c["log append time bit on such a topic"] = ("logappend", 9, batch(ok, attributes=8))
    c["on a log append time topic"] = ("logappend", 9, batch(three))
    c["pid, no sequence"] = ("plain", 9, batch(ok, pid=1, epoch=0))
    c["pid, sequence -2"] = ("plain", 9, batch(ok, pid=1, epoch=0, seq=-2))
    c["sequence, no pid"] = ("plain", 9, batch(ok, seq=4))
    c["offset deltas 0 0 0"] = ("plain", 9, batch([record(0)] * 3))
    c["offset deltas 0 5 9"] = ("plain", 9, batch([record(0), record(5), record(9)]))
    c["offset deltas 0 5 9, last 9"] = ("plain", 9, batch([record(0), record(5), record(9)], last=9))
    c["offset deltas 2 1 0"] = ("plain", 9, batch([record(2), record(1), record(0)]))
    c["offset deltas 0 0 0 gzip"] = ("plain", 9, batch(GZIP(record(0) * 3), count=3, attributes=1))
    c["offset deltas 2 1 0 gzip"] = ("plain", 9, batch(GZIP(record(2) + record(1) + record(0)),
                                                       count=3, attributes=1))
    c["offset delta -1"] = ("plain", 9, batch([record(-1)]))
    for how, pack, a in (("", lambda b: b, 0), (" gzip", GZIP, 1)):
        def one(r, count=1, how=how, pack=pack, a=a, **kw):
            return batch(pack(r), count=count, attributes=a, **kw)
        c["record size one more" + how] = ("plain", 9, one(record(0, size=9)))
        c["record size one less" + how] = ("plain", 9, one(record(0, size=7)))
        c["record size -1" + how] = ("plain", 9, one(record(0, size=-1)))
        c["record size 0" + how] = ("plain", 9, one(record(0, size=0)))
        c["record size huge" + how] = ("plain", 9, one(record(0, size=2**31 - 1)))
        c["record with a tail" + how] = ("plain", 9, one(record(0, tail=b"\0\0")))
        c["record cut" + how] = ("plain", 9, one(record(0)[:-3]))
        c["no record bytes" + how] = ("plain", 9, one(b""))
        c["bytes after the records" + how] = ("plain", 9, one(record(0) + b"\0"))
        c["record attributes 1" + how] = ("plain", 9, one(record(0, attributes=1)))
        c["record attributes -1" + how] = ("plain", 9, one(record(0, attributes=255)))
        body = b"\0\0\0" + varint(100) + b"k" + blob(b"v") + b"\0"
        c["key size too large" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0\0" + varint(-5) + blob(b"v") + b"\0"
        c["key size -5" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0\0" + blob(b"k") + varint(-5) + b"\0"
        c["value size -5" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0\0" + blob(b"k") + blob(b"v") + varint(-1)
        c["header count -1" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0\0" + blob(b"k") + blob(b"v") + varint(100)
        c["header count 100" + how] = ("plain", 9, one(varint(len(body)) + body))
        c["header key null" + how] = ("plain", 9, one(record(0, headers=[(None, b"x")])))
        c["header value null" + how] = ("plain", 9, one(record(0, headers=[(b"h", None)])))
        c["header key not utf-8" + how] = ("plain", 9, one(record(0, headers=[(b"\xff\xfe", b"")])))
        body = b"\0" + b"\xff" * 5 + b"\x0f" + b"\0" + blob(b"k") + blob(b"v") + b"\0"
        c["timestamp varint of 6 bytes" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0" + b"\xff" * 10 + b"\1" + b"\0" + blob(b"k") + blob(b"v") + b"\0"
        c["timestamp varint of 11 bytes" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0" + b"\x80\x80\x80\x80\x80\0" + blob(b"k") + blob(b"v") + b"\0"
        c["offset varint of 6 bytes" + how] = ("plain", 9, one(varint(len(body)) + body))
        body = b"\0\0" + b"\x80\0" + blob(b"k") + blob(b"v") + b"\0"
        c["offset varint longer than needed" + how] = ("plain", 9, one(varint(len(body)) + body))
        c["count 2 of 1 bytes" + how] = ("plain", 9, one(record(0), 2))
        c["max timestamp wrong" + how] = ("plain", 9, one(record(0, 5) + record(1, 9), 2, max_ts=0))
        c["timestamps -1" + how] = ("plain", 9, one(record(0), 1, ts=-1))
        c["timestamp -2" + how] = ("plain", 9, one(record(0), 1, ts=-2))
        c["no keys on a compacted topic" + how] = (
            "compact", 9, one(record(0, key=None) + record(1) + record(2, key=None), 3))
        c["five without keys" + how] = (
            "compact", 9, one(b"".join(record(i, key=None) for i in range(5)), 5))
        c["empty key on a compacted topic" + how] = ("compact", 9, one(record(0, key=b"")))
        c["no value on a compacted topic" + how] = ("compact", 9, one(record(0, value=None)))
        c["too old" + how] = ("limits", 9, one(record(0) + record(1, -2 * DAY), 2))
        c["too new" + how] = ("limits", 9, one(record(0, 2 * DAY) + record(1, 0), 2))
        c["no key and too old" + how] = (
            "compactlimits", 9, one(record(0, key=None) + record(1, -2 * DAY), 2))
        c["no key and too old in one" + how] = (
            "compactlimits", 9, one(record(0, -2 * DAY, key=None), 1))
        c["too large" + how] = ("small", 9, one(record(0, value=bytes(range(256)) * 8)))
        c["bad crc and too large" + how] = (
            "small", 9, one(record(0, value=bytes(range(256)) * 8), crc=9))
        c["to gzip" + how] = ("gzip", 9, one(b"".join(record(i, i) for i in range(3)), 3))
        c["to none" + how] = ("none", 9, one(b"".join(record(i, i) for i in range(3)), 3))
        c["to lz4" + how] = ("lz4", 9, one(b"".join(record(i, i) for i in range(3)), 3))
        c["to zstd" + how] = ("zstd", 9, one(b"".join(record(i, i) for i in range(3)), 3))
        c["to snappy" + how] = ("snappy", 9, one(b"".join(record(i, i) for i in range(3)), 3))
        c["to zstd, produce 3" + how] = ("zstd", 3, one(record(0)))
        c["to gzip, base timestamp wrong" + how] = (
            "gzip", 9, one(record(0, 7) + record(1, 3), 2, max_ts=1))
        c["to gzip on a log append time topic" + how] = (
            "gziplogappend", 9, one(record(0, 7) + record(1, 3), 2))
        c["to gzip, headers" + how] = (
            "gzip", 9, one(record(0, headers=[(b"a", b"b"), (b"c", None)]) + record(1), 2))
        c["to gzip, idempotent" + how] = (
            "gzip", 9, one(record(0) + record(1), 2, pid=70 + a, epoch=0, seq=0))
        c["to gzip, record attributes 1" + how] = ("gzip", 9, one(record(0, attributes=1)))
        c["log append time bit, timestamp -1" + how] = (
            "plain", 9, batch(pack(record(0)), count=1, attributes=a | 8, max_ts=-1))
        c["log append time bit, max timestamp apart" + how] = (
            "plain", 9, batch(pack(record(0)), count=1, attributes=a | 8, max_ts=NOW + 77))
        c["to gzip, deltas 2 1 0" + how] = (
            "gzip", 9, one(record(2) + record(1) + record(0), 3))
    c["zstd"] = ("plain", 9, batch(zst, attributes=4))
    c["zstd, produce 6"] = ("plain", 6, batch(zst, attributes=4))
    c["two batches, produce 3"] = ("plain", 3, batch(ok) + batch(ok))
    c["gzip garbage"] = ("plain", 9, batch(b"\1\2\3\4garbagegarbage", attributes=1))
    c["gzip cut"] = ("plain", 9, batch(GZIP(ok[0])[:-9], attributes=1))
    c["gzip without its trailer"] = ("plain", 9, batch(GZIP(ok[0])[:-8], attributes=1))
    bad = bytearray(GZIP(ok[0]))
    bad[-5] ^= 1
    c["gzip wrong checksum"] = ("plain", 9, batch(bytes(bad), attributes=1))
    c["gzip with a tail"] = ("plain", 9, batch(GZIP(ok[0]) + b"tail", attributes=1))
    c["two gzip members"] = ("plain", 9, batch(GZIP(record(0)) + GZIP(record(1)), count=2,
                                               attributes=1))
    snappy_raw = b"\x09\x20" + raw9
    xerial = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + struct.pack(">i", len(snappy_raw)) + snappy_raw
    c["snappy raw"] = ("plain", 9, batch(snappy_raw, attributes=2))
    c["snappy xerial"] = ("plain", 9, batch(xerial, attributes=2))
    c["snappy xerial twice"] = ("plain", 9, batch(xerial + xerial[:-9] + record(1), count=2, attributes=2))
    c["snappy two blocks"] = ("plain", 9, batch(xerial + xerial[16:-9] + record(1), count=2,
                                                attributes=2))
    c["snappy garbage"] = ("plain", 9, batch(b"\xff\xff\xff\xff\x7fgarbage", attributes=2))
    c["snappy short"] = ("plain", 9, batch(b"\x09", attributes=2))
    c["snappy xerial cut"] = ("plain", 9, batch(xerial[:-1], attributes=2))
    c["snappy xerial version 0"] = ("plain", 9, batch(xerial[:8] + b"\0" * 8 + xerial[16:],
                                                      attributes=2))
    block = struct.pack("<I", len(raw9) | 0x80000000) + raw9
    lz4 = b"\x04\x22\x4d\x18\x60\x40\x82" + block + b"\0\0\0\0"
    c["lz4"] = ("plain", 9, batch(lz4, attributes=3))
    c["lz4 wrong header checksum"] = ("plain", 9, batch(lz4.replace(b"\x40\x82", b"\x40\x83", 1),
                                                        attributes=3))
    c["lz4 old header checksum"] = ("plain", 9, batch(lz4.replace(b"\x40\x82", b"\x40\x1a", 1),
                                                      attributes=3))
    c["lz4 without end mark"] = ("plain", 9, batch(lz4[:-4], attributes=3))
    c["lz4 with a tail"] = ("plain", 9, batch(lz4 + b"tail", attributes=3))
    c["lz4 garbage"] = ("plain", 9, batch(b"garbagegarbage", attributes=3))
    c["lz4 linked blocks"] = ("plain", 9, batch(b"\x04\x22\x4d\x18\x40\x40\xc0" + lz4[7:],
                                                attributes=3))
    c["lz4 empty"] = ("plain", 9, batch(b"", attributes=3, count=1))
    c["two lz4 frames"] = ("plain", 9, batch(lz4 + lz4[:-13] + record(1) + lz4[-4:], count=2,
                                             attributes=3))
    c["two lz4 blocks"] = ("plain", 9, batch(lz4[:-4] + block[:-9] + record(1) + lz4[-4:], count=2,
                                             attributes=3))
    c["zstd garbage"] = ("plain", 9, batch(b"garbagegarbage", attributes=4))
    c["zstd cut"] = ("plain", 9, batch(zst[:-1], attributes=4))
    c["zstd with a tail"] = ("plain", 9, batch(zst + b"tail", attributes=4))
    c["two zstd frames"] = ("plain", 9, batch(zst + zst_next, count=2, attributes=4))
    return c


KINDS = {
    "plain": {},
    "compact": {"cleanup.policy": "compact"},
    "logappend": {"message.timestamp.type": "LogAppendTime"},
    "limits": {"message.timestamp.before.max.ms": str(DAY), "message.timestamp.after.max.ms": str(DAY)},
    "compactlimits": {"cleanup.policy": "compact", "message.timestamp.before.max.ms": str(DAY),
                      "message.timestamp.after.max.ms": str(DAY)},
    "small": {"max.message.bytes": "1000"},
    "gzip": {"compression.type": "gzip"},
    "gziplogappend": {"compression.type": "gzip", "message.timestamp.type": "LogAppendTime"},
    "none": {"compression.type": "uncompressed"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "snappy": {"compression.type": "snappy"},
}


def main():
    address, prefix, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    conn = Conn(address)
    for kind, configs in KINDS.items():
        create_topic(conn, "%s-%s" % (prefix, kind), configs)
    time.sleep(1)
    for name, (kind, version, data) in cases().items():
        if only and name not in only:
            continue
        topic = "%s-%s" % (prefix, kind)
        try:
            error, base, append_time, errors, message = produce(conn, topic, data, version)
            stored = ""
            if error == 0 and base >= 0:
                stored = fetch(conn, topic, base).hex()
        except (ConnectionError, OSError, struct.error) as e:
            print("\t".join([name, kind, str(version), "closed", repr(e)]))
            conn = Conn(address)
            continue
        texts = " | ".join("%d: %s" % (i, t) for i, t in errors)
        row = [name, kind, str(version), str(error), "null" if message is None else message, texts,
               "" if append_time < 0 else "append time", data.hex() if data is not None else "null",
               stored]
        print("\t".join(f.replace("\t", " ") for f in row), flush=True)


if __name__ == "__main__":
    main()
