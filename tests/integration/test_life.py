#!/usr/bin/env python3
"""A node's life: starting without a configuration, stopping at any moment, refusing what it must
refuse with words that help, a disk that is full, idle memory."""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kbatch  # noqa: E402
import kwire  # noqa: E402
from nodes import CLUSTER_ID, KLAMM, Klamm, check, finish, free_port, tree  # noqa: E402


def run(*arguments, seconds=20, **more):
    result = subprocess.run([KLAMM, *arguments], capture_output=True, text=True, timeout=seconds,
                            **more)
    return result.returncode, result.stdout + result.stderr


def connect(port, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            return kwire.Connection("127.0.0.1", port)
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)


def without_configuration(root):
    port, data = free_port(), os.path.join(root, "fresh")
    log = open(os.path.join(root, "fresh.log"), "w+", encoding="utf-8")
    process = subprocess.Popen([KLAMM, "server", "--data", data, "--listen", f"127.0.0.1:{port}"],
                               stderr=log, stdout=log, stdin=subprocess.DEVNULL)
    with connect(port) as c:
        # Ready means that produce and group join work at once.
        made = c.call("CreateTopics", 7, {"Topics": [{"Name": "t", "NumPartitions": 1,
                                                      "ReplicationFactor": 1}]})
        check("no configuration: a topic is made", made["Topics"][0]["ErrorCode"] == 0, made)
        answer = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 1000, "TopicData": [
            {"Name": "t", "PartitionData": [{"Index": 0, "Records": kbatch.batch([b"x"])}]}]})
        check("no configuration: it can be written at once", answer["Responses"][0]
              ["PartitionResponses"][0]["ErrorCode"] == 0, answer)
        found = c.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["g"]})
        node = found["Coordinators"][0]
        check("no configuration: a coordinator is there at once", node["ErrorCode"] == 0, node)
        check("it advertises as it was reached", (node["Host"], node["Port"]) ==
              ("127.0.0.1", port), node)
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        rss = next(int(l.split()[1]) for l in f if l.startswith("VmRSS"))
    check("idle memory is at most 12 MB", rss <= 12 * 1024, f"{rss} KB")
    process.send_signal(signal.SIGTERM)
    check("SIGTERM ends it with status 0", process.wait(20) == 0)
    log.seek(0)
    text = log.read()
    check("it says one line when ready", len(re.findall(r"ready", text)) == 1, text)
    check("it is quiet", len(text.splitlines()) <= 8, text)
    config = os.path.join(data, "server.properties")
    check("it wrote a server.properties", os.path.exists(config))
    mode = os.stat(os.path.join(data, "meta.properties")).st_mode & 0o777
    check("meta.properties is there", mode & 0o600 == 0o600, oct(mode))
    process = subprocess.Popen([KLAMM, "server", "--data", data, "--listen", f"127.0.0.1:{port}"],
                               stderr=log, stdout=log, stdin=subprocess.DEVNULL)
    with connect(port) as c:
        names = [t["Name"] for t in c.call("Metadata", 1, {"Topics": None})["Topics"]]
        check("the second start finds what the first left", "t" in names, names)
    process.send_signal(signal.SIGINT)
    check("SIGINT ends it with status 0", process.wait(20) == 0)


def never_formats_a_folder_with_logs(root):
    data = os.path.join(root, "logs-there")
    os.makedirs(os.path.join(data, "topic-0"))
    open(os.path.join(data, "topic-0", "00000000000000000000.log"), "w", encoding="ascii").close()
    code, text = run("server", "--data", data, "--listen", f"127.0.0.1:{free_port()}")
    check("a folder that holds logs is not formatted", code != 0 and data in text and
          not os.path.exists(os.path.join(data, "meta.properties")), (code, text))


