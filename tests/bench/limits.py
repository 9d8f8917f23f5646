"""What a node must not exceed: many partitions, many connections, wide fetches, recovery, cold
readers, fsyncs of a first start, sizes. Each function measures one of them and prints a line.
Klamm only: the limits are absolute. run.py calls these."""
import contextlib
import glob
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
import nodes  # noqa: E402


def cpu_ns(pid):
    """CPU time of all threads alive, in nanoseconds."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


@contextlib.contextmanager
def ordinary():
    """What is started inside has no real-time priority (run.py --realtime)."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def more_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connect(node):
    return kwire.Connection("127.0.0.1", node.port, 120)


def create_topic(c, name, partitions, **configs):
    answer = c.call("CreateTopics", 7, {
        "timeoutMs": 60000,
        "Topics": [{"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1,
                    "Configs": [{"Name": k.replace("__", "."), "Value": str(v)}
                                for k, v in configs.items()]}]})
    topic = answer["Topics"][0]
    if topic["ErrorCode"]:
        raise RuntimeError(f"{name}: {topic}")
    return topic["TopicId"]


def produce(c, topic_id, count):
    """One small record into each of the first `count` partitions."""
    batch = kbatch.batch([b"x" * 100], timestamp=int(time.time() * 1000))
    c.call("Produce", 13, {"Acks": 1, "TimeoutMs": 30000, "TopicData": [
        {"TopicId": topic_id, "PartitionData": [{"Index": i, "Records": batch}
                                                for i in range(count)]}]})


def start_times(command):
    """Milliseconds from exec until the node says that it is ready, and its process."""
    ours, its = os.pipe()
    began = time.monotonic()
    process = subprocess.Popen(command + ["--ready-fd", str(its)], pass_fds=[its],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(its)
    if not os.read(ours, 1):
        raise RuntimeError(" ".join(command) + " did not start")
    ready = (time.monotonic() - began) * 1e3
    os.close(ours)
    return ready, process


def restart(node):
    """Starts a stopped node again; returns the milliseconds until it is ready."""
    ready, node.process = start_times(node.command() + [node.config_path()])
    return ready


# ---- start and size ------------------------------------------------------------------------------


def first_start(_):
    """`klamm server` on an empty folder: formats it, then serves."""
    rows, synced = [], 0
    for number in range(20):
        with tempfile.TemporaryDirectory(prefix="klamm-bench-") as root:
            command = [nodes.KLAMM, "server", "--data", os.path.join(root, "data"), "--listen",
                       f"127.0.0.1:{nodes.free_port()}"]
            trace = os.path.join(root, "trace")
            if number == 0:
                command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o",
                           trace] + command
            ready, process = start_times(command)
            if number == 0:
                with open(trace, encoding="ascii", errors="replace") as f:
                    synced = len(re.findall(r"(?:fsync|fdatasync)\(", f.read()))
                subprocess.run(["pkill", "-TERM", "-P", str(process.pid)], check=False)
            else:
                time.sleep(0.2)
                with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                    rss = next(int(l.split()[1]) for l in f if l.startswith("VmRSS"))
                rows.append((ready, rss / 1024))
                process.send_signal(signal.SIGTERM)
            process.wait(30)
    ready = sorted(r[0] for r in rows)
    print(f"first-start: ready after {statistics.median(ready):.1f} ms (best {ready[0]:.1f}, worst "
          f"{ready[-1]:.1f}), {synced} fsyncs, RSS idle {rows[-1][1]:.1f} MB", flush=True)


def size(_):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "klamm")
        subprocess.run(["strip", "-o", stripped, nodes.KLAMM], check=True)
        print(f"size: {os.path.getsize(stripped) / 1e6:.2f} MB stripped", flush=True)


# ---- many of something ---------------------------------------------------------------------------


