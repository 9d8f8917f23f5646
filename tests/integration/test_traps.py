#!/usr/bin/env python3
"""Places where new Kafka implementations went wrong, each by raw bytes; the letters are those of
docs/TESTING.md. NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well."""
import os
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import NOBODY, Probe, node_under_test  # noqa: E402


def closes(t, data, framed=True):
    with t.connect() as c:
        c.sock.settimeout(10)
        if framed:
            c.send_frame(data)
        else:
            c.sock.sendall(data)
        try:
            c.receive_frame()
            return False
        except kwire.Closed:
            return True
        except TimeoutError:
            return False


def handshake(t):
    with t.connect() as c:
        c.send_frame(struct.pack(">hhih", 18, 127, 7, 1) + b"x\0")
        answer = c.receive_frame()
        check("P1 ApiVersions above the maximum: version 0 answer with one entry",
              answer[:10] == struct.pack(">ihi", 7, 35, 1) and answer[10:12] == b"\0\x12" and
              len(answer) == 16, answer.hex())
        c.correlation = 8
        check("P1 the connection stays open", c.call("ApiVersions", 0, {})["ErrorCode"] == 0)
        c.send_frame(kwire.header("ApiVersions", 3, 9) + kwire.encode(
            "ApiVersionsRequest", 3, {"ClientSoftwareName": "x", "ClientSoftwareVersion": "1"}))
        answer = c.receive_frame()
        check("P2 the header of an ApiVersions answer has no tags", answer[:6] ==
              struct.pack(">ih", 9, 0) and answer[6] > 1, answer[:8].hex())
    keys = {k["ApiKey"]: k for k in t.call("ApiVersions", 0, {})["ApiKeys"]}
    check("P3 Produce is announced from 0", keys[0]["MinVersion"] == 0 and
          keys[0]["MaxVersion"] == 13)
    check("P4 Metadata 0 works", len(t.call("Metadata", 0, {"Topics": []})["Brokers"]) == 1)
    check("P4 ListOffsets 0 closes", closes(t, struct.pack(">hhih", 2, 0, 1, -1) + b"\0" * 8))
    check("P5 JoinGroup 99 closes", closes(t, struct.pack(">hhih", 11, 99, 1, -1)))
    check("P5 key 999 closes", closes(t, struct.pack(">hhih", 999, 0, 1, -1)))
    with t.connect() as c:
        check("P6 null client id in a flexible header", "Topics" in c.call(
            "Metadata", 12, {"Topics": []}, client=None))


def lengths(t):
    check("P8 array length beyond the frame closes",
          closes(t, struct.pack(">hhih", 3, 1, 1, -1) + b"\x7f\xff\xff\xff"))
    check("P8 string length beyond the frame closes",
          closes(t, struct.pack(">hhih", 11, 0, 1, -1) + b"\x7f\xffab"))
    check("P8 varint count beyond the frame closes",
          closes(t, kwire.header("Metadata", 12, 1) + b"\xff\xff\xff\xff\x0f"))
    check("P8 tag size beyond the frame closes", closes(
        t, kwire.header("Metadata", 12, 1)[:-1] + b"\1\x7f\xff\xff\xff\xff\x0f" + b"\1\0\0"))
    check("P8 a frame of 2 GB closes", closes(t, struct.pack(">i", 2147483647), False))
    check("P8 a negative frame closes", closes(t, struct.pack(">i", -5), False))
    name = "traps-tags"
    t.create(name)
    body = {"MaxWaitMs": 0, "MinBytes": 0, "_tags": {127: b"hello"}, "Topics": [
        {"Topic": name, "_tags": {127: b"hello"}, "Partitions": [
            {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 9, "_tags": {127: b"hello"}}]}]}
    check("P9 unknown tags are skipped in every struct",
          t.call("Fetch", 12, body)["Responses"][0]["Partitions"][0]["ErrorCode"] == 0)
    good = kbatch.batch([b"x"])
    for label, records in (("-1", kbatch.batch([b"x"], length=-1)),
                           ("2^31-1", kbatch.batch([b"x"], length=2147483647)),
                           ("one too long", kbatch.batch([b"x"], length=len(good) - 11)),
                           ("cut", good[:-1]), ("none", b"")):
        error = t.produce(name, records)["ErrorCode"]
        check(f"P10 batch length {label} is refused, the connection lives", error != 0, error)
    check("P10 two batches", t.produce(name, good + good)["ErrorCode"] == 87)
    check("P10 nothing of it is in the log", t.end(name) == (0, 0), t.end(name))
    t.produce(name, good + b"\0" * 4)
    data = t.fetch(name, 0)["Records"]
    check("P10 bytes behind the batch are dropped", len(data) == len(good), len(data))