def refusals(root):
    node = Klamm().start()
    try:
        other = Klamm()
        other.properties["log.dirs"] = node.data
        code, text = run("server", other.config_path())
        check("a locked folder explains itself", code != 0 and node.data in text and
              re.search("lock|in use|another", text) and "log.dirs:" in text, text)
        other = Klamm()
        other.format()
        shutil.rmtree(os.path.join(other.data, "__cluster_metadata-0"))
        other.properties["metadata.log.dir"] = node.data
        code, text = run("server", other.config_path())
        check("a locked metadata folder names its key", code != 0 and
              f"metadata.log.dir: the log folder {node.data} is in use" in text, text)
        other = Klamm()
        other.format()
        other.properties["listeners"] = (f"PLAINTEXT://127.0.0.1:{node.port},"
                                         f"CONTROLLER://127.0.0.1:{other.controller_port}")
        code, text = run("server", other.config_path())
        before = tree(other.root)
        check("a busy port explains itself", code != 0 and str(node.port) in text and
              re.search("in use|taken|already", text) and "listeners:" in text and
              "--listen" not in text and f"PLAINTEXT://127.0.0.1:{node.port}" in text, text)
        code, text = run("server", other.config_path())
        check("and changes nothing", code != 0 and tree(other.root) == before)
        for listen in (f"127.0.0.1:{node.port}", f"192.0.2.1:{free_port()}"):
            data = os.path.join(root, "never-made")
            code, text = run("server", "--data", data, "--listen", listen)
            check(f"no configuration, --listen {listen}: refused, and no folder is made with it",
                  code != 0 and listen.split(":")[1] in text and "--listen:" in text and
                  not os.path.exists(data), text)
        code, text = run("server", "--data", data, "--override", "log.segment.bytes=x")
        check("nor with a setting that is refused", code != 0 and "log.segment.bytes" in text and
              not os.path.exists(data), text)
    finally:
        node.clean()
    fresh = Klamm()
    code, text = run("server", fresh.config_path())
    check("an unformatted folder says how to format it", code != 0 and fresh.data in text and
          "storage format" in text, text)
    fresh.format()
    fresh.properties["node.id"] = "2"
    fresh.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{fresh.controller_port}"
    code, text = run("server", fresh.config_path())
    check("another node.id is refused with both values", code != 0 and "1" in text and "2" in text
          and "node.id" in text, text)
    fresh.properties["node.id"] = "1"
    stranger = "AAAAAAAAAAAAAAAAAAAAAg"
    for words, arguments in ((["--ignore-formatted"], [CLUSTER_ID]), (
            ["cluster.id", stranger, CLUSTER_ID], [stranger, "--ignore-formatted"])):
        code, text = run("storage", "format", "--standalone", "-c", fresh.config_path(), "-t",
                         *arguments)
        check(f"format -t {' '.join(arguments)} of a formatted folder is refused", code != 0 and
              all(w in text for w in words), text)
    second = Klamm()
    second.format()
    with open(os.path.join(second.data, "meta.properties"), encoding="ascii") as f:
        text = f.read()
    with open(os.path.join(second.data, "meta.properties"), "w", encoding="ascii") as f:
        f.write(text.replace(CLUSTER_ID, stranger))
    fresh.properties["log.dirs"] += "," + second.data
    code, text = run("server", fresh.config_path())
    check("a folder of another cluster is refused with both ids", code != 0 and
          stranger in text and CLUSTER_ID in text and second.data in text, text)
    for address, words in (("192.0.2.7", ["PLAINTEXT://192.0.2.7:", "Cannot assign", "PLAINTEXT://:"]),
                           ("no-such-host.invalid", ["no-such-host.invalid", "PLAINTEXT://:"])):
        bad = Klamm()
        bad.format()
        bad.properties["listeners"] = bad.properties["listeners"].replace("127.0.0.1", address, 1)
        code, text = run("server", bad.config_path())
        check(f"an address that is not this machine's names its key: {address}", code != 0 and
              all(w in text for w in words + ["listeners"]), text)
    bad = Klamm()
    bad.format()
    meta = os.path.join(bad.data, "meta.properties")
    with open(meta, encoding="ascii") as f:
        text = f.read()
    with open(meta, "w", encoding="ascii") as f:
        f.write(re.sub("directory.id=.*", "directory.id=x", text))
    code, text = run("server", bad.config_path())
    check("a damaged directory.id: it is among what is named", code != 0 and meta in text and
          "directory.id" in text, text)
    bad = Klamm()
    bad.properties["log.dirs"] = os.path.join(root, "file", "logs")
    open(os.path.join(root, "file"), "w", encoding="ascii").close()
    code, text = run("server", bad.config_path())
    check("a log folder that cannot be used: its key is named", code != 0 and
          "log.dirs: none of the log folders can be used" in text and
          bad.properties["log.dirs"] in text, text)
    empty = os.path.join(root, "empty.properties")
    with open(empty, "w", encoding="ascii") as f:
        f.write("log.dirs=/nowhere\n")
    code, text = run("server", empty)
    check("missing keys: all of them and what to write", code != 0 and
          all(w in text for w in ("Write process.roles=broker,controller.", "Write node.id=1",
                                  "Write controller.listener.names=CONTROLLER")), text)
    for key, value, words in (
            ("num.network.threads", "many", ["num.network.threads", "many", "1 to 2147483647"]),
            ("log.segment.bytes", "1", ["log.segment.bytes", "1"]),
            ("compression.type", "rar", ["compression.type", "rar", "zstd"]),
            ("advertised.listeners", "PLAINTEXT://0.0.0.0:9092", ["advertised.listeners", "0.0.0.0"]),
            ("listeners", "PLAINTEXT://127.0.0.1:x", ["listeners"]),
            ("process.roles", "broker,cook", ["process.roles", "cook"]),
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
             ["authorizer.class.name", "everybody"]),
            ("node.id", "-4", ["node.id"]), ("node.id", "", ["configuration node.id"])):
        bad = Klamm()
        bad.properties[key] = value
        code, text = run("server", bad.config_path())
        check(f"{key}={value} stops the start and says why", code != 0 and
              all(w in text for w in words), text)
    bad = Klamm(config__providers="env", broker__rack="${env:RACK}")
    code, text = run("server", bad.config_path())
    check("a reference that a config provider should fill in stops the start", code != 0 and
          all(w in text for w in ("broker.rack", "${env:", "config.providers")), text)
    code, text = run("server", Klamm().config_path(), "--override", "num.io.threads=2.5")
    check("--override wins over the file and is checked like it", code == 1 and
          "Invalid value 2.5 for configuration num.io.threads" in text, text)
    odd = Klamm(some__odd__key="1", broker__rack="${env:RACK}", num__io__threads="3",
                queued__max__requests="9", listener__name__plaintext__num__network__threads="2",
                listener__name__external__max__connections="2").start()
    odd.stop()
    check("an unknown key is a warning", "some.odd.key" in odd.log(), odd.log())
    for level, words, keys in (
            ("INFO", "change nothing in Klamm", ["num.io.threads", "queued.max.requests"]),
            ("WARN", "no effect yet", ["listener.name.plaintext.num.network.threads"]),
            ("WARN", "name no listener", ["listener.name.external.max.connections"])):
        lines = [line for line in odd.log().splitlines() if words in line]
        check(f"keys that do nothing are told once, in one line: {words}", len(lines) == 1 and
              level in lines[0] and all(k in lines[0] for k in keys), odd.log())
    check("a reference that is taken literally is a warning",
          "taken as they stand: broker.rack" in odd.log(), odd.log())
    odd.clean()
    code, text = run("server", os.path.join(root, "no-such-file"))
    check("a missing file is named", code != 0 and "no-such-file" in text, text)
    code, text = run("server", "--nonsense")
    check("an unknown option is named", code != 0 and "nonsense" in text, text)
    code, text = run("server", "--data")
    check("an option without its value is one line of help", code == 2 and
          "its value is missing" in text and text.count("\n") == 1, text)
    code, text = run("sing")
    check("an unknown word is named", code != 0 and "sing" in text, text)
    code, text = run("--help")
    check("--help", code == 0 and "server" in text and "storage" in text, text)
    check("help is the same", run("help") == (code, text) == run("-h"))
    code, text = run("version")
    check("version names Klamm's and Apache Kafka's", code == 0 and
          re.fullmatch(r"klamm \d+\.\d+\.\d+ \(Apache Kafka 4\.4\.0\)\n", text), text)
    check("--version is the same", run("--version") == (code, text))
    code, text = run("server", "--help")
    check("server --help names every option", code == 0 and
          all(o in text for o in ("--data", "--listen", "--override", "--memory",
                                         "--ready-fd")), text)


