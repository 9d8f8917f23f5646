#!/usr/bin/env python3
"""kill -9 under load, several times: nothing acknowledged is lost, doubled or moved; committed
offsets never go back; topics and configs that were acknowledged stay."""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from nodes import Klamm, check, finish  # noqa: E402

from confluent_kafka import Consumer, OFFSET_BEGINNING, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
PARTITIONS = 3


class Load:
    def __init__(self, node):
        self.node, self.stop = node, threading.Event()
        self.acknowledged = [{} for _ in range(PARTITIONS)]
        self.committed, self.topics = -1, []
        self.threads = [threading.Thread(target=self.produce, args=(p,)) for p in range(PARTITIONS)]
        self.threads += [threading.Thread(target=self.commit), threading.Thread(target=self.create)]

    def produce(self, partition):
        producer = Producer({"bootstrap.servers": self.node.bootstrap, "log_level": 0,
                             "enable.idempotence": True, "linger.ms": 1,
                             "message.timeout.ms": 300000, "retry.backoff.ms": 20,
                             "reconnect.backoff.max.ms": 100})
        number = 0
        while not self.stop.is_set():
            def done(error, message, number=number):
                if error is None:
                    self.acknowledged[partition][number] = message.offset()
            try:
                producer.produce("load", str(number), partition=partition, on_delivery=done)
                number += 1
            except BufferError:
                pass
            producer.poll(0)
            if number % 40 == 0:
                time.sleep(0.001)
        check(f"partition {partition}: the producer settles", producer.flush(60) == 0)

    def commit(self):
        consumer = Consumer({"bootstrap.servers": self.node.bootstrap, "group.id": "committer",
                             "log_level": 0, "reconnect.backoff.max.ms": 100})
        number = 0
        while not self.stop.is_set():
            try:
                consumer.commit(offsets=[TopicPartition("load", 0, number)], asynchronous=False)
                self.committed = number
                number += 1
            except Exception:
                time.sleep(0.05)
        consumer.close()

    def create(self):
        admin = AdminClient({"bootstrap.servers": self.node.bootstrap, "log_level": 0})
        number = 0
        while not self.stop.is_set():
            name = f"made-{number}"
            number += 1
            try:
                admin.create_topics([NewTopic(name, 1, 1)], request_timeout=5)[name].result(6)
                self.topics.append(name)
            except Exception:
                time.sleep(0.05)
            time.sleep(0.05)


def committed_offset(node):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "committer",
                         "log_level": 0})
    offset = None
    for _ in range(50):
        try:
            offset = consumer.committed([TopicPartition("load", 0)], timeout=5)[0].offset
            break
        except Exception:
            time.sleep(0.1)
    consumer.close()
    return offset


def read_all(node):
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "reader",
                         "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition("load", p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    found, ended, end = [[] for _ in range(PARTITIONS)], set(), time.monotonic() + 60
    while len(ended) < PARTITIONS and time.monotonic() < end:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found[message.partition()].append((int(message.value()), message.offset()))
    consumer.close()
    return found


def main():
    random.seed(7)
    node = Klamm(log__segment__bytes=1048576).start()
    try:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("load", PARTITIONS, 1)])["load"].result(30)
        load = Load(node)
        for thread in load.threads:
            thread.start()
        for number in range(ROUNDS):
            time.sleep(0.5 + 1.5 * random.random())
            node.kill()
            at_least, topics = load.committed, list(load.topics)
            node.start()
            offset = committed_offset(node)
            check(f"round {number}: committed offset does not go back",
                  offset is not None and offset >= at_least, f"{offset} < {at_least}")
            there = AdminClient({"bootstrap.servers": node.bootstrap}).list_topics(timeout=20).topics
            lost = [t for t in topics if t not in there]
            check(f"round {number}: all {len(topics)} acknowledged topics are there", not lost, lost)
        load.stop.set()
        for thread in load.threads:
            thread.join()
        for partition, rows in enumerate(read_all(node)):
            values = [v for v, _ in rows]
            known, where = load.acknowledged[partition], dict(rows)
            check(f"partition {partition}: none of {len(known)} acknowledged lost",
                  len(known) > 50 and not set(known) - set(values))
            check(f"partition {partition}: none twice, in order", values == sorted(set(values)))
            moved = [n for n, o in known.items() if o >= 0 and where.get(n) != o]
            check(f"partition {partition}: each at its offset", not moved, moved[:5])
    finally:
        node.clean()
    finish()


main()
