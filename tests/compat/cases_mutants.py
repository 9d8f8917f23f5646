"""Damaged requests of every API and version, the same to both brokers: answered or closed alike?

Each frame comes by a connection of its own. What is kept of an answer: its error codes, and for
damage that only the decoder sees also whether there was one. A request that waits (for records, for
a rebalance) is looked at again when all are sent.
"""
import json
import random
import selectors
import struct
import time

import kwire
from differences import LATER
from shapes import Shapes, mutate

FRAMES = 12          # of each version of each API
WAIT_S = 0.25        # then the next frame goes out
LAST_WAIT_S = 3
INTACT = 6           # each sixth frame is not damaged
NOBODIES = ["22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"]
NAMES = {key: name for name, (key, _, _) in kwire.APIS.items()}


def served(k, port=None):
    """[(API, low, high)] as the broker says."""
    listed = k.ask("ApiVersions", 3, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1"},
                   keep=False, port=port)["ApiKeys"]
    return sorted((NAMES[row["ApiKey"]], row["MinVersion"], row["MaxVersion"]) for row in listed
                  if row["ApiKey"] in NAMES and row["ApiKey"] not in LATER)


def error_codes(value):
    """Every error code of an answer, in order of the code."""
    if isinstance(value, dict):
        own = [v for f, v in value.items() if f.endswith("ErrorCode") and isinstance(v, int)]
        return sorted(set(own).union(*(error_codes(v) for v in value.values())))
    if isinstance(value, list):
        return sorted(set().union(*(error_codes(v) for v in value)))
    return []


def judged(frame, data):
    """What is kept of an answer to a frame."""
    key, version = struct.unpack_from(">hh", frame)
    name = NAMES.get(key)
    if name is None:
        return "answered"
    m, r = kwire.message(name + "Response"), kwire.Reader(data, 4)
    try:
        if name != "ApiVersions" and kwire.within(version, m.flexible):
            for _ in range(r.uvarint()):
                r.uvarint()
                r.take(r.uvarint())
        body = data[r.at:]
        if name == "ApiVersions" and body[:2] == b"\0\x23":
            version = 0
        return "answered " + str(error_codes(kwire.decode(name + "Response", version, body)))
    except (kwire.Malformed, struct.error, IndexError) as e:
        return f"malformed: {e}"


class Waiting:
    """Connections whose answer has not come yet."""

    def __init__(self):
        self.selector, self.parts = selectors.DefaultSelector(), {}

    def add(self, c, label, frame):
        self.parts[c.sock] = (label, frame, bytearray())
        self.selector.register(c.sock, selectors.EVENT_READ)

    def collect(self, seconds, only=None):
        """{label: what came}; until `only` has come, or every one."""
        found, end = {}, time.monotonic() + seconds
        while self.parts and (only is None or only in self.parts):
            left = end - time.monotonic()
            if left <= 0:
                break
            for key, _ in self.selector.select(left):
                label, frame, data = self.parts[key.fileobj]
                try:
                    more = key.fileobj.recv(1 << 16)
                except ConnectionError:
                    more = b""
                data += more
                whole = len(data) >= 4 and len(data) - 4 >= struct.unpack_from(">i", data)[0]
                if whole:
                    found[label] = judged(frame, bytes(data[4:]))
                elif not more:
                    found[label] = "closed"
                else:
                    continue
                self.drop(key.fileobj)
        return found

    def drop(self, sock):
        del self.parts[sock]
        self.selector.unregister(sock)
        sock.close()

    def end(self):
        """[(label, frame)] of those without an answer."""
        rest = [(label, frame) for label, frame, _ in self.parts.values()]
        for sock in list(self.parts):
            self.drop(sock)
        return rest


