"""Groups of the classic protocol and committed offsets, in every version."""
import threading
import time

MEMBER = "someone-11111111-1111-4111-8111-111111111111"


def join(group, member="", protocols=(("range", b"\0\1"),), instance=None, kind="consumer",
         session=10000, rebalance=10000, **more):
    return {"GroupId": group, "SessionTimeoutMs": session, "RebalanceTimeoutMs": rebalance,
            "MemberId": member, "GroupInstanceId": instance, "ProtocolType": kind,
            "Protocols": [{"Name": n, "Metadata": m} for n, m in protocols], **more}


def sync(group, generation, member, assignments=(), instance=None, **more):
    return {"GroupId": group, "GenerationId": generation, "MemberId": member,
            "GroupInstanceId": instance, "Assignments": [
                {"MemberId": m, "Assignment": a} for m, a in assignments], **more}


def beat(group, generation, member, instance=None):
    return {"GroupId": group, "GenerationId": generation, "MemberId": member,
            "GroupInstanceId": instance}


def commit(group, generation, member, offset=5, topic=("g-t", None), partition=0, instance=None,
           metadata="note"):
    return {"GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member,
            "GroupInstanceId": instance, "Topics": [
                {"Name": topic[0], "TopicId": topic[1], "Partitions": [
                    {"PartitionIndex": partition, "CommittedOffset": offset,
                     "CommittedLeaderEpoch": 0, "CommittedMetadata": metadata}]}]}


def fetch_offsets(version, group, topic=("g-t", None), partitions=(0, 1), everything=False,
                  **more):
    if version < 8:
        topics = None if everything else [{"Name": topic[0], "PartitionIndexes": list(partitions)}]
        return {"GroupId": group, "Topics": topics, **more}
    topics = None if everything else [{"Name": topic[0], "TopicId": topic[1],
                                       "PartitionIndexes": list(partitions)}]
    return {"Groups": [{"GroupId": group, "Topics": topics}], **more}


def enter(k, group, version=9, instance=None, **more):
    """One member joins and syncs; returns (generation, member id)."""
    first = k.ask("JoinGroup", version, join(group, instance=instance, **more), keep=False)
    if first["ErrorCode"] == 79:
        first = k.ask("JoinGroup", version, join(group, first["MemberId"], instance=instance,
                                                 **more), keep=False)
    member, generation = first["MemberId"], first["GenerationId"]
    k.ask("SyncGroup", 5, sync(group, generation, member, [(member, b"mine")], instance,
                               ProtocolType="consumer", ProtocolName="range"), keep=False)
    return generation, member


def one_member(k):
    topic = ("g-t", k.create("g-t", partitions=3)[0])
    for version in range(0, 10):
        g = f"g-one-{version}"
        k.coordinator(g)
        first = k.ask("JoinGroup", version, join(g), "first")
        if first["ErrorCode"] == 79:
            first = k.ask("JoinGroup", version, join(g, first["MemberId"]), "with id")
        member, generation = first["MemberId"], first["GenerationId"]
        low = min(version, 4)
        k.ask("Heartbeat", low, beat(g, generation, member), f"before sync ({version})")
        k.ask("SyncGroup", min(version, 5), sync(
            g, generation, member, [(member, b"mine")], ProtocolType="consumer",
            ProtocolName="range"), f"leader ({version})")
        k.ask("SyncGroup", min(version, 5), sync(
            g, generation, member, ProtocolType="consumer", ProtocolName="range"), f"again ({version})")
        k.ask("Heartbeat", low, beat(g, generation, member), f"stable ({version})")
        k.ask("Heartbeat", low, beat(g, generation + 1, member), f"generation ({version})")
        k.ask("Heartbeat", low, beat(g, generation, "nobody"), f"member ({version})")
        k.ask("Heartbeat", low, beat("g-nowhere", 1, "nobody"), f"group ({version})")
        k.ask("Heartbeat", low, beat("", 1, "nobody"), f"empty group ({version})")
        v = max(2, version + 1)
        k.ask("OffsetCommit", v, commit(g, generation, member, topic=topic), "member")
        k.ask("OffsetCommit", v, commit(g, generation + 1, member, topic=topic), "generation")
        k.ask("OffsetCommit", v, commit(g, generation, "nobody", topic=topic), "member unknown")
        k.ask("OffsetCommit", v, commit(g, -1, "", topic=topic), "simple on a live group")
        k.ask("DescribeGroups", min(version, 6), {"Groups": [g, "g-nowhere", ""]}, f"({version})")
        k.ask("JoinGroup", version, join(g, member), "rejoin unchanged")
        k.ask("JoinGroup", version, join(g, member, kind="connect"), "other type")
        k.ask("JoinGroup", version, join(g, "nobody"), "unknown member")
        left = ({"GroupId": g, "MemberId": member} if version < 3 else
                {"GroupId": g, "Members": [{"MemberId": member, "Reason": "bye"}]})
        k.ask("LeaveGroup", min(version, 5), left, f"leave ({version})")
        k.ask("LeaveGroup", min(version, 5), left, f"left ({version})")
        k.ask("DescribeGroups", min(version, 6), {"Groups": [g]}, f"empty ({version})")
        k.ask("Heartbeat", low, beat(g, generation, member), f"after ({version})")


