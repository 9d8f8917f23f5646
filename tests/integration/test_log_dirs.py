#!/usr/bin/env python3
"""Several log folders: where replicas are, moving them (AlterReplicaLogDirs), folders that fail.
NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well; what only Klamm promises
stands under `ours`."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import CLUSTER_ID, check, run_parts, tree  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402

OURS = os.environ.get("NODE") != "apache"
LIMIT = "replica.alter.log.dirs.io.max.bytes.per.second"
FAST = str(2 ** 62)


class Folders:
    """A node over several folders, and what they hold."""

    def __init__(self, count, **properties):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="klamm-dirs-"))
        self.paths = [os.path.join(self.root, "abcdef"[i]) for i in range(count)]
        # Three small windows: what was moved is forgotten by the quota after three seconds.
        properties.setdefault("alter__log__dirs__replication__quota__window__num", 3)
        self.node = node_under_test(data=",".join(self.paths), **properties)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.node.clean()
        if not os.environ.get("KEEP"):
            shutil.rmtree(self.root, ignore_errors=True)

    def start(self):
        self.node.start()
        self.t = Probe(self.node)
        # Listening is not ready: the partitions come with the first image.
        for _ in range(300):
            if self.t.call("DescribeLogDirs", 4, {"Topics": None})["Results"]:
                break
            time.sleep(0.05)

    def restart(self, sig=signal.SIGTERM):
        self.node.stop(sig)
        self.start()

    def names(self, index, start):
        return sorted(n for n in os.listdir(self.paths[index]) if n.startswith(start))

    def describe(self, topic=None):
        """[(folder's letter, partition, is future, size, lag)] of a topic."""
        found = []
        for result in self.t.call("DescribeLogDirs", 4, {"Topics": None})["Results"]:
            for t in result["Topics"]:
                if t["Name"] == topic:
                    found += [(result["LogDir"][-1], p["PartitionIndex"], p["IsFutureKey"],
                               p["PartitionSize"], p["OffsetLag"]) for p in t["Partitions"]]
        return sorted(found)

    def where(self, topic):
        return [(letter, partition, future)
                for letter, partition, future, _, _ in self.describe(topic)]

    def move(self, topic, path, partitions=(0,)):
        answer = self.t.call("AlterReplicaLogDirs", 2, {"Dirs": [
            {"Path": path, "Topics": [{"Name": topic, "Partitions": list(partitions)}]}]})
        return [p["ErrorCode"] for r in answer["Results"] for p in r["Partitions"]]

    def limit(self, rate):
        self.t.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": 4, "ResourceName": "", "Configs": [
                {"Name": LIMIT, "ConfigOperation": 0, "Value": rate}]}]})
        time.sleep(0.3)

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.05)
        return False

    def fill(self, topic, batches=60, size=20000, first=0):
        for i in range(batches):
            self.t.produce(topic, kbatch.batch([b"%06d" % (first + i) + bytes(size)]))

    def bytes_of(self, topic):
        return self.t.batches(topic)


def other(f, topic):
    """Letter and index of where a topic's partition 0 is, and a path where it is not."""
    letter = f.where(topic)[0][0]
    index = "abcdef".index(letter)
    return letter, index, f.paths[1 - index] if index < 2 else f.paths[0]


