#!/usr/bin/env python3
"""What clients must not be able to do to a node: bytes of any kind, and clients that behave badly.

usage: test_bad_input.py [--seconds N] [--seed N] [--only PHASE[,PHASE]] [--strict]

Meanwhile a good client in a process of its own produces and fetches without a pause: it must be
served, and the node's memory must stay below a budget. The limits of time only tell "served" from
"stuck", so that a busy machine changes no result; on a quiet one --strict asks that the client never
waits longer than a second. Worth most with a node built with sanitizers: KLAMM=build-asan/klamm.
--seconds bounds the phase of mutated frames.
"""
import argparse
import gzip
import multiprocessing
import os
import random
import selectors
import socket
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
from nodes import KLAMM, Klamm, check, finish  # noqa: E402
from shapes import Shapes, captured, mutate  # noqa: E402

with open(KLAMM, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()
GROWTH_MAX_MB = 1500 if SANITIZED else 400
WAIT_MAX_S = 45 if SANITIZED else 15  # main sets less for --strict


# ---- the good client and the watch ---------------------------------------------------------------

def pulse(port, worst, late, ready, stop):
    """Produces and fetches in turn; notes the longest wait and how late this process itself ran."""
    connections = [kwire.Connection("127.0.0.1", port, timeout=60) for _ in range(4)]
    records = kbatch.batch([b"pulse"], timestamp=int(time.time() * 1000))
    produce = {"Acks": -1, "TimeoutMs": 5000, "TopicData": [
        {"Name": "pulse", "PartitionData": [{"Index": 0, "Records": records}]}]}
    due = time.monotonic()
    while not stop.value:
        began = time.monotonic()
        late.value = max(late.value, began - due)
        c = connections[0]
        connections.append(connections.pop(0))
        answer = c.call("Produce", 9, produce)["Responses"][0]["PartitionResponses"][0]
        offset = answer["BaseOffset"]
        if answer["ErrorCode"]:
            worst.value = 1000 + answer["ErrorCode"]
            return
        got = c.call("Fetch", 12, {"MaxWaitMs": 500, "MinBytes": 1, "MaxBytes": 1000, "Topics": [
            {"Topic": "pulse", "Partitions": [{"Partition": 0, "FetchOffset": offset,
                                               "PartitionMaxBytes": 1000}]}]})
        if not got["Responses"][0]["Partitions"][0]["Records"]:
            worst.value = 2000
            return
        worst.value = max(worst.value, time.monotonic() - began)
        ready.set()
        due = time.monotonic() + 0.05
        time.sleep(0.05)


def complaint(node):
    """What the node said last, from the sanitizer's report on."""
    log = node.log()
    starts = [at for at in (log.find("==ERROR"), log.find("runtime error:") - 200) if at > 0]
    return log[min(starts):][:4000] if starts else log[-3000:]


class Watch:
    """The pulse and the node's memory during one phase."""

    def __init__(self, node):
        self.node, self.base_kb = node, node.rss_kb()

    def __enter__(self):
        self.worst, self.late = multiprocessing.Value("d", 0), multiprocessing.Value("d", 0)
        self.stop, self.peak_kb, self.done = multiprocessing.Value("b", 0), 0, False
        ready = multiprocessing.Event()
        self.process = multiprocessing.Process(
            target=pulse, args=(self.node.port, self.worst, self.late, ready, self.stop),
            daemon=True)
        self.process.start()
        ready.wait(60)
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self.watch_memory, daemon=True)
        self.thread.start()
        return self

    def watch_memory(self):
        while not self.done:
            try:
                self.peak_kb = max(self.peak_kb, self.node.rss_kb())
            except (OSError, StopIteration):
                return
            time.sleep(0.05)

    def __exit__(self, *_):
        self.stop.value = 1
        self.process.join(70)
        self.done = True
        self.thread.join()

    def report(self, phase):
        alive = self.node.process.poll() is None
        check(f"{phase}: the node lives", alive, complaint(self.node))
        if not alive:
            finish()
        limit = WAIT_MAX_S + 10 * self.late.value
        check(f"{phase}: a good client is served",
              self.process.exitcode == 0 and self.worst.value < limit,
              f"{self.worst.value:.2f} s (process late by {self.late.value:.2f} s), "
              f"exit {self.process.exitcode}")
        peak = (self.peak_kb - self.base_kb) // 1024
        check(f"{phase}: memory stays within the budget", peak < GROWTH_MAX_MB,
              f"grew by {peak} MB")
        print(f"#     {phase}: {time.monotonic() - self.began:.1f} s, worst "
              f"{self.worst.value * 1000:.0f} ms, memory +{peak} MB, "
              f"now {self.node.rss_kb() // 1024} MB", flush=True)


