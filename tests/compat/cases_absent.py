"""Groups and transactions on a node where no coordinator's topic is there yet: which check comes
first. Runs before everything else, for the first FindCoordinator makes the topic."""
from cases_groups import MEMBER, beat, commit, fetch_offsets, join, sync
from cases_transactions import add_of, commit_of, end_of, init_of, offsets_of

NOBODY = "11111111-1111-4111-8111-111111111111"


def groups(k):
    tid, = k.create("a-t")
    for group in ("a-g", ""):
        label = f"group '{group}'"
        k.each("JoinGroup", join(group), label)
        k.each("JoinGroup", join(group, session=1), f"{label} short session")
        k.each("JoinGroup", join(group, protocols=()), f"{label} no protocol")
        k.each("SyncGroup", sync(group, 1, MEMBER), label)
        k.each("Heartbeat", beat(group, 1, MEMBER), label)
        k.each("LeaveGroup", lambda v, g=group: {"GroupId": g, "Members": [{"MemberId": MEMBER}]}
               if v >= 3 else {"GroupId": g, "MemberId": MEMBER}, label)
        k.each("OffsetCommit", commit(group, -1, "", topic=("a-t", tid)), label)
        k.each("OffsetCommit", commit(group, 3, MEMBER, topic=("a-t", tid)), f"{label} member")
        k.each("OffsetCommit", commit(group, -1, "", topic=("a-none", NOBODY)), f"{label} no topic")
        k.each("OffsetFetch", lambda v, g=group: fetch_offsets(v, g, ("a-t", tid)), label)
        k.each("OffsetFetch", lambda v, g=group: fetch_offsets(v, g, everything=True),
               f"{label} everything", low=2)
        k.ask("OffsetDelete", 0, {"GroupId": group, "Topics": [
            {"Name": "a-t", "Partitions": [{"PartitionIndex": 0}]}]}, label)
        k.each("DescribeGroups", {"Groups": [group]}, label)
        k.each("DeleteGroups", {"GroupsNames": [group]}, label)
    k.each("ListGroups", {})
    k.each("ListGroups", {"StatesFilter": ["Stable"]}, "filtered", low=4)


def transactions(k):
    tid, = k.create("a-x")
    for name in ("a-tid", ""):
        label = f"id '{name}'"
        for timeout in (60000, 0, -1, 900001):
            k.each("InitProducerId", lambda v, t=timeout, n=name: init_of(n, t, version=v),
                   f"{label} timeout {timeout}", high=1 if name == "" else 5)
        k.each("InitProducerId", init_of(name, 60000, 5, 1), f"{label} keeps", low=3)
        k.each("InitProducerId", init_of(name, 60000, 5, -1), f"{label} keeps half", low=3)
        for topic in ("a-x", "a-none"):
            k.each("AddPartitionsToTxn", lambda v, n=name, t=topic: add_of(n, 5, 0, [(t, (0,))], v),
                   f"{label} {topic}", high=3)
        for group in ("a-g", ""):
            more = f"{label} group '{group}'"
            k.each("AddOffsetsToTxn", offsets_of(name, 5, 0, group), more)
            k.each("TxnOffsetCommit", commit_of(name, 5, 0, group, "a-x", tid, 3), more)
            k.each("TxnOffsetCommit", commit_of(name, 5, 0, group, "a-none", NOBODY, 3),
                   f"{more} no topic")
            k.each("TxnOffsetCommit", commit_of(
                name, 5, 0, group, "a-x", tid, 3, MemberId=MEMBER,
                GenerationIdOrMemberEpoch=3), f"{more} member", low=3)
        k.each("EndTxn", end_of(name, 5, 0, True), label)
        k.each("DescribeTransactions", {"TransactionalIds": [name]}, label)
    k.each("ListTransactions", {"StateFilters": [], "ProducerIdFilters": []})


CASES = [groups, transactions]
