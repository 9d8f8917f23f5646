"""Reads the configuration tables of schema/: shared by gen_configs.py and gen_config_docs.py."""
import os
import re

KINDS = ("broker", "topic", "group", "client-metrics")
SUPPORT = ("effective", "accepted", "plugin", "later")


def read_tsv(path):
    """Rows of a tab separated file with a header line, as dictionaries."""
    with open(path, encoding="utf-8") as source:
        lines = [line.rstrip("\n").split("\t") for line in source if not line.startswith("# ")]
    head = lines[0]
    for number, row in enumerate(lines[1:], 2):
        if len(row) != len(head):
            raise SystemExit(f"{path}:{number}: {len(row)} columns, expected {len(head)}")
    return [dict(zip(head, row)) for row in lines[1:]]


def default_text(row):
    """The default as text; None for null and for required keys."""
    value = row["default"]
    if value in ("null", "(required)"):
        return None
    return "" if value == '""' else value


def read_valid(row):
    """The 'valid' column as a dictionary of the members of struct conf_valid."""
    text, kind = row["valid"], row["type"]
    if text == "-" or kind == "boolean":
        return {"kind": "ANY"}
    valid = {"kind": "RANGE"}
    match = re.fullmatch(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?", text)
    if match:
        valid["min"], valid["max"], valid["or"] = match.groups()
        return valid
    match = re.fullmatch(r"(\(case insensitive\) )?\[([^\[\]]+)\]", text)
    if match and kind == "string":
        words = match.group(2).split(", ")
        if words[-1].startswith("by_duration:"):
            return {"kind": "OFFSET_RESET"}
        return {"kind": "ENUM_NOCASE" if match.group(1) else "ENUM", "words": words}
    if text.startswith("[partitionId]:[brokerId]"):
        return {"kind": "THROTTLED"}
    if text == "non-null string":
        return {"kind": "NON_NULL"}
    if text in ("non-empty string", "non-empty list"):
        return {"kind": "NON_EMPTY"}
    match = re.fullmatch(r"distinct list(?: of \[([^\]]+)\])?(, not empty)?(, or null)?", text)
    if match and kind == "list":
        words, not_empty, or_null = match.groups()
        return {"kind": "LIST", "distinct": True, "empty_ok": not not_empty,
                "null_ok": bool(or_null), "words": words.split(", ") if words else None}
    raise SystemExit(f"{row['name']}: no rule for the valid values '{text}'")


def read_fallbacks(row):
    """[(broker key, factor)] that stand behind a key, in order."""
    text = row.get("falls_back_to", row.get("broker_configs", row.get("broker_config", "-")))
    result = []
    for part in ([] if text == "-" else text.split(",")):
        match = re.fullmatch(r"([^(]+)(?:\(\*(\d+)\))?", part)
        result.append((match.group(1), int(match.group(2) or 1)))
    return result


def load(folder):
    """{kind: rows sorted by name}; every broker row has 'support' and 'note' besides."""
    tables = {}
    for kind in KINDS:
        rows = read_tsv(os.path.join(folder, f"configs-{kind}.tsv"))
        tables[kind] = sorted(rows, key=lambda row: row["name"])
    support = {row["name"]: row for row in read_tsv(os.path.join(folder, "config-support.tsv"))}
    for row in tables["broker"]:
        entry = support.pop(row["name"], None)
        if entry is None:
            raise SystemExit(f"config-support.tsv: {row['name']} is missing")
        if entry["support"] not in SUPPORT:
            raise SystemExit(f"config-support.tsv: {row['name']}: '{entry['support']}'")
        row["support"], row["note"] = entry["support"], entry["note"]
    if support:
        raise SystemExit(f"config-support.tsv: unknown keys {', '.join(sorted(support))}")
    return tables