# ---- many connections ----------------------------------------------------------------------------

class Swarm:
    """Up to `width` connections, each with what it was sent; the oldest goes when a new one comes."""

    def __init__(self, width=48):
        self.width, self.socks = width, []
        self.selector = selectors.DefaultSelector()
        self.answers = self.closed = 0

    def send(self, port, data):
        if len(self.socks) >= self.width:
            self.drop(self.socks[0])
        s = socket.create_connection(("127.0.0.1", port), 10)
        try:
            s.sendall(data)
        except OSError:
            s.close()
            self.closed += 1
            return
        s.setblocking(False)
        self.socks.append(s)
        self.selector.register(s, selectors.EVENT_READ)

    def drop(self, s):
        self.socks.remove(s)
        self.selector.unregister(s)
        s.close()

    def collect(self, seconds=0):
        for key, _ in self.selector.select(seconds):
            try:
                data = key.fileobj.recv(1 << 18)
            except OSError:
                data = b""
            if data:
                self.answers += 1
            else:
                self.closed += 1
                self.drop(key.fileobj)

    def finish(self):
        for s in list(self.socks):
            self.drop(s)


def framed(data):
    return struct.pack(">i", len(data)) + data


# ---- phases --------------------------------------------------------------------------------------

def create(c, name, partitions=1, **configs):
    c.call("CreateTopics", 7, {"timeoutMs": 10000, "Topics": [{
        "Name": name, "NumPartitions": partitions, "ReplicationFactor": 1,
        "Configs": [{"Name": k.replace("_", "."), "Value": v} for k, v in configs.items()]}]})
    return c.call("Metadata", 12, {"Topics": [{"Name": name}]})["Topics"][0]["TopicId"]