def refused_joins(k):
    k.coordinator("g-bad")
    cases = [("empty group", join("")), ("session too short", join("g-bad", session=10)),
             ("session too long", join("g-bad", session=3600000 * 10)),
             ("no protocols", join("g-bad", protocols=())),
             ("empty type", join("g-bad", kind="")),
             ("unknown member", join("g-bad", MEMBER)),
             ("empty instance", join("g-bad", instance="")),
             ("bad instance", join("g-bad", instance="a b/c")),
             ("long instance", join("g-bad", instance="x" * 300)),
             ("dots instance", join("g-bad", instance=".."))]
    for label, values in cases:
        for version in (0, 3, 4, 5, 9):
            if "instance" in label and version < 5:
                continue
            k.ask("JoinGroup", version, values, label)
    for version in range(0, 6):
        k.ask("SyncGroup", version, sync("g-nowhere", 1, MEMBER), "unknown group")
        k.ask("SyncGroup", version, sync("", 1, MEMBER), "empty group")
    g = "g-sync"
    k.coordinator(g)
    generation, member = enter(k, g)
    k.ask("SyncGroup", 5, sync(g, generation, member, ProtocolType="connect",
                               ProtocolName="range"), "other type")
    k.ask("SyncGroup", 5, sync(g, generation, member, ProtocolType="consumer",
                               ProtocolName="other"), "other protocol")
    k.ask("SyncGroup", 5, sync(g, generation, member), "no protocol")
    k.ask("SyncGroup", 4, sync(g, generation + 1, member), "generation")
    k.ask("SyncGroup", 4, sync(g, generation, "nobody"), "member")
    k.ask("JoinGroup", 9, join(g, "", protocols=(("other", b""),)), "no common protocol")
    k.ask("JoinGroup", 9, join(g, member, protocols=(("range", b"\0\1"), ("rr", b"x"))),
          "leader changes protocols")


def static_members(k):
    g = "g-static"
    k.coordinator(g)
    generation, member = enter(k, g, instance="i-1")
    k.ask("Heartbeat", 4, beat(g, generation, member, "i-1"), "static")
    k.ask("Heartbeat", 4, beat(g, generation, member, "i-2"), "other instance")
    k.ask("Heartbeat", 4, beat(g, generation, "nobody", "i-1"), "other member")
    for version in (5, 8, 9):
        again = k.ask("JoinGroup", version, join(g, instance="i-1"), "static again")
        k.ask("Heartbeat", 4, beat(g, generation, member, "i-1"), f"fenced {version}")
        k.ask("OffsetCommit", 8, commit(g, generation, member, instance="i-1"), f"fenced {version}")
        k.ask("SyncGroup", 5, sync(g, generation, member, instance="i-1", ProtocolType="consumer",
                                   ProtocolName="range"), f"fenced {version}")
        member, generation = again["MemberId"], again["GenerationId"]
        k.ask("SyncGroup", 5, sync(g, generation, member, instance="i-1", ProtocolType="consumer",
                                   ProtocolName="range"), f"after {version}")
    k.ask("OffsetCommit", 8, commit(g, -1, "", instance="i-1"), "generation -1")
    k.ask("JoinGroup", 9, join(g, "nobody", instance="i-1"), "old member id")
    k.ask("JoinGroup", 9, join(g, "nobody", instance="i-9"), "unknown instance with id")
    k.ask("DescribeGroups", 6, {"Groups": [g]}, "static")
    k.ask("LeaveGroup", 5, {"GroupId": g, "Members": [
        {"MemberId": "", "GroupInstanceId": "i-1"}, {"MemberId": "", "GroupInstanceId": "i-7"},
        {"MemberId": "nobody"}, {"MemberId": "nobody", "GroupInstanceId": "i-1"}]}, "batch")
    k.ask("LeaveGroup", 5, {"GroupId": g, "Members": []}, "nobody")
    k.ask("LeaveGroup", 5, {"GroupId": "g-nowhere", "Members": [{"MemberId": "x"}]}, "no group")


