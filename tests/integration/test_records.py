#!/usr/bin/env python3
"""Records where they are easily got wrong, by raw bytes: batches as producers send them, fetches and
their sessions, look-ups by time, DeleteRecords, retention. NODE=apache runs the same on Apache Kafka
4.4.0, which must pass as well."""
import glob
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402


def batches(t):
    now = int(time.time() * 1000)
    t.create("rec-w")
    t.produce("rec-w", kbatch.batch([b"x"], timestamp=now, leader_epoch=77))
    head = kbatch.parse(t.fetch("rec-w", 0)["Records"])[0][1]
    check("the client's leader epoch is overwritten", head["leader_epoch"] == 0 and head["crc_ok"])
    t.produce("rec-w", kbatch.batch([b"x"], timestamp=now, max_timestamp=-1))
    head = kbatch.parse(t.fetch("rec-w", 1)["Records"])[0][1]
    check("the largest timestamp is the broker's finding", head["max_timestamp"] == now and
          head["crc_ok"], head)
    t.create("rec-w3", message_timestamp_type="LogAppendTime")
    answer = t.produce("rec-w3", kbatch.batch([b"x", b"y"], timestamp=now - 100000))
    head = kbatch.parse(t.fetch("rec-w3", 0)["Records"])[0][1]
    check("LogAppendTime in the answer, the batch and its checksum", answer["LogAppendTimeMs"] ==
          head["max_timestamp"] >= now and head["attributes"] & 8 and head["crc_ok"], (answer, head))
    t.create("rec-w5", cleanup_policy="compact")
    answer = t.produce("rec-w5", kbatch.batch([b"x"], timestamp=now))
    check("no key on a compacted topic", answer["ErrorCode"] == 87 and
          [e["BatchIndex"] for e in answer["RecordErrors"]] == [0], answer)
    t.create("rec-w6", max_message_bytes="500")
    check("too large", t.produce("rec-w6", kbatch.batch([b"x" * 600], timestamp=now))
          ["ErrorCode"] == 10)
    small = kbatch.batch([b"x" * 9000], timestamp=now, codec="gzip")
    check("what counts is the size compressed", len(small) < 500 and
          t.produce("rec-w6", small)["ErrorCode"] == 0)
    for want, label, records in (
            (87, "control bit", kbatch.batch([b"x"], timestamp=now, attributes=0x20)),
            (87, "base offset", kbatch.batch([b"x"], timestamp=now, base_offset=3)),
            (87, "no records", kbatch.batch([], records=b"", last_offset_delta=0)),
            (87, "count", kbatch.batch([b"x"], timestamp=now, count=2)),
            (87, "last offset delta", kbatch.batch([b"x"], timestamp=now, last_offset_delta=3))):
        error = t.produce("rec-w", records)["ErrorCode"]
        check(f"refused: {label}", error == want, error)
    check("two hours ahead", t.produce("rec-w", kbatch.batch(
        [b"x"], timestamp=now + 7200000))["ErrorCode"] == 32)
    t.create("rec-w11", compression_type="zstd")
    t.produce("rec-w11", kbatch.batch([b"x"], timestamp=now))
    for version in (4, 10):
        heads = kbatch.parse(t.fetch("rec-w11", 0, version=version)["Records"])
        check(f"a zstd topic gives zstd to fetch {version}", heads[0][1]["attributes"] == 4)
    pid = -1
    while pid < 0:  # Apache Kafka answers COORDINATOR_LOAD_IN_PROGRESS at first
        pid = t.call("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1}
                     )["ProducerId"]

    def send(sequence, epoch=0, count=1, topic="rec-w13"):
        return t.produce(topic, kbatch.batch([b"x"] * count, timestamp=now, producer_id=pid,
                                             producer_epoch=epoch, base_sequence=sequence))
    t.create("rec-w13")
    check("any first sequence where nothing is known", send(5)["ErrorCode"] == 0)
    check("a gap", send(9)["ErrorCode"] == 45)
    first = send(6, count=3)
    again = send(6, count=3)
    check("sent again: the first offset", again["ErrorCode"] == 0 and
          again["BaseOffset"] == first["BaseOffset"], again)
    before = t.end("rec-w13")
    t.node.stop()
    t.node.start()
    t.c = t.connect()
    again = send(6, count=3)
    while again["ErrorCode"] == 6:  # Apache Kafka listens before it leads
        again = send(6, count=3)
    check("sent again after a restart: the first offset", again["ErrorCode"] == 0 and
          again["BaseOffset"] == first["BaseOffset"] and t.end("rec-w13") == before, again)


