"""Differences between Apache Kafka 4.4.0 and Klamm that are meant, each with its reason.

RULES: (regex on "case label", regex on the path of the field, why). docs/COMPATIBILITY.md repeats
them for readers; whatever is not listed here must be alike.
"""
# API keys of later steps: an API that is not served is not advertised.
LATER = (17, 24, 25, 26, 27, 28, 36, 38, 39, 40, 41, 49, 51, 65, 66, 68, 69, 76, 77, 78, 79, 80, 81,
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
]
