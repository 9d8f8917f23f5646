#!/usr/bin/env python3
"""The benchmarks: Klamm beside Apache Kafka 4.4.0 on this machine, in the same run, as ratios.

usage: run.py [--rounds 3] [--scale 1.0] [--only W1,W3,L1,start,floor,...] [--klamm-only]
              [--realtime]

W1 to W10 and L1 load both brokers through librdkafka in turn, round after round, and give medians:
throughput, broker CPU seconds per million records and per GB, memory. `flush` has fifty producers
that wait for each answer, on brokers that sync every record before they answer. `floor` puts Klamm beside
the least a broker can do (floor.c) at equal batch sizes. `start` runs each start-up five times on
an empty folder. `compaction` has both clean the same gigabyte. The rest measures Klamm alone
(limits.py): size, first-start, partitions, connections, wide-fetch, recovery, cold-reader.

--realtime gives clients and brokers a real-time priority: on a machine that others use, times say
something only then. CPU seconds are comparable within one run only.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import compaction  # noqa: E402
import limits  # noqa: E402
import nodes  # noqa: E402

BUILD = os.path.join(nodes.ROOT, "build")
IDEMPOTENT = ["acks=all", "enable.idempotence=true"]
WORKLOADS = [  # id, what, topic, kind, records, record bytes, keys, librdkafka options
    ("W1", "produce 100 B, acks=1", "a", "produce", 4e6, 100, 0, ["acks=1"]),
    ("W2", "consume 100 B", "a", "consume", 4e6, 100, 0, []),
    ("W3", "produce 1 KB, acks=all", "c", "produce", 1e6, 1000, 0, ["acks=all"]),
    ("W4", "consume 1 KB", "c", "consume", 1e6, 1000, 0, []),
    ("W5", "produce 1 KB, lz4, idempotent", "e", "produce", 1e6, 1000, 0,
     IDEMPOTENT + ["compression.codec=lz4"]),
    ("W6", "produce 200 B, idempotent, keyed", "f", "produce", 2e6, 200, 10000, IDEMPOTENT),
    ("W7", "produce 200 B, 10 records a batch", "g", "produce", 3e5, 200, 0,
     IDEMPOTENT + ["linger.ms=0", "batch.num.messages=10"]),
    ("W8", "transactions of 100 x 200 B, 4 prod.", "h", "txn", 4e5, 200, 4, []),
    ("W9", "the same, read_uncommitted", "h", "consume", 4e5, 200, 0,
     ["isolation.level=read_uncommitted"]),
    ("W10", "the same, read_committed", "h", "consume", 4e5, 200, 0,
     ["isolation.level=read_committed"]),
]


def compile_program(name, *libraries):
    source, target = os.path.join(HERE, name + ".c"), os.path.join(BUILD, "bench-" + name)
    if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
        subprocess.run(["cc", "-O2", source, "-o", target, *libraries], check=True)
    return target


def cpu_seconds(pid):
    return limits.cpu_ns(pid) / 1e9


def load(program, kind, bootstrap, topic, count, size, keys, options, *more):
    command = [program, kind, "-b", bootstrap, "-t", topic, "-n", str(count), "-s", str(size)]
    if keys:
        command += ["-k", str(keys)]
    for option in options:
        command += ["-X", option]
    result = subprocess.run(command + list(more), capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(" ".join(command) + ": " + result.stderr[-300:])
    return json.loads(result.stdout.strip().splitlines()[-1])


def delete_topic(broker, topic):
    """Frees the page cache of one run for the next one. On a virtual machine, memory that was not
    used for a while costs several times the CPU of the copy into it, and that is no broker's."""
    with limits.connect(broker) as c:
        c.call("DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [{"Name": topic}]})
    time.sleep(0.5)


def run_workload(broker, program, workload, number, scale):
    """(records a second, CPU seconds per million records, per GB)"""
    _, _, tag, kind, count, size, keys, settings = workload
    count = max(1000, int(count * scale))
    before = cpu_seconds(broker.process.pid)
    out = load(program, kind, broker.bootstrap, f"bench-{tag}-{number}", count, size, keys,
               settings)
    time.sleep(0.2)
    cpu = cpu_seconds(broker.process.pid) - before
    return out["msgs_s"], cpu / count * 1e6, cpu / (count * size) * 1e9


def report(workload, brokers, rows):
    base = None
    for broker in brokers:
        rate, per_million, per_gb = (statistics.median(c)
                                     for c in zip(*rows[workload[0], broker.kind]))
        base = base or (rate, per_million)
        print(f"{workload[0]} {workload[1]:34s} {broker.kind:7s} {rate:9.0f} msg/s "
              f"{per_million:8.3f} cpu-s/Mmsg {per_gb:7.3f} cpu-s/GB RSS "
              f"{broker.rss_kb() / 1024:6.1f} MB  rate x{rate / base[0]:.2f} "
              f"cpu x{per_million / max(base[1], 1e-9):.3f}", flush=True)


def workloads(brokers, options, wanted):
    program = compile_program("loadgen", "-lrdkafka", "-lpthread")
    for tag in dict.fromkeys(w[2] for w in WORKLOADS):
        group = [w for w in WORKLOADS if w[2] == tag]
        while group and not wanted(group[-1][0]):
            group.pop()
        rows = {(w[0], b.kind): [] for w in group for b in brokers}
        for number in range(options.rounds if group else 0):
            for broker in brokers:
                for workload in group:
                    rows[workload[0], broker.kind].append(
                        run_workload(broker, program, workload, number, options.scale))
                delete_topic(broker, f"bench-{tag}-{number}")
        for workload in group:
            if wanted(workload[0]):
                report(workload, brokers, rows)
    if wanted("L1"):
        for broker in brokers:
            runs = [load(program, "latency", broker.bootstrap, f"bench-l-{i}",
                         int(1e4 * options.scale), 200, 0, ["acks=all", "linger.ms=0"], "-r", "1000")
                    for i in range(options.rounds)]
            p50, p99, p999 = (statistics.median(r[k] for r in runs)
                              for k in ("p50_ms", "p99_ms", "p999_ms"))
            print(f"L1 end to end, 1000 records/s            {broker.kind:7s} p50 {p50:.2f} ms "
                  f"p99 {p99:.2f} ms p99.9 {p999:.2f} ms", flush=True)


FLUSH_PRODUCERS = 50
FLUSH_CASES = [(1, 100), (1, 1000), (10, 1000)]  # partitions, record bytes


def flush(kinds, options):
    """Every record is on the disk before it is acknowledged; producers wait for each answer."""
    program = compile_program("loadgen", "-lrdkafka", "-lpthread")
    brokers = [kind(log__flush__interval__messages=1, num__partitions=10,
                    auto__create__topics__enable="true").start() for kind in kinds]
    try:
        for partitions, size in FLUSH_CASES:
            rows = {b.kind: [] for b in brokers}
            for number in range(options.rounds):
                for broker in brokers:
                    topic = f"flush-{partitions}-{size}-{number}"
                    rows[broker.kind].append(run_flush(broker, program, topic, partitions, size,
                                                       options.scale))
            base = None
            for broker in brokers:
                rate, per_million = (statistics.median(c) for c in zip(*rows[broker.kind]))
                base = base or rate
                print(f"flush {partitions:2d} partitions, {size:4d} B, {FLUSH_PRODUCERS} producers "
                      f"{broker.kind:7s} {rate:8.0f} msg/s {per_million:8.3f} cpu-s/Mmsg "
                      f"rate x{rate / base:.2f}", flush=True)
    finally:
        for broker in brokers:
            broker.clean()


def run_flush(broker, program, topic, partitions, size, scale):
    with limits.connect(broker) as c:
        c.call("CreateTopics", 7, {"Topics": [{"Name": topic, "NumPartitions": partitions,
                                               "ReplicationFactor": 1, "Assignments": [],
                                               "Configs": []}], "timeoutMs": 30000})
    time.sleep(0.5)
    share = FLUSH_PRODUCERS // partitions
    count = max(200, int((1000 if broker.kind == "apache" else 10000) * scale)) * share
    before, began = cpu_seconds(broker.process.pid), time.monotonic()
    loads = [subprocess.Popen([program, "single", "-b", broker.bootstrap, "-t", topic, "-p", str(p),
                               "-n", str(count), "-s", str(size), "-k", str(share)],
                              stdout=subprocess.DEVNULL) for p in range(partitions)]
    if any(l.wait() for l in loads):
        raise RuntimeError("flush: a load failed")
    total = count * partitions
    return (total / (time.monotonic() - began),
            (cpu_seconds(broker.process.pid) - before) / total * 1e6)


FLOOR_RECORD_SIZE = 1000


def floor(options):
    """The floor program, then Klamm fed with batches of the same size; CPU seconds per GB."""
    program = compile_program("floor", "-lisal")
    loader = compile_program("loadgen", "-lrdkafka", "-lpthread")
    for size, count in ((16384, 60000), (131072, 15000), (1000000, 2000)):
        count = max(100, int(count * options.scale))
        records = size * count // FLOOR_RECORD_SIZE
        rows = []
        for number in range(options.rounds):
            out = json.loads(subprocess.run(
                [program, os.path.join(BUILD, "bench-floor.data"), str(size), str(count)],
                capture_output=True, text=True, check=True).stdout)
            with nodes.Klamm(auto__create__topics__enable="true") as node:
                spent = []
                for kind, settings in (
                        ("produce", ["acks=1", f"batch.size={size}", "linger.ms=100"]),
                        ("consume", ["fetch.message.max.bytes=1048576"])):
                    os.sync()  # what the produce left to be written is not the fetch's
                    time.sleep(1)
                    before = cpu_seconds(node.process.pid)
                    load(loader, kind, node.bootstrap, f"floor-{number}", records,
                         FLOOR_RECORD_SIZE, 0, settings)
                    time.sleep(0.2)
                    spent.append((cpu_seconds(node.process.pid) - before) /
                                 (records * FLOOR_RECORD_SIZE) * 1e9)
            rows.append((out["produce_cpu_s_per_gb"], spent[0], out["fetch_cpu_s_per_gb"],
                         spent[1]))
        least, produce, least_fetch, fetch = (statistics.median(c) for c in zip(*rows))
        print(f"floor {size:8d} B batches: produce {least:.3f} cpu-s/GB, klamm {produce:.3f} "
              f"(x{produce / least:.2f}); fetch {least_fetch:.3f}, klamm {fetch:.3f} "
              f"(x{fetch / least_fetch:.2f})", flush=True)


def start(kinds):
    from confluent_kafka import Consumer, Producer
    for kind in kinds:
        rows = []
        for _ in range(5):
            node = kind(auto__create__topics__enable="true")
            node.format()
            began = time.monotonic()
            node.start()
            listening = time.monotonic() - began
            acknowledged = []
            producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 0,
                                 "log_level": 0, "retry.backoff.ms": 5,
                                 "topic.metadata.refresh.fast.interval.ms": 10})
            producer.produce("t", b"x", on_delivery=lambda e, m: acknowledged.append(e))
            producer.flush(60)
            acked = time.monotonic() - began
            consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "g",
                                 "log_level": 0, "auto.offset.reset": "earliest",
                                 "retry.backoff.ms": 5})
            consumer.subscribe(["t"])
            while True:
                message = consumer.poll(0.05)
                if message is not None and not message.error():
                    break
            read = time.monotonic() - began
            consumer.close()
            rows.append((listening, acked, read, node.rss_kb() / 1024))
            node.stop()
            node.clean()
        listening, acked, read, rss = (statistics.median(c) for c in zip(*rows))
        print(f"start {kind.kind:7s}: listening {listening * 1e3:.0f} ms, first record "
              f"acknowledged {acked * 1e3:.0f} ms, first group read {read * 1e3:.0f} ms, "
              f"RSS {rss:.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only")
    parser.add_argument("--klamm-only", action="store_true")
    parser.add_argument("--realtime", action="store_true")
    options = parser.parse_args()
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    chosen = options.only.split(",") if options.only else None

    def wanted(name):
        return chosen is None or name in chosen
    kinds = [nodes.Klamm] if options.klamm_only else [nodes.Apache, nodes.Klamm]
    os.makedirs(BUILD, exist_ok=True)
    if wanted("floor"):
        floor(options)
    if wanted("flush"):
        flush(kinds, options)
    if wanted("start"):
        start(kinds)
    if any(wanted(w[0]) for w in WORKLOADS) or wanted("L1"):
        brokers = [kind(auto__create__topics__enable="true",
                        log__segment__delete__delay__ms=0).start() for kind in kinds]
        try:
            workloads(brokers, options, wanted)
        finally:
            for broker in brokers:
                broker.clean()
    options.load, options.program = load, compile_program("loadgen", "-lrdkafka", "-lpthread")
    if wanted("compaction"):
        compaction.run(kinds, options)
    for name, measure in limits.MEASUREMENTS.items():
        if wanted(name):
            measure(options)


main()