def two_members(k):
    g = "g-two"
    k.coordinator(g)
    generation, first = enter(k, g, protocols=(("range", b"a"), ("rr", b"b")))
    with k.connect() as c:
        other = k.ask("JoinGroup", 9, join(g, protocols=(("rr", b"c"), ("range", b"d"))),
                      "second", connection=c)
        answer = {}

        def second():
            answer["join"] = k.ask("JoinGroup", 9, join(
                g, other["MemberId"], protocols=(("rr", b"c"), ("range", b"d"))), keep=False,
                connection=c)
        waiting = threading.Thread(target=second)
        waiting.start()
        for _ in range(100):
            if k.ask("Heartbeat", 4, beat(g, generation, first), keep=False)["ErrorCode"] == 27:
                break
            time.sleep(0.02)
        k.ask("Heartbeat", 4, beat(g, generation, first), "rebalancing")
        k.ask("DescribeGroups", 6, {"Groups": [g]}, "rebalancing")
        k.ask("OffsetCommit", 8, commit(g, generation, first), "rebalancing")
        k.ask("SyncGroup", 5, sync(g, generation, first, ProtocolType="consumer",
                                   ProtocolName="range"), "rebalancing")
        mine = k.ask("JoinGroup", 9, join(g, first, protocols=(("range", b"a"), ("rr", b"b"))),
                     "leader rejoins")
        waiting.join()
        k.keep("JoinGroup follower", answer["join"])
        generation, second_id = mine["GenerationId"], other["MemberId"]
        k.ask("DescribeGroups", 6, {"Groups": [g]}, "completing")
        k.ask("OffsetCommit", 8, commit(g, generation, first), "completing")
        lead, follow = (first, second_id) if mine["Leader"] == first else (second_id, first)

        def follower():
            answer["sync"] = k.ask("SyncGroup", 5, sync(
                g, generation, follow, ProtocolType="consumer", ProtocolName=mine["ProtocolName"]),
                keep=False, connection=c)
        waiting = threading.Thread(target=follower)
        waiting.start()
        time.sleep(0.1)
        k.ask("SyncGroup", 5, sync(g, generation, lead, [(lead, b"L")], ProtocolType="consumer",
                                   ProtocolName=mine["ProtocolName"]), "leader leaves one out")
        waiting.join()
        k.keep("SyncGroup follower left out", answer["sync"])
        k.ask("DescribeGroups", 6, {"Groups": [g]}, "stable")
        k.ask("LeaveGroup", 5, {"GroupId": g, "Members": [{"MemberId": lead}]}, "leader leaves")
        k.ask("Heartbeat", 4, beat(g, generation, follow), "after the leader left")


def expiry(k):
    g = "g-expire"
    k.coordinator(g)
    generation, member = enter(k, g, session=6000, rebalance=2000)
    k.coordinator("g-pending")
    pending = k.ask("JoinGroup", 9, join("g-pending", session=6000), keep=False)
    k.ask("DescribeGroups", 6, {"Groups": ["g-pending"]}, "pending member")
    k.ask("DeleteGroups", 2, {"GroupsNames": [g]}, "not empty")
    time.sleep(7.5)
    k.ask("Heartbeat", 4, beat(g, generation, member), "session over")
    k.ask("DescribeGroups", 6, {"Groups": [g, "g-pending"]}, "session over")
    k.ask("JoinGroup", 9, join("g-pending", pending["MemberId"]), "pending id is gone")


