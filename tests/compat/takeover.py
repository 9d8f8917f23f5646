#!/usr/bin/env python3
"""A data folder moves from Apache Kafka 4.4.0 to Klamm and back, and nothing is lost or changed.

usage: takeover.py [--kill | --stop]       default: one round that stops in order, one of kill -9
The folder holds two log directories, small segments of every codec, transactions of every fate,
committed offsets, a topic that was just deleted, truncated metadata; a producer lives through it.
kafka-dump-log judges all that Klamm wrote. KEEP=1 keeps the folders.
"""
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

from confluent_kafka import (OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicCollection,
                             TopicPartition)
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource,
                                   NewTopic, ResourceType, ScramCredentialInfo, ScramMechanism,
                                   UserScramCredentialUpsertion)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import nodes  # noqa: E402
import underway  # noqa: E402
from nodes import check  # noqa: E402

TOPICS = {
    "plain": {}, "gzip": {}, "snappy": {}, "lz4": {}, "zstd": {"compression.type": "zstd"},
    "compacted": {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000"},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "shortened": {"retention.ms": "-1"},
}
PARTITIONS = 2
PROPERTIES = {
    "log__segment__bytes": 1048576, "log__index__interval__bytes": 256,
    "transaction__state__log__num__partitions": 3,
    "share__coordinator__state__topic__num__partitions": 3,
    "metadata__log__max__record__bytes__between__snapshots": 2000,
}
QUIET = {"log_level": 0}
RETRIED = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")


# ---- what happens on a node ---------------------------------------------------------------------

def produce(node, topic, first, count):
    codec = topic if topic in ("gzip", "snappy", "lz4", "zstd") else "none"
    failed = []
    producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True,
                         "compression.type": codec, "linger.ms": 5, **QUIET})
    for i in range(first, first + count):
        producer.produce(topic, key=f"key-{i % 61}", value=f"{i}-" + "v" * (i % 700),
                         headers=[("number", str(i).encode())], partition=i % PARTITIONS,
                         on_delivery=lambda err, _: err and failed.append(str(err)))
    left = producer.flush(60)
    return not failed and left == 0


def ended_transactions(node):
    """Two committed, two aborted."""
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 1,
                         "transactional.id": "finished by " + node.kind, **QUIET})
    producer.init_transactions(30)
    for i in range(4):
        producer.begin_transaction()
        for n in range(100):
            producer.produce("transactions", f"{i}-{n}", partition=n % PARTITIONS)
        producer.commit_transaction(30) if i % 2 else producer.abort_transaction(30)


def transactions(node):
    ended_transactions(node)
    producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "left open",
                         "transaction.timeout.ms": 900000, **QUIET})
    producer.init_transactions(30)
    producer.begin_transaction()
    for n in range(20):
        producer.produce("open", str(n), partition=0)
    producer.flush(30)
    return producer  # its destruction would abort


def commit(node, group, offset):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group, **QUIET})
    offsets = [TopicPartition("plain", p, offset + p, metadata=f"note {offset}")
               for p in range(PARTITIONS)]
    until = time.monotonic() + 60
    while True:  # a coordinator that has just been made may not know it yet
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
            break
        except KafkaException as e:
            if e.args[0].name() not in RETRIED or time.monotonic() > until:
                raise
            time.sleep(0.2)
    consumer.close()


def admin_work(node, name, sig):
    """Topics come and go, which makes snapshots. What DeleteRecords did is on disk at a stop in
    order; a kill may undo it, with either implementation."""
    admin = AdminClient({"bootstrap.servers": node.bootstrap, **QUIET})
    for i in range(6):
        topic = f"{name}-{i}"
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
        if i % 2:
            admin.delete_topics([topic])[topic].result(30)
    if sig == signal.SIGTERM:
        low = admin.delete_records([TopicPartition("shortened", 0, 40)])
        low[TopicPartition("shortened", 0)].result(30)
    change = ConfigResource(ResourceType.TOPIC, "plain", incremental_configs=[
        ConfigEntry("retention.ms", "987654321", incremental_operation=AlterConfigOpType.SET)])
    admin.incremental_alter_configs([change])[change].result(30)
    return admin


class Survivor:
    """An idempotent producer that is never restarted: its sequence numbers must go on fitting."""

    def __init__(self, node):
        self.failed, self.sent = [], 0
        self.producer = Producer({
            "bootstrap.servers": node.bootstrap, "enable.idempotence": True, "linger.ms": 5,
            "reconnect.backoff.max.ms": 200, "message.timeout.ms": 120000, **QUIET})

    def send(self, count=300):
        for _ in range(count):
            self.producer.produce("survivor", str(self.sent), partition=0,
                                  on_delivery=lambda err, _: err and self.failed.append(str(err)))
            self.sent += 1
        self.producer.flush(60)

    def check(self, node):
        values = [int(r[4]) for r in read(node, "survivor", 1)]
        check(f"{node.kind}: the surviving producer has no gap and no double",
              not self.failed and values == list(range(self.sent)),
              f"{self.failed[:2]} {len(values)} of {self.sent}")


