"""Transactions that are under way when a data folder moves: begun by one implementation, ended by
the other. Used by takeover.py."""
import sys
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/lib")
import txns  # noqa: E402
from nodes import check  # noqa: E402
from probe import Probe  # noqa: E402

PREPARE_COMMIT, PREPARE_ABORT = 2, 3


class Underway:
    """Open ones of new and old clients, and ones whose coordinator fell between two writes."""

    def __init__(self, node):
        self.by, self.probe = node.kind, Probe(node)
        self.group, self.open, self.prepared = f"underway-{node.kind}", [], []
        self.ended = txns.Txn(self.probe, f"{node.kind}-ended")
        t = self.probe
        t.coordinated("any", 1)
        t.coordinated(self.group)
        self.ended.init()
        t.create(self.ended.name)
        self.ended.send(self.ended.name, [b"1"])
        self.before = self.ended.clone()
        self.ended.end(True)
        self.ended.settled()
        for old in (False, True):
            for commit in (True, False):
                p = self.begin(f"{node.kind}-{'old' if old else 'new'}-{commit}", old)
                self.open.append((p, commit))
        # A stop in order writes nothing more of them; what it cannot leave behind is planted.
        for state, commit in ((PREPARE_COMMIT, True), (PREPARE_ABORT, False)):
            p = self.begin(f"{node.kind}-prepared-{commit}", False)
            parts = [(x["Topic"], x["Partitions"]) for x in p.describe()["Topics"]]
            code = txns.plant(t, p.name, ProducerId=p.pid, ProducerEpoch=p.epoch + 1,
                              PreviousProducerId=p.pid, TransactionStatus=state,
                              TransactionPartitions=parts)
            check(f"{node.kind}: {p.name} is planted", code == 0, code)
            p.epoch, p.sequences = p.epoch + 1, {}  # what the answer would have said
            self.prepared.append((p, commit))

    def begin(self, name, old):
        self.probe.create(name)
        p = txns.Txn(self.probe, name, timeout_ms=900000, old=old)
        p.init()
        p.send(name, [b"1", b"2"])
        p.commit_offset(self.group, name, 5)
        return p

    def finish(self, node):
        """On the implementation that took over."""
        t = Probe(node)
        for p in [self.ended, self.before, *(p for p, _ in self.open + self.prepared)]:
            p.t = t
            t.ids = self.probe.ids
            t.coordinated(p.name, 1)
        t.coordinated(self.group)
        what = f"{node.kind} ends what {self.by} began"
        answer = self.before.end(True)
        check(f"{what}: a commit that was answered, asked again", (
            answer["ErrorCode"], answer.get("ProducerEpoch")) == (0, 1), answer)
        row = self.ended.describe()
        check(f"{what}: its state", (row["TransactionState"], row["ProducerId"],
                                     row["ProducerEpoch"]) ==
              ("CompleteCommit", self.ended.pid, 1), row)
        for p, _ in self.open:
            row = p.describe()
            topics = sorted((x["Topic"], len(x["Partitions"])) for x in row["Topics"])
            check(f"{what}: {p.name} is open", (
                row["TransactionState"], row["ProducerId"], row["ProducerEpoch"],
                row["TransactionTimeoutMs"], topics) == (
                    "Ongoing", p.pid, 0, 900000,
                    sorted([("__consumer_offsets", 1), (p.name, 1)])), row)
            check(f"{what}: {p.name} goes on", p.send(p.name, [b"3"])["ErrorCode"] == 0)
        for p, commit in self.open:
            check(f"{what}: {p.name}", p.end(commit)["ErrorCode"] == 0)
        for p, commit in self.open + self.prepared:
            row = p.settled()
            if node.kind == "apache" and (p, commit) in self.prepared:
                self.add_markers(p, commit, row)
            want = ([b"1", b"2", b"3"] if (p, commit) in self.open else [b"1", b"2"]) if commit else []
            seen = until(lambda x=p, w=want: txns.read(t, x.name) == w and t.offset(
                x.name, -1, isolation=1)["Offset"] == t.end(x.name)[1])
            check(f"{what}: {p.name} is read as it ended", seen, txns.read(t, p.name))
            at = until(lambda x=p, c=commit: txns.committed_offset(
                t, self.group, x.name, stable=True) == (0, 5 if c else -1))
            check(f"{what}: offsets of {p.name}", at,
                  txns.committed_offset(t, self.group, p.name, stable=True))
            again = p.send(p.name, [b"4"])["ErrorCode"], p.end(True)["ErrorCode"]
            check(f"{what}: {p.name} is used again", again == (0, 0), again)
        fresh = txns.Txn(t, f"{node.kind}-after-{self.by}").init()["ProducerId"]
        check(f"{what}: new producer ids are new", fresh > max(
            p.pid for p, _ in self.open + self.prepared), fresh)

    def add_markers(self, p, commit, row):
        """Apache Kafka skips the marker of a partition whose leader it does not know, which happens
        at its start when that takes long, as after a kill: it completes the transaction and the
        partition hangs until somebody writes the marker. The folder must hold all that takes it."""
        complete = "CompleteCommit" if commit else "CompleteAbort"
        if row["TransactionState"] != complete or until(lambda: self.is_stable(p), 5):
            return
        count = len(p.t.call("Metadata", 12, {"Topics": [{"Name": "__consumer_offsets"}]})[
            "Topics"][0]["Partitions"])
        for topic, partition in ((p.name, 0), ("__consumer_offsets",
                                               abs(txns.java_hash(self.group)) % count)):
            code = txns.write_marker(p.t, p.pid, p.epoch, commit, topic, partition)
            check(f"the marker that Apache Kafka left out of {topic} is taken", code == 0, code)

    @staticmethod
    def is_stable(p):
        return p.t.offset(p.name, -1, isolation=1)["Offset"] == p.t.end(p.name)[1]


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False