def partitions(_, count=10000):
    """10 topics of 1,000 partitions with a record each; a clean and an unclean restart."""
    with nodes.Klamm() as node:
        with connect(node) as c:
            began = time.monotonic()
            ids = [create_topic(c, f"many-{i}", count // 10) for i in range(10)]
            created = time.monotonic() - began
            for topic_id in ids:
                produce(c, topic_id, count // 10)
        before = node.rss_kb() / 1024
        began = time.monotonic()
        node.stop()
        stopped = time.monotonic() - began
        clean = restart(node)
        clean_cpu = cpu_ns(node.process.pid) / 1e6
        after = node.rss_kb() / 1024
        with connect(node) as c:
            for topic_id in ids:
                produce(c, topic_id, count // 10)
        node.kill()
        unclean = restart(node)
        print(f"partitions: {count} created in {created:.2f} s, RSS {before:.1f} MB with a record "
              f"in each; stop {stopped:.2f} s; clean start {clean:.0f} ms ({clean_cpu:.0f} ms CPU),"
              f" RSS {after:.1f} MB; start after kill -9 {unclean:.0f} ms", flush=True)


def connections(_, count=10000):
    """Idle connections, each of which has asked for the API versions once."""
    more_files()
    with nodes.Klamm() as node:
        before = node.rss_kb()
        cpu = cpu_ns(node.process.pid)
        open_ones = []
        began = time.monotonic()
        for _ in range(count):
            c = connect(node)
            c.call("ApiVersions", 4, {"ClientSoftwareName": "bench",
                                      "ClientSoftwareVersion": "1"})
            open_ones.append(c)
        took = time.monotonic() - began
        cpu = cpu_ns(node.process.pid) - cpu
        after = node.rss_kb()
        print(f"connections: {count} idle, RSS {after / 1024:.1f} MB, "
              f"{(after - before) * 1024 / count:.0f} bytes each, {cpu / count / 1e3:.0f} us CPU "
              f"each, {took:.1f} s", flush=True)
        for c in open_ones:
            c.close()


def fetch(topic_id, indexes, session_id, session_epoch, offset=0, wait_ms=0):
    topics = [{"TopicId": topic_id, "Partitions": [
        {"Partition": i, "CurrentLeaderEpoch": -1, "FetchOffset": offset,
         "PartitionMaxBytes": 1048576} for i in indexes]}] if indexes else []
    return kwire.encode("FetchRequest", 17, {
        "MaxWaitMs": wait_ms, "MinBytes": 1 if wait_ms else 0, "MaxBytes": 52428800,
        "SessionId": session_id, "SessionEpoch": session_epoch, "Topics": topics})


def wide_fetch(_, count=1000, rounds=1000):
    """One consumer on 1,000 partitions: a fetch without session that finds nothing, one with
    session that finds nothing, and one that parks until a record comes to one of them."""
    with nodes.Klamm() as node:
        pid = node.process.pid
        with connect(node) as c, connect(node) as producer:
            topic_id = create_topic(c, "wide", count)
            produce(producer, topic_id, count)
            whole = fetch(topic_id, range(count), 0, -1, 1)
            cpu = cpu_ns(pid)
            for _ in range(rounds):
                c.send("Fetch", 17, whole)
                c.receive_frame()
            full = (cpu_ns(pid) - cpu) / rounds
            session = c.call("Fetch", 17, fetch(topic_id, range(count), 0, 0, 1))["SessionId"]
            epoch = 1
            cpu = cpu_ns(pid)
            for _ in range(rounds):
                c.send("Fetch", 17, fetch(topic_id, (), session, epoch))
                c.receive_frame()
                epoch += 1
            empty = (cpu_ns(pid) - cpu) / rounds
            cpu = cpu_ns(pid)
            for i in range(rounds):
                # the partition that had news last time is moved on, as a consumer does
                moved = () if i == 0 else (0,)
                c.send("Fetch", 17, fetch(topic_id, moved, session, epoch, 1 + i, 10000))
                epoch += 1
                time.sleep(0.002)
                produce(producer, topic_id, 1)
                c.receive_frame()
            parked = (cpu_ns(pid) - cpu) / rounds
    print(f"wide-fetch: {count} partitions, CPU a fetch: {full / 1e3:.0f} us without session, "
          f"{empty / 1e3:.0f} us with session and nothing new, {parked / 1e3:.0f} us parked until "
          "a produce (which is included)", flush=True)


# ---- recovery and cold data ----------------------------------------------------------------------


def folder_size(folder):
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(folder, "*", "*.log")))


def recovery(tools, gigabytes=10.0, count=100):
    """Data in 100 partitions, kill -9 under load, start."""
    gigabytes = gigabytes * tools.scale
    with nodes.Klamm() as node:
        with connect(node) as c:
            create_topic(c, "big", count)
        began = time.monotonic()
        with ordinary():
            tools.load(tools.program, "produce", node.bootstrap, "big", int(gigabytes * 1e5),
                       10000, 100000, ["acks=1", "linger.ms=20"])
        took = time.monotonic() - began
        node.kill()
        data = folder_size(node.data)
        ready = restart(node)
        cpu = cpu_ns(node.process.pid) / 1e6
        print(f"recovery: {data / 1e9:.1f} GB in {count} partitions, written in {took:.0f} s, "
              f"killed at once: ready again after {ready:.0f} ms ({cpu:.0f} ms CPU)", flush=True)


RECORD_ON_DISK = 10100  # a record of 10,000 bytes and its part of the heads, rounded up


class Reader(threading.Thread):
    """Fetches a partition from the start, a megabyte a time, at a steady pace; over and over."""

    def __init__(self, node, topic_id, megabytes_s):
        super().__init__()
        self.c, self.topic_id, self.pace = connect(node), topic_id, 1 / megabytes_s
        self.done, self.read = threading.Event(), 0

    def run(self):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # this thread: out of the way
        offset = 0
        due = time.monotonic()
        while not self.done.wait(max(0, due - time.monotonic())):
            self.c.send("Fetch", 17, fetch(self.topic_id, (0,), 0, -1, offset))
            data = self.c.receive_frame()
            self.read += len(data)
            offset += max(1, len(data) // RECORD_ON_DISK)
            due += self.pace
        self.c.close()


def drop_cache(folder):
    """Writes all of it out and asks the kernel to forget the pages."""
    for path in glob.glob(os.path.join(folder, "*", "*.log")):
        with open(path, "rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_reader(tools, gigabytes=2.0):
    """End-to-end latency at 1,000 records/s alone, beside a reader of cached data, and beside one
    whose data is on the disk only; one event loop serves both connections."""
    gigabytes = gigabytes * tools.scale
    with nodes.Klamm(num__network__threads=1) as node:
        with connect(node) as c:
            topic_id = create_topic(c, "old", 1)
            create_topic(c, "live", 1)
        with ordinary():
            tools.load(tools.program, "produce", node.bootstrap, "old", int(gigabytes * 1e5),
                       10000, 0, ["acks=1", "batch.size=100000"])
        rows = []
        for what in ("alone", "cached", "cold"):
            reader = None
            if what == "cold":
                drop_cache(os.path.join(node.data))
            if what != "alone":
                reader = Reader(node, topic_id, 100)
                reader.start()
            out = tools.load(tools.program, "latency", node.bootstrap, "live",
                             int(1e4 * tools.scale), 200, 0, ["acks=all", "linger.ms=0"], "-r",
                             "1000")
            if reader:
                reader.done.set()
                reader.join()
            read = f" ({reader.read / 1e6:.0f} MB read)" if reader else ""
            rows.append(f"{what} p50 {out['p50_ms']:.2f} p99 {out['p99_ms']:.2f} ms{read}")
        print("cold-reader: " + "; ".join(rows), flush=True)


MEASUREMENTS = {
    "size": size, "first-start": first_start, "partitions": partitions, "connections": connections,
    "wide-fetch": wide_fetch, "recovery": recovery, "cold-reader": cold_reader,
}
