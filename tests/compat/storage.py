#!/usr/bin/env python3
"""`storage format --add-scram` of Klamm and of Apache Kafka 4.4.0: the same status, the same text and
the same bytes for the same command line.

usage: storage.py
Where Apache Kafka's message would hold what may be a password, or is a stack trace, only the status is
compared, and that Klamm's message does not hold it. A salt is given wherever bytes are compared.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import nodes  # noqa: E402

SALT = 'salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5eTFrN3E="'
A, B = "SCRAM-SHA-256=", "SCRAM-SHA-512="
SAME = [
    ["-S", f"{A}[name=alice,iterations=8192,{SALT},password=hush-hush]"],
    ["-S", f'{B}[name=bob,{SALT},password="hush hush"]'],
    ["--add-scram", f'{A}[name=a,salt="N3E=",saltedpassword="YCE="]', "-S",
     f'{B}[name=a,salt="N3E",saltedpassword="YCE"]'],
    [f"--add-scram={A}[name=a,salt=,password=x]"],
    [f"-S{A}[name=a,salt=N3F=,password=b,]"],
    ["--add", f"{A}[name=a,name=b,salt=N3E=,password=b,password=c,saltedpassword=!!]"],
    ["-S", f' {B}[name="a",salt=N3E=,password="]  '],
    ["-S", f'{B}[name=,iterations=+5000,salt=N3E=,password="p=q""]'],
    ["-S", f"{A}[name=\u00f6,iterations=16384,salt=N3E=,password=p\u00e4]"],
    ["-r", "3.5", "-S", f"{B}[name=a,salt=N3E=,password=b]"],
    ["@ARGUMENTS"],
    ["-S", "scram-sha-256=[name=a,password=hush]"], ["-S", "SCRAM-SHA-1=[name=a,password=hush]"],
    ["-S", f"{A}name=a,password=hush]"], ["-S", f"{A}[name=a,password=hush"], ["-S", f"{A}["],
    ["-S", f"{A}[]"], ["-S", f"{A}[,]"], ["-S", f"{A}[name=a,,password=hush]"],
    ["-S", f"{A}[password=hush]"], ["-S", f"{A}[name=a]"], ["-S", f"{A}[[name=a,password=hush]]"],
    ["-S", f"{A}[name=a,saltedpassword=hush]"], ["-S", f"{A}[name=a, password=hush]"],
    ["-S", f"{A}[name=a,salt=N,password=hush]"], ["-S", f"{A}[name=a,salt=N3E==,password=hush]"],
    ["-S", f"{A}[name=a,iterations=4095,password=hush]"],
    ["-S", f"{B}[name=a,iterations=16385,password=hush]"],
    ["-S", f"{B}[name=a,iterations=-1,password=hush]"],
    ["-S", f"{B}[name=a,iterations=4294967296,password=hush]"],
    ["-S", f"{B}[name=a,iterations= 5000,password=hush]"],
    ["-S", f"{B}[name=a,zz=1,bb=2,password=hush]"],
    ["-r", "3.4", "-S", "hush"],
    ["-S", f"{A}[name=a,salt=N3E=,password=hush]", "-f", "foo=1"],
]
STATUS = [
    ["-S", "hush"], ["-S", ""], ["-S"], ["-S", "-g"],
    ["-S", f"{A}[name=a,password=x,hush]"], ["-S", f"{A}[name=a,password=x,hush=y]"],
    ["-S", f"{A}[name=a,salt=N3E=,saltedpassword=hush!]"],
    ["-S", f"{A}[name=a,", "password=hush]"], ["-S", f"{B}[name=a,password=]"],
    ["-S", f"{B}[name=a,salt=N3E=,saltedpassword=]"],
]
SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


def masked(path):
    """The bootstrap snapshot without its times and checksums; None when there is none."""
    if not os.path.exists(path):
        return None
    data = bytearray(open(path, "rb").read())
    data[73:81] = bytes(8)
    at = 0
    while at < len(data):
        data[at + 17:at + 21] = bytes(4)
        data[at + 27:at + 43] = bytes(16)
        at += 12 + int.from_bytes(data[at + 8:at + 12], "big")
    return bytes(data)


def run(node, arguments):
    """Status, the lines that were printed, the snapshot."""
    shutil.rmtree(node.data, ignore_errors=True)
    command = node.tool("kafka-storage", "format", "-t", nodes.CLUSTER_ID, "-c", node.config_path(),
                        "-I", "1@127.0.0.1:40911:9u3jNxwFRcCmQgnOihEjVw")
    path = os.path.join(node.root, "arguments")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"-S\n{A}[name=a,salt=N3E=,password=b]\n")
    result = subprocess.run(command + [a.replace("ARGUMENTS", path) for a in arguments],
                            capture_output=True, text=True, check=False,
                            env=dict(os.environ, LC_ALL="C.UTF-8"))
    lines = [line.rstrip().replace(node.data, "DATA")
             for line in (result.stdout + result.stderr).splitlines()
             if not line.startswith("Bootstrap metadata: ")]
    return result.returncode, lines, masked(os.path.join(node.data, SNAPSHOT))


def main():
    apache, klamm = nodes.Apache(), nodes.Klamm()
    try:
        for arguments in SAME + STATUS:
            one, two = run(apache, arguments), run(klamm, arguments)
            name = "storage format " + " ".join(arguments)
            if arguments in STATUS:
                one, two = (one[0], None, one[2]), (two[0], None, two[2])
            nodes.check(name, one == two, f"\n    apache {one}\n    klamm  {two}")
            nodes.check(name + ": shows no password", "hush" not in str(run(klamm, arguments)[1]))
    finally:
        apache.clean()
        klamm.clean()
    nodes.finish()


main()
