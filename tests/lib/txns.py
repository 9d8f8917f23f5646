"""A transactional producer by raw requests, and what transactions leave behind.

    p = Txn(t, "id"); p.init(); p.send("topic", [b"v"]); p.end(True)

With transaction.version 2, the default: Produce 12 adds partitions, EndTxn 5 bumps the epoch. A Txn
made with old=True speaks as clients before: AddPartitionsToTxn 3, Produce 11, EndTxn 4.
"""
import struct
import time

import kbatch
import kwire
from probe import LOADING

CONCURRENT = 51
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
          "Dead", "PrepareEpochFence")


def again(ask, codes=(CONCURRENT, *LOADING), seconds=30):
    """Asks until the error is none of these: what a client does with a retriable error."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer["ErrorCode"] not in codes or time.monotonic() > end:
            return answer
        time.sleep(0.01)


class Txn:
    def __init__(self, t, name, timeout_ms=60000, old=False):
        self.t, self.name, self.timeout_ms, self.old = t, name, timeout_ms, old
        self.pid, self.epoch, self.sequences = -1, -1, {}

    def clone(self):
        """Another client with the same id, as it stands now: the zombie or its successor."""
        other = Txn(self.t, self.name, self.timeout_ms, self.old)
        other.pid, other.epoch, other.sequences = self.pid, self.epoch, dict(self.sequences)
        return other

    def take(self, answer):
        """The id and epoch of an answer are this producer's from now on."""
        if answer["ErrorCode"] == 0 and answer.get("ProducerId", -1) >= 0:
            if (answer["ProducerId"], answer["ProducerEpoch"]) != (self.pid, self.epoch):
                self.sequences = {}
            self.pid, self.epoch = answer["ProducerId"], answer["ProducerEpoch"]
        return answer

    def init(self, version=None, pid=-1, epoch=-1, retry=True):
        version = version if version is not None else 4 if self.old else 5
        body = {"TransactionalId": self.name, "TransactionTimeoutMs": self.timeout_ms}
        if version >= 3:
            body.update(ProducerId=pid, ProducerEpoch=epoch)

        def ask():
            return self.t.call("InitProducerId", version, body)
        return self.take(again(ask) if retry else ask())

    def add(self, topic, partitions=(0,), version=3, retry=True):
        """Error codes of the partitions."""
        def ask():
            rows = self.t.call("AddPartitionsToTxn", version, {
                "V3AndBelowTransactionalId": self.name, "V3AndBelowProducerId": self.pid,
                "V3AndBelowProducerEpoch": self.epoch, "V3AndBelowTopics": [
                    {"Name": topic, "Partitions": list(partitions)}]})["ResultsByTopicV3AndBelow"]
            codes = [r["PartitionErrorCode"] for r in rows[0]["ResultsByPartition"]]
            return {"ErrorCode": codes[0], "codes": codes}
        return (again(ask) if retry else ask())["codes"]

    def verify(self, topic, partitions=(0,), verify_only=True, version=5):
        """What a broker asks of the coordinator: the answer's row for this id."""
        answer = self.t.call("AddPartitionsToTxn", version, {"Transactions": [{
            "TransactionalId": self.name, "ProducerId": self.pid, "ProducerEpoch": self.epoch,
            "VerifyOnly": verify_only, "Topics": [
                {"Name": topic, "Partitions": list(partitions)}]}]})
        if answer["ErrorCode"]:
            return answer["ErrorCode"]
        return [p["PartitionErrorCode"] for r in answer["ResultsByTransaction"][0]["TopicResults"]
                for p in r["ResultsByPartition"]]

    def batch(self, topic, values, partition=0, sequence=None, attributes=0x10, **more):
        if sequence is None:
            sequence = self.sequences.get((topic, partition), 0)
        return kbatch.batch(values, timestamp=int(time.time() * 1000), producer_id=self.pid,
                            producer_epoch=self.epoch, base_sequence=sequence,
                            attributes=attributes, **more)

    def send(self, topic, values, partition=0, version=None, retry=True, sequence=None, **more):
        version = version if version is not None else 11 if self.old else 12
        if self.old and version < 12 and retry:
            self.add(topic, (partition,))
        records = self.batch(topic, values, partition, sequence, **more)

        def ask():
            return self.t.produce(topic, records, version, partition=partition,
                                  transactional_id=self.name)
        answer = again(ask, (CONCURRENT, 6, *LOADING)) if retry else ask()
        if answer["ErrorCode"] == 0 and sequence is None:
            at = self.sequences.get((topic, partition), 0)
            self.sequences[topic, partition] = at + len(values)
        return answer

    def end(self, commit, version=None, retry=True):
        version = version if version is not None else 4 if self.old else 5

        def ask():
            return self.t.call("EndTxn", version, {
                "TransactionalId": self.name, "ProducerId": self.pid, "ProducerEpoch": self.epoch,
                "Committed": commit})
        return self.take(again(ask) if retry else ask())

    def add_offsets(self, group, version=4, retry=True):
        def ask():
            return self.t.call("AddOffsetsToTxn", version, {
                "TransactionalId": self.name, "ProducerId": self.pid,
                "ProducerEpoch": self.epoch, "GroupId": group})
        return (again(ask) if retry else ask())["ErrorCode"]

    def commit_offset(self, group, topic, offset, partition=0, version=None, retry=True, **member):
        version = version if version is not None else 4 if self.old else 5
        if self.old and retry:
            self.add_offsets(group)

        def ask():
            rows = self.t.call("TxnOffsetCommit", version, {
                "TransactionalId": self.name, "GroupId": group, "ProducerId": self.pid,
                "ProducerEpoch": self.epoch, **member, "Topics": [{
                    "Name": topic, "TopicId": self.t.ids.get(topic, kwire.ZERO_UUID), "Partitions": [
                        {"PartitionIndex": partition, "CommittedOffset": offset,
                         "CommittedMetadata": "note"}]}]})["Topics"]
            return rows[0]["Partitions"][0]
        return (again(ask) if retry else ask())["ErrorCode"]

    def describe(self):
        return describe(self.t, self.name)

    def settled(self, seconds=30):
        """The state once no marker is on its way."""
        end = time.monotonic() + seconds
        while True:
            row = self.describe()
            if not row["TransactionState"].startswith("Prepare") or time.monotonic() > end:
                return row
            time.sleep(0.01)