def served(node):
    """{name: (low, high)} as the node says."""
    keys = {key: name for name, (key, _, _) in kwire.APIS.items()}
    with connect(node) as c:
        listed = c.call("ApiVersions", 3, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1"})
    return {keys[k["ApiKey"]]: (max(k["MinVersion"], kwire.APIS[keys[k["ApiKey"]]][1]),
                                k["MaxVersion"]) for k in listed["ApiKeys"] if k["ApiKey"] in keys}


def connect(node, timeout=60):
    return kwire.Connection("127.0.0.1", node.port, timeout)


def is_of(frame, name):
    return struct.unpack_from(">h", frame)[0] == kwire.APIS[name][0]


def phase_frames(node, options):
    """Requests of every API and version: valid, mutated, cut, random; many on one connection."""
    rng = random.Random(options.seed)
    with connect(node) as c:
        shapes = Shapes(rng, [create(c, "mine", 2), create(c, "other")])
    apis, seeds, swarm = sorted(served(node).items()), captured(), Swarm()
    sent, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        parts = []
        for _ in range(rng.choice((1, 1, 2, 6))):
            name, (low, high) = rng.choice(apis)
            data = shapes.request(name, rng.randint(low, high))
            if rng.random() < 0.2:
                data = rng.choice(seeds)
            # That one, when damaged, may name the node itself, which then leaves its cluster.
            if rng.random() < 0.5 and not is_of(data, "UnregisterBroker"):
                data = mutate(rng, data)
            if rng.random() < 0.02:
                data = rng.randbytes(rng.randrange(300))
            parts.append(framed(data))
        data = b"".join(parts)
        if rng.random() < 0.05:
            data = data[:rng.randrange(len(data))]
        swarm.send(node.port if rng.random() < 0.9 else node.controller_port, data)
        sent += len(parts)
        swarm.collect()
    swarm.collect(1)
    swarm.finish()
    print(f"#     {sent} requests, {swarm.answers} answered, {swarm.closed} closed", flush=True)
    check("frames: valid ones are answered", swarm.answers > sent / (20 if options.strict else 500))


def phase_sizes(node, _):
    for size in (-1, -(1 << 31), 104857601, 0x7fffffff):
        with connect(node, 30) as c:
            c.sock.sendall(struct.pack(">i", size))
            check(f"sizes: an announced size of {size} ends the connection", ends(c))
    for data in (b"", b"\0", b"\0\0\0", b"\0\x12\0\0\0\0\0"):
        with connect(node, 30) as c:
            c.send_frame(data)
            check(f"sizes: a frame of {len(data)} bytes ends the connection", ends(c))


def ends(c):
    try:
        return c.sock.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def phase_halves(node, _):
    """Half a frame that stays, a hundred megabytes announced on many connections."""
    held = []
    for i in range(300):
        c = connect(node)
        c.sock.sendall(struct.pack(">i", 100 << 20) + b"\0\0\0\x09" + b"\0" * (i % 200) * 100)
        held.append(c)
    time.sleep(2)
    for c in held:
        c.close()


def phase_churn(node, options):
    """1,000 connections a second, opened and dropped."""
    began, count = time.monotonic(), 0
    frame = framed(kwire.header("Metadata", 1, 1) + b"\xff\xff\xff\xff")
    seconds = min(10, max(2, options.seconds // 2))
    while time.monotonic() - began < seconds:
        s = socket.create_connection(("127.0.0.1", node.port), 10)
        kind = count % 4
        if kind == 1:
            s.send(frame[:9])
        elif kind == 2:
            s.send(frame)
        if kind == 3:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
        count += 1
        wait = began + count / 1000 - time.monotonic()
        if wait > 0:
            time.sleep(wait)
    print(f"#     {count / seconds:.0f} connections a second", flush=True)
    check("churn: connections are taken", count / seconds > (300 if options.strict else 1))


def phase_readers(node, _):
    """Clients that ask for much and read nothing."""
    with connect(node) as c:
        create(c, "big")
        for i in range(40):
            c.call("Produce", 9, {"Acks": 1, "TimeoutMs": 9000, "TopicData": [{
                "Name": "big", "PartitionData": [{
                    "Index": 0, "Records": kbatch.batch([bytes([i]) * 900000], crc=None)}]}]})
    ask = kwire.header("Fetch", 12, 1) + kwire.encode("FetchRequest", 12, {
        "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 50 << 20, "Topics": [
            {"Topic": "big", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                             "PartitionMaxBytes": 50 << 20}]}]})
    configs = kwire.header("DescribeConfigs", 4, 1) + kwire.encode("DescribeConfigsRequest", 4, {
        "IncludeSynonyms": True, "IncludeDocumentation": True, "Resources": [
            {"ResourceType": 2, "ResourceName": "mine", "ConfigurationKeys": None}] * 50})
    held = []
    for i in range(200):
        c = connect(node)
        c.sock.setblocking(False)
        data = framed(ask if i % 2 else configs) * 200
        try:
            c.sock.send(data)
        except BlockingIOError:
            pass
        held.append(c)
    time.sleep(3)
    for c in held:
        c.close()


def phase_writers(node, _):
    """Frames that come a byte at a time, and a deep pipeline."""
    frame = framed(kwire.header("Metadata", 1, 7) + b"\0\0\0\0")
    slow = [connect(node) for _ in range(20)]
    for byte in frame:
        for c in slow:
            c.sock.send(bytes([byte]))
        time.sleep(0.01)
    ok = sum(c.receive_frame()[:4] == b"\0\0\0\7" for c in slow)
    check("writers: frames sent a byte at a time are answered", ok == len(slow), ok)
    with connect(node) as c:
        count = 20000
        sender = threading.Thread(target=c.sock.sendall, args=(frame * count,))
        sender.start()
        ok = sum(c.receive_frame()[:4] == b"\0\0\0\7" for _ in range(count))
        sender.join()
        check("writers: a pipeline of 20,000 requests is answered", ok == count, ok)


