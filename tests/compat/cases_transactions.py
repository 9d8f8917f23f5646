"""Transactions: every API of theirs in every version, good and bad, and what they leave behind."""
import re
import subprocess
import time

import kbatch
import nodes
from cases_groups import enter, join

NOBODY = "11111111-1111-4111-8111-111111111111"
RETRIED = (14, 15, 16, 51)
STATE = "__transaction_state"


def codes(value):
    """Every error code of an answer."""
    if isinstance(value, dict):
        return [c for k, v in value.items()
                for c in ([v] if k.endswith("ErrorCode") else codes(v))]
    return [c for v in value for c in codes(v)] if isinstance(value, list) else []


def steady(k, api, version, values, label="", keep=True):
    """Asks until nothing is under way or loading, as a client would, and keeps the last answer."""
    for _ in range(500):
        answer = k.ask(api, version, values, keep=False)
        if not set(codes(answer)) & set(RETRIED):
            break
        time.sleep(0.01)
    if keep:
        k.keep(f"{api} v{version} {label}".strip(), answer)
    return answer


def settle(k, tid):
    for _ in range(500):
        row = k.ask("DescribeTransactions", 0, {"TransactionalIds": [tid]}, keep=False)
        if not row["TransactionStates"][0]["TransactionState"].startswith("Prepare"):
            return
        time.sleep(0.01)


def init_of(tid, timeout=60000, pid=-1, epoch=-1, version=5):
    body = {"TransactionalId": tid, "TransactionTimeoutMs": timeout}
    if version >= 3:
        body.update(ProducerId=pid, ProducerEpoch=epoch)
    return body


def add_of(tid, pid, epoch, topics, version=3, verify=False):
    topics = [{"Name": n, "Partitions": list(p)} for n, p in topics]
    if version < 4:
        return {"V3AndBelowTransactionalId": tid, "V3AndBelowProducerId": pid,
                "V3AndBelowProducerEpoch": epoch, "V3AndBelowTopics": topics}
    return {"Transactions": [{"TransactionalId": tid, "ProducerId": pid, "ProducerEpoch": epoch,
                              "VerifyOnly": verify, "Topics": topics}]}


def end_of(tid, pid, epoch, commit):
    return {"TransactionalId": tid, "ProducerId": pid, "ProducerEpoch": epoch, "Committed": commit}


def offsets_of(tid, pid, epoch, group):
    return {"TransactionalId": tid, "ProducerId": pid, "ProducerEpoch": epoch, "GroupId": group}


def commit_of(tid, pid, epoch, group, topic, topic_id, offset, partition=0, **member):
    return {**offsets_of(tid, pid, epoch, group), **member, "Topics": [
        {"Name": topic, "TopicId": topic_id, "Partitions": [
            {"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": "m"}]}]}


def produce_of(k, tid, pid, epoch, topic, topic_id, sequence=0, values=(b"v",), attributes=0x10):
    records = kbatch.batch(list(values), timestamp=k.node.clock, producer_id=pid,
                           producer_epoch=epoch, base_sequence=sequence, attributes=attributes)
    return {"TransactionalId": tid, "Acks": -1, "TimeoutMs": 5000, "TopicData": [
        {"Name": topic, "TopicId": topic_id, "PartitionData": [{"Index": 0, "Records": records}]}]}


def started(k, tid, **more):
    """A producer's id and epoch."""
    answer = steady(k, "InitProducerId", 5, init_of(tid, **more), keep=False)
    return answer["ProducerId"], answer["ProducerEpoch"]


def finish(k, tid, pid, epoch, commit=False, version=4):
    steady(k, "EndTxn", version, end_of(tid, pid, epoch, commit), keep=False)
    settle(k, tid)


