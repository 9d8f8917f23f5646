#!/usr/bin/env python3
"""Groups of the classic protocol by raw requests: who is in, who is out and when, and what offsets a
group keeps. NODE=apache runs the same on Apache Kafka 4.4.0, which must pass as well."""
import os
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from nodes import check, finish  # noqa: E402
from probe import LOADING, NOBODY, Probe, node_under_test  # noqa: E402

(ILLEGAL_GENERATION, INCONSISTENT, UNKNOWN_MEMBER, REBALANCING, NEEDS_ID, FENCED) = (
    22, 23, 25, 27, 79, 82)
DELAY_S = 0.6  # group.initial.rebalance.delay.ms of the node


class Member:
    """A member on a connection of its own."""

    def __init__(self, t, group, instance=None, client="test", **more):
        self.c, self.group, self.instance, self.client = t.connect(), group, instance, client
        self.session_ms = more.pop("session_ms", 10000)
        self.rebalance_ms = more.pop("rebalance_ms", 10000)
        self.kind = more.pop("kind", "consumer")
        self.protocols = more.pop("protocols", [("range", b"\0\1")])
        self.version, self.id, self.generation = more.pop("version", 9), "", -1
        assert not more

    def call(self, api, version, body):
        return self.c.call(api, version, body, client=self.client)

    def body(self):
        return {"GroupId": self.group, "SessionTimeoutMs": self.session_ms,
                "RebalanceTimeoutMs": self.rebalance_ms, "MemberId": self.id,
                "GroupInstanceId": self.instance, "ProtocolType": self.kind,
                "Protocols": [{"Name": n, "Metadata": m} for n, m in self.protocols]}

    def take(self, answer):
        if answer["ErrorCode"] in (0, NEEDS_ID):
            self.id, self.generation = answer["MemberId"], answer["GenerationId"]
        self.joined = answer
        return answer

    def join(self):
        """Until it is in: once more with the id that it is given."""
        answer = self.take(self.call("JoinGroup", self.version, self.body()))
        if answer["ErrorCode"] == NEEDS_ID:
            answer = self.take(self.call("JoinGroup", self.version, self.body()))
        return answer

    def joining(self):
        """The same in the background; returns what waits for it."""
        thread = threading.Thread(target=self.join)
        thread.start()
        return thread

    def sync(self, *assignments, generation=None):
        return self.call("SyncGroup", 5, {
            "GroupId": self.group, "MemberId": self.id, "GroupInstanceId": self.instance,
            "GenerationId": self.generation if generation is None else generation,
            "ProtocolType": self.kind, "ProtocolName": self.protocols[0][0],
            "Assignments": [{"MemberId": m, "Assignment": a} for m, a in assignments]})

    def syncing(self, *assignments):
        found = []
        thread = threading.Thread(target=lambda: found.append(self.sync(*assignments)))
        thread.start()

        def wait():
            thread.join()
            return found[0]
        return wait

    def beat(self):
        return self.call("Heartbeat", 4, {
            "GroupId": self.group, "MemberId": self.id, "GenerationId": self.generation,
            "GroupInstanceId": self.instance})["ErrorCode"]

    def leave(self):
        self.call("LeaveGroup", 3, {"GroupId": self.group, "Members": [{"MemberId": self.id}]})

    def enter(self):
        self.join()
        self.sync((self.id, b"mine"))
        return self


def describe(t, group, version=5):
    return t.call("DescribeGroups", version, {"Groups": [group]})["Groups"][0]


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def together(*members):
    """All join, into one generation, also if some come when the others are already in."""
    threads = {m: m.joining() for m in members}
    while any(thread.is_alive() for thread in threads.values()):
        for m, thread in threads.items():
            if not thread.is_alive() and m.beat() == REBALANCING:
                threads[m] = m.joining()
        time.sleep(0.02)
    return members if members[0].joined["Leader"] == members[0].id else members[::-1]


def pair(t, group, **more):
    """Two stable members, the leader first."""
    a, b = together(Member(t, group, **more), Member(t, group, **more))
    waiting = b.syncing()
    a.sync((a.id, b"A"), (b.id, b"B"))
    waiting()
    return a, b


