"""One scripted set of requests for two brokers, and the comparison of what they answered.

A script is a function that takes a Side and calls side.ask(...). Each answer is kept under a label.
Values that may differ from run to run (ids that the broker draws, times, ports) are replaced by
names in the order in which they first appear, so that equal behaviour gives equal text.
"""
import json
import re
import struct
import sys
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/lib")
import kwire  # noqa: E402

UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
MEMBER = re.compile(r"[\w.-]*-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BASE64_ID = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])")
SORT_KEYS = ("Name", "Topic", "TopicName", "GroupId", "ResourceType", "ResourceName", "ApiKey",
             "Partition", "PartitionIndex", "Index", "MemberId", "NodeId", "BrokerId", "Key",
             "Feature", "LogDir", "GroupInstanceId", "TransactionalId", "base", "ProducerId",
             "TopicId")
MASKED = {"Port": "PORT", "SessionId": "SESSION", "BrokerEpoch": "EPOCH", "LogDir": "DIR",
          "TotalBytes": "BYTES", "UsableBytes": "BYTES", "PartitionSize": None, "Timestamp": None,
          "FinalizedFeaturesEpoch": "EPOCH", "ThrottleTimeMs": None, "LastFetchTimestamp": "TIME",
          "LastCaughtUpTimestamp": "TIME", "HighWatermark": None, "LogEndOffset": None}


