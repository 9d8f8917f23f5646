#!/usr/bin/env python3
"""The protocol where it is easily got wrong, by raw bytes: the handshake, lengths, acks, topics,
configs. NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well."""
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

ODD = ("Produce", "InitProducerId")  # announced from 0 for old clients; without an unstable version


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
        check("ApiVersions above the maximum: version 0 answer with one entry",
              answer[:10] == struct.pack(">ihi", 7, 35, 1) and answer[10:12] == b"\0\x12" and
              len(answer) == 16, answer.hex())
        c.correlation = 8
        check("the connection stays open", c.call("ApiVersions", 0, {})["ErrorCode"] == 0)
        c.send_frame(kwire.header("ApiVersions", 3, 9) + kwire.encode(
            "ApiVersionsRequest", 3, {"ClientSoftwareName": "x", "ClientSoftwareVersion": "1"}))
        answer = c.receive_frame()
        check("the header of an ApiVersions answer has no tags", answer[:6] ==
              struct.pack(">ih", 9, 0) and answer[6] > 1, answer[:8].hex())
    keys = {k["ApiKey"]: k for k in t.call("ApiVersions", 0, {})["ApiKeys"]}
    check("Produce is announced from 0", keys[0]["MinVersion"] == 0 and
          keys[0]["MaxVersion"] == 13)
    check("Metadata 0 works", len(t.call("Metadata", 0, {"Topics": []})["Brokers"]) == 1)
    check("ListOffsets 0 closes", closes(t, struct.pack(">hhih", 2, 0, 1, -1) + b"\0" * 8))
    check("JoinGroup 99 closes", closes(t, struct.pack(">hhih", 11, 99, 1, -1)))
    check("key 999 closes", closes(t, struct.pack(">hhih", 999, 0, 1, -1)))
    asked = {"Topics": [{"Name": "proto-none"}], "AllowAutoTopicCreation": False}
    for label, client in (("null", None), ("empty", "")):
        with t.connect() as c:
            rows = c.call("Metadata", 12, asked, client=client)["Topics"]
            check(f"{label} client id in a flexible header: the tags behind it are taken",
                  [(r["Name"], r["ErrorCode"]) for r in rows] == [("proto-none", 3)], rows)
    with t.connect() as c:
        head = kwire.header("Metadata", 12, 5)[:-1] + b"\1\x7f\5hello"
        c.send_frame(head + kwire.encode("MetadataRequest", 12, asked))
        rows = c.receive("Metadata", 12, 5)["Topics"]
        check("an unknown tag in the header is skipped", [r["Name"] for r in rows] ==
              ["proto-none"], rows)
    found = {k: (v["MinVersion"], v["MaxVersion"]) for k, v in keys.items()}
    partial = {name: found[key] for name, (key, low, high) in kwire.APIS.items()
               if key in found and name not in ODD and found[key] != (low, high)}
    check("what is served is announced in its whole range", not partial, partial)


def lengths(t):
    check("array length beyond the frame closes",
          closes(t, struct.pack(">hhih", 3, 1, 1, -1) + b"\x7f\xff\xff\xff"))
    check("string length beyond the frame closes",
          closes(t, struct.pack(">hhih", 11, 0, 1, -1) + b"\x7f\xffab"))
    check("varint count beyond the frame closes",
          closes(t, kwire.header("Metadata", 12, 1) + b"\xff\xff\xff\xff\x0f"))
    check("tag size beyond the frame closes", closes(
        t, kwire.header("Metadata", 12, 1)[:-1] + b"\1\x7f\xff\xff\xff\xff\x0f" + b"\1\0\0"))
    check("a frame of 2 GB closes", closes(t, struct.pack(">i", 2147483647), False))
    check("a negative frame closes", closes(t, struct.pack(">i", -5), False))
    name = "proto-tags"
    t.create(name)
    body = {"MaxWaitMs": 0, "MinBytes": 0, "_tags": {127: b"hello"}, "Topics": [
        {"Topic": name, "_tags": {127: b"hello"}, "Partitions": [
            {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 9, "_tags": {127: b"hello"}}]}]}
    check("unknown tags are skipped in every struct",
          t.call("Fetch", 12, body)["Responses"][0]["Partitions"][0]["ErrorCode"] == 0)
    good = kbatch.batch([b"x"])
    for label, records in (("-1", kbatch.batch([b"x"], length=-1)),
                           ("2^31-1", kbatch.batch([b"x"], length=2147483647)),
                           ("one too long", kbatch.batch([b"x"], length=len(good) - 11)),
                           ("cut", good[:-1]), ("none", b"")):
        error = t.produce(name, records)["ErrorCode"]
        check(f"batch length {label} is refused, the connection lives", error != 0, error)
    check("two batches", t.produce(name, good + good)["ErrorCode"] == 87)
    check("nothing of it is in the log", t.end(name) == (0, 0), t.end(name))
    t.produce(name, good + b"\0" * 4)
    data = t.fetch(name, 0)["Records"]
    check("bytes behind the batch are dropped", len(data) == len(good), len(data))


