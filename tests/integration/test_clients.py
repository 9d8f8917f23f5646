#!/usr/bin/env python3
"""Real clients on a real node: kcat, confluent-kafka (librdkafka), kafka-python, aiokafka.

What people do in their first week, and that it is all there after a restart.
"""
import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from nodes import Klamm, check, finish  # noqa: E402

from confluent_kafka import (Consumer, ConsumerGroupTopicPartitions, KafkaException,  # noqa: E402
                             OFFSET_BEGINNING, Producer, TopicPartition)
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry,  # noqa: E402
                                   ConfigResource, NewPartitions, NewTopic, OffsetSpec,
                                   ResourceType)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def attempt(what, function, *arguments):
    """A check that passes when the function returns True; an exception fails it."""
    try:
        result = function(*arguments)
        check(what, result is True, repr(result))
    except Exception as e:
        check(what, False, f"{type(e).__name__}: {e}")


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def settle(futures):
    return {key: future.result(30) for key, future in futures.items()}


class Session:
    """One node and the clients' settings for it."""

    def __init__(self, node):
        self.node = node
        self.common = {"bootstrap.servers": node.bootstrap, "log_level": 0}
        self.admin = AdminClient(self.common)

    def create(self, name, partitions=1, **config):
        config = {k.replace("_", "."): v for k, v in config.items()}
        settle(self.admin.create_topics([NewTopic(name, partitions, 1, config=config)]))

    def produce(self, topic, values, partition=None, **options):
        errors = []
        producer = Producer({**self.common, "linger.ms": 2, **options})
        for i, value in enumerate(values):
            where = {} if partition is None else {"partition": partition}
            producer.produce(topic, key=str(i), value=value, headers=[("n", str(i).encode())],
                             on_delivery=lambda e, m: errors.append(e) if e else None, **where)
            if i % 500 == 0:
                producer.poll(0)
        left = producer.flush(60)
        return True if not errors and not left else (errors[:2], left)

    def read(self, topic, count, partitions=1, **options):
        consumer = Consumer({**self.common, "group.id": "reader", "enable.auto.commit": False,
                             **options})
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
        found, end = [], time.monotonic() + 30
        while len(found) < count and time.monotonic() < end:
            found += [m for m in consumer.consume(500, 0.2) if not m.error()]
        consumer.close()
        return found


def kcat(s):
    bootstrap = s.node.bootstrap
    listing = subprocess.run(["kcat", "-L", "-b", bootstrap], capture_output=True, text=True,
                             timeout=30).stdout
    check("kcat lists one broker", "1 brokers" in listing, listing[:300])
    for codec in CODECS:
        lines = "".join(f"{codec} line {i}\n" for i in range(1500))
        topic = "kcat-" + codec
        subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", topic, "-z", codec], input=lines,
                       text=True, timeout=60, check=False)
        back = subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-e",
                               "-q"], capture_output=True, text=True, timeout=60).stdout
        check(f"kcat round trip, {codec}", sorted(back.split("\n")) == sorted(lines.split("\n")),
              f"{len(back)} bytes of {len(lines)}")


def produce_and_read(s):
    for codec in CODECS:
        s.create("c-" + codec, 3)
        values = [f"{codec}-{i}-" + "x" * (i % 200) for i in range(3000)]
        attempt(f"produce, {codec}, idempotent", s.produce, "c-" + codec, values, None)
        got = s.read("c-" + codec, 3000, 3)
        check(f"read back, {codec}", sorted(m.value().decode() for m in got) == sorted(values),
              str(len(got)))
    attempt("acks=0", lambda: s.produce("c-none", ["a", "b"], acks=0, **{"enable.idempotence": False}))
    attempt("acks=1", lambda: s.produce("c-none", ["a", "b"], acks=1, **{"enable.idempotence": False}))
    big = [os.urandom(900000)]
    s.create("c-big")
    attempt("a record of 900 KB", s.produce, "c-big", big)
    check("the record of 900 KB reads back", [m.value() for m in s.read("c-big", 1)] == big)
    s.create("c-append", message_timestamp_type="LogAppendTime")
    s.produce("c-append", ["now"])
    kind, stamp = s.read("c-append", 1)[0].timestamp()
    check("LogAppendTime is the broker's", kind == 2 and abs(stamp - time.time() * 1000) < 10000)


