#!/usr/bin/env python3
"""Transactions of real clients: confluent-kafka (librdkafka), aiokafka and kafka-python through
commit, abort, fencing, zombies, timeouts, restarts and kill -9.

usage: test_transactional_clients.py [ROUNDS [SEED]]      rounds of kill -9; NODE=apache
"""
import asyncio
import logging
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402

from confluent_kafka import (Consumer, KafkaError, KafkaException, OFFSET_BEGINNING,  # noqa: E402
                             Producer, TopicPartition)
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # of futures that nobody awaits
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 100}


def attempt(function, *arguments):
    name = function.__name__
    try:
        function(*arguments)
    except Exception as e:
        check(f"{name} ran to its end", False, f"{type(e).__name__}: {e}")


def create(node, *names, partitions=1):
    admin = AdminClient({"bootstrap.servers": node.bootstrap, **QUIET})
    for future in admin.create_topics([NewTopic(n, partitions, 1) for n in names]).values():
        future.result(30)


def producer(node, tid, timeout_ms=60000, ready=True):
    made = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": tid, "linger.ms": 1,
                     "transaction.timeout.ms": timeout_ms, "retry.backoff.ms": 20, **QUIET})
    if ready:
        made.init_transactions(60)
    return made


def read(node, topic, partitions=1, isolation="read_committed"):
    """Values in the order of the partitions and offsets."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "reader",
                         "enable.auto.commit": False, "enable.partition.eof": True,
                         "isolation.level": isolation, **QUIET})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    rows, ended, end = [], set(), time.monotonic() + 60
    while len(ended) < partitions and time.monotonic() < end:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            continue
        rows.append((message.partition(), message.offset(), message.value()))
    consumer.close()
    return [value for _, _, value in sorted(rows)] if len(ended) == partitions else None


def error_of(function, *arguments):
    """The error a call ends with; None = it succeeded."""
    try:
        function(*arguments)
    except KafkaException as e:
        return e.args[0]
    return None


def librdkafka(node):
    create(node, "rd")
    one = producer(node, "rd")
    one.begin_transaction()
    for i in range(100):
        one.produce("rd", f"c{i}")
    one.commit_transaction(30)
    one.begin_transaction()
    for i in range(100):
        one.produce("rd", f"a{i}")
    one.flush(30)
    one.abort_transaction(30)
    one.begin_transaction()
    one.produce("rd", "last")
    one.commit_transaction(30)
    want = [b"c%d" % i for i in range(100)] + [b"last"]
    check("librdkafka: commit, abort, commit", read(node, "rd") == want)
    check("librdkafka: uncommitted readers see the aborted ones",
          len(read(node, "rd", isolation="read_uncommitted")) == 201)
    one.begin_transaction()
    one.produce("rd", "zombie")
    one.flush(30)
    two = producer(node, "rd")
    error = error_of(one.commit_transaction, 30)
    check("librdkafka: the first instance is fenced, for good", error and error.fatal() and
          error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED,
                           KafkaError.INVALID_PRODUCER_EPOCH), error)
    two.begin_transaction()
    two.produce("rd", "second")
    two.commit_transaction(30)
    check("librdkafka: the second goes on, without the zombie's record", read(node, "rd") ==
          want + [b"second"])
    slow = producer(node, "rd-slow", 1000)
    slow.begin_transaction()
    slow.produce("rd", "slow")
    slow.flush(30)
    probe = Probe(node)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        row = probe.call("DescribeTransactions", 0, {"TransactionalIds": ["rd-slow"]})
        if row["TransactionStates"][0]["TransactionState"] == "CompleteAbort":
            break
        time.sleep(0.05)
    error = error_of(slow.commit_transaction, 30)
    check("librdkafka: a commit after the timeout fails", error is not None, error)
    check("librdkafka: and is not there", read(node, "rd") == want + [b"second"])
    error = error_of(producer(node, "rd-max", 900001, ready=False).init_transactions, 30)
    check("librdkafka: a timeout above the maximum", error and error.code() ==
          KafkaError.INVALID_TRANSACTION_TIMEOUT, error)


def copies(node):
    """Consume, transform, produce: offsets go with the transaction."""
    create(node, "from", "to")
    plain = Producer({"bootstrap.servers": node.bootstrap, **QUIET})
    for i in range(300):
        plain.produce("from", str(i))
    plain.flush(30)
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "copy",
                         "enable.auto.commit": False, "auto.offset.reset": "earliest",
                         "isolation.level": "read_committed", **QUIET})
    consumer.subscribe(["from"])
    copier, done, turn = producer(node, "copy"), 0, 0
    end = time.monotonic() + 60
    while done < 300 and time.monotonic() < end:
        messages = [m for m in consumer.consume(40, 1) if not m.error()]
        if not messages:
            continue
        copier.begin_transaction()
        for m in messages:
            copier.produce("to", m.value())
        copier.send_offsets_to_transaction(consumer.position(consumer.assignment()),
                                           consumer.consumer_group_metadata(), 30)
        turn += 1
        if turn % 3 == 0:
            copier.abort_transaction(30)
            place = consumer.committed([TopicPartition("from", 0)], timeout=30)[0]
            consumer.seek(TopicPartition("from", 0, max(0, place.offset)))
        else:
            copier.commit_transaction(30)
            done += len(messages)
    place = consumer.committed([TopicPartition("from", 0)], timeout=30)[0].offset
    consumer.close()
    check("consume, transform, produce: every record once", read(node, "to") ==
          [b"%d" % i for i in range(300)])
    check("and its offsets are those of the committed transactions", place == 300, place)


def aio(node):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition as Place
    from aiokafka.errors import KafkaError as AioError
    create(node, "aio", partitions=2)

    async def run():
        one = AIOKafkaProducer(bootstrap_servers=node.bootstrap, transactional_id="aio")
        await one.start()
        async with one.transaction():
            await one.send_and_wait("aio", b"one", partition=0)
            await one.send_and_wait("aio", b"two", partition=1)
            await one.send_offsets_to_transaction({Place("aio", 0): 7}, "aio-group")
        try:
            async with one.transaction():
                await one.send_and_wait("aio", b"gone", partition=0)
                raise ValueError
        except ValueError:
            pass
        two = AIOKafkaProducer(bootstrap_servers=node.bootstrap, transactional_id="aio")
        await two.start()
        fenced = None
        try:
            async with one.transaction():
                await one.send_and_wait("aio", b"zombie", partition=0)
        except AioError as e:
            fenced = e
        async with two.transaction():
            await two.send_and_wait("aio", b"three", partition=0)
        reader = AIOKafkaConsumer(bootstrap_servers=node.bootstrap, group_id="aio-group",
                                  isolation_level="read_committed", enable_auto_commit=False)
        await reader.start()
        committed = await reader.committed(Place("aio", 0))
        reader.assign([Place("aio", 0), Place("aio", 1)])
        await reader.seek_to_beginning()
        seen, end = [], time.monotonic() + 20
        while len(seen) < 3 and time.monotonic() < end:
            for rows in (await reader.getmany(timeout_ms=500)).values():
                seen += [r.value for r in rows]
        await reader.stop()
        await two.stop()
        try:
            await one.stop()
        except AioError:
            pass
        return fenced, committed, sorted(seen)
    fenced, committed, seen = asyncio.run(run())
    check("aiokafka: the first instance is fenced", fenced is not None, fenced)
    check("aiokafka: offsets of the transaction", committed == 7, committed)
    check("aiokafka: committed records only", seen == [b"one", b"three", b"two"], seen)


def python(node):
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition as Place
    create(node, "py")
    made = KafkaProducer(bootstrap_servers=node.bootstrap, transactional_id="py")
    made.init_transactions()
    for word, commit in ((b"one", True), (b"gone", False), (b"two", True)):
        made.begin_transaction()
        made.send("py", word)
        made.flush()
        made.commit_transaction() if commit else made.abort_transaction()
    made.close()
    reader = KafkaConsumer(bootstrap_servers=node.bootstrap, isolation_level="read_committed",
                           enable_auto_commit=False, consumer_timeout_ms=3000)
    reader.assign([Place("py", 0)])
    reader.seek_to_beginning()
    seen = []
    for row in reader:
        seen.append(row.value)
        if len(seen) == 2:
            break
    reader.close()
    check("kafka-python: commit, abort, commit", seen == [b"one", b"two"], seen)


def survives(node):
    """A producer that lives through a restart in the middle of its transaction."""
    create(node, "through")
    for word, stop in (("a stop", node.stop), ("kill -9", node.kill)):
        made = producer(node, "through")
        made.begin_transaction()
        for i in range(50):
            made.produce("through", f"{word}-{i}")
        made.flush(30)
        stop()
        node.start()
        for i in range(50, 100):
            made.produce("through", f"{word}-{i}")
        error = error_of(made.commit_transaction, 60)
        check(f"a transaction goes through {word}", error is None, error)
    want = [f"{word}-{i}".encode() for word in ("a stop", "kill -9") for i in range(100)]
    check("with every record once", read(node, "through") == want)


class Writer:
    """Transactions of random size without a pause; knows what was committed for certain."""

    def __init__(self, node, number, rng):
        self.node, self.name, self.rng = node, f"kill-{number}", rng
        self.committed, self.unsure, self.stop, self.count = [], [], threading.Event(), 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        made = None
        while not self.stop.is_set():
            try:
                made = made or producer(self.node, self.name, 10000)
                made.begin_transaction()
                self.count += 1
                batch = [f"{self.name}-{self.count}-{i}" for i in range(self.rng.randint(1, 60))]
                for i, value in enumerate(batch):
                    made.produce("killed", value, partition=i % 2)
                if self.rng.random() < 0.3:
                    made.abort_transaction(60)
                    continue
                self.unsure.append(batch)  # an error of the commit leaves it open
                self.commit(made)
                self.unsure.remove(batch)
                self.committed.append(batch)
            except KafkaException as e:
                made = self.recover(made, e.args[0])

    @staticmethod
    def commit(made):
        while True:
            try:
                return made.commit_transaction(60)
            except KafkaException as e:
                if not e.args[0].retriable():
                    raise

    @staticmethod
    def recover(made, error):
        if made is None or error.fatal() or not error.txn_requires_abort():
            return None
        try:
            made.abort_transaction(60)
        except KafkaException:
            return None
        return made


def killed(node):
    rng = random.Random(SEED)
    print(f"# seed {SEED}", flush=True)
    create(node, "killed", partitions=2)
    writers = [Writer(node, i, random.Random(f"{SEED} {i}")) for i in range(2)]
    for turn in range(ROUNDS):
        time.sleep(0.3 + rng.random())
        node.kill()
        node.start()
        before = sum(len(w.committed) for w in writers)
        end = time.monotonic() + 60
        while sum(len(w.committed) for w in writers) < before + 4 and time.monotonic() < end:
            time.sleep(0.02)
        check(f"kill {turn + 1}: transactions go on", time.monotonic() < end)
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.thread.join(120)
        producer(node, writer.name)  # ends what is open
    seen = read(node, "killed", 2)
    check("kill: read to the end", seen is not None)
    whole = {}
    for value in seen or []:
        name, number = value.decode().rsplit("-", 1)
        whole.setdefault(name, []).append(int(number))
    committed = {b[0].rsplit("-", 1)[0]: len(b) for w in writers for b in w.committed}
    unsure = {b[0].rsplit("-", 1)[0]: len(b) for w in writers for b in w.unsure}
    lost = [n for n, size in committed.items() if sorted(whole.get(n, [])) != list(range(size))]
    check(f"kill: {len(committed)} committed transactions are there, whole, once", not lost, lost)
    torn = [n for n in unsure if n in whole and sorted(whole[n]) != list(range(unsure[n]))]
    check("kill: what failed while it committed is there whole or not at all", not torn, torn)
    more = [n for n in whole if n not in committed and n not in unsure]
    check("kill: nothing aborted is read", not more, more[:5])


def stood_still(node):
    """Offsets in a transaction of a producer that stood still while its broker was killed and came
    back. librdkafka 2.16 waits here until one of its connections breaks: with Klamm for a second, with
    Apache Kafka for minutes, unless it is told not to begin anew (docs/OPERATIONS.md, Clients)."""
    create(node, "still")
    anew = {"metadata.recovery.strategy": "none"} if node.kind == "apache" else {}
    one = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "still", **anew,
                    **QUIET})
    reader = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "still", **QUIET})
    one.init_transactions(60)

    def copy(offset):
        one.begin_transaction()
        one.produce("still", str(offset))
        one.send_offsets_to_transaction([TopicPartition("still", 0, offset)],
                                        reader.consumer_group_metadata(), 30)
        one.commit_transaction(30)

    copy(1)
    node.kill()
    node.start()
    time.sleep(3)  # it has its connections again before it needs them
    thread = threading.Thread(target=attempt, args=(copy, 2), daemon=True)
    thread.start()
    began = time.monotonic()
    thread.join(40)
    check("stood still: the transaction after the restart comes to its end",
          not thread.is_alive() and time.monotonic() - began < 15)
    kept = reader.committed([TopicPartition("still", 0)], 30)[0].offset
    check("stood still: its offset is there", kept == 2, kept)
    check("stood still: its record too", read(node, "still") == [b"1", b"2"])
    reader.close()


def main():
    node = node_under_test(
        transaction__abort__timed__out__transaction__cleanup__interval__ms="200").start()
    try:
        for part in (librdkafka, copies, aio, python, survives, killed, stood_still):
            attempt(part, node)
    finally:
        node.clean()
    finish()


main()