def moving():
    with Folders(2) as f:
        t = f.t
        t.create("whole", segment_bytes="1048576", file_delete_delay_ms="1000")
        f.fill("whole", 120)
        before = f.bytes_of("whole")
        letter, index, path = other(f, "whole")
        f.limit("100000")
        check("a move is accepted", f.move("whole", path) == [0])
        seen = f.describe("whole")
        check("the future replica is described beside the current one",
              len(seen) == 2 and sorted(s[2] for s in seen) == [False, True], seen)
        future = next((s for s in seen if s[2]), None)
        check("its lag is what is missing", future and 0 < future[4] <= 120 and
              future[0] == path[-1], seen)
        check("its folder ends in -future", len(f.names(1 - index, "whole-0.")) == 1 and
              f.names(1 - index, "whole-0.")[0].endswith("-future"), f.names(1 - index, "whole"))
        check("the same request again changes nothing",
              f.move("whole", path) == [0] and len(f.describe("whole")) == 2)
        f.fill("whole", 5, first=120)
        check("it is filled at the rate", f.describe("whole")[0][2] or
              f.wait(lambda: next(s[4] for s in f.describe("whole") if s[2]) < 125, 10))
        f.limit(FAST)
        check("it takes the place", f.wait(lambda: f.where("whole") == [(path[-1], 0, False)]),
              f.where("whole"))
        after = f.bytes_of("whole")
        check("the same batches at the same offsets", after[:120] == before and len(after) == 125)
        check("the old folder is set aside", all(
            n.endswith("-delete") for n in f.names(index, "whole-0")), f.names(index, "whole-0"))
        if OURS:  # Apache Kafka goes by the broker's log.segment.delete.delay.ms
            check("and removed", f.wait(lambda: not f.names(index, "whole-0"), 10))
        f.fill("whole", 1, first=125)
        f.restart()
        check("after a restart it is where it was moved to",
              f.wait(lambda: f.where("whole") == [(path[-1], 0, False)]), f.where("whole"))
        check("with everything", f.wait(lambda: len(f.bytes_of("whole")) == 126) and
              f.bytes_of("whole")[:125] == after)
        f.restart(signal.SIGKILL)
        check("and after kill -9", f.wait(lambda: f.t.end("whole")[1] == 126) and
              f.where("whole") == [(path[-1], 0, False)])


def producers():
    """An idempotent producer writes on through the move."""
    with Folders(2) as f:
        t = f.t
        t.create("seq")
        pid = t.call("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 60000,
                                           "ProducerId": -1, "ProducerEpoch": -1})
        def send(sequence):
            return t.produce("seq", kbatch.batch(
                [b"v" * 5000], producer_id=pid["ProducerId"],
                producer_epoch=pid["ProducerEpoch"], base_sequence=sequence))
        for i in range(20):
            send(i)
        _, _, path = other(f, "seq")
        f.limit("50000")
        f.move("seq", path)
        codes = [send(20 + i)["ErrorCode"] for i in range(20)]
        f.limit(FAST)
        sequence = 40
        end = time.monotonic() + 20
        while time.monotonic() < end and f.where("seq") != [(path[-1], 0, False)]:
            codes.append(send(sequence)["ErrorCode"])
            sequence += 1
        codes += [send(sequence + i)["ErrorCode"] for i in range(5)]
        sequence += 5
        check("appends go on while a replica moves", set(codes) == {0}, codes)
        check("it has moved", f.where("seq") == [(path[-1], 0, False)], f.where("seq"))
        check("a repeated batch is known as one", send(sequence - 1)["BaseOffset"] == sequence - 1)
        check("a gap is refused", send(sequence + 7)["ErrorCode"] == 45)
        got = f.bytes_of("seq")
        check("nothing twice, nothing missing", [b[0] for b in got] == list(range(sequence)))


def cancelling():
    with Folders(3) as f:
        t = f.t
        t.create("c")
        f.fill("c", 40)
        letter, index, path = other(f, "c")
        third = next(p for p in f.paths if p != path and p[-1] != letter)
        f.limit("50000")
        f.move("c", path)
        check("a request to another folder replaces the first",
              f.move("c", third) == [0] and
              f.where("c") == sorted([(letter, 0, False), (third[-1], 0, True)]), f.where("c"))
        check("a request to the folder where it is cancels",
              f.move("c", f.paths[index]) == [0] and f.where("c") == [(letter, 0, False)],
              f.where("c"))
        check("no future is left", f.wait(lambda: not any(  # but for a piece that is being copied
            n.endswith("-future") for i in range(3) for n in f.names(i, "c-0"))))
        f.move("c", path)
        t.call("DeleteTopics", 4, {"TopicNames": ["c"], "TimeoutMs": 5000})
        check("a topic that is deleted takes its future along", f.wait(
            lambda: not any(n == "c-0" or n.endswith("-future") for i in range(3)
                            for n in f.names(i, "c-0"))) and not f.where("c"))
        t.create("c")
        check("and can be made again", t.produce("c", kbatch.batch([b"v"]))["BaseOffset"] == 0)
        if OURS:
            f.limit(FAST)
            check("and moved", f.move("c", path if f.where("c")[0][0] != path[-1] else third) == [0]
                  and f.wait(lambda: len(f.where("c")) == 1))


