#!/usr/bin/env python3
"""Transactions over time: restarts and kills in every phase, timeouts, epochs that end, ids and
producers that expire. By raw requests; NODE=apache runs the same on Apache Kafka 4.4.0.

A kill between two writes of the coordinator is a matter of luck; what it would leave in
__transaction_state is therefore written there by hand, and the node started on it.
"""
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402
from txns import (Txn, committed_offset, describe, marker, plant, producers, read,  # noqa: E402
                  write_marker)

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
EPOCH_LAST = 32766


def restart(t, sig=signal.SIGTERM, *ids, **properties):
    """Stops or kills the node, starts it again, and waits until it has loaded these ids."""
    t.node.stop(sig)
    t.node.properties.update({k.replace("__", "."): v for k, v in properties.items()})
    t.node.start()
    t.c.close()
    t.c = t.connect()
    for name in ids or ("any",):
        t.coordinated(name, 1)


def wait(what, seconds=30):
    """What `what` gives once it is true, or at last."""
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def led(t, *topics):
    for topic in topics:
        wait(lambda name=topic: t.end(name)[0] == 0)


def timeouts(t):
    """The coordinator ends what takes too long, and fences it."""
    t.create("late")
    t.coordinated("late-g")
    p, old = Txn(t, "late", 400), Txn(t, "late-old", 400, old=True)
    for txn in (p, old):
        txn.init()
        txn.send("late", [b"late"])
    row = wait(lambda: describe(t, "late")["TransactionState"] == "CompleteAbort" and
               describe(t, "late-old")["TransactionState"] == "CompleteAbort")
    check("aborted by the coordinator", row, describe(t, "late"))
    rows = [describe(t, name)["ProducerEpoch"] for name in ("late", "late-old")]
    check("its epoch is bumped", rows == [1, 1], rows)
    check("nothing of it is read", read(t, "late") == [])
    codes = [x.send("late", [b"z"], retry=False, version=v)["ErrorCode"]
             for x in (p, old) for v in (11, 12)]
    check("Produce: INVALID_PRODUCER_EPOCH", codes == [47] * 4, codes)
    codes = [p.clone().end(True, 4)["ErrorCode"], p.add("late")[0], p.add_offsets("g"),
             old.end(True)["ErrorCode"], old.add("late")[0], old.add_offsets("g")]
    check("coordinator: PRODUCER_FENCED", codes == [90] * 6, codes)
    codes = [x.clone().commit_offset("late-g", "late", 1, version=v, retry=False)
             for x in (p, old) for v in (4, 5)]
    check("TxnOffsetCommit: INVALID_PRODUCER_EPOCH", codes == [47] * 4, codes)
    answer = p.clone().end(False)
    check("EndTxn 5 to abort is taken for a retry", (answer["ErrorCode"], answer.get(
        "ProducerEpoch")) == (0, 1), answer)
    check("and to commit is not", p.clone().end(True)["ErrorCode"] == 48)
    answer = p.init(5, p.pid, 0)
    check("it may go on with the epoch before", (answer["ErrorCode"], answer["ProducerEpoch"]) ==
          (0, 1), answer)
    check("and then works", p.send("late", [b"next"])["ErrorCode"] == 0 and
          p.end(True)["ErrorCode"] == 0)
    p.settled()
    check("what came later is read", read(t, "late") == [b"next"])


