#!/usr/bin/env python3
"""A disk without a free byte: topics can be deleted, settings changed, records deleted, retention
works, and the node starts again. On a small tmpfs, where the test may mount one."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kbatch  # noqa: E402
from nodes import Klamm, check, finish  # noqa: E402
from probe import Probe  # noqa: E402

SIZE = 48 << 20


class Disk:
    """A file system of SIZE bytes."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="klamm-disk-")
        self.mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", self.path],
            capture_output=True).returncode == 0
        self.ballast = os.path.join(self.path, "ballast")

    def free(self):
        s = os.statvfs(self.path)
        return s.f_bavail * s.f_frsize

    def fill(self):
        """Takes every byte, as another program would."""
        with open(self.ballast, "ab", buffering=0) as f:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        f.write(bytes(size))
                except OSError:
                    pass

    def empty(self):
        if os.path.exists(self.ballast):
            os.unlink(self.ballast)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)
        os.rmdir(self.path)


def until(condition, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def alter(t, topic, name, value):
    answer = t.call("IncrementalAlterConfigs", 1, {"Resources": [
        {"ResourceType": 2, "ResourceName": topic, "Configs": [
            {"Name": name, "ConfigOperation": 0, "Value": value}]}]})
    return answer["Responses"][0]["ErrorCode"]


def full(disk):
    data = os.path.join(disk.path, "data")
    with Klamm(data=data, log__retention__check__interval__ms="500",
               log__initial__task__delay__ms="100") as node:
        t = Probe(node)
        for name in ("gone", "kept", "old", "cut"):
            t.create(name, file_delete_delay_ms="500", segment_bytes="1048576")
            for i in range(30):
                t.produce(name, kbatch.batch([bytes(100000)], timestamp=int(time.time() * 1000)))
        reserve = os.path.join(data, ".klamm-reserve")
        check("a reserve is kept", until(lambda: os.path.exists(reserve) and
                                         os.path.getsize(reserve) == 1 << 20))
        disk.fill()
        check("the disk is full", disk.free() == 0, disk.free())
        check("produce is refused with KAFKA_STORAGE_ERROR", until(
            lambda: t.produce("kept", kbatch.batch([bytes(50000)]))["ErrorCode"] == 56))
        check("fetch works", t.fetch("kept", 3)["ErrorCode"] == 0)

        answer = t.call("DeleteTopics", 4, {"TopicNames": ["gone"], "TimeoutMs": 5000})
        check("a topic can be deleted", answer["Responses"][0]["ErrorCode"] == 0, answer)
        check("its bytes come back", until(lambda: disk.free() > 2 << 20), disk.free())
        disk.fill()
        check("a topic's settings can be changed",
              alter(t, "old", "retention.ms", "1") == 0)
        check("retention makes room", until(lambda: disk.free() > 2 << 20), disk.free())
        disk.fill()
        answer = t.call("DeleteRecords", 2, {"TimeoutMs": 5000, "Topics": [
            {"Name": "cut", "Partitions": [{"PartitionIndex": 0, "Offset": 30}]}]})
        check("records can be deleted",
              answer["Topics"][0]["Partitions"][0]["ErrorCode"] == 0, answer)
        check("their segments go", until(lambda: disk.free() > 1 << 20), disk.free())
        disk.fill()

        end = t.end("kept")[1]
        node.kill()
        disk.fill()
        node.start()
        t = Probe(node)
        check("a start with recovery needs no free byte", until(
            lambda: t.end("kept")[1] == end), t.end("kept"))
        answer = t.call("DeleteTopics", 4, {"TopicNames": ["old"], "TimeoutMs": 5000})
        check("and what makes room works then, too",
              answer["Responses"][0]["ErrorCode"] == 0, answer)
        disk.empty()
        check("with space everything works again", until(
            lambda: t.produce("kept", kbatch.batch([b"v"]))["ErrorCode"] == 0))
        check("the reserve is filled again", until(lambda: os.path.getsize(reserve) == 1 << 20))
        check("nothing failed", "goes offline" not in node.log(), node.log()[-3000:])


def starts(disk):
    """Whatever few bytes are free, the node starts: recovery may use them up."""
    data = os.path.join(disk.path, "data")
    with Klamm(data=data) as node:
        t = Probe(node)
        t.create("s", 8)
        reserve = os.path.join(data, ".klamm-reserve")
        until(lambda: os.path.exists(reserve) and os.path.getsize(reserve) == 1 << 20)
        for p in range(8):
            t.produce("s", kbatch.batch([bytes(10000)] * 3, producer_id=p, producer_epoch=0,
                                        base_sequence=0), partition=p)
        for free in (0, 4096, 12288, 40960, 131072, 262144 + 4096):
            node.kill()
            disk.fill()
            if free:
                with open(disk.ballast, "ab") as f:
                    f.truncate(f.tell() - free)
            try:
                node.start(10)
                t = Probe(node)
                ok = until(lambda: t.end("s")[1] == 3)
            except RuntimeError as e:
                ok = print(str(e)[-600:])
            check(f"a start with {free} bytes free", ok, t.end("s"))
            disk.empty()
            until(lambda: os.path.getsize(reserve) == 1 << 20)


if __name__ == "__main__":
    for part in (full, starts):
        small = Disk()
        try:
            if small.mounted:
                print("--", part.__name__, flush=True)
                part(small)
            else:
                print("SKIP a full disk: no file system may be mounted here")
        finally:
            small.empty()
            small.close()
    finish()
