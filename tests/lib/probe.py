"""A node under test by raw requests: what the tests by raw requests share.

    t = Probe(node); t.create("topic"); t.produce("topic", kbatch.batch([b"v"])); t.fetch("topic", 0)
"""
import os
import time

import kbatch
import kwire
from nodes import Apache, Klamm

NOBODY = "11111111-1111-4111-8111-111111111111"
LOADING = (14, 15, 16)  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR


def node_under_test(**properties):
    """Klamm, or with NODE=apache Apache Kafka 4.4.0, which must pass every such test as well."""
    kind = Apache if os.environ.get("NODE") == "apache" else Klamm
    return kind(**properties)


class Probe:
    """One connection and shorthands. Requests about one partition answer that partition's part."""

    def __init__(self, node):
        self.node, self.c, self.ids = node, kwire.Connection("127.0.0.1", node.port), {}

    def connect(self):
        return kwire.Connection("127.0.0.1", self.node.port)

    def reconnect(self):
        self.c.close()
        self.c = self.connect()

    def call(self, api, version, values):
        return self.c.call(api, version, values)

    def create(self, name, partitions=1, **configs):
        """Makes a topic and waits until its first partition is led; answers the topic's id."""
        self.call("CreateTopics", 7, {"Topics": [{
            "Name": name, "NumPartitions": partitions, "ReplicationFactor": 1,
            "Configs": [{"Name": k.replace("_", "."), "Value": v} for k, v in configs.items()]}]})
        for _ in range(200):
            topic = self.call("Metadata", 12, {"Topics": [{"Name": name}]})["Topics"][0]
            if topic["ErrorCode"] == 0 and not self.end(name)[0]:
                break
            time.sleep(0.02)
        self.ids[name] = topic["TopicId"]
        return topic["TopicId"]

    def produce(self, name, records, version=9, acks=-1, partition=0, transactional_id=None):
        answer = self.call("Produce", version, {
            "TransactionalId": transactional_id, "Acks": acks, "TimeoutMs": 5000, "TopicData": [
                {"Name": name, "TopicId": self.ids.get(name, NOBODY), "PartitionData": [
                    {"Index": partition, "Records": records}]}]})
        return answer["Responses"][0]["PartitionResponses"][0]

    def fetch(self, name, offset, version=12, partition=0, **more):
        limits = {k: more.pop(k) for k in ("PartitionMaxBytes",) if k in more}
        body = {"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [
            {"Topic": name, "TopicId": self.ids.get(name, NOBODY), "Partitions": [
                {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20,
                 **limits}]}], **more}
        return self.call("Fetch", version, body)["Responses"][0]["Partitions"][0]

    def batches(self, name, offset=0, partition=0, **more):
        """[(base offset, head, record bytes)] of all that is readable from an offset on."""
        found = []
        while True:
            part = self.fetch(name, offset, partition=partition, **more)
            got = kbatch.parse(part["Records"] or b"")
            if not got:
                return found
            found += got
            offset = got[-1][0] + got[-1][1]["last_offset_delta"] + 1

    def offset(self, name, timestamp, version=11, isolation=0, partition=0):
        answer = self.call("ListOffsets", version, {
            "ReplicaId": -1, "IsolationLevel": isolation, "Topics": [
                {"Name": name, "Partitions": [{"PartitionIndex": partition,
                                               "Timestamp": timestamp}]}]})
        return answer["Topics"][0]["Partitions"][0]

    def end(self, name):
        part = self.offset(name, -1)
        return part["ErrorCode"], part["Offset"]

    def coordinated(self, key, kind=0):
        """Waits until the coordinator of a group (0) or of a transactional id (1) has loaded."""
        for _ in range(400):
            found = self.call("FindCoordinator", 4, {"KeyType": kind, "CoordinatorKeys": [key]})
            if found["Coordinators"][0]["ErrorCode"] == 0:
                if kind == 0:
                    rows = self.call("DescribeGroups", 5, {"Groups": [key]})["Groups"]
                else:
                    rows = self.call("DescribeTransactions", 0, {"TransactionalIds": [key]})[
                        "TransactionStates"]
                if rows[0]["ErrorCode"] not in LOADING:
                    return
            time.sleep(0.02)