def acks(t):
    t.create("proto-acks")
    good = kbatch.batch([b"x"])
    with t.connect() as c:
        c.send("Produce", 9, {"Acks": 0, "TopicData": [{"Name": "proto-acks", "PartitionData": [
            {"Index": 0, "Records": good}]}]})
        check("acks=0 takes no place in the order of answers",
              len(c.call("Metadata", 12, {"Topics": []})["Brokers"]) == 1)
        wait = {"MaxWaitMs": 400, "MinBytes": 1, "Topics": [{"Topic": "proto-acks", "Partitions": [
            {"Partition": 0, "FetchOffset": 99, "PartitionMaxBytes": 9}]}]}
        wait["Topics"][0]["Partitions"][0]["FetchOffset"] = t.end("proto-acks")[1]
        sent = []
        for _ in range(3):
            sent.append(("Fetch", 12, c.send("Fetch", 12, wait)))
            c.send("Produce", 9, {"Acks": 0, "TopicData": [{"Name": "proto-acks", "PartitionData": [
                {"Index": 0, "Records": good}]}]})
            sent.append(("Metadata", 12, c.send("Metadata", 12, {"Topics": []})))
        check("pipelined with others, each answer is in its place",
              all(c.receive(*s) is not None for s in sent))
    with t.connect() as c:
        c.send("Produce", 9, {"Acks": 0, "TopicData": [{"Name": "proto-none", "PartitionData": [
            {"Index": 0, "Records": good}]}]})
        try:
            c.call("Metadata", 12, {"Topics": []})
            check("acks=0 with an error closes", False)
        except kwire.Closed:
            check("acks=0 with an error closes", True)
    check("acks=2", t.produce("proto-acks", good, acks=2)["ErrorCode"] == 21)
    end = t.end("proto-acks")[1]
    check("base offset is that of the first record", t.produce(
        "proto-acks", kbatch.batch([b"x"] * 10))["BaseOffset"] == end)


