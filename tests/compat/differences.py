"""Differences between Apache Kafka 4.4.0 and Klamm that are meant, each with its reason.

RULES: (regex on "case label", regex on the path of the field, why). docs/COMPATIBILITY.md repeats
them for readers; whatever is not listed here must be alike.
"""
# API keys of later steps: an API that is not served is not advertised.
LATER = (17, 36, 38, 39, 40, 41, 49, 51, 68, 69, 76, 77, 78, 79, 80, 81,
         83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94)

RULES = [
    (r"^cluster\.versions ApiVersions v\d key (%s)$" % "|".join(map(str, LATER)), "",
     "not served yet (docs/COMPATIBILITY.md), hence not advertised"),
    (r"^cluster\.frames frame trailing bytes FindCoordinator$", "",
     "the offsets topic is created within the request, so that the first answer is the coordinator "
     "and not COORDINATOR_NOT_AVAILABLE"),
    (r"^records\.produce Produce v\d+ null records$", "",
     "null records: Apache Kafka never answers, Klamm gives INVALID_RECORD as for empty ones"),
    (r"^records\.fetch Fetch v\d+ zstd ", r"\.Records$",
     "recompressed to zstd: the Java library ends a frame with an empty block, Klamm does not; both "
     "decompress to the same records"),
    (r"^groups\.listing FindCoordinator v\d+ (type 9|share)$", r"\.ErrorMessage$",
     "the error is the same, its sentence says what is wrong"),
    (r"^transactions\.coordinator FindCoordinator v0 transaction$", "",
     "a first FindCoordinator finds the coordinator, whose topic is made within the request"),
    (r"^transactions\.partitions AddPartitionsToTxn v[45] no partition verify$", "",
     "a topic without partitions is named in the answer to a verification"),
    (r"^transactions\.named_twice AddPartitionsToTxn v([0-3] one unknown False|[45] .* True|[45] one "
     r"unknown False)$", r"TopicResults|ResultsByTopicV3AndBelow",
     "a partition named twice: Apache Kafka verifies or refuses it in one row, Klamm in as many as "
     "it was named"),
    (r"^transactions\.partitions AddPartitionsToTxn v[45] none of them$", "",
     "no transaction is named: Apache Kafka never answers"),
    (r"^mutants\.mutants AddPartitionsToTxn v4 #1$", "",
     "no transaction is named: Apache Kafka never answers"),
    (r"^mutants\.mutants Produce v(3 #2|3 #10|10 #3)$", "",
     "null records: Apache Kafka never answers"),
    (r"^mutants\.mutants Produce v5 #6$", "",
     "acks out of range and an unknown transactional id: Klamm tells of the former"),
    (r"^mutants\.mutants Fetch v(7 #2|8 #0|11 #0|12 #2|13 #11|14 #[036]|17 #6)$", "",
     "a session id that no session can have (negative, or the largest): an internal error in Apache "
     "Kafka, to Klamm one of the unknown sessions"),
    (r"^mutants\.mutants (CreatePartitions v0 #8|DeleteTopics v(2 #10|3 #4|5 #7)|controller "
     r"DeleteTopics v6 #1)$", "",
     "no time is left by a timeout that is not positive; Klamm answers at once all the same"),
    (r"^mutants\.mutants ElectLeaders v1 #3$", "",
     "a damaged timeout, and an unknown kind of election: Apache Kafka's time may be over first"),
    (r"^mutants\.mutants AlterConfigs v2 #11$", "",
     "resources of unknown types with null values: Apache Kafka never answers"),
    (r"^mutants\.mutants AlterReplicaLogDirs v1 #8$", "",
     "a name too long for a topic, in a folder that is none: Klamm names the folder"),
    (r"^mutants\.mutants controller (Incremental)?AlterConfigs v", "",
     "a resource type without configs: INVALID_REQUEST, as on the broker's listener, and not "
     "UNSUPPORTED_VERSION"),
    (r"^mutants\.mutants controller DescribeUserScramCredentials v0 #0$", "",
     "Apache Kafka's controller fails with an internal error; Klamm answers as the broker does"),
]