def groups(s):
    s.create("g-in", 4)
    s.produce("g-in", [str(i) for i in range(400)])
    for strategy in ("range", "roundrobin", "cooperative-sticky"):
        seen, stop, lock = {}, threading.Event(), threading.Lock()

        def member():
            consumer = Consumer({**s.common, "group.id": "g-" + strategy,
                                 "auto.offset.reset": "earliest", "session.timeout.ms": 6000,
                                 "partition.assignment.strategy": strategy})
            consumer.subscribe(["g-in"])
            while not stop.is_set():
                message = consumer.poll(0.1)
                if message is not None and not message.error():
                    with lock:
                        key = (message.partition(), message.offset())
                        seen[key] = seen.get(key, 0) + 1
            consumer.close()
        members = [threading.Thread(target=member) for _ in range(3)]
        for m in members:
            m.start()
        done = until(lambda: len(seen) == 400)
        stop.set()
        for m in members:
            m.join()
        check(f"three members share four partitions, {strategy}", done, str(len(seen)))
    group = "g-commit"
    consumer = Consumer({**s.common, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("g-in", 1, 42, metadata="here")], asynchronous=False)
    back = consumer.committed([TopicPartition("g-in", 1), TopicPartition("g-in", 2)], timeout=10)
    check("committed offset and metadata come back",
          (back[0].offset, back[0].metadata, back[1].offset) == (42, "here", -1001), str(back))
    consumer.close()
    listed = s.admin.list_consumer_groups(request_timeout=10).result()
    check("groups are listed", group in [g.group_id for g in listed.valid])
    described = settle(s.admin.describe_consumer_groups(["g-range"]))["g-range"]
    check("a left group is empty", str(described.state).endswith("EMPTY"), str(described.state))
    offsets = settle(s.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    check("offsets of a group are listed", [t.offset for t in offsets[group].topic_partitions] == [42])
    settle(s.admin.delete_consumer_groups([group]))
    listed = s.admin.list_consumer_groups(request_timeout=10).result()
    check("a deleted group is gone", group not in [g.group_id for g in listed.valid])


def administration(s):
    s.create("a-one", 2, retention_ms="3600000")
    settle(s.admin.create_partitions([NewPartitions("a-one", 5)]))
    check("partitions grow", until(lambda: len(s.admin.list_topics(timeout=10).topics["a-one"]
                                               .partitions) == 5))
    resource = ConfigResource(ResourceType.TOPIC, "a-one")
    configs = settle(s.admin.describe_configs([resource]))[resource]
    check("a set config shows its source", configs["retention.ms"].value == "3600000" and
          configs["retention.ms"].source == 1 and configs["cleanup.policy"].source == 5)
    change = ConfigResource(ResourceType.TOPIC, "a-one", incremental_configs=[
        ConfigEntry("segment.ms", "60000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE)])
    settle(s.admin.incremental_alter_configs([change]))
    configs = settle(s.admin.describe_configs([resource]))[resource]
    check("configs change", configs["segment.ms"].value == "60000" and
          configs["retention.ms"].value == "604800000")
    for name, want in (("a-one", "TOPIC_ALREADY_EXISTS"), ("bad/name", "TOPIC_EXCEPTION")):
        try:
            s.create(name)
            check(f"creating {name} is refused", False)
        except KafkaException as e:
            check(f"creating {name} is refused", want in e.args[0].name(), e.args[0].name())
    s.produce("a-one", ["x"] * 10, 0)
    spec = {TopicPartition("a-one", 0): OffsetSpec.latest()}
    check("end offset", list(settle(s.admin.list_offsets(spec)).values())[0].offset == 10)
    settle(s.admin.delete_records([TopicPartition("a-one", 0, 4)]))
    spec = {TopicPartition("a-one", 0): OffsetSpec.earliest()}
    check("records are deleted", list(settle(s.admin.list_offsets(spec)).values())[0].offset == 4)
    settle(s.admin.delete_topics(["a-one"]))
    check("a deleted topic is gone", until(
        lambda: "a-one" not in s.admin.list_topics(timeout=10).topics))
    s.create("a-one", 1)
    check("a topic can be made again", s.produce("a-one", ["y"]) is True and
          [m.value() for m in s.read("a-one", 1)] == [b"y"])
    cluster = s.admin.describe_cluster(request_timeout=10).result()
    check("describe cluster", [n.id for n in cluster.nodes] == [1] and cluster.controller.id == 1)


def kafka_python(s):
    from kafka import KafkaConsumer, KafkaProducer
    producer = KafkaProducer(bootstrap_servers=s.node.bootstrap, acks="all")
    for i in range(300):
        producer.send("kp", key=str(i).encode(), value=b"v%d" % i)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer("kp", bootstrap_servers=s.node.bootstrap, group_id="kp",
                             auto_offset_reset="earliest", consumer_timeout_ms=10000)
    count = 0
    for _ in consumer:
        count += 1
        if count == 300:
            break
    consumer.close()
    return count == 300 or count


def aiokafka(s):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async def go():
        producer = AIOKafkaProducer(bootstrap_servers=s.node.bootstrap, enable_idempotence=True)
        await producer.start()
        for i in range(200):
            await producer.send("aio", b"v%d" % i)
        await producer.stop()
        consumer = AIOKafkaConsumer("aio", bootstrap_servers=s.node.bootstrap, group_id="aio",
                                    auto_offset_reset="earliest")
        await consumer.start()
        count = 0
        while count < 200:
            batch = await asyncio.wait_for(consumer.getmany(timeout_ms=500), 20)
            count += sum(len(v) for v in batch.values())
        await consumer.stop()
        return count == 200 or count
    return asyncio.run(go())


def main():
    node = Klamm(auto__create__topics__enable="true").start()
    try:
        s = Session(node)
        if shutil.which("kcat"):
            kcat(s)
        else:
            check("kcat is installed", False)
        for part in (produce_and_read, groups, administration):
            try:
                part(s)
            except Exception as e:
                check(part.__name__ + " ran to its end", False, f"{type(e).__name__}: {e}")
        attempt("kafka-python: produce, consume in a group", kafka_python, s)
        attempt("aiokafka: idempotent produce, consume in a group", aiokafka, s)
        check("SIGTERM stops it with status 0", node.stop() == 0, node.log()[-500:])
        node.start()
        s = Session(node)
        check("after a restart the records are there", len(s.read("c-zstd", 3000, 3)) == 3000)
    finally:
        node.clean()
    finish()


main()
