#!/usr/bin/env python3
"""Segments of magic 0 and 1 in a data folder that was written before Kafka 0.11: they are loaded,
recovered, looked up and served as they are. NODE=apache runs the same on Apache Kafka 4.4.0, which
must pass as well."""
import glob
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from klegacy import LOG_APPEND_TIME, entries, message, wrapper  # noqa: E402
from nodes import check, finish  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402

T = 1400000000000


def first_segment():
    return b"".join([
        message(0, b"v0 a", magic=0),
        message(1, b"v0 b", key=b"k", magic=0),
        message(2, None, key=b"k", magic=0),
        wrapper(3, [b"v0 c", b"v0 d", b"v0 e"], magic=0),
        message(6, b"v1 a", timestamp=T + 1000),
        message(7, b"v1 b", key=b"k", timestamp=T + 3000),
        message(8, b"v1 c", timestamp=T + 2000),
        wrapper(9, [b"v1 d", b"v1 e", b"v1 f", b"v1 g"],
                timestamps=(T + 2500, T + 6000, T + 5000, T + 4000)),
        wrapper(13, [b"v1 h", b"v1 i"], timestamps=(T + 7000, T + 7000),
                attributes=LOG_APPEND_TIME),
    ])


def second_segment():
    """From 15 on, with a gap as compaction leaves one."""
    return b"".join([
        message(15, b"v1 j", timestamp=T + 7500),
        message(18, b"v1 k", timestamp=T + 9000),
        message(19, b"v1 l", timestamp=T + 8000),
    ])


def plant(node, topic, torn=b""):
    """Puts the old segments in the place of the topic's empty one."""
    folder = os.path.join(node.data, topic + "-0")
    for path in glob.glob(os.path.join(folder, "0*")):
        os.remove(path)
    for base, data in ((0, first_segment()), (15, second_segment() + torn)):
        with open(os.path.join(folder, f"{base:020}.log"), "wb") as out:
            out.write(data)


def started(node, topics):
    """A probe once the topics are led with all that is in their logs."""
    node.start()
    t = Probe(node)
    end = time.monotonic() + 30
    while any(t.end(topic) != (0, 20) for topic in topics) and time.monotonic() < end:
        time.sleep(0.05)
    return t


def reads(t, topic):
    """Each segment is answered as it lies in the file, from the entry that holds the offset on."""
    for base, data in ((0, first_segment()), (15, second_segment())):
        for last, at, _ in entries(data):
            part = t.fetch(topic, last)
            check(f"{topic}: offset {last} is answered from its entry on",
                  (part["ErrorCode"], (part["Records"] or b"")[:len(data) - at]) == (0, data[at:]),
                  (part["ErrorCode"], len(part["Records"] or b""), len(data) - at))
    data = first_segment()
    at = next(at for last, at, _ in entries(data) if last == 12)
    check(f"{topic}: an offset within a wrapper gives the wrapper",
          t.fetch(topic, 10)["Records"][:len(data) - at] == data[at:])
    check(f"{topic}: an offset within a gap gives the next entry",
          t.fetch(topic, 16)["Records"][:20] == second_segment()[
              entries(second_segment())[1][1]:][:20])
    at, size = next((at, size) for last, at, size in entries(data) if last == 5)
    part = t.fetch(topic, 4, PartitionMaxBytes=1, MaxBytes=1)
    check(f"{topic}: one entry that is larger than the limits is whole",
          part["Records"] == data[at:at + size], len(part["Records"]))


def looks_up(t, topic):
    def at(timestamp):
        part = t.offset(topic, timestamp)
        return part["ErrorCode"], part["Offset"], part["Timestamp"]
    wanted = {
        T: (6, T + 1000), T + 1001: (7, T + 3000), T + 3001: (10, T + 6000),
        T + 5500: (10, T + 6000), T + 6001: (13, T + 7000), T + 7001: (15, T + 7500),
        T + 7501: (18, T + 9000),
    }
    for timestamp, (offset, found) in wanted.items():
        check(f"{topic}: by time T + {timestamp - T}", at(timestamp) == (0, offset, found),
              at(timestamp))
    check(f"{topic}: the time of nothing", at(T + 9001) == (0, -1, -1), at(T + 9001))
    check(f"{topic}: the largest timestamp", at(-3) == (0, 18, T + 9000), at(-3))
    check(f"{topic}: earliest and latest", (at(-2)[1], t.end(topic)) == (0, (0, 20)))


def main():
    node = node_under_test(log__retention__ms="-1",
                           log__message__timestamp__before__max__ms=1 << 60).start()
    try:
        t = Probe(node)
        t.create("clean")
        t.create("crashed")
        t.create("torn")
        node.stop()
        plant(node, "clean")
        t = started(node, ["clean"])
        reads(t, "clean")
        looks_up(t, "clean")
        node.stop()
        # Recovered as a whole: nothing is known to have been flushed.
        plant(node, "crashed")
        plant(node, "torn", torn=message(20, b"torn", timestamp=T)[:-2])
        os.remove(os.path.join(node.data, ".kafka_cleanshutdown"))
        topics = ("crashed", "torn", "clean")
        t = started(node, topics)
        for topic in topics:
            reads(t, topic)
            looks_up(t, topic)
        # The log goes on with batches of today.
        answer = t.produce("torn", kbatch.batch([b"new"], timestamp=T + 9500))
        check("the next batch follows", (answer["ErrorCode"], answer["BaseOffset"]) == (0, 20))
        part = t.fetch("torn", 19)
        at = entries(second_segment())[-1][1]
        check("old and new are answered together",
              part["Records"].startswith(second_segment()[at:]) and
              kbatch.parse(part["Records"][len(second_segment()) - at:])[0][0] == 20)
    finally:
        node.clean()
    finish()


main()
