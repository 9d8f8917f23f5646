#!/usr/bin/env python3
"""Committed offsets: those of transactions (pending, visible with the marker, unstable), and their
retention. The retention is one minute, the smallest there is, and all cases wait together.
NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well."""
import os
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import NOBODY, Probe, node_under_test  # noqa: E402

RETRIED = (14, 15, 16, 51)  # the coordinator loads or is busy with the transaction before
(UNKNOWN_PARTITION, METADATA_TOO_LARGE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, INVALID_GROUP,
 FENCED_INSTANCE, NOT_FOUND, UNSTABLE, INVALID_TXN_STATE, TRANSACTION_ABORTABLE) = (
     3, 12, 22, 25, 24, 82, 69, 88, 48, 120)
STALE_PRODUCER = (47, 90)
RETENTION_S = 60


def commit(t, group, offset, topic="o", partition=0, version=8, generation=-1, member="",
           instance=None, metadata="", retention=None):
    body = {"GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member,
            "GroupInstanceId": instance, "Topics": [{"Name": topic, "Partitions": [
                {"PartitionIndex": partition, "CommittedOffset": offset,
                 "CommittedMetadata": metadata}]}]}
    if retention is not None:
        body["RetentionTimeMs"] = retention
    answer = t.call("OffsetCommit", version, body)
    return answer["Topics"][0]["Partitions"][0]["ErrorCode"]


def fetched(t, group, topic="o", partition=0, stable=False, version=8):
    """(error, offset) of one partition."""
    answer = t.call("OffsetFetch", version, {"RequireStable": stable, "Groups": [
        {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [partition]}]}]})
    part = answer["Groups"][0]["Topics"][0]["Partitions"][0]
    return part["ErrorCode"], part["CommittedOffset"]


def all_fetched(t, group, stable=False):
    answer = t.call("OffsetFetch", 8, {"RequireStable": stable, "Groups": [
        {"GroupId": group, "Topics": None}]})["Groups"][0]
    return answer["ErrorCode"], sorted(
        (x["Name"], p["PartitionIndex"], p["ErrorCode"], p["CommittedOffset"])
        for x in answer["Topics"] for p in x["Partitions"])


def state(t, group):
    return t.call("DescribeGroups", 5, {"Groups": [group]})["Groups"][0]["GroupState"]


def offset_delete(t, group, topic="o", partition=0):
    answer = t.call("OffsetDelete", 0, {"GroupId": group, "Topics": [
        {"Name": topic, "Partitions": [{"PartitionIndex": partition}]}]})
    return answer["ErrorCode"] or answer["Topics"][0]["Partitions"][0]["ErrorCode"]


class Member:
    """One member of a classic group that has joined, alone."""

    def __init__(self, t, group, topics=(), kind="consumer", metadata=None, instance=None):
        self.t, self.group, self.instance = t, group, instance
        if metadata is None:
            metadata = struct.pack(">hi", 0, len(topics)) + b"".join(
                struct.pack(">h", len(x)) + x.encode() for x in topics) + struct.pack(">i", -1)
        body = {"GroupId": group, "SessionTimeoutMs": 30000, "RebalanceTimeoutMs": 30000,
                "MemberId": "", "GroupInstanceId": instance, "ProtocolType": kind,
                "Protocols": [{"Name": "range", "Metadata": metadata}]}
        while True:
            answer = t.call("JoinGroup", 5, body)
            body["MemberId"] = answer["MemberId"]
            if answer["ErrorCode"] == 0:
                break
            time.sleep(0.05)
        self.id, self.generation = answer["MemberId"], answer["GenerationId"]

    def sync(self):
        self.t.call("SyncGroup", 3, {
            "GroupId": self.group, "GenerationId": self.generation, "MemberId": self.id,
            "GroupInstanceId": self.instance,
            "Assignments": [{"MemberId": self.id, "Assignment": b""}]})
        return self

    def commit(self, offset, topic):
        return commit(self.t, self.group, offset, topic, generation=self.generation,
                      member=self.id, instance=self.instance)

    def heartbeat(self):
        return self.t.call("Heartbeat", 3, {"GroupId": self.group, "MemberId": self.id,
                                            "GenerationId": self.generation})["ErrorCode"]

    def leave(self):
        self.t.call("LeaveGroup", 3, {"GroupId": self.group, "Members": [{"MemberId": self.id}]})