def restarts(t):
    for sig, word in ((signal.SIGTERM, "stop"), (signal.SIGKILL, "kill -9")):
        topic, group = f"again-{sig.value}", f"again-g-{sig.value}"
        t.create(topic)
        t.coordinated(group)
        t.produce(topic, kbatch.batch([b"plain"]))
        p, done = Txn(t, topic), Txn(t, topic + "-done")
        p.init(), done.init()
        done.send(topic, [b"done"])
        done.end(True)
        done.settled()
        p.send(topic, [b"one", b"two"])
        p.commit_offset(group, topic, 33)
        restart(t, sig, topic, topic + "-done")
        led(t, topic)
        t.coordinated(group)
        row = p.describe()
        check(f"{word}: the transaction is still open", (row["TransactionState"], row["ProducerId"],
                                                        row["ProducerEpoch"]) ==
              ("Ongoing", p.pid, 0), row)
        topics = sorted((x["Topic"], len(x["Partitions"])) for x in row["Topics"])
        check(f"{word}: with its partitions", topics == [("__consumer_offsets", 1), (topic, 1)],
              topics)
        row = done.describe()
        check(f"{word}: an ended one is ended", (row["TransactionState"], row["ProducerEpoch"]) ==
              ("CompleteCommit", 1), row)
        at = t.offset(topic, -1, isolation=1)["Offset"]
        check(f"{word}: the last stable offset stands", at == 3, at)
        starts = [(r["ProducerId"], r["CurrentTxnStartOffset"]) for r in producers(t, topic)]
        check(f"{word}: where the open one starts", (p.pid, 3) in starts, starts)
        at = committed_offset(t, group, topic), committed_offset(t, group, topic, stable=True)
        check(f"{word}: its offsets are pending", at == ((0, -1), (88, -1)), at)
        answer = p.send(topic, [b"one", b"two"], sequence=0)
        check(f"{word}: sent again, the first offset", (answer["ErrorCode"], answer["BaseOffset"]) ==
              (0, 3), answer)
        check(f"{word}: it goes on", p.send(topic, [b"three"])["ErrorCode"] == 0)
        answer = p.end(True)
        p.settled()
        check(f"{word}: and commits", answer["ErrorCode"] == 0 and answer["ProducerEpoch"] == 1 and
              read(t, topic) == [b"plain", b"done", b"one", b"two", b"three"], read(t, topic))
        found = wait(lambda g=group, x=topic: committed_offset(t, g, x, stable=True) == (0, 33))
        check(f"{word}: with its offsets", found)
        before = Txn(t, p.name)
        before.pid, before.epoch = p.pid, 0
        restart(t, sig, topic)
        led(t, topic)
        answer = before.end(True)
        check(f"{word}: EndTxn sent again after it", (answer["ErrorCode"], answer.get(
            "ProducerEpoch")) == (0, 1), answer)
        check(f"{word}: ids are not given twice", fresh(t, f"fresh-{sig.value}") > p.pid)


def fresh(t, name):
    return Txn(t, name).init()["ProducerId"]


def phases(t):
    """The states in which a kill can leave a transaction, each with data that is really open."""
    states = {}
    for name, state, version in (
            ("commit", PREPARE_COMMIT, 2), ("abort", PREPARE_ABORT, 2),
            ("commit-old", PREPARE_COMMIT, 0), ("abort-old", PREPARE_ABORT, 1)):
        topic, group = "phase-" + name, "phase-g-" + name
        t.create(topic, 2)
        t.coordinated(group)
        p = Txn(t, topic, old=version < 2)
        p.init()
        p.send(topic, [b"a"])
        p.send(topic, [b"b"], partition=1)
        p.commit_offset(group, topic, 77)
        parts = [(x["Topic"], x["Partitions"]) for x in p.describe()["Topics"]]
        states[name] = (topic, group, p, state, version, parts)
    for topic, _, p, state, version, parts in states.values():
        epoch = p.epoch + (version == 2)
        code = plant(t, topic, ProducerId=p.pid, ProducerEpoch=epoch, PreviousProducerId=p.pid,
                     TransactionStatus=state, TransactionPartitions=parts,
                     ClientTransactionVersion=version)
        check(f"{topic} is planted", code == 0, code)
    restart(t, signal.SIGKILL, *(s[0] for s in states.values()))
    for name, (topic, group, p, state, version, parts) in states.items():
        led(t, topic)
        t.coordinated(group)
        commit = state == PREPARE_COMMIT
        row = wait(lambda x=p: x.describe()["TransactionState"].startswith("Complete") and
                   x.describe())
        check(f"prepared to {name}: completed after the start", row and row["TransactionState"] ==
              ("CompleteCommit" if commit else "CompleteAbort"), p.describe())
        got = wait(lambda x=topic: all(t.offset(x, -1, isolation=1, partition=q)["Offset"] == 2
                                       for q in (0, 1)))
        check(f"prepared to {name}: every partition has its marker", got)
        kinds = [(marker(h, r), h["producer_epoch"]) for q in (0, 1)
                 for _, h, r in t.batches(topic, partition=q) if h["attributes"] & 0x20]
        want = ("commit" if commit else "abort", p.epoch + (version == 2))
        check(f"prepared to {name}: once, with the epoch prepared", kinds == [want] * 2, kinds)
        check(f"prepared to {name}: read", [read(t, topic, q) for q in (0, 1)] ==
              ([[b"a"], [b"b"]] if commit else [[], []]))
        got = wait(lambda g=group, x=topic, c=commit: committed_offset(t, g, x, stable=True) ==
                   (0, 77 if c else -1))
        check(f"prepared to {name}: its offsets", got, committed_offset(t, group, topic, stable=True))
        answer = p.end(commit)
        check(f"prepared to {name}: the client's retry", answer["ErrorCode"] == 0, answer)
        check(f"prepared to {name}: and the next transaction", p.send(topic, [b"n"])["ErrorCode"] == 0
              and p.end(True)["ErrorCode"] == 0)