def offsets(k):
    topic = ("g-o", k.create("g-o", partitions=3)[0])
    for version in range(2, 11):
        g = f"g-off-{version}"
        k.coordinator(g)
        k.ask("OffsetCommit", version, commit(g, -1, "", topic=topic), "simple")
        k.ask("OffsetCommit", version, commit(g, -1, "", 7, topic, 1, metadata=None), "null metadata")
        k.ask("OffsetCommit", version, commit(g, -1, "", -1, topic, 2), "offset -1")
        k.ask("OffsetCommit", version, commit(g, -1, "", 3, topic, 9), "unknown partition")
        k.ask("OffsetCommit", version, commit(
            g, -1, "", 3, ("g-none", "11111111-1111-4111-8111-111111111111")), "unknown topic")
        k.ask("OffsetCommit", version, commit(g, 4, "", 3, topic), "generation without member")
        k.ask("OffsetCommit", version, commit(g, -1, "m", 3, topic), "member without generation")
        k.ask("OffsetCommit", version, commit(g, -1, "", 3, topic, metadata="x" * 5000),
              "large metadata")
        k.ask("OffsetCommit", version, commit("", -1, "", 3, topic), "empty group")
        k.ask("OffsetCommit", version, {**commit(g, -1, "", 3, topic), "RetentionTimeMs": -5},
              "negative retention")
        k.ask("OffsetCommit", version, {**commit(g, -1, ""), "Topics": []}, "nothing")
    for version in range(1, 11):
        g = "g-off-8"
        k.ask("OffsetFetch", version, fetch_offsets(version, g, topic, (0, 1, 2, 9)), "named")
        k.ask("OffsetFetch", version, fetch_offsets(version, "g-nowhere", topic), "unknown group")
        k.ask("OffsetFetch", version, fetch_offsets(
            version, g, ("g-none", "11111111-1111-4111-8111-111111111111")), "unknown topic")
        k.ask("OffsetFetch", version, fetch_offsets(version, "", topic), "empty group")
        if version >= 2:
            k.ask("OffsetFetch", version, fetch_offsets(version, g, everything=True), "all")
            k.ask("OffsetFetch", version, fetch_offsets(version, "g-nowhere", everything=True),
                  "all of nothing")
        if version >= 7:
            k.ask("OffsetFetch", version, fetch_offsets(version, g, topic, RequireStable=True),
                  "stable")
        if version >= 8:
            two = fetch_offsets(version, g, topic)
            two["Groups"] += fetch_offsets(version, "g-nowhere", topic)["Groups"]
            k.ask("OffsetFetch", version, two, "two groups")
        if version >= 9:
            odd = fetch_offsets(version, g, topic)
            odd["Groups"][0].update(MemberId="m", MemberEpoch=3)
            k.ask("OffsetFetch", version, odd, "member epoch")

    def drop(group, name="g-o", partitions=(0,)):
        return {"GroupId": group, "Topics": [
            {"Name": name, "Partitions": [{"PartitionIndex": p} for p in partitions]}]}
    k.ask("OffsetDelete", 0, drop("g-off-8", partitions=(0, 2, 9)), "some")
    k.ask("OffsetDelete", 0, drop("g-off-8", "g-none"), "unknown topic")
    k.ask("OffsetDelete", 0, drop("g-nowhere"), "unknown group")
    k.ask("OffsetDelete", 0, drop(""), "empty group")
    k.ask("OffsetFetch", 8, fetch_offsets(8, "g-off-8", everything=True), "after the deletion")
    g = "g-subscribed"
    k.coordinator(g)
    subscription = b"\0\0\0\0\0\1\0\3g-o\xff\xff\xff\xff"
    generation, member = enter(k, g, protocols=(("range", subscription),))
    k.ask("OffsetCommit", 8, commit(g, generation, member, topic=topic), "subscribed")
    k.ask("OffsetDelete", 0, drop(g), "subscribed")
    k.ask("OffsetDelete", 0, drop(g, "g-t"), "not subscribed")
    k.ask("DeleteGroups", 2, {"GroupsNames": [g, "g-off-8", "g-nowhere", ""]}, "several")
    k.ask("OffsetFetch", 8, fetch_offsets(8, "g-off-8", everything=True), "after group deletion")
    for version in range(0, 4):
        k.ask("DeleteGroups", version, {"GroupsNames": [f"g-off-{version + 2}", "g-nowhere"]}, "two")