class Producer:
    """A transactional producer that commits offsets only; `version` is that of TxnOffsetCommit:
    from 5 on the group's partition joins the transaction without AddOffsetsToTxn."""

    def __init__(self, t, name, version=5):
        self.t, self.name, self.version = t, name, version
        answer = self.retried("InitProducerId", 5 if version > 4 else 4, {
            "TransactionalId": name, "TransactionTimeoutMs": 300000})
        self.id, self.epoch = answer["ProducerId"], answer["ProducerEpoch"]

    def retried(self, api, version, body):
        for _ in range(400):
            answer = self.t.call(api, version, body)
            if answer["ErrorCode"] not in RETRIED:
                break
            time.sleep(0.02)
        if answer["ErrorCode"]:
            raise RuntimeError(f"{api}: error {answer['ErrorCode']}")
        return answer

    def add(self, group):
        self.retried("AddOffsetsToTxn", 3, {
            "TransactionalId": self.name, "ProducerId": self.id, "ProducerEpoch": self.epoch,
            "GroupId": group})

    def commit(self, group, offset, topic="o", partition=0, add=True, version=None, **more):
        version = version or self.version
        if add and version < 5:
            self.add(group)
        body = {"TransactionalId": self.name, "GroupId": group, "ProducerId": self.id,
                "ProducerEpoch": more.pop("epoch", self.epoch),
                "GenerationIdOrMemberEpoch": more.pop("generation", -1),
                "MemberId": more.pop("member", ""), "GroupInstanceId": more.pop("instance", None),
                "Topics": [{"Name": topic, "TopicId": self.t.ids.get(topic, NOBODY), "Partitions": [
                    {"PartitionIndex": partition, "CommittedOffset": offset,
                     "CommittedMetadata": more.pop("metadata", "")}]}]}
        for _ in range(400):
            error = self.t.call("TxnOffsetCommit", version, body)[
                "Topics"][0]["Partitions"][0]["ErrorCode"]
            if error not in RETRIED:
                break
            time.sleep(0.02)
        return error

    def end(self, committed):
        answer = self.retried("EndTxn", 5 if self.version > 4 else 4, {
            "TransactionalId": self.name, "ProducerId": self.id, "ProducerEpoch": self.epoch,
            "Committed": committed})
        if self.version > 4:
            self.id, self.epoch = answer["ProducerId"], answer["ProducerEpoch"]


def ends_at(t, group, wanted, **how):
    """The marker is written after EndTxn has answered."""
    for _ in range(400):
        got = fetched(t, group, stable=True, **how)
        if got[0] != UNSTABLE:
            break
        time.sleep(0.02)
    return got == wanted


def visible(t):
    for version in (4, 5):
        p, g = Producer(t, f"x{version}", version), f"g{version}"
        commit(t, g, 1)
        error = p.commit(g, 7, metadata="note")
        check(f"v{version} an offset in a transaction is taken", error == 0, error)
        check(f"v{version} and not seen before its end", fetched(t, g) == (0, 1))
        check(f"v{version} unstable when asked for stable offsets",
              fetched(t, g, stable=True) == (UNSTABLE, -1), fetched(t, g, stable=True))
        check(f"v{version} unstable among all", all_fetched(t, g, True) ==
              (0, [("o", 0, UNSTABLE, -1)]), all_fetched(t, g, True))
        check(f"v{version} other partitions are stable", fetched(t, g, partition=1, stable=True)
              == (0, -1))
        p.end(True)
        check(f"v{version} seen after the commit", ends_at(t, g, (0, 7)), fetched(t, g))
        p.commit(g, 9)
        p.commit(g, 10, partition=1)
        p.end(False)
        check(f"v{version} dropped by an abort", ends_at(t, g, (0, 7)) and
              ends_at(t, g, (0, -1), partition=1), all_fetched(t, g))
    p = Producer(t, "fresh")
    check("a group that was not there", p.commit("fresh", 5) == 0)
    check("is there, Empty", state(t, "fresh") == "Empty", state(t, "fresh"))
    check("all offsets: nothing is committed", all_fetched(t, "fresh") == (0, []))
    check("nor is a pending one without a commit listed", all_fetched(t, "fresh", True) ==
          (0, []), all_fetched(t, "fresh", True))
    p.end(False)
    check("nor anything after the abort", ends_at(t, "fresh", (0, -1)))