def stops_at_any_moment():
    random.seed(3)
    bad = []
    for _ in range(30):
        node = Klamm()
        node.format()
        node.launch()
        time.sleep(random.random() * 0.03)
        code = node.stop(seconds=20)
        # Before the program could ask for the signal, the signal's default ends it.
        if code not in (0, -signal.SIGTERM):
            bad.append((code, node.log()[-300:]))
        node.clean()
    check("SIGTERM at 30 random moments of a start", not bad, bad[:2])
    with Klamm() as node:
        with connect(node.port) as c:
            c.call("CreateTopics", 7, {"Topics": [{"Name": "w", "NumPartitions": 1,
                                                   "ReplicationFactor": 1}]})
            c.send("Fetch", 12, {"MaxWaitMs": 30000, "MinBytes": 1, "Topics": [
                {"Topic": "w", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                               "PartitionMaxBytes": 99}]}]})
            time.sleep(0.1)
            began = time.monotonic()
            code = node.stop()
            check("a waiting fetch does not hold up the stop", code == 0 and
                  time.monotonic() - began < 5, code)


def learned(c):
    """What a client learns of the cluster: brokers, leaders, coordinators, each with its error."""
    answer = c.call("Metadata", 12, {"Topics": None})
    partitions = sorted((t["Name"], p["PartitionIndex"], t["ErrorCode"], p["ErrorCode"],
                         p["LeaderId"], tuple(p["IsrNodes"]))
                        for t in answer["Topics"] for p in t["Partitions"])
    found = [c.call("FindCoordinator", 4, {"KeyType": kind, "CoordinatorKeys": ["k"]})
             ["Coordinators"] for kind in (0, 1)]
    return answer["ClusterId"], answer["ControllerId"], answer["Brokers"], partitions, found


