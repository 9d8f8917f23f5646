"""Topics, metadata, configs: what admin clients ask."""
import time


def topic(name, partitions=1, replicas=1, assignments=(), configs=()):
    return {"Name": name, "NumPartitions": partitions, "ReplicationFactor": replicas,
            "Assignments": [{"PartitionIndex": i, "BrokerIds": b} for i, b in assignments],
            "Configs": [{"Name": k, "Value": v} for k, v in configs]}


def create_topics(k):
    k.each("CreateTopics", lambda v: {"Topics": [topic(f"ct-{v}", 2)]}, "plain")
    k.each("CreateTopics", lambda v: {"Topics": [topic(f"ct-{v}", 2)]}, "exists")
    k.each("CreateTopics", {"Topics": [topic("ct-5")], "validateOnly": True}, "exists, validate")
    k.each("CreateTopics", {"Topics": [topic("ct-not", 3)], "validateOnly": True}, "validate")
    k.each("CreateTopics", lambda v: {"Topics": [topic(f"ct-default-{v}", -1, -1)]}, "defaults")
    bad = [("empty name", [topic("")]), ("dot", [topic(".")]), ("dots", [topic("..")]),
           ("long", [topic("x" * 250)]), ("slash", [topic("a/b")]), ("blank", [topic("a b")]),
           ("unicode", [topic("\u00e9")]),
           ("no partitions", [topic("ct-b", 0)]), ("minus two", [topic("ct-b", -2)]),
           ("no replicas", [topic("ct-b", 1, 0)]), ("two replicas", [topic("ct-b", 1, 2)]),
           ("twice", [topic("ct-b"), topic("ct-b")]),
           ("unknown config", [topic("ct-b", configs=[("nonsense", "1")])]),
           ("bad config", [topic("ct-b", configs=[("retention.ms", "x")])]),
           ("range config", [topic("ct-b", configs=[("segment.bytes", "1")])]),
           ("null config", [topic("ct-b", configs=[("retention.ms", None)])]),
           ("bad policy", [topic("ct-b", configs=[("cleanup.policy", "burn")])]),
           ("bad compression", [topic("ct-b", configs=[("compression.type", "rar")])]),
           ("good and bad", [topic("ct-good-and"), topic("ct-b", 0)]),
           ("assigned", [topic("ct-as", -1, -1, [(0, [1]), (1, [1])])]),
           ("assigned to nobody", [topic("ct-b", -1, -1, [(0, [9])])]),
           ("assigned empty", [topic("ct-b", -1, -1, [(0, [])])]),
           ("assigned twice", [topic("ct-b", -1, -1, [(0, [1, 1])])]),
           ("assigned with a gap", [topic("ct-b", -1, -1, [(1, [1])])]),
           ("assigned and counted", [topic("ct-b", 2, 1, [(0, [1])])]),
           ("metadata topic", [topic("__cluster_metadata")]),
           ("none", [])]
    for label, topics in bad:
        k.ask("CreateTopics", 7, {"Topics": topics}, label)
        k.ask("CreateTopics", 4, {"Topics": topics}, label)
    k.create("ct.under_score")
    k.ask("CreateTopics", 7, {"Topics": [topic("ct_under.score")]}, "collision")
    k.ask("CreateTopics", 7, {"Topics": [topic("ct-cfg", configs=[
        ("retention.ms", "1000"), ("cleanup.policy", "compact,delete"),
        ("compression.type", "zstd"), ("min.insync.replicas", "1")])]}, "with configs")