def phase_vanish(node, _):
    """Clients that leave while a long poll, a join or an acknowledgement waits."""
    fetch = kwire.header("Fetch", 12, 1) + kwire.encode("FetchRequest", 12, {
        "MaxWaitMs": 30000, "MinBytes": 1 << 30, "MaxBytes": 1 << 20, "Topics": [
            {"Topic": "mine", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                              "PartitionMaxBytes": 1 << 20}]}]})
    for round_number in range(6):
        held = []
        for i in range(100):
            c = connect(node)
            join = kwire.header("JoinGroup", 3, 1) + kwire.encode("JoinGroupRequest", 3, {
                "GroupId": f"vanish-{i % 5}", "SessionTimeoutMs": 6000, "RebalanceTimeoutMs": 6000,
                "MemberId": "", "ProtocolType": "consumer",
                "Protocols": [{"Name": "range", "Metadata": b"x" * 100}]})
            c.sock.sendall(framed(fetch if i % 2 else join))
            held.append(c)
        time.sleep(0.2 if round_number % 2 else 0)
        for c in held:
            if round_number % 3 == 0:
                c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.close()


def cpu_seconds(node):
    with open(f"/proc/{node.process.pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def call_or_close(node, c, what, name, version, values):
    """An answer, or None when the node closed the connection; both are right, hanging is not, nor
    is work that grows with the square of what was asked."""
    values = kwire.encode(name + "Request", version, values)
    before = cpu_seconds(node)
    try:
        answer = c.call(name, version, values)
        how = "answered"
    except (kwire.Closed, ConnectionError):
        answer, how = None, "closed"
    except TimeoutError:
        check(f"{what}: an answer comes", False, "timed out")
        raise
    used = cpu_seconds(node) - before
    check(f"{what}: {how} in good time", used < WAIT_MAX_S, f"{used:.2f} s of CPU")
    return answer


def phase_huge(node, options):
    """Requests that name very many things."""
    many = 100000 if options.strict else 20000

    def one(what, name, version, values):
        with connect(node) as c:
            return call_or_close(node, c, what, name, version, values)

    one("Metadata of many names", "Metadata", 12, {
        "AllowAutoTopicCreation": False, "Topics": [{"Name": f"n{i}"} for i in range(many)]})
    one("DescribeTopicPartitions of 50,000 names", "DescribeTopicPartitions", 0, {
        "ResponsePartitionLimit": 2000, "Topics": [{"Name": f"n{i}"} for i in range(50000)]})
    one("CreateTopics of 20,000 topics", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{"Name": f"many-{i}", "NumPartitions": 1,
                                        "ReplicationFactor": 1} for i in range(20000)]})
    one("CreateTopics with 2^31-1 partitions", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{"Name": "wide", "NumPartitions": 0x7fffffff,
                                        "ReplicationFactor": 1}]})
    one("CreateTopics with 1,000,000 partitions", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{"Name": "wide", "NumPartitions": 1000000,
                                        "ReplicationFactor": 1}]})
    one("CreatePartitions to 2^31-1", "CreatePartitions", 3, {
        "TimeoutMs": 20000, "Topics": [{"Name": "mine", "Count": 0x7fffffff, "Assignments": None}]})
    one("CreateTopics with many configs", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{
            "Name": "configured", "NumPartitions": 1, "ReplicationFactor": 1,
            "Configs": [{"Name": f"c{i}", "Value": "1"} for i in range(many)]}]})
    one("CreateTopics with many configs of no value", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{
            "Name": "configured", "NumPartitions": 1, "ReplicationFactor": 1,
            "Configs": [{"Name": f"c{i}", "Value": None} for i in range(many)]}]})
    one("CreateTopics with many assignments", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{
            "Name": "assigned", "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": [
                {"PartitionIndex": i, "BrokerIds": [1]} for i in range(many)]}]})
    one("CreateTopics with many replicas", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{
            "Name": "assigned", "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": [
                {"PartitionIndex": 0, "BrokerIds": list(range(many))}]}]})
    one("CreateTopics of one name many times", "CreateTopics", 7, {
        "timeoutMs": 20000, "Topics": [{"Name": "again", "NumPartitions": 1,
                                        "ReplicationFactor": 1}] * many})
    for i in range(3):
        one("CreateTopics of 500 topics", "CreateTopics", 7, {
            "timeoutMs": 20000, "Topics": [{"Name": f"some_{i}.{j}", "NumPartitions": 1,
                                            "ReplicationFactor": 1} for j in range(500)]})
    one("IncrementalAlterConfigs of many keys", "IncrementalAlterConfigs", 1, {
        "Resources": [{"ResourceType": 2, "ResourceName": "mine", "Configs": [
            {"Name": f"c{i}", "ConfigOperation": 0, "Value": "1"} for i in range(many)]}]})
    one("IncrementalAlterConfigs of many keys of a broker", "IncrementalAlterConfigs", 1, {
        "Resources": [{"ResourceType": 4, "ResourceName": "1", "Configs": [
            {"Name": f"c{i}", "ConfigOperation": 0, "Value": "1"} for i in range(many)]}]})
    for n in range(3):
        one("IncrementalAlterConfigs of 1,900 keys of a broker", "IncrementalAlterConfigs", 1, {
            "Resources": [{"ResourceType": 4, "ResourceName": "1", "Configs": [
                {"Name": f"c{n}-{i}", "ConfigOperation": 0, "Value": "1"} for i in range(1900)]}]})
    one("AlterConfigs of many keys", "AlterConfigs", 2, {
        "Resources": [{"ResourceType": 2, "ResourceName": "mine", "Configs": [
            {"Name": f"c{i}", "Value": "1"} for i in range(many)]}]})
    one("IncrementalAlterConfigs that appends 10,000 parts", "IncrementalAlterConfigs", 1, {
        "Resources": [{"ResourceType": 2, "ResourceName": "mine", "Configs": [
            {"Name": "cleanup.policy", "ConfigOperation": 2, "Value": ",".join(
                f"{i:x}" for i in range(6500))}]}]})
    one("DescribeConfigs of many keys", "DescribeConfigs", 4, {"Resources": [
        {"ResourceType": 2, "ResourceName": "mine", "ConfigurationKeys": [
            f"c{i}" for i in range(many)]}]})
    one("JoinGroup with many protocols", "JoinGroup", 3, {
        "GroupId": "protocols", "SessionTimeoutMs": 6000, "RebalanceTimeoutMs": 6000,
        "MemberId": "", "ProtocolType": "consumer",
        "Protocols": [{"Name": f"p{i}", "Metadata": b""} for i in range(many)]})
    one("LeaveGroup of many members", "LeaveGroup", 4, {
        "GroupId": "protocols", "Members": [{"MemberId": f"m{i}", "GroupInstanceId": None}
                                            for i in range(many)]})
    one("UpdateFeatures of many features", "UpdateFeatures", 1, {"timeoutMs": 20000,
        "FeatureUpdates": [{"Feature": f"f{i}", "MaxVersionLevel": 1} for i in range(many)]})
    one("ElectLeaders of many partitions", "ElectLeaders", 2, {
        "TimeoutMs": 20000, "TopicPartitions": [
            {"Topic": "mine", "Partitions": list(range(many))}]})
    one("AlterPartitionReassignments of many partitions", "AlterPartitionReassignments", 1, {
        "TimeoutMs": 20000, "Topics": [{"Name": "mine", "Partitions": [
            {"PartitionIndex": i, "Replicas": [1]} for i in range(many)]}]})
    one("DescribeLogDirs of many partitions", "DescribeLogDirs", 4, {
        "Topics": [{"Topic": "mine", "Partitions": list(range(many))}]})
    one("DeleteRecords of many partitions", "DeleteRecords", 2, {
        "TimeoutMs": 20000, "Topics": [{"Name": "mine", "Partitions": [
            {"PartitionIndex": i % 2, "Offset": 0} for i in range(many)]}]})
    one("OffsetForLeaderEpoch of many partitions", "OffsetForLeaderEpoch", 4, {
        "ReplicaId": -1, "Topics": [{"Topic": "mine", "Partitions": [
            {"Partition": i % 3, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0}
            for i in range(many)]}]})
    one("CreatePartitions of 50,000 topics", "CreatePartitions", 3, {
        "TimeoutMs": 20000, "Topics": [{"Name": f"none-{i}", "Count": 5, "Assignments": None}
                                       for i in range(50000)]})
    one("OffsetDelete of many partitions", "OffsetDelete", 0, {
        "GroupId": "huge", "Topics": [{"Name": "mine", "Partitions": [
            {"PartitionIndex": i} for i in range(many)]}]})
    one("DescribeConfigs of 5,000 resources", "DescribeConfigs", 4, {
        "IncludeSynonyms": True, "IncludeDocumentation": True, "Resources": [
            {"ResourceType": 2, "ResourceName": "mine", "ConfigurationKeys": None}] * 5000})
    one("OffsetCommit of many partitions", "OffsetCommit", 8, {
        "GroupId": "huge", "Topics": [{"Name": "mine", "Partitions": [
            {"PartitionIndex": i, "CommittedOffset": 1} for i in range(many)]}]})
    one("OffsetCommit of the same partition many times", "OffsetCommit", 8, {
        "GroupId": "huge", "Topics": [{"Name": "mine", "Partitions": [
            {"PartitionIndex": 0, "CommittedOffset": i, "CommittedMetadata": "m" * 100}
            for i in range(many)]}]})
    one("OffsetFetch of many partitions", "OffsetFetch", 8, {"Groups": [{
        "GroupId": "huge", "Topics": [{"Name": "mine", "PartitionIndexes": list(range(many))}]}]})
    one("Fetch of 50,000 partitions", "Fetch", 12, {
        "MaxWaitMs": 100, "MinBytes": 1, "MaxBytes": 1 << 20, "SessionEpoch": 0, "Topics": [
            {"Topic": "mine", "Partitions": [
                {"Partition": i, "FetchOffset": 0, "PartitionMaxBytes": 1000}
                for i in range(50000)]}]})
    one("Fetch of one partition 50,000 times", "Fetch", 12, {
        "MaxWaitMs": 100, "MinBytes": 1 << 30, "MaxBytes": 1 << 20, "Topics": [
            {"Topic": "mine", "Partitions": [
                {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}] * 50000}]})
    records = kbatch.batch([b"v"])
    one("Produce of 20,000 partitions", "Produce", 9, {"Acks": -1, "TimeoutMs": 5000, "TopicData": [
        {"Name": "mine", "PartitionData": [
            {"Index": i, "Records": records} for i in range(20000)]}]})
    one("Produce to one partition 20,000 times", "Produce", 9, {
        "Acks": -1, "TimeoutMs": 5000, "TopicData": [{"Name": "mine", "PartitionData": [
            {"Index": 0, "Records": records}] * 20000}]})
    one("ListOffsets of many partitions", "ListOffsets", 7, {"ReplicaId": -1, "Topics": [
        {"Name": "mine", "Partitions": [{"PartitionIndex": i, "Timestamp": -1}
                                        for i in range(many)]}]})
    one("DeleteTopics of 50,000 names", "DeleteTopics", 6, {
        "TimeoutMs": 20000, "Topics": [{"Name": f"nothing-{i}"} for i in range(50000)]})
    one("DescribeGroups of many groups", "DescribeGroups", 5, {
        "Groups": [f"g{i}" for i in range(many)]})
    one("DeleteGroups of many groups", "DeleteGroups", 2, {
        "GroupsNames": [f"g{i}" for i in range(many)]})
    one("FindCoordinator of many keys", "FindCoordinator", 4, {
        "KeyType": 0, "CoordinatorKeys": [f"g{i}" for i in range(many)]})
    one("IncrementalAlterConfigs of 5,000 resources", "IncrementalAlterConfigs", 1, {
        "Resources": [{"ResourceType": 2, "ResourceName": f"many-{i}", "Configs": [
            {"Name": "retention.ms", "ConfigOperation": 0, "Value": "1"}]} for i in range(5000)]})


