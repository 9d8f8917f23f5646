#!/usr/bin/env python3
"""The step from voters in the configuration to voters in the log, made by Apache Kafka 4.4.0 or by
Klamm, and the folder moves to the other and back. The records of both are the same."""
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "lib"), os.path.join(ROOT, "integration")]
import nodes  # noqa: E402
from nodes import check  # noqa: E402
from test_kraft_version import finalized, probe, update, voter  # noqa: E402


def quorum_records(node, pattern):
    """KRaftVersion and KRaftVoters in files of the metadata log, as kafka-dump-log has them."""
    found = []
    for path in sorted(glob.glob(f"{node.data}/__cluster_metadata-0/{pattern}")):
        result = subprocess.run(nodes.Apache.tool(
            "kafka-dump-log", "--cluster-metadata-decoder", "--files", path),
            capture_output=True, text=True)
        check(f"{node.kind}: {pattern} is valid", result.returncode == 0 and
              "isvalid: false" not in result.stdout, result.stderr)
        for line in result.stdout.splitlines():
            if "KRaftV" in line:
                found.append((line.split("KRaftV")[1].split()[0], json.loads(line[line.index("{"):])))
    return found


def without_ids(records):
    """Without what differs from cluster to cluster."""
    for _, record in records:
        for one in record.get("voters", []):
            one["voterDirectoryId"] = one["endpoints"][0]["port"] = None
    return records


def moved(first, second):
    """`first` makes the step; returns the records that it wrote."""
    a = first(metadata__log__max__record__bytes__between__snapshots=2000).static_voters()
    b = second()
    # The name that the configuration has for the voter, not the one it listens at.
    a.properties["controller.quorum.voters"] = f"1@localhost:{a.controller_port}"
    way = f"{a.kind} to {b.kind}"
    try:
        a.start()
        t = probe(a)
        t.create("before")
        check(f"{way}: the step", update(t, 1) == (0, ""))
        told = voter(t)
        a.stop()
        written = quorum_records(a, "*.log")
        b.take_over(a)
        b.start()
        t = probe(b)
        check(f"{way}: the voter is told", finalized(t) == 1 and voter(t) == told, voter(t))
        for i in range(30):
            t.create(f"t{i}", 3)
        b.stop()
        newest = max(glob.glob(f"{b.data}/__cluster_metadata-0/*.checkpoint"))
        in_snapshot = quorum_records(b, os.path.basename(newest))
        check(f"{way}: a snapshot of {b.kind} has the same records", in_snapshot == written,
              (in_snapshot, written))
        a.kill()
        a.start()
        t = probe(a)
        check(f"{way} and back", finalized(t) == 1 and voter(t) == told, voter(t))
        names = {x["Name"] for x in t.call("Metadata", 12, {"Topics": None})["Topics"]}
        check(f"{way} and back: all topics", {"before", "t0", "t29"} <= names, names)
        return without_ids(written)
    finally:
        a.clean()
        b.clean()


by_apache = moved(nodes.Apache, nodes.Klamm)
by_klamm = moved(nodes.Klamm, nodes.Apache)
check("both write the same records", by_apache == by_klamm and len(by_klamm) == 2,
      f"\n   {by_apache}\n   {by_klamm}")
nodes.finish()