def topics(t):
    t.create("proto-t")
    listed = t.call("Metadata", 1, {"Topics": None})["Topics"]
    check("null lists all", "proto-t" in [x["Name"] for x in listed])
    check("empty lists none", t.call("Metadata", 1, {"Topics": []})["Topics"] == [])
    check("version 0: empty lists all", t.call("Metadata", 0, {"Topics": []})["Topics"] != [])
    answer = t.call("Metadata", 12, {"Topics": [{"Name": None, "TopicId": NOBODY}]})["Topics"][0]
    check("unknown id is echoed", (answer["ErrorCode"], answer["TopicId"]) == (100, NOBODY))
    late = 0
    for i in range(200):
        name = f"proto-t2-{i}"
        t.call("CreateTopics", 7, {"Topics": [{"Name": name, "NumPartitions": 1,
                                               "ReplicationFactor": 1}]})
        late += t.produce(name, kbatch.batch([b"x"]))["ErrorCode"] != 0
        late += not t.fetch(name, 0)["Records"]
    if t.node.kind == "klamm":
        check("a topic can be written and read as soon as it is made, 200 times", late == 0, late)

    def ask(name, allow):
        return t.call("Metadata", 12, {"Topics": [{"Name": name}], "AllowAutoTopicCreation": allow}
                      )["Topics"][0]["ErrorCode"]
    check("Metadata makes no topic unasked", [ask("proto-auto", False) for _ in range(2)] == [3, 3])
    codes = [ask("proto-auto", True)]
    while codes[-1] in (3, 5) and len(codes) < 100:
        time.sleep(0.02)
        codes.append(ask("proto-auto", True))
    check("Metadata makes a topic: only retriable errors until it is there", codes[-1] == 0, codes)
    twice = {"Topics": [{"Name": "proto-twice"}] * 3, "AllowAutoTopicCreation": True}
    for _ in range(100):
        found = t.call("Metadata", 12, twice)["Topics"]
        if not found[0]["ErrorCode"]:
            break
        time.sleep(0.02)
    check("Metadata makes one topic of a name said three times",
          [f["ErrorCode"] for f in found] == [0], found)
    check("Metadata makes no topic of a bad name", ask("proto/auto", True) == 17)

    def create(label, want, validate=False, **topic):
        answer = t.call("CreateTopics", 7, {"Topics": [{
            "NumPartitions": 1, "ReplicationFactor": 1, **topic}],
            "validateOnly": validate})["Topics"][0]
        check(label, answer["ErrorCode"] == want, answer)
        return answer
    create("validate_only sees an existing topic", 36, True, Name="proto-t")
    create("validate_only sees a bad name", 17, True, Name="proto/t")
    create("validate_only sees a bad config", 40, True, Name="proto-dry", Configs=[
        {"Name": "retention.ms", "Value": "x"}])
    create("validate_only of what could be made", 0, True, Name="proto-dry")
    check("makes nothing", ask("proto-dry", False) == 3)
    made = create("defaults of partitions and replicas", 0, Name="proto-t4", NumPartitions=-1,
                  ReplicationFactor=-1)
    check("the answer has the real numbers", (made["NumPartitions"],
                                                 made["ReplicationFactor"]) == (1, 1))
    rows = t.call("DescribeConfigs", 4, {"Resources": [
        {"ResourceType": 2, "ResourceName": "proto-t4", "ConfigurationKeys": None}]}
                  )["Results"][0]["Configs"]
    described, answered = ({c["Name"]: (c["Value"], c["ReadOnly"], c["ConfigSource"], c["IsSensitive"])
                            for c in part} for part in (rows, made["Configs"]))
    check("the answer has every config as DescribeConfigs tells it", len(answered) > 25 and
          answered == described, answered)
    made = create("the compacted topics of Connect", 0, Name="proto-connect", Configs=[
        {"Name": "cleanup.policy", "Value": "compact"}])
    check("are told to be compacted by their own setting", [
        (c["Value"], c["ConfigSource"]) for c in made["Configs"] if c["Name"] == "cleanup.policy"] ==
        [("compact", 1)], made["Configs"])
    real = t.call("CreateTopics", 7, {"Topics": [{
        "Name": "proto-t4-many", "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": [
            {"PartitionIndex": i, "BrokerIds": [1]} for i in range(3)]}]})["Topics"][0]
    check("and those of an assignment", (real["NumPartitions"], real["ReplicationFactor"]) == (3, 1),
          real)
    for label, name in (("empty", ""), ("dot", "."), ("dots", ".."), ("250 characters", "x" * 250),
                        ("slash", "a/b")):
        create(f"name: {label}", 17, Name=name)
    create("a name", 0, Name="proto.a_b")
    create("a name that collides with it", 17, Name="proto_a.b")
    create("no partitions", 37, Name="proto-t16", NumPartitions=0)
    create("no replicas", 38, Name="proto-t16", ReplicationFactor=0)
    rows = t.call("DeleteTopics", 5, {"TopicNames": ["proto.a_b", "proto-none"],
                                   "TimeoutMs": 10000})["Responses"]
    check("one row for each topic", sorted((r["Name"], r["ErrorCode"]) for r in rows) ==
          [("proto-none", 3), ("proto.a_b", 0)], rows)
    raced = []
    for i in range(20):
        name = f"proto-race-{i}"
        t.create(name)
        start, found = threading.Barrier(2), []

        def delete():
            with t.connect() as c:
                start.wait()
                found.append(c.call("DeleteTopics", 5, {
                    "TopicNames": [name], "TimeoutMs": 10000})["Responses"][0]["ErrorCode"])
        threads = [threading.Thread(target=delete) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        raced.append(sorted(found))
    check("two delete one topic: one has done it, the other finds nothing", raced == [[0, 3]] * 20,
          raced)
    t.create("proto-grows")

    def grow(*rows):
        answer = t.call("CreatePartitions", 3, {"TimeoutMs": 10000, "Topics": [
            {"Name": n, "Count": c, "Assignments": None} for n, c in rows]})["Results"]
        return sorted((r["Name"], r["ErrorCode"]) for r in answer)
    check("CreatePartitions of nothing", grow() == [])
    check("a row for each topic", grow(("proto-grows", 4), ("proto-none", 4)) == [
        ("proto-grows", 0), ("proto-none", 3)])
    check("fewer partitions, and as many", (grow(("proto-grows", 2)), grow(("proto-grows", 4))) ==
          ([("proto-grows", 37)], [("proto-grows", 37)]))

    def numbers():
        row = t.call("Metadata", 12, {"Topics": [{"Name": "proto-grows"}]})["Topics"][0]
        return sorted(p["PartitionIndex"] for p in row["Partitions"])
    end = time.monotonic() + 10
    while len(numbers()) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    check("the new ones are numbered on", numbers() == [0, 1, 2, 3], numbers())


def configs(t):
    t.create("proto-c", cleanup_policy="delete")

    def describe(kind, name, keys=None):
        answer = t.call("DescribeConfigs", 4, {"IncludeSynonyms": True, "Resources": [
            {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}]})["Results"][0]
        return {c["Name"]: c for c in answer["Configs"] or []}
    found = describe(2, "proto-c")
    check("a value that equals the default is still the topic's",
          found["cleanup.policy"]["ConfigSource"] == 1 and found["retention.ms"]["ConfigSource"] == 5)
    check("named keys", list(describe(2, "proto-c", ["retention.ms"])) == ["retention.ms"])
    check("null asks for all keys", len(found) > 25 and set(found) ==
          set(describe(2, "proto-c", None)), len(found))
    check("[] asks for all keys, too", set(found) == set(describe(2, "proto-c", [])),
          sorted(describe(2, "proto-c", [])))
    check("synonyms: the topic's, then the default", [(s["Name"], s["Source"]) for s in
          found["cleanup.policy"]["Synonyms"]] == [("cleanup.policy", 1), ("log.cleanup.policy", 5)],
          found["cleanup.policy"]["Synonyms"])
    broker = describe(4, "1")
    check("what stands in the file is read-only or static", (
        broker["node.id"]["ReadOnly"], broker["node.id"]["ConfigSource"]) == (True, 4) and
        not broker["log.retention.ms"]["ReadOnly"], broker["node.id"])
    check("sensitive values are not told", all(c["Value"] is None for c in broker.values()
                                               if c["IsSensitive"]) and
          broker["ssl.key.password"]["IsSensitive"], broker["ssl.key.password"])
    check("broker defaults by Kafka's names",
          {"num.partitions", "default.replication.factor", "log.retention.ms"} <=
          set(describe(4, "1")))

    def alter(*changes, kind=2, name="proto-c"):
        return t.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": kind, "ResourceName": name, "Configs": [
                {"Name": n, "ConfigOperation": o, "Value": v} for n, o, v in changes]}]}
                      )["Responses"][0]["ErrorCode"]
    alter(("cleanup.policy", 1, None))

    def settled(value, name="cleanup.policy"):
        """Apache Kafka's broker sees a change a little later."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if describe(2, "proto-c")[name]["Value"] == value:
                return True
            time.sleep(0.02)
        return False
    settled("delete")
    check("append starts from the default", alter(("cleanup.policy", 2, "compact")) == 0 and
          settled("delete,compact"),
          describe(2, "proto-c")["cleanup.policy"]["Value"])
    check("append of what is there changes nothing", alter(("cleanup.policy", 2, "compact")) == 0 and
          describe(2, "proto-c")["cleanup.policy"]["Value"] == "delete,compact")
    check("subtract", alter(("cleanup.policy", 3, "delete")) == 0 and
          settled("compact"), describe(2, "proto-c")["cleanup.policy"]["Value"])
    check("subtract of the last value leaves none", alter(("cleanup.policy", 3, "compact")) == 0 and
          settled(""), describe(2, "proto-c")["cleanup.policy"]["Value"])
    two = t.call("IncrementalAlterConfigs", 1, {"Resources": [
        {"ResourceType": 2, "ResourceName": n, "Configs": [
            {"Name": "retention.ms", "ConfigOperation": 0, "Value": v}]}
        for n, v in (("proto-c", "x"), ("proto-t", "777000"))]})["Responses"]
    check("one bad resource leaves the other alone", sorted(
        (r["ResourceName"], r["ErrorCode"]) for r in two) == [("proto-c", 40), ("proto-t", 0)], two)
    check("append to a scalar", alter(("retention.ms", 2, "1")) == 40)
    check("one key twice", alter(("retention.ms", 0, "1"), ("retention.ms", 0, "2")) == 42)
    check("cluster-wide default", alter(
        ("log.message.timestamp.type", 0, "LogAppendTime"), kind=4, name="") == 0)
    time.sleep(0.5)
    entry = describe(4, "1")["log.message.timestamp.type"]
    check("its source", (entry["Value"], entry["ConfigSource"]) == ("LogAppendTime", 3), entry)
    alter(("log.message.timestamp.type", 1, None), kind=4, name="")
    replace = {"Resources": [{"ResourceType": 2, "ResourceName": "proto-c", "Configs": [
        {"Name": "segment.ms", "Value": "70000"}]}]}
    t.call("AlterConfigs", 2, replace)
    time.sleep(0.3)
    found = describe(2, "proto-c")
    check("AlterConfigs resets what is not named", found["cleanup.policy"]["ConfigSource"] == 5 and
          found["segment.ms"]["Value"] == "70000")


def main():
    node = node_under_test().start()
    try:
        t = Probe(node)
        for part in (handshake, lengths, acks, topics, configs):
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.c = t.connect()
    finally:
        node.clean()
    finish()


main()
