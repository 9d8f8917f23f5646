#!/usr/bin/env python3
"""Makes meta_features.inc: the features of a release and its metadata.version levels.

usage: gen_features.py features.tsv metadata-versions.tsv OUTPUT

KLAMM_FEATURE(name, min, max)
KLAMM_FEATURE_NEEDS(name, level, needed name, needed level)
KLAMM_METADATA_VERSION(level, name, release, production, metadata_changed, partition_change,
                       partition, register_broker, register_controller, flags)
KLAMM_FEATURE_DEFAULT(metadata version, name, level)   in the order of levels
"""
import csv
import sys

FLAGS = [("isControllerRegistrationSupported", "CONTROLLER_REGISTRATION"),
         ("isCordonedLogDirsSupported", "CORDONED_DIRS"),
         ("isDirectoryAssignmentSupported", "DIRECTORY_ASSIGNMENT"),
         ("isElrSupported", "ELR"),
         ("isLeaderEpochBumpRequiredOnIsrShrink", "EPOCH_BUMP_ON_SHRINK"),
         ("isMetadataTransactionSupported", "TRANSACTIONS"),
         ("isMigrationSupported", "MIGRATION"),
         ("isScramSupported", "SCRAM")]


def rows(path):
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def features(table):
    ranges, needs = {}, []
    for row in table:
        name, levels = row["feature"], row["level"]
        if "-" in levels:
            low, high = (int(x) for x in levels.split("-"))
            ranges[name] = [low, high]
            continue
        ranges.setdefault(name, [0, int(row["latest_production"])])
        if row["depends_on"] != "-":
            for need in row["depends_on"].split():
                other, level = need.replace(">=", "=").split("=")
                needs.append((name, int(levels), other, int(level)))
    return ranges, needs


def main():
    feature_path, version_path, out_path = sys.argv[1:]
    ranges, needs = features(rows(feature_path))
    out = ["/* Made by tools/gen_features.py. */", "#ifdef KLAMM_FEATURE"]
    out += [f'KLAMM_FEATURE("{name}", {low}, {high})' for name, (low, high) in ranges.items()]
    out += ["#endif", "#ifdef KLAMM_FEATURE_NEEDS"]
    out += [f'KLAMM_FEATURE_NEEDS("{a}", {level}, "{b}", {other})' for a, level, b, other in needs]
    out += ["#endif", "#ifdef KLAMM_METADATA_VERSION"]
    defaults = []
    for row in rows(version_path):
        flags = " | ".join("META_HAS_" + c for name, c in FLAGS if row[name] == "yes") or "0"
        number = lambda column: row[column] if row[column] != "-" else "-1"
        out.append(f'KLAMM_METADATA_VERSION({row["level"]}, "{row["version"]}", "{row["release"]}", '
                   f'{"true" if row["production"] == "yes" else "false"}, '
                   f'{"true" if row["metadata_changed"] == "yes" else "false"}, '
                   f'{number("partitionChangeRecordVersion")}, {number("partitionRecordVersion")}, '
                   f'{number("registerBrokerRecordVersion")}, '
                   f'{number("registerControllerRecordVersion")}, {flags})')
        for item in row["default_features"].split():
            name, level = item.split("=")
            defaults.append(f'KLAMM_FEATURE_DEFAULT({row["level"]}, "{name}", {level})')
    out += ["#endif", "#ifdef KLAMM_FEATURE_DEFAULT"] + defaults + ["#endif", ""]
    with open(out_path, "w", encoding="utf-8") as f:
        f.write("\n".join(out))


if __name__ == "__main__":
    main()