def answers():
    with Folders(2) as f:
        t = f.t
        t.create("a", 4)
        check("an unknown folder: LOG_DIR_NOT_FOUND", f.move("a", "/nowhere") == [57])
        check("an unknown topic: UNKNOWN_TOPIC_OR_PARTITION", f.move("no", f.paths[0]) == [3])
        check("an unknown partition likewise", f.move("a", f.paths[0], (7,)) == [3])
        spread = sorted(s[0] for s in f.where("a"))
        check("new partitions go where there are fewest", spread == ["a", "a", "b", "b"], spread)
        check("a folder that was asked for is remembered for a topic to come",
              f.move("later", f.paths[1], (0, 1, 2)) == [3, 3, 3])
        t.create("later", 3)
        check("and used", f.wait(lambda: [s[0] for s in f.where("later")] == ["b", "b", "b"]),
              f.where("later"))


def crashes():
    with Folders(2) as f:
        t = f.t
        t.create("k", segment_bytes="1048576")
        f.fill("k", 80)
        before = f.bytes_of("k")
        letter, index, path = other(f, "k")
        f.limit("100000")
        f.move("k", path)
        time.sleep(0.5)
        f.restart(signal.SIGKILL)
        if not OURS:
            return  # it comes back with an empty replica: COMPATIBILITY.md
        check("a start goes on with the future that it finds",
              f.wait(lambda: f.where("k") == sorted([(letter, 0, False), (path[-1], 0, True)])),
              f.where("k"))
        f.limit(FAST)
        check("it takes the place after kill -9",
              f.wait(lambda: f.where("k") == [(path[-1], 0, False)]), f.where("k"))
        after = f.bytes_of("k")
        check("whole", after == before, (len(after), len(before), f.describe("k"), f.t.end("k")))
        for i in range(12):
            # Somewhere in the midst of copying, telling and renaming.
            letter, index, path = other(f, "k")
            f.move("k", path)
            time.sleep(0.002 * i)
            f.fill("k", 1, first=80 + i)
            f.restart(signal.SIGKILL)
            check(f"kill -9 {2 * i} ms into a move: everything is there", f.wait(
                lambda: len(f.bytes_of("k")) == 81 + i) and f.bytes_of("k")[:80] == before,
                (len(f.bytes_of("k")), f.where("k")))
            check("and the move ends", f.wait(lambda: f.where("k") == [(path[-1], 0, False)]),
                  f.where("k"))


def state_of(f, topic, partition):
    """(leader, offline replicas, Metadata's error, code of Produce, code of ListOffsets)."""
    t = f.t.call("Metadata", 12, {"Topics": [{"Name": topic}], "AllowAutoTopicCreation": False})[
        "Topics"][0]
    p = next(p for p in t["Partitions"] if p["PartitionIndex"] == partition)
    return (p["LeaderId"], p["OfflineReplicas"], p["ErrorCode"],
            f.t.produce(topic, kbatch.batch([b"v"]), partition=partition)["ErrorCode"],
            f.t.offset(topic, -1, partition=partition)["ErrorCode"])


def folder_errors(f):
    return {r["LogDir"][-1]: r["ErrorCode"]
            for r in f.t.call("DescribeLogDirs", 4, {"Topics": None})["Results"]}