def log_of(k, topic, topic_id, label):
    """The batches of a log, without what time and chance put there."""
    answer = k.ask("Fetch", 17, {"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [
        {"TopicId": topic_id, "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                              "PartitionMaxBytes": 1 << 20}]}]}, keep=False)
    records = answer["Responses"][0]["Partitions"][0]["Records"]
    k.keep(f"log of {topic} {label}", [
        {"base": base, "ProducerId": head["producer_id"], **{f: head[f] for f in (
            "attributes", "producer_epoch", "base_sequence", "last_offset_delta", "count",
            "leader_epoch", "crc_ok")}, "records": data.hex()}
        for base, head, data in kbatch.parse(records)])


def coordinator(k):
    """The coordinator before and after its topic is there."""
    k.ask("FindCoordinator", 4, {"KeyType": 1, "CoordinatorKeys": ["t-any"]}, keep=False)
    steady(k, "InitProducerId", 5, init_of("t-any"), "the first of all")
    for version in range(7):
        body = {"CoordinatorKeys": ["t-any", ""]} if version >= 4 else {"Key": "t-any"}
        k.ask("FindCoordinator", version, {**body, "KeyType": 1} if version else {"Key": "t-any"},
              "transaction")
    k.ask("CreateTopics", 7, {"Topics": [{"Name": STATE, "NumPartitions": 1,
                                          "ReplicationFactor": 1}]}, "the coordinator's topic")
    topic = k.ask("Metadata", 12, {"Topics": [{"Name": STATE}]}, "the coordinator's topic",
                  keep=False)["Topics"][0]
    k.keep("partitions of " + STATE, [len(topic["Partitions"]), topic["IsInternal"]])
    answer = k.ask("DescribeConfigs", 4, {"Resources": [
        {"ResourceType": 2, "ResourceName": STATE, "ConfigurationKeys": None}]}, keep=False)
    k.keep("configs of " + STATE, sorted((c["Name"], c["Value"], c["ConfigSource"])
                                         for c in answer["Results"][0]["Configs"]))


def ids(k):
    for version in range(6):
        for label in ("first", "second"):
            steady(k, "InitProducerId", version, init_of(f"t-i{version}", version=version), label)
    for timeout in (0, -1, 1, 900000, 900001, 2147483647):
        steady(k, "InitProducerId", 5, init_of(f"t-t{timeout}", timeout), f"timeout {timeout}")
    for tid in ("", "x" * 1000, " ", "ü"):
        for version in (0, 5):
            steady(k, "InitProducerId", version, init_of(tid, version=version),
                   f"id '{tid[:9]}'")
    pid, epoch = started(k, "t-i360")
    for label, given in (("current", (pid, 0)), ("previous", (pid, 0)), ("current again", (pid, 1)),
                         ("two before", (pid, 0)), ("future", (pid, 9)), ("other", (pid + 999, 2)),
                         ("no epoch", (pid, -1)), ("no id", (-1, 2)), ("negative", (-2, -2))):
        for version in (3, 4, 5):
            steady(k, "InitProducerId", version, init_of("t-i360", 60000, *given), label)
    steady(k, "InitProducerId", 5, init_of("t-new", 60000, pid, 3), "pair of another id")
    k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-i360", "t-new"]}, "after all of it")


def partitions(k):
    tid, = k.create("t-p", partitions=3)
    pid, epoch = started(k, "t-p")
    bad = {
        "unknown partition": ("t-p", pid, 0, [("t-p", (0, 7))]),
        "unknown topic": ("t-p", pid, 0, [("t-p", (0,)), ("t-none", (0, 1))]),
        "no partition": ("t-p", pid, 0, [("t-p", ())]), "no topic": ("t-p", pid, 0, []),
        "old epoch": ("t-p", pid, -1, [("t-p", (0,))]),
        "future epoch": ("t-p", pid, 5, [("t-p", (0,))]),
        "other producer": ("t-p", pid + 999, 0, [("t-p", (0,))]),
        "no producer": ("t-p", -1, -1, [("t-p", (0,))]),
        "unknown id": ("t-nobody", pid, 0, [("t-p", (0,))]),
        "empty id": ("", pid, 0, [("t-p", (0,))]),
        "internal topic": ("t-p", pid, 0, [("__consumer_offsets", (0,))]),
        "negative partition": ("t-p", pid, 0, [("t-p", (-1,))]),
    }
    for label, row in bad.items():
        for version in range(6):
            for verify in (False, True) if version >= 4 else (False,):
                steady(k, "AddPartitionsToTxn", version, add_of(*row, version, verify),
                       f"{label} {'verify' if verify else ''}")
        k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-p"]}, f"after {label}")
        finish(k, "t-p", pid, epoch)
    for version in range(6):
        steady(k, "AddPartitionsToTxn", version, add_of(
            "t-p", pid, epoch, [("t-p", (version % 3,))], version), "good")
        k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-p"]}, "with more")
    for version in (4, 5):
        steady(k, "AddPartitionsToTxn", version, add_of("t-p", pid, epoch, [("t-p", (0, 1, 2))],
                                                        version, True), "all verified")
        two = add_of("t-p", pid, epoch, [("t-p", (0,))], version, True)
        two["Transactions"] += add_of("t-nobody", pid, epoch, [("t-p", (0,))], version, True)[
            "Transactions"]
        steady(k, "AddPartitionsToTxn", version, two, "two of them")
        steady(k, "AddPartitionsToTxn", version, {"Transactions": []}, "none of them")
    finish(k, "t-p", pid, epoch)


def ends(k):
    topic_id, = k.create("t-e")
    pid, epoch = started(k, "t-e")
    for version in range(6):
        for commit in (True, False):
            for label, row in (("nothing open", ("t-e", pid, epoch)),
                               ("unknown id", ("t-nobody", pid, epoch)),
                               ("empty id", ("", pid, epoch)),
                               ("other producer", ("t-e", pid + 999, epoch)),
                               ("future epoch", ("t-e", pid, epoch + 5)),
                               ("negative epoch", ("t-e", pid, -7))):
                if version == 5 and label == "nothing open" and not commit:
                    continue  # bumps: asked below
                steady(k, "EndTxn", version, end_of(*row, commit), f"{label} {commit}")
    for version in range(5):
        for commit in (True, False):
            steady(k, "AddPartitionsToTxn", 3, add_of("t-e", pid, epoch, [("t-e", (0,))]),
                   keep=False)
            for label, value in (("", commit), ("again", commit), ("turned", not commit)):
                steady(k, "EndTxn", version, end_of("t-e", pid, epoch, value),
                       f"{label} {commit}")
                settle(k, "t-e")
            k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-e"]},
                  f"after EndTxn {version} {commit}")
    answer = steady(k, "EndTxn", 5, end_of("t-e", pid, epoch, False), "nothing open, abort")
    for commit in (True, False):
        settle(k, "t-e")
        epoch = answer["ProducerEpoch"]
        steady(k, "Produce", 12, produce_of(k, "t-e", pid, epoch, "t-e", topic_id), "adds")
        answer = steady(k, "EndTxn", 5, end_of("t-e", pid, epoch, commit), f"bumps {commit}")
        settle(k, "t-e")
        for version in (0, 2, 4, 5):
            steady(k, "EndTxn", version, end_of("t-e", pid, epoch, commit), f"again {commit}")
            steady(k, "EndTxn", version, end_of("t-e", pid, epoch, not commit), f"turned {commit}")
            steady(k, "EndTxn", version, end_of("t-e", pid, epoch - 1, commit), f"older {commit}")
        k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-e"]}, f"after it {commit}")
    log_of(k, "t-e", topic_id, "after ends")
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "t-e", "PartitionIndexes": [0]}]}, "ends")