def first_answers():
    """Whoever is answered at all after a kill -9, by the first connection that opens, is told of
    the same broker, leaders and coordinators as before. A client that were told of no broker, or
    of no leader, would begin anew or wait for its next refresh."""
    with Klamm() as node:
        with connect(node.port) as c:
            c.call("CreateTopics", 7, {"Topics": [{"Name": "t", "NumPartitions": 3,
                                                   "ReplicationFactor": 1}]})
            # The first question for a coordinator makes its topic.
            wait_until(lambda: all(f[0]["ErrorCode"] == 0 for f in learned(c)[4]))
            before = learned(c)
            check("a client learns of everything", len(before[2]) == 1 and len(before[3]) == 13,
                  before)
        differ = []
        for _ in range(5):
            node.kill()
            node.launch()
            with connect(node.port) as c:
                after = learned(c)
            if after != before:
                differ.append(after)
        check("the first answers after a kill are those from before", not differ, differ[:1])


def crowds():
    with Klamm(connections__max__idle__ms=1500) as node:
        for _ in range(1000):
            with socket.create_connection(("127.0.0.1", node.port)) as s:
                s.send(b"\0\0")
        with connect(node.port) as c:
            check("a thousand connections opened and dropped",
                  len(c.call("Metadata", 12, {"Topics": []})["Brokers"]) == 1)
        half = socket.create_connection(("127.0.0.1", node.port))
        half.sendall(b"\0\0\1\0\0\3")
        half.settimeout(10)
        try:
            gone = half.recv(1) == b""
        except ConnectionError:
            gone = True
        except TimeoutError:
            gone = False
        check("half a frame is closed by connections.max.idle.ms", gone)
        half.close()


