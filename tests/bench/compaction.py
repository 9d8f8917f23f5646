"""Compaction: both brokers clean the same gigabyte of small keyed records, in copies of one folder.

The log is filled by Klamm with its cleaner switched off, cut into segments of 100 MB, and lies in the
page cache when it is cleaned. A round begins when min.cleanable.dirty.ratio lets it and ends when
cleaner-offset-checkpoint says so; CPU seconds are those of the whole broker in between."""
import glob
import os
import shutil
import statistics
import time

import limits
import nodes

RECORDS, SIZE, KEYS, SEGMENT = 9e6, 100, 1000000, 104857600
TOPIC = "bench-compacted"


def folder(node):
    return os.path.join(node.data, TOPIC + "-0")


def log_size(node):
    return sum(os.path.getsize(path) for path in glob.glob(folder(node) + "/*.log"))


def admin(node):
    from confluent_kafka.admin import AdminClient
    return AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})


def fill(options):
    from confluent_kafka.admin import NewTopic
    node = nodes.Klamm(log__cleaner__enable="false").start()
    client = admin(node)  # its destruction would end the call
    client.create_topics([NewTopic(TOPIC, 1, 1, config={
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1",
        "segment.bytes": str(SEGMENT), "file.delete.delay.ms": "60000"})])[TOPIC].result(30)
    options.load(options.program, "produce", node.bootstrap, TOPIC, int(RECORDS * options.scale),
                 SIZE, KEYS, ["acks=1", "linger.ms=20"])
    node.stop()
    return node


def clean(node):
    """(seconds, CPU seconds) of one cleaning."""
    from confluent_kafka.admin import (AlterConfigOpType, ConfigEntry, ConfigResource,
                                       ResourceType)
    end = int(max(os.path.basename(p)[:20] for p in glob.glob(folder(node) + "/*.log")))
    change = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[ConfigEntry(
        "min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET)])
    client = admin(node)
    client.list_topics(timeout=30)
    time.sleep(3)  # the start is over
    before, began = limits.cpu_ns(node.process.pid), time.monotonic()
    client.incremental_alter_configs([change])[change].result(30)
    checkpoint, wanted = os.path.join(node.data, "cleaner-offset-checkpoint"), f"{TOPIC} 0 {end}\n"
    while time.monotonic() - began < 600:
        time.sleep(0.02)
        try:
            with open(checkpoint, encoding="ascii") as file:
                if wanted in file.read():
                    break
        except FileNotFoundError:
            pass
    else:
        raise RuntimeError(f"{node.kind} did not clean:\n" + node.log()[-2000:])
    return time.monotonic() - began, (limits.cpu_ns(node.process.pid) - before) / 1e9


def run(kinds, options):
    filled, rows, sizes = fill(options), {kind: [] for kind in kinds}, {}
    before = log_size(filled)
    try:
        for _ in range(options.rounds):
            for kind in kinds:
                node = kind(log__cleaner__backoff__ms=100)
                shutil.copytree(filled.data, node.data)
                try:
                    node.start()
                    rows[kind].append(clean(node))
                finally:
                    node.stop()
                    sizes[kind] = log_size(node)
                    node.clean()
    finally:
        filled.clean()
    base = None
    for kind in kinds:
        seconds, cpu = (statistics.median(column) for column in zip(*rows[kind]))
        base = base or (seconds, cpu)
        print(f"compaction of {before / 1e9:.2f} GB {kind.kind:7s} {seconds:7.2f} s "
              f"{cpu:7.2f} cpu-s {before / seconds / 1e6:7.1f} MB/s  rate x{base[0] / seconds:.2f} "
              f"cpu x{cpu / base[1]:.3f}  {sizes[kind] / 1e6:.1f} MB left", flush=True)