def overdue(t):
    """A transaction whose time ran out while the node was down; one that never wrote."""
    t.create("overdue")
    p = Txn(t, "overdue")
    p.init()
    p.send("overdue", [b"x"])
    past = int(time.time() * 1000) - 3600000
    plant(t, "overdue", ProducerId=p.pid, ProducerEpoch=0, TransactionStatus=ONGOING,
          TransactionPartitions=[("overdue", [0])], TransactionStartTimestampMs=past,
          TransactionLastUpdateTimestampMs=past)
    plant(t, "overdue-gone", ProducerId=p.pid + 5000, ProducerEpoch=3, TransactionStatus=ONGOING,
          TransactionPartitions=[("overdue-none", [0]), ("overdue", [0])],
          TransactionStartTimestampMs=past, TransactionLastUpdateTimestampMs=past)
    restart(t, signal.SIGTERM, "overdue", "overdue-gone")
    led(t, "overdue")
    for name in ("overdue", "overdue-gone"):
        row = wait(lambda n=name: describe(t, n)["TransactionState"] == "CompleteAbort")
        check(f"{name}: aborted after the start", row, describe(t, name))
    check("overdue: fenced", p.send("overdue", [b"y"], retry=False)["ErrorCode"] == 47)
    check("overdue: nothing is read", read(t, "overdue") == [] and
          t.fetch("overdue", 0)["LastStableOffset"] == t.end("overdue")[1])


def epochs(t):
    """The last epoch of a producer id: a new id takes over."""
    t.create("epoch")
    first = fresh(t, "epoch-any")
    for name, epoch, state in (("epoch-init", EPOCH_LAST - 1, EMPTY),
                               ("epoch-last", EPOCH_LAST, COMPLETE_COMMIT),
                               ("epoch-end", EPOCH_LAST, COMPLETE_ABORT)):
        plant(t, name, ProducerId=first, ProducerEpoch=epoch, TransactionStatus=state,
              TransactionStartTimestampMs=-1)
    restart(t, signal.SIGTERM, "epoch-init", "epoch-last", "epoch-end")
    led(t, "epoch")
    for name in ("epoch-init", "epoch-last"):
        p = Txn(t, name)
        answers = [p.init() for _ in range(3)]
        found = [(a["ProducerId"] != first, a["ProducerEpoch"]) for a in answers]
        want = [(False, EPOCH_LAST), (True, 0), (True, 1)] if name == "epoch-init" else [
            (True, 0), (True, 1), (True, 2)]
        check(f"{name}: epochs run out", found == want, answers)
    p = Txn(t, "epoch-end")
    p.pid, p.epoch = first, EPOCH_LAST
    check("epoch-end: a transaction in the last epoch that is given out",
          p.send("epoch", [b"x"])["ErrorCode"] == 0)
    old = p.clone()
    answer = p.end(True)
    p.settled()
    check("epoch-end: EndTxn 5 gives a new id", answer["ErrorCode"] == 0 and (
        answer["ProducerId"] != first, answer["ProducerEpoch"]) == (True, 0), answer)
    marks = [(h["producer_id"], h["producer_epoch"]) for _, h, r in t.batches("epoch")
             if h["attributes"] & 0x20]
    check("epoch-end: the marker is the old id's last", marks == [(first, EPOCH_LAST + 1)], marks)
    answer = old.clone().end(True)
    check("epoch-end: sent again, the same", (answer["ErrorCode"], answer.get("ProducerId")) ==
          (0, p.pid), answer)
    code = old.send("epoch", [b"z"], retry=False)["ErrorCode"]
    check("epoch-end: the old id is of no use", code in (47, 49), code)
    check("epoch-end: the new one works", p.send("epoch", [b"y"])["ErrorCode"] == 0 and
          p.end(True)["ErrorCode"] == 0)
    p.settled()
    check("epoch-end: all is read", read(t, "epoch") == [b"x", b"y"])