def metadata(k):
    ids = k.create("md-a", "md-b", partitions=3)
    k.topic_id("md-b")
    both = [{"Name": "md-a"}, {"Name": "md-b"}]
    quiet = {"AllowAutoTopicCreation": False}
    k.each("Metadata", {"Topics": both, **quiet}, "both")
    k.each("Metadata", {"Topics": [], **quiet}, "empty", low=1)
    for label, name in (("unknown", "md-unknown"), ("bad name", "a/b"), ("empty name", "")):
        k.each("Metadata", {"Topics": [{"Name": name}], **quiet}, label, low=4)
    k.each("Metadata", {"Topics": [{"Name": None, "TopicId": ids[0]}], **quiet}, "by id", low=10)
    k.each("Metadata", {"Topics": [{"Name": None,
                                    "TopicId": "11111111-1111-4111-8111-111111111111"}], **quiet},
           "unknown id", low=10)
    k.each("Metadata", {"Topics": [{"Name": None}], **quiet}, "neither", low=10)
    k.each("Metadata", {"Topics": [{"Name": "md-a", "TopicId": ids[1]}], **quiet}, "name and id",
           low=10)
    k.each("Metadata", {"Topics": [{"Name": "md-a"}, {"Name": "md-a"}], **quiet}, "twice", low=4)
    k.each("Metadata", {"Topics": both, "IncludeClusterAuthorizedOperations": True,
                        "IncludeTopicAuthorizedOperations": True, **quiet}, "operations", low=8)
    limit = {"Topics": [{"Name": "md-a"}, {"Name": "md-b"}], "ResponsePartitionLimit": 4}
    k.ask("DescribeTopicPartitions", 0, limit, "limit")
    k.ask("DescribeTopicPartitions", 0, {"Topics": [{"Name": "md-b"}, {"Name": "md-unknown"}]},
          "unknown")
    k.ask("DescribeTopicPartitions", 0, {**limit, "Cursor": {"TopicName": "md-a",
                                                             "PartitionIndex": 2}}, "cursor")
    k.ask("DescribeTopicPartitions", 0, {**limit, "Cursor": {"TopicName": "md-b",
                                                             "PartitionIndex": -1}}, "bad cursor")
    for name in ("md-", "md-c", "zz"):
        k.ask("DescribeTopicPartitions", 0, {**limit, "Cursor": {
            "TopicName": name, "PartitionIndex": 0}}, f"cursor {name}")
    k.ask("DescribeTopicPartitions", 0, {**limit, "ResponsePartitionLimit": 0}, "no limit")


def partitions(k):
    k.create("cp-a", *[f"cp-{v}" for v in range(4)])

    def request(name, count, assignments=None, **more):
        return {"Topics": [{"Name": name, "Count": count, "Assignments": assignments}],
                "TimeoutMs": 60000, **more}
    k.each("CreatePartitions", lambda v: request(f"cp-{v}", 4), "grow")
    k.each("CreatePartitions", lambda v: request(f"cp-{v}", 4), "same")
    k.each("CreatePartitions", lambda v: request(f"cp-{v}", 2), "fewer")
    k.each("CreatePartitions", request("cp-unknown", 2), "unknown")
    k.each("CreatePartitions", request("cp-a", 3, ValidateOnly=True), "validate")
    k.each("CreatePartitions", request("cp-a", 0), "none")
    k.each("CreatePartitions", request("cp-a", -1), "negative")
    for label, topics in (
            ("too many", [("cp-a", 20000)]), ("too many in all", [("cp-a", 6000), ("cp-0", 6000)]),
            ("too many, one unknown", [("cp-unknown", 2), ("cp-a", 20000)]),
            ("too many, one twice", [("cp-0", 9), ("cp-0", 9), ("cp-a", 20000)]),
            ("too many of what is unknown", [("cp-unknown", 20000), ("cp-a", 3)])):
        k.each("CreatePartitions", {"Topics": [{"Name": n, "Count": c, "Assignments": None}
                                               for n, c in topics], "TimeoutMs": 30000,
                                    "ValidateOnly": True}, label)
    k.each("CreatePartitions", request("cp-a", 20000, [{"BrokerIds": [1]}]),
           "too many, one assignment")
    k.each("CreatePartitions", request("cp-a", 3, [{"BrokerIds": [1]}]), "one assignment of two")
    k.each("CreatePartitions", request("cp-a", 2, [{"BrokerIds": [7]}]), "assigned to nobody")
    k.each("CreatePartitions", request("cp-a", 2, [{"BrokerIds": [1, 1]}]), "assigned twice")
    k.each("CreatePartitions", {"TimeoutMs": 60000, "Topics": [
        {"Name": "cp-a", "Count": 3, "Assignments": None},
        {"Name": "cp-a", "Count": 3, "Assignments": None}]}, "named twice")
    k.each("CreatePartitions", {"TimeoutMs": 60000, "Topics": []}, "empty")
    time.sleep(0.5)  # Apache Kafka's broker learns of its new partitions a little later
    k.ask("Metadata", 12, {"Topics": [{"Name": "cp-3"}]}, "after growth")