def acks(t):
    t.create("traps-acks")
    good = kbatch.batch([b"x"])
    with t.connect() as c:
        c.send("Produce", 9, {"Acks": 0, "TopicData": [{"Name": "traps-acks", "PartitionData": [
            {"Index": 0, "Records": good}]}]})
        check("P12 acks=0 takes no place in the order of answers",
              len(c.call("Metadata", 12, {"Topics": []})["Brokers"]) == 1)
    with t.connect() as c:
        c.send("Produce", 9, {"Acks": 0, "TopicData": [{"Name": "traps-none", "PartitionData": [
            {"Index": 0, "Records": good}]}]})
        try:
            c.call("Metadata", 12, {"Topics": []})
            check("P13 acks=0 with an error closes", False)
        except kwire.Closed:
            check("P13 acks=0 with an error closes", True)
    check("W8 acks=2", t.produce("traps-acks", good, acks=2)["ErrorCode"] == 21)
    check("W4 base offset is that of the first record", t.produce(
        "traps-acks", kbatch.batch([b"x"] * 10))["BaseOffset"] == 1)


def topics(t):
    t.create("traps-t")
    listed = t.call("Metadata", 1, {"Topics": None})["Topics"]
    check("T1 null lists all", "traps-t" in [x["Name"] for x in listed])
    check("T1 empty lists none", t.call("Metadata", 1, {"Topics": []})["Topics"] == [])
    check("T1 version 0: empty lists all", t.call("Metadata", 0, {"Topics": []})["Topics"] != [])
    answer = t.call("Metadata", 12, {"Topics": [{"Name": None, "TopicId": NOBODY}]})["Topics"][0]
    check("T1 unknown id is echoed", (answer["ErrorCode"], answer["TopicId"]) == (100, NOBODY))
    late = 0
    for i in range(200):
        name = f"traps-t2-{i}"
        t.call("CreateTopics", 7, {"Topics": [{"Name": name, "NumPartitions": 1,
                                               "ReplicationFactor": 1}]})
        late += t.produce(name, kbatch.batch([b"x"]))["ErrorCode"] != 0
    if t.node.kind == "klamm":
        check("T2 a topic can be written as soon as it is made, 200 times", late == 0, late)

    def create(label, want, **topic):
        answer = t.call("CreateTopics", 7, {"Topics": [{
            "NumPartitions": 1, "ReplicationFactor": 1, **topic}],
            "validateOnly": label.startswith("T3")})["Topics"][0]
        check(label, answer["ErrorCode"] == want, answer)
        return answer
    create("T3 validate_only sees an existing topic", 36, Name="traps-t")
    made = create("T4 defaults of partitions and replicas", 0, Name="traps-t4", NumPartitions=-1,
                  ReplicationFactor=-1)
    check("T4 the answer has the real numbers", (made["NumPartitions"],
                                                 made["ReplicationFactor"]) == (1, 1))
    check("T5 the answer has every config", len(made["Configs"]) > 25, len(made["Configs"] or []))
    for label, name in (("empty", ""), ("dot", "."), ("dots", ".."), ("250 characters", "x" * 250),
                        ("slash", "a/b")):
        create(f"T15 name: {label}", 17, Name=name)
    create("T15 a name", 0, Name="traps.a_b")
    create("T15 a name that collides with it", 17, Name="traps_a.b")
    create("T16 no partitions", 37, Name="traps-t16", NumPartitions=0)
    create("T16 no replicas", 38, Name="traps-t16", ReplicationFactor=0)
    rows = t.call("DeleteTopics", 5, {"TopicNames": ["traps.a_b", "traps-none"],
                                   "TimeoutMs": 10000})["Responses"]
    check("T13 one row for each topic", sorted((r["Name"], r["ErrorCode"]) for r in rows) ==
          [("traps-none", 3), ("traps.a_b", 0)], rows)


