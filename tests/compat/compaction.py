#!/usr/bin/env python3
"""The same folder is compacted by Apache Kafka 4.4.0 and by Klamm, and the same records are left.

usage: compaction.py
Apache Kafka fills topics of every codec (last values, tombstones, headers, transactions of both
fates, append time) with its cleaner switched off; message sets of magic 0 and 1 are planted in some. Two copies are then cleaned, one by each node:
batches and records must be equal in everything but the delete horizon's time, which must be there
in the same batches. Each node reads what the other one cleaned, kafka-dump-log judges all files, and
a second pass after delete.retention.ms must drop the same tombstones and markers. KEEP=1 keeps the
folders.
"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import nodes  # noqa: E402
from nodes import check  # noqa: E402

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS = {f"codec-{codec}": {} for codec in CODECS}
TOPICS |= {"txn": {}, "time": {"message.timestamp.type": "LogAppendTime"}}
LEGACY = ("v0-none", "v0-gzip", "v0-lz4", "v1-none", "v1-snappy", "v1-lz4", "v1-lz4-append-time")
TOPICS |= {f"legacy-{name}": {} for name in LEGACY}
PLAIN = ("codec-none", "txn", "time", "legacy-v0-none", "legacy-v1-none")  # no encoder between
KEYS, RECORDS, RETENTION_MS = 300, 5000, 4000
START_MS = 1700000000000
QUIET = {"log_level": 0}


# ---- filling ------------------------------------------------------------------------------------

def value(noise, i):
    """Does not compress, so that every topic has several segments."""
    return None if i % 7 == 3 else noise.randbytes(300 + i % 400)


def produce(node, topic, count, noise):
    codec = topic.removeprefix("codec-") if topic.startswith("codec-") else "none"
    producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True,
                         "compression.type": codec, "linger.ms": 5, "batch.size": 20000, **QUIET})
    failed = []
    for i in range(count):
        # The last of a key is a value or a tombstone, its batch is kept whole, in part or not.
        producer.produce(topic, key=f"key-{noise.randrange(KEYS)}", value=value(noise, i),
                         headers=[("n", str(i).encode()), ("null", None)] if i % 5 == 0 else None,
                         timestamp=START_MS + i // 3,
                         on_delivery=lambda err, _: err and failed.append(str(err)))
        if i % 500 == 0:
            producer.flush(30)
    return producer.flush(30) == 0 and not failed


def transactions(node, noise):
    producers = [Producer({"bootstrap.servers": node.bootstrap, "transactional.id": f"id-{i}",
                           "linger.ms": 2, **QUIET}) for i in range(3)]
    for producer in producers:
        producer.init_transactions(30)
    for i in range(45):
        producer = producers[i % 3]
        producer.begin_transaction()
        for n in range(60):
            producer.produce("txn", key=f"key-{noise.randrange(KEYS)}", value=value(noise, n),
                             timestamp=START_MS + 100 * i + n)
        producer.abort_transaction(30) if i % 4 == 1 else producer.commit_transaction(30)


def roll(node, noise):
    """Large records of one key fill the active segment, so that what lies in it can be cleaned."""
    for topic in TOPICS:
        producer = Producer({"bootstrap.servers": node.bootstrap, "batch.size": 1, **QUIET})
        for i in range(8):
            producer.produce(topic, key="roller", value=noise.randbytes(400000),
                             timestamp=START_MS + 10000 + i)
            producer.flush(30)


def fill(node):
    noise = random.Random(1)
    admin = AdminClient({"bootstrap.servers": node.bootstrap, **QUIET})
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01",
              "segment.bytes": "1048576", "delete.retention.ms": str(RETENTION_MS),
              "file.delete.delay.ms": "500"}
    for future in admin.create_topics([NewTopic(t, 1, 1, config=config | c)
                                       for t, c in TOPICS.items()]).values():
        future.result(30)
    for topic in TOPICS:
        if topic != "txn":
            check(f"apache: produce to {topic}", produce(
                node, topic, 200 if topic.startswith("legacy") else RECORDS, noise))
    transactions(node, noise)
    roll(node, noise)


def plant(node):
    """Puts old message sets in the place of the first segment of some topics: what 4.4 does not write
    any more, but an old folder may hold."""
    with open(os.path.join(nodes.ROOT, "tests/golden/record/java-batches.tsv"),
              encoding="ascii") as file:
        sets = dict(line.split() for line in file)
    for name in LEGACY:
        path = segments(node, "legacy-" + name)[0]
        for suffix in (".index", ".timeindex"):
            os.remove(path.removesuffix(".log") + suffix)
        with open(path, "wb") as file:
            file.write(bytes.fromhex(sets[name]))


# ---- looking ------------------------------------------------------------------------------------

def segments(node, topic):
    return sorted(glob.glob(f"{node.data}/{topic}-0/*.log"))


def batches(node, topic):
    """[(head fields but the horizon's time, records)]: compressed records stay as they are unless
    the batch has a horizon."""
    rows = []
    for path in segments(node, topic):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at + 61 <= len(data):
            size = 12 + int.from_bytes(data[at + 8:at + 12], "big")
            batch = data[at:at + size]
            at += size
            has_horizon = bool(batch[22] & 0x40)
            head = batch[:8] + batch[12:17] + batch[21:27] + batch[35:61]
            rows.append((head, None if has_horizon else (batch[27:35], batch[61:])))
    return rows


def same_batches(ours, theirs, exact):
    if len(ours) != len(theirs):
        return False, f"{len(ours)} and {len(theirs)} batches"
    for one, other in zip(ours, theirs):
        if one[0] != other[0]:
            return False, f"\n   {one[0].hex()}\n   {other[0].hex()}"
        if exact and one[1] != other[1]:
            return False, f"records of the batch at {int.from_bytes(one[0][:8], 'big')}"
    return True, ""


def dump(node, *arguments):
    result = subprocess.run(nodes.Apache.tool("kafka-dump-log", *arguments),
                            capture_output=True, text=True, errors="replace")
    text = result.stdout + result.stderr
    bad = [line for line in text.splitlines() if "isvalid: false" in line or "Exception" in line or
           "mismatch" in line.lower() or "should be" in line or "orrupt" in line]
    return text, bad or (["exit code %d" % result.returncode] if result.returncode else [])


def records(node, what):
    """{topic: what kafka-dump-log shows of every record, in order}"""
    text, bad = dump(node, "--deep-iteration", "--print-data-log", "--files",
                     ",".join(path for topic in TOPICS for path in segments(node, topic)))
    check(f"{what}: kafka-dump-log finds what {node.kind} left valid", not bad, str(bad[:3]))
    found, topic = {}, None
    for line in text.splitlines():
        if line.startswith("Dumping "):
            topic = os.path.basename(os.path.dirname(line.split()[1]))[:-2]
        elif line.startswith("|"):
            if topic == "time" and "key: roller" in line:  # appended by each node at its own time
                line = re.sub(r"LogAppendTime: \S+", "", line)
            found.setdefault(topic, []).append(line)
    return found


def read(node, topic, isolation):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "reader",
                         "enable.auto.commit": False, "enable.partition.eof": True,
                         "isolation.level": isolation, **QUIET})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    rows, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            consumer.close()
            return rows
        appended = topic == "time" and message.key() == b"roller"
        rows.append((message.offset(), None if appended else message.timestamp(), message.key(),
                     message.value(),
                     tuple(message.headers() or [])))
    return None


def read_all(node):
    return {(topic, level): read(node, topic, level)
            for topic in TOPICS for level in ("read_committed", "read_uncommitted")}


# ---- cleaning -----------------------------------------------------------------------------------

def checkpoint(node):
    try:
        with open(node.data + "/cleaner-offset-checkpoint", encoding="ascii") as file:
            return {line.split()[0]: int(line.split()[2]) for line in file.readlines()[2:]}
    except (FileNotFoundError, IndexError):
        return {}


def wait_cleaned(node, what):
    """Until the cleaner reached the active segment of every topic, and the old files are gone."""
    def active(topic):
        return int(os.path.basename(segments(node, topic)[-1])[:20])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = checkpoint(node)
        if all(done.get(topic) == active(topic) for topic in TOPICS):
            break
        time.sleep(0.1)
    else:
        return check(f"{node.kind}: {what} ends", False, f"{checkpoint(node)}")
    while glob.glob(node.data + "/*/*.deleted") and time.monotonic() < deadline:
        time.sleep(0.1)
    return check(f"{node.kind}: {what} ends", True)


def compare(klamm, apache, what, exact):
    left, right = records(klamm, what), records(apache, what)
    for topic in TOPICS:
        # The bytes of compressed records are those of an encoder; kafka-dump-log compares them.
        is_plain = topic in PLAIN
        same, detail = same_batches(batches(klamm, topic), batches(apache, topic),
                                    exact and is_plain)
        if exact:
            check(f"{what}: {topic} has the same batches", same, detail)
        ours, theirs = left[topic], right[topic]
        if not exact:  # which markers have come of age depends on the pace of each run
            ours, theirs = ([line for line in lines if "endTxnMarker" not in line]
                            for lines in (ours, theirs))
        check(f"{what}: {topic} has the same records", ours == theirs and len(ours) > 3,
              f"{len(ours)} and {len(theirs)}: " +
              str(next((p for p in zip(ours, theirs) if p[0] != p[1]), ""))[:1500])
    if exact:
        for topic in PLAIN:
            ours, theirs = ([(os.path.basename(p), os.path.getsize(p)) for p in segments(n, topic)]
                            for n in (klamm, apache))
            check(f"{what}: {topic} has the same segments", ours == theirs, f"{ours} {theirs}")


def check_indexes(node, what):
    _, bad = dump(node, "--verify-index-only", "--files", ",".join(sorted(
        f for t in TOPICS for f in glob.glob(f"{node.data}/{t}-0/*.*index")
        if not f.endswith(".txnindex"))))
    check(f"{what}: every index is right", not bad, str(bad[:4]))


def take(node, data, source):
    """`node` goes on with a folder of `source`."""
    node.properties = source.properties | {"log.dirs": data, "log.cleaner.enable": "true",
                                           "log.cleaner.backoff.ms": "200"}
    node.data = data
    node.port, node.controller_port = source.port, source.controller_port
    node.bootstrap = source.bootstrap


def clean_both(filled, apache, klamm):
    for node in (apache, klamm):
        data = os.path.join(node.root, "data")
        shutil.copytree(filled.data, data)
        take(node, data, filled)
        node.start()
        wait_cleaned(node, "the first pass")
        check(f"{node.kind}: stops", node.stop() == (143 if node is apache else 0))
    compare(klamm, apache, "first pass", True)
    check_indexes(klamm, "first pass")
    horizon, _ = dump(klamm, "--files", ",".join(segments(klamm, "codec-none")))
    check("tombstones have a delete horizon", "deleteHorizonMs: OptionalLong[1" in horizon)


def second_pass(apache, klamm):
    """The other node goes on with each folder: rolls, reads, and cleans what has come of age."""
    seen = {}
    for folder, node in (("apache", klamm), ("klamm", apache)):
        source = apache if folder == "apache" else klamm
        other = type(node)()
        OTHERS.append(other)
        take(other, source.data, source)
        other.start()
        seen[folder] = read_all(other)
        time.sleep(RETENTION_MS / 1000)
        roll(other, random.Random(2))
        wait_cleaned(other, "the second pass")
        seen[folder, 2] = read_all(other)
        check(f"{other.kind} after {folder}: stops",
              other.stop() == (143 if other.kind == "apache" else 0))
    for key, rows in seen["apache"].items():
        check(f"each reads what the other one cleaned: {key}",
              rows == seen["klamm"][key] and rows, f"{len(rows or [])}")
    for key, rows in seen["apache", 2].items():
        other = seen["klamm", 2][key]
        check(f"and after the second pass: {key}", rows == other and rows,
              f"{len(rows or [])} and {len(other or [])}")
        kept = {row[2] for row in rows}
        gone = [row for row in seen["apache"][key] if row[3] is None and row[2] not in kept]
        check(f"tombstones vanish: {key}", len(gone) >= (1 if key[0].startswith("legacy") else 4) and
              not any(row[3] is None for row in rows), f"{len(gone)}")
    compare(klamm, apache, "second pass", False)
    check_indexes(apache, "second pass by Klamm")


OTHERS = []


def main():
    filled = nodes.Apache(
        log__cleaner__enable="false", transaction__state__log__num__partitions="3")
    apache, klamm = nodes.Apache(), nodes.Klamm()
    try:
        filled.start()
        fill(filled)
        check("apache: stops", filled.stop() == 143)
        plant(filled)
        clean_both(filled, apache, klamm)
        second_pass(apache, klamm)
    finally:
        for node in (filled, apache, klamm, *OTHERS):
            node.clean()
    nodes.finish()


main()