def describe(t, name):
    return t.call("DescribeTransactions", 0, {"TransactionalIds": [name]})["TransactionStates"][0]


def listed(t, version=2, **filters):
    """{transactional id: state} of ListTransactions."""
    rows = t.call("ListTransactions", version, filters)["TransactionStates"]
    return {r["TransactionalId"]: r["TransactionState"] for r in rows}


def producers(t, topic, partition=0):
    rows = t.call("DescribeProducers", 0, {"Topics": [
        {"Name": topic, "PartitionIndexes": [partition]}]})["Topics"][0]["Partitions"][0]
    return rows["ActiveProducers"]


def write_marker(t, pid, epoch, commit, topic, partition=0, coordinator_epoch=0, version=2,
                 transaction_version=0):
    """Writes a marker by hand, as kafka-transactions does; its error."""
    body = {"ProducerId": pid, "ProducerEpoch": epoch, "TransactionResult": commit,
            "CoordinatorEpoch": coordinator_epoch, "Topics": [
                {"Name": topic, "PartitionIndexes": [partition]}]}
    if version >= 2:
        body["TransactionVersion"] = transaction_version
    row = t.call("WriteTxnMarkers", version, {"Markers": [body]})["Markers"][0]
    return row["Topics"][0]["Partitions"][0]["ErrorCode"]