def configs(t):
    t.create("traps-c", cleanup_policy="delete")

    def describe(kind, name, keys=None):
        answer = t.call("DescribeConfigs", 4, {"IncludeSynonyms": True, "Resources": [
            {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}]})["Results"][0]
        return {c["Name"]: c for c in answer["Configs"] or []}
    found = describe(2, "traps-c")
    check("T6 a value that equals the default is still the topic's",
          found["cleanup.policy"]["ConfigSource"] == 1 and found["retention.ms"]["ConfigSource"] == 5)
    check("T7 named keys", list(describe(2, "traps-c", ["retention.ms"])) == ["retention.ms"])
    check("T8 broker defaults by Kafka's names",
          {"num.partitions", "default.replication.factor", "log.retention.ms"} <=
          set(describe(4, "1")))

    def alter(*changes, kind=2, name="traps-c"):
        return t.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": kind, "ResourceName": name, "Configs": [
                {"Name": n, "ConfigOperation": o, "Value": v} for n, o, v in changes]}]}
                      )["Responses"][0]["ErrorCode"]
    alter(("cleanup.policy", 1, None))
    check("T10 append starts from the default", alter(("cleanup.policy", 2, "compact")) == 0 and
          describe(2, "traps-c")["cleanup.policy"]["Value"] == "delete,compact",
          describe(2, "traps-c")["cleanup.policy"]["Value"])
    check("T10 append to a scalar", alter(("retention.ms", 2, "1")) == 40)
    check("T10 one key twice", alter(("retention.ms", 0, "1"), ("retention.ms", 0, "2")) == 42)
    check("T11 cluster-wide default", alter(
        ("log.message.timestamp.type", 0, "LogAppendTime"), kind=4, name="") == 0)
    time.sleep(0.5)
    entry = describe(4, "1")["log.message.timestamp.type"]
    check("T11 its source", (entry["Value"], entry["ConfigSource"]) == ("LogAppendTime", 3), entry)
    alter(("log.message.timestamp.type", 1, None), kind=4, name="")
    replace = {"Resources": [{"ResourceType": 2, "ResourceName": "traps-c", "Configs": [
        {"Name": "segment.ms", "Value": "70000"}]}]}
    t.call("AlterConfigs", 2, replace)
    time.sleep(0.3)
    found = describe(2, "traps-c")
    check("T9 AlterConfigs resets what is not named", found["cleanup.policy"]["ConfigSource"] == 5 and
          found["segment.ms"]["Value"] == "70000")


def batches(t):
    now = int(time.time() * 1000)
    t.create("traps-w")
    t.produce("traps-w", kbatch.batch([b"x"], timestamp=now, leader_epoch=77))
    head = kbatch.parse(t.fetch("traps-w", 0)["Records"])[0][1]
    check("W1 the client's leader epoch is overwritten", head["leader_epoch"] == 0 and head["crc_ok"])
    t.produce("traps-w", kbatch.batch([b"x"], timestamp=now, max_timestamp=-1))
    head = kbatch.parse(t.fetch("traps-w", 1)["Records"])[0][1]
    check("W2 the largest timestamp is the broker's finding", head["max_timestamp"] == now and
          head["crc_ok"], head)
    t.create("traps-w3", message_timestamp_type="LogAppendTime")
    answer = t.produce("traps-w3", kbatch.batch([b"x", b"y"], timestamp=now - 100000))
    head = kbatch.parse(t.fetch("traps-w3", 0)["Records"])[0][1]
    check("W3 LogAppendTime in the answer, the batch and its checksum", answer["LogAppendTimeMs"] ==
          head["max_timestamp"] >= now and head["attributes"] & 8 and head["crc_ok"], (answer, head))
    t.create("traps-w5", cleanup_policy="compact")
    answer = t.produce("traps-w5", kbatch.batch([b"x"], timestamp=now))
    check("W5 no key on a compacted topic", answer["ErrorCode"] == 87 and
          [e["BatchIndex"] for e in answer["RecordErrors"]] == [0], answer)
    t.create("traps-w6", max_message_bytes="500")
    check("W6 too large", t.produce("traps-w6", kbatch.batch([b"x" * 600], timestamp=now))
          ["ErrorCode"] == 10)
    for label, records in (
            ("control bit", kbatch.batch([b"x"], timestamp=now, attributes=0x20)),
            ("no records", kbatch.batch([], records=b"", last_offset_delta=0)),
            ("count", kbatch.batch([b"x"], timestamp=now, count=2)),
            ("last offset delta", kbatch.batch([b"x"], timestamp=now, last_offset_delta=3))):
        error = t.produce("traps-w", records)["ErrorCode"]
        check(f"W7 {label}", error in (87, 42, 2), error)
    check("W9 two hours ahead", t.produce("traps-w", kbatch.batch(
        [b"x"], timestamp=now + 7200000))["ErrorCode"] == 32)
    t.create("traps-w11", compression_type="zstd")
    t.produce("traps-w11", kbatch.batch([b"x"], timestamp=now))
    for version in (4, 10):
        heads = kbatch.parse(t.fetch("traps-w11", 0, version=version)["Records"])
        check(f"W11 a zstd topic gives zstd to fetch {version}", heads[0][1]["attributes"] == 4)
    pid = -1
    while pid < 0:  # Apache Kafka answers COORDINATOR_LOAD_IN_PROGRESS at first
        pid = t.call("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1}
                     )["ProducerId"]

    def send(sequence, epoch=0, count=1, topic="traps-w13"):
        return t.produce(topic, kbatch.batch([b"x"] * count, timestamp=now, producer_id=pid,
                                             producer_epoch=epoch, base_sequence=sequence))
    t.create("traps-w13")
    check("W13 any first sequence where nothing is known", send(5)["ErrorCode"] == 0)
    check("W13 a gap", send(9)["ErrorCode"] == 45)
    first = send(6, count=3)
    again = send(6, count=3)
    check("W13 sent again: the first offset", again["ErrorCode"] == 0 and
          again["BaseOffset"] == first["BaseOffset"], again)
    before = t.end("traps-w13")
    t.node.stop()
    t.node.start()
    t.c = t.connect()
    again = send(6, count=3)
    while again["ErrorCode"] == 6:  # Apache Kafka listens before it leads
        again = send(6, count=3)
    check("W15 sent again after a restart: the first offset", again["ErrorCode"] == 0 and
          again["BaseOffset"] == first["BaseOffset"] and t.end("traps-w13") == before, again)


