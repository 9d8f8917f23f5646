#!/usr/bin/env python3
"""Fuzzes one decoder with libFuzzer (clang).

usage: run.py [TARGET [SECONDS [--merge]]]     without a target: lists them

New inputs go to build-fuzz/corpus/TARGET; --merge afterwards adds those that reach new code to
tests/fuzz/corpus/TARGET. An input that crashes is left in build-fuzz/crash-*; put it into the corpus
together with the fix.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "fuzz")
BUILD = os.path.join(ROOT, "build-fuzz")


def targets():
    return sorted(m.group(1) for m in (re.match(r"fuzz_(\w+)\.c$", n) for n in os.listdir(HERE)) if m)


def build(target):
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, ROOT, "-Dfuzz=true", "-Db_lundef=false",
                        "-Db_sanitize=address,undefined"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, CC="clang", CXX="clang++"))
    program = f"tests/fuzz/fuzz_{target}"
    subprocess.run(["ninja", "-C", BUILD, program], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(BUILD, program)


def wire_seeds(folder):
    """The golden messages as inputs; their schemas stand in the order of the schema numbers."""
    names, firsts = [], {}
    with open(os.path.join(ROOT, "tests/golden/wire/messages.txt"), encoding="utf-8") as lines:
        for line_number, line in enumerate(lines):
            name, version, text = line.split(" ")[:3]
            if name not in firsts:
                names.append(name)
                firsts[name] = int(version)
            head = (len(names) - 1).to_bytes(2, "little") + bytes([int(version) - firsts[name]])
            with open(os.path.join(folder, f"golden-{line_number}"), "wb") as out:
                out.write(head + bytes.fromhex(text.lstrip("=")))


def record_seeds(folder):
    """Batches of real producers, and what a broker answered about, with several options."""
    rows = []
    for name, column in (("java-batches", 1), ("librdkafka-batches", 1), ("produce-answers", 7)):
        with open(os.path.join(ROOT, f"tests/golden/record/{name}.tsv"), encoding="utf-8") as lines:
            rows += [line.rstrip("\n").split("\t")[column] for line in lines]
    for number, row in enumerate(rows):
        for head in (b"\0\1", bytes([1, number & 255 | 1])):
            with open(os.path.join(folder, f"golden-{number}-{head[0]}"), "wb") as out:
                out.write(head + bytes.fromhex(row))


def request_seeds(folder):
    """Requests of real clients."""
    with open(os.path.join(ROOT, "tests/golden/wire/captured.txt"), encoding="ascii") as lines:
        rows = [line.split() for line in lines]
    frames = [bytes.fromhex(row[3]) for row in rows if row[0] == "request"]
    frames = [len(frame).to_bytes(2, "little") + frame for frame in frames if len(frame) < 4000]
    for number, frame in enumerate(frames):
        with open(os.path.join(folder, f"captured-{number}"), "wb") as out:
            out.write(frame)


def store_seeds(folder):
    """Folders of Apache Kafka's partitions in the order that fuzz_store.c reads files."""
    golden = os.path.join(ROOT, "tests/golden/store")
    zero, third = "0" * 20, "0" * 19 + "3"
    names = [zero + ".index", zero + ".timeindex", zero + ".txnindex", zero + ".snapshot",
             third + ".snapshot", "leader-epoch-checkpoint", "partition.metadata"]
    for number, partition in enumerate(sorted(os.listdir(golden))):
        path = os.path.join(golden, partition)
        if not os.path.isdir(path):
            continue
        parts = b""
        for name in names:
            try:
                with open(os.path.join(path, name), "rb") as file:
                    data = file.read()[:4000]
                parts += len(data).to_bytes(2, "little") + data
            except OSError:
                parts += b"\xff\xff"
        logs = sorted(name for name in os.listdir(path) if name.endswith(".log"))
        with open(os.path.join(path, logs[0]), "rb") as file:
            parts += file.read()[:3000]
        for flags in range(4):
            with open(os.path.join(folder, f"golden-{number}-{flags}"), "wb") as out:
                out.write(bytes([flags]) + parts)
    state = (b'{"leaderId":1,"leaderEpoch":1,"votedId":1,"data_version":1}')
    with open(os.path.join(folder, "metadata"), "wb") as out:
        out.write(b"\4\xff\xff" + len(state).to_bytes(2, "little") + state + b"\xff\xff" * 4)


SEEDS = {"record": record_seeds, "request": request_seeds, "store": store_seeds, "wire": wire_seeds}


def main():
    if len(sys.argv) < 2:
        print("\n".join(targets()))
        return
    target = sys.argv[1]
    seconds = next((a for a in sys.argv[2:] if a.isdigit()), "60")
    program = build(target)
    found, corpus = os.path.join(BUILD, "corpus", target), os.path.join(HERE, "corpus", target)
    os.makedirs(found, exist_ok=True)
    os.makedirs(corpus, exist_ok=True)
    if target in SEEDS:
        SEEDS[target](found)
    subprocess.run([program, f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10",
                    "-print_final_stats=1", found, corpus], check=True, cwd=BUILD)
    if "--merge" in sys.argv:
        subprocess.run([program, "-merge=1", corpus, found], check=True, cwd=BUILD)


main()
