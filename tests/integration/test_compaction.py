#!/usr/bin/env python3
"""Compaction by raw requests. NODE=apache runs the same on
Apache Kafka 4.4.0, which must pass as well."""
import glob
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402
from txns import Txn  # noqa: E402

HORIZON, CONTROL = 0x40, 0x20
STEP_MS = 1000000


class Topic:
    """A compacted topic: records far apart in time, so that each batch rolls a new segment."""

    def __init__(self, t, name, **configs):
        # Ahead of the clock, which markers have their time from.
        self.t, self.name, self.time_ms = t, name, int(time.time() * 1000) + STEP_MS
        t.create(name, cleanup_policy="compact", min_cleanable_dirty_ratio="0.001",
                 segment_ms="500000", message_timestamp_after_max_ms="9223372036854775807",
                 **configs)

    def put(self, *pairs):
        """One batch of (key, value), in a segment of its own; its first offset."""
        records = b"".join(kbatch.record(v, k, i) for i, (k, v) in enumerate(pairs))
        batch = kbatch.batch([None] * len(pairs), records=records, timestamp=self.time_ms)
        self.time_ms += STEP_MS
        answer = self.t.produce(self.name, batch)
        assert answer["ErrorCode"] == 0, answer
        return answer["BaseOffset"]

    def rows(self, **more):
        """(offset, key, value, attributes of its batch) of every record; markers have no value."""
        found = []
        for base, head, data in self.t.batches(self.name, **more):
            at = 0
            assert head["crc_ok"] and head["magic"] == 2
            for _ in range(head["count"]):
                size, at = kbatch.read_varint(data, at)
                end = at + size
                at += 1
                _, at = kbatch.read_varint(data, at)
                delta, at = kbatch.read_varint(data, at)
                fields = []
                for _ in range(2):
                    length, at = kbatch.read_varint(data, at)
                    fields.append(None if length < 0 else data[at:at + length])
                    at += max(length, 0)
                is_marker = head["attributes"] & CONTROL
                found.append((base + delta, *(("marker", None) if is_marker else fields),
                              head["attributes"]))
                at = end
        return found

    def wait(self, wanted, seconds=20, **more):
        """Until the records are [(offset, key, value)]; those there are at last."""
        end = time.monotonic() + seconds
        while True:
            rows = self.rows(**more)
            if [row[:3] for row in rows] == wanted or time.monotonic() > end:
                return rows
            time.sleep(0.05)

    def cleaned(self, wanted, what, **more):
        rows = self.wait(wanted, **more)
        return check(what, [row[:3] for row in rows] == wanted, str(rows)) and rows


def tombstones(t):
    topic = Topic(t, "tombstones", delete_retention_ms="1500")
    began_ms = topic.time_ms
    topic.put((b"k", b"v"), (b"other", b"1"))
    topic.put((b"k", None))
    topic.put((b"x", b"1"))
    rows = topic.cleaned([(1, b"other", b"1"), (2, b"k", None), (3, b"x", b"1")],
                         "a tombstone outlives the value that it deletes")
    check("its batch has a delete horizon", rows and [bool(r[3] & HORIZON) for r in rows] ==
          [False, True, False], str(rows))
    time.sleep(2)
    check("and stays until it is cleaned again", len(topic.rows()) == 3)
    topic.put((b"x", b"2"))
    topic.put((b"x", b"3"))
    topic.cleaned([(1, b"other", b"1"), (4, b"x", b"2"), (5, b"x", b"3")],
                  "and is gone once the horizon has passed")
    check("offsets did not change", t.end("tombstones") == (0, 6) and
          t.produce("tombstones", kbatch.batch([b"v"], key=b"y",
                                               timestamp=topic.time_ms))["BaseOffset"] == 6)
    part = t.fetch("tombstones", 0)
    got = kbatch.parse(part["Records"] or b"")
    check("a fetch from a hole goes on behind it", part["ErrorCode"] == 0 and got and
          got[0][0] == 0 and got[0][1]["last_offset_delta"] == 1)
    found = t.offset("tombstones", began_ms + 2 * STEP_MS)
    check("a look-up by time finds what is left", found["Offset"] == 4, found)