def delete_topics(k):
    names = [f"dt-{v}" for v in range(8)]
    ids = dict(zip(names, k.create(*names)))

    def delete(*topics):
        return {"Topics": list(topics), "TimeoutMs": 60000}

    def by_names(*topics):
        return {"TopicNames": list(topics), "TimeoutMs": 60000}
    k.each("DeleteTopics", lambda v: by_names(f"dt-{v}"), "one", high=5)
    k.each("DeleteTopics", lambda v: by_names("dt-none", f"dt-{v}"), "gone", high=5)
    k.ask("DeleteTopics", 6, delete({"Name": "dt-6"}), "by name")
    k.ask("DeleteTopics", 6, delete({"Name": None, "TopicId": ids["dt-7"]}), "by id")
    k.ask("DeleteTopics", 6, delete({"Name": None, "TopicId": ids["dt-7"]}), "unknown id")
    k.ask("DeleteTopics", 6, delete({"Name": None}), "neither")
    k.create("dt-0")
    fresh = k.topic_id("dt-0")
    k.ask("DeleteTopics", 6, delete({"Name": "dt-0", "TopicId": fresh}), "both")
    k.ask("DeleteTopics", 6, delete({"Name": "dt-0"}, {"Name": "dt-0"}), "twice")
    k.ask("DeleteTopics", 6, delete({"Name": "dt-0"}, {"Name": None, "TopicId": fresh}),
          "name and its id")
    k.ask("DeleteTopics", 6, delete({"Name": ""}), "empty name")


