#!/usr/bin/env python3
"""The memory budget (--memory): many producers with large requests, and clients that do not read
large answers, slow down and never fail; the node stays within its memory and goes on serving
heartbeats."""
import os
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
from nodes import Klamm, check, finish  # noqa: E402

BUDGET_MB = 64
PRODUCERS = 24
RECORD_SIZE = 8 << 20  # together three times the budget, six times what requests may take of it
ROUNDS = 3


class Small(Klamm):
    def command(self):
        return [*super().command(), "--memory", f"{BUDGET_MB}M"]


def connect(node):
    return kwire.Connection("127.0.0.1", node.port, timeout=120)


def create(node, name, partitions):
    with connect(node) as c:
        c.call("CreateTopics", 7, {"Topics": [{
            "Name": name, "NumPartitions": partitions, "ReplicationFactor": 1}]})
        topic = c.call("Metadata", 12, {"Topics": [{"Name": name}]})["Topics"][0]
        return topic["ErrorCode"]


def frame_of(partition, batch, acks=-1):
    """One request, encoded once: encoding in Python takes longer than what is measured."""
    body = kwire.encode("ProduceRequest", 9, {"Acks": acks, "TimeoutMs": 60000, "TopicData": [
        {"Name": "big", "PartitionData": [{"Index": partition, "Records": batch}]}]})
    return kwire.header("Produce", 9, 1) + body


def member(c):
    """A member of a group of its own, past its rebalance."""
    protocols = [{"Name": "range", "Metadata": b"x"}]
    join = {"GroupId": "g", "SessionTimeoutMs": 30000, "RebalanceTimeoutMs": 30000, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": protocols}
    for _ in range(100):
        found = c.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["g"]})
        if found["Coordinators"][0]["ErrorCode"] == 0:
            break
        time.sleep(0.05)
    join["MemberId"] = c.call("JoinGroup", 5, join)["MemberId"]
    joined = c.call("JoinGroup", 5, join)
    beat = {"GroupId": "g", "GenerationId": joined["GenerationId"], "MemberId": join["MemberId"]}
    c.call("SyncGroup", 3, {**beat, "Assignments": [
        {"MemberId": join["MemberId"], "Assignment": b"y"}]})
    return beat


def produce_all(node, frames, errors):
    def run(frame):
        try:
            with connect(node) as c:
                for _ in range(ROUNDS):
                    c.send_frame(frame)
                    answer = kwire.decode("ProduceResponse", 9, c.receive_frame()[5:])
                    code = answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"]
                    if code:
                        errors.append(code)
        except OSError as e:
            errors.append(repr(e))
        except kwire.Closed as e:
            errors.append(repr(e))

    threads = [threading.Thread(target=run, args=(f,)) for f in frames]
    for t in threads:
        t.start()
    return threads


def under_pressure(node):
    """Heartbeats while all producers send; the worst delay and the most memory seen."""
    batch = kbatch.batch([os.urandom(RECORD_SIZE)])
    frames = [frame_of(p, batch) for p in range(PRODUCERS)]
    with connect(node) as c:
        beat = member(c)
        errors, worst, most_kb, beats = [], 0.0, 0, 0
        threads = produce_all(node, frames, errors)
        while any(t.is_alive() for t in threads):
            begun = time.monotonic()
            code = c.call("Heartbeat", 3, beat)["ErrorCode"]
            worst = max(worst, time.monotonic() - begun)
            beats += 1
            if code:
                errors.append(("heartbeat", code))
            most_kb = max(most_kb, node.rss_kb())
            time.sleep(0.02)
        for t in threads:
            t.join()
    check("no producer and no heartbeat met an error", not errors, errors[:5])
    check(f"heartbeats are served ({beats}, the slowest in {worst:.2f} s)",
          beats > 5 and worst < 5, worst)
    limit_kb = (BUDGET_MB + 16) * 1024
    check(f"memory stays near the budget ({most_kb // 1024} of {BUDGET_MB} MB)",
          most_kb < limit_kb, most_kb)


def unread_answers(node):
    """Large answers, asked for and never read: 40 clients ask about 30,000 topics each."""
    before_kb = most_kb = node.rss_kb()
    names = [{"Name": f"{i:05d}" + "n" * 200} for i in range(30000)]
    request = kwire.header("Metadata", 12, 1) + kwire.encode(
        "MetadataRequest", 12, {"Topics": names, "AllowAutoTopicCreation": False})
    frame = len(request).to_bytes(4, "big") + request

    def ask(s):
        try:
            s.sendall(frame)
        except OSError:
            pass  # closed by the node, or by the end of the test

    socks = []
    for _ in range(40):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.connect(("127.0.0.1", node.port))
        socks.append(s)
        threading.Thread(target=ask, args=(s,), daemon=True).start()
    end, worst = time.monotonic() + 14, 0.0
    with connect(node) as c:
        while time.monotonic() < end:
            begun = time.monotonic()
            c.call("ApiVersions", 3, {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1"})
            worst = max(worst, time.monotonic() - begun)
            most_kb = max(most_kb, node.rss_kb())
            time.sleep(0.05)
    for s in socks:
        s.close()
    check(f"small requests are served meanwhile (the slowest in {worst:.2f} s)", worst < 5)
    check(f"answers that nobody reads are bounded (+{(most_kb - before_kb) // 1024} MB)",
          4096 < most_kb - before_kb < BUDGET_MB * 1536)
    check("who does not read one is closed when others wait for the memory",
          "it read nothing of a large answer" in node.log())


def main():
    with Small(message__max__bytes=RECORD_SIZE * 2) as node:
        check("a topic for the producers", create(node, "big", PRODUCERS) == 0)
        under_pressure(node)
        check("the node stops in order", node.stop() == 0)
    with Small() as node:
        unread_answers(node)
        check("the node stops in order", node.stop() == 0)
    finish()


if __name__ == "__main__":
    main()
