#!/usr/bin/env python3
"""Loading of a large __consumer_offsets partition: Klamm beside Apache Kafka 4.4.0 on the same files.

usage: offsets_load.py [--groups 1000] [--topics 10] [--partitions 10] [--rounds 100]
                       [--rounds-of-start 3] [--klamm-only]

gen_offsets.c writes the segments. Each broker makes its indexes in a first start; then the folder
is started again and again: seconds from exec until OffsetFetch answers, less those of a start with
an empty partition, CPU seconds and memory. While Klamm loads, a second connection produces and
fetches, a third one asks another group's coordinator: their slowest answers are printed.
"""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
import nodes  # noqa: E402

LOADING = (14, 15, 16)
TOPIC = "__consumer_offsets"


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(node):
    while True:
        try:
            return kwire.Connection("127.0.0.1", node.port, 300)
        except OSError:
            time.sleep(0.002)


def offset_fetch(c, group, topic, partition):
    answer = c.call("OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": [
        {"Name": topic, "PartitionIndexes": [partition]}]}]})["Groups"][0]
    return answer["ErrorCode"], answer["Topics"] and answer["Topics"][0]["Partitions"][0][
        "CommittedOffset"]


def until_loaded(node, group="bench-group-0000000", topic="bench-topic-0000"):
    """Polls until the coordinator answers; how often it said that it loads."""
    refused = 0
    with connect(node) as c:
        while True:
            error, offset = offset_fetch(c, group, topic, 0)
            if error not in LOADING:
                return refused, offset
            refused += 1
            time.sleep(0.005)


def start(node):
    """(seconds until the port is open, until offsets are answered, refusals while it loaded)"""
    began = time.monotonic()
    node.launch()
    with connect(node):
        opened = time.monotonic() - began
    refused, _ = until_loaded(node)
    return opened, time.monotonic() - began, refused


def checkpoint(path, end):
    """Sets the partition's line in one of the two checkpoints."""
    with open(path, encoding="ascii") as f:
        lines = [l for l in f.read().splitlines()[2:] if not l.startswith(TOPIC + " ")]
    lines.append(f"{TOPIC} 0 {end}")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(["0", str(len(lines))] + lines) + "\n")


def prepare(node, segments, end):
    """A node that has been started once, with the segments in its only coordinator partition."""
    node.start()
    with connect(node) as c:
        while c.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["x"]})[
                "Coordinators"][0]["ErrorCode"]:
            time.sleep(0.05)
        c.call("CreateTopics", 7, {"timeoutMs": 30000, "Topics": [
            {"Name": "beside", "NumPartitions": 1, "ReplicationFactor": 1}]})
        until_loaded(node)
    node.stop()
    empty = []
    for _ in range(3):
        empty.append(start(node)[1])
        node.stop()
    folder = os.path.join(node.data, TOPIC + "-0")
    for name in os.listdir(folder):
        if name.rsplit(".", 1)[-1] in ("log", "index", "timeindex", "snapshot", "txnindex"):
            os.unlink(os.path.join(folder, name))
    for name in os.listdir(segments):
        os.link(os.path.join(segments, name), os.path.join(folder, name))
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        checkpoint(os.path.join(node.data, name), end)
    start(node)
    node.stop()
    return statistics.median(empty)


class Beside:
    """Requests that have nothing to do with the loading, one after the other, until stopped."""

    def __init__(self, node, name, call):
        self.slowest, self.count, self.stopping = 0.0, 0, False
        self.name, self.node, self.call = name, node, call
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with connect(self.node) as c:
            while not self.stopping:
                began = time.monotonic()
                self.call(c)
                if not self.count:  # waits for the port
                    began = time.monotonic()
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.count += 1
                time.sleep(0.001)

    def stop(self):
        self.stopping = True
        self.thread.join()
        return f"{self.name} {self.slowest * 1000:.1f} ms of {self.count}"


def produce(c):
    answer = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 5000, "TopicData": [
        {"Name": "beside", "PartitionData": [{"Index": 0, "Records": kbatch.batch([b"x" * 100])}]}]})
    assert answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"] in (0, 3, 6)


def fetch(c):
    c.call("Fetch", 12, {"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [
        {"Topic": "beside", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                            "PartitionMaxBytes": 1 << 10}]}]})


def join(c):
    c.call("JoinGroup", 5, {"GroupId": "joins", "SessionTimeoutMs": 6000, "MemberId": "",
                            "RebalanceTimeoutMs": 6000, "ProtocolType": "consumer",
                            "Protocols": [{"Name": "range", "Metadata": b""}]})


def find(c):
    c.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["joins"]})


def measure(node, a, empty, beside):
    took, cpu, opened, refusals, lines = [], [], [], [], []
    for _ in range(a.rounds_of_start):
        watchers = []
        began = time.monotonic()
        node.launch()
        if beside:
            watchers = [Beside(node, n.__name__, n) for n in (produce, fetch, join, find)]
        with connect(node):
            opened.append(time.monotonic() - began)
        refusals.append(until_loaded(node)[0])
        took.append(time.monotonic() - began)
        cpu.append(cpu_seconds(node.process.pid))
        lines = [w.stop() for w in watchers]
        rss = node.rss_kb() / 1024
        node_ok = check(node, a)
        node.stop()
    print(f"{node.kind}: loaded in {statistics.median(took) - empty:.2f} s (start {empty:.2f} s "
          f"more; port open after {statistics.median(opened):.2f} s), CPU {statistics.median(cpu):.2f}"
          f" s, {rss:.0f} MB, answered 'loading' {statistics.median(refusals)} times, "
          f"offsets {'right' if node_ok else 'WRONG'}", flush=True)
    if lines:
        print("  slowest beside it: " + ", ".join(lines), flush=True)


def check(node, a):
    with connect(node) as c:
        for _ in range(200):
            group = f"bench-group-{random.randrange(a.groups):07}"
            topic = f"bench-topic-{random.randrange(a.topics):04}"
            got = offset_fetch(c, group, topic, random.randrange(a.partitions))
            if got != (0, 1000000 + a.rounds - 1):
                print(group, topic, got)
                return False
    return True


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("groups", 1000), ("topics", 10), ("partitions", 10), ("rounds", 100),
                          ("rounds-of-start", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--klamm-only", action="store_true")
    parser.add_argument("--heap", default="4g", help="of Apache Kafka")
    a = parser.parse_args()
    generator = os.path.join(os.path.dirname(nodes.KLAMM), "tests", "bench", "bench_gen_offsets")
    root = tempfile.mkdtemp(prefix="klamm-offsets-")
    try:
        out = subprocess.run([generator, root] + [str(x) for x in (
            a.groups, a.topics, a.partitions, a.rounds)], check=True, capture_output=True, text=True)
        end, size = map(int, out.stdout.split())
        print(f"{end} commits of {a.groups * a.topics * a.partitions} keys in {a.groups} groups, "
              f"{size / 1e6:.0f} MB", flush=True)
        for kind in [nodes.Klamm] + ([] if a.klamm_only else [nodes.Apache]):
            node = kind(offsets__topic__num__partitions=1,
                        log__cleaner__min__compaction__lag__ms=86400000)
            if kind is nodes.Apache:
                node.command = lambda n=node: n.java("kafka.Kafka", heap=a.heap)
            try:
                empty = prepare(node, root, end)
                measure(node, a, empty, True)
            finally:
                node.clean()
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
