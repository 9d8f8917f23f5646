"""The handshake, the cluster, and what one node can say of reassignments, ACLs and quotas."""
import struct
import time

import kwire

NONE = "11111111-1111-4111-8111-111111111111"


def versions(k):
    for version in range(0, 6):
        answer = k.ask("ApiVersions", version, {"ClientSoftwareName": "test",
                                                "ClientSoftwareVersion": "1.0"}, keep=False)
        # What is served is compared by the table in docs/COMPATIBILITY.md; here: what both serve.
        k.keep(f"ApiVersions v{version} error", answer["ErrorCode"])
        for api in answer["ApiKeys"]:
            k.keep(f"ApiVersions v{version} key {api['ApiKey']}", api)
        k.keep(f"ApiVersions v{version} features", {f: answer.get(f) for f in (
            "SupportedFeatures", "FinalizedFeatures", "ZkMigrationReady")})
    for name, software in (("", "1"), ("a b", "1"), ("x", ""), ("-x", "1")):
        k.ask("ApiVersions", 3, {"ClientSoftwareName": name, "ClientSoftwareVersion": software},
              f"software '{name}' '{software}'")
    k.ask("ApiVersions", 5, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1",
                             "ClusterId": "wrong", "NodeId": 1}, "wrong cluster")
    k.ask("ApiVersions", 5, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1",
                             "ClusterId": None, "NodeId": 9}, "wrong node")
    for cluster, node in (("wrong", 1), ("wrong", -1), (None, 9)):
        answer = k.ask("ApiVersions", 5, {
            "ClientSoftwareName": "t", "ClientSoftwareVersion": "1", "ClusterId": cluster,
            "NodeId": node}, port=k.node.controller_port, keep=False)
        k.keep(f"controller: cluster {cluster}, node {node}", answer["ErrorCode"])
    answer = k.ask("ApiVersions", 4, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1"},
                   port=k.node.controller_port, keep=False)
    k.keep("controller features", {f: answer.get(f) for f in (
        "SupportedFeatures", "FinalizedFeatures", "ZkMigrationReady")})
    for version in (6, 127):
        with k.connect() as c:
            c.send_frame(struct.pack(">hhih", 18, version, 7, 1) + b"x\0")
            k.keep(f"ApiVersions v{version}", c.receive_frame())
            k.ask("ApiVersions", 0, {}, keep=False, connection=c)


def frames(k):
    """Bytes that no client should send: is the connection closed, or answered?"""
    def probe(label, data, framed=True):
        with k.connect() as c:
            c.sock.settimeout(3)
            if framed:
                c.send_frame(data)
            else:
                c.sock.sendall(data)
            try:
                k.keep(f"frame {label}", c.receive_frame())
            except kwire.Closed:
                k.keep(f"frame {label}", "closed")
            except TimeoutError:
                k.keep(f"frame {label}", "no answer")
    probe("empty", b"")
    probe("negative size", struct.pack(">i", -1), False)
    probe("huge size", struct.pack(">i", 2147483647), False)
    probe("short header", b"\0\3\0")
    probe("unknown key", struct.pack(">hhih", 999, 0, 1, -1))
    probe("negative key", struct.pack(">hhih", -1, 0, 1, -1))
    probe("removed key", struct.pack(">hhih", 4, 0, 1, -1))
    probe("unknown version", struct.pack(">hhih", 11, 99, 1, -1))
    probe("negative version", struct.pack(">hhih", 3, -1, 1, -1))
    probe("null client id", struct.pack(">hhih", 3, 1, 1, -1) + b"\0\0\0\0")
    probe("client id too long", struct.pack(">hhih", 3, 1, 1, 1000) + b"abc")
    probe("array too long", struct.pack(">hhih", 3, 1, 1, -1) + b"\x7f\xff\xff\xff")
    probe("body cut", struct.pack(">hhih", 11, 0, 1, -1) + b"\0\5ab")
    probe("tag too long", struct.pack(">hhih", 3, 9, 1, -1) + b"\1\x7f\xff\xff\x7f")
    probe("http", b"GET / HTTP/1.1\r\n\r\n", False)
    for api, version in (("Metadata", 1), ("ListGroups", 0), ("FindCoordinator", 0)):
        body = kwire.encode(api + "Request", version, {
            "Metadata": {"Topics": []}, "FindCoordinator": {"Key": "x"}}.get(api, {}))
        probe(f"trailing bytes {api}", kwire.header(api, version, 1) + body + b"\0\0\0")
    head = kwire.header("Metadata", 12, 1, None)
    probe("null client id, flexible", head + kwire.encode("MetadataRequest", 12, {"Topics": []}))
    tagged = kwire.encode("MetadataRequest", 12, {"Topics": [], "_tags": {127: b"hello"}})
    probe("unknown tag", kwire.header("Metadata", 12, 1) + tagged)
    for name in ("Vote", "BrokerRegistration", "FetchSnapshot"):
        key, low, _ = kwire.APIS[name]
        probe(f"controller api {name}", struct.pack(">hhih", key, low, 1, -1))