def offline_checks(f, when, spread, code, moved):
    """Folder b is offline; `spread`: partition -> folder of topic s; `code`: what requests for a
    partition there get, `moved`: what moving it gets."""
    check(f"{when}: DescribeLogDirs tells of both folders", folder_errors(f) == {"a": 0, "b": 56},
          folder_errors(f))
    lost = next(p for p, letter in spread.items() if letter == "b")
    live = next(p for p, letter in spread.items() if letter == "a")
    gone = (-1, [1], 5)
    check(f"{when}: a partition there has no leader, its replica is offline",
          f.wait(lambda: state_of(f, "s", lost)[:3] == gone), state_of(f, "s", lost))
    check(f"{when}: requests for it get {code}", state_of(f, "s", lost)[3:] == (code, code),
          state_of(f, "s", lost))
    check(f"{when}: the others work", f.wait(
        lambda: state_of(f, "s", live) == (1, [], 0, 0, 0)), state_of(f, "s", live))
    check(f"{when}: no replica moves there", f.move("s", f.paths[1], (live,)) == [56],
          f.move("s", f.paths[1], (live,)))
    check(f"{when}: nor away from there", f.move("s", f.paths[0], (lost,)) == [moved],
          f.move("s", f.paths[0], (lost,)))
    name = "n" + when.split()[0]
    f.t.create(name, 4)
    check(f"{when}: new partitions go to the other folder",
          f.wait(lambda: [w[0] for w in f.where(name)] == ["a"] * 4), f.where(name))


def offline():
    with Folders(2, replica__high__watermark__checkpoint__interval__ms=500) as f:
        f.t.create("s", 4)
        for p in range(4):
            f.t.produce("s", kbatch.batch([b"%d" % p]), partition=p)
        spread = {p: letter for letter, p, _ in f.where("s")}
        ends = {p: f.t.offset("s", -1, partition=p)["Offset"] for p in range(4)}
        os.rename(f.paths[1], f.paths[1] + ".away")
        f.t.produce("s", kbatch.batch([b"v"]), partition=next(
            p for p, letter in spread.items() if letter == "b"))
        check("a folder that is gone goes offline",
              f.wait(lambda: folder_errors(f).get("b") == 56), folder_errors(f))
        check("the log says why", "(write checkpoint: No such file or directory)" in f.node.log(),
              f.node.log()[-2000:])
        offline_checks(f, "running", spread, 56, 56)
        f.node.stop()
        with open(f.paths[1], "w", encoding="ascii") as out:
            out.write("no folder\n")
        f.start()
        offline_checks(f, "started without it", spread, 6, 9)
        f.node.stop()
        os.unlink(f.paths[1])
        os.rename(f.paths[1] + ".away", f.paths[1])
        f.start()
        check("a folder that is back after a start is as before", f.wait(
            lambda: folder_errors(f) == {"a": 0, "b": 0}), folder_errors(f))
        for p in range(4):
            check(f"partition {p} is in its folder, whole", f.wait(
                lambda: state_of(f, "s", p)[:3] == (1, [], 0)) and
                {w[1]: w[0] for w in f.where("s")}[p] == spread[p] and
                f.t.offset("s", -1, partition=p)["Offset"] >= ends[p], f.where("s"))


def twice():
    with Folders(2) as f:
        f.t.create("d")
        f.t.produce("d", kbatch.batch([b"v"]))
        letter, index, path = other(f, "d")
        f.node.stop()
        shutil.copytree(os.path.join(f.paths[index], "d-0"), os.path.join(path, "d-0"))
        try:
            f.node.start(20)
            f.node.process.wait(20)
            started = True
        except (RuntimeError, TimeoutError):
            started = False
        except Exception:  # noqa: BLE001 it runs on
            started = True
        ended = f.node.process and f.node.process.poll() is not None
        check("a partition in two folders stops the start", not started or ended, f.node.log()[-800:])
        f.node.kill()
        shutil.rmtree(os.path.join(path, "d-0"))
        f.start()
        check("without the second one it goes on", f.wait(lambda: f.t.end("d") == (0, 1)),
              f.t.end("d"))


