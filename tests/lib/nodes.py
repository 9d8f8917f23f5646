"""Starts one node for a test: Klamm, or Apache Kafka 4.4.0 (fetched by Maven, cached).

    with Klamm() as node: node.port ...
$KLAMM names the program (default build/klamm).
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KLAMM = os.environ.get("KLAMM", os.path.join(ROOT, "build", "klamm"))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "klamm")
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def tree(root):
    """Everything below a folder: {name: what the file says, or None of a folder}."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), root)] = None
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, root)] = f.read()
    return found


class Node:
    kind = None

    def __init__(self, data=None, **properties):
        self.root = tempfile.mkdtemp(prefix="klamm-test-")
        self.data = data or os.path.join(self.root, "data")
        self.port, self.controller_port = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        listeners = (f"PLAINTEXT://127.0.0.1:{self.port},"
                     f"CONTROLLER://127.0.0.1:{self.controller_port}")
        self.properties = {
            "process.roles": "broker,controller", "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "listeners": listeners, "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": self.data, "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        self.properties.update({k.replace("__", "."): str(v) for k, v in properties.items()})
        self.process = None
        self.log_path = os.path.join(self.root, "server.log")

    def config_path(self):
        path = os.path.join(self.root, "server.properties")
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(f"{k}={v}\n" for k, v in self.properties.items())
        return path

    def tool(self, *arguments):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def static_voters(self):
        """Before the first start: the voters stand in the configuration, kraft.version is 0."""
        self.properties["controller.quorum.voters"] = f"1@127.0.0.1:{self.controller_port}"
        self.properties.pop("controller.quorum.bootstrap.servers", None)
        return self

    def format(self, *arguments):
        if os.path.exists(os.path.join(self.data.split(",")[0], "meta.properties")):
            return
        if "controller.quorum.voters" not in self.properties:
            arguments = ("--standalone", *arguments)
        result = subprocess.run(
            self.tool("kafka-storage", "format", "-t", CLUSTER_ID, "-c", self.config_path(),
                      *arguments), capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError("format failed: " + result.stdout + result.stderr)

    def start(self, seconds=60):
        self.format()
        self.launch()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        raise RuntimeError(f"{self.kind} did not start:\n" + self.log()[-3000:])

    def launch(self):
        config = self.config_path()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command() + [config], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def take_over(self, other):
        """Continues on the folders, ports and properties of a node that was stopped."""
        self.data, self.properties = other.data, other.properties
        self.port, self.controller_port = other.port, other.controller_port
        self.bootstrap = other.bootstrap

    def stop(self, sig=signal.SIGTERM, seconds=60):
        process, self.process = self.process, None
        if process is None:
            return None
        process.send_signal(sig)
        return process.wait(seconds)

    def kill(self):
        return self.stop(signal.SIGKILL)

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmRSS"))

    def clean(self):
        self.kill()
        if not os.environ.get("KEEP"):
            shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.clean()


class Klamm(Node):
    kind = "klamm"

    def tool(self, name, *arguments):
        return [KLAMM, name.removeprefix("kafka-"), *arguments]

    def command(self):
        return [KLAMM, "server"]


class Apache(Node):
    kind = "apache"
    TOOLS = {"kafka-storage": "kafka.tools.StorageTool",
             "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
             "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand"}

    @staticmethod
    def install():
        """Folder with the jars; Maven fetches them once."""
        libs = os.path.join(CACHE, "apache-kafka-4.4.0")
        if not os.path.exists(os.path.join(libs, ".done")):
            os.makedirs(libs, exist_ok=True)
            pom = os.path.join(ROOT, "tests", "compat", "pom.xml")
            subprocess.run(["mvn", "-B", "-q", "-f", pom, "dependency:copy-dependencies",
                            "-DoutputDirectory=" + libs], check=True)
            open(os.path.join(libs, ".done"), "w", encoding="ascii").close()
        return libs

    @classmethod
    def java(cls, name, *arguments, heap="512m"):
        quiet = os.path.join(ROOT, "tests", "compat", "log4j2.properties")
        return ["java", "-Xmx" + heap, "-Dlog4j2.configurationFile=" + quiet, "-cp",
                cls.install() + "/*", name, *arguments]

    @classmethod
    def tool(cls, name, *arguments):
        return cls.java(cls.TOOLS[name], *arguments, heap="256m")

    def command(self):
        return self.java("kafka.Kafka")


passed = failed = 0


def check(what, ok, detail=""):
    """Prints and counts one check."""
    global passed, failed
    if ok:
        passed += 1
        print(f"ok    {what}", flush=True)
    else:
        failed += 1
        print(f"FAIL  {what} {detail}".rstrip()[:4000], flush=True)
    return bool(ok)


def run_parts(parts):
    """Runs those that the command line names, else all, and closes with the sums."""
    for part in parts:
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            print("--", part.__name__, flush=True)
            part()
    finish()


def finish():
    print(f"{passed} passed, {failed} failed")
    raise SystemExit(1 if failed or not passed else 0)
