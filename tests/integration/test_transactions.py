#!/usr/bin/env python3
"""Transactions by raw requests: the coordinator's answers, what lies in the log, what readers see.

NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well. What survives a restart:
test_transactions_life.py.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import LOADING, Probe, node_under_test  # noqa: E402
from txns import (Txn, committed_offset, describe, listed, marker, producers, read,  # noqa: E402
                  values, write_marker)


def virgin(t):
    """No API depends on another one having been called."""
    answer = t.call("ListTransactions", 2, {})
    check("ListTransactions on a fresh node", answer["ErrorCode"] in (0, *LOADING) and
          answer["TransactionStates"] == [], answer)
    row = describe(t, "nobody")
    check("DescribeTransactions on a fresh node", row["ErrorCode"] in (105, *LOADING), row)
    p = Txn(t, "virgin")
    p.pid, p.epoch = 5, 0
    check("EndTxn on a fresh node", p.end(True, retry=False)["ErrorCode"] in (49, *LOADING))
    check("AddOffsetsToTxn on a fresh node", p.add_offsets("g", retry=False) in (49, *LOADING))
    t.coordinated("virgin", 1)
    for version in range(7):
        body = {"CoordinatorKeys": ["a", "b"]} if version >= 4 else {"Key": "a"}
        if version > 0:
            body["KeyType"] = 1
        answer = t.call("FindCoordinator", version, body) if version else None
        rows = answer["Coordinators"] if version >= 4 else [answer] if version else []
        check(f"FindCoordinator {version} for transactions", all(
            (r["ErrorCode"], r["NodeId"], r["Port"]) == (0, 1, t.node.port) for r in rows), answer)
    topic = t.call("Metadata", 12, {"Topics": [{"Name": "__transaction_state"}]})["Topics"][0]
    check("__transaction_state is made with its partitions, as an internal topic",
          topic["IsInternal"] and len(topic["Partitions"]) == 5, topic["ErrorCode"])
    configs = t.call("DescribeConfigs", 4, {"Resources": [{
        "ResourceType": 2, "ResourceName": "__transaction_state", "ConfigurationKeys": None}]})
    found = {c["Name"]: c["Value"] for c in configs["Results"][0]["Configs"]
             if c["ConfigSource"] == 1}
    check("__transaction_state has Kafka's configs", found == {
        "cleanup.policy": "compact", "compression.type": "uncompressed",
        "min.insync.replicas": "1", "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false"}, found)


def ids(t):
    for version in range(6):
        p = Txn(t, f"ids-{version}")
        first = p.init(version)
        second = p.init(version)
        check(f"InitProducerId {version}: an id, then its next epoch", (
            first["ErrorCode"], first["ProducerEpoch"], second["ErrorCode"],
            second["ProducerEpoch"]) == (0, 0, 0, 1) and first["ProducerId"] ==
            second["ProducerId"], (first, second))
    for timeout, want in ((0, 50), (-1, 50), (900000, 0), (900001, 50)):
        code = Txn(t, f"ids-timeout-{timeout}", timeout).init()["ErrorCode"]
        check(f"a timeout of {timeout}", code == want, code)
    check("an empty transactional id", Txn(t, "").init()["ErrorCode"] == 42)
    p = Txn(t, "ids-360")
    answer = p.init(5, 1234, 0)
    check("an id not known to the coordinator: a new producer id, not the one asked",
          answer["ErrorCode"] == 0 and answer["ProducerId"] != 1234, answer)
    p.init()
    check("the current epoch is bumped", p.init(5, p.pid, p.epoch)["ProducerEpoch"] == 2)
    check("the epoch before: the current one again", p.init(5, p.pid, 1)["ProducerEpoch"] == 2)
    for label, pid, epoch in (("two before", p.pid, 0), ("a future epoch", p.pid, 7),
                              ("another producer", p.pid + 100000, 2)):
        codes = [p.clone().init(v, pid, epoch)["ErrorCode"] for v in (3, 4, 5)]
        check(f"{label}", codes == [47, 90, 90], codes)
    codes = [p.clone().init(5, *pair)["ErrorCode"] for pair in ((p.pid, -1), (-1, 3))]
    check("half of a pair", codes == [42, 42], codes)
    check("all of it changed nothing", p.describe()["ProducerEpoch"] == 2)
    bare = Txn(t, None)
    bare.init()
    check("an idempotent producer that names its id gets another one",
          bare.clone().init(5, bare.pid, 0)["ProducerId"] != bare.pid)


def partitions(t):
    t.create("part", 3)
    p = Txn(t, "part", old=True)
    p.init()
    for version in range(4):
        check(f"AddPartitionsToTxn {version}", p.add("part", (0, 1), version) == [0, 0])
    check("an unknown partition fails all", p.add("part", (0, 7)) == [55, 3])
    check("an unknown topic", p.add("none") == [3])
    row = p.describe()
    check("DescribeTransactions has what was added", row["TransactionState"] == "Ongoing" and [
        (x["Topic"], sorted(x["Partitions"])) for x in row["Topics"]] == [("part", [0, 1])], row)
    for version in (4, 5):
        check(f"AddPartitionsToTxn {version} verifies", p.verify("part", (0, 1), True, version) ==
              [0, 0])
        check(f"AddPartitionsToTxn {version}: one was not added", p.verify(
            "part", (0, 2), True, version) == [0, 120])
        check(f"AddPartitionsToTxn {version} adds for a broker", p.verify(
            "part", (0, 1), False, version) == [0, 0])
        check(f"AddPartitionsToTxn {version}: an unknown partition", p.verify(
            "part", (0, 9), False, version) == [55, 3])
    stale, other = p.clone(), p.clone()
    stale.epoch -= 1
    other.pid += 77777
    codes = [stale.add("part", version=v)[0] for v in range(4)]
    check("an old epoch: INVALID_PRODUCER_EPOCH before 2, PRODUCER_FENCED after",
          codes == [47, 47, 90, 90], codes)
    check("another producer id", other.add("part") == [49])
    other.name = "part-nobody"
    check("an unknown transactional id", (other.add("part"), other.end(True)["ErrorCode"],
                                          other.add_offsets("g")) == ([49], 49, 49))
    check("and an empty one", Txn(t, "").add("part")[0] in (42, 49), Txn(t, "").add("part"))
    p.end(False)


def ends(t):
    t.create("ends")
    old = Txn(t, "ends-old", old=True)
    old.init()
    check("EndTxn 4 of nothing: commit refused, abort too", (
        old.end(True)["ErrorCode"], old.end(False)["ErrorCode"]) == (48, 48))
    for version in range(5):
        commit = version % 2 == 0
        old.send("ends", [b"old"])
        code = old.end(commit, version)["ErrorCode"]
        state = old.settled()["TransactionState"]
        check(f"EndTxn {version}", (code, state) == (
            0, "CompleteCommit" if commit else "CompleteAbort"), (code, state))
        check(f"EndTxn {version} sent again", old.end(commit, version)["ErrorCode"] == 0)
        check(f"EndTxn {version} the other way", old.end(not commit, version)["ErrorCode"] == 48)
        check(f"EndTxn {version} keeps the epoch", old.describe()["ProducerEpoch"] == 0)
    stale = old.clone()
    stale.epoch -= 1
    codes = [stale.end(True, v)["ErrorCode"] for v in range(5)]
    check("EndTxn with an old epoch", codes == [47, 47, 90, 90, 90], codes)
    stale.epoch += 2
    codes = [stale.end(True, v)["ErrorCode"] for v in range(6)]
    check("EndTxn with a future epoch", codes == [47, 47, 90, 90, 90, 90], codes)
    stale.pid += 1000
    check("EndTxn of another producer", stale.end(True)["ErrorCode"] == 49)

    p = Txn(t, "ends-new")
    p.init()
    check("EndTxn 5 of nothing: commit refused", p.end(True)["ErrorCode"] == 48)
    answer = p.end(False)
    check("EndTxn 5 of nothing: abort bumps", (answer["ErrorCode"], answer["ProducerEpoch"],
                                               p.settled()["TransactionState"]) ==
          (0, 1, "CompleteAbort"), answer)
    p.send("ends", [b"new"])
    before = p.clone()
    answer = p.end(True)
    check("EndTxn 5 bumps the epoch", (answer["ErrorCode"], answer["ProducerEpoch"]) == (0, 2) and
          answer["ProducerId"] == before.pid, answer)
    p.settled()
    answer = before.clone().end(True)
    check("EndTxn 5 sent again: the same answer", (answer["ErrorCode"], answer["ProducerEpoch"]) ==
          (0, 2), answer)
    check("EndTxn 5 the other way", before.clone().end(False)["ErrorCode"] == 48)
    check("EndTxn 4 with the epoch before", before.clone().end(True, 4)["ErrorCode"] == 90)
    before.epoch -= 1
    check("EndTxn 5 from two epochs before", before.end(True)["ErrorCode"] == 90)
    check("the epoch stands", p.describe()["ProducerEpoch"] == 2)
    heads = [(h["producer_epoch"], marker(h, r), r[9:].hex()) for _, h, r in t.batches("ends")
             if h["attributes"] & 0x20 and h["producer_id"] == p.pid]
    check("the marker: the bumped epoch, version 0, the coordinator's epoch",
          heads == [(2, "commit", "0c00000000000000")], heads)
    last = [(h["attributes"], h["base_sequence"], h["last_offset_delta"], h["crc_ok"])
            for _, h, r in t.batches("ends")][-1]
    check("its batch", last == (0x30, -1, 0, True), last)


def produces(t):
    """Verification: records of a partition that was not added are refused or add it."""
    t.create("prod", 2)
    p = Txn(t, "prod")
    p.init()
    codes = [p.send("prod", [b"x"], version=v, retry=False)["ErrorCode"] for v in range(3, 12)]
    check("not added, Produce 3 to 10: INVALID_TXN_STATE, 11: TRANSACTION_ABORTABLE",
          codes == [48] * 8 + [120], codes)
    check("nothing is in the log", t.end("prod") == (0, 0))
    check("Produce 12 adds the partition", p.send("prod", [b"a", b"b"])["ErrorCode"] == 0 and
          p.describe()["Topics"] == [{"Topic": "prod", "Partitions": [0]}], p.describe())
    check("a gap", p.send("prod", [b"c"], sequence=9)["ErrorCode"] == 45)
    answer = p.send("prod", [b"a", b"b"], sequence=0)
    check("sent again: the first offset", (answer["ErrorCode"], answer["BaseOffset"]) == (0, 0),
          answer)
    plain = t.produce("prod", p.batch("prod", [b"n"], attributes=0))
    check("not transactional while the transaction is open", plain["ErrorCode"] == 48, plain)
    zombie = p.clone()
    p.end(True)
    p.settled()
    check("an old epoch may not write", zombie.send("prod", [b"z"], retry=False)["ErrorCode"] == 47)
    zombie.epoch += 3
    check("nor a future one", zombie.send("prod", [b"z"], retry=False)["ErrorCode"] == 47)
    zombie.pid += 500
    check("another producer id", zombie.send("prod", [b"z"], retry=False)["ErrorCode"] == 49)
    zombie.name = "prod-nobody"
    codes = [zombie.send("prod", [b"z"], version=v, retry=False)["ErrorCode"] for v in (11, 12)]
    check("an unknown transactional id", codes == [49, 49], codes)
    check("a new epoch starts at 0", p.send("prod", [b"q"], sequence=5)["ErrorCode"] == 45)
    check("and has then added its partition", p.describe()["TransactionState"] == "Ongoing")
    p.end(False)
    p.settled()
    check("not transactional without an open transaction", t.produce(
        "prod", p.batch("prod", [b"n"], attributes=0))["ErrorCode"] == 0)
    p.sequences["prod", 0] = 1
    check("and a transaction goes on behind it", p.send("prod", [b"t"])["ErrorCode"] == 0)
    p.end(True)
    for version in (11, 12):
        code = t.produce("prod", p.batch("prod", [b"x"]), version=version)["ErrorCode"]
        check(f"Produce {version}: transactional records without transactional id", code == 53, code)
    p.settled()
    code = t.produce("prod", p.batch("prod", [b"x"], attributes=0x30), version=12,
                     transactional_id=p.name)["ErrorCode"]
    check("a client's control batch", code == 87, code)
    code = t.produce("prod", kbatch.batch([b"plain"]), version=12,
                     transactional_id=p.name)["ErrorCode"]
    check("plain records may come with a transactional id", code == 0, code)
    fresh = Txn(t, "prod-gap")
    fresh.init()
    check("no state and transaction.version 2: only sequence 0",
          fresh.send("prod", [b"x"], partition=1, sequence=5)["ErrorCode"] == 45)
    fresh.end(False)


def reads(t):
    """The last stable offset, aborted lists, positions inside transactions and segments."""
    t.create("read", segment_bytes="1048576")
    t.produce("read", kbatch.batch([b"before"]))
    a, b = Txn(t, "read-a"), Txn(t, "read-b")
    a.init(), b.init()
    a.send("read", [b"a1"])
    b.send("read", [b"b1", b"b2"])
    t.produce("read", kbatch.batch([b"between"]))
    part = t.fetch("read", 0, IsolationLevel=1)
    check("an open transaction bounds the committed", (
        part["HighWatermark"], part["LastStableOffset"], part["AbortedTransactions"]) == (5, 1, []),
        part)
    check("committed", read(t, "read") == [b"before"])
    check("uncommitted shows all", read(t, "read", committed=False) == [
        b"before", b"a1", b"b1", b"b2", b"between"])
    check("a fetch from the stable end on", t.fetch("read", 1, IsolationLevel=1)["Records"] ==
          b"" and t.fetch("read", 4, IsolationLevel=1)["ErrorCode"] == 0)
    at = [t.offset("read", -1, isolation=i)["Offset"] for i in (0, 1)]
    check("latest is the last stable offset", at == [5, 1], at)
    now = int(time.time() * 1000) - 60000
    at = [t.offset("read", now, isolation=i)["Offset"] for i in (0, 1)]
    check("by time: at or beyond the last stable offset is nothing", at == [1, -1], at)
    at = [t.offset("read", -3, isolation=i)["Offset"] for i in (0, 1)]
    check("the largest timestamp too", at[0] > 0 and at[1] == -1, at)
    first = a.end(False)
    a.settled()
    check("the one that began first is aborted: up to the other's start", t.fetch(
        "read", 0, IsolationLevel=1)["LastStableOffset"] == 2, first)
    part = t.fetch("read", 1, IsolationLevel=1)
    check("its aborted range", part["AbortedTransactions"] == [
        {"ProducerId": a.pid, "FirstOffset": 1}], part["AbortedTransactions"])
    b.end(True)
    b.settled()
    check("committed and aborted", read(t, "read") == [b"before", b"b1", b"b2", b"between"])
    check("from the middle of a batch", read(t, "read", offset=3) == [b"b2", b"between"])
    part = t.fetch("read", 4, IsolationLevel=1)
    check("the aborted range counts while its marker lies ahead", [
        x["FirstOffset"] for x in part["AbortedTransactions"]] == [1], part["AbortedTransactions"])
    part = t.fetch("read", 6, IsolationLevel=1)
    check("and not behind it", part["AbortedTransactions"] == [], part["AbortedTransactions"])
    check("before version 4 ... the list is null when uncommitted", t.fetch(
        "read", 0)["AbortedTransactions"] is None)
    big = bytes(400000)
    c = Txn(t, "read-c")
    c.init()
    for _ in range(4):  # over a roll of the segment
        c.send("read", [big])
        t.produce("read", kbatch.batch([big]))
    start = [base for base, h, _ in t.batches("read", MaxBytes=1 << 24)
             if h["producer_id"] == c.pid][0]
    c.end(False)
    c.settled()
    t.produce("read", kbatch.batch([b"end"]))
    part = t.fetch("read", start + 3, IsolationLevel=1)
    check("an aborted transaction over segments", [
        (x["ProducerId"], x["FirstOffset"]) for x in part["AbortedTransactions"]] ==
        [(c.pid, start)], part["AbortedTransactions"])
    found = read(t, "read", offset=start)
    check("and only it is left out", [len(v) for v in found] == [400000] * 4 + [3],
          [len(v) for v in found])
    for version in (4, 11, 12, 17):
        part = t.fetch("read", 1, version=version, IsolationLevel=1, MaxBytes=300,
                       PartitionMaxBytes=300)
        check(f"Fetch {version}: what the answer reaches", 1 in [
            x["FirstOffset"] for x in part["AbortedTransactions"]] and
            part["LastStableOffset"] == part["HighWatermark"], part["AbortedTransactions"])
    waiting = Txn(t, "read-d")
    waiting.init()
    waiting.send("read", [b"late"])
    end = t.offset("read", -1, isolation=1)["Offset"]
    began = time.monotonic()
    with t.connect() as c2:
        sent = c2.send("Fetch", 12, {"MaxWaitMs": 10000, "MinBytes": 1, "IsolationLevel": 1,
                                     "Topics": [{"Topic": "read", "Partitions": [
                                         {"Partition": 0, "FetchOffset": end,
                                          "PartitionMaxBytes": 9999}]}]})
        waiting.end(True)
        part = c2.receive("Fetch", 12, sent)["Responses"][0]["Partitions"][0]
        check("a waiting committed fetch is woken by the marker", time.monotonic() - began < 8 and
              b"late" in part["Records"], part)
    last = t.batches("read", end)[0]
    check("values are whole", values(last[0], last[2]) == [(end, b"late")])


def offsets(t):
    """Offsets of a transaction count from its commit on."""
    t.create("offs", 2)
    t.coordinated("offs-g")
    p = Txn(t, "offs")
    p.init()
    codes = [p.commit_offset("offs-g", "offs", 5, version=v) for v in range(5)]
    check("group not added, TxnOffsetCommit 0 to 3: INVALID_TXN_STATE, 4: TRANSACTION_ABORTABLE",
          codes == [48] * 4 + [120], codes)
    check("TxnOffsetCommit 5 adds the group", p.commit_offset("offs-g", "offs", 5) == 0)
    check("TxnOffsetCommit 6 names topics by id", p.commit_offset(
        "offs-g", "offs", 6, partition=1, version=6) == 0)
    topics = p.describe()["Topics"]
    check("the offsets partition is part of the transaction",
          [x["Topic"] for x in topics] == ["__consumer_offsets"], topics)
    check("pending: not seen", committed_offset(t, "offs-g", "offs") == (0, -1))
    check("pending: UNSTABLE_OFFSET_COMMIT when stable ones are asked",
          committed_offset(t, "offs-g", "offs", stable=True)[0] == 88)
    check("another partition is stable", committed_offset(
        t, "offs-g", "offs", partition=1, stable=True)[0] == 88)
    p.end(True)
    p.settled()
    at = [wait_offset(t, "offs-g", "offs", q) for q in (0, 1)]
    check("committed: seen", at == [(0, 5), (0, 6)], at)
    p.commit_offset("offs-g", "offs", 9)
    p.end(False)
    p.settled()
    check("aborted: dropped", wait_offset(t, "offs-g", "offs") == (0, 5))
    check("an unknown partition", [p.commit_offset("offs-g", "offs", 1, 7, v)
                                      for v in (0, 5, 6)] == [3, 3, 3])
    check("an unknown topic", [p.commit_offset("offs-g", "offs-none", 1, version=v)
                                  for v in (0, 5, 6)] == [3, 3, 100])
    stale = p.clone()
    stale.epoch -= 1
    codes = [stale.commit_offset("offs-g", "offs", 7, version=v) for v in (4, 5)]
    check("an old epoch", codes == [47, 47], codes)
    codes = [stale.add_offsets("offs-g", v) for v in range(5)]
    check("AddOffsetsToTxn with an old epoch", codes == [47, 47, 90, 90, 90], codes)
    stale.pid += 999
    codes = [stale.commit_offset("offs-g", "offs", 7, version=v) for v in (4, 5)]
    check("another producer id", codes == [49, 49], codes)
    stale.name = "offs-nobody"
    codes = [stale.commit_offset("offs-g", "offs", 7, version=v) for v in (4, 5)]
    check("an unknown transactional id", codes == [49, 49], codes)
    check("an empty group id", (p.commit_offset("", "offs", 1), p.add_offsets("")) == (24, 0))
    codes = [p.commit_offset("offs-g", "offs", 7, GenerationIdOrMemberEpoch=g, MemberId=m)
             for g, m in ((5, "x"), (-1, "x"), (3, ""))]
    check("a generation that the group does not have; none: the member does not count",
          codes == [25, 0, 25], codes)
    p.end(False)
    p.settled()
    old = Txn(t, "offs-old", old=True)
    old.init()
    codes = [old.add_offsets("offs-g", v) for v in range(5)]
    check("AddOffsetsToTxn 0 to 4", codes == [0] * 5, codes)
    check("TxnOffsetCommit 4 then", old.commit_offset("offs-g", "offs", 55) == 0)
    rows = t.call("OffsetCommit", 8, {
        "GroupId": "offs-g", "GenerationIdOrMemberEpoch": -1, "Topics": [{"Name": "offs", "Partitions": [
            {"PartitionIndex": 0, "CommittedOffset": 44}]}]})["Topics"]
    check("a plain commit beside a pending one", rows[0]["Partitions"][0]["ErrorCode"] == 0)
    at = committed_offset(t, "offs-g", "offs"), committed_offset(t, "offs-g", "offs", stable=True)
    check("it is seen, and the pending one still waits", at == ((0, 44), (88, -1)), at)
    old.end(True)
    old.settled()
    at = wait_offset(t, "offs-g", "offs")
    check("the later commit in the log wins, not the later marker", at == (0, 44), at)
    old.commit_offset("offs-g", "offs", 60)
    code = t.call("DeleteGroups", 2, {"GroupsNames": ["offs-g"]})["Results"][0]["ErrorCode"]
    at = committed_offset(t, "offs-g", "offs", stable=True)
    check("a group with pending offsets can be deleted, and they go with it",
          (code, at) == (0, (0, -1)), (code, at))
    old.end(True)
    old.settled()
    time.sleep(0.2)
    at = committed_offset(t, "offs-g", "offs", stable=True)
    check("the marker does not bring them back", at == (0, -1), at)


def wait_offset(t, group, topic, partition=0):
    """The stable offset once the marker is in."""
    for _ in range(300):
        found = committed_offset(t, group, topic, partition, stable=True)
        if found[0] != 88:
            return found
        time.sleep(0.01)
    return found


def listing(t):
    t.create("list")
    done, gone, p = Txn(t, "list-done"), Txn(t, "list-gone"), Txn(t, "list-open", 123456)
    for txn, commit in ((done, True), (gone, False)):
        txn.init(), txn.send("list", [b"x"]), txn.end(commit), txn.settled()
    p.init()
    before = int(time.time() * 1000)
    p.send("list", [b"x"])
    empty = Txn(t, "list-empty")
    empty.init()
    every = {"list-done": "CompleteCommit", "list-gone": "CompleteAbort", "list-open": "Ongoing",
             "list-empty": "Empty"}

    def mine(version=2, **filters):
        return {k: v for k, v in listed(t, version, **filters).items() if k.startswith("list-")}
    for version in range(3):
        check(f"ListTransactions {version}", mine(version) == every, mine(version))
    check("by state", mine(StateFilters=["Ongoing", "Empty"]) == {
        "list-open": "Ongoing", "list-empty": "Empty"})
    answer = t.call("ListTransactions", 2, {"StateFilters": ["ongoing", "Nonsense"]})
    check("states are case sensitive; unknown ones are named", (
        answer["ErrorCode"], answer["UnknownStateFilters"], answer["TransactionStates"]) ==
        (0, ["ongoing", "Nonsense"], []), answer)
    check("by producer id", mine(ProducerIdFilters=[p.pid, 999999]) == {"list-open": "Ongoing"})
    check("both filters", mine(ProducerIdFilters=[p.pid], StateFilters=["Empty"]) == {})
    check("by duration: one that never began has gone on for ever", mine(
        1, DurationFilter=100000) == {"list-empty": "Empty"} and mine(1, DurationFilter=-5) == every)
    check("a pattern matches the whole id", mine(
        TransactionalIdPattern="list-o.*") == {"list-open": "Ongoing"} and
        mine(TransactionalIdPattern="open") == {})
    check("an empty pattern is none", mine(TransactionalIdPattern="") == every)
    check("a pattern that is none", t.call("ListTransactions", 2, {
        "TransactionalIdPattern": "("})["ErrorCode"] == 128)
    rows = t.call("DescribeTransactions", 0, {"TransactionalIds": [
        "", "list-open", "list-nobody", "list-open"]})["TransactionStates"]
    check("DescribeTransactions: one row for each name", sorted(
        (r["TransactionalId"], r["ErrorCode"]) for r in rows) == [
        ("", 42), ("list-nobody", 105), ("list-open", 0), ("list-open", 0)], rows)
    row = p.describe()
    check("its content", (row["TransactionTimeoutMs"], row["ProducerId"], row["ProducerEpoch"],
                              row["Topics"]) == (123456, p.pid, 0, [
                                  {"Topic": "list", "Partitions": [0]}]) and
          before - 5000 <= row["TransactionStartTimeMs"] <= before + 60000, row)
    check("nothing is open: no start", (empty.describe()["TransactionStartTimeMs"],
                                            empty.describe()["Topics"]) == (-1, []))
    found = {r["ProducerId"]: r for r in producers(t, "list")}
    one, two = found[p.pid], found[done.pid]
    check("DescribeProducers: where the open transaction starts", (
        one["ProducerEpoch"], one["LastSequence"], one["CoordinatorEpoch"],
        one["CurrentTxnStartOffset"]) == (0, 0, -1, 4) and
        before - 5000 <= one["LastTimestamp"] <= before + 60000, one)
    check("DescribeProducers: behind a marker", (
        two["ProducerEpoch"], two["LastSequence"], two["CoordinatorEpoch"],
        two["CurrentTxnStartOffset"]) == (1, -1, 0, -1), two)
    p.end(False)


def markers(t):
    """WriteTxnMarkers: who may end what."""
    t.create("mark", 2)
    p = Txn(t, "mark")
    p.init()
    p.send("mark", [b"x"])
    code = write_marker(t, p.pid, p.epoch, False, "mark", coordinator_epoch=-1)
    check("a marker of a coordinator below the current one", code in (0, 52), code)
    p.send("mark", [b"y"], sequence=1)
    check("version 1", write_marker(t, p.pid, p.epoch, False, "mark", version=1) == 0)
    check("the transaction is over in the log", [
        r["CurrentTxnStartOffset"] for r in producers(t, "mark")] == [-1], producers(t, "mark"))
    check("an old coordinator", write_marker(t, p.pid, p.epoch, False, "mark",
                                             coordinator_epoch=-1) == 52)
    check("transaction.version 2: the epoch must have been bumped", write_marker(
        t, p.pid, p.epoch, False, "mark", transaction_version=2) in (0, 47))
    check("transaction.version 2: and then may come again", [write_marker(
        t, p.pid, p.epoch + 1, False, "mark", transaction_version=2) for _ in range(2)] == [0, 0])
    check("an older epoch", write_marker(t, p.pid, p.epoch, False, "mark") == 47)
    check("an unknown partition", write_marker(t, p.pid, 5, False, "mark", 9) == 3)
    check("an unknown topic", write_marker(t, p.pid, 5, False, "mark-none") == 3)
    check("a producer that nobody knows", write_marker(t, 4242424, 0, True, "mark", 1) == 0)
    check("a higher coordinator epoch, then the lower", [write_marker(
        t, 4242424, 0, True, "mark", 1, coordinator_epoch=e) for e in (5, 4)] == [0, 52])
    check("nobody's", [write_marker(t, pid, epoch, True, topic, 1) for pid, epoch in (
        (-1, 0), (77, -1)) for topic in ("mark", "__consumer_offsets")] == [-1] * 4)
    kinds = [marker(h, r) for _, h, r in t.batches("mark", partition=1)]
    check("what is in the log", kinds == ["commit", "commit"], kinds)
    answer = t.call("WriteTxnMarkers", 1, {"Markers": [
        {"ProducerId": pid, "ProducerEpoch": 0, "TransactionResult": False, "CoordinatorEpoch": 0,
         "Topics": [{"Name": "mark", "PartitionIndexes": [1, 7]}]} for pid in (51, 52)]})["Markers"]
    rows = [(m["ProducerId"], sorted((q["PartitionIndex"], q["ErrorCode"]) for x in m["Topics"]
                                     for q in x["Partitions"])) for m in answer]
    check("several markers, each partition for itself", sorted(rows) == [
        (51, [(1, 0), (7, 3)]), (52, [(1, 0), (7, 3)])], rows)


def fencing(t):
    """A new instance ends what the old one left."""
    t.create("fence")
    one = Txn(t, "fence")
    one.init()
    one.send("fence", [b"one"])
    two = one.clone()
    answer = two.init()
    check("the next epoch but one: the abort took one", (answer["ErrorCode"], answer[
        "ProducerEpoch"]) == (0, 2), answer)
    check("the open transaction is aborted", read(t, "fence") == [] and
          t.fetch("fence", 0)["LastStableOffset"] == t.end("fence")[1])
    codes = (one.send("fence", [b"z"], retry=False)["ErrorCode"], one.end(True)["ErrorCode"],
             one.add("fence")[0], one.add_offsets("g"), one.init(5, one.pid, one.epoch)["ErrorCode"])
    check("the old instance is fenced everywhere", codes == (47, 90, 90, 90, 90), codes)
    two.send("fence", [b"two"])
    two.end(True)
    two.settled()
    check("the new one's data is there", read(t, "fence") == [b"two"])
    old = Txn(t, "fence-old", old=True)
    old.init()
    old.send("fence", [b"old"])
    new = old.clone()
    answer = new.init()
    check("the same by old clients", answer["ErrorCode"] == 0 and answer["ProducerEpoch"] ==
          2, answer)
    codes = [old.add("fence", version=v)[0] for v in range(4)]
    check("fenced", codes == [47, 47, 90, 90], codes)


def main():
    node = node_under_test(
        transaction__abort__timed__out__transaction__cleanup__interval__ms="200").start()
    parts = (virgin, ids, partitions, ends, produces, reads, offsets, listing, markers, fencing)
    chosen = sys.argv[1:]
    try:
        t = Probe(node)
        if 24 not in [k["ApiKey"] for k in t.call("ApiVersions", 0, {})["ApiKeys"]]:
            print("SKIP  transactions are not served", flush=True)
            check("the node runs", True)
            parts = ()
        for part in parts:
            if chosen and part.__name__ not in chosen:
                continue
            t.coordinated("any", 1) if part is not virgin else None
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.reconnect()
    finally:
        node.clean()
    finish()


main()
