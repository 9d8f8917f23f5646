#!/usr/bin/env python3
"""Random walks: the same drawn requests to Apache Kafka 4.4.0 and to Klamm, step by step.

usage: walks.py [--first-seed N] [--walks N] [--steps N] [--restarts N] [--only ACTION,...]
                [--trace]
A walk draws its steps from its seed and from what the node answered so far: topics come and go,
producers write in and out of order, with and without transactions, members come and go, offsets are
committed, records deleted. Nodes that answer alike are asked alike; so what counts is the first
answer that differs, and the rest of that walk says nothing. Apache Kafka does some things a little
later than it says (a topic's settings, offsets of a deleted topic): a walk that differs is walked
again, and what is alike then was a race.
The cases of run.py ask for everything once; walks ask for combinations that nobody thought of.
"""
import argparse
import os
import random
import signal
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]
import differ  # noqa: E402
import kbatch  # noqa: E402
import kwire  # noqa: E402
import nodes  # noqa: E402
from cases_groups import beat, commit, join, sync  # noqa: E402
from cases_transactions import (add_of, commit_of, end_of, init_of, offsets_of,  # noqa: E402
                                settle, steady)

ATTEMPTS = 3
NOBODY = "11111111-1111-4111-8111-111111111111"
CONFIGS = [("retention.ms", "3600000"), ("cleanup.policy", "compact"),
           ("cleanup.policy", "compact,delete"), ("max.message.bytes", "150"),
           ("message.timestamp.type", "LogAppendTime"), ("compression.type", "gzip"),
           ("min.insync.replicas", "3"), ("segment.bytes", "1048576"), ("segment.bytes", "1"),
           ("message.timestamp.before.max.ms", "5000"), ("unclean.leader.election.enable", "true"),
           ("no.such.key", "1"), ("retention.bytes", "x"), ("delete.retention.ms", "-1"),
           ("flush.messages", "1"), ("cleanup.policy", ""), ("local.retention.ms", "7")]

BAD = [("segment.bytes", "1"), ("no.such.key", "1"), ("retention.bytes", "x"),
       ("delete.retention.ms", "-1"), ("cleanup.policy", "")]


class Producer:
    """`newest`: the first version of EndTxn, ... that it speaks is that of transaction.version 2. A
    mixture is not asked for: Klamm does not let the one protocol's epochs pass in the other."""

    def __init__(self, tid, newest=False):
        self.tid, self.pid, self.epoch, self.newest = tid, -1, -1, newest
        self.next = {}     # (topic, partition): the sequence that comes next
        self.added = set()