def folders_of_all_kinds():
    """metadata.log.dir elsewhere, and log.dirs above log.dir."""
    root = os.path.realpath(tempfile.mkdtemp(prefix="klamm-dirs-"))
    try:
        node = node_under_test(data=os.path.join(root, "x") + "," + os.path.join(root, "y"),
                               metadata__log__dir=os.path.join(root, "meta"),
                               log__dir=os.path.join(root, "unused"))
        with node:
            t = Probe(node)
            t.create("m", 2)
            found = [r["LogDir"] for r in t.call("DescribeLogDirs", 4, {"Topics": None})["Results"]]
            check("the metadata folder is none of the log folders, log.dirs is above log.dir",
                  sorted(found) == [os.path.join(root, "x"), os.path.join(root, "y")], found)
            check("the metadata log is there", os.path.isdir(
                os.path.join(root, "meta", "__cluster_metadata-0")) and not os.path.exists(
                    os.path.join(root, "x", "__cluster_metadata-0")))
            check("each folder got a partition", [sorted(
                n for n in os.listdir(os.path.join(root, d)) if n.startswith("m-")).__len__()
                for d in "xy"] == [1, 1])
            check("log.dir is not used", not os.path.exists(os.path.join(root, "unused")))
        node = node_under_test(data=os.path.join(root, "one"))
        node.properties["log.dir"] = node.properties.pop("log.dirs")
        with node:
            t = Probe(node)
            t.create("o")
            check("log.dir alone counts", os.path.isdir(os.path.join(root, "one", "o-0")))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def spelled():
    """log.dirs with slashes at the end: folders are told, and named by clients, without them."""
    root = os.path.realpath(tempfile.mkdtemp(prefix="klamm-dirs-"))
    x, y = os.path.join(root, "x"), os.path.join(root, "y")
    try:
        node = node_under_test(data=f"{x}/,{root}//y//")
        node.format()
        if node.kind == "klamm":  # Apache Kafka would not start with it (docs/COMPATIBILITY.md)
            os.mkdir(os.path.join(x, "lost+found"))
        with node:
            t = Probe(node)
            t.create("m")
            found = [r["LogDir"] for r in t.call("DescribeLogDirs", 4, {"Topics": None})["Results"]]
            check("slashes too many are not told", sorted(found) == [x, y], found)

            def move(path):
                answer = t.call("AlterReplicaLogDirs", 2, {"Dirs": [
                    {"Path": path, "Topics": [{"Name": "m", "Partitions": [0]}]}]})
                return answer["Results"][0]["Partitions"][0]["ErrorCode"]
            check("and not understood", [move(f"{x}/"), move(f"{root}//y")] == [57, 57])
            check("a move names a folder as it is told", [move(x), move(y)] == [0, 0])
            if node.kind == "klamm":
                check("a folder that is no partition's is told",
                      f"{x}/lost+found is not a partition's folder" in node.log(), node.log())
    finally:
        shutil.rmtree(root, ignore_errors=True)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def refused(f, when, log_dirs, words, metadata=None):
    """A start with other folders: it ends, names what is wrong, and has changed nothing."""
    node, kept = f.node, dict(f.node.properties)
    node.properties["log.dirs"] = ",".join(log_dirs)
    if metadata:
        node.properties["metadata.log.dir"] = metadata
    before, said = tree(f.root), len(node.log())
    node.launch()
    try:
        code = node.process.wait(30)
    except subprocess.TimeoutExpired:
        code = 0
    node.kill()
    after, said = tree(f.root), node.log()[said:]
    node.properties = kept
    changed = sorted(n for n in {**before, **after} if before.get(n, 0) != after.get(n, 0))
    check(f"{when}: refused", code not in (0, None) and all(w in said for w in words),
          (code, said[-900:]))
    check(f"{when}: nothing has changed", not changed, changed)