def fetches(t):
    now = int(time.time() * 1000)
    tid = t.create("traps-f")
    for i in range(2):
        t.produce("traps-f", kbatch.batch([b"a", b"b"], timestamp=now + i))
    bases = [b for b, _, _ in kbatch.parse(t.fetch("traps-f", 1)["Records"])]
    check("F1 the batch that contains the offset comes whole", bases == [0, 2], bases)
    t.create("traps-f2", max_message_bytes="3000000")
    t.produce("traps-f2", kbatch.batch([b"x" * 200000], timestamp=now))
    data = t.fetch("traps-f2", 0, MaxBytes=1024, PartitionMaxBytes=1024)["Records"]
    check("F2 a batch above every limit comes whole", len(data) > 200000, len(data))
    part = t.fetch("traps-f", 4)
    check("F3 an empty answer has the high watermark and the start", (
        part["HighWatermark"], part["LastStableOffset"], part["LogStartOffset"]) == (4, 4, 0), part)
    check("F4 records are empty, not null", part["Records"] == b"")
    check("F6 at the end: nothing, no error", part["ErrorCode"] == 0)
    check("F6 beyond the end", t.fetch("traps-f", 5)["ErrorCode"] == 1)
    check("F7 aborted list is null when uncommitted data is read",
          part["AbortedTransactions"] is None, part["AbortedTransactions"])
    check("F7 and empty when committed", t.fetch("traps-f", 0, IsolationLevel=1)
          ["AbortedTransactions"] == [])

    def session(sid, epoch, topics=True, wait=0):
        body = {"MaxWaitMs": wait, "MinBytes": 1, "MaxBytes": 1 << 20, "SessionId": sid,
                "SessionEpoch": epoch, "Topics": [{"TopicId": tid, "Partitions": [
                    {"Partition": 0, "FetchOffset": 4, "PartitionMaxBytes": 99}]}] if topics else []}
        return t.call("Fetch", 17, body)
    sid = session(0, 0)["SessionId"]
    began = time.monotonic()
    answer = session(sid, 1, False, 400)
    check("F5 an incremental fetch waits", answer["ErrorCode"] == 0 and
          time.monotonic() - began > 0.3 and answer["Responses"] == [], answer)
    check("F5 an epoch twice", session(sid, 1, False)["ErrorCode"] == 71)
    check("F5 an unknown session", session(4711, 1, False)["ErrorCode"] == 70)
    check("F5 closing", session(sid, -1, False)["ErrorCode"] == 0)
    waited = {}

    def reader():
        with t.connect() as c:
            began = time.monotonic()
            answer = c.call("Fetch", 12, {"MaxWaitMs": 5000, "MinBytes": 1, "Topics": [
                {"Topic": "traps-f", "Partitions": [{"Partition": 0, "FetchOffset": 4,
                                                     "PartitionMaxBytes": 9999}]}]})
            waited["time"] = time.monotonic() - began
            waited["size"] = len(answer["Responses"][0]["Partitions"][0]["Records"])
    thread = threading.Thread(target=reader)
    thread.start()
    time.sleep(0.3)
    t.produce("traps-f", kbatch.batch([b"new"], timestamp=now))
    thread.join()
    check("a waiting fetch is woken by a record", waited["size"] > 61 and waited["time"] < 3, waited)


