#!/usr/bin/env python3
"""Listens on the loopback interface to clients and nodes of Apache Kafka, and keeps a few requests and
responses of every API and version (Linux, needs the right to open packet sockets).

usage: capture_wire.py PORT[,PORT..] OUT [SECONDS]

OUT gets lines "request|response API VERSION HEX", where HEX is a frame without its size. It stops
after SECONDS or on SIGINT. Frames that were seen before in that file are kept, so that a capture can
be repeated. tests/unit/wire/test_golden.c reads the file.
"""
import os
import select
import signal
import socket
import struct
import sys
import time

FRAME_SIZE_MAX = 1200  # larger frames teach nothing new
KEPT_MAX = 4           # of each kind, API, version and rough size
API_KEYS = range(0, 95)
PACKET_OUTGOING = 4
ETH_HEADER_SIZE = 14


class Stream:
    """One direction of a connection: bytes in order, cut into frames."""

    def __init__(self, seq):
        self.seq, self.ahead, self.bytes = seq, {}, b""

    def add(self, seq, data):
        if ((seq - self.seq) & 0xFFFFFFFF) >= 1 << 31:
            return  # sent again
        self.ahead[seq] = data
        while self.seq in self.ahead:
            data = self.ahead.pop(self.seq)
            self.bytes += data
            self.seq = (self.seq + len(data)) & 0xFFFFFFFF

    def frames(self):
        while len(self.bytes) >= 4:
            size = struct.unpack(">I", self.bytes[:4])[0]
            if len(self.bytes) < 4 + size:
                return
            yield self.bytes[4:4 + size]
            self.bytes = self.bytes[4 + size:]


class Capture:
    def __init__(self, ports, path):
        self.ports, self.path = ports, path
        self.streams, self.pending, self.kept = {}, {}, {}
        if os.path.exists(path):
            for line in open(path, encoding="ascii"):
                kind, api, version, text = line.split()
                self.keep(kind, int(api), int(version), bytes.fromhex(text))

    def keep(self, kind, api, version, frame):
        if len(frame) > FRAME_SIZE_MAX:
            return
        group = self.kept.setdefault((kind == "response", api, version), {})
        bucket = group.setdefault(len(frame).bit_length(), [])
        if len(bucket) < KEPT_MAX and not any(len(old) == len(frame) for old in bucket):
            bucket.append(frame)

    def packet(self, data):
        ip = data[ETH_HEADER_SIZE:]
        if len(ip) < 40 or ip[0] >> 4 != 4 or ip[9] != socket.IPPROTO_TCP:
            return
        tcp = ip[(ip[0] & 15) * 4:struct.unpack(">H", ip[2:4])[0] or len(ip)]
        source, target, seq = struct.unpack(">HHI", tcp[:8])
        if source not in self.ports and target not in self.ports:
            return
        key, syn = (source, target), tcp[13] & 2
        if syn:
            self.streams[key] = Stream((seq + 1) & 0xFFFFFFFF)
            if target in self.ports:
                self.pending[key] = {}
            return
        payload = tcp[(tcp[12] >> 4) * 4:]
        if payload and key in self.streams:
            self.streams[key].add(seq, payload)
            for frame in self.streams[key].frames():
                self.frame(key, frame)

    def frame(self, key, frame):
        source, target = key
        if target in self.ports and key in self.pending and len(frame) >= 8:
            api, version, correlation = struct.unpack(">hhi", frame[:8])
            if api in API_KEYS:
                self.pending[key][correlation] = (api, version)
                self.keep("request", api, version, frame)
        elif source in self.ports and len(frame) >= 4:
            correlation = struct.unpack(">i", frame[:4])[0]
            asked = self.pending.get((target, source), {}).pop(correlation, None)
            if asked:
                self.keep("response", *asked, frame)

    def write(self):
        with open(self.path, "w", encoding="ascii") as out:
            for (response, api, version), group in sorted(self.kept.items()):
                for size in sorted(group):
                    for frame in group[size]:
                        kind = "response" if response else "request"
                        out.write(f"{kind} {api} {version} {frame.hex()}\n")


def main():
    ports = {int(port) for port in sys.argv[1].split(",")}
    capture = Capture(ports, sys.argv[2])
    end = time.monotonic() + float(sys.argv[3]) if len(sys.argv) > 3 else None
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    listener.bind(("lo", 0))
    while not stopped and (end is None or time.monotonic() < end):
        if not select.select([listener], [], [], 0.2)[0]:
            continue
        data, address = listener.recvfrom(1 << 17)
        if address[2] != PACKET_OUTGOING:
            capture.packet(data)
    capture.write()
    print(f"{sum(len(f) for g in capture.kept.values() for f in g.values())} frames of "
          f"{len(capture.kept)} kinds", file=sys.stderr)


main()