def fetches(t):
    now = int(time.time() * 1000)
    tid = t.create("rec-f")
    for i in range(2):
        t.produce("rec-f", kbatch.batch([b"a", b"b"], timestamp=now + i))
    bases = [b for b, _, _ in kbatch.parse(t.fetch("rec-f", 1)["Records"])]
    check("the batch that contains the offset comes whole", bases == [0, 2], bases)
    t.create("rec-f2", max_message_bytes="3000000")
    t.produce("rec-f2", kbatch.batch([b"x" * 200000], timestamp=now))
    data = t.fetch("rec-f2", 0, MaxBytes=1024, PartitionMaxBytes=1024)["Records"]
    check("a batch above every limit comes whole", len(data) > 200000, len(data))
    part = t.fetch("rec-f", 4)
    check("an empty answer has the high watermark and the start", (
        part["HighWatermark"], part["LastStableOffset"], part["LogStartOffset"]) == (4, 4, 0), part)
    check("records are empty, not null", part["Records"] == b"")
    check("at the end: nothing, no error", part["ErrorCode"] == 0)
    part = t.fetch("rec-f", 5)
    check("beyond the end: an error, and nothing is known", [part[f] for f in (
        "ErrorCode", "HighWatermark", "LastStableOffset", "LogStartOffset")] == [1, -1, -1, -1], part)
    part = t.fetch("rec-f", 4)
    check("aborted list is null when uncommitted data is read",
          part["AbortedTransactions"] is None, part["AbortedTransactions"])
    check("and empty when committed", t.fetch("rec-f", 0, IsolationLevel=1)
          ["AbortedTransactions"] == [])

    def session(sid, epoch, topics=True, wait=0):
        body = {"MaxWaitMs": wait, "MinBytes": 1, "MaxBytes": 1 << 20, "SessionId": sid,
                "SessionEpoch": epoch, "Topics": [{"TopicId": tid, "Partitions": [
                    {"Partition": 0, "FetchOffset": 4, "PartitionMaxBytes": 99}]}] if topics else []}
        return t.call("Fetch", 17, body)
    sid = session(0, 0)["SessionId"]
    began = time.monotonic()
    answer = session(sid, 1, False, 400)
    check("an incremental fetch waits", answer["ErrorCode"] == 0 and
          time.monotonic() - began > 0.3 and answer["Responses"] == [], answer)
    check("an epoch twice", session(sid, 1, False)["ErrorCode"] == 71)
    check("an unknown session", session(4711, 1, False)["ErrorCode"] == 70)
    check("closing", session(sid, -1, False)["ErrorCode"] == 0)
    waited = {}

    def reader():
        with t.connect() as c:
            began = time.monotonic()
            answer = c.call("Fetch", 12, {"MaxWaitMs": 5000, "MinBytes": 1, "Topics": [
                {"Topic": "rec-f", "Partitions": [{"Partition": 0, "FetchOffset": 4,
                                                     "PartitionMaxBytes": 9999}]}]})
            waited["time"] = time.monotonic() - began
            waited["size"] = len(answer["Responses"][0]["Partitions"][0]["Records"])
    thread = threading.Thread(target=reader)
    thread.start()
    time.sleep(0.3)
    t.produce("rec-f", kbatch.batch([b"new"], timestamp=now))
    thread.join()
    check("a waiting fetch is woken by a record", waited["size"] > 61 and waited["time"] < 3, waited)