def limited():
    """max.connections.per.ip.overrides: this address may have three connections, another more."""
    with Klamm(max__connections__per__ip__overrides="10.1.2.3:1,127.0.0.1:3") as node:
        # start() has looked whether the port answers; that connection may not be forgotten yet.
        time.sleep(0.3)
        open_ones = [connect(node.port) for _ in range(3)]
        served = [len(c.call("Metadata", 12, {"Topics": []})["Brokers"]) for c in open_ones]
        try:
            with connect(node.port, 5) as c:
                fourth = c.call("Metadata", 12, {"Topics": []})
        except (OSError, kwire.Closed) as e:
            fourth = e
        for c in open_ones:
            c.close()
        check("max.connections.per.ip.overrides", served == [1, 1, 1] and
              isinstance(fourth, Exception), (served, fourth))


def credentials():
    """What storage format --add-scram wrote is in the metadata of the node, also after a restart."""
    node = Klamm()
    code, text = run("storage", "format", "--standalone", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c",
                     node.config_path(), "-S",
                     "SCRAM-SHA-256=[name=alice,iterations=5000,password=hush]", "--add-scram",
                     "SCRAM-SHA-512=[name=alice,password=hush]")
    check("storage format --add-scram", code == 0 and "hush" not in text, text)
    for when in ("after the format", "after a restart"):
        node.stop()
        node.start()
        with connect(node.port) as c:
            results = c.call("DescribeUserScramCredentials", 0, {"Users": None})["Results"]
        check(f"the credentials are described {when}",
              [(r["User"], [(i["Mechanism"], i["Iterations"]) for i in r["CredentialInfos"]])
               for r in results] == [("alice", [(1, 5000), (2, 4096)])], results)
    node.clean()


def requests_are_told():
    """kafka.request.logger at DEBUG: a line for each, and none at INFO."""
    with Klamm() as node, connect(node.port) as c:
        def level(value):
            return c.call("IncrementalAlterConfigs", 1, {"Resources": [
                {"ResourceType": 8, "ResourceName": "1", "Configs": [
                    {"Name": "kafka.request.logger", "ConfigOperation": 0, "Value": value}]}]})
        for value, told in (("INFO", 0), ("DEBUG", 1), ("INFO", 1)):
            level(value)
            c.call("ListGroups", 4, {}, client="one\ntwo" + "x" * 30000)
            found = re.findall(r'DEBUG \[api\] ListGroups version 4 of 127.0.0.1, client '
                               r'"one.twox{193}", id \d+: answered after \d+ us', node.log())
            check(f"kafka.request.logger={value}", len(found) == told, node.log()[-1000:])


def asks_more_in_sync_than_there_are():
    """min.insync.replicas=2 and one replica, as properties written for a cluster say it: what it
    asks is capped at the replicas that there are, in topics of users and in the internal ones."""
    node = Klamm(min__insync__replicas=2, transaction__state__log__min__isr=2).start()
    with connect(node.port) as c:
        c.call("CreateTopics", 7, {"Topics": [{"Name": "two", "NumPartitions": 1,
                                               "ReplicationFactor": 1}]})
        answer = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 1000, "TopicData": [
            {"Name": "two", "PartitionData": [{"Index": 0, "Records": kbatch.batch([b"x"])}]}]})
        check("min.insync.replicas=2, one replica: acks=all is answered", answer["Responses"][0]
              ["PartitionResponses"][0]["ErrorCode"] == 0, answer)

        def ready(kind, key, ask):
            wait_until(lambda: c.call("FindCoordinator", 4, {
                "KeyType": kind, "CoordinatorKeys": [key]})["Coordinators"][0]["ErrorCode"] == 0)
            last = {}

            def done():
                last.update(ask())
                return last["ErrorCode"] not in (14, 15, 16)  # loading, not available, not it
            wait_until(done)
            return last
        began = ready(1, "tid", lambda: c.call("InitProducerId", 4, {
            "TransactionalId": "tid", "TransactionTimeoutMs": 60000, "ProducerId": -1,
            "ProducerEpoch": -1}))
        check("and transactions begin", began["ErrorCode"] == 0, began)
        kept = ready(0, "g", lambda: c.call("OffsetCommit", 8, {
            "GroupId": "g", "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": "two", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]})
            ["Topics"][0]["Partitions"][0])
        check("and offsets are committed", kept["ErrorCode"] == 0, kept)
    node.clean()