def virgin(t):
    """No API depends on another one having been called, or on the topic of the offsets."""
    asked = {
        "ListGroups": (4, {}), "DescribeGroups": (5, {"Groups": ["v"]}),
        "OffsetFetch": (8, {"Groups": [{"GroupId": "v", "Topics": None}]}),
        "OffsetCommit": (8, {"GroupId": "v", "GenerationIdOrMemberEpoch": -1, "Topics": [
            {"Name": "g", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]}),
        "Heartbeat": (4, {"GroupId": "v", "GenerationId": 1, "MemberId": "m"}),
        "LeaveGroup": (4, {"GroupId": "v", "Members": [{"MemberId": "m"}]}),
        "DeleteGroups": (2, {"GroupsNames": ["v"]}), "JoinGroup": (9, Member(t, "v").body()),
        "OffsetDelete": (0, {"GroupId": "v", "Topics": [
            {"Name": "g", "Partitions": [{"PartitionIndex": 0}]}]})}
    for api, (version, body) in asked.items():
        answer = t.call(api, version, body)
        rows = answer.get("Groups") or answer.get("Results") or [answer]
        if "Topics" in answer and answer["Topics"] and not answer.get("ErrorCode"):
            rows = answer["Topics"][0]["Partitions"]
        code = rows[0]["ErrorCode"]
        check(f"{api} on a fresh node: a retriable error at most",
              code in LOADING or (api == "ListGroups" and code == 0), answer)
    t.coordinated("v")
    code = t.call("OffsetCommit", 8, asked["OffsetCommit"][1])["Topics"][0]["Partitions"][0]
    check("and after FindCoordinator it works", code["ErrorCode"] == 0, code)


def entrance(t):
    for version in range(10):
        m = Member(t, f"in-{version}", version=version)
        answer = m.take(m.call("JoinGroup", version, m.body()))
        if version < 4:
            check(f"JoinGroup {version}: without an id it is in at once", answer["ErrorCode"] == 0 and
                  answer["MemberId"], answer)
        else:
            check(f"JoinGroup {version}: MEMBER_ID_REQUIRED, with an id", answer["ErrorCode"] ==
                  NEEDS_ID and answer["MemberId"].startswith("test-"), answer)
            check(f"JoinGroup {version}: which takes it in", m.join()["ErrorCode"] == 0)
        if version >= 5:
            m = Member(t, f"in-static-{version}", "i", version=version)
            answer = m.call("JoinGroup", version, m.body())
            check(f"JoinGroup {version}: a static member needs no second time",
                  answer["ErrorCode"] == 0, answer)
    began = time.monotonic()
    a = Member(t, "delay").enter()
    first = time.monotonic() - began
    check("an empty group waits for others before its first generation", first >= DELAY_S * 0.9, first)
    took = []
    while len(took) < 5 and min(took, default=DELAY_S) >= DELAY_S:  # a busy machine is no failure
        b = Member(t, "delay")
        began = time.monotonic()
        waiting = b.joining()
        until(lambda: a.beat() == REBALANCING)
        a.join()
        waiting.join()
        took.append(time.monotonic() - began)
        b.leave()
        until(lambda: a.beat() == REBALANCING)
        a.join()
    check("one with members does not", took[-1] < DELAY_S and a.generation == 1 + 2 * len(took), took)
    for turn in range(5):  # on a busy machine the second one may be late
        one, two = (Member(t, f"longer-{turn}", rebalance_ms=3000) for _ in range(2))
        began = time.monotonic()
        waiting = one.joining()
        time.sleep(DELAY_S * 0.7)
        two.join()
        waiting.join()
        took = time.monotonic() - began
        if one.generation == two.generation == 1:
            break
    check("who comes meanwhile is waited for anew, in one generation", one.generation ==
          two.generation == 1 and took >= DELAY_S * 1.5, took)
    # In version 0 the session timeout is the rebalance timeout: nobody is thrown out at once.
    old, new = Member(t, "old", version=0, rebalance_ms=-1).enter(), Member(t, "old", version=0)
    waiting = new.joining()
    until(lambda: old.beat() == REBALANCING)
    time.sleep(0.3)
    check("version 0: a rebalance waits for the session timeout", old.join()["ErrorCode"] == 0)
    waiting.join()
    check("version 0: and both are in", old.generation == new.generation == 2)


def opaque(t):
    """What members tell each other is theirs."""
    for group, kind, blob in (("o-connect", "connect", b"\1"), ("o-none", "consumer", b""),
                              ("o-one", "consumer", b"\0"), ("o-wild", "consumer", b"\x7f" * 9),
                              ("o-lies", "consumer", b"\0\0\x7f\xff\xff\xff\0\1x"),
                              ("o-other", "anything", b"\xff" * 300)):
        m = Member(t, group, kind=kind, protocols=[("p", blob)])
        answer = m.join()
        check(f"{group}: {len(blob)} bytes of metadata are the leader's to read",
              answer["ErrorCode"] == 0 and [x["Metadata"] for x in answer["Members"]] == [blob], answer)
        given = m.sync((m.id, blob))["Assignment"]
        row = describe(t, group)
        check(f"{group}: and come back as they are", given == blob and row["ErrorCode"] == 0 and
              (row["Members"][0]["MemberMetadata"], row["Members"][0]["MemberAssignment"]) ==
              (blob, blob) and row["ProtocolType"] == kind, row)
        if kind == "consumer":
            code = t.call("OffsetDelete", 0, {"GroupId": group, "Topics": [
                {"Name": "g", "Partitions": [{"PartitionIndex": 0}]}]})
            check(f"{group}: nobody knows what it reads: its offsets are in use", [
                p["ErrorCode"] for p in code["Topics"][0]["Partitions"]] == [86]
                if not code["ErrorCode"] else False, code)


def static(t):
    first = Member(t, "s", "i", client="one", session_ms=1000).enter()
    second = Member(t, "s", "i", client="two", session_ms=30000)
    answer = second.join()
    check("the newcomer of an instance has a new id", answer["ErrorCode"] == 0 and
          second.id != first.id, answer)
    commit = first.call("OffsetCommit", 8, {
        "GroupId": "s", "GenerationIdOrMemberEpoch": first.generation, "MemberId": first.id,
        "GroupInstanceId": "i", "Topics": [{"Name": "g", "Partitions": [
            {"PartitionIndex": 0, "CommittedOffset": 1}]}]})["Topics"][0]["Partitions"][0]["ErrorCode"]
    codes = first.beat(), commit, first.sync()["ErrorCode"]
    check("the old one is fenced everywhere", codes == (FENCED,) * 3, codes)
    second.sync((second.id, b"mine"))
    row = describe(t, "s")["Members"]
    check("the group has the new id, and the client name it had", [
        (m["MemberId"], m["ClientId"], m["GroupInstanceId"]) for m in row] ==
          [(second.id, "one", "i")], row)
    second.beat()
    time.sleep(1.6)
    check("from its first heartbeat on its session timeout counts", second.beat() == 0)
    third = Member(t, "s", "i", session_ms=500)
    third.join()
    third.sync((third.id, b"mine"))
    third.beat()
    check("a shorter one counts, too", until(lambda: describe(t, "s")["GroupState"] == "Empty", 5))

    lead, other = together(Member(t, "s2", "a"), Member(t, "s2", "b"))
    waiting = other.syncing()
    lead.sync((lead.id, b"L"), (other.id, b"O"))
    waiting()
    generation, fresh = lead.generation, Member(t, "s2", lead.instance)
    answer = fresh.join()
    check("the leader comes again: the same generation, nothing to assign", (
        answer["ErrorCode"], answer["GenerationId"], answer["SkipAssignment"], answer["Leader"] ==
        fresh.id) == (0, generation, True, True), answer)
    check("its assignment stands", fresh.sync()["Assignment"] == b"L")
    check("nobody else notices", other.beat() == 0)

    c, d = together(Member(t, "s3", "c"), Member(t, "s3", "d"))
    generation, again = d.generation, Member(t, "s3", c.instance)
    waiting = again.joining()
    check("one that comes again before the assignment starts a rebalance",
          until(lambda: d.beat() == REBALANCING))
    check("a sync of before is told so", d.sync()["ErrorCode"] == REBALANCING)
    d.join()
    waiting.join()
    check("and both are in the next generation", again.generation == d.generation ==
          generation + 1, (again.generation, d.generation))


def silent(t):
    """Members that hang: no group waits for ever."""
    lead, other = together(*(Member(t, "q", rebalance_ms=1000) for _ in range(2)))
    began = time.monotonic()
    answer = other.syncing()()
    check("a leader that never assigns: who waits is told of a rebalance in time",
          answer["ErrorCode"] == REBALANCING and time.monotonic() - began < 5, answer)
    other.join()
    check("and goes on without it", [m["MemberId"] for m in other.joined["Members"]] == [other.id],
          other.joined)
    check("the leader is out", lead.beat() == UNKNOWN_MEMBER)

    together(*(Member(t, "q2", rebalance_ms=1000) for _ in range(2)))
    check("if nobody ever syncs, all are out", until(
        lambda: describe(t, "q2")["GroupState"] == "Empty", 5), describe(t, "q2"))

    a = Member(t, "q3", rebalance_ms=1000).enter()
    late = Member(t, "q3", rebalance_ms=1000)
    began = time.monotonic()
    waiting = late.joining()
    while waiting.is_alive():
        code = a.beat()
        time.sleep(0.1)
    check("one that beats and does not rejoin is out after the rebalance timeout",
          time.monotonic() - began < 5 and code in (REBALANCING, UNKNOWN_MEMBER) and
          a.beat() == UNKNOWN_MEMBER and len(late.joined["Members"]) == 1, late.joined)

    pending = Member(t, "q4", session_ms=600)
    pending.take(pending.call("JoinGroup", 9, pending.body()))
    time.sleep(1.5)
    answer = pending.call("JoinGroup", 9, pending.body())
    check("an id that was not used in time is none", answer["ErrorCode"] == UNKNOWN_MEMBER, answer)


def syncs(t):
    a, b = pair(t, "y")
    check("assignments reach who they are for", (a.sync()["Assignment"], b.sync()["Assignment"]) ==
          (b"A", b"B"))
    c = Member(t, "y")
    waiting = c.joining()
    check("a third one: the others are told", until(lambda: a.beat() == REBALANCING))
    check("a sync while they join again", a.sync()["ErrorCode"] == REBALANCING)
    others = [a.joining(), b.joining(), waiting]
    for thread in others:
        thread.join()
    members = [a, b, c]
    lead = next(m for m in members if m.joined["Leader"] == m.id)
    rest = [m for m in members if m is not lead]
    check("one leader, who alone is told of all", [len(m.joined["Members"]) for m in (lead, *rest)] ==
          [3, 0, 0])
    code = rest[0].sync(generation=rest[0].generation - 1)["ErrorCode"]
    check("a sync of the generation before", code == ILLEGAL_GENERATION, code)
    waits = [m.syncing() for m in rest]
    time.sleep(0.2)
    check("followers wait for the leader", describe(t, "y")["GroupState"] == "CompletingRebalance")
    lead.sync((lead.id, b"L"), (rest[0].id, b"F"))
    given = [w() for w in waits]
    check("who was left out gets nothing, and no error", [(g["ErrorCode"], g["Assignment"]) for g in
                                                          given] == [(0, b"F"), (0, b"")], given)


def offsets(t):
    def commit(group, generation=-1, member="", topic="g", partition=0, offset=5, version=8,
               instance=None, metadata="", **more):
        answer = t.call("OffsetCommit", version, {
            "GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member,
            "GroupInstanceId": instance, "Topics": [{"Name": topic, "Partitions": [
                {"PartitionIndex": partition, "CommittedOffset": offset,
                 "CommittedMetadata": metadata}]}], **more})
        return answer["Topics"][0]["Partitions"][0]["ErrorCode"]
    for group in ("c", "c2"):
        t.coordinated(group)
    check("generation -1, no group: taken", commit("c") == 0)
    check("and the group is there, Empty, without protocol", (
        describe(t, "c")["GroupState"], describe(t, "c")["ProtocolType"]) == ("Empty", ""))
    check("with the instance id of an assign()ed consumer, too", commit("c", instance="i") == 0)
    check("a generation, no group", commit("c2", 3, "m") == ILLEGAL_GENERATION, commit("c2", 3, "m"))
    m = Member(t, "c3").enter()
    code = commit("c3")
    check("generation -1, a group with members: UNKNOWN_MEMBER_ID", code == UNKNOWN_MEMBER, code)
    check("its member may", commit("c3", m.generation, m.id) == 0)
    m.leave()
    check("and once it is empty, anybody", commit("c3") == 0)
    codes = commit("c", topic="nowhere"), commit("c", partition=9)
    check("an unknown topic, an unknown partition", codes == (3, 3), codes)
    check("unknown ones are told before the group is looked at",
          commit("c3", 99, "nobody", topic="nowhere") == 3)
    codes = [commit("c", offset=40 + v, version=v, RetentionTimeMs=-7) for v in (2, 3, 4)]
    check("any retention is taken", codes == [0] * 3, codes)
    check("notes up to 4096 bytes", (commit("c", metadata="x" * 4096), commit(
        "c", metadata="x" * 4097)) == (0, 12))
    note = "caf\u00e9 \u2713"
    commit("c", offset=77, metadata=note)

    def fetch(version, *groups, topics=(("g", (0, 1)),)):
        rows = topics and [{"Name": n, "PartitionIndexes": list(p)} for n, p in topics]
        body = {"GroupId": groups[0], "Topics": rows} if version < 8 else {
            "Groups": [{"GroupId": g, "Topics": rows} for g in groups]}
        return t.call("OffsetFetch", version, body)

    def flat(answer):
        return [(x["Name"], p["PartitionIndex"], p["CommittedOffset"], p["Metadata"], p["ErrorCode"])
                for x in answer["Topics"] for p in x["Partitions"]]
    for version in range(1, 9):
        answer = fetch(version, "c")
        got = answer if version < 8 else answer["Groups"][0]
        check(f"OffsetFetch {version}: the offset and its note", sorted(flat(got)) ==
              [("g", 0, 77, note, 0), ("g", 1, -1, "", 0)], got)
        if version >= 2:
            answer = fetch(version, "c", topics=None)
            got = answer if version < 8 else answer["Groups"][0]
            check(f"OffsetFetch {version}: null asks for all", flat(got) == [("g", 0, 77, note, 0)],
                  got)
            answer = fetch(version, "nobody")
            got = answer if version < 8 else answer["Groups"][0]
            check(f"OffsetFetch {version}: an unknown group: nothing, no error", got["ErrorCode"] == 0
                  and [x[2] for x in flat(got)] == [-1, -1], got)
    answer = fetch(8, "c", "nobody")["Groups"]
    check("two groups, each for itself", [(g["GroupId"], g["ErrorCode"], [x[2] for x in flat(g)])
                                          for g in answer] ==
          [("c", 0, [77, -1]), ("nobody", 0, [-1, -1])], answer)


def lists(t):
    for version in range(7):
        row = describe(t, "never", version)
        want = (69, "Dead") if version == 6 else (0, "Dead")
        check(f"DescribeGroups {version} of an unknown group", (row["ErrorCode"], row["GroupState"]) ==
              want and row["Members"] == [] and (version < 6 or "never" in row["ErrorMessage"]), row)
    stable, empty = Member(t, "l-stable").enter(), Member(t, "l-empty").enter()
    empty.leave()
    check("one is stable", stable.beat() == 0)

    def listed(version=4, **filters):
        answer = t.call("ListGroups", version, filters)
        return answer["ErrorCode"], sorted(g["GroupId"] for g in answer["Groups"]
                                           if g["GroupId"].startswith("l-"))
    both = (0, ["l-empty", "l-stable"])
    check("no states: all", listed() == listed(StatesFilter=[]) == both, listed())
    for states, want in ((["Empty"], ["l-empty"]), (["empty"], ["l-empty"]),
                         (["STABLE"], ["l-stable"]), (["Empty", "stable"], both[1]),
                         (["Dead"], []), (["nonsense"], [])):
        check(f"states {states}", listed(StatesFilter=states) == (0, want),
              listed(StatesFilter=states))
    for types, want in (([], both), (["classic"], both), (["CLASSIC"], both), (["consumer"], (0, [])),
                        (["nonsense"], (0, []))):
        check(f"types {types}", listed(5, TypesFilter=types) == want, listed(5, TypesFilter=types))


def main():
    node = node_under_test(group__initial__rebalance__delay__ms=int(DELAY_S * 1000),
                           group__min__session__timeout__ms=100).start()
    try:
        t = Probe(node)
        t.create("g", 2)
        for part in (virgin, entrance, opaque, static, silent, syncs, offsets, lists):
            try:
                part(t)
            except Exception as e:
                check(f"{part.__name__} ran to its end", False, f"{type(e).__name__}: {e}")
                t.reconnect()
    finally:
        node.clean()
    finish()


main()