def produces(k):
    topic_id, = k.create("t-w")
    pid, epoch = started(k, "t-w")

    def each(label, low=3, **more):
        given = {"tid": "t-w", "pid": pid, "epoch": epoch, "topic": "t-w", "topic_id": topic_id,
                 **more}
        for version in range(low, 14):
            steady(k, "Produce", version, produce_of(k, **given), label)
    for version in range(3, 12):
        steady(k, "Produce", version, produce_of(k, "t-w", pid, epoch, "t-w", topic_id),
               "not added")
    each("an old epoch", epoch=epoch - 1)
    each("a future epoch", epoch=epoch + 3)
    each("another producer", pid=pid + 999)
    each("an unknown id", tid="t-nobody")
    each("an empty id", tid="")
    each("no id", tid=None)
    each("a control batch", attributes=0x30)
    each("an unknown topic", topic="t-none", topic_id=NOBODY)
    each("no producer", pid=-1, epoch=-1, sequence=-1)
    steady(k, "EndTxn", 4, end_of("t-w", pid, epoch, False), "after refusals")
    settle(k, "t-w")
    each("in order", low=12)
    each("a gap", low=12, sequence=9)
    each("not transactional", attributes=0)
    each("its own, sent again")
    finish(k, "t-w", pid, epoch, True)
    each("not transactional after the end", attributes=0, sequence=1)
    each("a first sequence of 5", low=12, sequence=5)
    finish(k, "t-w", pid, epoch)
    log_of(k, "t-w", topic_id, "after produces")
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "t-w", "PartitionIndexes": [0, 3]},
                                              {"Name": "t-none", "PartitionIndexes": [0]}]}, "")