def pipeline(k):
    k.create("pl-a")
    with k.connect() as c:
        sent = [(api, v, c.send(api, v, values)) for api, v, values in (
            ("Metadata", 12, {"Topics": []}), ("ListGroups", 4, {}),
            ("ApiVersions", 3, {"ClientSoftwareName": "t", "ClientSoftwareVersion": "1"}),
            ("Fetch", 12, {"MaxWaitMs": 300, "MinBytes": 1, "Topics": [
                {"Topic": "pl-a", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                                  "PartitionMaxBytes": 100}]}]}),
            ("Metadata", 1, {"Topics": []}))]
        k.keep("pipelined answers in order", [
            c.receive(api, v, correlation) is not None for api, v, correlation in sent])


def cluster(k):
    k.create("cl-a", partitions=2)
    k.each("DescribeCluster", {}, "")
    k.each("DescribeCluster", {"IncludeClusterAuthorizedOperations": True}, "operations")
    k.each("DescribeCluster", {"EndpointType": 2}, "controllers", low=1)
    k.each("DescribeCluster", {"EndpointType": 9}, "endpoint type 9", low=1)
    k.ask("DescribeCluster", 1, {"EndpointType": 2}, "on the controller",
          port=k.node.controller_port)
    k.ask("DescribeCluster", 1, {"EndpointType": 1}, "brokers on the controller",
          port=k.node.controller_port)
    k.ask("DescribeCluster", 0, {}, "on the controller", port=k.node.controller_port)
    one = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}

    def quorum(version, label, **options):
        """How far the metadata log has come depends on time: only that it has."""
        answer = k.ask("DescribeQuorum", version, one, keep=False, **options)
        part = answer["Topics"][0]["Partitions"][0]
        part["HighWatermark"] = part["HighWatermark"] > 0
        for voter in part["CurrentVoters"]:
            voter["LogEndOffset"] = voter["LogEndOffset"] > 0
        k.keep(f"DescribeQuorum v{version} {label}", answer)
    for version in range(0, 3):
        quorum(version, "")
    quorum(2, "on the controller", port=k.node.controller_port)
    k.ask("DescribeQuorum", 2, {"Topics": [{"TopicName": "x", "Partitions": [
        {"PartitionIndex": 0}]}]}, "other topic")
    k.ask("DescribeQuorum", 2, {"Topics": []}, "no topic")
    k.ask("DescribeProducers", 0, {"Topics": [{"Name": "cl-a", "PartitionIndexes": [0, 7]},
                                              {"Name": "none", "PartitionIndexes": [0]},
                                              {"Name": "", "PartitionIndexes": [0]},
                                              {"Name": "x" * 250, "PartitionIndexes": [0, 1]},
                                              {"Name": "a b", "PartitionIndexes": []}]}, "")
    k.each("DescribeLogDirs", {"Topics": [{"Topic": "cl-a", "Partitions": [0, 1, 5]}]}, "named")
    k.each("DescribeLogDirs", {"Topics": []}, "empty")
    k.each("DescribeLogDirs", {"Topics": [{"Topic": "none", "Partitions": [0]}]}, "unknown")
    for kind in (0, 1, 7):
        for topics in (None, [], [{"Topic": "cl-a", "Partitions": []}], [{"Topic": "cl-a", "Partitions": [0]}],
                       [{"Topic": "cl-a", "Partitions": [7]}, {"Topic": "no", "Partitions": [0]}]):
            k.each("ElectLeaders", {"ElectionType": kind, "TopicPartitions": topics},
                   f"{kind} {topics}")

    def move(name, replicas, partition=0):
        return {"Topics": [{"Name": name, "Partitions": [
            {"PartitionIndex": partition, "Replicas": replicas}]}]}
    for label, values in (("same", move("cl-a", [1])), ("nobody", move("cl-a", [9])),
                          ("twice", move("cl-a", [1, 1])), ("empty", move("cl-a", [])),
                          ("cancel", move("cl-a", None)), ("unknown", move("none", [1])),
                          ("partition", move("cl-a", [1], 9)), ("negative", move("cl-a", [-1])),
                          ("none", {"Topics": []})):
        k.each("AlterPartitionReassignments", values, label)
    k.ask("ListPartitionReassignments", 0, {"Topics": None}, "all")
    k.ask("ListPartitionReassignments", 0, {"Topics": [
        {"Name": "cl-a", "PartitionIndexes": [0, 9]}, {"Name": "no", "PartitionIndexes": [0]}]}, "")
    k.ask("UnregisterBroker", 0, {"BrokerId": 9}, "unknown")
    for path in ("/nowhere", "relative", ""):
        k.each("AlterReplicaLogDirs", {"Dirs": [{"Path": path, "Topics": [
            {"Name": "cl-a", "Partitions": [0]}, {"Name": "no", "Partitions": [0]}]}]}, path)
    k.each("AlterReplicaLogDirs", {"Dirs": [{"Path": k.node.data, "Topics": [
        {"Name": "cl-a", "Partitions": [0, 9]}]}]}, "its own folder")


