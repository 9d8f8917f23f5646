"""Produce, fetch, offsets: every version, good and bad."""
import kbatch

NOBODY = "11111111-1111-4111-8111-111111111111"


def produce_of(name, topic_id, records, partition=0, acks=-1, **more):
    return {"Acks": acks, "TimeoutMs": 5000, "TopicData": [
        {"Name": name, "TopicId": topic_id, "PartitionData": [
            {"Index": partition, "Records": records}]}], **more}


def fetch_of(name, topic_id, offset, partition=0, **more):
    body = {"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [
        {"Topic": name, "TopicId": topic_id, "Partitions": [
            {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20}]}]}
    body.update(more)
    return body


def list_of(name, timestamp, partition=0, epoch=-1, isolation=0):
    return {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": [
        {"Name": name, "Partitions": [{"PartitionIndex": partition, "CurrentLeaderEpoch": epoch,
                                       "Timestamp": timestamp}]}]}


def now(k):
    return k.node.clock


def produce(k):
    tid, = k.create("p-a")
    stamp = now(k)
    good = kbatch.batch([b"one", b"two"], timestamp=stamp)
    k.each("Produce", produce_of("p-a", tid, good), "good")
    k.each("Produce", produce_of("p-a", tid, good, acks=1), "leader only")
    k.each("Produce", produce_of("p-none", NOBODY, good), "unknown topic")
    k.each("Produce", produce_of("p-a", tid, good, partition=7), "unknown partition")
    k.each("Produce", produce_of("p-a", tid, good, partition=-1), "negative partition")
    k.each("Produce", produce_of("p-a", tid, good, acks=2), "acks 2")
    bad = {
        "null records": None, "empty records": b"",
        "crc": kbatch.batch([b"x"], timestamp=stamp, crc=1),
        "magic 1": kbatch.batch([b"x"], timestamp=stamp, magic=1),
        "magic 3": kbatch.batch([b"x"], timestamp=stamp, magic=3),
        "length -1": kbatch.batch([b"x"], timestamp=stamp, length=-1),
        "length too long": kbatch.batch([b"x"], timestamp=stamp, length=1000),
        "length huge": kbatch.batch([b"x"], timestamp=stamp, length=2147483647),
        "two batches": good + good, "trailing bytes": good + b"\0\0\0",
        "control": kbatch.batch([b"x"], timestamp=stamp, attributes=0x20),
        "count 0": kbatch.batch([], timestamp=stamp, records=b"", last_offset_delta=0),
        "count wrong": kbatch.batch([b"x", b"y"], timestamp=stamp, count=3),
        "count low": kbatch.batch([b"x", b"y"], timestamp=stamp, count=1),
        "last delta": kbatch.batch([b"x", b"y"], timestamp=stamp, last_offset_delta=5),
        "base offset": kbatch.batch([b"x"], timestamp=stamp, base_offset=50),
        "leader epoch": kbatch.batch([b"x"], timestamp=stamp, leader_epoch=77),
        "codec 5": kbatch.batch([b"x"], timestamp=stamp, attributes=5),
        "not gzip": kbatch.batch([b"x"], timestamp=stamp, attributes=1),
        "gzip": kbatch.batch([b"x" * 100], timestamp=stamp, codec="gzip"),
        "future": kbatch.batch([b"x", b"y"], timestamp=stamp + 7200000),
        "max timestamp": kbatch.batch([b"x"], timestamp=stamp, max_timestamp=-1),
        "transactional": kbatch.batch([b"x"], timestamp=stamp, attributes=0x10),
        "offset gap": kbatch.batch([b"x", b"y"], timestamp=stamp, records=kbatch.record(b"x") +
                                   kbatch.record(b"y", None, 2)),
        "record cut": kbatch.batch([b"x"], timestamp=stamp, records=kbatch.record(b"xyz")[:-1]),
        "record too long": kbatch.batch([b"x"], timestamp=stamp,
                                        records=kbatch.varint(40) + kbatch.record(b"x")[1:]),
        "header key null": kbatch.batch([b"x"], timestamp=stamp,
                                        records=kbatch.record(b"x", headers=[(None, b"v")])),
        "delete horizon": kbatch.batch([b"x"], timestamp=stamp, attributes=0x40),
        "high attributes": kbatch.batch([b"x"], timestamp=stamp, attributes=0x80),
        "append time bit": kbatch.batch([b"x"], timestamp=stamp, attributes=0x08),
        "short": b"\0" * 20, "61 zeros": b"\0" * 61,
    }
    for label, records in bad.items():
        for version in (3, 8, 13):
            k.ask("Produce", version, produce_of("p-a", tid, records), label)
    k.ask("ListOffsets", 11, list_of("p-a", -1), "after all of it")
    fetched = k.ask("Fetch", 17, fetch_of("p-a", tid, 0), keep=False)
    data = fetched["Responses"][0]["Partitions"][0]["Records"]
    k.keep("what is in the log", [[b, h, r.hex()] for b, h, r in kbatch.parse(data)])
    two = produce_of("p-a", tid, good)
    two["TopicData"][0]["PartitionData"].append({"Index": 0, "Records": good})
    k.ask("Produce", 13, two, "partition named twice")
    k.ask("Produce", 13, produce_of("p-a", "00000000-0000-0000-0000-000000000000", good), "zero id")
    k.ask("Produce", 12, {"Acks": -1, "TimeoutMs": 1000, "TopicData": []}, "no topics")
    for acks in (0,):
        with k.connect() as c:
            c.send("Produce", 9, produce_of("p-a", tid, good, acks=acks))
            k.ask("ListOffsets", 11, list_of("p-a", -1), "after acks 0", connection=c)
        with k.connect() as c:
            c.send("Produce", 9, produce_of("p-none", tid, good, acks=acks))
            k.ask("ListOffsets", 11, list_of("p-a", -1), "after failed acks 0", connection=c)


