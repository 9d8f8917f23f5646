#!/usr/bin/env python3
"""Prints or compares what DescribeConfigs (version 4, with synonyms) answers, complete lists.

usage: describe_configs.py HOST:PORT TYPE:NAME ...            prints, sorted by name
       describe_configs.py --compare HOST:PORT HOST:PORT TYPE:NAME ...
TYPE is the number of the resource type (2 topic, 4 broker, 16 client metrics, 32 group); NAME may be
empty (4: = the cluster-wide defaults). With --compare, differences are printed and give status 1.
Talks in raw bytes, so that no client library hides a field.
"""
import socket
import struct
import sys


def uvarint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def compact(text):
    data = text.encode()
    return uvarint(len(data) + 1) + data


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at:self.at + size]
        if len(part) != size:
            raise EOFError("answer ends early")
        self.at += size
        return part

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self):
        size = self.uvarint()
        return None if size == 0 else self.take(size - 1).decode()

    def tags(self):
        for _ in range(self.uvarint()):
            self.uvarint()
            self.take(self.uvarint())


def exchange(address, message):
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(message)) + message)
        stream = connection.makefile("rb")
        return stream.read(struct.unpack(">i", stream.read(4))[0])


def shown(text):
    return "\\N" if text is None else text


def describe(address, resources):
    """One block of lines for each resource."""
    body = uvarint(len(resources) + 1)
    for resource in resources:
        kind, name = resource.split(":", 1)
        body += struct.pack(">b", int(kind)) + compact(name) + b"\0\0"
    header = struct.pack(">hhih", 32, 4, 1, 4) + b"test\0"
    answer = Reader(exchange(address, header + body + b"\x01\x00\x00"))
    answer.number(">i")
    answer.tags()
    answer.number(">i")
    blocks = []
    for _ in range(answer.uvarint() - 1):
        error, message = answer.number(">h"), answer.string()
        kind, name = answer.number(">b"), answer.string()
        lines = []
        for _ in range(answer.uvarint() - 1):
            key, value = answer.string(), answer.string()
            read_only, source, sensitive = (answer.number(">b") for _ in range(3))
            synonyms = []
            for _ in range(answer.uvarint() - 1):
                other, text, rank = answer.string(), answer.string(), answer.number(">b")
                answer.tags()
                synonyms.append(f"{rank}:{other}={shown(text)}")
            kind_of_value, _ = answer.number(">b"), answer.string()
            answer.tags()
            lines.append("\t".join([key, shown(value), f"source={source}", f"ro={read_only}",
                                    f"sens={sensitive}", f"type={kind_of_value}",
                                    "syn=" + ";".join(synonyms)]))
        answer.tags()
        blocks.append([f"# {kind}:{name} error={error} message={shown(message)}"] + sorted(lines))
    return blocks


def main():
    args = sys.argv[1:]
    if len(args) < 2:
        raise SystemExit(__doc__)
    if args[0] != "--compare":
        for block in describe(args[0], args[1:]):
            print("\n".join(block))
        return
    differs = False
    for left, right in zip(describe(args[1], args[3:]), describe(args[2], args[3:])):
        for line in sorted(set(left) ^ set(right)):
            differs = True
            print(("- " if line in left else "+ ") + line)
    sys.exit(differs)


if __name__ == "__main__":
    main()