def phase_joins(node, _):
    """Members with a megabyte of metadata each, all waiting in one join."""
    held = []
    blob = b"m" * (1 << 20)
    for i in range(100):
        c = connect(node)
        c.sock.sendall(framed(kwire.header("JoinGroup", 3, 1) + kwire.encode("JoinGroupRequest", 3, {
            "GroupId": "heavy", "SessionTimeoutMs": 10000, "RebalanceTimeoutMs": 10000,
            "MemberId": "", "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": blob}]})))
        held.append(c)
    time.sleep(2)
    for c in held:
        c.close()


def phase_bombs(node, _):
    """Batches that are small and become big."""
    with connect(node, 120) as c:
        create(c, "bomb")
        zeros = bytes(64 << 20)
        value = kbatch.field(zeros)
        body = b"\0\0\0" + kbatch.varint(-1) + value + kbatch.varint(0)
        plain = kbatch.varint(len(body)) + body
        packer = gzip.compress(plain, 6, mtime=0)
        answer = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 9000, "TopicData": [{
            "Name": "bomb", "PartitionData": [{"Index": 0, "Records": kbatch.batch(
                [b""], records=packer, attributes=1)}]}]})
        print("#     64 MB of zeros:", answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"],
              flush=True)
        member = gzip.compress(bytes(16 << 20), 9, mtime=0)
        answer = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 9000, "TopicData": [{
            "Name": "bomb", "PartitionData": [{"Index": 0, "Records": kbatch.batch(
                [b""], records=member * 60, attributes=1)}]}]})
        check("bombs: a gigabyte of zeros is refused",
              answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"] != 0)


def phase_limits(node, _):
    """max.connections, changed and changed back while clients come."""
    def limit(c, value):
        return c.call("IncrementalAlterConfigs", 1, {"Resources": [{
            "ResourceType": 4, "ResourceName": "", "Configs": [{
                "Name": "max.connections.per.ip", "ConfigOperation": 0 if value else 1,
                "Value": value}]}]})
    with connect(node) as c:
        limit(c, "10")
        time.sleep(0.3)
        held, refused = [], 0
        for _ in range(30):
            s = connect(node, 30)
            try:
                s.call("Metadata", 1, {"Topics": []})
                held.append(s)
            except (kwire.Closed, ConnectionError):
                refused += 1
        check("limits: connections above max.connections.per.ip are closed", refused >= 20, refused)
        for s in held:
            s.close()
        limit(c, None)
        time.sleep(0.3)
        with connect(node, 30) as s:
            check("limits: the limit goes when its override goes",
                  s.call("Metadata", 1, {"Topics": []})["Brokers"] != [])


PHASES = {name[6:]: f for name, f in list(globals().items()) if name.startswith("phase_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default=",".join(PHASES))
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    if options.strict:
        global WAIT_MAX_S
        WAIT_MAX_S = 3 if SANITIZED else 1
    print(f"# seed {options.seed}, {'with' if SANITIZED else 'without'} sanitizers", flush=True)
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=16:detect_leaks=1")
    os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    with Klamm(auto__create__topics__enable="false", num__network__threads="2") as node:
        with connect(node) as c:
            create(c, "pulse")
            create(c, "mine", 2)
        for phase in options.only.split(","):
            with Watch(node) as watch:
                try:
                    PHASES[phase](node, options)
                except OSError as e:
                    check(f"{phase}: it runs to its end", False, str(e))
            watch.report(phase)
        status = node.stop()
        check("the node stops in order", status == 0, f"status {status}\n{node.log()[-3000:]}")
        bad = [l for l in node.log().splitlines()
               if "Sanitizer" in l or "runtime error" in l or "could not be written" in l]
        check("nothing in its log tells of a fault", not bad, "\n".join(bad[:5]))
    finish()


if __name__ == "__main__":
    main()