class Side:
    """One broker under the script: connections, labels, and names for what it drew."""

    def __init__(self, node):
        self.node = node
        self.names = {}
        self.answers = {}
        self.ids = {}
        self.open = None

    def connect(self, port=None):
        return kwire.Connection("127.0.0.1", port or self.node.port, timeout=15)

    def name(self, kind, value):
        known = self.names.setdefault(kind, {})
        return known.setdefault(value, f"{kind}#{len(known) + 1}")

    def text(self, value):
        def member(match):
            return self.name("member", match.group(0))

        def short_id(match):
            word = match.group(0)
            if re.fullmatch(r"[A-Za-z]+|[a-z_-]+|[A-Z_]+", word) or "." in word:
                return word
            return self.name("id", word)
        value = re.sub(r"\b1[6-9]\d{11}\b|-92233702\d{11}", "TIME", MEMBER.sub(member, value))
        value = value.replace(f":{self.node.port}", ":PORT")
        value = value.replace(f":{self.node.controller_port}", ":CONTROLLER_PORT")
        value = value.replace(self.node.data, "DIR")
        return BASE64_ID.sub(short_id, value)

    def sort_key(self, item):
        """Ids that the broker drew count by the name they got, not by their random text."""
        return [self.text(str(item.get(k))) if k == "MemberId" else
                self.plain(item.get(k, "")) if k == "TopicId" else
                item[k] if isinstance(item.get(k), int) else -1 if k in ("base", "ProducerId") else
                str(item.get(k)) for k in SORT_KEYS]

    def plain(self, value, key=""):
        if isinstance(value, dict):
            return {k: self.plain(v, k) for k, v in value.items()}
        if isinstance(value, list):
            if value and isinstance(value[0], dict):
                value = sorted(value, key=self.sort_key)
            elif key in ("SupportedGroupTypes", "OfflineReplicas", "CoordinatorKeys",
                         "Partitions"):
                value = sorted(value)
            return [self.plain(v, key) for v in value]
        if isinstance(value, bytes):
            return value.replace(struct.pack(">i", self.node.port), b"PORT").hex()
        if isinstance(value, str):
            if UUID.match(value):
                return "0" if value == kwire.ZERO_UUID else self.name("uuid", value)
            if key == "LogDir":
                return "DIR"
            return self.text(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        if MASKED.get(key) and value > 0:
            return MASKED[key]
        if key == "ProducerId" and value >= 0:
            return self.name("producer", value)
        if abs(value - time.time() * 1000) < 86400e3:
            return "NOW"
        return value

    def keep(self, label, value):
        while label in self.answers:
            label += "'"
        self.answers[label] = self.plain(value)

    def ask(self, api, version, values, label="", keep=True, connection=None, port=None):
        """Sends one request and keeps the answer; a closed connection is an answer too."""
        own = connection is None
        if own:
            if port:
                connection = self.connect(port)
            else:
                self.open = self.open or self.connect()
                connection = self.open
        try:
            answer = connection.call(api, version, values)
        except (kwire.Closed, ConnectionError):
            answer = "closed"
            if own:
                self.open = None
        except TimeoutError:
            answer = "no answer"
            if own:
                self.open = None
        except kwire.Malformed as e:
            answer = f"malformed: {e}"
        if own and port:
            connection.close()
        if keep:
            self.keep(f"{api} v{version} {label}".strip(), answer)
        return answer

    def each(self, api, values, label="", low=None, high=None, **options):
        """The same in every version; values may be a function of the version."""
        key, first, last = kwire.APIS[api]
        answer = None
        for version in range(first if low is None else max(low, first),
                             (last if high is None else min(high, last)) + 1):
            given = values(version) if callable(values) else values
            answer = self.ask(api, version, given, label, **options)
        return answer

    def topic_id(self, name):
        """The id of a topic that exists (or nearly does); kept nowhere."""
        for _ in range(100):
            answer = self.ask("Metadata", 12, {"Topics": [{"Name": name}],
                                               "AllowAutoTopicCreation": False}, keep=False)
            topic = answer["Topics"][0]
            if topic["ErrorCode"] == 0 and all(p["ErrorCode"] == 0 for p in topic["Partitions"]):
                return topic["TopicId"]
            time.sleep(0.05)
        return kwire.ZERO_UUID

    def create(self, *names, partitions=1, configs=()):
        configs = [{"Name": k, "Value": v} for k, v in dict(configs).items()]
        self.ask("CreateTopics", 7, {"Topics": [
            {"Name": n, "NumPartitions": partitions, "ReplicationFactor": 1, "Configs": configs}
            for n in names]}, keep=False)
        ids = [self.topic_id(n) for n in names]
        for name in names:
            self.led(name)
        return ids

    def led(self, name):
        """Waits until the broker leads partition 0 of a topic: metadata may show it earlier."""
        for _ in range(100):
            answer = self.ask("ListOffsets", 8, {"ReplicaId": -1, "Topics": [
                {"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]}, keep=False)
            if answer["Topics"][0]["Partitions"][0]["ErrorCode"] == 0:
                return
            time.sleep(0.05)

    def coordinator(self, group):
        """Waits until the coordinator of a group answers."""
        for _ in range(200):
            found = self.ask("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]},
                             keep=False)
            if found["Coordinators"][0]["ErrorCode"] == 0:
                described = self.ask("DescribeGroups", 5, {"Groups": [group]}, keep=False)
                if described["Groups"][0]["ErrorCode"] not in (14, 15, 16):
                    return
            time.sleep(0.05)


def leaves(value, path=""):
    """{path: leaf} of nested dicts and lists."""
    if isinstance(value, dict):
        found = {}
        for k, v in value.items():
            found.update(leaves(v, f"{path}.{k}"))
        return found
    if isinstance(value, list):
        found = {path + "[]": len(value)}
        for i, v in enumerate(value):
            name = next((str(v[k]) for k in ("Name", "Topic", "TopicName", "ApiKey", "GroupId")
                         if isinstance(v, dict) and k in v), str(i))
            found.update(leaves(v, f"{path}[{name}]"))
        return found
    return {path: value}


def compare(one, two):
    """[(label, path, first, second)] of every field that differs."""
    rows = []
    for label in list(one) + [l for l in two if l not in one]:
        a, b = leaves(one.get(label, "missing")), leaves(two.get(label, "missing"))
        if a == b:
            continue
        for path in list(a) + [p for p in b if p not in a]:
            if a.get(path, "absent") != b.get(path, "absent"):
                rows.append((label, path, a.get(path, "absent"), b.get(path, "absent")))
    return rows


def explained(label, path, rules):
    """The explanation of an accepted difference, or None. rules: [(label regex, path regex, why)]."""
    for label_re, path_re, why in rules:
        if re.search(label_re, label) and re.search(path_re, path):
            return why
    return None


def dump(answers, path):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(answers, out, indent=1, default=str)