def more_in_sync_than_replicas(k):
    """A min.insync.replicas above the replicas that there are asks for these."""
    tid, = k.create("p-isr", configs={"min.insync.replicas": "2"})
    for acks in (-1, 1):
        k.ask("Produce", 13, produce_of("p-isr", tid, kbatch.batch([b"x"], timestamp=now(k)),
                                        acks=acks), f"min ISR 2 of 1 replica, acks {acks}")
    k.ask("ListOffsets", 11, list_of("p-isr", -1), "min ISR 2 of 1 replica")


def topic_rules(k):
    stamp = now(k)
    compact, = k.create("p-compact", configs={"cleanup.policy": "compact"})
    append, = k.create("p-append", configs={"message.timestamp.type": "LogAppendTime"})
    small, = k.create("p-small", configs={"max.message.bytes": "200"})
    gz, = k.create("p-gzip", configs={"compression.type": "gzip"})
    plain, = k.create("p-uncompressed", configs={"compression.type": "uncompressed"})
    tight, = k.create("p-tight", configs={"message.timestamp.before.max.ms": "1000",
                                          "message.timestamp.after.max.ms": "1000"})
    for version in (3, 7, 8, 13):
        mixed = kbatch.record(b"v", b"k", 0) + kbatch.record(b"v", None, 1) + \
            kbatch.record(b"w", None, 2)
        k.ask("Produce", version, produce_of("p-compact", compact, kbatch.batch(
            [0, 1, 2], timestamp=stamp, records=mixed)), "keyless on compacted")
        k.ask("Produce", version, produce_of("p-append", append, kbatch.batch(
            [b"a", b"b"], timestamp=stamp - 5000)), "append time")
        k.ask("Produce", version, produce_of("p-small", small, kbatch.batch(
            [b"x" * 300], timestamp=stamp)), "too large")
        k.ask("Produce", version, produce_of("p-small", small, kbatch.batch(
            [b"x" * 100], timestamp=stamp)), "not too large")
        k.ask("Produce", version, produce_of("p-gzip", gz, kbatch.batch(
            [b"x" * 100] * 3, timestamp=stamp)), "to be compressed")
        k.ask("Produce", version, produce_of("p-uncompressed", plain, kbatch.batch(
            [b"x" * 100] * 3, timestamp=stamp, codec="gzip")), "to be uncompressed")
        old = kbatch.record(b"a", None, 0, -5000000) + kbatch.record(b"b", None, 1, 0) + \
            kbatch.record(b"c", None, 2, 5000000)
        k.ask("Produce", version, produce_of("p-tight", tight, kbatch.batch(
            [0, 1, 2], timestamp=stamp, records=old, max_timestamp=stamp + 5000000)), "timestamps")
    for name, tid in (("p-append", append), ("p-gzip", gz), ("p-uncompressed", plain)):
        fetched = k.ask("Fetch", 17, fetch_of(name, tid, 0), keep=False)
        data = fetched["Responses"][0]["Partitions"][0]["Records"]
        k.keep(f"{name} in the log", [
            [b, {f: h[f] for f in ("attributes", "count", "last_offset_delta", "crc_ok",
                                   "leader_epoch", "max_timestamp")}]
            for b, h, r in kbatch.parse(data)])