def configs(k):
    k.create("cf-a", configs={"retention.ms": "5000", "cleanup.policy": "delete"})
    k.create("cf-b")

    def describe(kind, name, keys=None, **more):
        return {"Resources": [{"ResourceType": kind, "ResourceName": name,
                               "ConfigurationKeys": keys}], **more}
    for synonyms in (False, True):
        k.each("DescribeConfigs", describe(2, "cf-a", IncludeSynonyms=synonyms), f"topic {synonyms}")
        k.ask("DescribeConfigs", 4, describe(4, "1", IncludeSynonyms=synonyms), f"broker {synonyms}")
        k.ask("DescribeConfigs", 4, describe(4, "", IncludeSynonyms=synonyms), f"default {synonyms}")
    k.each("DescribeConfigs", describe(2, "cf-b", ["retention.ms", "nonsense"]), "named")
    k.each("DescribeConfigs", describe(2, "cf-b", []), "no keys")
    for kind, name in ((2, "cf-unknown"), (2, "a/b"), (2, ""), (4, "9"), (4, "x"), (1, "x"),
                       (0, "x"), (3, "x"), (99, "x"), (16, "m"), (32, "g"), (32, ""), (8, "9")):
        k.ask("DescribeConfigs", 4, describe(kind, name), f"type {kind} '{name}'")
        k.ask("DescribeConfigs", 1, describe(kind, name), f"type {kind} '{name}'")

    def alter(name, *changes, kind=2, **more):
        return {"Resources": [{"ResourceType": kind, "ResourceName": name, "Configs": [
            {"Name": n, "ConfigOperation": o, "Value": v} for n, o, v in changes]}], **more}

    def show(label, kind=2, name="cf-a"):
        # Apache Kafka's broker sees the change a little later: once it sees what came after it.
        k.create("cf-after-" + label.replace(" ", "-").replace("'", "").replace("=", "."))
        time.sleep(0.5 if kind == 4 else 0.1)
        answer = k.ask("DescribeConfigs", 4, describe(kind, name, IncludeSynonyms=True), keep=False)
        rows = answer["Results"][0]["Configs"] or []
        k.keep(f"configs after {label}", [r for r in rows if r["ConfigSource"] in (1, 2, 3, 7, 8)])
    for version in (0, 1):
        for label, changes in (
                ("set", [("retention.ms", 0, "7000")]),
                ("delete", [("retention.ms", 1, None)]),
                ("append unset", [("cleanup.policy", 2, "compact")]),
                ("append again", [("cleanup.policy", 2, "compact")]),
                ("subtract", [("cleanup.policy", 3, "delete")]),
                ("subtract last", [("cleanup.policy", 3, "compact")]),
                ("append scalar", [("retention.ms", 2, "1")]),
                ("twice", [("retention.ms", 0, "1"), ("retention.ms", 0, "2")]),
                ("unknown", [("nonsense", 0, "1")]),
                ("bad value", [("retention.ms", 0, "x")]),
                ("null value", [("retention.ms", 0, None)]),
                ("bad operation", [("retention.ms", 9, "1")]),
                ("out of range", [("min.insync.replicas", 0, "0")]),
                ("delete unset", [("flush.ms", 1, None)]),
                ("nothing", [])):
            k.ask("IncrementalAlterConfigs", version, alter("cf-a", *changes), label)
            show(f"{label} v{version}")
    k.ask("IncrementalAlterConfigs", 1, alter("cf-a", ("retention.ms", 0, "9"), ValidateOnly=True),
          "validate")
    k.ask("IncrementalAlterConfigs", 1, alter("cf-unknown", ("retention.ms", 0, "9")), "no topic")
    for name in ("", ".", "a b", "x" * 250):
        k.ask("IncrementalAlterConfigs", 1, alter(name, ("retention.ms", 0, "9")),
              f"topic name {name[:9]!r}")
    two = alter("cf-a", ("retention.ms", 0, "x"))
    two["Resources"] += alter("cf-b", ("retention.ms", 0, "8"))["Resources"]
    k.ask("IncrementalAlterConfigs", 1, two, "one bad of two")
    show("one bad of two", name="cf-b")
    same = alter("cf-b", ("retention.ms", 0, "8"))
    same["Resources"] *= 2
    k.ask("IncrementalAlterConfigs", 1, same, "resource twice")
    for name in ("", "1", "9", "x"):
        for change in (("log.retention.ms", 0, "123456"), ("log.retention.ms", 0, "x"),
                       ("node.id", 0, "5"), ("num.io.threads", 0, "9"),
                       ("log.cleaner.threads", 0, "2"), ("nonsense", 0, "5"),
                       ("advertised.listeners", 0, "PLAINTEXT://h:1"),
                       ("message.max.bytes", 0, "2000000")):
            k.ask("IncrementalAlterConfigs", 1, alter(name, change, kind=4),
                  f"broker '{name}' {change[0]}={change[2]}")
        if name in ("", "1"):
            show(f"broker '{name}'", kind=4, name=name)
    show("broker defaults", name="cf-b")
    for name in ("", "1"):
        k.ask("IncrementalAlterConfigs", 1, alter(
            name, ("log.retention.ms", 1, None), ("num.io.threads", 1, None),
            ("log.cleaner.threads", 1, None), ("message.max.bytes", 1, None), kind=4),
            f"broker '{name}' delete")

    def replace(name, pairs, kind=2, **more):
        return {"Resources": [{"ResourceType": kind, "ResourceName": name, "Configs": [
            {"Name": n, "Value": v} for n, v in pairs]}], **more}
    k.each("AlterConfigs", replace("cf-b", [("retention.ms", "1"), ("segment.ms", "5000")]), "two")
    show("two replaced", name="cf-b")
    k.each("AlterConfigs", replace("cf-b", [("segment.ms", "6000")]), "one")
    show("one replaced", name="cf-b")
    k.each("AlterConfigs", replace("cf-b", [("segment.ms", "x")]), "bad")
    k.each("AlterConfigs", replace("cf-b", [("segment.ms", None)]), "null")
    k.each("AlterConfigs", replace("cf-b", [("segment.ms", "1"), ("segment.ms", "2")]), "twice")
    k.each("AlterConfigs", replace("cf-b", [("retention.ms", "4")], ValidateOnly=True), "validate")
    for kind, name, key, value in ((32, "g", "consumer.session.timeout.ms", "50000"),
                                   (32, "g", "consumer.session.timeout.ms", "1"),
                                   (32, "", "consumer.session.timeout.ms", "50000"),
                                   (16, "m", "interval.ms", "5000"),
                                   (16, "m", "nonsense", "5000"), (99, "x", "a", "b"),
                                   (1, "x", "a", "b")):
        k.ask("IncrementalAlterConfigs", 1, alter(name, (key, 0, value), kind=kind),
              f"type {kind} '{name}' {key}={value}")
    show("group", kind=32, name="g")
    k.ask("ListConfigResources", 0, {}, "")
    for kinds in ([], [2], [4], [8], [16], [32], [2, 32], [1], [99]):
        k.ask("ListConfigResources", 1, {"ResourceTypes": kinds}, str(kinds))


CASES = [create_topics, metadata, partitions, delete_topics, configs]