# ---- what a node shows --------------------------------------------------------------------------

def read(node, topic, partitions, isolation="read_committed"):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "reader",
                         "enable.auto.commit": False, "enable.partition.eof": True,
                         "isolation.level": isolation, **QUIET})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    rows, ended, deadline = [], 0, time.monotonic() + 60
    while ended < partitions and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            ended += 1
            continue
        rows.append((message.partition(), message.offset(), message.timestamp(), message.key(),
                     message.value(), tuple(message.headers() or []), message.leader_epoch()))
    consumer.close()
    return sorted(rows, key=lambda row: row[:2]) if ended == partitions else None


def digest(rows):
    return rows and (len(rows), hashlib.sha256(repr(rows).encode()).hexdigest())


def look(node):
    seen = {}
    for topic in [*TOPICS, "transactions"]:
        seen["records of " + topic] = digest(read(node, topic, PARTITIONS))
    seen["uncommitted records"] = digest(read(node, "transactions", PARTITIONS, "read_uncommitted"))
    seen["open transaction, committed"] = read(node, "open", 1)
    seen["open transaction, all"] = digest(read(node, "open", 1, "read_uncommitted"))
    admin = AdminClient({"bootstrap.servers": node.bootstrap, **QUIET})
    listing = admin.list_topics(timeout=20)
    seen["cluster"] = listing.cluster_id
    described = admin.describe_topics(TopicCollection(sorted(listing.topics)))
    seen["topics"] = {name: (str(f.result(20).topic_id),
                             [(p.id, p.leader.id, [r.id for r in p.replicas], [r.id for r in p.isr])
                              for p in f.result(20).partitions])
                      for name, f in described.items()}
    resources = [ConfigResource(ResourceType.TOPIC, t) for t in sorted(listing.topics)]
    resources.append(ConfigResource(ResourceType.BROKER, "1"))
    seen["configs"] = {r.name: sorted((e.name, e.value) for e in f.result(20).values()
                                      if e.source in (1, 2, 3))
                       for r, f in admin.describe_configs(resources).items()}
    seen["groups"] = sorted(g.group_id for g in admin.list_consumer_groups().result(20).valid)
    for group in ("mover", "klamm", "apache"):
        consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group, **QUIET})
        places = [TopicPartition("plain", p) for p in range(PARTITIONS)]
        seen["offsets of " + group] = [(t.partition, t.offset, t.metadata)
                                       for t in consumer.committed(places, timeout=30)]
        if group == "mover":
            seen["ends"] = [consumer.get_watermark_offsets(TopicPartition(t, p), timeout=20)
                            for t in TOPICS for p in range(PARTITIONS)]
        consumer.close()
    return seen


def compare(what, before, after):
    for name, value in before.items():
        check(f"{what}: {name}", value == after[name] and value is not None,
              f"\n   was {value}\n   now {after[name]}")


# ---- kafka-dump-log -----------------------------------------------------------------------------

def dump(node, *arguments):
    """Output of kafka-dump-log, and the lines in which it complains."""
    command = nodes.Apache.tool("kafka-dump-log", *arguments)
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    text = result.stdout + result.stderr
    bad = [line for line in text.splitlines() if "isvalid: false" in line or "Exception" in line or
           "mismatch" in line.lower() or "should be" in line or "orrupt" in line]
    return text, bad or (["exit code %d" % result.returncode] if result.returncode else [])


def files(node, pattern):
    return ",".join(sorted(f for d in node.data.split(",") for f in glob.glob(d + pattern)))


def check_files(apache, when, indexes):
    _, bad = dump(apache, "--deep-iteration", "--files",
                  ",".join([files(apache, "/*-[0-9]*/*.log"), files(apache, "/*-[0-9]/*.snapshot"),
                            files(apache, "/*-[0-9]/*.txnindex")]))
    check(f"{when}: every batch and snapshot is valid", not bad, str(bad[:4]))
    if indexes:
        _, bad = dump(apache, "--verify-index-only", "--files",
                      files(apache, "/*-[0-9]/*.index") + "," +
                      files(apache, "/*-[0-9]/*.timeindex"))
        check(f"{when}: every index is right", not bad, str(bad[:4]))
    text, bad = dump(apache, "--offsets-decoder", "--files",
                     files(apache, "/__consumer_offsets-*/*.log"))
    check(f"{when}: the committed offsets are readable", not bad and '"group":"mover"' in text,
          str(bad[:4]))


KEYS = {"FEATURE_LEVEL_RECORD": ["name"], "TOPIC_RECORD": ["name"],
        "CONFIG_RECORD": ["resourceType", "resourceName", "name"],
        "USER_SCRAM_CREDENTIAL_RECORD": ["name", "mechanism"]}


