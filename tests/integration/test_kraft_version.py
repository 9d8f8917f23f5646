#!/usr/bin/env python3
"""A quorum whose voters stand in the configuration (kraft.version 0) moves to voters in the log
(kraft.version 1) while it runs: UpdateFeatures, what tells of it, the files, restarts and kills.
NODE=apache asks Apache Kafka 4.4.0 the same.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from nodes import check, free_port, run_parts  # noqa: E402
from probe import Probe, node_under_test  # noqa: E402

UPGRADE, SAFE, UNSAFE = 1, 2, 3
ZERO = "00000000-0000-0000-0000-000000000000"


def probe(node):
    """Once the broker is registered."""
    t = Probe(node)
    end = time.monotonic() + 30
    while time.monotonic() < end and not t.call("DescribeCluster", 1, {})["Brokers"]:
        time.sleep(0.05)
    return t


def update(t, level, kind=UPGRADE, validate=False, others=(), version=2):
    updates = [{"Feature": "kraft.version", "MaxVersionLevel": level, "UpgradeType": kind}]
    updates += [{"Feature": f, "MaxVersionLevel": l, "UpgradeType": k} for f, l, k in others]
    answer = t.call("UpdateFeatures", version, {"timeoutMs": 10000, "ValidateOnly": validate,
                                                "FeatureUpdates": updates})
    return answer["ErrorCode"], answer["ErrorMessage"] or ""


def finalized(t, name="kraft.version"):
    answer = t.call("ApiVersions", 4, {"ClientSoftwareName": "x", "ClientSoftwareVersion": "1"})
    levels = {f["Name"]: f["MaxVersionLevel"] for f in answer["FinalizedFeatures"]}
    return levels.get(name, 0)


def voter(t):
    """(directory id, host, port) of the only one."""
    answer = t.call("DescribeQuorum", 2, {"Topics": [
        {"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]})
    voters = answer["Topics"][0]["Partitions"][0]["CurrentVoters"]
    listener = answer["Nodes"][0]["Listeners"][0]
    assert len(voters) == 1 and voters[0]["ReplicaId"] == 1, voters
    return voters[0]["ReplicaDirectoryId"], listener["Host"], listener["Port"]


def state(node):
    with open(node.data + "/__cluster_metadata-0/quorum-state", encoding="ascii") as f:
        return json.load(f)


def refusals(t):
    code, text = update(t, 2)
    check("a level that does not exist", code == 95 and "only supports versions 0-1" in text, text)
    code, text = update(t, 1, SAFE)
    check("an upgrade that calls itself a downgrade",
          code == 95 and "Can't downgrade to a newer version" in text, text)
    check("the level that is there", update(t, 0) == (0, ""))
    check("only validated", update(t, 1, validate=True) == (0, "") and finalized(t) == 0)


def told(t, node, when):
    directory, host, port = voter(t)
    check(f"{when}: kraft.version 1 is told", finalized(t) == 1)
    check(f"{when}: the voter has its directory id and the endpoint it had",
          directory != ZERO and (host, port) == ("127.0.0.1", node.controller_port),
          (directory, host, port))
    return directory


def upgrade():
    node = node_under_test(metadata__log__max__record__bytes__between__snapshots=3000)
    with node.static_voters():
        t = probe(node)
        check("static voters: no directory id, kraft.version 0",
              voter(t)[0] == ZERO and finalized(t) == 0, voter(t))
        refusals(t)
        if node.kind == "klamm":  # Apache Kafka has moved to 1 before it looks at the other feature
            code, text = update(t, 1, others=[("transaction.version", 9, UPGRADE)])
            check("all or nothing", code == 95 and "transaction.version" in text and
                  finalized(t) == 0, text)
        check("with another feature", update(t, 1, others=[("transaction.version", 1, SAFE)]) ==
              (0, "") and finalized(t, "transaction.version") == 1)
        directory = told(t, node, "upgraded")
        check("quorum-state waits for the next election", state(node)["data_version"] == 0)
        check("once more", update(t, 1) == (0, ""))
        for kind in (SAFE, UNSAFE):
            code, text = update(t, 0, kind)
            check(f"no way back ({kind})", code == 95 and "Can't downgrade" in text, text)
        node.kill()
        node.start()
        t = probe(node)
        check("after kill -9 it is the same voter", told(t, node, "killed") == directory)
        check("quorum-state is written anew", state(node)["data_version"] == 1, state(node))
        for i in range(40):
            t.create(f"t{i}", 3)
        end = time.monotonic() + 10
        while time.monotonic() < end and not snapshots(node):
            time.sleep(0.05)
        check("a snapshot was made", snapshots(node))
        node.stop()
        drop_log(node)
        node.start()
        check("from the snapshot alone", told(probe(node), node, "snapshot") == directory)
        node.stop()
        properties = dict(node.properties)
        del node.properties["controller.quorum.voters"]
        node.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{node.controller_port}"
        node.start()
        check("without voters in the configuration",
              told(probe(node), node, "bootstrap servers") == directory)
        node.stop()
        node.properties = {**properties, "controller.quorum.voters": "1@127.0.0.1:1"}
        node.start()
        check("the configuration's voters count for nothing",
              told(probe(node), node, "other voters") == directory)


def snapshots(node):
    names = os.listdir(node.data + "/__cluster_metadata-0")
    return sorted(n for n in names if n.endswith(".checkpoint") and not n.startswith("0" * 20))


def drop_log(node):
    """What is older than the newest snapshot; and all of the log, which a snapshot may outlive."""
    folder = node.data + "/__cluster_metadata-0/"
    for name in os.listdir(folder):
        if name.endswith((".log", ".index", ".timeindex", ".snapshot")) or (
                name.endswith(".checkpoint") and name != snapshots(node)[-1]):
            os.unlink(folder + name)
    with open(folder + "leader-epoch-checkpoint", "w", encoding="ascii") as f:
        f.write("0\n0\n")


def killed_at_once():
    """What was answered is there, however soon the node dies."""
    for i in range(5):
        node = node_under_test()
        with node.static_voters():
            t = probe(node)
            done = update(t, 1)
            node.kill()
            node.start()
            check(f"killed behind the answer ({i})", done == (0, "") and
                  finalized(probe(node)) == 1, done)


def old_metadata():
    """Neither needs the other: kraft.version moves on the metadata of an older release."""
    node = node_under_test().static_voters()
    node.format("--release-version", "3.8")
    with node:
        t = probe(node)
        done = update(t, 1)
        check("on metadata.version 3.8", done == (0, "") and finalized(t) == 1 and
              finalized(t, "metadata.version") == 20, done)
        done = update(t, 1, others=[("metadata.version", 21, UPGRADE)])
        check("metadata.version moves behind it",
              done == (0, "") and finalized(t, "metadata.version") == 21, done)


def elsewhere():
    """A controller that listens at another port than before says so in the log."""
    with node_under_test() as node:
        directory = told(probe(node), node, "at first")
        for sig in (node.stop, node.kill):
            sig()
            old, node.controller_port = node.controller_port, free_port()
            for key in ("listeners", "advertised.listeners", "controller.quorum.bootstrap.servers"):
                node.properties[key] = node.properties[key].replace(str(old),
                                                                    str(node.controller_port))
            node.start()
            check("another port, the same voter",
                  told(probe(node), node, "another port") == directory)


PARTS = [upgrade, killed_at_once, old_metadata, elsewhere]

if __name__ == "__main__":
    run_parts(PARTS)