# What would end a broker, or make answers a matter of time. Damage undoes it only sometimes.
PATIENT = {"TimeoutMs": 20000, "timeoutMs": 20000}
FIXED = {
    "AlterPartitionReassignments": PATIENT, "CreatePartitions": {**PATIENT, "ValidateOnly": True},
    "CreateTopics": {**PATIENT, "validateOnly": True}, "ElectLeaders": PATIENT,
    "DeleteRecords": PATIENT, "ListPartitionReassignments": PATIENT,
    "DeleteTopics": {**PATIENT, "TopicNames": ["nobody"], "Topics": [{"Name": "nobody"}]},
    "Metadata": {"AllowAutoTopicCreation": False}, "UpdateFeatures": {"ValidateOnly": True},
}
# What nodes say among themselves: damaged, it makes Apache Kafka's controller give up its lead.
AMONG_NODES = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch", "FetchSnapshot", "Envelope",
               "UpdateRaftVoter", "ControllerRegistration", "BrokerRegistration", "AlterPartition",
               "BrokerHeartbeat", "AssignReplicasToDirs", "AllocateProducerIds",
               "UnregisterBroker", "UpdateFeatures")


def kept(name, result):
    """Metadata creates topics, which are known at once or only by the next request."""
    if name != "Metadata" or not result.startswith("answered ["):
        return result
    codes = json.loads(result.removeprefix("answered "))
    return f"answered {sorted({0 if code == 3 else code for code in codes})}"


def play(k, seed, frames):
    """Sends `frames` damaged requests of each version and keeps what becomes of each."""
    k.coordinator("g1")
    while k.ask("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1},
                keep=False)["ErrorCode"]:
        pass  # Apache Kafka answers COORDINATOR_LOAD_IN_PROGRESS at first
    k.ask("FindCoordinator", 4, {"KeyType": 1, "CoordinatorKeys": ["t"]}, keep=False)
    for number in range(40):  # so that every partition of the coordinator is loaded
        for _ in range(500):
            if k.ask("InitProducerId", 4, {
                    "TransactionalId": f"warm-{number}", "TransactionTimeoutMs": 1000},
                    keep=False)["ErrorCode"] not in (14, 15, 16):
                break
            time.sleep(0.01)
    real = k.create("mine", partitions=2) + k.create("other")
    shapes = Shapes(None, real, k.node.clock)
    waiting, results = Waiting(), {}
    for port, what in ((k.node.port, ""), (k.node.controller_port, "controller ")):
        for name, low, high in served(k, port):
            if what and name in AMONG_NODES:
                continue
            low = max(low, kwire.APIS[name][1])
            for version in range(low, high + 1):
                if name == "Metadata" and version == 4:
                    time.sleep(1)  # what older versions asked to create is there
                for number in range(frames if not what else max(1, frames // 4)):
                    label = f"{what}{name} v{version} #{number}"
                    shapes.rng = rng = random.Random(f"{seed} {label}")
                    # Damage may make a length of an id's bytes: then they must be the same to both.
                    shapes.topic_ids = NOBODIES if number % INTACT else real
                    frame = shapes.request(name, version, FIXED.get(name))
                    if number % INTACT:
                        frame = mutate(rng, frame)
                    c = k.connect(port)
                    c.send_frame(frame)
                    sock = c.sock
                    waiting.add(c, label, frame)
                    results.update(waiting.collect(WAIT_S, only=sock))
    results.update(waiting.collect(LAST_WAIT_S))
    rest = waiting.end()
    results.update((label, "no answer") for label, _ in rest)
    for label, frame in rest:
        # It forgets to answer, one time in many; Klamm never may.
        if k.node.kind == "apache" and label.startswith("WriteTxnMarkers"):
            c = k.connect(k.node.port)
            c.send_frame(frame)
            waiting.add(c, label, frame)
    results.update(waiting.collect(LAST_WAIT_S))
    waiting.end()
    for label in sorted(results):
        k.keep(label, kept(label.removeprefix("controller ").split(" ")[0], results[label]))


def mutants(k):
    play(k, 20261130, FRAMES)


CASES = [mutants]