def idempotent(k):
    tid, = k.create("i-a")
    stamp = now(k)
    while k.ask("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1},
                keep=False)["ErrorCode"]:
        pass  # Apache Kafka answers COORDINATOR_LOAD_IN_PROGRESS at first
    answers = [k.ask("InitProducerId", v, {"TransactionalId": None, "TransactionTimeoutMs": 1000},
                     "fresh") for v in range(0, 6)]
    k.ask("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 0}, "timeout 0")
    k.ask("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1000,
                                "ProducerId": answers[0]["ProducerId"], "ProducerEpoch": 3}, "bump")
    k.ask("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 1000,
                                "ProducerId": 5, "ProducerEpoch": -1}, "id without epoch")
    k.ask("InitProducerId", 4, {"TransactionalId": "", "TransactionTimeoutMs": 1000}, "empty id")
    pid = answers[0]["ProducerId"]

    def send(label, sequence, epoch=0, count=2, producer=pid, version=9):
        records = kbatch.batch([b"x"] * count, timestamp=stamp, producer_id=producer,
                               producer_epoch=epoch, base_sequence=sequence)
        k.ask("Produce", version, produce_of("i-a", tid, records), label)
    send("first", 0)
    send("again", 0)
    send("next", 2)
    send("first again", 0)
    send("gap", 6)
    send("overlap", 3)
    send("part of a batch", 0, count=1)
    for i in range(2, 8):
        send(f"batch {i}", i * 2)
    send("one of the last five", 8)
    send("older than five", 0)
    send("epoch up, not at 0", 3, epoch=1)
    send("epoch up", 0, epoch=1)
    send("old epoch", 2, epoch=0)
    send("new producer at 5", 5, producer=answers[1]["ProducerId"])
    send("its next", 7, producer=answers[1]["ProducerId"])
    send("wrap", 2147483647, producer=answers[2]["ProducerId"])
    send("after the wrap", 1, producer=answers[2]["ProducerId"])
    send("negative epoch", 0, epoch=-1, producer=answers[3]["ProducerId"])
    send("negative sequence", -1, producer=answers[3]["ProducerId"])
    send("unknown id", 0, producer=123456789)
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "i-a", "PartitionIndexes": [0, 5]},
                                              {"Name": "i-none", "PartitionIndexes": [0]}]}, "")


