"""Kafka's wire protocol for tests: messages as dicts, encoded and decoded from the tables in schema/.

    c = Connection("127.0.0.1", 9092)
    c.call("Metadata", 12, {"Topics": None})          -> dict of the response
    encode("MetadataRequest", 12, {...}), decode("MetadataResponse", 12, data)

Fields left out of a dict take the schema's default. Written apart from the C codec on purpose: the
two check one another.
"""
import glob
import os
import re
import socket
import struct
import uuid as uuids

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MESSAGES = os.path.join(ROOT, "schema", "messages")
API_KEYS = os.path.join(ROOT, "schema", "api-keys.tsv")
FOREVER = 1 << 15


class Malformed(Exception):
    pass


def versions(text):
    """'3+', '1-4', '7', 'none' -> (low, high)."""
    if text in (None, "none", "-"):
        return (1, 0)
    if text.endswith("+"):
        return (int(text[:-1]), FOREVER)
    low, _, high = text.partition("-")
    return (int(low), int(high or low))


def within(version, span):
    return span[0] <= version <= span[1]


class Field:
    def __init__(self, words):
        self.name, self.type = words[0], words[1]
        options = dict(w.split("=", 1) for w in words[2:] if "=" in w)
        self.array = self.type.startswith("[]")
        self.base = self.type[2:] if self.array else self.type
        self.tagged = versions(options["tagged"]) if "tagged" in options else (1, 0)
        self.versions = versions(options["versions"]) if "versions" in options else self.tagged
        self.nullable = versions(options.get("nullable"))
        self.tag = int(options["tag"]) if "tag" in options else None
        self.flexible = versions(options["flexible"]) if "flexible" in options else None
        self.default = options.get("default")
        self.fields = []


class Message:
    def __init__(self, path):
        self.structs = {}
        stack = []
        for line in open(path, encoding="utf-8"):
            line = line.rstrip("\n")
            if not line.strip():
                continue
            depth = (len(line) - len(line.lstrip())) // 2
            words = re.findall(r'\S+="[^"]*"|\S+', line)
            if words[0] in ("message", "struct"):
                options = dict(w.split("=", 1) for w in words[2:] if "=" in w)
                if words[0] == "message":
                    self.name = words[1]
                    self.key = int(options["key"]) if "key" in options else None
                    self.versions = versions(options.get("versions"))
                    self.flexible = versions(options.get("flexible"))
                    self.fields = []
                    target = self.fields
                else:
                    target = self.structs.setdefault(words[1], [])
                stack = [target]
                continue
            field = Field(words)
            del stack[depth:]
            stack[depth - 1].append(field)
            stack.append(field.fields)
            if field.base not in SCALARS and field.base not in self.structs:
                self.structs.setdefault(field.base, field.fields)

    def fields_of(self, field):
        return field.fields or self.structs[field.base]