def reads(k):
    topic_id, = k.create("t-r")
    a, b = started(k, "t-ra"), started(k, "t-rb")

    def look(label):
        for isolation in (0, 1):
            for offset in range(0, 8):
                for version in (4, 11, 12, 17):
                    answer = k.ask("Fetch", version, {
                        "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20,
                        "IsolationLevel": isolation, "Topics": [
                            {"Topic": "t-r", "TopicId": topic_id, "Partitions": [
                                {"Partition": 0, "FetchOffset": offset,
                                 "PartitionMaxBytes": 1 << 20}]}]}, keep=False)
                    part = answer["Responses"][0]["Partitions"][0]
                    part["Records"] = [base for base, _, _ in kbatch.parse(part["Records"])]
                    part["AbortedTransactions"] = part["AbortedTransactions"] and sorted(
                        part["AbortedTransactions"], key=lambda row: row["FirstOffset"])
                    k.keep(f"Fetch v{version} {label} isolation {isolation} at {offset}",
                           {"watermark": part.pop("HighWatermark"), **part})
            for what in (-1, -2, -3, -4, k.node.clock, k.node.clock + 1):
                for version in (2, 7, 11):
                    answer = k.ask("ListOffsets", version, {
                        "ReplicaId": -1, "IsolationLevel": isolation, "Topics": [
                            {"Name": "t-r", "Partitions": [{"PartitionIndex": 0,
                                                            "Timestamp": what}]}]}, keep=False)
                    k.keep(f"ListOffsets v{version} {label} isolation {isolation} "
                           f"{min(what, 0) or what - k.node.clock}",
                           answer["Topics"][0]["Partitions"][0])
    steady(k, "Produce", 9, produce_of(k, None, -1, -1, "t-r", topic_id, -1, (b"plain",), 0),
           keep=False)
    steady(k, "Produce", 12, produce_of(k, "t-ra", *a, "t-r", topic_id), keep=False)
    steady(k, "Produce", 12, produce_of(k, "t-rb", *b, "t-r", topic_id, 0, (b"1", b"2")), keep=False)
    steady(k, "Produce", 9, produce_of(k, None, -1, -1, "t-r", topic_id, -1, (b"plain",), 0),
           keep=False)
    look("both open")
    finish(k, "t-ra", *a, commit=False)
    look("one aborted")
    finish(k, "t-rb", *b, commit=True)
    look("none open")