def last_offset(t):
    """Nothing is left but the end: a round keeps its last batch, without records."""
    topic = Topic(t, "end", delete_retention_ms="0")
    topic.put((b"k", b"v"))
    topic.put((b"k", None))
    topic.put((b"active", b"1"))
    topic.put((b"active", b"2"))
    topic.put((b"active", b"3"))
    end = time.monotonic() + 20
    while topic.rows()[0][0] < 3 and time.monotonic() < end:
        topic.put((b"active", b"4"))
        time.sleep(0.3)
    rows = topic.rows()
    check("deleted keys leave nothing", all(r[1] == b"active" for r in rows), str(rows))
    before = t.end("end")
    check("the log goes on where it was", topic.put((b"k", b"new")) == before[1])


def lag(t):
    topic = Topic(t, "lag", min_compaction_lag_ms="100000000")
    topic.time_ms = int(time.time() * 1000) - 3 * STEP_MS
    for i in range(3):
        topic.put((b"k", b"%d" % i))
    time.sleep(1.5)
    check("min.compaction.lag.ms spares what is young", len(topic.rows()) == 3)
    t.call("IncrementalAlterConfigs", 1, {"Resources": [{
        "ResourceType": 2, "ResourceName": "lag", "Configs": [
            {"Name": "min.compaction.lag.ms", "ConfigOperation": 0, "Value": "0"}]}]})
    topic.cleaned([(1, b"k", b"1"), (2, b"k", b"2")], "and no longer, once it is changed")
    topic = Topic(t, "forced", max_compaction_lag_ms="1")
    topic.time_ms -= 9 * STEP_MS
    t.call("IncrementalAlterConfigs", 1, {"Resources": [{
        "ResourceType": 2, "ResourceName": "forced", "Configs": [
            {"Name": "min.cleanable.dirty.ratio", "ConfigOperation": 0, "Value": "1"}]}]})
    for i in range(3):
        topic.put((b"k", b"%d" % i))
    topic.cleaned([(1, b"k", b"1"), (2, b"k", b"2")], "max.compaction.lag.ms forces a cleaning")


def transactions(t):
    topic = Topic(t, "txn", delete_retention_ms="0")
    t.coordinated("compaction", 1)
    topic.put((b"a", b"1"), (b"b", b"1"))
    p = Txn(t, "compaction", old=True)
    p.init()

    def send(key, value):
        p.add("txn")
        batch = kbatch.batch([value], key=key, timestamp=topic.time_ms, attributes=0x10,
                             producer_id=p.pid, producer_epoch=p.epoch,
                             base_sequence=p.sequences.get("txn", 0))
        p.sequences["txn"] = p.sequences.get("txn", 0) + 1
        topic.time_ms += STEP_MS
        answer = t.produce("txn", batch, version=11, transactional_id="compaction")
        assert answer["ErrorCode"] == 0, answer

    def end(commit, offset):
        """Apache Kafka answers before the marker is there."""
        p.end(commit)
        late = time.monotonic() + 20
        while t.end("txn")[1] < offset and time.monotonic() < late:
            time.sleep(0.02)
    send(b"a", b"aborted")
    end(False, 4)
    send(b"b", b"committed")
    end(True, 6)
    topic.put((b"z", b"1"))
    wanted = [(0, b"a", b"1"), (3, "marker", None), (4, b"b", b"committed"), (5, "marker", None),
              (6, b"z", b"1")]
    topic.cleaned(wanted, "aborted records go, the value before them stays")
    t.reconnect()
    late = time.monotonic() + 20
    while time.monotonic() < late and any(r[0] == 3 for r in topic.rows()):
        topic.put((b"z", b"2"))
        time.sleep(0.3)
    rows = topic.rows()
    check("a marker goes when its transaction has no batch any more",
          not any(r[0] == 3 for r in rows) and any(r[0] == 4 for r in rows), str(rows))