def committed_offset(t, group, topic, partition=0, stable=False, version=8):
    """(error, offset) of OffsetFetch."""
    group_row = t.call("OffsetFetch", version, {"RequireStable": stable, "Groups": [{
        "GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [partition]}]}]})[
            "Groups"][0]
    if group_row["ErrorCode"]:
        return group_row["ErrorCode"], -1
    row = group_row["Topics"][0]["Partitions"][0]
    return row["ErrorCode"], row["CommittedOffset"]


def read(t, topic, partition=0, committed=True, offset=0):
    """Values as a consumer sees them: with the aborted lists of Fetch applied when committed."""
    found, aborted = [], set()
    while True:
        part = t.fetch(topic, offset, partition=partition, IsolationLevel=int(committed))
        batches = kbatch.parse(part["Records"] or b"")
        if not batches:
            return found
        starts = sorted((a["FirstOffset"], a["ProducerId"])
                        for a in part["AbortedTransactions"] or [])
        for base, head, records in batches:
            last = base + head["last_offset_delta"]
            while starts and starts[0][0] <= last:
                aborted.add(starts.pop(0)[1])
            if head["attributes"] & 0x20:
                if marker(head, records) == "abort":
                    aborted.discard(head["producer_id"])
            elif not (head["attributes"] & 0x10 and head["producer_id"] in aborted):
                found += [v for o, v in values(base, records) if o >= offset]
            offset = last + 1


def values(base, records):
    """[(offset, value)] of uncompressed records."""
    found, at = [], 0
    while at < len(records):
        size, at = kbatch.read_varint(records, at)
        end = at + size
        _, at = kbatch.read_varint(records, at + 1)
        delta, at = kbatch.read_varint(records, at)
        length, at = kbatch.read_varint(records, at)
        at += max(0, length)
        length, at = kbatch.read_varint(records, at)
        found.append((base + delta, None if length < 0 else records[at:at + length]))
        at = end
    return found


def marker(head, records):
    """'commit' or 'abort' of a control batch."""
    _, at = kbatch.read_varint(records, 0)
    _, at = kbatch.read_varint(records, at + 1)
    _, at = kbatch.read_varint(records, at)
    size, at = kbatch.read_varint(records, at)
    kind = struct.unpack_from(">hh", records, at)[1] if size >= 4 else -1
    return {0: "abort", 1: "commit"}.get(kind)


def plant(t, name, **state):
    """Writes a state of a transactional id into __transaction_state, as if a coordinator had; it
    counts from the next start on. state: fields of TransactionLogValue."""
    key = struct.pack(">h", 0) + kwire.encode("TransactionLogKey", 0, {"TransactionalId": name})
    now = int(time.time() * 1000)
    state = {"TransactionTimeoutMs": 60000, "TransactionLastUpdateTimestampMs": now,
             "TransactionStartTimestampMs": now, "TransactionPartitions": [],
             "ClientTransactionVersion": 2, **state}
    state["TransactionPartitions"] = [{"Topic": topic, "PartitionIds": list(ids)}
                                      for topic, ids in state["TransactionPartitions"]]
    value = struct.pack(">h", 1) + kwire.encode("TransactionLogValue", 1, state)
    partition = abs(java_hash(name)) % state_partitions(t)
    records = kbatch.batch([value], key=key, timestamp=now)
    body = {"Acks": -1, "TimeoutMs": 5000, "TopicData": [{
        "Name": "__transaction_state", "PartitionData": [
            {"Index": partition, "Records": records}]}]}
    answer = t.c.call("Produce", 9, body, client="__admin_client")
    return answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"]


def java_hash(text):
    """Java's String.hashCode of ASCII text."""
    value = 0
    for byte in text.encode("ascii"):
        value = value * 31 + byte & 0xffffffff
    return value - (1 << 32) if value >> 31 else value


def state_partitions(t):
    topic = t.call("Metadata", 12, {"Topics": [{"Name": "__transaction_state"}]})["Topics"][0]
    return len(topic["Partitions"])