def sessions(t):
    """Incremental fetches: what they name, and that no partition starves behind the others."""
    now = int(time.time() * 1000)
    names = [f"rec-s{i}" for i in range(3)]
    for name in names:
        t.create(name, max_message_bytes="3000000")
        for _ in range(3):
            t.produce(name, kbatch.batch([b"x" * 100000], timestamp=now))

    def ask(sid, epoch, at=(), limit=1 << 20, wait=0):
        answer = t.call("Fetch", 17, {
            "MaxWaitMs": wait, "MinBytes": 1, "MaxBytes": limit, "SessionId": sid,
            "SessionEpoch": epoch, "Topics": [
                {"TopicId": t.ids[n], "Partitions": [
                    {"Partition": 0, "FetchOffset": o, "PartitionMaxBytes": 1 << 20}]}
                for n, o in at]})
        rows = {next(n for n in names if t.ids[n] == r["TopicId"]): r["Partitions"][0]
                for r in answer["Responses"]}
        return answer["SessionId"], rows
    for _ in range(3):  # again and again: limits are each request's own
        _, rows = ask(0, -1, [(n, 0) for n in names], 1024)
        sizes = [len(rows[n]["Records"]) for n in names]
        check("above every limit the first partition gives one batch, the others nothing",
              sizes[0] > 100000 and sizes[1:] == [0, 0], sizes)
    sid, rows = ask(0, 0, [(n, 0) for n in names], 1024)
    place, order = {n: 0 for n in names}, []
    for epoch in range(1, 10):
        got = [n for n, r in rows.items() if r["Records"]]
        order += got
        for name in got:
            place[name] += len(kbatch.parse(rows[name]["Records"]))
        _, rows = ask(sid, epoch, [(n, place[n]) for n in got], 1024)
    order += [n for n, r in rows.items() if r["Records"]]
    check("each has its turn", order[1:4] == order[4:7] == names, order)
    ends = [(n, 3) for n in names]
    sid, rows = ask(0, 0, ends)
    check("the first answer of a session names all partitions", sorted(rows) == names, sorted(rows))
    check("and the next one none without news", ask(sid, 1) == (sid, {}))
    t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
        {"Name": names[1], "Partitions": [{"PartitionIndex": 0, "Offset": 2}]}]})
    _, rows = ask(sid, 2)
    check("a new start is news", {n: (r["LogStartOffset"], r["ErrorCode"]) for n, r in rows.items()}
          == {names[1]: (2, 0)}, rows)
    _, rows = ask(sid, 3, [(names[0], 99)])
    check("an error is news", {n: r["ErrorCode"] for n, r in rows.items()} == {names[0]: 1}, rows)
    _, rows = ask(sid, 4)
    check("and stays so until it is over", {n: r["ErrorCode"] for n, r in rows.items()} ==
          {names[0]: 1}, rows)
    _, rows = ask(sid, 5, [(names[0], 3)])
    check("and is gone then", all(r["ErrorCode"] == 0 for r in rows.values()), rows)
    t.produce(names[2], kbatch.batch([b"new"], timestamp=now))
    _, rows = ask(sid, 6)
    check("records are news", list(rows) == [names[2]] and rows[names[2]]["HighWatermark"] == 4, rows)