def security(k):
    acl = {"ResourceTypeFilter": 1, "ResourceNameFilter": None, "PatternTypeFilter": 1,
           "PrincipalFilter": None, "HostFilter": None, "Operation": 1, "PermissionType": 1}
    k.each("DescribeAcls", acl, "any")
    k.each("DescribeAcls", {**acl, "Operation": 0}, "unknown operation")
    for field in ("ResourceTypeFilter", "PatternTypeFilter", "Operation", "PermissionType"):
        k.ask("DescribeAcls", 3, {**acl, field: 99}, f"{field} 99")
        k.ask("DeleteAcls", 3, {"Filters": [{**acl, field: -1}]}, f"{field} -1")
    k.each("CreateAcls", {"Creations": [{"ResourceType": 2, "ResourceName": "t",
                                         "Principal": "User:a", "Host": "*", "Operation": 3,
                                         "PermissionType": 3}]}, "one")
    k.each("CreateAcls", {"Creations": []}, "none")
    k.each("DeleteAcls", {"Filters": [acl]}, "any")
    k.each("DescribeClientQuotas", {"Components": [], "Strict": False}, "all")
    k.each("DescribeClientQuotas", {"Components": [
        {"EntityType": "user", "MatchType": 2, "Match": None}], "Strict": True}, "users")
    k.each("DescribeClientQuotas", {"Components": [
        {"EntityType": "nonsense", "MatchType": 2, "Match": None}]}, "bad entity")
    k.each("DescribeClientQuotas", {"Components": [
        {"EntityType": "user", "MatchType": 9, "Match": None}]}, "bad match")
    k.each("DescribeClientQuotas", {"Components": [
        {"EntityType": "user", "MatchType": 0, "Match": "a"}] * 2}, "entity twice")
    for users in (None, [], [{"Name": "a"}], [{"Name": "a"}, {"Name": "a"}], [{"Name": ""}]):
        k.ask("DescribeUserScramCredentials", 0, {"Users": users}, str(users))