def offsets(k):
    topic_id, = k.create("t-o", partitions=2)
    k.coordinator("t-g")
    pid, epoch = started(k, "t-o")

    def fetched(label):
        for stable in (False, True):
            for version in range(1, 11):
                topics = [{"Name": "t-o", "TopicId": topic_id, "PartitionIndexes": [0, 1]}]
                body = {"Groups": [{"GroupId": "t-g", "Topics": topics}]} if version >= 8 else {
                    "GroupId": "t-g", "Topics": [{"Name": "t-o", "PartitionIndexes": [0, 1]}]}
                if version >= 7:
                    body["RequireStable"] = stable
                k.ask("OffsetFetch", version, body, f"{label} {stable}")

    def settled():
        settle(k, "t-o")
        for _ in range(500):
            rows = codes(k.ask("OffsetFetch", 8, {"RequireStable": True, "Groups": [
                {"GroupId": "t-g", "Topics": None}]}, keep=False))
            if 88 not in rows:
                return
            time.sleep(0.01)

    def each(label, low=0, **more):
        given = {"tid": "t-o", "pid": pid, "epoch": epoch, "group": "t-g", "topic": "t-o",
                 "topic_id": topic_id, "offset": 7, **more}
        for version in range(low, 7):
            body = commit_of(**given)
            if version < 3:
                body = {f: v for f, v in body.items() if f not in (
                    "GenerationIdOrMemberEpoch", "MemberId", "GroupInstanceId")}
            steady(k, "TxnOffsetCommit", version, body, label)
    for version in range(5):
        steady(k, "TxnOffsetCommit", version, commit_of(
            "t-o", pid, epoch, "t-g", "t-o", topic_id, 7), "group not added")
    each("an unknown partition", partition=9)
    each("an unknown topic", topic="t-none", topic_id=NOBODY)
    each("an old epoch", epoch=epoch - 1)
    each("a future epoch", epoch=epoch + 2)
    each("another producer", pid=pid + 999)
    each("an unknown id", tid="t-nobody")
    each("an empty id", tid="")
    each("an empty group", group="")
    each("a negative offset", offset=-1)
    finish(k, "t-o", pid, epoch)
    settled()
    for label, member in (("generation 5", {"GenerationIdOrMemberEpoch": 5, "MemberId": "x"}),
                          ("member", {"MemberId": "x"}), ("instance", {"GroupInstanceId": "i"}),
                          ("generation 3, no member", {"GenerationIdOrMemberEpoch": 3})):
        each(label, low=5, **member)
    finish(k, "t-o", pid, epoch)
    settled()
    for version in range(5):
        for label, row in (("good", ("t-o", pid, epoch, "t-g")),
                           ("old epoch", ("t-o", pid, epoch - 1, "t-g")),
                           ("other producer", ("t-o", pid + 999, epoch, "t-g")),
                           ("unknown id", ("t-nobody", pid, epoch, "t-g")),
                           ("empty id", ("", pid, epoch, "t-g")),
                           ("empty group", ("t-o", pid, epoch, ""))):
            steady(k, "AddOffsetsToTxn", version, offsets_of(*row), label)
    finish(k, "t-o", pid, epoch)
    settled()
    for commit in (True, False):
        each(f"to {commit}", low=5, offset=20 + commit)
        fetched(f"pending {commit}")
        finish(k, "t-o", pid, epoch, commit)
        settled()
        fetched(f"ended {commit}")
    each("beside a plain one", low=5, offset=30)
    k.ask("OffsetCommit", 8, {"GroupId": "t-g", "GenerationIdOrMemberEpoch": -1, "Topics": [
        {"Name": "t-o", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 25}]}]}, "plain")
    fetched("plain and pending")
    finish(k, "t-o", pid, epoch, True)
    settled()
    fetched("plain and committed")
    each("and gone", low=5, offset=40)
    k.ask("OffsetDelete", 0, {"GroupId": "t-g", "Topics": [
        {"Name": "t-o", "Partitions": [{"PartitionIndex": 0}]}]}, "pending")
    k.ask("DescribeGroups", 5, {"Groups": ["t-g"]}, "pending")
    k.ask("DeleteGroups", 2, {"GroupsNames": ["t-g"]}, "pending")
    finish(k, "t-o", pid, epoch, True)
    settled()
    fetched("deleted")


def listing(k):
    """Of the ids of this script: the other cases leave theirs."""
    topic_id, = k.create("t-l")
    for name, commit in (("t-l-committed", True), ("t-l-aborted", False), ("t-l-open", None)):
        pair = started(k, name)
        steady(k, "Produce", 12, produce_of(k, name, *pair, "t-l", topic_id), keep=False)
        if commit is not None:
            finish(k, name, *pair, commit)
        last = pair[0]
    started(k, "t-l-empty")

    def ask(version, label, **filters):
        answer = k.ask("ListTransactions", version, filters, keep=False)
        if isinstance(answer, dict):
            answer["TransactionStates"] = [r for r in answer["TransactionStates"]
                                           if r["TransactionalId"].startswith("t-l-")]
        k.keep(f"ListTransactions v{version} {label}", answer)
    states = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit",
              "CompleteAbort", "Dead", "PrepareEpochFence"]
    for version in range(3):
        ask(version, "all")
        for state in [*states, "ongoing", "Nonsense", ""]:
            ask(version, f"state {state}", StateFilters=[state])
        ask(version, "every state", StateFilters=states)
        ask(version, "one state twice", StateFilters=["Ongoing", "Ongoing", "Bad", "Bad"])
        ask(version, "producer", ProducerIdFilters=[last])
        ask(version, "producers", ProducerIdFilters=[last, last, -1, 1 << 40])
        ask(version, "both", ProducerIdFilters=[last], StateFilters=["Empty"])
    for version in (1, 2):
        for duration in (-1, -5, 600000, (1 << 63) - 1, -(1 << 63)):
            ask(version, f"duration {duration}", DurationFilter=duration)
    for pattern in (None, "", "t-l-.*", "t-l", ".*open", "t-l-(open|empty)", "t-l-[a-c].*", "(", "*",
                    "t-l-\\w+", "T-L-OPEN", "(?i)T-L-OPEN", "^t-l-open$", "t-l-open|t-l-empty",
                    "t-l-.{4}", "[", "t-l-\\", "t-l-o+pen", "t-l-o?pen", "\\Qt-l-open\\E"):
        ask(2, f"pattern {pattern}", TransactionalIdPattern=pattern)
    k.ask("DescribeTransactions", 0, {"TransactionalIds": [
        "", "t-l-open", "t-nobody", "t-l-empty", "t-l-committed", "t-l-aborted"]}, "")
    k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-l-open", "t-l-open"]}, "twice")
    k.ask("DescribeTransactions", 0, {"TransactionalIds": []}, "none")
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "t-l", "PartitionIndexes": [0]}]}, "list")