def power_cut(t):
    """As after one: no clean stop, and another boot of the machine than the one noted. What the
    coordinator has no record of may have been given out."""
    path = os.path.join(t.node.data, ".klamm-boot")

    def crash(cut):
        t.node.kill()
        with open(path, encoding="ascii") as f:
            version, boot, trusted = f.read().splitlines()
        if cut:
            with open(path, "w", encoding="ascii") as f:
                f.write(f"{version}\n{'0' * len(boot)}\n{trusted}\n")
        t.node.start()
        t.c.close()
        t.c = t.connect()
        for name in ("cut-idle", "cut-open"):
            t.coordinated(name, 1)
        led(t, "cut")
        with open(path, encoding="ascii") as f:
            return f.read().splitlines()

    t.create("cut")
    idle, p = Txn(t, "cut-idle"), Txn(t, "cut-open")
    idle.init()
    p.init()
    p.send("cut", [b"a"])
    before, old = idle.pid, p.clone()
    check("power cut: a kill is none", crash(False)[2] == "0")
    answer = idle.init()
    check("power cut: the next epoch after a kill", (answer["ProducerId"], answer[
        "ProducerEpoch"]) == (before, 1), answer)
    found = crash(True)
    check("power cut: noted with this boot", int(found[2]) > max(before, p.pid) and
          found[1].strip("0"), found)
    answer = idle.init()
    check("power cut: a new id", answer["ErrorCode"] == 0 and
          answer["ProducerId"] >= int(found[2]) and answer["ProducerEpoch"] == 0, answer)
    answer = p.end(True)
    check("power cut: also at the end of a transaction", answer["ErrorCode"] == 0 and
          answer["ProducerId"] >= int(found[2]) and answer["ProducerEpoch"] == 0, answer)
    p.settled()
    answer = old.clone().end(True)
    check("power cut: sent again, the same", (answer["ErrorCode"], answer.get("ProducerId")) ==
          (0, p.pid), answer)
    check("power cut: noted for good", crash(False) == found)
    answer = old.clone().end(True)
    check("power cut: sent again after a kill, the same", (answer["ErrorCode"], answer.get(
        "ProducerId")) == (0, p.pid), answer)
    check("power cut: the old id is of no use",
          old.send("cut", [b"z"], retry=False)["ErrorCode"] in (47, 49))
    check("power cut: the new one works", p.send("cut", [b"b"])["ErrorCode"] == 0 and
          p.end(True)["ErrorCode"] == 0 and p.epoch == 1, (p.pid, p.epoch))
    p.settled()
    check("power cut: all is read", read(t, "cut") == [b"a", b"b"])


def expiry(t):
    """Ids that rest are forgotten, open ones are not; so are producers of a partition."""
    t.create("old")
    idle, busy = Txn(t, "old-idle"), Txn(t, "old-busy")
    for p in (idle, busy):
        p.init()
        p.send("old", [b"x"])
    idle.end(True)
    idle.settled()
    restart(t, signal.SIGTERM, "old-idle", transactional__id__expiration__ms="1500",
            producer__id__expiration__ms="3000",
            producer__id__expiration__check__interval__ms="300",
            transaction__remove__expired__transaction__cleanup__interval__ms="300")
    led(t, "old")
    gone = wait(lambda: describe(t, "old-idle")["ErrorCode"] == 105, 60)
    check("an idle transactional id expires", gone, describe(t, "old-idle"))
    check("an open one does not", describe(t, "old-busy")["TransactionState"] == "Ongoing")
    codes = (idle.clone().end(True)["ErrorCode"], idle.add("old")[0],
             idle.send("old", [b"y"], retry=False)["ErrorCode"], idle.add_offsets("g"))
    check("later use: INVALID_PRODUCER_ID_MAPPING", codes == (49,) * 4, codes)
    gone = wait(lambda: idle.pid not in [r["ProducerId"] for r in producers(t, "old")], 60)
    check("a producer that rests is forgotten by its partition", gone, producers(t, "old"))
    check("one with an open transaction is not", busy.pid in [
        r["ProducerId"] for r in producers(t, "old")])
    answer = idle.clone().init()
    check("InitProducerId makes it anew", answer["ErrorCode"] == 0 and
          answer["ProducerEpoch"] == 0 and answer["ProducerId"] != idle.pid, answer)
    restart(t, signal.SIGKILL, "old-busy", transactional__id__expiration__ms="604800000",
            producer__id__expiration__ms="86400000")
    check("a start does not bring it back", describe(t, "old-idle")["ProducerId"] ==
          answer["ProducerId"], describe(t, "old-idle"))
    check("the open one can be ended", busy.end(False)["ErrorCode"] == 0)