def order(t):
    p = Producer(t, "order")
    p.commit("order", 5)
    commit(t, "order", 3)
    check("a plain commit beside a pending one", fetched(t, "order") == (0, 3))
    p.end(True)
    check("of a pending and a later plain commit the plain one stays",
          ends_at(t, "order", (0, 3)), fetched(t, "order"))
    p.commit("order", 6)
    p.commit("order", 8)
    p.end(True)
    check("of two in one transaction the last one counts", ends_at(t, "order", (0, 8)))
    first, second = Producer(t, "order-1"), Producer(t, "order-2")
    first.commit("order", 20)
    second.commit("order", 21)
    second.end(True)
    check("with one of two transactions ended it is unstable",
          fetched(t, "order", stable=True) == (UNSTABLE, -1))
    first.end(True)
    check("of two transactions the later record stays", ends_at(t, "order", (0, 21)),
          fetched(t, "order"))


def deletes(t):
    p = Producer(t, "deletes")
    p.commit("deletes", 5)
    check("OffsetDelete takes a pending offset", offset_delete(t, "deletes") == 0)
    check("and it is stable again", fetched(t, "deletes", stable=True) == (0, -1),
          fetched(t, "deletes", stable=True))
    p.end(True)
    time.sleep(0.3)
    check("the commit of the transaction does not bring it back",
          fetched(t, "deletes", stable=True) == (0, -1))
    p.commit("deletes", 6)
    row = t.call("DeleteGroups", 2, {"GroupsNames": ["deletes"]})["Results"][0]
    check("DeleteGroups with a pending offset", row["ErrorCode"] == 0, row)
    check("the group is gone", state(t, "deletes") == "Dead", state(t, "deletes"))
    p.end(True)
    time.sleep(0.3)
    check("and does not come back with the marker", state(t, "deletes") == "Dead" and
          fetched(t, "deletes", stable=True) == (0, -1), all_fetched(t, "deletes"))


def refusals(t):
    p = Producer(t, "refused")
    check("unknown partition", p.commit("r", 1, partition=9) == UNKNOWN_PARTITION)
    check("unknown topic", p.commit("r", 1, topic="nowhere") == UNKNOWN_PARTITION)
    check("unknown topic id", p.commit("r", 1, topic="nowhere", version=6) == 100)
    check("metadata too large", p.commit("r", 1, metadata="x" * 4097) == METADATA_TOO_LARGE)
    check("a group without a name", p.commit("", 1) == INVALID_GROUP, p.commit("", 1))
    for version, wanted in ((3, ILLEGAL_GENERATION), (5, ILLEGAL_GENERATION), (6, NOT_FOUND)):
        error = p.commit("nobody", 1, version=version, generation=1, member="m")
        check(f"v{version} an unknown group with a generation", error == wanted, error)
    m = Member(t, "r-live", ["o"], instance="one")
    check("a member that waits for its assignment may", p.commit(
        "r-live", 1, generation=m.generation, member=m.id, instance="one") == 0)
    m.sync()
    check("without member and generation", p.commit("r-live", 1) == 0)
    check("the member", p.commit("r-live", 2, generation=m.generation, member=m.id) == 0)
    check("another generation", p.commit("r-live", 2, generation=m.generation + 1, member=m.id) ==
          ILLEGAL_GENERATION)
    check("a member with generation -1", p.commit("r-live", 2, member=m.id) == ILLEGAL_GENERATION)
    check("another member", p.commit("r-live", 2, generation=m.generation, member="x") ==
          UNKNOWN_MEMBER)
    check("another member of the instance", p.commit(
        "r-live", 2, generation=m.generation, member="x", instance="one") == FENCED_INSTANCE)
    check("an unknown instance", p.commit(
        "r-live", 2, generation=m.generation, member=m.id, instance="two") == UNKNOWN_MEMBER)
    check("an older epoch", p.commit("r-live", 3, epoch=p.epoch - 1) in STALE_PRODUCER,
          p.commit("r-live", 3, epoch=p.epoch - 1))
    p.end(True)
    check("only what was taken counts", ends_at(t, "r-live", (0, 2)), fetched(t, "r-live"))
    old = Producer(t, "refused-old", 4)
    for version, wanted in ((3, INVALID_TXN_STATE), (4, TRANSACTION_ABORTABLE)):
        error = old.commit("r", 1, add=False, version=version)
        check(f"v{version} a group that was not added", error == wanted, error)