def markers(k):
    """WriteTxnMarkers by hand."""
    topic_id, = k.create("t-m", partitions=2)
    k.create("t-m2")
    pid, epoch = started(k, "t-m")
    steady(k, "Produce", 12, produce_of(k, "t-m", pid, epoch, "t-m", topic_id), keep=False)

    def write(label, version, *rows):
        k.ask("WriteTxnMarkers", version, {"Markers": [
            {"ProducerId": p, "ProducerEpoch": e, "TransactionResult": commit,
             "CoordinatorEpoch": coordinator_epoch, "Topics": [
                 {"Name": n, "PartitionIndexes": list(i)} for n, i in topics],
             **({"TransactionVersion": tv} if version >= 2 else {})}
            for p, e, commit, coordinator_epoch, tv, topics in rows]}, label)
    both = [("t-m", (0, 1)), ("t-m2", (0,))]
    for version in (1, 2):
        write("none", version)
        write("nowhere", version, (pid, epoch, True, 0, 0, []))
        write("unknown", version, (pid, epoch, True, 0, 0, [("t-none", (0,)), ("t-m", (7, -1))]))
        write("a producer that nobody knows", version, (1 << 40, 3, True, 0, 0, both))
        write("a later coordinator", version, ((1 << 40) + version, 3, False, 9, 0, both))
        write("an earlier coordinator", version, ((1 << 40) + version, 3, False, 8, 0, both))
        write("nobody's", version, (-1, 3, True, 0, 0, both))
        write("no epoch", version, (77, -1, True, 0, 0, both))
        write("an older epoch", version, ((1 << 40) + version, 2, False, 9, 0, both))
        write("a later epoch", version, ((1 << 40) + version, 7, True, 9, 0, both))
        write("two", version, ((1 << 40) + 5, 1, True, 0, 0, [("t-m", (1,))]),
              ((1 << 40) + 6, 1, False, 0, 0, [("t-m", (1,)), ("t-none", (0,))]))
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "t-m", "PartitionIndexes": [0, 1]}]}, "")
    write("version 2, epoch not bumped", 2, (pid, epoch, False, 0, 2, [("t-m", (0,))]))
    write("version 2, bumped", 2, (pid, epoch + 1, False, 0, 2, [("t-m", (0,))]))
    write("version 2, again", 2, (pid, epoch + 1, False, 0, 2, [("t-m", (0,))]))
    write("version 2, never open", 2, (pid, epoch + 1, False, 0, 2, [("t-m", (1,))]))
    write("version 9", 2, (pid, epoch + 2, True, 0, 9, [("t-m", (0,))]))
    log_of(k, "t-m", topic_id, "by hand")
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "t-m", "PartitionIndexes": [0]}]}, "v2")
    finish(k, "t-m", pid, epoch)