def hanging(t):
    """Data of a transaction that the coordinator does not know, and the end of it."""
    t.create("hang")
    t.call("IncrementalAlterConfigs", 1, {"Resources": [{
        "ResourceType": 4, "ResourceName": "", "Configs": [{
            "Name": "transaction.partition.verification.enable", "ConfigOperation": 0,
            "Value": "false"}]}]})
    p = Txn(t, "hang", old=True)
    p.init()
    answer = wait(lambda: (a := p.send("hang", [b"x"], version=9, retry=False))["ErrorCode"] == 0
                  and a)
    check("without verification a partition need not be added", answer, answer)
    check("the coordinator knows nothing of it", p.describe()["TransactionState"] == "Empty")
    row = producers(t, "hang")[0]
    check("DescribeProducers shows it", (row["ProducerId"], row["CurrentTxnStartOffset"]) ==
          (p.pid, answer["BaseOffset"]), row)
    check("read committed stands still", t.offset("hang", -1, isolation=1)["Offset"] == 0)
    code = write_marker(t, p.pid, row["ProducerEpoch"], False, "hang",
                        coordinator_epoch=row["CoordinatorEpoch"], version=1)
    check("WriteTxnMarkers ends it", code == 0 and t.offset("hang", -1, isolation=1)["Offset"] == 2)
    t.call("IncrementalAlterConfigs", 1, {"Resources": [{
        "ResourceType": 4, "ResourceName": "", "Configs": [{
            "Name": "transaction.partition.verification.enable", "ConfigOperation": 1,
            "Value": None}]}]})
    other = Txn(t, "hang-other")

    def refused():
        other.init()
        return other.send("hang", [b"y"], version=9, retry=False)["ErrorCode"] == 48
    check("with verification it must again", wait(refused))


def silence(t):
    """Between AddOffsetsToTxn and EndTxn Klamm does not leave a silent connection open for long,
    for it may be one of librdkafka's that waits for nothing. The transaction does not mind."""
    t.create("silent")
    t.coordinated("silent-g")
    quiet, done = Probe(t.node), Probe(t.node)
    for probe in (quiet, done):
        p = Txn(probe, "silent" if probe is quiet else "silent-done", old=True)
        p.init()
        check("AddOffsetsToTxn", p.add_offsets("silent-g") == 0)
    p.end(True)
    began = time.monotonic()
    try:
        quiet.c.receive_frame()
        took = -1
    except kwire.Closed:
        took = time.monotonic() - began
    check("silence after AddOffsetsToTxn ends the connection", 0.5 < took < 6, took)
    time.sleep(1)
    check("and not after EndTxn", p.describe()["TransactionState"] == "CompleteCommit")
    p = Txn(quiet, "silent", old=True)
    quiet.reconnect()
    row = p.describe()
    p.pid, p.epoch = row["ProducerId"], row["ProducerEpoch"]
    check("the transaction goes on over another", row["TransactionState"] == "Ongoing" and
          p.commit_offset("silent-g", "silent", 5) == 0 and p.end(True)["ErrorCode"] == 0)
    at = wait(lambda: committed_offset(t, "silent-g", "silent")[1] == 5)
    check("its offset is there", at)
    quiet.c.close()
    done.c.close()


def main():
    node = node_under_test(
        transaction__abort__timed__out__transaction__cleanup__interval__ms="200").start()
    parts = (timeouts, hanging, restarts, phases, overdue, epochs, expiry)
    if os.environ.get("NODE") != "apache":
        parts += (power_cut, silence)
    chosen = sys.argv[1:]
    try:
        t = Probe(node)
        t.coordinated("any", 1)
        for part in parts:
            if chosen and part.__name__ not in chosen:
                continue
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                if node.process is None or node.process.poll() is not None:
                    node.start()
                t.c = t.connect()
    finally:
        node.clean()
    finish()


main()