def offsets(t):
    now = int(time.time() * 1000) - 100000
    t.create("rec-o")
    for stamp in (now, now + 50, now + 20):
        t.produce("rec-o", kbatch.batch([0, 1], timestamp=stamp, max_timestamp=stamp + 5,
                                          records=kbatch.record(b"a") +
                                          kbatch.record(b"b", None, 1, 5)))

    def at(shift):
        part = t.offset("rec-o", now + shift)
        return part["Offset"], part["Timestamp"] - now if part["Timestamp"] > 0 else -1
    found = [at(s) for s in (-5, 0, 3, 10, 21, 51, 60)]
    check("look-ups by time", found == [(0, 0), (0, 0), (1, 5), (2, 50), (2, 50), (3, 55),
                                           (-1, -1)], found)
    check("the largest timestamp", t.offset("rec-o", -3)["Offset"] == 3)
    check("earliest local is earliest", t.offset("rec-o", -4)["Offset"] == 0)
    part = t.offset("rec-o", -5)
    check("nothing is tiered", (part["Offset"], part["LeaderEpoch"]) == (-1, -1), part)
    part = t.offset("rec-o", -6)
    check("nothing waits for being tiered", (part["Offset"], part["LeaderEpoch"]) == (-1, -1), part)
    for special, low in ((-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)):
        error = t.offset("rec-o", special, version=low - 1)["ErrorCode"]
        check(f"{special} before version {low}", error == 35, error)
        error = t.offset("rec-none", special, version=low - 1)["ErrorCode"]
        check(f"{special} before version {low}: told before the topic is looked up", error == 35, error)
    t.create("rec-empty")
    check("an empty topic", [t.offset("rec-empty", x)["Offset"] for x in (-1, -2, now)] ==
          [0, 0, -1])

    def delete(offset):
        row = t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
            {"Name": "rec-o", "Partitions": [{"PartitionIndex": 0, "Offset": offset}]}]}
                     )["Topics"][0]["Partitions"][0]
        return row["ErrorCode"], row["LowWatermark"]
    check("delete some", delete(3) == (0, 3))
    check("below the start, and at it", (delete(1), delete(3)) == ((0, 3), (0, 3)), delete(1))
    check("beyond the end", delete(100)[0] == 1)
    check("deleted records are not found", at(-5)[0] == 3, at(-5))
    check("up to the end", delete(-1) == (0, 6))
    check("an emptied topic", [t.offset("rec-o", x)["Offset"] for x in (-1, -2, now)] ==
          [6, 6, -1])
    check("and it can be written", t.produce("rec-o", kbatch.batch([b"x"], timestamp=now))
          ["BaseOffset"] == 6)
    t.create("rec-o-compact", cleanup_policy="compact")
    row = t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
        {"Name": "rec-o-compact", "Partitions": [{"PartitionIndex": 0, "Offset": 0}]}]}
                 )["Topics"][0]["Partitions"][0]
    check("not on a compacted topic", row["ErrorCode"] == 44, row)

    def epoch(asked, current=-1, replica=-2):
        row = t.call("OffsetForLeaderEpoch", 4, {"ReplicaId": replica, "Topics": [{"Topic": "rec-o", "Partitions": [
            {"Partition": 0, "CurrentLeaderEpoch": current, "LeaderEpoch": asked}]}]}
                     )["Topics"][0]["Partitions"][0]
        return row["ErrorCode"], row["LeaderEpoch"], row["EndOffset"]
    check("the end of epoch 0", epoch(0) == epoch(0, 0) == epoch(0, -1, -1) == (0, 0, 7), epoch(0))
    check("an epoch that is not there", epoch(3) == epoch(-1) == (0, -1, -1), (epoch(3), epoch(-1)))
    check("a future current epoch", epoch(0, 9)[0] == 75, epoch(0, 9))
    part = t.fetch("rec-o", 7)
    check("no hint is -1, not node 0", part["CurrentLeader"] in (
        None, {"LeaderId": -1, "LeaderEpoch": -1}), part["CurrentLeader"])