def record_bytes(t):
    """What stands in the log: batch heads, keys and values, compared field by field."""
    p = Producer(t, "bytes")
    p.commit("bytes", 77, metadata="m")
    p.end(True)
    ends_at(t, "bytes", (0, 77))
    mine = [(head, data) for _, head, data in t.batches("__consumer_offsets")
            if head["producer_id"] == p.id]
    check("two batches of the producer", len(mine) == 2, mine)
    (head, data), (marker, control) = mine
    wanted = {"attributes": 0x10, "base_sequence": 0, "count": 1, "last_offset_delta": 0,
              "magic": 2, "leader_epoch": 0, "crc_ok": True}
    check("the batch is transactional", {k: head[k] for k in wanted} == wanted, head)
    key = b"\0\1\0\5bytes\0\1o\0\0\0\0"
    at = data.index(key)
    value = data[at + len(key) + 1:-1]
    check("the record's value", value[:2] == b"\0\4" and value[2:14] == struct.pack(">qi", 77, -1)
          and value[14:16] == b"\2m" and len(value) == 2 + 12 + 2 + 8 + 19, value.hex())
    wanted.update(attributes=0x30, base_sequence=-1)
    check("the marker", {k: marker[k] for k in wanted} == wanted, marker)
    check("its record: version, type, coordinator epoch", control[5:9] == b"\0\0\0\1" and
          control[9:16] == b"\x0c\0\0\0\0\0\0", control.hex())