def sequences(t):
    """The last batch of a producer outlives its records."""
    topic = Topic(t, "sequences")
    pid = t.call("InitProducerId", 5, {"TransactionalId": None, "TransactionTimeoutMs": 60000})

    def send(sequence):
        batch = kbatch.batch([b"old"], key=b"k", timestamp=topic.time_ms,
                             producer_id=pid["ProducerId"], producer_epoch=pid["ProducerEpoch"],
                             base_sequence=sequence)
        topic.time_ms += STEP_MS
        answer = t.produce("sequences", batch)
        return answer["ErrorCode"], answer["BaseOffset"]
    check("an idempotent producer", send(0) == (0, 0) and send(1) == (0, 1))
    topic.put((b"k", b"new"))
    topic.put((b"z", b"1"))
    topic.cleaned([(2, b"k", b"new"), (3, b"z", b"1")], "its records are compacted away")
    heads = [(base, head["count"], head["base_sequence"]) for base, head, _ in
             t.batches("sequences")]
    check("its last batch stays, empty", (1, 0, 1) in heads and not any(h[0] == 0 for h in heads),
          str(heads))
    check("a repeat of it is still known", send(1) == (0, 1))
    check("and the next one fits", send(2)[0] == 0)


def offsets_topic(t):
    """Committed offsets fill segments of a megabyte, and most of it is compacted away."""
    t.coordinated("compacted", 0)
    note = "x" * 4000
    t.create("plain")

    def commit(offset):
        return t.call("OffsetCommit", 8, {
            "GroupId": "compacted", "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": "plain", "Partitions": [{
                    "PartitionIndex": 0, "CommittedOffset": offset, "CommittedMetadata": note}]}]}
                      )["Topics"][0]["Partitions"][0]["ErrorCode"]
    count = 620
    codes = {commit(i) for i in range(count)}

    def size():
        return sum(os.path.getsize(f) for f in
                   glob.glob(t.node.data + "/__consumer_offsets-*/*.log"))
    written, end = count * len(note), time.monotonic() + 30
    while size() > written / 2 and time.monotonic() < end:
        time.sleep(0.1)
    check("the offsets topic is compacted", codes == {0} and size() < written / 2,
          f"{codes} {written} {size()}")


def recovers(node, t):
    """Whatever a kill meets, the last value of each key is there."""
    topic = Topic(t, "killed")
    wanted = {}
    for i in range(6 if node.kind == "klamm" else 2):
        for n in range(20):
            pairs = [(b"key-%d" % ((n * 7 + j * i) % 50), b"%d-%d-%d" % (i, n, j) + b"v" * 500)
                     for j in range(20)]
            topic.put(*pairs)
            wanted.update(pairs)
        time.sleep(0.02 * i)
        node.kill()
        node.start(180)
        t.reconnect()
        for _ in range(200):
            if t.end("killed")[0] == 0:
                break
            time.sleep(0.05)
        rows = topic.rows()
        last = {}
        for _, key, value, _ in rows:
            last[key] = value
        if last != wanted or [r[0] for r in rows] != sorted({r[0] for r in rows}):
            check("kill -9 while it cleans", False, f"round {i}: {len(last)} of {len(wanted)}")
            return
    check("kill -9 while it cleans", True)
    topic.put((b"end", b""))
    topic.put((b"end", b""))
    end = time.monotonic() + 20
    while len(topic.rows()) > 60 and time.monotonic() < end:
        time.sleep(0.1)
    check("and it is cleaned in the end", len(topic.rows()) <= 60, str(len(topic.rows())))

    def left():
        return [f for f in glob.glob(node.data + "/killed-0/*") if ".cleaned" in f or ".swap" in f]
    while left() and time.monotonic() < end:
        time.sleep(0.1)
    check("and nothing is left over", not left(), str(left()))


def main():
    node = node_under_test(log__cleaner__backoff__ms=100, offsets__topic__segment__bytes=1048576,
                           log__segment__delete__delay__ms=2000).start()
    try:
        t = Probe(node)
        for part in (tombstones, last_offset, lag, transactions, sequences, offsets_topic,
                     lambda probe: recovers(node, probe)):
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.c = t.connect()
        check("the checkpoint names what was cleaned",
              "tombstones 0 " in open(node.data + "/cleaner-offset-checkpoint",
                                      encoding="ascii").read())
    finally:
        node.clean()
    finish()


main()