def asks_for_more_replicas_than_brokers():
    """The defaults of the internal topics are for three brokers: each key is told, once."""
    keys = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor",
            "default.replication.factor")
    node = Klamm(**{key: 3 for key in keys}).start()
    with connect(node.port) as c:
        for _ in range(2):
            for kind in (0, 1):
                found = c.call("FindCoordinator", 4, {"KeyType": kind, "CoordinatorKeys": ["g"]})
                check("three replicas on one node: the coordinator is not available",
                      found["Coordinators"][0]["ErrorCode"] == 15, found)
            c.call("Metadata", 12, {"Topics": [{"Name": "t"}], "AllowAutoTopicCreation": True})
    for key in keys:
        check(f"and {key} is told once, with what to write",
              node.log().count(f"set {key}=1 in the properties file") == 1, node.log()[-2000:])
    node.clean()


def wait_until(ready, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():
            return True
        time.sleep(0.1)
    return False


def without_a_byte(node, mount):
    """Another program takes all that is free, then the node is killed: it comes up nevertheless,
    serves what it has, helps to make room, and writes again once there is."""
    reserve = os.path.join(node.data, ".klamm-reserve")
    filler = os.path.join(mount, "filler")

    def produce(c):
        records = kbatch.batch([os.urandom(500000)], timestamp=int(time.time() * 1000))
        row = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 5000, "TopicData": [
            {"Name": "full", "PartitionData": [{"Index": 0, "Records": records}]}]})
        return row["Responses"][0]["PartitionResponses"][0]

    def fill():
        with open(filler, "ab", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass
        return os.statvfs(mount).f_bavail
    node.start()
    check("a reserve is kept for the next start", wait_until(
        lambda: os.path.exists(reserve) and os.stat(reserve).st_size == 1 << 20))
    with connect(node.port) as c:
        offset = produce(c)["BaseOffset"]
    for round_number in range(2):
        node.kill()
        check("not a byte is free", fill() == 0)
        if round_number == 0:
            before = os.stat(reserve).st_size
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", node.port))
                s.listen()
                codes = [run("server", node.config_path())[0] for _ in range(2)]
            check("starts that are refused do not use up the reserve",
                  codes == [1, 1] and before == os.stat(reserve).st_size == 1 << 20,
                  (codes, before, os.stat(reserve).st_size))
        node.start()
    with connect(node.port) as c:
        fetched = c.call("Fetch", 12, {"MaxWaitMs": 0, "MinBytes": 1, "Topics": [
            {"Topic": "full", "Partitions": [{"Partition": 0, "FetchOffset": offset,
                                              "PartitionMaxBytes": 1000}]}]})
        check("it starts without a free byte, and fetch is served",
              len(fetched["Responses"][0]["Partitions"][0]["Records"]) > 500000)
        check("produce is refused meanwhile", produce(c)["ErrorCode"] == 56)
        answer = c.call("DeleteRecords", 2, {"TimeoutMs": 5000, "Topics": [
            {"Name": "full", "Partitions": [{"PartitionIndex": 0, "Offset": offset}]}]})
        check("DeleteRecords is served", answer["Topics"][0]["Partitions"][0]["ErrorCode"] == 0,
              answer)
        os.unlink(filler)
        check("with room it writes again by itself", wait_until(
            lambda: produce(c)["ErrorCode"] == 0))
        check("and keeps its reserve again", wait_until(
            lambda: os.stat(reserve).st_size == 1 << 20), os.stat(reserve))


def full_disk():
    mount = tempfile.mkdtemp(prefix="klamm-full-")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", mount],
                      capture_output=True).returncode:
        print("SKIP  full disk: a tmpfs could not be mounted (not root?)")
        os.rmdir(mount)
        return
    node = Klamm(data=os.path.join(mount, "data"), log__segment__bytes=4194304,
                 log__retention__check__interval__ms=500, log__segment__delete__delay__ms=100,
                 log__initial__task__delay__ms=500)
    try:
        node.start()
        c = connect(node.port)
        c.call("CreateTopics", 7, {"Topics": [{"Name": "full", "NumPartitions": 1,
                                               "ReplicationFactor": 1}]})

        def send():
            records = kbatch.batch([os.urandom(500000)], timestamp=int(time.time() * 1000))
            row = c.call("Produce", 9, {"Acks": -1, "TimeoutMs": 5000, "TopicData": [
                {"Name": "full", "PartitionData": [{"Index": 0, "Records": records}]}]})
            return row["Responses"][0]["PartitionResponses"][0]
        acknowledged, refused = 0, None
        for _ in range(400):
            answer = send()
            if answer["ErrorCode"]:
                refused = answer["ErrorCode"]
                break
            acknowledged += 1
        check("a full disk refuses with KAFKA_STORAGE_ERROR", refused == 56, refused)

        def ends():
            answer = c.call("ListOffsets", 8, {"ReplicaId": -1, "Topics": [
                {"Name": "full", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]})
            return answer["Topics"][0]["Partitions"][0]
        check("the node lives and knows what it has", ends()["Offset"] == acknowledged, ends())
        fetched = c.call("Fetch", 12, {"MaxWaitMs": 0, "MinBytes": 1, "Topics": [
            {"Topic": "full", "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                              "PartitionMaxBytes": 1000}]}]})
        check("fetch goes on", len(fetched["Responses"][0]["Partitions"][0]["Records"]) > 500000)
        c.close()
        node.kill()
        node.start()
        c = connect(node.port)
        check("it starts on a full disk, nothing acknowledged is lost",
              ends()["Offset"] == acknowledged, ends())
        answer = c.call("DeleteRecords", 2, {"TimeoutMs": 5000, "Topics": [
            {"Name": "full", "Partitions": [{"PartitionIndex": 0, "Offset": acknowledged - 2}]}]})
        check("DeleteRecords works", answer["Topics"][0]["Partitions"][0]["ErrorCode"] == 0, answer)
        end = time.monotonic() + 20
        while time.monotonic() < end and send()["ErrorCode"]:
            time.sleep(0.2)
        check("writing resumes by itself", send()["ErrorCode"] == 0)
        check("it stops in order", node.stop() == 0)
        c.close()
        without_a_byte(node, mount)
    finally:
        node.clean()
        subprocess.run(["umount", "-l", mount], capture_output=True)
        os.rmdir(mount)


def main():
    root = tempfile.mkdtemp(prefix="klamm-life-")
    for part, arguments in ((without_configuration, (root,)),
                            (never_formats_a_folder_with_logs, (root,)), (refusals, (root,)),
                            (stops_at_any_moment, ()), (first_answers, ()), (crowds, ()),
                            (limited, ()), (credentials, ()), (requests_are_told, ()),
                            (asks_more_in_sync_than_there_are, ()),
                            (asks_for_more_replicas_than_brokers, ()), (full_disk, ())):
        try:
            part(*arguments)
        except Exception as e:
            check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
    shutil.rmtree(root, ignore_errors=True)
    finish()


main()
