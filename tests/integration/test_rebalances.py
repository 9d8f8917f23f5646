#!/usr/bin/env python3
"""Three groups of three members each, one behind the other: librdkafka reads one topic, writes the
next, and members are killed all the time. Everything must come through, and nobody who lives may be
told that he is unknown. NODE=apache runs the same on Apache Kafka 4.4.0."""
import os
import random
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402

STAGES, MEMBERS, PARTITIONS = 3, 3, 4
SESSION_MS = 6000
KILLS = 6


def work(bootstrap, source, target, group, strategy):
    """One member: at least once, so each record is written on before its offset is committed."""
    from confluent_kafka import Consumer, KafkaException, Producer
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "debug": "cgrp",
                         "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 500,
                         "auto.offset.reset": "earliest", "enable.auto.commit": False,
                         "partition.assignment.strategy": strategy})
    consumer.subscribe([source])
    while True:
        messages = [m for m in consumer.consume(50, 0.1) if not m.error()]
        for m in messages:
            producer.produce(target, m.value(), m.key())
        producer.flush()
        if messages:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as e:  # a rebalance took the partitions: somebody reads again
                print("commit:", e.args[0].name(), file=sys.stderr, flush=True)


class Stage:
    def __init__(self, node, strategy, number):
        self.node, self.strategy, self.number = node, strategy, number
        self.members = [None] * MEMBERS
        self.logs = []

    def start(self, place):
        topics = [f"{self.strategy}-{self.number + i}" for i in (0, 1)]
        log = os.path.join(self.node.root, f"{topics[0]}-{len(self.logs)}.log")
        self.logs.append(log)
        with open(log, "wb") as out:
            self.members[place] = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "work", self.node.bootstrap, *topics,
                 "g-" + topics[0], self.strategy], stdout=out, stderr=out)

    def kill(self, place):
        if self.members[place]:
            self.members[place].kill()
            self.members[place].wait()


def run(node, strategy):
    from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
    t = Probe(node)
    for i in range(STAGES + 1):
        t.create(f"{strategy}-{i}", PARTITIONS)
    stages = [Stage(node, strategy, i) for i in range(STAGES)]
    producer = Producer({"bootstrap.servers": node.bootstrap})
    wanted, seen = set(), set()

    def feed(count):
        for _ in range(count):
            value = b"%d" % len(wanted)
            wanted.add(value)
            producer.produce(f"{strategy}-0", value, value)
        producer.flush()
    sink = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "sink"})
    sink.assign([TopicPartition(f"{strategy}-{STAGES}", p, OFFSET_BEGINNING)
                 for p in range(PARTITIONS)])

    def drain(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and seen != wanted:
            seen.update(m.value() for m in sink.consume(500, 0.2) if not m.error())
    try:
        for stage in stages:
            for place in range(MEMBERS):
                stage.start(place)
        dice = random.Random(5)
        feed(200)
        drain(30)
        check(f"{strategy}: the chain works", seen == wanted, f"{len(seen)} of {len(wanted)}")
        for _ in range(KILLS):
            stage, place = dice.choice(stages), dice.randrange(MEMBERS)
            stage.kill(place)
            feed(100)
            time.sleep(dice.random())
            stage.start(place)
            time.sleep(dice.random() * 2)
        drain(60)
        check(f"{strategy}: everything comes through {KILLS} kills", seen == wanted,
              f"{len(seen)} of {len(wanted)}")
    finally:
        for stage in stages:
            for place in range(MEMBERS):
                stage.kill(place)
        sink.close()
    unknown = []
    for stage in stages:
        for path in stage.logs:
            with open(path, encoding="utf-8", errors="replace") as f:
                unknown += [line.strip() for line in f
                            if re.search("UNKNOWN_MEMBER|Unknown member|Traceback", line)]
    check(f"{strategy}: nobody who lives is unknown", not unknown, unknown[:3])


def main():
    if sys.argv[1:2] == ["work"]:
        work(*sys.argv[2:])
    node = node_under_test(group__initial__rebalance__delay__ms=200).start()
    try:
        for strategy in ("range", "cooperative-sticky"):
            try:
                run(node, strategy)
            except Exception as e:
                check(f"{strategy} ran to its end", False, f"{type(e).__name__}: {e}")
    finally:
        node.clean()
    finish()


main()
