#!/usr/bin/env python3
"""What a partition remembers of its producers: the last five batches, epochs, when it forgets them,
and all of that over a kill and a stop. NODE=apache runs the same on Apache Kafka 4.4.0, which must
pass as well, bar what Klamm promises beyond it."""
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402
from txns import Txn, again, producers, write_marker  # noqa: E402

APACHE = os.environ.get("NODE") == "apache"
LAST = 2147483647


class Sender:
    def __init__(self, t, topic):
        self.t, self.topic, self.epoch = t, topic, 0
        self.pid = again(lambda: t.call("InitProducerId", 4, {
            "TransactionalId": None, "TransactionTimeoutMs": 1}))["ProducerId"]

    def send(self, sequence, count=1, epoch=None, attributes=0):
        answer = self.t.produce(self.topic, kbatch.batch(
            [b"v"] * count, timestamp=int(time.time() * 1000), producer_id=self.pid,
            producer_epoch=self.epoch if epoch is None else epoch, base_sequence=sequence,
            attributes=attributes))
        return answer["ErrorCode"], answer["BaseOffset"]

    def row(self):
        rows = [r for r in producers(self.t, self.topic) if r["ProducerId"] == self.pid]
        return rows[0] if rows else None


def sequences(t):
    t.create("seq")
    p = Sender(t, "seq")
    check("any first sequence is taken", p.send(7, 3) == (0, 0))
    check("a gap is not", p.send(11)[0] == 45)
    check("nor a step back", p.send(9)[0] == 45)
    sent = [(10 + 2 * i, 3 + 2 * i) for i in range(5)]
    check("the next ones follow", [p.send(s, 2) for s, _ in sent] == [(0, o) for _, o in sent])
    check("the last five are known again, in any order",
          [p.send(s, 2) for s, _ in reversed(sent)] == [(0, o) for _, o in reversed(sent)])
    check("the sixth is not", p.send(7, 3)[0] == 45)
    check("nor a part of one", p.send(18)[0] == 45)
    check("and nothing was stored twice", t.end("seq") == (0, 13))
    check("DescribeProducers has the last one", (p.row()["LastSequence"], p.row()["ProducerEpoch"],
                                                 p.row()["CurrentTxnStartOffset"]) == (19, 0, -1))
    check("a new epoch begins at 0", (p.send(20, epoch=1)[0], p.send(0, epoch=1)) == (45, (0, 13)))
    check("and the old one is fenced", p.send(20)[0] == 47)
    check("a batch of the epoch before is no repeat", p.send(18, 2, epoch=0)[0] == 47)
    q = Sender(t, "seq")
    check("sequences wrap within a batch", (q.send(LAST - 1, 4), q.send(2)) == ((0, 14), (0, 18)))
    check("and such a batch is known again", q.send(LAST - 1, 4) == (0, 14))
    r = Sender(t, "seq")
    check("sequences wrap between batches", (r.send(LAST), r.send(0)) == ((0, 19), (0, 20)))
    return p, q


def restarts(node, t, p, q):
    for how in (signal.SIGKILL, signal.SIGTERM):
        name = "kill -9" if how == signal.SIGKILL else "stop"
        node.stop(how)
        node.start()
        t = Probe(node)
        end = t.end("seq")[1]
        for _ in range(200):
            if t.end("seq")[1]:
                break
            time.sleep(0.02)
        end = t.end("seq")[1]
        p.t = q.t = t
        check(f"after {name} the last batch is known", p.send(0, epoch=1) == (0, 13))
        check(f"after {name} an epoch is still fenced", p.send(20, epoch=0)[0] == 47)
        if not APACHE:
            check(f"after {name} the one before it, too", q.send(LAST - 1, 4) == (0, 14))
        check(f"after {name} the next one follows", p.send(9, epoch=1)[0] == 45)
        check(f"after {name} nothing was stored", t.end("seq")[1] == end)
    return t


def expires(node, t):
    t.create("exp")
    p = Sender(t, "exp")
    p.send(0)
    x = Txn(t, "exp-x")
    x.init()
    x.send("exp", [b"open"])
    y = Txn(t, "exp-y")
    y.init()
    y.send("exp", [b"ended"])
    y.end(True)
    time.sleep(0.1)
    check("all three are known", len(producers(t, "exp")) == 3)
    t.call("IncrementalAlterConfigs", 1, {"Resources": [
        {"ResourceType": 4, "ResourceName": "", "Configs": [
            {"Name": "producer.id.expiration.ms", "ConfigOperation": 0, "Value": "200"}]}]})
    deadline = time.monotonic() + 20
    while len(producers(t, "exp")) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    left = producers(t, "exp")
    check("producer.id.expiration.ms holds at once, an open transaction stays",
          [r["ProducerId"] for r in left] == [x.pid], left)
    check("who was forgotten may begin anywhere", p.send(77)[0] == 0)
    check("the hanging one is ended by hand", write_marker(
        t, x.pid, x.epoch + 1, False, "exp", coordinator_epoch=left[0]["CoordinatorEpoch"] + 5,
        transaction_version=2) == 0)
    check("and then bounds nobody", t.offset("exp", -1, isolation=1)["Offset"] == t.end("exp")[1])


def main():
    node = node_under_test(producer__id__expiration__check__interval__ms="300",
                           transaction__state__log__num__partitions="3").start()
    try:
        t = Probe(node)
        p, q = sequences(t)
        t = restarts(node, t, p, q)
        t.coordinated("any", 1)
        expires(node, t)
    finally:
        node.clean()
    finish()


main()