def offsets(t):
    now = int(time.time() * 1000) - 100000
    t.create("traps-o")
    for stamp in (now, now + 50, now + 20):
        t.produce("traps-o", kbatch.batch([0, 1], timestamp=stamp, max_timestamp=stamp + 5,
                                          records=kbatch.record(b"a") +
                                          kbatch.record(b"b", None, 1, 5)))

    def at(shift):
        part = t.offset("traps-o", now + shift)
        return part["Offset"], part["Timestamp"] - now if part["Timestamp"] > 0 else -1
    found = [at(s) for s in (-5, 0, 3, 10, 21, 51, 60)]
    check("F9 look-ups by time", found == [(0, 0), (0, 0), (1, 5), (2, 50), (2, 50), (3, 55),
                                           (-1, -1)], found)
    check("F10 the largest timestamp", t.offset("traps-o", -3)["Offset"] == 3)
    check("F10 earliest local is earliest", t.offset("traps-o", -4)["Offset"] == 0)
    part = t.offset("traps-o", -5)
    check("F10 nothing is tiered", (part["Offset"], part["LeaderEpoch"]) == (-1, -1), part)
    for special, low in ((-3, 7), (-4, 8), (-5, 9)):
        error = t.offset("traps-o", special, version=low - 1)["ErrorCode"]
        check(f"F10 {special} before version {low}", error == 35, error)
    t.create("traps-empty")
    check("F13 an empty topic", [t.offset("traps-empty", x)["Offset"] for x in (-1, -2, now)] ==
          [0, 0, -1])

    def delete(offset):
        row = t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
            {"Name": "traps-o", "Partitions": [{"PartitionIndex": 0, "Offset": offset}]}]}
                     )["Topics"][0]["Partitions"][0]
        return row["ErrorCode"], row["LowWatermark"]
    check("W20 delete some", delete(3) == (0, 3))
    check("W20 below the start", delete(1) == (0, 3), delete(1))
    check("W20 beyond the end", delete(100)[0] == 1)
    check("F9 deleted records are not found", at(-5)[0] == 3, at(-5))
    check("W20 up to the end", delete(-1) == (0, 6))
    check("F13 an emptied topic", [t.offset("traps-o", x)["Offset"] for x in (-1, -2, now)] ==
          [6, 6, -1])
    check("W20 and it can be written", t.produce("traps-o", kbatch.batch([b"x"], timestamp=now))
          ["BaseOffset"] == 6)
    t.create("traps-o-compact", cleanup_policy="compact")
    row = t.call("DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
        {"Name": "traps-o-compact", "Partitions": [{"PartitionIndex": 0, "Offset": 0}]}]}
                 )["Topics"][0]["Partitions"][0]
    check("W20 not on a compacted topic", row["ErrorCode"] == 44, row)

    def epoch(asked, current=-1):
        row = t.call("OffsetForLeaderEpoch", 4, {"Topics": [{"Topic": "traps-o", "Partitions": [
            {"Partition": 0, "CurrentLeaderEpoch": current, "LeaderEpoch": asked}]}]}
                     )["Topics"][0]["Partitions"][0]
        return row["ErrorCode"], row["LeaderEpoch"], row["EndOffset"]
    check("F14 epoch 0", epoch(0)[0] == 0 and epoch(0)[2] == 7, epoch(0))
    check("F14 a future current epoch", epoch(0, 9)[0] == 76 or epoch(0, 9)[0] == 75, epoch(0, 9))
    part = t.fetch("traps-o", 7)
    check("F15 no hint is -1, not node 0", part["CurrentLeader"] in (
        None, {"LeaderId": -1, "LeaderEpoch": -1}), part["CurrentLeader"])


def main():
    node = node_under_test().start()
    try:
        t = Probe(node)
        for part in (handshake, lengths, acks, topics, configs, batches, fetches, offsets):
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.c = t.connect()
    finally:
        node.clean()
    finish()


main()