def metadata(apache):
    """What the newest snapshot and the log behind it say, without what each start writes."""
    folder = glob.glob(apache.data.split(",")[0] + "/__cluster_metadata-0")[0]
    newest = max(glob.glob(folder + "/*.checkpoint"))
    end = int(os.path.basename(newest)[:20])
    logs = ",".join(sorted(glob.glob(folder + "/*.log")))
    state, ids = {}, {}
    for source, first in ((newest, 0), (logs, end)):
        text, bad = dump(apache, "--cluster-metadata-decoder", "--skip-record-metadata", "--files",
                         source)
        if bad:
            return bad
        offset = -1
        for line in text.splitlines():
            if line.startswith("baseOffset: "):
                offset = int(line.split()[3])
            if offset < first or "payload: " not in line:
                continue
            record = json.loads(line.split("payload: ", 1)[1])
            data = record["data"]
            if record["type"] == "REMOVE_TOPIC_RECORD":
                name = ids.get(data["topicId"])
                state = {k: v for k, v in state.items() if name not in k[1:]}
            elif record["type"] in KEYS:
                ids[data.get("topicId")] = data["name"]
                key = (record["type"], *(str(data[k]) for k in KEYS[record["type"]]))
                state[key] = data
                if data.get("value", "") is None:
                    del state[key]
    return {k: v for k, v in state.items() if len(k) < 3 or not k[2].startswith(("klamm-", "b-"))}


# ---- the rounds ---------------------------------------------------------------------------------

def fill(apache):
    admin = AdminClient({"bootstrap.servers": apache.bootstrap, **QUIET})
    made = [NewTopic(t, PARTITIONS, 1, config=c) for t, c in TOPICS.items()]
    made += [NewTopic("transactions", PARTITIONS, 1), NewTopic("open", 1, 1),
             NewTopic("survivor", 1, 1), NewTopic("doomed", 4, 1)]
    for future in admin.create_topics(made).values():
        future.result(30)
    for topic in TOPICS:
        check(f"apache: produce to {topic}", produce(apache, topic, 0, 2000))
    commit(apache, "mover", 100)
    user = UserScramCredentialUpsertion(
        "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret")
    admin.alter_user_scram_credentials([user])["alice"].result(30)
    broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[
        ConfigEntry("message.max.bytes", "2000000", incremental_operation=AlterConfigOpType.SET)])
    admin.incremental_alter_configs([broker])[broker].result(30)
    return transactions(apache)


def end(node, admin, doomed, sig):
    admin.delete_topics([doomed])[doomed].result(30)
    code = node.stop(sig)
    wanted = {signal.SIGKILL: -9, signal.SIGTERM: 143 if node.kind == "apache" else 0}[sig]
    check(f"{node.kind}: ends with {wanted}", code == wanted, str(code))


def move(sig):
    apache, klamm = nodes.Apache(**PROPERTIES), nodes.Klamm()
    apache.data = f"{apache.data},{apache.root}/second"
    apache.properties["log.dirs"] = apache.data
    try:
        apache.start()
        kept_open = fill(apache)  # noqa: F841
        survivor = Survivor(apache)
        survivor.send()
        admin = admin_work(apache, "apache", sig)
        begun = underway.Underway(apache)
        before = look(apache)
        end(apache, admin, "doomed", sig)
        before_metadata = metadata(apache)

        klamm.take_over(apache)
        klamm.start()
        compare("Apache Kafka to Klamm", before | {"topics": without(before["topics"], "doomed"),
                                                   "configs": without(before["configs"], "doomed")},
                look(klamm))
        begun.finish(klamm)
        ended_transactions(klamm)
        survivor.send()
        survivor.check(klamm)
        for topic in TOPICS:
            check(f"klamm: produce to {topic}", produce(klamm, topic, 2000, 1000))
        commit(klamm, "klamm", 200)
        commit(klamm, "mover", 300)
        admin = admin_work(klamm, "klamm", sig)
        begun = underway.Underway(klamm)
        after = look(klamm)
        end(klamm, admin, "klamm-0", sig)
        check_files(apache, "what Klamm wrote", sig == signal.SIGTERM)
        after_metadata = metadata(apache)
        compare("the metadata log", {"records": without(before_metadata, "doomed")},
                {"records": {k: v for k, v in after_metadata.items() if k in before_metadata}
                 if isinstance(after_metadata, dict) else after_metadata})

        apache.start()
        compare("Klamm to Apache Kafka", after | {"topics": without(after["topics"], "klamm-0"),
                                                  "configs": without(after["configs"], "klamm-0")},
                look(apache))
        begun.finish(apache)
        ended_transactions(apache)
        survivor.send()
        survivor.check(apache)
        for topic in TOPICS:
            check(f"apache: produce to {topic} again", produce(apache, topic, 3000, 200))
        commit(apache, "apache", 400)
        after = look(apache)
        check("apache: stops", apache.stop() == 143)
        klamm.start()
        compare("once more to Klamm", after, look(klamm))
        check("klamm: stops", klamm.stop() == 0)
    finally:
        apache.clean()
        klamm.clean()


def without(state, topic):
    if not isinstance(state, dict):
        return state
    return {k: v for k, v in state.items() if topic not in (k if isinstance(k, tuple) else (k,))}


def main():
    if "--kill" not in sys.argv:
        move(signal.SIGTERM)
    if "--stop" not in sys.argv:
        move(signal.SIGKILL)
    nodes.finish()


main()