def times(t):
    """Look-ups by time over segments, whose order of times is not that of offsets."""
    step = 1000000
    now = int(time.time() * 1000) - 100 * step
    t.create("rec-times", segment_ms="500000")
    # A segment ends where the next batch is 500 seconds ahead of its first one.
    for shift in (0, 20, step, step - 400000, 2 * step, 2 * step + 5):
        t.produce("rec-times", kbatch.batch([b"x"], timestamp=now + shift))
    files = len(glob.glob(os.path.join(t.node.data, "rec-times-0", "*.log")))
    check("several segments", files == 3, files)

    def at(shift):
        part = t.offset("rec-times", now + shift)
        return part["Offset"], part["Timestamp"] - now if part["Timestamp"] >= 0 else None
    found = [at(s) for s in (0, 1, 21, step - 400000, step - 1, step, step + 1, 2 * step + 5,
                             2 * step + 6)]
    check("by time over segments", found == [
        (0, 0), (1, 20), (2, step), (2, step), (2, step), (2, step), (4, 2 * step),
        (5, 2 * step + 5), (-1, None)], found)
    part = t.offset("rec-times", now + 2 * step + 6)
    check("nothing found: no offset, no time, no epoch, no error", [part[f] for f in (
        "ErrorCode", "Offset", "Timestamp", "LeaderEpoch")] == [0, -1, -1, -1], part)

    def delete(offset):
        t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
            {"Name": "rec-times", "Partitions": [{"PartitionIndex": 0, "Offset": offset}]}]})
    delete(3)
    found = [at(s) for s in (21, step - 400000, step - 399999, step, step + 1)]
    check("in a segment whose match was deleted what is left is looked at, and nothing behind it",
          found == [(3, step - 400000)] * 2 + [(-1, None)] * 2 + [(4, 2 * step)], found)
    part = t.offset("rec-times", -3)
    check("the largest time", (part["Offset"], part["Timestamp"] - now) == (5, 2 * step + 5), part)
    t.create("rec-max")
    for shift in (0, 50, 50, 10):
        t.produce("rec-max", kbatch.batch([b"a", b"b"], timestamp=now + shift))
    part = t.offset("rec-max", -3)
    check("of several the first batch with the largest time", (part["Offset"], part["Timestamp"]) ==
          (2, now + 50), part)
    t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
        {"Name": "rec-max", "Partitions": [{"PartitionIndex": 0, "Offset": 6}]}]})
    part = t.offset("rec-max", -3)
    check("deleted records in a live segment count", (part["Offset"], part["Timestamp"]) ==
          (2, now + 50), part)
    t.create("rec-append", message_timestamp_type="LogAppendTime")
    t.produce("rec-append", kbatch.batch([b"x", b"y"], timestamp=now))
    part = t.offset("rec-append", now + step)
    check("with LogAppendTime the broker's time counts, not the producer's", part["Offset"] == 0 and
          part["Timestamp"] > now + 90 * step, part)
    t.create("rec-unset")
    stamp = now + 7
    for unset in (-1, 0):
        for codec in (None, "gzip"):
            t.produce("rec-unset", kbatch.batch([b"x"], timestamp=stamp, max_timestamp=unset,
                                                codec=codec))
    heads = [h["max_timestamp"] for _, h, _ in t.batches("rec-unset")]
    check("the largest timestamp is looked up in the records, compressed ones too",
          heads == [stamp] * 4, heads)
    check("and found", t.offset("rec-unset", stamp)["Offset"] == 0)


def retention(t):
    """Old and future timestamps, none at all: what goes, what stays."""
    now, day = int(time.time() * 1000), 86400000
    later = {"message_timestamp_after_max_ms": "9223372036854775807"}
    for name, more in (("rec-old", {}), ("rec-ahead", later), ("rec-micro", later), ("rec-none", {})):
        t.create(name, retention_ms=str(3600000), **more)
    stamps = {"rec-old": now - day, "rec-ahead": now + day, "rec-micro": now * 1000, "rec-none": -1}
    for name, stamp in stamps.items():
        code = t.produce(name, kbatch.batch([b"x"], timestamp=stamp))["ErrorCode"]
        check(f"{name}: written", code == 0, code)
    t.create("rec-mixed", retention_ms=str(3600000))
    for stamp in (now - day, now, now - day):
        t.produce("rec-mixed", kbatch.batch([b"x"], timestamp=stamp))
    end = time.monotonic() + 20
    while t.offset("rec-old", -2)["Offset"] == 0 and time.monotonic() < end:
        time.sleep(0.1)
    check("an old record goes, though it was just written", t.offset("rec-old", -2)["Offset"] == 1)
    time.sleep(1)
    starts = [t.offset(n, -2)["Offset"] for n in ("rec-ahead", "rec-micro", "rec-none", "rec-mixed")]
    check("a segment is as young as its youngest record; one without times is as old as its file",
          starts == [0] * 4, starts)
    check("and what went has not taken its offset along", t.produce(
        "rec-old", kbatch.batch([b"x"], timestamp=now))["BaseOffset"] == 1)


def main():
    node = node_under_test(log__retention__check__interval__ms=500,
                           log__initial__task__delay__ms=500).start()
    try:
        t = Probe(node)
        for part in (batches, fetches, sessions, offsets, times, retention):
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.c = t.connect()
    finally:
        node.clean()
    finish()


main()