def misplaced():
    """Folders that were named in another order, are not mounted, or lost their meta.properties:
    Apache Kafka refuses these starts, before it writes anything."""
    with Folders(2) as f:
        a, b = f.paths
        c = os.path.join(f.root, "no", "c")
        f.t.create("m", 4)
        for p in range(4):
            f.t.produce("m", kbatch.batch([b"v"]), partition=p)
        spread = f.where("m")
        f.node.stop()
        kept = f.root + ".kept"
        shutil.copytree(f.root, kept)

        def ends():
            return [f.t.offset("m", -1, partition=p)["Offset"] for p in range(4)]

        def again():
            remove(f.root)
            shutil.copytree(kept, f.root)

        elsewhere = ["Found unexpected metadata location", os.path.join(a, "__cluster_metadata-0")]
        ours = ["log.dirs", "metadata.log.dir"] if OURS else []
        refused(f, "log.dirs in another order", [b, a], elsewhere + [b] + ours)
        refused(f, "another metadata.log.dir", [a, b], elsewhere + [b] + ours, metadata=b)
        refused(f, "a mistyped metadata.log.dir", [a, b], elsewhere + [c] + ours, metadata=c)
        os.mkdir(os.path.join(b, "__cluster_metadata-0"))
        refused(f, "an empty metadata log in another folder", [a, b],
                ["Found unexpected metadata location", os.path.join(b, "__cluster_metadata-0")])
        again()
        remove(os.path.join(a, "__cluster_metadata-0"))
        refused(f, "metadata.log.dir does not exist", [a, b], ["meta.properties", c] + ours,
                metadata=c)
        if OURS:  # Apache Kafka waits for voters, for ever
            refused(f, "the metadata log is gone", [a, b], [a, "metadata was lost"])
        again()
        remove(os.path.join(a, "meta.properties"))
        refused(f, "no meta.properties in the metadata folder", [a, b],
                ["meta.properties", a] + ours)
        remove(a)
        os.mkdir(a)
        refused(f, "the metadata folder is empty", [a, b], ["meta.properties", a] + ours)
        os.rmdir(a)
        refused(f, "the metadata folder is gone", [a, b], ["meta.properties", a] + ours)
        with open(a, "w", encoding="ascii") as out:
            out.write("no folder\n")
        refused(f, "the metadata folder cannot be read", [a, b], ["metadata", a])
        remove(a)
        again()
        remove(os.path.join(b, "meta.properties"))
        refused(f, "no meta.properties beside partitions", [a, b], ["meta.properties", b])
        remove(b)
        os.mkdir(b)
        refused(f, "a folder of partitions is empty", [a, b], ["meta.properties", b])
        os.rmdir(b)
        refused(f, "a folder of partitions is gone", [a, b], ["meta.properties", b])
        result = subprocess.run(
            f.node.tool("kafka-storage", "format", "-t", CLUSTER_ID, "-c", f.node.config_path(),
                        "--standalone", "--ignore-formatted"), capture_output=True, text=True)
        check("a folder that is lost can be formatted", result.returncode == 0, result)
        f.start()
        lost = {p for letter, p, _ in spread if letter == "b"}
        check("and what lies in the other one is served", f.wait(lambda: all(
            end == 1 for p, end in enumerate(ends()) if p not in lost)), (spread, ends()))
        f.node.stop()
        again()
        if OURS:  # Apache Kafka wants new folders formatted
            f.paths.append(c)
            f.node.properties["log.dirs"] = ",".join(f.paths)
            f.start()
            check("a new folder is formatted", os.path.exists(os.path.join(c, "meta.properties")))
            f.t.create("n", 1)
            check("and used", f.wait(lambda: [w[0] for w in f.where("n")] == ["c"]), f.where("n"))
        else:
            f.start()
        check("in the right order all is there", f.wait(lambda: f.where("m") == spread and
                                                          ends() == [1] * 4), f.where("m"))
        remove(kept)


def static_voters():
    """Without voters in the folder nothing but the place of the metadata tells the folders apart,
    and without partitions nothing tells that it has a history."""
    with Folders(2) as f:
        f.node.stop()
        for path in f.paths:
            remove(path)
        f.node.static_voters()
        f.start()
        f.limit("123456")
        f.node.stop()
        a, b = f.paths
        refused(f, "static voters, log.dirs in another order", [b, a],
                ["Found unexpected metadata location", a, b])
        os.rename(a, a + ".away")
        refused(f, "static voters, the metadata folder is gone", [a, b], ["meta.properties", a])
        os.mkdir(a)
        refused(f, "static voters, the metadata folder is empty", [a, b], ["meta.properties", a])
        os.rmdir(a)
        os.rename(a + ".away", a)
        f.start()
        found = f.t.call("DescribeConfigs", 4, {"Resources": [
            {"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": [LIMIT]}]})
        check("static voters: what was set is there",
              found["Results"][0]["Configs"][0]["Value"] == "123456", found)


