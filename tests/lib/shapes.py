"""Random requests by the schema, and what damage can be done to their bytes.

    shapes = Shapes(rng, topic_ids); frame = shapes.request("Fetch", 12); frame = mutate(rng, frame)
"""
import os
import time

import kbatch
import kwire
from nodes import ROOT

class Shapes:
    """Random requests by the schema: names and ids that exist, numbers at the edges."""
    INTS = (-1, 0, 1, 2, 3, 5, 100, 1000, 65535, -2, 1 << 30)

    def __init__(self, rng, topic_ids, clock_ms=None):
        self.rng, self.topic_ids, self.clock_ms = rng, topic_ids, clock_ms
        self.names = [b"mine", b"other", b"", b"nobody", b"consumer", b"range", b"g1", b"g2", b"1",
                      b"cleanup.policy", b"compact", b"retention.ms", b"1000", b"\xff\xfe",
                      b"__consumer_offsets", b"x" * 300, b"metadata.version", b"group.version"]

    def number(self, base):
        bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}[base]
        signed = base.startswith("i")
        low = -(1 << bits - 1) if signed else 0
        high = (1 << bits - signed) - 1
        value = self.rng.choice(self.INTS + (low, high, self.rng.getrandbits(bits) + low))
        if self.rng.random() < 0.5:
            value = self.rng.choice((-1, 0, 1, 2))
        return max(low, min(high, value))

    def records(self):
        kind = self.rng.random()
        if kind < 0.1:
            return None
        if kind < 0.2:
            return self.rng.randbytes(self.rng.randrange(200))
        data = bytearray(kbatch.batch(
            [self.rng.randbytes(self.rng.randrange(40)) for _ in range(self.rng.randrange(1, 5))],
            codec=self.rng.choice((None, "gzip")), attributes=self.rng.choice((0, 0, 0, 16, 32, 48)),
            producer_id=self.rng.choice((-1, -1, 0, 7)), producer_epoch=self.rng.choice((-1, 0)),
            base_sequence=self.rng.choice((-1, 0, 5)), timestamp=self.clock_ms or int(time.time() * 1000)))
        if self.rng.random() < 0.3:
            data[self.rng.randrange(len(data))] = self.rng.randrange(256)
        return bytes(data)

    def value(self, m, field, version, depth):
        if field.array:
            if within_nullable(field, version) and self.rng.random() < 0.15:
                return None
            count = self.rng.choice((0, 1, 1, 1, 2, 3))
            return [self.one(m, field, version, depth) for _ in range(count)]
        return self.one(m, field, version, depth)

    def one(self, m, field, version, depth):
        base = field.base
        if within_nullable(field, version) and not field.array and self.rng.random() < 0.2:
            return None
        if base == "string":
            return self.rng.choice(self.names)
        if base == "bytes":
            return self.rng.randbytes(self.rng.choice((0, 1, 7, 60)))
        if base == "records":
            return self.records()
        if base == "uuid":
            return self.rng.choice(self.topic_ids + [kwire.ZERO_UUID, ODD_UUID])
        if base == "bool":
            return self.rng.random() < 0.5
        if base == "float64":
            return self.rng.choice((0.0, 1.5, -1.0, float("nan"), float("inf")))
        if base in kwire.SCALARS:
            return self.number(base)
        return self.fill(m, m.fields_of(field), version, depth + 1)

    def fill(self, m, fields, version, depth=0):
        return {f.name: self.value(m, f, version, depth) for f in fields
                if kwire.within(version, f.versions)}

    def request(self, name, version, fixed=None):
        """A frame; `fixed`: values of the top level that stay as they are."""
        m = kwire.message(name + "Request")
        values = self.fill(m, m.fields, version)
        for key in ("MaxWaitMs", "TimeoutMs", "timeoutMs", "RebalanceTimeoutMs"):
            if key in values:
                values[key] = self.rng.choice((0, 1, 50, 300))
        if name == "UnregisterBroker":
            values["BrokerId"] = 77
        values.update((f, v) for f, v in (fixed or {}).items() if f in values)
        client = self.rng.choice(("test", None, ""))
        return kwire.header(name, version, self.rng.getrandbits(31), client) + \
            kwire.encode(name + "Request", version, values)


ODD_UUID = "11111111-1111-4111-8111-111111111111"


def within_nullable(field, version):
    return kwire.within(version, field.nullable)


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        kind, at = rng.randrange(7), rng.randrange(4, max(5, len(data)))
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data += rng.randbytes(rng.randrange(1, 50))
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            data[at:at + 4] = rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\xff\xff",
                                          b"\x80\0\0\0", b"\0\x10\0\0"))
        elif kind == 4:
            data[at:at + 1] = rng.choice((b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x7f",
                                          b"\x80\x80\x80\x80\x08", b"\0"))
        elif kind == 5:
            data[at:at + rng.randrange(1, 9)] = b""
        else:
            data[at:at] = data[at:at + rng.randrange(1, 40)]
    return bytes(data)


def captured():
    path = os.path.join(ROOT, "tests", "golden", "wire", "captured.txt")
    with open(path, encoding="ascii") as lines:
        rows = [line.split() for line in lines]
    return [bytes.fromhex(row[3]) for row in rows if row[0] == "request"]