def loggers(k):
    """The names of loggers are each broker's own; the answers to changes are not."""
    def alter(*changes, name="1", **more):
        return {"Resources": [{"ResourceType": 8, "ResourceName": name, "Configs": [
            {"Name": n, "ConfigOperation": o, "Value": v} for n, o, v in changes]}], **more}
    for label, values in (
            ("set", alter(("kafka.server.KafkaApis", 0, "WARN"))),
            ("delete", alter(("kafka.server.KafkaApis", 1, None))),
            ("root", alter(("root", 0, "ERROR"), ("root", 0, "INFO"))),
            ("root again", alter(("root", 0, "INFO"))),
            ("delete root", alter(("root", 1, None))),
            ("unknown", alter(("no.such.logger", 0, "WARN"))),
            ("delete unknown", alter(("no.such.logger", 1, None))),
            ("bad level", alter(("root", 0, "LOUD"))), ("lower case", alter(("root", 0, "warn"))),
            ("null level", alter(("root", 0, None))), ("append", alter(("root", 2, "WARN"))),
            ("subtract", alter(("root", 3, "WARN"))), ("operation 9", alter(("root", 9, "WARN"))),
            ("validate", alter(("root", 0, "DEBUG"), ValidateOnly=True)),
            ("other node", alter(("root", 0, "WARN"), name="9")),
            ("no node", alter(("root", 0, "WARN"), name="")),
            ("not a number", alter(("root", 0, "WARN"), name="x")), ("nothing", alter())):
        k.ask("IncrementalAlterConfigs", 1, values, label)
    k.ask("IncrementalAlterConfigs", 1, alter(("root", 0, "INFO")), "on the controller",
          port=k.node.controller_port)
    k.ask("AlterConfigs", 2, {"Resources": [{"ResourceType": 8, "ResourceName": "1", "Configs": [
        {"Name": "root", "Value": "WARN"}]}]}, "legacy")
    for name in ("1", "2", "", "x"):
        k.ask("DescribeConfigs", 4, {"Resources": [{
            "ResourceType": 8, "ResourceName": name, "ConfigurationKeys": ["root"]}]}, name)


def features(k):
    def update(name, level, kind=1, **more):
        return {"FeatureUpdates": [{"Feature": name, "MaxVersionLevel": level, "UpgradeType": kind,
                                    "AllowDowngrade": kind != 1}], **more}
    for label, values in (
            ("unknown", update("nonsense", 1)), ("too high", update("metadata.version", 99)),
            ("same", update("metadata.version", 33)),
            ("downgrade as upgrade", update("metadata.version", 20)),
            ("validate", update("group.version", 0, 2, ValidateOnly=True)),
            ("unsafe", update("group.version", 0, 3, ValidateOnly=True)),
            ("negative", update("group.version", -1)), ("type 9", update("group.version", 1, 9)),
            ("kraft", update("kraft.version", 1)), ("kraft down", update("kraft.version", 0, 2)),
            ("none", {"FeatureUpdates": []}), ("empty name", update("", 1)),
            ("unknown at 0", update("nonsense", 0, 2))):
        k.each("UpdateFeatures", values, label)


def eligible_leader_replicas(k):
    """Off, a setting that goes against them, on again: what the node makes of the setting."""
    def update(level, kind):
        k.ask("UpdateFeatures", 2, {"FeatureUpdates": [{
            "Feature": "eligible.leader.replicas.version", "MaxVersionLevel": level,
            "UpgradeType": kind}]}, f"level {level}")

    def alter(name, operation, value):
        k.ask("IncrementalAlterConfigs", 1, {"Resources": [{
            "ResourceType": 4, "ResourceName": name, "Configs": [{
                "Name": "min.insync.replicas", "ConfigOperation": operation, "Value": value}]}]},
            f"{name} {operation} {value}")

    def describe(label):
        # Apache Kafka's broker sees the change a little later: once it sees what came after it.
        k.create("elr-after-" + label.replace(" ", "-"))
        time.sleep(0.5)
        for name in ("", "1"):
            k.ask("DescribeConfigs", 4, {"Resources": [{
                "ResourceType": 4, "ResourceName": name,
                "ConfigurationKeys": ["min.insync.replicas"]}], "IncludeSynonyms": True}, label)
    update(0, 2)
    alter("1", 0, "3")
    alter("", 1, None)
    describe("off")
    update(1, 1)
    describe("on")
    for name in ("1", ""):
        alter(name, 1, None)
    update(0, 2)
    alter("", 0, "1")
    update(1, 1)
    describe("on again")


CASES = [versions, frames, pipeline, cluster, security, loggers, features, eligible_leader_replicas]