def cordoned():
    """cordoned.log.dirs: no new replicas there; with all of them, none on the broker."""
    fenced = ("All brokers are currently fenced, or have all their log directories cordoned.")
    manual = "includes broker 1, but all its log directories are cordoned."

    def cordon(value):
        answer = f.t.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": 4, "ResourceName": "1", "Configs": [
                {"Name": "cordoned.log.dirs", "ConfigOperation": 1 if value is None else 0,
                 "Value": value}]}]})["Responses"][0]
        check(f"cordoned: {len((value or '').split(','))} of them", answer["ErrorCode"] == 0, answer)

    def create(name, validate=False, **how):
        how = how or {"NumPartitions": 4, "ReplicationFactor": 1}
        answer = f.t.call("CreateTopics", 7, {"Topics": [{"Name": name, **how}], "timeoutMs": 5000,
                                              "validateOnly": validate})["Topics"][0]
        return answer["ErrorCode"], answer["ErrorMessage"] or ""

    def grow(name, count, assignments=None):
        answer = f.t.call("CreatePartitions", 3, {"Topics": [
            {"Name": name, "Count": count, "Assignments": assignments}], "TimeoutMs": 5000})
        return answer["Results"][0]["ErrorCode"], answer["Results"][0]["ErrorMessage"] or ""

    def refusals(when):
        # A broker of Apache Kafka tells its controller with a heartbeat.
        f.wait(lambda: create("no", True)[0])
        found = [create("no"), grow("few", 5)]
        check(f"{when}: no place", all(code == 38 and fenced in text for code, text in found), found)
        found = [create("no", NumPartitions=-1, ReplicationFactor=-1, Assignments=[
            {"PartitionIndex": 0, "BrokerIds": [1]}]), grow("few", 2, [{"BrokerIds": [1]}])]
        answer = f.t.call("AlterPartitionReassignments", 0, {"TimeoutMs": 5000, "Topics": [
            {"Name": "few", "Partitions": [{"PartitionIndex": 0, "Replicas": [1]}]}]})
        moved = answer["Responses"][0]["Partitions"][0]
        found.append((moved["ErrorCode"], moved["ErrorMessage"] or ""))
        check(f"{when}: no place by hand", all(c == 39 and manual in x for c, x in found), found)
        check(f"{when}: what is there is served",
              f.t.produce("few", kbatch.batch([b"v"]))["ErrorCode"] == 0)

    with Folders(2) as f:
        a, b = f.paths
        f.t.create("few")
        cordon(a)
        time.sleep(3 if f.node.kind == "apache" else 0)
        check("one cordoned: all in the other", create("many")[0] == 0 and
              f.wait(lambda: f.where("many") == [("b", i, False) for i in range(4)]),
              f.where("many"))
        cordon(f"{a},{b}")
        refusals("both")
        cordon(None)
        check("free again", f.wait(lambda: create("free")[0] == 0))
        cordon("*")
        refusals("star")
        f.restart(signal.SIGKILL)
        refusals("after kill -9")
        cordon(None)
        f.node.stop()
        f.node.properties["cordoned.log.dirs"] = f"{b},{a}"
        f.start()
        refusals("by the file")
        f.node.stop()
        f.node.properties["cordoned.log.dirs"] = b
        f.start()
        check("one by the file", f.wait(lambda: create("last")[0] == 0) and
              f.wait(lambda: f.where("last") == [("a", i, False) for i in range(4)]),
              f.where("last"))


PARTS = [moving, producers, cancelling, answers, crashes, offline, twice, folders_of_all_kinds,
         spelled, misplaced, static_voters, cordoned]

if __name__ == "__main__":
    run_parts(PARTS)