def listing(k):
    g = "g-list"
    k.coordinator(g)
    enter(k, g)

    def only(answer):
        answer["Groups"] = [x for x in answer["Groups"] if x["GroupId"] in (g, "g-off-9")]
        return answer
    for version in range(0, 6):
        k.keep(f"ListGroups v{version}", only(k.ask("ListGroups", version, {}, keep=False)))
    for states in (["Stable"], ["stable"], ["Empty"], ["EMPTY", "Stable"], ["nonsense"], ["Dead"],
                   [""]):
        k.keep(f"ListGroups states {states}", only(
            k.ask("ListGroups", 4, {"StatesFilter": states}, keep=False)))
    for types in (["classic"], ["Classic"], ["consumer"], ["nonsense"], ["share"]):
        answer = k.ask("ListGroups", 5, {"TypesFilter": types}, keep=False)
        k.keep(f"ListGroups types {types}", only(answer))
    k.each("FindCoordinator", {"Key": g, "KeyType": 0, "CoordinatorKeys": [g, "", "other"]}, "group")
    k.each("FindCoordinator", {"Key": "", "KeyType": 0, "CoordinatorKeys": []}, "empty")
    k.each("FindCoordinator", {"Key": g, "KeyType": 9, "CoordinatorKeys": [g]}, "type 9", low=1)
    k.each("FindCoordinator", {"Key": "a", "KeyType": 2, "CoordinatorKeys": ["bad"]}, "share", low=1)


def named_twice(k):
    """The same group, topic or partition again."""
    g = "g-twice"
    tid, = k.create("g-tw", partitions=2)
    k.coordinator(g)
    topic = ("g-tw", tid)

    def doubled(body, key, topics, partitions, change):
        entry = body[topics][0]
        more = dict(entry[partitions][0], **change) if change is not None else entry[partitions][0]
        yield "partition", dict(body, **{topics: [dict(entry, **{
            partitions: entry[partitions] + [more]})]})
        yield "topic", dict(body, **{topics: [entry, dict(entry, **{partitions: [more]})]})

    for label, body in doubled(commit(g, -1, "", 5, topic), g, "Topics", "Partitions",
                               {"CommittedOffset": 7}):
        for version in (2, 9, 10):
            k.ask("OffsetCommit", version, body, label)
            k.ask("OffsetFetch", 9, fetch_offsets(9, g, topic, (0,)), f"after {version} {label}")
    for version in (1, 7, 8, 9, 10):
        k.ask("OffsetFetch", version, fetch_offsets(version, g, topic, (0, 0)), "partition")
        body = fetch_offsets(version, g, topic, (0, 1))
        entry = body if version < 8 else body["Groups"][0]
        entry["Topics"] = entry["Topics"] * 2
        k.ask("OffsetFetch", version, body, "topic")
        if version >= 8:
            body = fetch_offsets(version, g, topic, (0,))
            body["Groups"] *= 2
            k.ask("OffsetFetch", version, body, "group")
    gone = {"GroupId": g, "Topics": [{"Name": "g-tw", "Partitions": [{"PartitionIndex": 0}]}]}
    for label, body in doubled(gone, g, "Topics", "Partitions", {}):
        k.ask("OffsetDelete", 0, body, label)
    k.each("DescribeGroups", {"Groups": [g, g]}, "group")
    k.each("FindCoordinator", {"Key": g, "KeyType": 0, "CoordinatorKeys": [g, g]}, "key", low=4)
    k.ask("OffsetCommit", 9, commit(g, -1, "", 5, topic), "again")
    k.each("DeleteGroups", {"GroupsNames": [g, g]}, "group", high=0)
    k.ask("DeleteGroups", 2, {"GroupsNames": [g, "g-none", g, "g-none"]}, "group")


CASES = [named_twice, one_member, refused_joins, static_members, two_members, expiry, offsets, listing]