def members(k):
    """Offsets in a transaction for a group that has members: who may commit them."""
    topic_id, = k.create("t-me")
    pid, epoch = started(k, "t-me")

    def each(group, label, **member):
        for version in range(3, 7):
            if version < 5:
                steady(k, "AddOffsetsToTxn", 3, offsets_of("t-me", pid, epoch, group), keep=False)
            steady(k, "TxnOffsetCommit", version, commit_of(
                "t-me", pid, epoch, group, "t-me", topic_id, 5, **member), label)
        finish(k, "t-me", pid, epoch)
    for instance in (None, "i"):
        group = f"t-mg-{instance}"
        k.coordinator(group)
        generation, member = enter(k, group, instance=instance)
        each(group, f"the member {instance}", GenerationIdOrMemberEpoch=generation, MemberId=member,
             GroupInstanceId=instance)
        for label, row in (("nobody", (-1, "", None)), ("no generation", (-1, member, instance)),
                           ("no member", (generation, "", instance)),
                           ("next generation", (generation + 1, member, instance)),
                           ("another member", (generation, "nobody", instance)),
                           ("another instance", (generation, member, "other")),
                           ("instance alone", (-1, "", "i"))):
            each(group, f"{label} {instance}", GenerationIdOrMemberEpoch=row[0], MemberId=row[1],
                 GroupInstanceId=row[2])
        k.ask("DescribeGroups", 5, {"Groups": [group]}, "after all of it")
    k.coordinator("t-mj")
    joined = k.ask("JoinGroup", 9, join("t-mj"), keep=False)
    each("t-mj", "an id that did not join", GenerationIdOrMemberEpoch=-1, MemberId=joined["MemberId"])
    joined = k.ask("JoinGroup", 9, join("t-mj", joined["MemberId"]), keep=False)
    each("t-mj", "before the assignment", GenerationIdOrMemberEpoch=joined["GenerationId"],
         MemberId=joined["MemberId"])
    for size in (4096, 4097):
        body = commit_of("t-me", pid, epoch, "t-ms", "t-me", topic_id, 5)
        body["Topics"][0]["Partitions"][0]["CommittedMetadata"] = "x" * size
        steady(k, "TxnOffsetCommit", 5, body, f"note of {size}")
    finish(k, "t-me", pid, epoch)


def named_twice(k):
    """The same partition again within its topic, the same topic again, the same transaction. Not of
    WriteTxnMarkers: Apache Kafka never answers one that names a partition twice."""
    topic_id, = k.create("t-n", partitions=2)
    pid, epoch = started(k, "t-n")
    k.coordinator("t-ng")
    shapes = {"partition": [("t-n", (0, 0))], "topic": [("t-n", (0,)), ("t-n", (0,))],
              "topic, other partition": [("t-n", (0,)), ("t-n", (1,))],
              "one unknown": [("t-n", (0, 7, 7))]}
    for label, topics in shapes.items():
        for version in range(6):
            for verify in (False, True) if version >= 4 else (False,):
                steady(k, "AddPartitionsToTxn", version, add_of(
                    "t-n", pid, epoch, topics, version, verify), f"{label} {verify}")
        k.ask("DescribeTransactions", 0, {"TransactionalIds": ["t-n"]}, f"twice: {label}")
        finish(k, "t-n", pid, epoch)
    for version in (4, 5):
        two = add_of("t-n", pid, epoch, [("t-n", (0,))], version)
        two["Transactions"] *= 2
        steady(k, "AddPartitionsToTxn", version, two, "transaction")
    finish(k, "t-n", pid, epoch)
    for version in (5, 6):
        for label, copies in (("partition", (2, 1)), ("topic", (1, 2))):
            body = commit_of("t-n", pid, epoch, "t-ng", "t-n", topic_id, 7)
            body["Topics"][0]["Partitions"] *= copies[0]
            body["Topics"] *= copies[1]
            steady(k, "TxnOffsetCommit", version, body, label)
    finish(k, "t-n", pid, epoch, True)


def again(k):
    """InitProducerId with an id and an epoch while a transaction is open, by each version."""
    topic_id, = k.create("t-a")
    for version in (3, 4, 5):
        for label, shift, other in (("current", 0, 0), ("before", -1, 0), ("future", 3, 0),
                                    ("another producer", 0, 999), ("none", None, 0)):
            name = f"t-a-{version}-{label}"
            pid, epoch = started(k, name)
            pid, epoch = started(k, name)
            steady(k, "Produce", 12, produce_of(k, name, pid, epoch, "t-a", topic_id), keep=False)
            given = (-1, -1) if shift is None else (pid + other, epoch + shift)
            answer = steady(k, "InitProducerId", version, init_of(name, 60000, *given), label)
            settle(k, name)
            k.ask("DescribeTransactions", 0, {"TransactionalIds": [name]}, f"{label} {version}")
            if answer["ErrorCode"] == 0:
                steady(k, "Produce", 12, produce_of(
                    k, name, answer["ProducerId"], answer["ProducerEpoch"], "t-a", topic_id),
                    f"{label} {version}, then")
                finish(k, name, answer["ProducerId"], answer["ProducerEpoch"])
            else:
                finish(k, name, pid, epoch)
            k.ask("DescribeTransactions", 0, {"TransactionalIds": [name]}, f"{label} {version}, end")
    log_of(k, "t-a", topic_id, "again")