def expiry(t):
    began = time.monotonic()

    def at(seconds):
        time.sleep(max(0.0, began + seconds - time.monotonic()))
    t.create("e", 2)
    check("explicit retention is taken", commit(t, "e-now", 1, version=4, retention=500) == 0)
    check("a negative retention is taken", commit(t, "e-past", 1, version=4, retention=-7) == 0)
    commit(t, "e-simple", 1)
    commit(t, "e-part", 1)
    commit(t, "e-long", 1, version=4, retention=3600000)
    live = Member(t, "e-live", ["o"]).sync()
    check("offsets of a member", [live.commit(1, "o"), live.commit(2, "e")] == [0, 0])
    broken = Member(t, "e-broken", metadata=b"\0\0\0\0\0\5").sync()
    broken.commit(1, "o")
    connect = Member(t, "e-connect", ["e"], kind="connect").sync()
    connect.commit(1, "o")
    gone = Member(t, "e-gone", ["o"]).sync()
    gone.commit(1, "o")
    pending = Producer(t, "e-pending")
    commit(t, "e-pending", 1)
    pending.commit("e-pending", 2)
    only = Producer(t, "e-only")
    only.commit("e-only", 2)
    stopped = threading.Event()
    others = Probe(t.node)

    def beat():
        members = [Member.__new__(Member) for _ in range(3)]
        for copy, m in zip(members, (live, broken, connect)):
            copy.__dict__.update(m.__dict__, t=others)
        while not stopped.wait(2):
            for m in members:
                m.heartbeat()
    threading.Thread(target=beat, daemon=True).start()
    at(10)
    check("explicit retention: gone", fetched(t, "e-now") == (0, -1), fetched(t, "e-now"))
    check("and its group", state(t, "e-now") == "Dead", state(t, "e-now"))
    check("and the negative one", fetched(t, "e-past") == (0, -1))
    at(25)
    gone.leave()
    commit(t, "e-part", 2, partition=1)
    check("nothing else before its time", [fetched(t, g)[1] for g in (
        "e-simple", "e-part", "e-long", "e-live", "e-broken", "e-connect", "e-gone",
        "e-pending")] == [1] * 8)
    at(RETENTION_S + 8)
    check("stand-alone: since the commit", fetched(t, "e-simple") == (0, -1))
    check("and the group with its last offset", state(t, "e-simple") == "Dead")
    check("partition by partition", all_fetched(t, "e-part") == (0, [("o", 1, 0, 2)]),
          all_fetched(t, "e-part"))
    check("a longer explicit retention", fetched(t, "e-long") == (0, 1))
    check("a topic that members read stays", fetched(t, "e-live") == (0, 1))
    check("one that they do not read goes", fetched(t, "e-live", "e") == (0, -1),
          fetched(t, "e-live", "e"))
    check("an unreadable subscription keeps all", fetched(t, "e-broken") == (0, 1))
    check("other protocols keep all while they have members",
          fetched(t, "e-connect") == (0, 1))
    check("an empty group: not since the commit", fetched(t, "e-gone") == (0, 1),
          fetched(t, "e-gone"))
    check("an offset with a pending one stays", fetched(t, "e-pending") == (0, 1))
    pending.end(False)
    only.end(True)
    at(25 + RETENTION_S + 8)
    check("an empty group: since it is empty", fetched(t, "e-gone") == (0, -1))
    check("with its members' record", state(t, "e-gone") == "Dead", state(t, "e-gone"))
    check("an offset after the abort of the pending one", fetched(t, "e-pending") == (0, -1))
    check("one whose commit was long under way: since its record", fetched(t, "e-only") == (0, -1))
    stopped.set()


def tombstones(t):
    """Behind the expiry: what a new coordinator would load."""
    left = {}
    for _, head, data in t.batches("__consumer_offsets"):
        at = 0
        for _ in range(head["count"] if not head["attributes"] & 0x20 else 0):
            size, at = kbatch.read_varint(data, at)
            end = at + size
            _, at = kbatch.read_varint(data, at + 1)
            _, at = kbatch.read_varint(data, at)
            key_size, at = kbatch.read_varint(data, at)
            key = data[at:at + key_size]
            value_size, at = kbatch.read_varint(data, at + key_size)
            left[key] = value_size
            at = end
    for group in ("e-now", "e-simple", "e-gone", "e-pending"):
        rows = [(k, v) for k, v in left.items() if group.encode() in k]
        check(f"every record of {group} has its tombstone", rows and all(v < 0 for _, v in rows),
              rows)
    check("a simple group has a tombstone of its own", left.get(b"\0\2\0\x08e-simple") == -1,
          [k for k in left if b"e-simple" in k])


def main():
    node = node_under_test(offsets__retention__minutes=1,
                           offsets__retention__check__interval__ms=1000,
                           offsets__topic__num__partitions=1,
                           transaction__state__log__num__partitions=1).start()
    try:
        t = Probe(node)
        t.create("o", 2)
        t.coordinated("any")
        t.call("FindCoordinator", 4, {"KeyType": 1, "CoordinatorKeys": ["any"]})
        waiting = threading.Thread(target=lambda: attempt(expiry, Probe(node)))
        waiting.start()
        for part in (visible, order, deletes, refusals, record_bytes):
            attempt(part, t)
        waiting.join()
        attempt(tombstones, t)
    finally:
        node.clean()
    finish()


def attempt(part, t):
    try:
        part(t)
    except Exception as e:
        check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
        t.c = t.connect()


main()