def fetch(k):
    tid, empty = k.create("f-a", "f-empty")
    stamp = now(k)
    for i in range(4):
        k.ask("Produce", 9, produce_of("f-a", tid, kbatch.batch(
            [b"a%d" % i, b"b%d" % i], timestamp=stamp + i)), keep=False)
    for offset in (0, 1, 3, 7, 8, 9, -1, 100):
        k.each("Fetch", fetch_of("f-a", tid, offset), f"at {offset}")
    k.each("Fetch", fetch_of("f-empty", empty, 0), "empty")
    k.each("Fetch", fetch_of("f-none", NOBODY, 0), "unknown")
    k.each("Fetch", fetch_of("f-a", tid, 0, partition=5), "unknown partition")
    k.each("Fetch", fetch_of("f-a", tid, 0, IsolationLevel=1), "committed")
    for level in (2, -1):
        k.each("Fetch", fetch_of("f-a", tid, 0, IsolationLevel=level), f"isolation level {level}")
    for replica in (0, 1, -2, -3):
        follower = fetch_of("f-a", tid, 0)
        k.each("Fetch", {**follower, "ReplicaId": replica}, f"replica {replica}", high=14)
        k.each("Fetch", {**follower, "ReplicaState": {"ReplicaId": replica, "ReplicaEpoch": -1}},
               f"replica {replica}", low=15)
        for epoch in (0, 1):
            follower["Topics"][0]["Partitions"][0]["CurrentLeaderEpoch"] = epoch
            k.each("Fetch", {**follower, "ReplicaId": replica,
                             "ReplicaState": {"ReplicaId": replica, "ReplicaEpoch": -1}},
                   f"replica {replica} epoch {epoch}", low=9)
    k.each("Fetch", fetch_of("f-a", tid, 0, MaxBytes=10), "small limit")
    k.each("Fetch", fetch_of("f-a", tid, 0, MaxBytes=0), "no bytes")
    zero = fetch_of("f-a", tid, 0)
    zero["Topics"][0]["Partitions"][0]["PartitionMaxBytes"] = 0
    k.each("Fetch", zero, "no partition bytes")
    for epoch in (0, 5, -1, -2):
        fenced = fetch_of("f-a", tid, 0)
        fenced["Topics"][0]["Partitions"][0]["CurrentLeaderEpoch"] = epoch
        k.each("Fetch", fenced, f"leader epoch {epoch}", low=9)
    for epoch in (0, 3):
        diverging = fetch_of("f-a", tid, 8)
        diverging["Topics"][0]["Partitions"][0]["LastFetchedEpoch"] = epoch
        k.each("Fetch", diverging, f"last fetched epoch {epoch}", low=12)
    zstd, = k.create("f-zstd", configs={"compression.type": "zstd"})
    k.ask("Produce", 9, produce_of("f-zstd", zstd, kbatch.batch([b"x"], timestamp=stamp)), keep=False)
    for version in (4, 9):
        k.ask("Fetch", version, fetch_of("f-zstd", zstd, 0), "zstd to old clients")
    for epoch in (0, 3):
        k.each("OffsetForLeaderEpoch", {"Topics": [{"Topic": "f-a", "Partitions": [
            {"Partition": 0, "CurrentLeaderEpoch": -1, "LeaderEpoch": epoch}]}]}, f"epoch {epoch}")
    k.each("OffsetForLeaderEpoch", {"Topics": [
        {"Topic": "f-none", "Partitions": [{"Partition": 0, "LeaderEpoch": 0}]},
        {"Topic": "f-a", "Partitions": [{"Partition": 4, "LeaderEpoch": 0},
                                        {"Partition": 0, "LeaderEpoch": -1}]}]}, "unknown")
    for current in (9, -2):
        k.ask("OffsetForLeaderEpoch", 4, {"Topics": [{"Topic": "f-a", "Partitions": [
            {"Partition": 0, "CurrentLeaderEpoch": current, "LeaderEpoch": 0}]}]},
            f"current epoch {current}")


def sessions(k):
    tid, other = k.create("s-a", "s-b")
    stamp = now(k)
    k.ask("Produce", 9, produce_of("s-a", tid, kbatch.batch([b"a"], timestamp=stamp)), keep=False)
    for version in (7, 12, 13, 17):
        def ask(label, session, epoch, topics, forgotten=(), offset=0):
            names = {"s-a": tid, "s-b": other, "s-none": NOBODY}
            return k.ask("Fetch", version, {
                "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "SessionId": session,
                "SessionEpoch": epoch,
                "Topics": [{"Topic": n, "TopicId": names[n], "Partitions": [
                    {"Partition": 0, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20}]}
                    for n in topics],
                "ForgottenTopicsData": [{"Topic": n, "TopicId": names[n], "Partitions": [0]}
                                        for n in forgotten]}, label)
        full = ask("session, full", 0, 0, ["s-a", "s-b"])
        sid = full["SessionId"]
        ask("session, same offset", sid, 1, [])
        ask("session, epoch again", sid, 1, [])
        ask("session, forward", sid, 2, ["s-a"], offset=1)
        ask("session, nothing new", sid, 3, [])
        ask("session, forget", sid, 4, [], ["s-b"])
        ask("session, unknown topic", sid, 5, ["s-none"])
        ask("session, bad epoch", sid, 9, [])
        ask("session, unknown id", 123456, 1, [])
        ask("session, close", sid, -1, [])
        ask("session, closed", sid, 6, [])
        ask("session, none", 0, -1, ["s-a"])