def producer_ids(k):
    """Blocks of ids from the controller."""
    for broker, epoch in ((1, -1), (9, 0), (-1, -1)):
        answer = k.ask("AllocateProducerIds", 0, {"BrokerId": broker, "BrokerEpoch": epoch},
                       keep=False, port=k.node.controller_port)
        if isinstance(answer, dict):
            answer["ProducerIdStart"] = min(answer["ProducerIdStart"], 1)
        k.keep(f"AllocateProducerIds {broker} {epoch}", answer)


def fences(k):
    """A second instance of a producer, by old clients and by new ones."""
    topic_id, = k.create("t-f")
    for version in (1, 4, 5):
        name = f"t-f{version}"
        pid, epoch = started(k, name)
        steady(k, "Produce", 12, produce_of(k, name, pid, epoch, "t-f", topic_id), keep=False)
        steady(k, "InitProducerId", version, init_of(name, version=version), "ends what is open")
        settle(k, name)
        k.ask("DescribeTransactions", 0, {"TransactionalIds": [name]}, f"fenced {version}")
        steady(k, "Produce", 12, produce_of(k, name, pid, epoch, "t-f", topic_id, 1), "fenced")
        for end in range(6):
            steady(k, "EndTxn", end, end_of(name, pid, epoch, True), "fenced")
        for add in range(4):
            steady(k, "AddPartitionsToTxn", add, add_of(name, pid, epoch, [("t-f", (0,))]), "fenced")
        steady(k, "InitProducerId", 5, init_of(name, 60000, pid, epoch), "fenced")
    log_of(k, "t-f", topic_id, "fenced")


def tool(k):
    """Apache Kafka's kafka-transactions: what operators see, and how they end what hangs."""
    topic_id, = k.create("tool")
    done, open_pair = started(k, "tool-done"), started(k, "tool-open")
    for name, pair in (("tool-done", done), ("tool-open", open_pair)):
        steady(k, "Produce", 12, produce_of(k, name, *pair, "tool", topic_id), keep=False)
    finish(k, "tool-done", *done, commit=True)

    def verify(value):
        k.ask("IncrementalAlterConfigs", 1, {"Resources": [{
            "ResourceType": 4, "ResourceName": "", "Configs": [{
                "Name": "transaction.partition.verification.enable",
                "ConfigOperation": 1 if value is None else 0, "Value": value}]}]}, keep=False)
    verify("false")
    hanging = started(k, "tool-hanging")
    records = kbatch.batch([b"h"], timestamp=k.node.clock - 7200000, producer_id=hanging[0],
                           producer_epoch=hanging[1], base_sequence=0, attributes=0x10)
    for _ in range(500):
        answer = k.ask("Produce", 9, {
            "TransactionalId": "tool-hanging", "Acks": -1, "TimeoutMs": 5000, "TopicData": [
                {"Name": "tool", "PartitionData": [{"Index": 0, "Records": records}]}]}, keep=False)
        part = answer["Responses"][0]["PartitionResponses"][0]
        if part["ErrorCode"] == 0:
            break
        time.sleep(0.01)
    verify(None)

    def run(label, *arguments):
        """Its exit code and its table, without columns that are a matter of time or chance."""
        command = nodes.Apache.tool("kafka-transactions", "--bootstrap-server",
                                    k.node.bootstrap, *arguments)
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        rows = [re.split(r"\s*\t\s*", line.strip()) for line in result.stdout.splitlines()]
        head = rows[0] if rows else []
        chance = [i for i, name in enumerate(head) if re.search("ProducerId|Time|Duration", name)]
        k.keep(f"kafka-transactions {label}", [result.returncode, head, *sorted(
            [value for i, value in enumerate(row) if i not in chance] for row in rows[1:]
            if any(value.startswith("tool") for value in row) or label == "describe-producers")])
    run("list", "list")
    run("describe", "describe", "--transactional-id", "tool-open")
    run("describe-producers", "describe-producers", "--topic", "tool", "--partition", "0")
    run("find-hanging", "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "60")
    run("abort", "abort", "--topic", "tool", "--partition", "0", "--start-offset",
        str(part["BaseOffset"]))
    run("find-hanging then", "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "60")
    finish(k, "tool-open", *open_pair)
    log_of(k, "tool", topic_id, "after the tool")


CASES = [coordinator, ids, partitions, ends, produces, reads, offsets, listing, markers, fences,
         members, named_twice, again, producer_ids, tool]
