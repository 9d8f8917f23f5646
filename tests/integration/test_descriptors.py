#!/usr/bin/env python3
"""A node that may open few files serves as many partitions as any other; a listener without
descriptors waits quietly."""
import os
import re
import resource
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import Klamm, check, finish  # noqa: E402
from probe import Probe  # noqa: E402

FILES, PARTITIONS = 64, 100


class Few(Klamm):
    """With FILES descriptors, soft and hard."""

    def launch(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, before[1]))
        super().launch()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def command(self):
        return ["prlimit", f"--nofile={FILES}:{FILES}", *super().command()]

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def use_all(t, name, round_):
    codes, wrong = [], 0
    for p in range(PARTITIONS):
        codes.append(t.produce(name, kbatch.batch([b"%d-%d" % (p, round_)]), partition=p)[
            "ErrorCode"])
    for p in range(PARTITIONS):
        got = t.fetch(name, round_, partition=p)
        codes.append(got["ErrorCode"])
        wrong += b"%d-%d" % (p, round_) not in (got["Records"] or b"")
    return [c for c in codes if c], wrong


def all_at_once(node, t):
    """Four consumers fetch from all partitions, none reads before all have asked."""
    consumers = [t.connect() for _ in range(4)]
    missing = [set(range(PARTITIONS)) for _ in consumers]
    codes = []
    for round_ in range(60):
        for c, left in zip(consumers, missing):
            body = {"MaxWaitMs": 100, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [
                {"Topic": "many", "Partitions": [
                    {"Partition": p, "FetchOffset": 0, "PartitionMaxBytes": 200}
                    for p in sorted(left)]}]}
            c.send("Fetch", 12, body)
        for c, left in zip(consumers, missing):
            answer = c.receive("Fetch", 12)
            for topic in answer["Responses"]:
                for part in topic["Partitions"]:
                    if part["ErrorCode"]:
                        codes.append(part["ErrorCode"])
                    if part["Records"]:
                        left.discard(part["PartitionIndex"])
        if not any(missing):
            return codes, round_
    return codes + [len(m) for m in missing], 60


def partitions():
    with Few(log__retention__check__interval__ms="500") as node:
        t = Probe(node)
        # Two segments each: the one that is written to, and one that is old.
        t.create("many", PARTITIONS, index_interval_bytes="0", segment_bytes="1048576")
        for round_ in range(3):
            codes, wrong = use_all(t, "many", round_)
            check(f"round {round_}: every partition takes and gives", not codes and not wrong,
                  (codes, wrong))
        big = kbatch.batch([bytes(600000)])
        codes = [t.produce("many", big, partition=p)["ErrorCode"]
                 for p in range(PARTITIONS) for _ in range(2)]
        check("segments roll", not any(codes), codes)
        for p in range(PARTITIONS):
            codes.append(t.offset("many", 1700000000000, partition=p)["ErrorCode"])
        check("old segments are looked into", not any(codes), codes)
        check("descriptors stay below the limit", node.open_files() < FILES, node.open_files())
        many = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(50)]
        time.sleep(3)
        codes, wrong = use_all(t, "many", 5)
        check("while more connections come than fit, every partition works",
              not codes and not wrong, (codes, wrong))
        for s in many:
            s.close()
        time.sleep(0.5)
        codes, wrong = use_all(t, "many", 6)
        check("and partitions work on", not codes and not wrong, (codes, wrong))
        with t.connect() as other:
            check("new connections are accepted again", other.call(
                "Metadata", 12, {"Topics": []})["Brokers"])
        told = re.findall(r"(?:WARN|ERROR|INFO) .*descriptor.*", node.log())
        check("a pause is told in one line at most", len(told) <= 1, told)
        check("and the limit at the start", node.log().count(f"may open {FILES} files only") == 1)
        codes, rounds = all_at_once(node, t)
        check("consumers of all partitions get them, a part at a time", not codes, codes)
        check("in a few rounds", rounds < 30, rounds)
        check("nothing else is complained about", "ERROR" not in node.log(), node.log()[-2000:])
        node.stop()
        node.start()
        t = Probe(node)
        codes, wrong = use_all(t, "many", 7)
        check("a restart, too", not codes and not wrong, (codes, wrong))
        node.kill()
        node.start()
        t = Probe(node)
        codes, wrong = use_all(t, "many", 8)
        check("and a recovery", not codes and not wrong, (codes, wrong))


if __name__ == "__main__":
    partitions()
    finish()