class Writer:
    def __init__(self):
        self.parts = []

    def raw(self, data):
        self.parts.append(bytes(data))

    def pack(self, fmt, value):
        self.parts.append(struct.pack(">" + fmt, value))

    def uvarint(self, value):
        out = bytearray()
        while value > 0x7f:
            out.append(value & 0x7f | 0x80)
            value >>= 7
        out.append(value)
        self.parts.append(bytes(out))

    def bytes(self):
        return b"".join(self.parts)


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise Malformed(f"{size} bytes wanted at {self.at} of {len(self.data)}")
        self.at += size
        return self.data[self.at - size:self.at]

    def unpack(self, fmt):
        return struct.unpack(">" + fmt, self.take(struct.calcsize(">" + fmt)))[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 63:
                raise Malformed("varint")


SCALARS = {"bool": "b", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H",
           "uint32": "I", "float64": "d", "string": None, "bytes": None, "records": None,
           "uuid": None}
ZERO_UUID = "00000000-0000-0000-0000-000000000000"


def default_of(message, field, version):
    if field.array:
        return None if field.default == "null" else []
    if field.default == "null":
        return None
    if field.base in ("bool",):
        return field.default == "true"
    if field.base == "float64":
        return float(field.default or 0)
    if field.base in SCALARS and SCALARS[field.base]:
        return int(field.default or "0", 0)
    if field.base == "string":
        return (field.default or "").strip('"')
    if field.base in ("bytes", "records"):
        return b""
    if field.base == "uuid":
        return ZERO_UUID
    return {f.name: default_of(message, f, version) for f in message.fields_of(field)
            if within(version, f.versions)}


def put_length(w, size, flexible, fmt):
    if flexible:
        w.uvarint(0 if size is None else size + 1)
    else:
        w.pack(fmt, -1 if size is None else size)


def put_value(w, message, field, version, value, flexible, base_only=False):
    if field.array and not base_only:
        put_length(w, None if value is None else len(value), flexible, "i")
        for item in value or []:
            put_value(w, message, field, version, item, flexible, base_only=True)
        return
    kind = field.base
    if kind == "string":
        data = None if value is None else value if isinstance(value, bytes) else value.encode()
        put_length(w, None if data is None else len(data), flexible, "h")
        w.raw(data or b"")
    elif kind in ("bytes", "records"):
        put_length(w, None if value is None else len(value), flexible, "i")
        w.raw(value or b"")
    elif kind == "uuid":
        w.raw(uuids.UUID(value).bytes)
    elif kind in SCALARS:
        w.pack(SCALARS[kind], int(value) if kind == "bool" else value)
    else:
        if within(version, field.nullable) and not field.array:
            w.pack("b", -1 if value is None else 1)
            if value is None:
                return
        put_struct(w, message, message.fields_of(field), version, value, flexible)


def put_struct(w, message, fields, version, values, flexible):
    unknown = set(values) - {f.name for f in fields} - {"_tags"}
    if unknown:
        raise KeyError(f"{message.name}: no field {', '.join(sorted(unknown))}")
    tagged = []
    for field in fields:
        if not within(version, field.versions):
            continue
        is_tagged = within(version, field.tagged) and flexible
        value = values.get(field.name, default_of(message, field, version))
        compact = flexible if field.flexible is None else within(version, field.flexible)
        if is_tagged:
            if field.name in values and value != default_of(message, field, version):
                part = Writer()
                put_value(part, message, field, version, value, compact)
                tagged.append((field.tag, part.bytes()))
        else:
            put_value(w, message, field, version, value, compact)
    if flexible:
        tagged += list(values.get("_tags", {}).items())
        w.uvarint(len(tagged))
        for tag, data in sorted(tagged):
            w.uvarint(tag)
            w.uvarint(len(data))
            w.raw(data)


def get_length(r, flexible, fmt):
    return r.uvarint() - 1 if flexible else r.unpack(fmt)


def get_value(r, message, field, version, flexible, base_only=False):
    if field.array and not base_only:
        count = get_length(r, flexible, "i")
        if count < 0:
            return None
        if count > len(r.data) - r.at:
            raise Malformed(f"{field.name}: {count} items")
        return [get_value(r, message, field, version, flexible, True) for _ in range(count)]
    kind = field.base
    if kind == "string":
        size = get_length(r, flexible, "h")
        return None if size < 0 else r.take(size).decode("utf-8", "replace")
    if kind in ("bytes", "records"):
        size = get_length(r, flexible, "i")
        return None if size < 0 else r.take(size)
    if kind == "uuid":
        return str(uuids.UUID(bytes=r.take(16)))
    if kind == "bool":
        return r.unpack("b") != 0
    if kind in SCALARS:
        return r.unpack(SCALARS[kind])
    if within(version, field.nullable) and not field.array and r.unpack("b") < 0:
        return None
    return get_struct(r, message, message.fields_of(field), version, flexible)


def get_struct(r, message, fields, version, flexible):
    values = {}
    by_tag = {}
    for field in fields:
        if not within(version, field.versions):
            continue
        if flexible and within(version, field.tagged):
            by_tag[field.tag] = field
            values[field.name] = default_of(message, field, version)
            continue
        compact = flexible if field.flexible is None else within(version, field.flexible)
        values[field.name] = get_value(r, message, field, version, compact)
    if flexible:
        for _ in range(r.uvarint()):
            tag, size = r.uvarint(), r.uvarint()
            part = Reader(r.take(size))
            if tag in by_tag:
                field = by_tag[tag]
                values[field.name] = get_value(part, message, field, version, True)
            else:
                values.setdefault("_tags", {})[tag] = part.data
    return values


_loaded = {}


def message(name):
    """The schema of a request, response or record."""
    if name not in _loaded:
        path = os.path.join(MESSAGES, name + ".txt")
        if not os.path.exists(path):
            path = glob.glob(os.path.join(ROOT, "schema", "records", "*", name + ".txt"))[0]
        _loaded[name] = Message(path)
    return _loaded[name]


def encode(name, version, values):
    m, w = message(name), Writer()
    put_struct(w, m, m.fields, version, values, within(version, m.flexible))
    return w.bytes()


def decode(name, version, data):
    """The message; Malformed when bytes are left over."""
    m, r = message(name), Reader(data)
    values = get_struct(r, m, m.fields, version, within(version, m.flexible))
    if r.at != len(data):
        raise Malformed(f"{name} v{version}: {len(data) - r.at} bytes left over")
    return values


def apis():
    """{name: (key, low, high)} of the table of API keys, removed ones left out."""
    rows = [l.rstrip("\n").split("\t") for l in open(API_KEYS, encoding="utf-8")]
    head = rows[0]
    found = {}
    for row in rows[1:]:
        row = dict(zip(head, row))
        span = versions(row["versions"])
        if span[0] <= span[1]:
            found[row["name"]] = (int(row["key"]), *span)
    return found


APIS = apis()


def header(name, version, correlation, client="test"):
    m = message(name + "Request")
    flexible = within(version, m.flexible)
    w = Writer()
    w.pack("h", APIS[name][0])
    w.pack("h", version)
    w.pack("i", correlation)
    if client is None:
        w.pack("h", -1)
    else:
        w.pack("h", len(client))
        w.raw(client.encode())
    if flexible:
        w.uvarint(0)
    return w.bytes()


class Closed(Exception):
    """The broker closed the connection."""


class Connection:
    def __init__(self, host, port, timeout=30):
        self.sock = socket.create_connection((host, port), timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send_frame(self, data):
        self.sock.sendall(struct.pack(">i", len(data)) + data)

    def _receive(self, size):
        data = bytearray()
        while len(data) < size:
            try:
                part = self.sock.recv(size - len(data))
            except ConnectionError as e:
                raise Closed(str(e)) from None
            if not part:
                raise Closed(f"after {len(data)} of {size} bytes")
            data += part
        return bytes(data)

    def receive_frame(self):
        return self._receive(struct.unpack(">i", self._receive(4))[0])

    def send(self, name, version, values, client="test"):
        self.correlation += 1
        body = values if isinstance(values, bytes) else encode(name + "Request", version, values)
        self.send_frame(header(name, version, self.correlation, client) + body)
        return self.correlation

    def receive(self, name, version, correlation=None):
        data = self.receive_frame()
        r = Reader(data)
        got = r.unpack("i")
        if correlation is not None and got != correlation:
            raise Malformed(f"correlation id {got}, not {correlation}")
        m = message(name + "Response")
        if name != "ApiVersions" and within(version, m.flexible):
            for _ in range(r.uvarint()):
                r.uvarint()
                r.take(r.uvarint())
        body = data[r.at:]
        if name == "ApiVersions" and version > 0 and body[:2] == b"\x00\x23":
            return decode(name + "Response", 0, body)
        return decode(name + "Response", version, body)

    def call(self, name, version, values, client="test"):
        return self.receive(name, version, self.send(name, version, values, client))