class Walk:
    """What one side knows; every choice comes from `draw`, in the same order on both sides."""

    def __init__(self, side, seed, attempt, restarts, only):
        self.k, self.restarts, self.only = side, restarts, only
        self.draw = random.Random(seed)
        self.prefix = f"w{seed}{'xyz'[attempt]}-"
        self.topics = {}   # name: (id, partitions)
        self.gone = []     # ids of topics that were deleted
        self.producers = [Producer(None), Producer(None)] + [
            Producer(f"{self.prefix}t{i}", i == 1) for i in range(2)]
        self.groups = [self.prefix + "g0", self.prefix + "g1"]
        self.starts = {}   # (topic, partition): where DeleteRecords let the log start
        self.members = {}  # group: (generation, member id, instance id)
        self.step = 0
        self.asked = []

    # ---- choices ----

    def epoch_of(self, producer):
        """Mostly its epoch."""
        return max(0, producer.epoch + self.draw.choice([0] * 9 + [1, -1]))

    def version_of(self, producer, api, newest):
        """Of an API that has the newest protocol since version `newest`."""
        if not producer.tid:
            return self.version(api)
        return self.version(api, newest) if producer.newest else self.version(api, 0, newest - 1)

    def version(self, api, low=0, high=99):
        key, first, last = kwire.APIS[api]
        return self.draw.randint(max(low, first), min(high, last))

    def name(self):
        """Mostly a topic that is there."""
        if self.topics and self.draw.random() < 0.9:
            return self.draw.choice(sorted(self.topics))
        return self.fresh()

    def fresh(self):
        """A name that a topic may have. Apache Kafka gives a topic the settings of one of that name
        that was deleted before a restart: then no name comes twice."""
        name = self.prefix + self.draw.choice("abcd")
        return f"{name}{len(self.gone)}" if self.restarts else name

    def id_of(self, name):
        if name in self.topics:
            return self.topics[name][0]
        return self.draw.choice(self.gone + [NOBODY])

    def partition(self, name):
        count = self.topics[name][1] if name in self.topics else 1
        return self.draw.choice([0, 0, self.draw.randrange(count), count, -1]
                                if self.draw.random() < 0.1 else [self.draw.randrange(count)])

    def ask(self, api, version, values, label="", **more):
        self.asked.append((self.step, api, version, values))
        return self.k.ask(api, version, values, f"#{self.step} {label}", **more)

    def steady(self, api, version, values, label=""):
        self.asked.append((self.step, api, version, values))
        return steady(self.k, api, version, values, f"#{self.step} {label}")

    # ---- topics ----

    def create(self):
        name = self.fresh()
        partitions = self.draw.choice([1, 1, 2, 3, -1, 0]) if self.draw.random() < 0.3 else 1
        pairs = self.pairs()
        only = self.draw.random() < 0.1
        answer = self.ask("CreateTopics", self.version("CreateTopics"), {
            "Topics": [{"Name": name, "NumPartitions": partitions,
                        "ReplicationFactor": self.draw.choice([1, 1, 1, -1, 2]),
                        "Configs": [{"Name": n, "Value": v} for n, v in pairs]}],
            "timeoutMs": 20000, "validateOnly": only}, f"{name} {pairs}")
        if answer["Topics"][0]["ErrorCode"] == 0 and not only:
            self.look(name)

    def pairs(self):
        """At most one that is refused: which of two is told of, is chance."""
        good = [c for c in CONFIGS if c not in BAD]
        return self.draw.sample(good, self.draw.choice([0, 0, 1, 2])) + \
            self.draw.sample(BAD, self.draw.choice([0] * 4 + [1]))

    def look(self, name, count=0):
        """Waits until a topic is there, with `count` partitions if given, and these are led."""
        for _ in range(200):
            row = self.k.ask("Metadata", 12, {"Topics": [{"Name": name}],
                                              "AllowAutoTopicCreation": False},
                             keep=False)["Topics"][0]
            led = row["ErrorCode"] == 0 and all(p["LeaderId"] >= 0 for p in row["Partitions"])
            if led and (not count or len(row["Partitions"]) == count):
                break
            time.sleep(0.02)
        self.topics[name] = (row["TopicId"], len(row["Partitions"]))
        self.k.name("uuid", row["TopicId"])
        for _ in range(200):
            found = self.k.ask("ListOffsets", 8, {"ReplicaId": -1, "Topics": [
                {"Name": name, "Partitions": [{"PartitionIndex": i, "Timestamp": -1}
                                              for i in range(len(row["Partitions"]))]}]},
                               keep=False)["Topics"][0]
            if all(p["ErrorCode"] == 0 for p in found["Partitions"]):
                return
            time.sleep(0.02)

    def delete(self):
        name = self.name()
        version = self.version("DeleteTopics")
        by_id = version >= 6 and self.draw.random() < 0.5
        topic_id = self.id_of(name)
        answer = self.ask("DeleteTopics", version, {
            "Topics": [{"Name": None if by_id else name,
                        "TopicId": topic_id if by_id else kwire.ZERO_UUID}],
            "TopicNames": [name], "TimeoutMs": 20000}, name)
        if answer["Responses"][0]["ErrorCode"] or name not in self.topics:
            return
        self.gone.append(self.topics.pop(name)[0])
        self.starts = {k: v for k, v in self.starts.items() if k[0] != name}
        for producer in self.producers:
            producer.next = {k: v for k, v in producer.next.items() if k[0] != name}
        for _ in range(500):
            row = self.k.ask("Metadata", 12, {"Topics": [{"Name": name}],
                                              "AllowAutoTopicCreation": False},
                             keep=False)["Topics"][0]
            led = self.k.ask("ListOffsets", 8, {"ReplicaId": -1, "Topics": [
                {"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]},
                             keep=False)["Topics"][0]["Partitions"][0]["ErrorCode"]
            if row["ErrorCode"] == 3 and led == 3:
                break
            time.sleep(0.02)
        time.sleep(0.1)  # Apache Kafka drops the topic's offsets a little later

    def grow(self):
        name = self.name()
        count = self.topics[name][1] if name in self.topics else 1
        count += self.draw.choice([1, 1, 0, -1])
        only = self.draw.random() < 0.1
        answer = self.ask("CreatePartitions", self.version("CreatePartitions"), {
            "Topics": [{"Name": name, "Count": count, "Assignments": None}], "TimeoutMs": 20000,
            "ValidateOnly": only}, f"{name} {count}")
        if answer["Results"][0]["ErrorCode"] == 0 and not only:
            self.look(name, count)

    def configure(self):
        name = self.name()
        key, value = self.draw.choice(CONFIGS)
        operation = self.draw.choice([0, 0, 0, 1, 2, 3])
        self.ask("IncrementalAlterConfigs", self.version("IncrementalAlterConfigs"), {
            "Resources": [{"ResourceType": 2, "ResourceName": name, "Configs": [
                {"Name": key, "ConfigOperation": operation, "Value": value}]}],
            "ValidateOnly": self.draw.random() < 0.2}, f"{name} {operation} {key}={value}")
        time.sleep(0.03)

    def configure_all(self):
        name = self.name()
        pairs = self.pairs()
        self.ask("AlterConfigs", self.version("AlterConfigs"), {
            "Resources": [{"ResourceType": 2, "ResourceName": name, "Configs": [
                {"Name": n, "Value": v} for n, v in pairs]}],
            "ValidateOnly": self.draw.random() < 0.2}, f"{name} {pairs}")
        time.sleep(0.03)

    def describe_configs(self):
        name = self.name()
        self.ask("DescribeConfigs", self.version("DescribeConfigs"), {
            "Resources": [{"ResourceType": 2, "ResourceName": name, "ConfigurationKeys": None}],
            "IncludeSynonyms": self.draw.random() < 0.5}, name)

    def describe_topic(self):
        name = self.name()
        if self.draw.random() < 0.5:
            self.ask("DescribeTopicPartitions", 0, {
                "Topics": [{"Name": name}], "ResponsePartitionLimit": self.draw.choice([1, 2, 100]),
                "Cursor": None}, name)
        else:
            self.ask("Metadata", self.version("Metadata", 4), {
                "Topics": [{"Name": name}], "AllowAutoTopicCreation": False}, name)

    # ---- records ----

    def records(self, producer, key, transactional):
        """A batch, mostly the next one in order, and what it is."""
        draw = self.draw
        count = draw.randint(1, 3)
        after = producer.next.get(key, 0)
        kind = draw.choice(["next"] * 8 + ["again", "gap", "zero", "old epoch", "new epoch"])
        sequence = {"again": max(0, after - 1), "gap": after + 2, "zero": 0}.get(kind, after)
        epoch = max(0, producer.epoch + {"old epoch": -1, "new epoch": 1}.get(kind, 0))
        if kind == "new epoch":
            sequence = draw.choice([0, after])
        values = [bytes([97 + draw.randrange(26)]) * draw.choice([1, 5, 60]) for _ in range(count)]
        attributes = 0x10 if transactional else 0
        return kbatch.batch(values, key=draw.choice([None, b"k", b"l"]), producer_id=producer.pid,
                            producer_epoch=epoch if producer.pid >= 0 else -1,
                            base_sequence=sequence if producer.pid >= 0 else -1,
                            timestamp=self.k.node.clock + draw.randrange(5) * 1000 - 10000,
                            attributes=attributes, codec=draw.choice([None, None, "gzip"])), \
            kind, sequence, count

    def produce(self):
        producer = self.draw.choice(self.producers)
        name = self.name()
        partition = self.partition(name)
        transactional = producer.tid is not None
        data, kind, sequence, count = self.records(producer, (name, partition), transactional)
        version = self.version_of(producer, "Produce", 12)
        body = {"TransactionalId": producer.tid if transactional else None,
                "Acks": self.draw.choice([-1, -1, 1]), "TimeoutMs": 20000, "TopicData": [
                    {"Name": name, "TopicId": self.id_of(name), "PartitionData": [
                        {"Index": partition, "Records": data}]}]}
        answer = self.steady("Produce", version, body,
                             f"{name}-{partition} {kind} {producer.tid} {sequence}+{count}")
        if not answer["Responses"]:
            return
        row = answer["Responses"][0]["PartitionResponses"][0]
        if row["ErrorCode"] == 0 and kind in ("next", "gap", "zero"):
            producer.next[name, partition] = sequence + count

    def init(self):
        producer = self.draw.choice(self.producers)
        keep = self.draw.random() < 0.4
        version = self.version("InitProducerId")
        body = init_of(producer.tid, self.draw.choice([60000, 60000, 900001, 0]),
                       producer.pid if keep else -1, producer.epoch if keep else -1, version)
        answer = self.steady("InitProducerId", version, body, f"{producer.tid} {keep}")
        if answer != "closed" and answer["ErrorCode"] == 0:
            producer.pid, producer.epoch = answer["ProducerId"], answer["ProducerEpoch"]
            producer.next.clear()
            if producer.tid:
                settle(self.k, producer.tid)

    def transactional(self):
        return self.draw.choice([p for p in self.producers if p.tid])

    def add(self):
        producer, name = self.producers[2], self.name()
        version = self.version("AddPartitionsToTxn", 0, 3)
        self.steady("AddPartitionsToTxn", version, add_of(
            producer.tid, producer.pid, self.epoch_of(producer),
            [(name, (self.partition(name),))], version), f"{producer.tid} {name}")

    def end(self):
        producer = self.transactional()
        version = self.version_of(producer, "EndTxn", 5)
        commit = self.draw.random() < 0.6
        answer = self.steady("EndTxn", version, end_of(
            producer.tid, producer.pid, self.epoch_of(producer),
            commit), f"{producer.tid} {commit}")
        if answer["ErrorCode"] == 0 and version >= 5 and answer["ProducerEpoch"] >= 0:
            if (answer["ProducerId"], answer["ProducerEpoch"]) != (producer.pid, producer.epoch):
                producer.next.clear()
            producer.pid, producer.epoch = answer["ProducerId"], answer["ProducerEpoch"]
        settle(self.k, producer.tid)
        time.sleep(0.02)

    def send_offsets(self):
        producer, group, name = self.transactional(), self.draw.choice(self.groups), self.name()
        if not producer.newest and self.draw.random() < 0.8:
            self.steady("AddOffsetsToTxn", self.version("AddOffsetsToTxn"), offsets_of(
                producer.tid, producer.pid, producer.epoch, group), f"{producer.tid} {group}")
        version = self.version_of(producer, "TxnOffsetCommit", 5)
        self.steady("TxnOffsetCommit", version, commit_of(
            producer.tid, producer.pid, self.epoch_of(producer), group,
            name, self.id_of(name), self.draw.randrange(100), self.partition(name)),
                    f"{producer.tid} {group} {name}")

    def describe_producers(self):
        name = self.name()
        partition = self.partition(name)
        answer = self.ask("DescribeProducers", 0, {"Topics": [
            {"Name": name, "PartitionIndexes": [partition]}]}, name, keep=False)
        for row in answer["Topics"][0]["Partitions"]:
            for active in row["ActiveProducers"]:
                active.pop("LastTimestamp")
        self.k.keep(f"DescribeProducers #{self.step} {name}-{partition}", answer)
        tids = [p.tid for p in self.producers if p.tid]
        answer = self.ask("DescribeTransactions", 0, {"TransactionalIds": tids}, keep=False)
        for row in answer["TransactionStates"]:
            row["TransactionStartTimeMs"] = row["TransactionStartTimeMs"] > 0
        self.k.keep(f"DescribeTransactions #{self.step}", answer)

    def fetch(self):
        name = self.name()
        offset = self.draw.choice([0, 0, 0, 1, 2, 5, 9, 1000, -1])
        version = self.version("Fetch")
        answer = self.ask("Fetch", version, {
            "MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": self.draw.choice([1 << 20, 1]),
            "IsolationLevel": self.draw.choice([0, 1]), "Topics": [
                {"Topic": name, "TopicId": self.id_of(name), "Partitions": [
                    {"Partition": self.partition(name), "FetchOffset": offset,
                     "CurrentLeaderEpoch": self.draw.choice([-1, -1, -1, 0, 1]),
                     "PartitionMaxBytes": self.draw.choice([1 << 20, 1])}]}]},
            keep=False)
        rows = answer if isinstance(answer, str) else [
            self.fetched(row) for topic in answer["Responses"] for row in topic["Partitions"]]
        self.k.keep(f"Fetch v{version} #{self.step} {name} {offset}",
                    {"rows": rows, "error": answer.get("ErrorCode", 0)
                     if isinstance(answer, dict) else 0})

    @staticmethod
    def fetched(row):
        """Without what time puts there. In Apache Kafka DeleteRecords may leave the last stable
        offset below the log's start until the next append; and it names aborted transactions up to
        the next entry of an index: those beyond the batches that came mean nothing."""
        batches = kbatch.parse(row["Records"] or b"")
        end = max((base + head["last_offset_delta"] for base, head, _ in batches), default=-1)
        return {**row, "LastStableOffset": max(row["LastStableOffset"],
                                               row.get("LogStartOffset", -1)), "Records": [
            (base, *(head[f] for f in ("attributes", "producer_epoch", "base_sequence", "count",
                                       "last_offset_delta", "crc_ok", "leader_epoch")))
            for base, head, _ in batches],
                "AbortedTransactions": sorted(a["FirstOffset"] for a in
                                              row["AbortedTransactions"] or ()
                                              if a["FirstOffset"] <= end)}

    def list_offsets(self):
        name = self.name()
        version, partition = self.version("ListOffsets"), self.partition(name)
        stamp = self.draw.choice([-1, -2, -1, -2, -3, -4, -5, -6, -7, self.k.node.clock - 8000,
                                  self.k.node.clock - 6500, 0])
        answer = self.ask("ListOffsets", version, {
            "ReplicaId": -1, "IsolationLevel": self.draw.choice([0, 1]), "Topics": [
                {"Name": name, "Partitions": [
                    {"PartitionIndex": partition, "Timestamp": stamp,
                     "CurrentLeaderEpoch": self.draw.choice([-1, -1, 0, 1])}]}]}, keep=False)
        for row in answer["Topics"][0]["Partitions"] if stamp == -1 else ():
            row["Offset"] = max(row["Offset"], self.starts.get((name, partition), -1))
        self.k.keep(f"ListOffsets v{version} #{self.step} {name} {stamp if stamp < 1 else 'time'}",
                    answer)

    def epoch_end(self):
        name = self.name()
        self.ask("OffsetForLeaderEpoch", self.version("OffsetForLeaderEpoch"), {
            "ReplicaId": -1, "Topics": [{"Topic": name, "Partitions": [
                {"Partition": self.partition(name),
                 "CurrentLeaderEpoch": self.draw.choice([-1, 0, 1]),
                 "LeaderEpoch": self.draw.choice([0, 0, 1, -1])}]}]}, name)

    def delete_records(self):
        if self.restarts:
            return  # killed, Apache Kafka forgets where the log was made to start
        name = self.name()
        partition, offset = self.partition(name), self.draw.choice([0, 1, 3, -1, 1000, -2])
        answer = self.ask("DeleteRecords", self.version("DeleteRecords"), {
            "Topics": [{"Name": name, "Partitions": [
                {"PartitionIndex": partition, "Offset": offset}]}],
            "TimeoutMs": 20000}, f"{name} {offset}")
        row = answer["Topics"][0]["Partitions"][0]
        if row["ErrorCode"] == 0:
            self.starts[name, partition] = row["LowWatermark"]

    # ---- offsets ----

    def commit(self):
        group, name = self.draw.choice(self.groups), self.name()
        self.steady("OffsetCommit", self.version("OffsetCommit"), {
            "GroupId": group, "GenerationIdOrMemberEpoch": self.draw.choice([-1] * 9 + [0, 1]),
            "MemberId": self.draw.choice(["", "", "", "m"]), "RetentionTimeMs": -1, "Topics": [
                {"Name": name, "TopicId": self.id_of(name), "Partitions": [
                    {"PartitionIndex": self.partition(name),
                     "CommittedOffset": self.draw.choice([0, 5, 7, 1000, -1, -5]),
                     "CommittedLeaderEpoch": self.draw.choice([-1, 0, 3]),
                     "CommittedMetadata": self.draw.choice(["", "m", None])}]}]}, f"{group} {name}")

    def fetch_offsets(self):
        group, name = self.draw.choice(self.groups), self.name()
        version = self.version("OffsetFetch")
        everything = version >= 2 and self.draw.random() < 0.5
        stable = self.draw.random() < 0.5
        if version < 8:
            body = {"GroupId": group, "RequireStable": stable, "Topics": None if everything else [
                {"Name": name, "PartitionIndexes": [0, 1]}]}
        else:
            body = {"RequireStable": stable, "Groups": [{"GroupId": group, "Topics": None
                    if everything else [{"Name": name, "TopicId": self.id_of(name),
                                         "PartitionIndexes": [0, 1]}]}]}
        self.ask("OffsetFetch", version, body, f"{group} {everything} {stable}")

    def delete_offsets(self):
        group, name = self.draw.choice(self.groups), self.name()
        self.ask("OffsetDelete", 0, {"GroupId": group, "Topics": [
            {"Name": name, "Partitions": [{"PartitionIndex": self.partition(name)}]}]},
                 f"{group} {name}")

    # ---- members: at most one in a group, for a second one waits for the first ----

    def join_group(self):
        group = self.draw.choice(self.groups)
        version = self.version("JoinGroup")
        known = self.members.get(group)
        instance = known[2] if known else \
            self.draw.choice([None, None, "i"]) if version >= 5 else None
        body = join(group, known[1] if known else "", self.draw.choice([
            [("range", b"\0\1")], [("range", b"\0\1"), ("sticky", b"\0\2")], [("other", b"")]]),
                    instance, session=self.draw.choice([30000, 30000, 30000, 1]), rebalance=30000)
        answer = self.ask("JoinGroup", version, body, f"{group} {known and known[0]}")
        if answer["ErrorCode"] == 79:
            body["MemberId"] = answer["MemberId"]
            answer = self.ask("JoinGroup", version, body, f"{group} again")
        if answer["ErrorCode"] == 0:
            self.members[group] = answer["GenerationId"], answer["MemberId"], instance

    def member(self, group):
        """Mostly the one that is there, at its generation."""
        generation, name, instance = self.members.get(group, (1, "nobody", None))
        return generation + self.draw.choice([0] * 9 + [1]), \
            self.draw.choice([name] * 9 + ["nobody"]), instance

    def sync_group(self):
        group = self.draw.choice(self.groups)
        generation, name, instance = self.member(group)
        version = self.version("SyncGroup")
        self.ask("SyncGroup", version, sync(
            group, generation, name, [(name, b"mine")], instance if version >= 3 else None,
            ProtocolType="consumer", ProtocolName="range"), group)

    def heartbeat(self):
        group = self.draw.choice(self.groups)
        generation, name, instance = self.member(group)
        version = self.version("Heartbeat")
        self.ask("Heartbeat", version, beat(group, generation, name,
                                            instance if version >= 3 else None), group)

    def leave_group(self):
        group = self.draw.choice(self.groups)
        _, name, instance = self.member(group)
        version = self.version("LeaveGroup")
        answer = self.ask("LeaveGroup", version, {
            "GroupId": group, "MemberId": name,
            "Members": [{"MemberId": name, "GroupInstanceId": instance}]}, group)
        if answer["ErrorCode"] == 0 and all(
                m["ErrorCode"] == 0 for m in answer.get("Members") or ()):
            self.members.pop(group, None)

    def commit_member(self):
        group, name = self.draw.choice(self.groups), self.name()
        generation, member, instance = self.member(group)
        version = self.version("OffsetCommit")
        self.steady("OffsetCommit", version, commit(
            group, generation, member, self.draw.randrange(100), (name, self.id_of(name)),
            self.partition(name), instance if version >= 7 else None), f"{group} member {name}")

    def delete_group(self):
        self.ask("DeleteGroups", self.version("DeleteGroups"),
                 {"GroupsNames": [self.draw.choice(self.groups)]})

    def describe_groups(self):
        self.ask("DescribeGroups", self.version("DescribeGroups"), {"Groups": self.groups})
        answer = self.ask("ListGroups", self.version("ListGroups"), {}, keep=False)
        self.k.keep(f"ListGroups #{self.step}", [g for g in answer["Groups"]
                                                 if g["GroupId"] in self.groups])

    ACTIONS = {create: 3, delete: 2, grow: 1, configure: 2, configure_all: 1, describe_configs: 1,
               describe_topic: 1, produce: 14, init: 4, add: 4, end: 5, send_offsets: 4,
               describe_producers: 4, fetch: 7, list_offsets: 6, epoch_end: 2, delete_records: 2,
               commit: 4, fetch_offsets: 4, delete_offsets: 1, delete_group: 1, describe_groups: 2,
               join_group: 3, sync_group: 3, heartbeat: 2, leave_group: 1, commit_member: 2}

    def begin(self):
        self.find()
        while not self.topics:
            self.create()
        for producer in self.producers:
            answer = self.steady("InitProducerId", 4, init_of(producer.tid), f"{producer.tid}")
            producer.pid, producer.epoch = answer["ProducerId"], answer["ProducerEpoch"]

    def find(self):
        """Waits until coordinators and leaders serve."""
        for group in self.groups:
            self.k.coordinator(group)
        for producer in self.producers:
            if producer.tid:
                self.k.ask("FindCoordinator", 4, {"KeyType": 1, "CoordinatorKeys": [producer.tid]},
                           keep=False)
        for name in sorted(self.topics):
            self.look(name)

    def go(self, steps):
        actions = [a for a in self.ACTIONS if not self.only or a.__name__ in self.only]
        weights = [self.ACTIONS[a] for a in actions]
        for _ in range(steps):
            self.step += 1
            self.draw.choices(actions, weights)[0](self)


def both(function, sides):
    """Runs it on each side, side by side; what breaks off is an answer, too."""
    def run(side):
        try:
            function(side.walk)
        except Exception:
            side.k.keep("the walk broke off", traceback.format_exc().splitlines()[-1])
            side.trace = traceback.format_exc()
    threads = [threading.Thread(target=run, args=(side,)) for side in sides if not side.trace]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class One:
    """One node's part in a walk."""

    def __init__(self, node, seed, attempt, restarts, only):
        self.node, self.k, self.trace = node, differ.Side(node), ""
        self.walk = Walk(self.k, seed, attempt, restarts, only)

    def hang_up(self):
        """The one waits for the other: Klamm closes who falls silent after AddOffsetsToTxn."""
        if self.k.open:
            self.k.open.close()
        self.k.open = None

    def restart(self, how):
        self.node.stop(how)
        self.node.start()


def walk(pair, seed, attempt, options):
    """One walk; in the middle of some both nodes are stopped or killed, and started again."""
    restarts = options.restarts and seed % options.restarts == 0
    sides = [One(node, seed, attempt, restarts, options.only) for node in pair]
    both(Walk.begin, sides)
    both(lambda w: w.go(options.steps // 2), sides)
    for side in sides:
        side.hang_up()
    if restarts:
        for side in sides:
            side.restart(signal.SIGKILL if seed // options.restarts % 2 else signal.SIGTERM)
        both(Walk.find, sides)
    both(lambda w: w.go(options.steps - options.steps // 2), sides)
    for side in sides:
        side.hang_up()
    return sides


def check(pair, seed, options):
    alike = False
    for attempt in range(ATTEMPTS):
        one, two = walk(pair, seed, attempt, options)
        alike = one.k.answers == two.k.answers and not one.trace
        if alike:
            break
        print(f"      walk {seed} differs")
        show(one, two, options.trace)
    nodes.check(f"walk {seed}: {len(one.k.answers)} answers alike", alike)


def show(one, two, trace):
    """The first answer that differs."""
    labels = list(one.k.answers)
    for label in labels + [l for l in two.k.answers if l not in one.k.answers]:
        rows = differ.compare({label: one.k.answers.get(label, "missing")},
                              {label: two.k.answers.get(label, "missing")})
        if not rows:
            continue
        for side in (one, two):
            known = list(side.k.answers)
            at = known.index(label) if label in known else len(known)
            print(f"      before it: {known[:at][-8:]}")
        if trace:
            for row in two.walk.asked:
                print("        ", *row)
            for known, answer in two.k.answers.items():
                print("        ", known, answer)
        for _, path, first, second in rows[:8]:
            print(f"      {label} {path}\n        apache {str(first)[:300]!r}\n"
                  f"        klamm  {str(second)[:300]!r}")
        break
    for side in (one, two):
        if side.trace:
            print(side.trace)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--walks", type=int, default=30)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--restarts", type=int, default=15, help="one in so many walks; 0 none")
    parser.add_argument("--only")
    parser.add_argument("--trace", action="store_true", help="all that was asked before")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else None
    pair = [nodes.Apache(), nodes.Klamm()]
    clock = int(time.time() * 1000)
    try:
        for node in pair:
            node.clock = clock
            node.start()
        for seed in range(options.first_seed, options.first_seed + options.walks):
            check(pair, seed, options)
    finally:
        for node in pair:
            node.clean()
    nodes.finish()


main()