def offsets(k):
    tid, empty = k.create("o-a", "o-empty")
    stamp = now(k)
    for shift in (0, 50, 20, 80):
        records = kbatch.record(b"a", None, 0, 0) + kbatch.record(b"b", None, 1, 5)
        k.ask("Produce", 9, produce_of("o-a", tid, kbatch.batch(
            [0, 1], timestamp=stamp + shift, records=records, max_timestamp=stamp + shift + 5)),
            keep=False)
    for what in (-1, -2, -3, -4, -5, -6, -7, -100):
        k.each("ListOffsets", list_of("o-a", what), f"special {what}")
        k.ask("ListOffsets", 11, list_of("o-empty", what), f"empty {what}")
        k.ask("ListOffsets", 11, list_of("o-a", what, isolation=1), f"committed {what}")
    for shift in (-1, 0, 3, 5, 6, 24, 25, 26, 51, 55, 56, 85, 86):
        answer = k.ask("ListOffsets", 11, list_of("o-a", stamp + shift), keep=False)
        part = answer["Topics"][0]["Partitions"][0]
        part["Timestamp"] -= stamp if part["Timestamp"] > 0 else 0
        k.keep(f"ListOffsets by time +{shift}", part)
    k.each("ListOffsets", list_of("o-none", -1), "unknown")
    k.each("ListOffsets", list_of("o-a", -1, partition=3), "unknown partition")
    k.each("ListOffsets", list_of("o-a", -1, epoch=0), "epoch 0", low=4)
    k.each("ListOffsets", list_of("o-a", -1, epoch=4), "epoch 4", low=4)
    k.each("ListOffsets", list_of("o-a", -1, epoch=-2), "epoch -2", low=4)
    k.each("ListOffsets", list_of("o-a", -1, isolation=2), "isolation level 2")
    twice = list_of("o-a", -1)
    twice["Topics"][0]["Partitions"] *= 2
    k.each("ListOffsets", twice, "twice")

    def delete(offset, name="o-a", partition=0):
        return {"TimeoutMs": 1000, "Topics": [{"Name": name, "Partitions": [
            {"PartitionIndex": partition, "Offset": offset}]}]}
    for offset in (0, 3, 1, 100, -2, -1):
        k.each("DeleteRecords", delete(offset), f"to {offset}")
    k.each("DeleteRecords", delete(0, "o-none"), "unknown")
    k.each("DeleteRecords", delete(0, partition=3), "unknown partition")
    k.coordinator("o-g")
    for partition in (0, 99):
        k.each("DeleteRecords", delete(0, "__consumer_offsets", partition), f"internal {partition}")
    k.create("o-compact", configs={"cleanup.policy": "compact"})
    k.each("DeleteRecords", delete(0, "o-compact"), "compacted")
    for what in (-1, -2, -3, -4):
        k.ask("ListOffsets", 11, list_of("o-a", what), f"emptied {what}")
    k.ask("Fetch", 17, fetch_of("o-a", tid, 0), "below the start")


def named_twice(k):
    """The same partition again within its topic, and the same topic again."""
    tid, = k.create("n-a", partitions=2)
    stamp = now(k)
    one, two = (kbatch.batch([v] * n, timestamp=stamp) for v, n in ((b"first", 1), (b"second", 2)))

    def doubled(body, topics, partitions, change):
        inner = dict(body[topics][0][partitions][0], **change)
        within = dict(body, **{topics: [dict(body[topics][0], **{
            partitions: body[topics][0][partitions] + [inner]})]})
        apart = dict(body, **{topics: body[topics] + [
            dict(body[topics][0], **{partitions: [inner]})]})
        return ("partition", within), ("topic", apart)

    for label, body in doubled(produce_of("n-a", tid, one), "TopicData", "PartitionData",
                               {"Records": two}):
        for version in (3, 12, 13):
            k.ask("Produce", version, body, label)
            k.ask("ListOffsets", 8, list_of("n-a", -1), f"end after {version} {label}")
    for label, body in doubled(fetch_of("n-a", tid, 0), "Topics", "Partitions", {"FetchOffset": 3}):
        for version in (4, 12, 13):
            k.ask("Fetch", version, body, label)
    epoch = {"ReplicaId": -1, "Topics": [{"Topic": "n-a", "Partitions": [
        {"Partition": 0, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0}]}]}
    for label, body in doubled(epoch, "Topics", "Partitions", {"LeaderEpoch": 5}):
        k.each("OffsetForLeaderEpoch", body, label)
    delete = {"TimeoutMs": 5000, "Topics": [{"Name": "n-a", "Partitions": [
        {"PartitionIndex": 0, "Offset": 1}]}]}
    for label, body in doubled(delete, "Topics", "Partitions", {"Offset": 2}):
        k.each("DeleteRecords", body, label)
    producers = {"Topics": [{"Name": "n-a", "PartitionIndexes": [0, 0]}]}
    k.ask("DescribeProducers", 0, producers, "partition")
    producers["Topics"] *= 2
    k.ask("DescribeProducers", 0, producers, "topic")
    k.each("DescribeTopicPartitions", {"Topics": [{"Name": "n-a"}] * 2, "ResponsePartitionLimit": 100},
           "topic")


CASES = [named_twice, produce, more_in_sync_than_replicas, topic_rules, idempotent, fetch,
         sessions, offsets]
